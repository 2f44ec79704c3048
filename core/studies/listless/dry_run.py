"""Trainings that a study of a text collection or of preferences needs, without running them."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from shuffleproof.core.progress import run_to_end
from shuffleproof.core.retrieval import ingest as collections
from shuffleproof.core.retrieval.growth import Growth
from shuffleproof.core.retrieval.registry import IndexedCollection, retriever_entry
from shuffleproof.core.store.keys import ArtefactKey, key_of
from shuffleproof.core.studies import engine
from shuffleproof.core.studies.dry_run import DryRun, NeededTraining, dry_training
from shuffleproof.core.studies.question import Scope
from shuffleproof.core.studies.registry import COLLECTION_STUDIES


def listless_dry_run(question: Any, scope: Scope) -> DryRun:
    """Trainings that a study of data without candidate lists needs.

    Args:
        question: of one of `registry.LISTLESS`.
        scope: data of the study.

    Raises:
        ShuffleproofError: the data cannot be opened.
    """
    if question.kind not in COLLECTION_STUDIES:
        return _of_preferences(question, scope)
    indexed = IndexedCollection(collections.find(scope.data, scope.store), scope.store)
    plan = question.module("study").Plan.of_question(question, indexed)
    dry = DryRun()
    for name, key in (_of_retrievers if hasattr(plan, "retrievers") else _of_sparsity)(
        plan, indexed
    ):
        dry.trainings[str(key)] = NeededTraining(name, scope.store.find(key) is not None)
    return _with_study(dry, plan, scope)


def _with_study(dry: DryRun, plan: Any, scope: Scope) -> DryRun:
    stored = scope.store.find(key_of("study", plan.recipe()))
    return replace(dry, study=str(stored.key) if engine.is_whole(stored) else None)


def _of_preferences(question: Any, scope: Scope) -> DryRun:
    """Training of the preference function of a ranking data set; other preferences need none."""
    from shuffleproof.core.studies.kinds.preferences.study import (  # noqa: PLC0415 (loads torch)
        is_data_set,
        lists_of,
        open_preferences,
        plan_of,
    )

    dry = DryRun()
    if is_data_set(scope.data, scope.store):
        dry = dry_training(replace(scope, lists=lists_of().plain()), question.ranker)
        if dry.missing_seconds:
            return dry
    material = run_to_end(open_preferences(question, scope))
    return _with_study(dry, plan_of(material, question), scope)


def _of_retrievers(plan: Any, indexed: IndexedCollection) -> Iterator[tuple[str, ArtefactKey]]:
    """Trainings of learnt retrievers: on the collection at every seed, and on its parts."""
    seeds = [replace(indexed, seed=seed) for seed in range(plan.seeds)]
    shares = [share for share in getattr(plan, "withheld", ()) if share]
    places = seeds + [Growth.of(seeded, share).before for seeded in seeds for share in shares]
    members = [member for name in plan.retrievers for member in retriever_entry(name).members]
    for name, entry in {member.name: member for member in members if member.presets}.items():
        for place in places:
            yield name, ArtefactKey(entry.learner.kind, entry.network(place))


def _of_sparsity(plan: Any, indexed: IndexedCollection) -> Iterator[tuple[str, ArtefactKey]]:
    from shuffleproof.core.retrieval import snrm  # noqa: PLC0415 (loads torch)
    from shuffleproof.core.studies.kinds.retrieval.sparsity import recipe_of  # noqa: PLC0415 (likewise)

    for seed in range(plan.seeds):
        for way, level, _ in plan.ways:
            recipe = recipe_of(plan.preset, way, level, seed)
            yield "snrm", snrm.LEARNER.key_of_training(replace(indexed, seed=seed), recipe)
