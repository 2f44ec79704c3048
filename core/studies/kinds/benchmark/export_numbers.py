"""Every number of a benchmark's table in long form, for CSV and Parquet."""

from collections.abc import Sequence

import pandas as pd

from shuffleproof.core.studies.kinds.benchmark import table as benchmark_table
from shuffleproof.core.studies.kinds.benchmark.table import LETTERS
from shuffleproof.core.studies.result import StudyResult


def numbers(
    result: StudyResult,
    measures: Sequence[str],
    baselines: Sequence[str],
    test: str = "paired t",
    symbols: str = LETTERS,
) -> pd.DataFrame:
    """Means, spread, runs, N, marks, and the comparison with the first baseline.

    Args:
        result: a benchmark.
        measures: any that follow from what is stored.
        baselines: of the marks; without one nothing is compared.
        test: a name of `core.studies.kinds.ranking_degradation.significance.TESTS`.
        symbols: the marks.

    Returns:
        A row a ranker and measure: the columns of `benchmark_table.means`, marks, against (the
        first baseline), and those of `benchmark_table.compared`; NaN in the baseline's own row.
    """
    table = benchmark_table.means(result, measures)
    marked = benchmark_table.marks(result, measures, baselines, test, symbols)
    table = table.merge(marked, how="left", on=["ranker", "measure"]).fillna({"marks": ""})
    if not baselines:
        return table
    tests = [
        benchmark_table.compared(result, measure, baselines[0], test).assign(measure=measure)
        for measure in measures
    ]
    against = pd.concat(tests, ignore_index=True).drop(columns=["group", "n"])
    against.insert(0, "against", baselines[0])
    return table.merge(against, how="left", on=["ranker", "measure"])
