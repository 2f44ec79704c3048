"""Runner of studies: trial after trial; each is stored when it finishes and never repeated."""

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from jaxtyping import Float32, Float64

from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import UsageError
from shuffleproof.core.experiment.score_reuse import ScoreCache
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate, evaluate_many
from shuffleproof.core.perturb.base import MakePerturbation, Perturbation, perturb
from shuffleproof.core.perturb.registry import perturbation, tau_shared
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.seeds import generator
from shuffleproof.core.studies.noise import Noise
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.study import CellResult, Study, Trial, TrialRecords, as_stored, plan

Scores = Float32[np.ndarray, " _"]
Answers = Callable[[JudgedLists, Scores, JudgedLists, Scores], Float32[np.ndarray, "facts lists"]]
"""Changes of a ranking: (base, its scores, variant, its scores) → further rows of values."""


def measured_by(measures: Sequence[Measure], answers: Answers | None = None) -> "MeasureTrial":
    """Step of a study: score the variants, evaluate every measure for every query.

    It caches each ranker's scores of the base lists, so create a new one for every study.

    Args:
        measures: of the study.
        answers: computes further values of every query.
    """
    known: dict[tuple[int, int], tuple[ScoreCache, Noise]] = {}

    def measured(
        ranker: Ranker, base: JudgedLists, variants: Sequence[JudgedLists]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Values [measures, queries] of each variant, and facts on carried-over scores."""
        key = (id(ranker), id(base))
        if key not in known:
            carrier = ScoreCache(ranker, base)
            known[key] = carrier, Noise(ranker, base, carrier.scores, measures)
        carrier, noise = known[key]
        scored = carrier.score_judged(variants)
        values = values_of(measures, base, variants, scored.scores)
        facts = {"carried": scored.carried, "proof_deviation": scored.deviation}
        facts |= noise.facts(values)
        if answers:
            values = with_answers(values, answers, (base, carrier.scores), variants, scored.scores)
        return values, facts

    return measured


def values_of(
    measures: Sequence[Measure],
    base: JudgedLists,
    variants: Sequence[JudgedLists],
    scores: Sequence[Scores],
) -> list[Any]:
    """Values [measures, queries] of each variant; in one batch if all share the base's data."""
    if all(variant.dataset is base.dataset for variant in variants):
        runs = [
            (variant.lists, variant_scores)
            for variant, variant_scores in zip(variants, scores, strict=True)
        ]
        return list(evaluate_many(measures, base.dataset, runs))
    return [
        evaluate(measures, variant.dataset, variant.lists, variant_scores)
        for variant, variant_scores in zip(variants, scores, strict=True)
    ]


def with_answers(
    values: Sequence[Any],
    answers: Answers,
    before: tuple[JudgedLists, Scores],
    variants: Sequence[JudgedLists],
    after: Sequence[Scores],
) -> list[Any]:
    """Values of each variant, followed by the changes of its ranking."""
    return [
        np.concatenate([variant_values, answers(*before, variant, scores)])
        for variant_values, variant, scores in zip(values, variants, after, strict=True)
    ]


class Point:
    """Variants of one perturbation at one level, created on demand.

    Variants with the base's own data set are cached for the next ranker. Variants with another data
    set are drawn again, so that only one of them is in memory at a time.

    Args:
        change: the perturbation.
        base: the unperturbed lists.
        seed: master seed of the draws.
    """

    def __init__(self, change: Perturbation, base: JudgedLists, seed: int) -> None:
        self.change, self.base, self.seed = change, base, seed
        self.alone = bool(change.changes & {"set", "features"})
        self._variants: dict[int, tuple[JudgedLists, float]] = {}

    def variant(self, draw: int) -> tuple[JudgedLists, float]:
        """Lists of a draw, and the mean Kendall τ to the original."""
        if draw in self._variants:
            return self._variants[draw]
        names = (self.change.family, float(self.change.level), draw)
        judged = perturb(self.change, self.base, generator(self.seed, *names))
        variant = judged, _mean_defined(tau_shared(self.base, judged, self.change))
        if judged.dataset is self.base.dataset:
            self._variants[draw] = variant
        return variant


MeasureTrial = Callable[
    [Ranker, JudgedLists, Sequence[JudgedLists]], tuple[list[Any], dict[str, Any]]
]


def run_study(  # noqa: PLR0913 (what is studied, on what, and the two steps of a trial)
    study: Study,
    base: JudgedLists,
    rankers: Mapping[str, Ranker],
    records: TrialRecords,
    measured: MeasureTrial,
    *,
    made: MakePerturbation = perturbation,
    facts: Mapping[str, Any] | None = None,
) -> Generator[Progress, None, StudyResult]:
    """Run the trials that are not stored; yields after every ranker and level.

    Args:
        study: source of the plan.
        base: the unperturbed lists.
        rankers: a ranker for every label in `study.rankers`.
        records: store of finished trials.
        measured: (ranker, base, variants) → per-query values [measures, queries] of each variant
            and facts about their computation.
        made: (family, level) → perturbation; attacks on a ranker of the study need another one.
        facts: of the result.

    Raises:
        UsageError: no perturbation, a family that changes no input, or does not fit the lists.
    """
    trials = plan(study)
    by_digest: dict[str, CellResult] = {}
    count = 0
    for (family, level), of_point in groupby(trials, key=lambda trial: (trial.family, trial.level)):
        point: Point | None = None
        for label, of_ranker in groupby(of_point, key=lambda trial: trial.ranker):
            batch = list(of_ranker)
            missing = []
            for trial in batch:
                stored = records.get(study.digest_of(trial))
                if stored is None:
                    missing.append(trial)
                else:
                    by_digest[study.digest_of(trial)] = stored
            if missing:
                point = point or _point(study, base, made(family, level))
                for trial, meta, value in _measured_trials(
                    base, rankers[label], missing, point, measured
                ):
                    record = (as_stored(meta), {"values": value})
                    records.put(study.digest_of(trial), *record)
                    by_digest[study.digest_of(trial)] = record
            count += len(batch)
            yield Progress(count, len(trials), "trials", {"level": level})
    result = study.assemble(by_digest, query_ids_of(base), facts or {})
    if result is None:
        raise UsageError("nothing to study: name at least one family of perturbations")
    return result


def _point(study: Study, base: JudgedLists, change: Perturbation) -> Point:
    if change.changes & {"labels", "system"}:
        raise UsageError(f"{change} changes no input: use `study perturbations`")
    return Point(change, base, study.seed)


def _mean_defined(tau: Float64[np.ndarray, " lists"]) -> float:
    """Mean over the lists with a defined τ; 1 without any (nothing can move)."""
    defined = tau[~np.isnan(tau)]
    return float(defined.mean()) if len(defined) else 1.0


def _measured_trials(
    base: JudgedLists,
    ranker: Ranker,
    missing: Sequence[Trial],
    point: Point,
    measured: MeasureTrial,
) -> Iterator[tuple[Trial, dict[str, Any], np.ndarray]]:
    """Missing trials of a ranker at a point, scored in one batch if they share a data set."""
    # Variants with their own data set are scored one at a time, to save memory
    for trials in [[trial] for trial in missing] if point.alone else [missing]:
        start = time.perf_counter()
        variants = [point.variant(trial.draw) for trial in trials]
        values, facts = measured(ranker, base, [judged for judged, _ in variants])
        seconds = (time.perf_counter() - start) / len(trials)
        for trial, (judged, tau), value in zip(trials, variants, values, strict=True):
            variant_facts = {"tau": tau, "set_size": judged.lists.mean_length}
            yield trial, facts | variant_facts | {"seconds": seconds}, value


def query_ids_of(base: JudgedLists) -> tuple[str, ...]:
    """Ids of the lists' queries."""
    return tuple(base.dataset.query_ids[query] for query in base.lists.queries)
