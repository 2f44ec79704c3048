"""Studies whose trials are trained, not perturbed: each cell is computed once and stored.

A row of the result (such as a ranker and a seed) may consist of several cells, one per fold. The
queries of its cells are concatenated along the last axis, in the folds' order.
"""

import time
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np

from shuffleproof.core.errors import DataError, DivergedError, ShuffleproofError
from shuffleproof.core.execution import tasks
from shuffleproof.core.progress import Progress
from shuffleproof.core.store.records import Records
from shuffleproof.core.studies.engine import Work
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.study import (
    CellResult,
    DescribedPlan,
    Trial,
    TrialRecords,
    as_stored,
)


@dataclass(frozen=True)
class Cell:
    """Unit of work.

    Attributes:
        row: the row of the result that it belongs to.
        part: index of this cell in the row, from 0 (the fold).
        digest: hash of everything that determines its values.
    """

    row: Trial
    part: int
    digest: str


class CellPlan(DescribedPlan):
    """Plan whose records are cells."""

    def cells(self) -> Sequence[Cell]:
        """All cells in the order of work."""
        raise NotImplementedError

    def digests(self, _lists: int, /) -> list[str]:
        """Keys of the cells; they do not depend on the number of lists."""
        return [cell.digest for cell in self.cells()]

    def assemble(
        self, finished: Mapping[str, CellResult], query_ids: Sequence[str], facts: Mapping[str, Any]
    ) -> StudyResult | None:
        """Result of the rows whose cells are all finished; None without such a row."""
        return assemble(self.recipe(), self.cells(), finished, query_ids, facts)


def missing_cells(plan: CellPlan, records: TrialRecords) -> Iterator[Cell]:
    """Cells that are not stored yet, looked up one by one."""
    for cell in plan.cells():
        if records.get(cell.digest) is None:
            yield cell


Compute = Callable[[Cell], Generator[Progress, None, CellResult]]
"""Facts of a cell and its arrays: `values` f32[measures, queries], and others to store."""


def run_cells(  # noqa: PLR0913, PLR0917 (the plan, where results go, and what differs between kinds)
    cells: Sequence[Cell],
    records: TrialRecords,
    compute: Compute,
    failed: dict[str, ShuffleproofError] | None = None,
    unit: str = "cells",
    together: Callable[[Cell], Hashable] = lambda cell: (
        cell.row.ranker,
        cell.row.draw,
        cell.part,
    ),
) -> Generator[Progress, None, dict[str, CellResult]]:
    """Compute the cells that are not stored; yields progress, returns all results by digest.

    Args:
        cells: the plan.
        records: store of finished cells.
        compute: computes one cell and yields progress.
        failed: receives the error of each ranker that diverged or whose data cannot be used, by
            label; its other cells are skipped. Without it the first such error ends the run.
        unit: name of a cell in progress reports.
        together: group key of cells that one worker computes, since they share a training.
    """  # fmt: skip
    met = dict[str, ShuffleproofError]() if failed is None else failed
    if isinstance(records, Records):
        # Workers store what they compute; the loop below then finds it in the records
        met |= yield from _by_workers(cells, records, compute, together)
    by_digest: dict[str, CellResult] = {}
    for at, cell in enumerate(cells):
        stored = records.get(cell.digest)
        if stored is None:
            try:
                if cell.row.ranker in met:
                    raise met[cell.row.ranker]
                stored = yield from _stored_cell(cell, records, compute)
            except FAILURES as error:
                if failed is None:
                    raise
                failed[cell.row.ranker] = error
                continue
        by_digest[cell.digest] = stored
        yield Progress(at + 1, len(cells), unit)
    return by_digest


FAILURES = (DivergedError, DataError)
"""Errors of one ranker that do not stop the others."""


def _stored_cell(
    cell: Cell, records: TrialRecords, compute: Compute
) -> Generator[Progress, None, CellResult]:
    """Compute a cell and store it."""
    start = time.perf_counter()
    facts, arrays = yield from compute(cell)
    stored = (as_stored(facts | {"seconds": time.perf_counter() - start}), arrays)
    records.put(cell.digest, *stored)
    return stored


def _by_workers(
    cells: Sequence[Cell],
    records: Records,
    compute: Compute,
    together: Callable[[Cell], Hashable],
) -> Generator[Progress, None, dict[str, ShuffleproofError]]:
    """Let workers, if any, compute the missing cells; returns the errors of rankers by label."""
    groups: dict[Hashable, list[Cell]] = {}
    for cell in cells:
        if cell.digest not in records:
            groups.setdefault(together(cell), []).append(cell)
    groups_of_cells = list(groups.values())
    errors = yield from tasks.run_tasks(partial(_group, records, compute), groups_of_cells)
    failed = dict[str, ShuffleproofError]()
    for group, error in zip(groups_of_cells, errors, strict=True):
        if isinstance(error, FAILURES):
            failed[group[0].row.ranker] = error
        elif error is not None:
            raise error
    return failed


def _group(
    records: Records, compute: Compute, group: Sequence[Cell]
) -> Generator[Progress, None, None]:
    """Compute the cells of a group that are not stored yet."""
    for cell in group:
        if cell.digest not in records:
            yield from _stored_cell(cell, records, compute)


def by_cells(
    plan: CellPlan,
    records: TrialRecords,
    query_ids: Sequence[str],
    compute: Compute,
    **more: Any,
) -> Work:
    """Work of a study whose records are cells; arguments as those of `run_cells`."""

    def work(facts: dict[str, Any]) -> Generator[Progress, None, StudyResult | None]:
        results = yield from run_cells(plan.cells(), records, compute, **more)
        return plan.assemble(results, query_ids, facts)

    return work


def assemble(
    recipe: Mapping[str, Any],
    cells: Sequence[Cell],
    finished: Mapping[str, CellResult],
    query_ids: Sequence[str],
    facts: Mapping[str, Any],
) -> StudyResult | None:
    """Result of the rows whose parts are all finished; None without such a row.

    Args:
        recipe: of the study; its measures are on the second axis of the values.
        cells: the plan, with the parts of a row in their order.
        finished: finished cells by digest.
        query_ids: of all parts, concatenated.
        facts: of the result.
    """
    rows = []
    # `reversed` lets the first cell of a row win, so rows have the order of the plan
    places = {cell.row: at for at, cell in reversed(list(enumerate(cells)))}
    in_rows = sorted(cells, key=lambda cell: (places[cell.row], cell.part))
    for row, group in groupby(in_rows, key=lambda cell: cell.row):
        parts = [finished.get(cell.digest) for cell in group]
        stored_parts = [part for part in parts if part is not None]
        if len(stored_parts) < len(parts):
            continue
        values = np.concatenate([part[1]["values"] for part in stored_parts], axis=-1)
        rows.append((_row(row, [part[0] for part in stored_parts]), values))
    return StudyResult.of_rows(recipe, rows, query_ids, facts)


def _row(row: Trial, facts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Row of the trials' frame: common fields of its parts, their sizes and their seconds."""
    queries = [part["queries"] for part in facts]
    size = (
        np.average([part["set_size"] for part in facts], weights=queries) if sum(queries) else 0.0
    )
    return vars(row) | {
        "tau": 1.0, "set_size": float(size),
        "seconds": float(sum(part["seconds"] for part in facts)),
        "training_seconds": float(sum(part.get("training_seconds", 0.0) for part in facts)),
        "artefacts": " ".join(part.get("artefact", "") for part in facts).strip(),
    }  # fmt: skip
