"""Where paper and released code part ways: what each single difference does.

A variant is a recipe: `paper`, `released`, `tuned`, and `paper` with one difference taken from the
released code or from `tuned`. Each is trained, measured on the lists as they are and with the
initial ranking disturbed, and its cost is noted. Sizes can be those of another preset, so that
the differences can be seen on a small machine; learning rate and all else stay the variant's own.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from core.data.lists import JudgedLists
from core.errors import MissingRankingError
from core.metrics.measure import Measure
from core.metrics.significance import holm, paired_t
from core.models import size
from core.progress import Progress, saying
from core.rankers.kept import Kept, kept, ranker_key
from core.rankers.recipes import NeuralSpec
from core.store.keys import key_of
from core.store.manifest import Artefact
from core.studies import conventions, underway
from core.studies.ablation_steps import BATCHES, SIZES, differences
from core.studies.initial_ranking import PAPER_FAMILY, measured_by
from core.studies.result import StudyResult
from core.studies.run import query_ids_of, run_study
from core.studies.study import Study
from core.studies.workbench import Workbench

KIND = "ablation"
LEVELS = (0.0, 5.0, 20.0)
BASE = "paper"
MEASURE = "NDCG@10"
COLUMNS = (
    "variant", "mean", "change", "change_p", "loss", "loss_change", "loss_p", "seconds",
    "parameters", "source",
)  # fmt: skip


@dataclass(frozen=True)
class Variant:
    """One recipe of the study.

    Attributes:
        label: what it is called: a preset, or `paper + loss softmax-ce`.
        spec: the recipe.
        source: what the paper and what the released code has.
    """

    label: str
    spec: NeuralSpec
    source: str


def variants(
    ranker: str,
    sizes: str | None = None,
    towards: Sequence[str] = ("released", "tuned"),
    seed: int = 0,
) -> list[Variant]:
    """The presets of a ranker and every single step from `paper` towards the others.

    Args:
        ranker: a neural ranker with the presets paper, released and tuned.
        sizes: the preset whose widths, depth, batches and epochs all variants take; None: each
            keeps its own.
        towards: the presets whose differences from `paper` are taken one at a time.
        seed: of every variant.

    >>> [variant.label for variant in variants("setrank-msab", "small")][:4]
    ['paper', 'released', 'tuned', 'paper + input layer gaussian-kernels']
    """
    presets = (BASE, *towards)
    made = {name: _sized(NeuralSpec.preset(ranker, name), sizes, seed) for name in presets}
    found = [Variant(name, spec, "") for name, spec in made.items()]
    for name in towards:
        for difference in differences(made[BASE], made[name]):
            spec = made[BASE].changed(difference.values)
            if all(one.spec != spec for one in found):
                label = f"{BASE} + {difference.label}"
                found.append(Variant(label, spec, difference.source))
    return found


def run(
    bench: Workbench,
    made: Sequence[Variant],
    levels: Sequence[float] = LEVELS,
    draws: int = 5,
    seed: int = 0,
) -> Generator[Progress, None, Artefact]:
    """Train, measure and disturb every variant that is not stored yet; yields progress.

    Every finished variant is in the stored trials at once, so that a page can draw it.

    Args:
        bench: the data and its lists.
        made: the variants, the first is what the others are compared with.
        levels: transpositions of the initial ranking; 0 first.
        draws: of each level.
        seed: of the draws.

    Raises:
        MissingRankingError: a variant reads more initial rankings than the lists have.
    """
    study = _study(bench, made, levels, draws, seed)
    key = key_of("study", study.recipe())
    base: JudgedLists = bench.prepared.test
    with bench.store.lock(key):
        found = bench.store.find(key)
        if found is not None:
            return found
        facts = _facts(bench, made)
        underway.announce(bench.store, key, study, query_ids_of(base), facts)
        step = measured_by([Measure.parse(text) for text in study.measured])
        rankers, trained = {}, {}
        for variant, pair in zip(made, study.rankers, strict=True):
            one = yield from _trained(bench, variant)
            rankers[variant.label] = one.ranker
            trained[variant.label] = float(one.artefact.facts["seconds"])
            alone = replace(study, rankers=(pair,))
            yield from run_study(alone, base, rankers, bench.store.records, step)
        result = yield from run_study(study, base, rankers, bench.store.records, step)
        facts |= {"training_seconds": trained}
        whole = replace(result, facts=facts)
        return bench.store.add(key, study.recipe(), whole.save, facts)


def table(result: StudyResult, measure: str = MEASURE) -> pd.DataFrame:
    """What every variant does to quality, to robustness and to cost.

    Args:
        result: an ablation.
        measure: one that follows from what is stored.

    Returns:
        Columns COLUMNS: mean on the lists as they are; change from the first variant, with a
        paired t test (Holm over the variants); loss by the highest level; its change and test;
        seconds of training (NaN while it runs); trained numbers; what the difference is.
    """
    labels = list(dict.fromkeys(result.trials.ranker))
    facts = result.facts
    seconds = facts.get("training_seconds", {})
    ends = (result.trials.level.min(), result.trials.level.max())
    rows, first = [], None
    measured = set(zip(result.trials.ranker, result.trials.level, strict=True))
    for label in labels:
        if any((label, level) not in measured for level in ends):  # it is being measured
            continue
        start, end = (
            result.per_query(label, PAPER_FAMILY, level, measure).astype(np.float64)
            for level in ends
        )
        first = first or (start, start - end)
        clean, fall = paired_t(start, first[0]), paired_t(start - end, first[1])
        rows.append(
            {
                "variant": label,
                "mean": float(np.nanmean(start)),
                "change": clean.difference,
                "change_p": clean.p_value,
                "loss": float(np.nanmean(start - end)),
                "loss_change": fall.difference,
                "loss_p": fall.p_value,
                "seconds": seconds.get(label, float("nan")),
                "parameters": facts["parameters"][label],
                "source": facts["sources"][label],
            }
        )
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    for name in ("change_p", "loss_p"):
        p = frame[name].to_numpy(np.float64).copy()
        p[1:] = holm(p[1:]) if not np.isnan(p[1:]).any() else p[1:]
        p[:1] = np.nan
        frame[name] = p
    return frame


def _study(
    bench: Workbench, made: Sequence[Variant], levels: Sequence[float], draws: int, seed: int
) -> Study:
    lists = asdict(bench.recipe)
    seen = (bench.fold.train.fingerprint, bench.fold.valid.fingerprint)
    return Study(
        kind=KIND,
        rankers=tuple((one.label, ranker_key(one.spec, lists, *seen).digest) for one in made),
        lists=key_of("lists", lists, (bench.fold.fingerprint,)).digest,
        initial=bench.recipe.initial,
        perturbations=tuple((PAPER_FAMILY, float(level)) for level in levels),
        measures=(MEASURE,),
        draws=draws,
        seed=seed,
        stored=conventions.kept((MEASURE,)),
    )


def _trained(bench: Workbench, variant: Variant) -> Generator[Progress, None, Kept]:
    have = bench.prepared.test.lists.rankings
    if variant.spec.rankings > have:
        raise MissingRankingError(variant.label, variant.spec.rankings, have)
    fitting = kept(
        variant.spec, bench.prepared.train, bench.prepared.valid, asdict(bench.recipe), bench.store
    )
    return (yield from saying(fitting, f"of {variant.label}"))


def _facts(bench: Workbench, made: Sequence[Variant]) -> dict[str, Any]:
    features = len(bench.fold.train.feature_ids)
    base: JudgedLists = bench.prepared.test
    return {
        "data": bench.name,
        "ranker": made[0].spec.name,
        "reads": {one.label: sorted(one.spec.reads) for one in made},
        "queries": len(base.lists),
        "candidates": int(base.lists.offsets[-1]),
        "lists": asdict(bench.recipe),
        "preset": bench.preset,
        "sources": {one.label: one.source for one in made},
        "parameters": {one.label: size.parameters(one.spec.model, features) for one in made},
    }


def _sized(spec: NeuralSpec, sizes: str | None, seed: int) -> NeuralSpec:
    changes: dict[str, Any] = {"seed": seed}
    if sizes is not None:
        small = NeuralSpec.preset(spec.name, sizes)
        flat: Mapping[str, Any] = asdict(small.model) | asdict(small.training)
        changes |= {name: flat[name] for name in (*SIZES, *BATCHES) if name in flat}
    return spec.changed(changes)
