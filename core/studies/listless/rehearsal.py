"""What a study of a text collection or of preferences would train, told before anything is made."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from shuffleproof.core.progress import run_to_end
from shuffleproof.core.retrieval import ingest as collections
from shuffleproof.core.retrieval.growth import Growth
from shuffleproof.core.retrieval.registry import IndexedCollection, retriever_entry
from shuffleproof.core.store.artefacts import Store, default_store
from shuffleproof.core.store.keys import ArtefactKey, key_of
from shuffleproof.core.studies import engine
from shuffleproof.core.studies.question import Scope
from shuffleproof.core.studies.registry import COLLECTION_STUDIES, LISTLESS
from shuffleproof.core.studies.rehearsal import DryRun, Step, rehearsed_training, span
from shuffleproof.core.studies.study import Plan


def rehearsed_listless(question: Any, scope: Scope) -> DryRun:
    """What a study of data without candidate lists would train, and how long that takes about.

    Args:
        question: of one of `registry.LISTLESS`.
        scope: what it is asked of.

    Raises:
        ShuffleproofError: the data cannot be opened.
    """
    if question.kind not in COLLECTION_STUDIES:
        return _of_preferences(question, scope)
    indexed = IndexedCollection(collections.find(scope.data, scope.store), scope.store)
    dry = (_of_retrievers if hasattr(question, "retrievers") else _of_sparsity)(question, indexed)
    plan = question.module("study").Plan.of_question(question, indexed)
    return replace(dry, study=_stored(plan, scope.store), not_counted="searching and measuring")


def _stored(plan: Plan, store: Store) -> str | None:
    """The key of a study, where it is stored."""
    stored = store.find(key_of("study", plan.recipe()))
    return str(stored.key) if engine.is_whole(stored) else None


def in_words(item: Mapping[str, Any]) -> dict[str, Any]:
    """The same by JSON, for a resident process.

    Args:
        item: `store`, `kind` of study, its `question`, and `data`.

    Returns:
        `trainings` that are not stored, and what they take here, `span` in words.
    """
    store = Store(Path(item["store"]), default_store().bundled)
    question = LISTLESS[item["kind"]].from_plain(item["question"])
    dry = rehearsed_listless(question, Scope(store, item["data"]))
    missing = [step for step in (*dry.lists, *dry.rankers) if not step.stored]
    return {"trainings": sum(step.count for step in missing), "span": span(dry.span)}


def _of_preferences(question: Any, scope: Scope) -> DryRun:
    """The function that prefers, of a ranking data set; other preferences are there."""
    from shuffleproof.core.studies.kinds.preferences.study import (  # noqa: PLC0415 (loads torch)
        is_data_set,
        lists_of,
        open_preferences,
        plan_of,
    )

    dry = DryRun((), (), not_counted="aggregating")
    if is_data_set(scope.data, scope.store):
        trained = rehearsed_training(replace(scope, lists=lists_of().plain()), question.function)
        dry = replace(trained, not_counted=dry.not_counted)
        if not all(step.stored for step in (*dry.lists, *dry.rankers)):
            return dry
    material = run_to_end(open_preferences(question, scope))
    return replace(dry, study=_stored(plan_of(material, question), scope.store))


def _of_retrievers(question: Any, indexed: IndexedCollection) -> DryRun:
    steps = []
    members = [member for name in question.retrievers for member in retriever_entry(name).members]
    for name, entry in {member.name: member for member in members if member.presets}.items():
        learner = entry.learner
        stored = [
            indexed.store.find(ArtefactKey(learner.kind, entry.network(source))) is not None
            for source in _learnt_from(indexed, question)
        ]
        low, high = learner.seconds_of(learner.preset(entry.preset or entry.presets[0]))
        missing = stored.count(False)
        count = missing or len(stored)
        steps.append(
            Step(name, stored=not missing, count=count, low=low * missing, high=high * missing)
        )
    return DryRun((), tuple(steps))


def _learnt_from(indexed: IndexedCollection, question: Any) -> list[IndexedCollection]:
    """What a study lets its retrievers learn from: the collection at every seed, and its parts."""
    seeds = [replace(indexed, seed=seed) for seed in range(question.seeds)]
    shares = [share for share in getattr(question, "withheld", ()) if share]
    return seeds + [Growth.of(seeded, share).before for seeded in seeds for share in shares]


def _of_sparsity(question: Any, indexed: IndexedCollection) -> DryRun:
    from shuffleproof.core.retrieval import snrm  # noqa: PLC0415 (loads torch)
    from shuffleproof.core.studies.kinds.sparsity.study import PRUNING, recipe_of  # noqa: PLC0415 (likewise)

    ways = [(way, level) for way in question.penalties for level in question.strengths]
    ways += [(PRUNING, 0.0)] if question.keep else []
    recipes = [
        recipe_of(question.preset, way, level, seed)
        for way, level in ways
        for seed in range(question.seeds)
    ]
    keys = [
        snrm.key_of_training(replace(indexed, seed=recipe.training.seed), recipe)
        for recipe in recipes
    ]
    times = [indexed.store.find(key) for key in keys].count(None)
    low, high = snrm.seconds_of(snrm.preset(question.preset))
    count = times or len(recipes)
    return DryRun((), (Step("snrm", not times, count, low=low * times, high=high * times),))
