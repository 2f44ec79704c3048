"""The rows that the paper printed, beside those of a benchmark on the same collection."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from core.data.published import CONVENTION, CUTOFFS, SOURCE, Published, table_for
from core.studies import benchmark_table
from core.studies.result import StudyResult

COLUMNS = ("ranker", "measure", "printed", "here", "difference")


def printed_for(facts: Mapping[str, Any]) -> Published | None:
    """The printed table of a benchmark's collection, where the paper has one.

    Args:
        facts: of the benchmark; `sizes` says what each fold holds.
    """
    sizes = facts.get("sizes")  # runs from outside are of no data set
    return table_for(**sizes[0]) if sizes else None


def in_words(printed: Published) -> str:
    """Whose rows these are, under which convention, and what to know before comparing.

    >>> in_words(table_for(31_531, 3_771_125, 136, 4)).partition(" · ")[0]
    'Pang et al., SIGIR 2020, Table 2, MSLR30K'
    """
    return f"{SOURCE}, {printed.collection} · {CONVENTION}. {printed.remark}"


def beside(result: StudyResult, printed: Published) -> pd.DataFrame:
    """The printed numbers and ours, under the convention of the paper.

    Returns:
        Columns COLUMNS, one row a printed ranker and cut-off; `here` is NaN for a ranker that the
        benchmark does not have. A ranker is known by its name, whatever its preset.
    """
    measures = [f"NDCG@{cutoff}" for cutoff in CUTOFFS]
    means = benchmark_table.means(result, measures)
    ours: dict[tuple[str, str], float] = {}
    for row in means.to_dict("records"):
        ours.setdefault((row["ranker"].partition("@")[0], row["measure"]), row["mean"])
    rows = [
        {"ranker": name, "measure": measure, "printed": value}
        | {"here": ours.get((name, measure), float("nan"))}
        for name, values in printed.rows.items()
        for measure, value in zip(measures, values, strict=True)
    ]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.assign(difference=frame["here"].to_numpy(np.float64) - frame["printed"])
