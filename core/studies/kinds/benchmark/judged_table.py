"""Tables of judged rows with the scores of several systems, measured without holding the rows.

A row is a document: columns for the query, the label, and one score a system. The rows of a query
stand together. The process that reads the file also measures it, some queries at a time, so that
only values per query leave it: memory grows with the queries, not with their documents.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float32

from shuffleproof.core.data import tables
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.frames import NAMES
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.data.tables import Reading
from shuffleproof.core.errors import DataError, UnknownNameError, UsageError
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate_many, mean_of
from shuffleproof.core.metrics.significance import adjusted_tests, t_interval
from shuffleproof.core.studies.kinds.benchmark.outside_runs import as_ranked

if TYPE_CHECKING:
    import pandas as pd

READER = f"{__name__}:value_batches"
ROWS = 1 << 20
"""Rows that are read at a time."""

QUERY, LABEL = "query", "label"
TOGETHER = "Sort the table by query: the rows of a query stand together."


@dataclass(frozen=True)
class JudgedTable:
    """Values of the systems of a table.

    Attributes:
        systems: names of their columns.
        measures: with their conventions.
        values: per query.
        rows: number of rows.
    """

    systems: tuple[str, ...]
    measures: tuple[Measure, ...]
    values: Float32[np.ndarray, "systems measures queries"]
    rows: int

    def means(self) -> list[dict[str, Any]]:
        """Mean of each system and measure, with Student's 95 % interval where it is a mean."""
        return [
            {
                "ranker": system, "measure": str(measure), "mean": mean_of(measure, values),
                **_interval(measure, values), "n": int((~np.isnan(values)).sum()),
            }
            for system, of_system in zip(self.systems, self.values, strict=True)
            for measure, values in zip(self.measures, of_system, strict=True)
        ]  # fmt: skip

    def differences(self, baseline: str) -> list[dict[str, Any]]:
        """Paired differences to a baseline, with Holm's p and intervals that agree with it.

        Raises:
            UnknownNameError: the table has no such system.
        """
        if baseline not in self.systems:
            raise UnknownNameError("ranker", baseline, self.systems)
        against, rows = self.values[self.systems.index(baseline)], []
        others = [(name, of) for name, of in zip(self.systems, self.values, strict=True)
                  if name != baseline]  # fmt: skip
        for at, measure in enumerate(self.measures):
            paired = [of_system[at].astype(np.float64) - against[at] for _, of_system in others]
            tests = zip(others, paired, *adjusted_tests(np.array(paired)), strict=True)
            for (system, _), differences, p, low, high in tests:
                rows.append({
                    "ranker": system, "baseline": baseline, "measure": str(measure),
                    "difference": float(np.nanmean(differences)), "low": float(low),
                    "high": float(high), "p": float(p), "n": int((~np.isnan(differences)).sum()),
                })  # fmt: skip
        return rows


def _interval(measure: Measure, values: Float32[np.ndarray, " queries"]) -> dict[str, Any]:
    is_mean = measure.entry.over_queries not in {"sum", "geometric"}
    low, high = t_interval(values, shares=measure.entry.share) if is_mean else (None, None)
    return {"low": low, "high": high}


def measure_table(
    path: Path,
    measures: Sequence[Measure],
    columns: Mapping[str, str] | None = None,
    systems: Sequence[str] = (),
) -> JudgedTable:
    """Measure every system of a table for every query.

    Args:
        path: Parquet, Arrow, CSV or JSON lines.
        measures: measures; ties cannot be ordered by document ids.
        columns: names of the columns of query and label, where they are none of NAMES.
        systems: columns of scores; none: all other columns of numbers.

    Raises:
        DataError: no such columns, text or a gap in a cell, or rows of a query that stand apart.
        UsageError: there is no column of scores.
    """
    place, found = str(path), tables.names_of(path, str(path))
    named = {meaning: _column(found, meaning, columns or {}, place) for meaning in (QUERY, LABEL)}
    for system in systems:
        if system not in found:
            raise UnknownNameError(f"column of {place}", system, tuple(found))
    chosen = [*dict.fromkeys(systems)] or [
        name for name in found if name not in {*named.values(), *NAMES["document"]}
    ]
    if not chosen:
        raise UsageError(f"{place}: no column of scores. Give each system a column.")
    asked = {
        "reader": READER, "path": place, "place": place, **named, "systems": chosen,
        "measures": list(map(str, measures)), "rows": ROWS,
    }  # fmt: skip
    values, names, starts, rows = [], [], [], 0
    with closing(tables.answers(asked, path, place)) as read:
        for facts, arrays in read:
            values.append(arrays["values"])
            names.append(arrays["queries"])
            starts.append(arrays["starts"])
            rows = facts["rows"]
    if not values:
        raise DataError(place, "no rows", "A row is a document.")
    _check_together(np.concatenate(names), np.concatenate(starts), place)
    return JudgedTable(tuple(chosen), tuple(measures), np.concatenate(values, axis=2), rows)


def _column(found: Sequence[str], meaning: str, columns: Mapping[str, str], place: str) -> str:
    wanted = [columns[meaning]] if meaning in columns else NAMES[meaning]
    for name in found:
        if name in wanted:
            return name
    finding = f"no column {' or '.join(wanted)}; it has {', '.join(found)}"
    raise DataError(place, finding, f"Name it: --columns {meaning}=COLUMN.")


def _check_together(queries: np.ndarray, starts: np.ndarray, place: str) -> None:
    """Refuse a query that comes back; `queries` are hashes, equal for equal queries."""
    order = np.argsort(queries, kind="stable")
    again = order[1:][queries[order][1:] == queries[order][:-1]]
    if len(again):
        row = int(starts[again].min()) + 1
        raise DataError(f"{place}, row {row:,}", "the query was already there", TOGETHER)


def value_batches(  # noqa: PLR0913, PLR0917 (what is asked of the guarded process)
    path: str,
    place: str,
    query: str,
    label: str,
    systems: Sequence[str],
    measures: Sequence[str],
    rows: int,
) -> Iterator[tuple[dict[str, Any], dict[str, np.ndarray]]]:
    """Values of whole queries in the guarded process, with their hashes and first rows."""
    import pandas as pd  # noqa: PLC0415 (only the guarded process reads)

    parsed = [Measure.parse(text) for text in measures]
    reading = Reading([query, label, *systems], (query,), rows)
    rest, done = None, 0
    for frame, _ in tables.frames(Path(path), place, reading):
        whole = frame if rest is None else pd.concat([rest, frame], ignore_index=True)
        bounds = _bounds(whole[query])
        rest = whole.iloc[bounds[-2] :] if len(bounds) > 1 else whole
        complete = whole.iloc[: bounds[-2]] if len(bounds) > 1 else whole.iloc[:0]
        if len(complete):
            yield _measured(complete, bounds[:-1], done, (place, query, label, systems, parsed))
            done += len(complete)
    if rest is not None and len(rest):
        bounds = np.array([0, len(rest)])
        yield _measured(rest, bounds, done, (place, query, label, systems, parsed))


def _bounds(queries: "pd.Series[Any]") -> np.ndarray:
    """First rows of the runs of equal queries, and the number of rows."""
    cells = queries.to_numpy()
    changes = np.flatnonzero(cells[1:] != cells[:-1]) + 1
    return np.concatenate([[0], changes, [len(cells)]]) if len(cells) else np.zeros(1, np.int64)


def _measured(
    frame: "pd.DataFrame",
    bounds: np.ndarray,
    done: int,
    asked: tuple[str, str, str, Sequence[str], Sequence[Measure]],
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    import pandas as pd  # noqa: PLC0415 (only the guarded process reads)

    place, query, label, systems, measures = asked
    firsts = frame[query].iloc[bounds[:-1]]
    if firsts.isna().any():
        row = done + int(bounds[:-1][firsts.isna().to_numpy()][0]) + 1
        raise DataError(f"{place}, row {row:,}, {query}", "no query", "Fill it, or drop the row.")
    labels = _numbers(frame, label, done, place).astype(np.float32)
    blank = np.zeros((len(labels), 0), np.float32)
    judged = RankingDataset(blank, labels, bounds, tuple(map(str, firsts)), ())
    lists = CandidateLists.all_documents(judged)
    runs = []
    for system in systems:
        scores = _numbers(frame, system, done, place)
        single = scores.astype(np.float32)
        # Measures read the order alone: what float32 would tie is ranked first
        runs.append((lists, single if (single == scores).all() else as_ranked(lists, scores)))
    values = evaluate_many(measures, judged, runs)
    hashes = pd.util.hash_array(firsts.to_numpy())
    arrays = {"values": values, "queries": hashes, "starts": bounds[:-1] + done}
    return {"rows": done + len(frame)}, arrays


def _numbers(frame: "pd.DataFrame", name: str, done: int, place: str) -> np.ndarray:
    """A column of numbers without gaps."""
    column = frame[name]
    gaps = column.isna().to_numpy()
    if gaps.any():
        row = done + int(gaps.argmax()) + 1
        raise DataError(f"{place}, row {row:,}, {name}", "no number", "Fill it, or drop the row.")
    if column.dtype.kind not in "biuf":
        raise DataError(f"{place}, {name}", "text among the numbers", "Name the columns of scores.")
    return column.to_numpy()
