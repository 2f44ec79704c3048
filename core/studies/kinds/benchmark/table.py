"""Tables of a benchmark: means over seeds and folds, differences and tests.

Tests pair queries; a query's value is its mean over the seeds. Other conventions are computed from
the stored values. Measures that do not follow from these are computed from the stored scores of
every row, seed and fold; no ranker scores again.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from jaxtyping import Float, Float32, Float64, Int64
from safetensors.numpy import load_file

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.errors import UnknownNameError, UsageError
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.randomisation import randomisation_p
from shuffleproof.core.metrics.relevance import evaluate, mean_of
from shuffleproof.core.metrics.robustness import win_tie_loss
from shuffleproof.core.metrics.significance import (
    ALPHA,
    adjusted_tests,
    bootstrap_intervals,
    effect_size,
    holm,
    paired_t,
)
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.conventions import derivable, derive_values
from shuffleproof.core.studies.kinds.benchmark.outside_runs import evaluate_run, is_of_runs
from shuffleproof.core.studies.kinds.benchmark.query import judged_by, made_on
from shuffleproof.core.studies.kinds.benchmark.rows import GROUPS
from shuffleproof.core.studies.kinds.benchmark.study import RUNS
from shuffleproof.core.studies.result import StudyResult, by_query, known_mean
from shuffleproof.core.studies.sections import View

LEAST_QUERIES = 5
"""Fewest queries of a test. A difference over fewer has no p value, interval or mark."""

LETTERS = "abcdefghijklmnopqrstuvwxyz"
"""Marks of rows that differ from the first, second, … baseline."""

MEANS = (
    tables.Column("group", "Group"),
    tables.RANKER,
    tables.Column("measure", "Measure"),
    tables.Column("mean", "Mean", tables.VALUE, "Over queries and seeds."),
    tables.Column("mean_of_folds", "Mean of folds", tables.VALUE, "All folds have equal weight."),
    tables.Column("sd", "sd", tables.VALUE, "Of the means of each seed and fold."),
    tables.Column("runs", "Runs", tables.COUNT, "Seeds that differ times folds."),
    tables.QUERIES,
    tables.Column("best", "Best", tables.FLAG),
)


PAIRED_T = "paired t"
TESTS = {
    PAIRED_T: "Student's paired t test",
    "randomisation": "Fisher's paired randomisation test, 10 000 exchanges",
}
SAME = "95 % interval; beside paired t tests Student's, adjusted by Holm as p is, else BCa."


def comparison(baseline: str) -> tuple[tables.Column, ...]:
    """Columns of `against_baseline`."""
    return (
        tables.Column("group", "Group"),
        tables.RANKER,
        tables.Column("difference", f"− {baseline}", tables.CHANGE, "Mean minus the baseline's."),
        *tables.bounds(spec=tables.CHANGE, words=SAME),
        tables.Column("p", "p", tables.P, "Adjusted by Holm over the rows."),
        tables.Column("effect", "d", tables.EFFECT, "Cohen's d of the differences."),
        tables.Column("wins", "better", tables.COUNT, "Queries on which it is better."),
        tables.Column("ties", "equal", tables.COUNT),
        tables.Column("losses", "worse", tables.COUNT),
        tables.QUERIES,
    )


DECODED = 24
"""Number of measures whose decoded values are cached, for quick changes between measures."""


_Seeds: TypeAlias = Mapping[str, Float32[np.ndarray, "seeds queries"]]
_Means: TypeAlias = Mapping[str, Float64[np.ndarray, " queries"]]


def rankers_of(result: StudyResult) -> list[str]:
    """Rows of the result, group by group, in the requested order within each group."""
    present, groups = dict.fromkeys(result.trials.ranker), result.facts["groups"]
    return sorted(present, key=lambda label: GROUPS.index(groups[label]))


def values_of(result: StudyResult, measure: str) -> _Seeds:
    """Values of every row per seed and query, in the table's order.

    A row whose seeds all gave the same values has one seed here.
    """
    return _decoded_values(result, measure)[0]


def per_query(result: StudyResult, measure: str) -> _Means:
    """Value of every row for every query: the mean over its seeds."""
    return _decoded_values(result, measure)[1]


@lru_cache(maxsize=DECODED)
def _decoded_values(result: StudyResult, measure: str) -> tuple[_Seeds, _Means]:
    values = derive_values(measure, result.stored_measures, result.values)
    rows = result.trials.groupby("ranker", sort=False).indices
    seeds = {
        label: values[_distinct_trials(result, np.asarray(rows[label]))]
        for label in rankers_of(result)
    }
    means = {
        label: runs.mean(axis=0, dtype=np.float64).astype(np.float32).astype(np.float64)
        for label, runs in seeds.items()
    }
    return seeds, means


def _distinct_trials(result: StudyResult, rows: Int64[np.ndarray, " seeds"]) -> np.ndarray:
    """Trials of a row; only the first if all their stored values are equal."""
    first, *later = rows
    values = result.values[first]
    equal = all(np.array_equal(values, result.values[row], equal_nan=True) for row in later)
    return rows[:1] if equal else rows


def means(result: StudyResult, measures: Sequence[str]) -> pd.DataFrame:
    """Means: MEANS, one row per ranker and measure.

    sd has n − 1 and is NaN for a single run. `best` marks the highest mean outside the references.
    `mean_of_folds` gives every fold the same weight, as LETOR prints means.
    """
    rows = []
    for measure in measures:
        values = values_of(result, measure)
        ranker_rows = [
            _mean_row(result, label, measure, ranker_values)
            for label, ranker_values in values.items()
        ]
        ranked = [row["mean"] for row in ranker_rows if row["group"] != GROUPS[0]]
        highest = max((mean for mean in ranked if not np.isnan(mean)), default=np.nan)
        rows += [
            row | {"best": row["group"] != GROUPS[0] and row["mean"] == highest}
            for row in ranker_rows
        ]
    return pd.DataFrame(rows)


def _mean_row(
    result: StudyResult, label: str, measure: str, values: Float32[np.ndarray, "seeds queries"]
) -> dict[str, Any]:
    parsed = Measure.parse(measure)
    of_runs = [
        mean_of(parsed, seed[fold["start"] : fold["stop"]])
        for seed in values
        for fold in result.facts["folds"]
    ]
    query_means = per_query(result, measure)[label]
    return {
        "group": result.facts["groups"][label],
        "ranker": label,
        "measure": measure,
        "mean": mean_of(parsed, query_means.astype(np.float32)),
        "mean_of_folds": float(np.mean(of_runs)),
        "sd": float(np.std(of_runs, ddof=1)) if len(of_runs) > 1 else float("nan"),
        "runs": len(of_runs),
        "n": len(query_means) if parsed.empty == "nan" else int((~np.isnan(query_means)).sum()),
    }


def against_baseline(
    result: StudyResult, measure: str, baseline: str, test: str = PAIRED_T
) -> pd.DataFrame:
    """Differences of every other ranker from a baseline: the columns of `comparison`.

    For paired t tests the intervals are Student's, adjusted like p by Holm, so that both agree.
    Other tests have no interval of their own; a BCa bootstrap is reported with them.

    Raises:
        UnknownNameError: no such ranker in the study, or no such test.
    """
    _check_names(result, [baseline], test)
    values, groups = per_query(result, measure), result.facts["groups"]
    labels = [label for label in values if label != baseline]
    if not labels:
        return pd.DataFrame(columns=tables.keys(comparison("")))
    differences = _differences(measure, values, labels, baseline)
    testable = _testable(differences)
    if test == PAIRED_T:
        p, low, high = adjusted_tests(testable)
    else:
        p = holm(_p_values(testable, test))
        low, high = bootstrap_intervals(testable, generator(0, "benchmark", baseline))
    rows = []
    for at, label in enumerate(labels):
        counts = win_tie_loss(values[baseline], values[label], tolerance=1e-6)
        outcomes = counts.wins, counts.ties, counts.losses
        effect = effect_size(differences[at, ~np.isnan(differences[at])])
        tested = known_mean(differences[at]), low[at], high[at], p[at], effect
        rows.append((groups[label], label, *tested, *outcomes, sum(outcomes)))
    return pd.DataFrame(rows, columns=tables.keys(comparison("")))


def marks(result: StudyResult, view: View) -> pd.DataFrame:
    """Marks: a row that is significantly above baseline a has `a`, a row below it `(a)`.

    Holm's adjustment covers every ranker and measure compared with one baseline.

    Returns:
        Columns ranker, measure, marks.

    Raises:
        UsageError: more baselines than letters.
        UnknownNameError: no such ranker in the study, or no such test.
    """
    baselines = view.baselines or ()
    check_baselines(baselines)
    _check_names(result, baselines, view.test)
    rows, differences = [], []
    for measure in view.measures:
        values = per_query(result, measure)
        for letter, baseline in zip(LETTERS, baselines, strict=False):
            for label in values:
                if label != baseline:
                    rows.append((label, measure, letter))
                    differences.append(_differences(measure, values, [label], baseline)[0])
    frame = pd.DataFrame(rows, columns=["ranker", "measure", "letter"])
    if not rows:
        return frame.rename(columns={"letter": "marks"})
    raw = pd.Series(_p_values(_testable(np.stack(differences)), view.test))
    # One family of hypotheses per baseline: all rankers and measures compared with it
    p = raw.groupby(frame["letter"]).transform(lambda values: holm(values.to_numpy(np.float64)))
    above = np.nansum(differences, axis=1) > 0
    texts = np.where(above, frame["letter"], "(" + frame["letter"] + ")")
    frame["marks"] = np.where(p <= ALPHA, texts, "")
    joined = frame.groupby(["ranker", "measure"], sort=False)["marks"].agg("".join)
    return joined.reset_index()


def marked_means(result: StudyResult, view: View) -> pd.DataFrame:
    """`means` with the `marks` of each; empty without marks."""
    marked = marks(result, view)
    frame = means(result, view.measures).merge(marked, "left", ["ranker", "measure"])
    return frame.fillna({"marks": ""})


def deltas(result: StudyResult, ranker: str, baseline: str, measure: str) -> pd.DataFrame:
    """Per-query differences of a ranker from a baseline, the greatest gain first.

    Returns:
        Columns query, fold, ranker, baseline, difference; queries that the measure leaves out
        are left out.
    """
    values = per_query(result, measure)
    ranker_values, baseline_values = values[ranker], values[baseline]
    folds = result.facts["folds"]
    names = [fold["name"] for fold in folds for _ in range(fold["start"], fold["stop"])]
    frame = by_query(
        result.query_ids, ("baseline", baseline_values), ("ranker", ranker_values), "difference",
        more={"fold": names}, gains_first=True,
    )  # fmt: skip
    return frame[["query", "fold", "ranker", "baseline", "difference"]]


def _check_names(result: StudyResult, baselines: Sequence[str], test: str) -> None:
    if test not in TESTS:
        raise UnknownNameError("test", test, TESTS)
    for baseline in baselines:
        if baseline not in rankers_of(result):
            raise UnknownNameError("ranker of the study", baseline, rankers_of(result))


def _differences(
    measure: str,
    values: Mapping[str, Float64[np.ndarray, " queries"]],
    labels: Sequence[str],
    baseline: str,
) -> Float64[np.ndarray, "rankers queries"]:
    differences = np.stack([values[label] - values[baseline] for label in labels])
    # With empty=nan a single undefined query makes the mean undefined, so nothing is tested
    if Measure.parse(measure).empty == "nan":
        differences[np.isnan(differences).any(axis=1)] = np.nan
    return differences


def _testable(
    differences: Float64[np.ndarray, "rankers queries"],
) -> Float64[np.ndarray, "rankers queries"]:
    """Differences, NaN in rows of fewer than LEAST_QUERIES."""
    counts = (~np.isnan(differences)).sum(axis=1, keepdims=True)
    return np.where(counts >= LEAST_QUERIES, differences, np.nan)


def check_baselines(baselines: Sequence[str]) -> None:
    """Refuse more baselines than there are letters.

    Raises:
        UsageError: a baseline would have no letter.
    """
    if len(baselines) > len(LETTERS):
        raise UsageError(f"{len(baselines)} baselines, and letters for {len(LETTERS)}: name fewer")


def _p_values(
    differences: Float64[np.ndarray, "tests queries"], test: str
) -> Float64[np.ndarray, " tests"]:
    """Unadjusted p values of several tests."""
    if test != PAIRED_T:
        return randomisation_p(differences, generator(0, "benchmark"))
    return np.array(
        [paired_t(difference, np.zeros_like(difference)).p_value for difference in differences]
    )


def with_measures(
    result: StudyResult, study: Path, measures: Sequence[str], store: Store
) -> StudyResult:
    """Benchmark with the values of these measures; unchanged if they follow from stored ones.

    Raises:
        DataError: the data is no longer stored, or lacks an input of a convention.
    """
    missing = tuple(
        str(Measure.parse(text).under(empty="skip"))
        for text in measures
        if not derivable(text, result.stored_measures)
    )
    if not missing:
        return result
    parsed = [Measure.parse(text) for text in dict.fromkeys(missing)]
    measure = evaluate_run if is_of_runs(result.recipe) else evaluate
    values = np.stack(
        [
            np.concatenate([measure(parsed, *answer) for answer in row], axis=1)
            for row in _stored_answers(result, study, store)
        ]
    )
    stored = [*result.stored_measures, *map(str, parsed)]
    return replace(
        result,
        recipe=dict(result.recipe) | {"stored": stored},
        values=np.concatenate([result.values, values], axis=1),
    )


_Answer: TypeAlias = tuple[RankingDataset, CandidateLists, Float[np.ndarray, " candidates"]]


def _stored_answers(result: StudyResult, study: Path, store: Store) -> Iterator[list[_Answer]]:
    """Lists and scores of every row, fold by fold; for runs from files the retrieved lists."""
    if is_of_runs(result.recipe):
        dataset, arrays = judged_by(study, result.query_ids)
        for run in result.trials["ranker"]:
            retrieved = CandidateLists.unranked(arrays[f"offsets/{run}"], arrays[f"rows/{run}"])
            yield [(dataset, retrieved, arrays[f"scores/{run}"])]
        return
    folds, arrays = made_on(result.facts, store), load_file(study / RUNS)
    lists = [
        CandidateLists.unranked(arrays[f"offsets/{part}"], arrays[f"rows/{part}"])
        for part in range(len(folds))
    ]
    for ranker, draw in zip(result.trials["ranker"], result.trials["draw"], strict=True):
        yield [
            (fold.test, lists[part], arrays[f"scores/{ranker}/{draw}/{part}"])
            for part, fold in enumerate(folds)
        ]


def numbers(result: StudyResult, view: View) -> pd.DataFrame:
    """Means, spread, runs, N, marks, and the comparison with the first baseline, if any.

    One row per ranker and measure: the columns of `marked_means`, `against` (the first baseline),
    and those of `against_baseline`; NaN in the baseline's own row.
    """
    table = marked_means(result, view)
    if not view.baselines:
        return table
    baseline, *_ = view.baselines
    tests = [
        against_baseline(result, measure, baseline, view.test).assign(measure=measure)
        for measure in view.measures
    ]
    against = pd.concat(tests, ignore_index=True).drop(columns=["group", "n"])
    against.insert(0, "against", baseline)
    return table.merge(against, how="left", on=["ranker", "measure"])
