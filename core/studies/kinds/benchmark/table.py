"""What a benchmark says: means over seeds and folds, who beats whom, and by how much.

Tests pair queries: a query's value is its mean over the seeds. Another convention is another table
at once, from the stored values; a measure that does not follow from them is measured from the
scores of every row, seed and fold, which are stored too, and no ranker is asked again.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from jaxtyping import Float, Float32, Float64
from safetensors.numpy import load_file

from shuffleproof.core.data.dataset import Fold, RankingDataset
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
from shuffleproof.core.studies.conventions import derivable
from shuffleproof.core.studies.kinds.benchmark.outside_runs import as_ranked, is_of_runs
from shuffleproof.core.studies.kinds.benchmark.query import per_query, rankers_of, values_of
from shuffleproof.core.studies.kinds.benchmark.retrieved_documents import (
    judged_by,
    lists_of,
    made_on,
)
from shuffleproof.core.studies.kinds.benchmark.rows import GROUPS, groups_of
from shuffleproof.core.studies.kinds.benchmark.study import RUNS
from shuffleproof.core.studies.kinds.ranking_degradation.sections import (
    TESTS,
)
from shuffleproof.core.studies.result import StudyResult, by_query
from shuffleproof.core.studies.sections import View

__all__ = [
    "LETTERS",
    "MEANS",
    "SYMBOLS",
    "against_baseline",
    "check_baselines",
    "comparison",
    "deltas",
    "differences_from",
    "intervals",
    "marked_means",
    "marks",
    "means",
    "rankers_of",
]  # fmt: skip

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SYMBOLS: Mapping[str, str] = {"letters": LETTERS, "daggers": "+†‡§¶‖"}
"""What marks a row that differs from the first, second, … baseline; + and † as in the paper."""

MEANS = (
    tables.Column("group", "Group"),
    tables.RANKER,
    tables.Column("measure", "Measure"),
    tables.Column("mean", "Mean", tables.VALUE, "Over queries and seeds."),
    tables.Column("mean_of_folds", "Mean of folds", tables.VALUE, "Every fold counts alike."),
    tables.Column("sd", "sd", tables.VALUE, "Of the means of each seed and fold."),
    tables.Column("runs", "Runs", tables.COUNT, "Seeds that differ times folds."),
    tables.QUERIES,
    tables.Column("best", "Best", tables.FLAG),
)


PAIRED_T = "paired t"
SAME = "95 % interval; beside paired t tests Student's, adjusted by Holm as p is, else BCa."


def comparison(baseline: str) -> tuple[tables.Column, ...]:
    """The columns of `against_baseline`."""
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


def means(result: StudyResult, measures: Sequence[str]) -> pd.DataFrame:
    """The means: MEANS, one row a ranker and measure.

    sd has n − 1 and is NaN for a single run; `best` is the highest of those that are not for
    comparison; `mean_of_folds` counts every fold alike, as LETOR prints means.
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
        "group": groups_of(result.facts)[label],
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
    """Every ranker against one: `comparison`, the baseline left out.

    Raises:
        UnknownNameError: no such ranker in the study, or no such test.
    """
    frame = differences_from(result, measure, baseline, test)
    if len(frame):
        low, high = intervals(result, measure, baseline, list(frame["ranker"]), test)
        frame = frame.assign(low=low, high=high)
    return frame.reindex(columns=tables.keys(comparison("")))


def differences_from(
    result: StudyResult, measure: str, baseline: str, test: str = PAIRED_T
) -> pd.DataFrame:
    """What `against_baseline` says, without the intervals, which take most of its time."""
    values = _checked_values(result, measure, baseline, test)
    labels = [label for label in values if label != baseline]
    columns = [name for name in tables.keys(comparison("")) if name not in {"low", "high"}]
    if not labels:
        return pd.DataFrame(columns=columns)
    differences = _differences(measure, values, labels, baseline)
    p, groups = holm(_p_values(differences, test)), groups_of(result.facts)
    rows = []
    for at, label in enumerate(labels):
        defined = differences[at, ~np.isnan(differences[at])]
        counts = win_tie_loss(values[baseline], values[label], tolerance=1e-6)
        mean = float(defined.mean()) if len(defined) else float("nan")
        outcomes = counts.wins, counts.ties, counts.losses
        effect = effect_size(defined)
        rows.append((groups[label], label, mean, p[at], effect, *outcomes, sum(outcomes)))
    return pd.DataFrame(rows, columns=columns)


def intervals(
    result: StudyResult, measure: str, baseline: str, labels: Sequence[str], test: str = PAIRED_T
) -> tuple[Float64[np.ndarray, " rankers"], Float64[np.ndarray, " rankers"]]:
    """95 % intervals of these rankers' differences from one, of those of all rankers.

    Beside paired t tests they are Student's, adjusted as Holm adjusts p, so that both say the
    same; other tests have no interval of their own, and a BCa bootstrap stands beside them.
    """
    values = _checked_values(result, measure, baseline, test)
    all_labels = [label for label in values if label != baseline]
    differences = _differences(measure, values, all_labels, baseline)
    if test == PAIRED_T:
        _, low, high = adjusted_tests(differences)
    else:
        low, high = bootstrap_intervals(differences, generator(0, "benchmark", baseline))
    rows = [all_labels.index(label) for label in labels]
    return low[rows], high[rows]


def marks(result: StudyResult, view: View) -> pd.DataFrame:
    """Letters: a row that is significantly above baseline a carries `a`, one below it `(a)`.

    Holm's adjustment covers every ranker and measure that is compared with one baseline.

    Returns:
        Columns ranker, measure, marks.

    Raises:
        UsageError: more baselines than symbols.
        UnknownNameError: no such ranker in the study, or no such test.
    """
    baselines = view.baselines or ()
    check_baselines(baselines, view.symbols)
    _check_names(result, baselines, view.test)
    rows, differences = [], []
    for measure in view.measures:
        values = per_query(result, measure)
        for letter, baseline in zip(view.symbols, baselines, strict=False):
            for label in values:
                if label != baseline:
                    rows.append((label, measure, letter))
                    differences.append(_differences(measure, values, [label], baseline)[0])
    frame = pd.DataFrame(rows, columns=["ranker", "measure", "letter"])
    if not rows:
        return frame.rename(columns={"letter": "marks"})
    raw = pd.Series(_p_values(np.stack(differences), view.test))
    p = raw.groupby(frame["letter"]).transform(lambda values: holm(values.to_numpy(np.float64)))
    above = np.nansum(differences, axis=1) > 0
    texts = np.where(above, frame["letter"], "(" + frame["letter"] + ")")
    frame["marks"] = np.where(p <= ALPHA, texts, "")
    joined = frame.groupby(["ranker", "measure"], sort=False)["marks"].agg("".join)
    return joined.reset_index()


def marked_means(result: StudyResult, view: View) -> pd.DataFrame:
    """`means` with the `marks` of each, which are empty where it has none."""
    marked = marks(result, view)
    frame = means(result, view.measures).merge(marked, "left", ["ranker", "measure"])
    return frame.fillna({"marks": ""})


def deltas(result: StudyResult, ranker: str, baseline: str, measure: str) -> pd.DataFrame:
    """A ranker's difference from another for every query, the greatest gain first.

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


def _checked_values(
    result: StudyResult, measure: str, baseline: str, test: str
) -> Mapping[str, Float64[np.ndarray, " queries"]]:
    _check_names(result, [baseline], test)
    return per_query(result, measure)


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
    if Measure.parse(measure).empty == "nan":
        differences[np.isnan(differences).any(axis=1)] = np.nan
    return differences


def check_baselines(baselines: Sequence[str], symbols: str) -> None:
    """Refuse more baselines than there are marks.

    Raises:
        UsageError: a baseline would have no mark.
    """
    if len(baselines) > len(symbols):
        raise UsageError(
            f"{len(baselines)} baselines, and marks for {len(symbols)} ({symbols}): name fewer"
            + ("" if symbols == LETTERS else ", or take letters (--marks letters)")
        )


def _p_values(
    differences: Float64[np.ndarray, "tests queries"], test: str
) -> Float64[np.ndarray, " tests"]:
    """The tests of many differences, not adjusted."""
    if test != PAIRED_T:
        return randomisation_p(differences, generator(0, "benchmark"))
    return np.array(
        [paired_t(difference, np.zeros_like(difference)).p_value for difference in differences]
    )


def with_measures(
    result: StudyResult, study: Path, measures: Sequence[str], store: Store
) -> StudyResult:
    """The benchmark with the values of these measures; as it is where they follow from them.

    Raises:
        DataError: the data is not stored any more, or lacks what a convention needs.
    """
    missing = tuple(
        str(Measure.parse(text).under(empty="skip"))
        for text in measures
        if not derivable(text, result.stored_measures)
    )
    if not missing:
        return result
    parsed = [Measure.parse(text) for text in dict.fromkeys(missing)]
    rows = list(result.trials[["ranker", "draw"]].itertuples(index=False, name=None))
    answers = _of_files(study, result, rows) if is_of_runs(result.recipe) else _of_folds(
        study, made_on(result.facts, store), rows
    )  # fmt: skip
    values = np.stack(
        [np.concatenate([evaluate(parsed, *answer) for answer in row], axis=1) for row in answers]
    )
    stored = [*result.stored_measures, *map(str, parsed)]
    return replace(
        result,
        recipe=dict(result.recipe) | {"stored": stored},
        values=np.concatenate([result.values, values], axis=1),
    )


_Answer: TypeAlias = tuple[RankingDataset, CandidateLists, Float[np.ndarray, " candidates"]]
_Rows: TypeAlias = Sequence[tuple[str, int]]


def _of_folds(study: Path, folds: Sequence[Fold], rows: _Rows) -> Iterator[list[_Answer]]:
    """The lists and scores of every row, fold by fold."""
    arrays = load_file(study / RUNS)
    lists = [
        lists_of(arrays[f"rows/{part}"], arrays[f"offsets/{part}"]) for part in range(len(folds))
    ]
    for ranker, draw in rows:
        yield [
            (fold.test, lists[part], arrays[f"scores/{ranker}/{draw}/{part}"])
            for part, fold in enumerate(folds)
        ]


def _of_files(study: Path, result: StudyResult, rows: _Rows) -> Iterator[list[_Answer]]:
    """What every run from a file retrieved."""
    dataset, arrays = judged_by(study, result.query_ids)
    for run, _ in rows:
        lists = lists_of(arrays[f"rows/{run}"], arrays[f"offsets/{run}"])
        yield [(dataset, lists, as_ranked(lists, arrays[f"scores/{run}"]))]


def numbers(result: StudyResult, view: View) -> pd.DataFrame:
    """Means, spread, runs, N, marks, and the comparison with the first baseline, where one is.

    A row a ranker and measure: the columns of `marked_means`, against (the first baseline), and
    those of `against_baseline`; NaN in the baseline's own row.
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
