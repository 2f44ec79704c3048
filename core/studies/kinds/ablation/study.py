"""Ablation between a paper and its released code: the effect of each single difference.

A variant is a recipe: `paper`, `released`, `tuned`, and `paper` with one difference from the
released code or from `tuned`. Each is trained, then measured on unperturbed lists and on lists
with a perturbed initial ranking; its cost is recorded. Sizes can be those of another preset, for
small machines; the learning rate and all other fields stay those of the variant.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import MissingRankingError
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.models import size
from shuffleproof.core.progress import Progress, with_words
from shuffleproof.core.rankers.fit_cache import CachedRanker, ranker_key
from shuffleproof.core.rankers.neural.recipes import NeuralSpec
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import conventions
from shuffleproof.core.studies.kinds.ablation.question import Ablation
from shuffleproof.core.studies.kinds.ablation.sources import (
    BASE,
    BATCHES,
    PAPER,
    SIZES,
    check,
    claimed_differences,
    differences,
)
from shuffleproof.core.studies.paired_differences import PAPER_FAMILY
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.run import measured_by, query_ids_of, run_study
from shuffleproof.core.studies.study import Study
from shuffleproof.core.studies.workbench import Workbench

MEASURE = "NDCG@10"


@dataclass(frozen=True)
class Variant:
    """Recipe of the study.

    Attributes:
        label: a preset, or `paper + loss softmax-ce`.
        spec: the recipe.
        source: statements of the paper and of the released code.
        towards: the preset that a single difference comes from; empty: the variant is a preset.
        sizes: the preset of its sizes; None: its own.
    """

    label: str
    spec: NeuralSpec
    source: str
    towards: str = ""
    sizes: str | None = None


def variants(question: Ablation) -> list[Variant]:
    """Presets of a ranker and every single step from `paper` towards the others.

    >>> [variant.label for variant in variants(Ablation("setrank-msab", "small"))][:4]
    ['paper', 'released', 'tuned', 'paper + input layer gaussian-kernels']
    """
    ranker, sizes, towards = question.ranker, question.sizes, question.towards
    check(ranker, towards)
    presets = (BASE, *(name for name in towards if name not in {PAPER, BASE}))
    specs = {
        name: _with_sizes(NeuralSpec.preset(ranker, name), sizes, question.seed) for name in presets
    }
    distinct = [Variant(name, spec, "", sizes=sizes) for name, spec in specs.items()]
    for name in towards:
        steps = (
            claimed_differences(specs[BASE])
            if name == PAPER
            else differences(specs[BASE], specs[name])
        )
        for difference in steps:
            spec = specs[BASE].with_fields(difference.values)
            label, source = f"{BASE} + {difference.label}", difference.source
            if name == "tuned" and "ours: " not in source:
                source = f"{source}; our choice"
            # Two presets may share a difference: one variant is trained for both
            place = next((at for at, variant in enumerate(distinct) if variant.spec == spec), None)
            if place is None:
                distinct.append(Variant(label, spec, source, name, sizes))
            elif not distinct[place].source:  # a preset that is this single step away
                distinct[place] = replace(distinct[place], source=f"{label}: {source}")
    return distinct


def run(workbench: Workbench, question: Ablation) -> Generator[Progress, None, Artefact]:
    """Train, measure and perturb every variant that is not stored yet.

    Every finished variant is stored at once, so that a page can draw it.

    Raises:
        MissingRankingError: a variant reads more initial rankings than the lists have.
    """
    compared = variants(question)
    base: JudgedLists = workbench.prepared.test
    lists = workbench.recipe.learning_fields()
    fingerprints = workbench.fold.fingerprints[:2]
    study = Study(
        kind=question.kind,
        rankers=tuple(
            (variant.label, ranker_key(variant.spec, lists, *fingerprints).digest)
            for variant in compared
        ),
        lists=workbench.lists_digest,
        initial=workbench.recipe.initial,
        perturbations=tuple(
            (PAPER_FAMILY, level) for level in sorted({0.0, *map(float, question.levels)})
        ),
        measures=(MEASURE,),
        draws=question.draws,
        seed=question.seed,
        stored=conventions.stored_measures((MEASURE,)),
    )

    def work(facts: dict[str, Any]) -> Generator[Progress, None, StudyResult]:
        """Train, measure and perturb every variant."""
        step = measured_by([Measure.parse(text) for text in study.stored_measures])
        rankers, trained = {}, {}
        for variant, pair in zip(compared, study.rankers, strict=True):
            model = yield from _train(workbench, variant)
            rankers[variant.label] = model.ranker
            trained[variant.label] = float(model.artefact.facts["seconds"])
            # each variant is run alone first: its records are then ready for a partial result
            single = replace(study, rankers=(pair,))
            yield from run_study(single, base, rankers, workbench.store.records, step)
        facts |= {"training_seconds": trained}
        trials = run_study(study, base, rankers, workbench.store.records, step, facts=facts)
        return (yield from trials)

    ids, facts = query_ids_of(base), partial(_facts, workbench, compared)
    trains = (_train(workbench, variant) for variant in compared)
    return (yield from workbench.run(study, ids, facts, work, trains=trains))


def _train(workbench: Workbench, variant: Variant) -> Generator[Progress, None, CachedRanker]:
    have = workbench.prepared.test.lists.rankings
    if variant.spec.rankings > have:
        raise MissingRankingError(variant.label, variant.spec.rankings, have)
    return (yield from with_words(workbench.fit(variant.spec), f"of {variant.label}"))


def _facts(workbench: Workbench, compared: Sequence[Variant]) -> dict[str, Any]:
    features = len(workbench.fold.train.feature_ids)
    return workbench.facts(
        workbench.prepared.test, {variant.label: variant.spec for variant in compared}
    ) | {
        "ranker": compared[0].spec.name,
        "sizes": compared[0].sizes,
        "towards": [
            variant.label for variant in compared if not variant.towards and variant.label != BASE
        ],
        "of": {variant.label: variant.towards for variant in compared},
        "sources": {variant.label: variant.source for variant in compared},
        "parameters": {
            variant.label: size.parameters(variant.spec.model, features) for variant in compared
        },
    }


def _with_sizes(spec: NeuralSpec, sizes: str | None, seed: int) -> NeuralSpec:
    changes: dict[str, Any] = {"seed": seed}
    if sizes is not None:
        small = NeuralSpec.preset(spec.name, sizes)
        flat: Mapping[str, Any] = asdict(small.model) | asdict(small.training)
        changes |= {name: flat[name] for name in (*SIZES, *BATCHES) if name in flat}
    return spec.with_fields(changes)
