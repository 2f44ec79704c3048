"""Running a study: trial after trial, each stored as it finishes and never done twice."""

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from jaxtyping import Float64

from core.data.lists import JudgedLists
from core.errors import UsageError
from core.perturb.base import Make, Perturbation, disturbed
from core.perturb.registry import perturbation, tau_shared
from core.progress import Progress
from core.rankers.base import Ranker
from core.seeds import generator
from core.studies.result import StudyResult
from core.studies.study import Study, Trial, plan


@runtime_checkable
class TrialRecords(Protocol):
    """Where finished trials are kept: `core.store.records.Records`, or a process's memory."""

    def get(self, digest: str) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
        """A record's facts and arrays, or None."""

    def put(self, digest: str, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Keep a record."""


class Memory:
    """Records that live as long as the process: for rankers whose identity no digest tells."""

    def __init__(self) -> None:
        """Begin empty."""
        self.kept: dict[str, tuple[dict[str, Any], dict[str, np.ndarray]]] = {}

    def get(self, digest: str) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
        """A record's facts and arrays, or None."""
        return self.kept.get(digest)

    def put(self, digest: str, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Keep a record."""
        self.kept[digest] = (meta, arrays)


@dataclass(frozen=True)
class Variant:
    """What one draw made of the lists, with the Kendall τ that it left."""

    judged: JudgedLists
    tau: float


class Point:
    """The variants of one perturbation at one level, made when they are asked for.

    Those over the base's own data set are kept for the next ranker; those that bring a data set
    of their own are drawn again, so that one of them is in memory at a time.

    Args:
        change: the perturbation.
        base: the lists as they are.
        seed: master seed of the draws.
    """

    def __init__(self, change: Perturbation, base: JudgedLists, seed: int) -> None:
        self.change, self.base, self.seed = change, base, seed
        self.alone = bool(change.changes & {"set", "features"})
        self._kept: dict[int, Variant] = {}

    def variant(self, draw: int) -> Variant:
        """The variant of a draw."""
        if draw in self._kept:
            return self._kept[draw]
        names = (self.change.family, float(self.change.level), draw)
        judged = disturbed(self.change, self.base, generator(self.seed, *names))
        found = Variant(judged, _mean_defined(tau_shared(self.base, judged, self.change)))
        if judged.dataset is self.base.dataset:
            self._kept[draw] = found
        return found


Measured = Callable[[Ranker, JudgedLists, Sequence[JudgedLists]], tuple[list[Any], dict[str, Any]]]


def run_study(  # noqa: PLR0913 (what is studied, on what, and the two steps of a trial)
    study: Study,
    base: JudgedLists,
    rankers: Mapping[str, Ranker],
    records: TrialRecords,
    measured: Measured,
    *,
    made: Make = perturbation,
) -> Generator[Progress, None, StudyResult]:
    """Run what is not stored yet; yields after every ranker and level, returns the result.

    Args:
        study: the plan's source.
        base: the lists as they are.
        rankers: a ranker for every label in `study.rankers`.
        records: where finished trials are kept.
        measured: (ranker, base, variants) → per-query values [measures, queries] of each variant
            and facts about how they were obtained.
        made: (family, level) → perturbation; attacks on a ranker of the study need their own.

    Raises:
        UsageError: a family that changes no input, or one that the lists cannot take.
    """
    trials = plan(study)
    done: dict[Trial, tuple[dict[str, Any], np.ndarray]] = {}
    for (family, level), of_point in groupby(trials, key=lambda trial: (trial.family, trial.level)):
        point: Point | None = None
        for label, of_ranker in groupby(of_point, key=lambda trial: trial.ranker):
            batch = list(of_ranker)
            missing = [trial for trial in batch if _stored(study, trial, records, done) is None]
            if missing:
                point = point or _point(study, base, made(family, level))
                for trial, meta, value in _measured(base, rankers[label], missing, point, measured):
                    records.put(study.digest_of(trial), meta, {"values": value})
                    done[trial] = (meta, value)
            yield Progress(len(done), len(trials), "trials", {"level": level})
    return _assembled(study, query_ids_of(base), trials, done, {})


def so_far(
    study: Study, records: TrialRecords, query_ids: Sequence[str], facts: Mapping[str, Any]
) -> StudyResult | None:
    """What a study has found so far, from the trials that are stored; None before the first.

    Args:
        study: under way in this or another process, or stopped.
        records: where its finished trials are kept.
        query_ids: one id a list, in the lists' order.
        facts: of the result to come.
    """
    done: dict[Trial, tuple[dict[str, Any], np.ndarray]] = {}
    finished = [trial for trial in plan(study) if _stored(study, trial, records, done) is not None]
    if not finished:
        return None
    return _assembled(study, tuple(query_ids), finished, done, facts)


def from_records(
    recipe: Mapping[str, Any],
    records: TrialRecords,
    query_ids: Sequence[str],
    facts: Mapping[str, Any],
) -> StudyResult | None:
    """`so_far` of a study in plain JSON values."""
    return so_far(Study.of(recipe), records, query_ids, facts)


def _stored(
    study: Study,
    trial: Trial,
    records: TrialRecords,
    done: dict[Trial, tuple[dict[str, Any], np.ndarray]],
) -> np.ndarray | None:
    found = records.get(study.digest_of(trial))
    if found is None:
        return None
    done[trial] = (found[0], found[1]["values"])
    return found[1]["values"]


def _point(study: Study, base: JudgedLists, change: Perturbation) -> Point:
    if change.changes & {"labels", "system"}:
        raise UsageError(f"{change} changes no input: `study perturbations` trains and asks anew")
    return Point(change, base, study.seed)


def _mean_defined(tau: Float64[np.ndarray, " lists"]) -> float:
    """The mean over the lists that have a τ at all; 1 where none has (nothing can move)."""
    defined = tau[~np.isnan(tau)]
    return float(defined.mean()) if len(defined) else 1.0


def _measured(
    base: JudgedLists, ranker: Ranker, missing: Sequence[Trial], point: Point, measured: Measured
) -> Iterator[tuple[Trial, dict[str, Any], np.ndarray]]:
    """The missing trials of a ranker at a point, scored together where they share a data set."""
    for trials in [[trial] for trial in missing] if point.alone else [missing]:
        start = time.perf_counter()
        variants = [point.variant(trial.draw) for trial in trials]
        values, facts = measured(ranker, base, [variant.judged for variant in variants])
        seconds = (time.perf_counter() - start) / len(trials)
        for trial, variant, value in zip(trials, variants, values, strict=True):
            lists = variant.judged.lists
            size = float(lists.lengths.mean()) if len(lists) else 0.0
            yield trial, facts | {"tau": variant.tau, "set_size": size, "seconds": seconds}, value


def _assembled(
    study: Study,
    query_ids: tuple[str, ...],
    trials: Sequence[Trial],
    done: Mapping[Trial, tuple[dict[str, Any], np.ndarray]],
    facts: Mapping[str, Any],
) -> StudyResult:
    rows = [
        {"ranker": trial.ranker, "family": trial.family, "level": trial.level, "draw": trial.draw}
        | done[trial][0]
        for trial in trials
    ]
    return StudyResult(
        recipe=study.recipe(),
        trials=pd.DataFrame(rows),
        values=np.stack([done[trial][1] for trial in trials]).astype(np.float32),
        query_ids=query_ids,
        facts=facts,
    )


def query_ids_of(base: JudgedLists) -> tuple[str, ...]:
    """The id of every list's query."""
    return tuple(base.dataset.query_ids[query] for query in base.lists.queries)
