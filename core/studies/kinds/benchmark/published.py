"""The rows that the paper printed, beside those of a benchmark on the same collection."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from shuffleproof.core.data.published import (
    CONVENTION,
    CONVENTIONS,
    CUTOFFS,
    DEPTH,
    RANKED_BY,
    SOURCE,
    Published,
    table_for,
)
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.kinds.benchmark import table as benchmark_table
from shuffleproof.core.studies.result import StudyResult

COLUMNS = (
    tables.RANKER,
    tables.Column("measure", "Measure"),
    tables.Column("printed", "Printed", ".4f"),
    tables.Column("here", "Here", ".4f", "Under the paper's convention."),
    tables.Column("difference", "Difference", "+.4f"),
)


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


def warning(facts: Mapping[str, Any], measures: Sequence[str]) -> str:
    """Why columns may not be compared with the printed rows; empty where nothing is known.

    Args:
        facts: of the benchmark.
        measures: the columns.

    >>> warning({}, ["NDCG@10", "NDCG(gain=linear,empty=one)@10", "RR"])
    'Not under the convention of the printed rows: NDCG(gain=linear,empty=one)@10.'
    """
    other = [text for text in measures if not _as_printed(Measure.parse(text))]
    parts = [f"Not under the convention of the printed rows: {', '.join(other)}."] if other else []
    lists = facts.get("lists")
    if lists and (lists["depth"] != DEPTH or RankerName.of(lists["initial"][0]).base != RANKED_BY):
        parts.append(
            f"The lists here are the top {lists['depth'] or 'of all'} by "
            f"{', '.join(lists['initial'])}, those of the printed rows the top {DEPTH} by "
            "LambdaMART."
        )
    return " ".join(parts)


def _as_printed(measure: Measure) -> bool:
    """Whether a measure is none of the printed ones, or has the paper's convention."""
    return measure.name != "NDCG" or all(
        getattr(measure, name) == value for name, value in CONVENTIONS.items()
    )


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
        ours.setdefault((RankerName.of(row["ranker"]).base, row["measure"]), row["mean"])
    rows = [
        {"ranker": name, "measure": measure, "printed": value}
        | {"here": ours.get((name, measure), float("nan"))}
        for name, values in printed.rows.items()
        for measure, value in zip(measures, values, strict=True)
    ]
    frame = pd.DataFrame(rows, columns=tables.keys(COLUMNS))
    return frame.assign(difference=frame["here"].to_numpy(np.float64) - frame["printed"])


def table(printed: Published) -> tables.Table:
    """The printed rows as they were printed."""
    names = [f"NDCG@{cutoff}" for cutoff in CUTOFFS]
    frame = pd.DataFrame(printed.rows.values(), columns=names)
    frame.insert(0, "ranker", list(printed.rows))
    columns = [tables.RANKER, *(tables.Column(name, name, ".4f") for name in names)]
    return tables.Table(frame, columns, "")
