"""Robustness card: all effects of a worse initial ranking on a ranker, in one study.

In addition to the measures, every trial stores changes of the ranking itself. These are a change
of the top document, the number of changes among the first ten, and the movement of documents of
each grade. All of them are relative to the ranker's own ranking of the unperturbed lists.
"""

import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float32

from shuffleproof.core.data import ragged
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import UsageError
from shuffleproof.core.experiment.precomputed_scores import is_as_is
from shuffleproof.core.experiment.score_reuse import source_of
from shuffleproof.core.metrics.agreement import positions
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.perturb.levels import pairs_of
from shuffleproof.core.perturb.registry import entry_of
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.rankers.outside.file_ranker import OutsideModel
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import conventions
from shuffleproof.core.studies.kinds.card.question import Card
from shuffleproof.core.studies.kinds.worst_case.orders import Attack
from shuffleproof.core.studies.result import OWN_PROCESS, StudyResult
from shuffleproof.core.studies.run import MeasureTrial, measured_by, query_ids_of, run_study
from shuffleproof.core.studies.study import Study, TrialRecords
from shuffleproof.core.studies.workbench import OpenRankers, Workbench, digests_of, with_initial

FLIPS = {"flip-top-1": 1, "flip-top-10": 10}
"""Share of the first `depth` documents that changed, by measure name."""

GRADES = (0, 1, 2, 3, 4)
MOVED = tuple(f"moved-grade-{grade}" for grade in GRADES)
"""Mean number of positions that documents of a grade moved; NaN without such a document."""

OWN = (*FLIPS, *MOVED)
MEASURE = Measure.parse("NDCG@10")
ALLOWED = frozenset({"order", "ranking"})
TIMINGS, TIMED_LISTS = 3, 200


def check(families: Sequence[str]) -> None:
    """Refuse families that no card supports, before anything is read or trained.

    Raises:
        UnknownNameError: no such family.
        UsageError: a family that changes more than order or ranking.
    """
    for family in families:
        if not entry_of(family).changes <= ALLOWED:
            raise UsageError(
                f"{family} changes more than the order: use it in `study perturbations`, not in a "
                "card"
            )


def run(workbench: Workbench, question: Card) -> Generator[Progress, None, Artefact]:
    """Train missing rankers, then perturb, measure and time; the initial ranking is included.

    Raises:
        UsageError: a family that changes more than order or ranking.
    """
    check(question.families)
    identified = yield from workbench.identified_all(question.rankers)
    entered = with_initial(identified)
    measures = (str(MEASURE),)
    study = Study(
        kind=question.kind,
        rankers=digests_of(entered),
        lists=workbench.lists_digest,
        initial=workbench.recipe.initial,
        perturbations=pairs_of(question.families),
        measures=measures,
        draws=question.draws,
        seed=question.seed,
        stored=(*conventions.stored_measures(measures), *OWN),
    )
    base: JudgedLists = workbench.prepared.test
    records, rankers = workbench.store.records, OpenRankers(entered)

    def work(facts: dict[str, Any]) -> Generator[Progress, None, StudyResult]:
        relevance = [Measure.parse(text) for text in study.stored_measures if text not in OWN]
        step = measured_by(relevance, answer_changes)
        result = yield from _run_trials(study, base, rankers, records, step)
        facts |= {
            "certificates": _certificates(result, base, rankers),
            "milliseconds_a_list": {},
            OWN_PROCESS: {},
        }
        for label, ranker in rankers.items():
            name = RankerName.of(label)
            if not (name.is_initial or name.is_scores):
                times = facts[OWN_PROCESS if name.is_scored_apart else "milliseconds_a_list"]
                times[label] = _milliseconds_a_list(ranker, base)
        return replace(result, facts=facts)

    ids = query_ids_of(base)
    facts = partial(workbench.facts, base, rankers)
    return (yield from workbench.run(study, ids, facts, work))


def _run_trials(
    study: Study,
    base: JudgedLists,
    rankers: Mapping[str, Ranker],
    records: TrialRecords,
    step: MeasureTrial,
) -> Generator[Progress, None, StudyResult]:
    """Run the trials; scores in a file are only measured on the unperturbed lists."""
    scorable = tuple(pair for pair in study.rankers if pair not in study.precomputed)
    result = yield from run_study(replace(study, rankers=scorable), base, rankers, records, step)
    if not study.precomputed:
        return result
    as_is = tuple(pair for pair in study.perturbations if is_as_is(*pair))
    only = replace(study, rankers=study.precomputed, perturbations=as_is)
    as_is_result = yield from run_study(only, base, rankers, records, step)
    return replace(
        result,
        recipe=study.recipe(),
        trials=pd.concat([result.trials, as_is_result.trials], ignore_index=True),
        values=np.concatenate([result.values, as_is_result.values]),
    )


def _certificates(
    result: StudyResult, base: JudgedLists, rankers: Mapping[str, Ranker]
) -> dict[str, dict[str, Any]]:
    """Certificates under permutations of the ranking, for each ranker with carried-over scores."""
    target = "ranking" if base.lists.rankings else "shown"
    carried = result.trials.groupby("ranker", sort=False)["carried"].any()
    return {
        str(label): asdict(Attack(rankers[str(label)], base, target, MEASURE).certificate)
        for label in carried.index[carried]
    }


def answer_changes(
    base: JudgedLists,
    before: Float32[np.ndarray, " candidates"],
    variant: JudgedLists,
    after: Float32[np.ndarray, " candidates"],
) -> Float32[np.ndarray, "facts lists"]:
    """Changes of the ranking, list by list; ties are broken by data set row.

    Args:
        base: the unperturbed lists.
        before: the ranker's scores of `base`.
        variant: the same documents with another order or initial ranking.
        after: the ranker's scores of `variant`.

    Returns:
        One row per measure of OWN; NaN if a list has no document of a grade, or is empty.
    """
    lists, offsets = base.lists, base.lists.offsets
    carried = np.empty_like(after)
    # Scores of the variant in the order of the base lists, to compare positions
    carried[source_of(lists, variant.lists)] = after
    old = positions(offsets, before, lists.rows)
    new = positions(offsets, carried, lists.rows)
    owner, moved = ragged.segment_ids(offsets), np.abs(new - old)
    grades = base.dataset.labels[lists.rows]

    def summed(values: Any) -> Any:
        return np.bincount(owner, values, minlength=len(lists))

    flips = [summed((old < depth) & (new >= depth)) for depth in FLIPS.values()]
    of_grade = [grades == grade for grade in GRADES]
    parts = np.stack(flips + [summed(moved * of_one_grade) for of_one_grade in of_grade])
    wholes = np.stack(
        [np.minimum(lists.lengths, depth) for depth in FLIPS.values()] + [*map(summed, of_grade)]
    )
    # Lists shorter than the depth count relative to their own length
    shares = np.divide(parts, wholes, out=np.full_like(parts, np.nan), where=wholes > 0)
    return shares.astype(np.float32)


def _milliseconds_a_list(ranker: Ranker, base: JudgedLists) -> float:
    """Median milliseconds to score one list, in a batch of up to 200 lists.

    Of a model file that is the time of the model in its process.
    """
    sample = base.lists.select(np.arange(min(TIMED_LISTS, len(base.lists))))
    times = []
    for _ in range(TIMINGS):
        start = time.perf_counter()
        ranker.score(base.dataset, sample)
        seconds = time.perf_counter() - start
        times.append(ranker.how["seconds"] if isinstance(ranker, OutsideModel) else seconds)
    return float(np.median(times)) * 1e3 / max(1, len(sample))
