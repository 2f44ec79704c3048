"""All rows of a benchmark as one page, and what has become slower since the last one.

The page says the machine, its limits, and each job beside its peer. Beside it lies a history, a
line of JSON a run. A job is compared with the last run of the same machine and size by its ratio to
the peer, which ran in turns with it, so that a busy machine is no regression; a job without a peer
by its share of the machine's limit.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from shuffleproof.core.bench.machine import Machine
from shuffleproof.core.bench.result import BenchRow
from shuffleproof.core.errors import DataError
from shuffleproof.core.words import counted, number, percent

VERSION = version("shuffleproof")

SLOWER = 0.10
"""Share of its last figure that a job may lose before it is called slower."""

UNITS = {"memory": "memory (GiB)"}
COLUMNS = "row", "ours", "peer", "peer's", "times better", "floor", "of the limit", "verdict"
MET, MISSED, NO_FLOOR, ABSENT = "met", "**missed**", "no floor", "not measured"


@dataclass(frozen=True)
class Run:
    """One run of the benchmark.

    Attributes:
        at: when, in ISO 8601.
        machine: where.
        quick: with small sizes.
        limits: of the machine, by name and unit.
        jobs: their rows, by name.
    """

    at: str
    machine: Machine
    quick: bool
    limits: Mapping[str, float]
    jobs: Mapping[str, Sequence[BenchRow]]

    @classmethod
    def of(
        cls, jobs: Mapping[str, Sequence[BenchRow]], limits: Mapping[str, float], *, quick: bool
    ) -> "Run":
        """The run that has just ended here."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(now, Machine.of_this_machine(), quick, limits, jobs)

    @property
    def rows(self) -> list[BenchRow]:
        """The rows of all jobs."""
        return [row for rows in self.jobs.values() for row in rows]


@dataclass(frozen=True)
class Slower:
    """A job that lost more than SLOWER of its figure since the last run of this machine."""

    row: BenchRow
    before: float
    now: float
    at: str

    @property
    def text(self) -> str:
        """What became of it, in a sentence."""
        lost = percent(1 - self.now / self.before)
        return (
            f"{self.row.job} beside {self.row.peer_name}: {number(self.before, '.3g')} → "
            f"{number(self.now, '.3g')} ({lost} less than on {self.at[:10]})."
        )


def history_of(page: Path) -> Path:
    """The file of the runs before, beside a page."""
    return page.with_suffix(".history.jsonl")


def check_place(page: Path) -> None:
    """Refuse a page that could not be written when all is measured.

    Raises:
        DataError: no such folder, or a line of the history that is no run.
        OSError: the page or its history may not be written to.
    """
    if not page.parent.is_dir():
        raise DataError(str(page), f"there is no folder {page.parent}", "Make it, or name another.")
    for path in (page, history_of(page)):
        path.open("a").close()
    _lines(history_of(page))


def record_run(run: Run, page: Path) -> list[Slower]:
    """Write a run down: the page anew, a line of the history; what has become slower."""
    history = history_of(page)
    slower = write_page(run, page)  # before this run is the last
    with history.open("a", encoding="utf-8") as file:
        file.write(json.dumps(_line(run), separators=(",", ":")) + "\n")
    return slower


def write_page(run: Run, page: Path) -> list[Slower]:
    """Write the page alone, as between two jobs; what has become slower."""
    slower = slower_than_last(run, _lines(history_of(page)))
    page.write_text(page_text(run, slower, last_run(run, page)), encoding="utf-8")
    return slower


def last_run(run: Run, page: Path) -> str:
    """When this machine made the last run of this size; empty where the history has none."""
    history, alike = _lines(history_of(page)), (run.machine.digest, run.quick)
    return max(
        (one["at"] for one in history if (one["machine"], one["quick"]) == alike), default=""
    )


def slower_than_last(run: Run, history: Iterable[Mapping[str, Any]]) -> list[Slower]:
    """The jobs that lost more than SLOWER of what the last run of them on this machine had.

    >>> machine = Machine("cpu", 2, 24, "", "3.11", "2.13")
    >>> three, two = (BenchRow("a", 1.0, ratio, "b", ratio, None) for ratio in (3.0, 2.0))
    >>> before = Run("2026-01-01", machine, False, {}, {"job": [three]})
    >>> now = Run("2026-02-01", machine, False, {}, {"job": [two]})
    >>> [regression.text for regression in slower_than_last(now, [_line(before)])]
    ['a beside b: 3 → 2 (33 % less than on 2026-01-01).']
    """
    last: dict[tuple[str, str], tuple[float, str]] = {}
    for line in history:
        if (line["machine"], line["quick"]) == (run.machine.digest, run.quick):
            for job, peer, figure in line["figures"]:
                last[job, peer] = figure, line["at"]
    slower = []
    for row in run.rows:
        now = _figure(row)
        before, at = last.get((row.job, row.peer_name), (None, ""))
        if now is not None and before is not None and now < (1 - SLOWER) * before:
            slower.append(Slower(row, before, now, at))
    return slower


def _figure(row: BenchRow) -> float | None:
    """What is compared between runs: larger is better; None where nothing was measured."""
    return row.share_of_limit if row.ratio is None else row.ratio


def _line(run: Run) -> dict[str, Any]:
    figures = [(row.job, row.peer_name, _figure(row)) for row in run.rows]
    return {
        "at": run.at, "version": VERSION, "machine": run.machine.digest, "quick": run.quick,
        "limits": dict(run.limits),
        "figures": [figure for figure in figures if figure[2] is not None],
    }  # fmt: skip


def _lines(history: Path) -> list[dict[str, Any]]:
    lines = history.read_bytes().splitlines() if history.exists() else []
    return [_read(history, number, line) for number, line in enumerate(lines, start=1) if line]


def _read(history: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        run: dict[str, Any] = json.loads(line)
        figures = [(str(job), str(peer), float(figure)) for job, peer, figure in run["figures"]]
        return {name: run[name] for name in ("at", "machine", "quick")} | {"figures": figures}
    except (ValueError, TypeError, KeyError) as error:
        remedy = "Remove the line, or name another page."
        raise DataError(f"{history}:{number}", "no run of the benchmark", remedy) from error


def page_text(run: Run, slower: Sequence[Slower] = (), before: str = "") -> str:
    """The page, as Markdown: what is below its floor or slower, the machine, then job by job.

    Args:
        run: what is told.
        slower: jobs that have become slower.
        before: when the run was that it is compared with; empty: there is none.
    """
    missed = [row for row in run.rows if verdict(row) == MISSED]
    lines = [f"- {row.job} beside {row.peer_name}: {_times(row.ratio)} of {_times(row.floor)}."
            for row in missed]  # fmt: skip
    sizes = "small sizes" if run.quick else "full sizes"
    head = (
        f"Version {VERSION}, {run.at[:10]}, {sizes}. Every job ran in turns with its peer and "
        "its limit; seconds, the least of the turns, unless the job says otherwise. Written by "
        "`shuffleproof bench --page`, which `make bench` runs whole."
    )
    if any(name.startswith("gpu-") for name in run.jobs) and not run.machine.device:
        head += " Jobs of a GPU were rehearsed; figures of GPUs stand in `core/bench/GPU.md`."
    nothing = "None." if before else "No earlier run of this machine is at hand."
    parts = [
        "# Benchmarks",
        head,
        summary(run, slower, before),
        "## Below their floor",
        "\n".join(lines) or "None.",
        f"## More than {percent(SLOWER)} slower than the last run of this machine",
        "\n".join(f"- {regression.text}" for regression in slower) or nothing,
        "## The machine",
        _table(("", ""), [(UNITS.get(name, name), str(value) or "none")
                          for name, value in asdict(run.machine).items()]),
        "## Its limits",
        _table(("limit", "measured"), [(name, number(value, ",.4g"))
                                       for name, value in run.limits.items()]),
    ]  # fmt: skip
    for name, rows in run.jobs.items():
        parts += [f"## Job {name}", _table(COLUMNS, [_cells(row) for row in rows])]
        if notes := "\n".join(f"- {row.job}: {row.note}" for row in rows if row.note):
            parts.append(notes)
    return "\n\n".join(parts) + "\n"


def verdict(row: BenchRow) -> str:
    """Whether a row meets its floor."""
    if row.ours is None:
        return ABSENT
    if row.floor is None or row.ratio is None:
        return NO_FLOOR
    return MET if row.ratio >= row.floor else MISSED


def summary(run: Run, slower: Sequence[Slower], before: str) -> str:
    """The page in a sentence; arguments as in `page_text`."""
    every = [verdict(row) for row in run.rows]
    than = f"the last run of this machine ({before[:10]})"
    compared = (
        f"{len(slower) or 'none'} slower than {than}" if before else "nothing to compare with"
    )
    return (
        f"{counted(len(every), 'row')}: {every.count(MET)} meet their floor, "
        f"{every.count(MISSED)} do not, {every.count(NO_FLOOR)} have none, "
        f"{every.count(ABSENT)} were not measured; {compared}."
    )


def _cells(row: BenchRow) -> tuple[str, ...]:
    share = "–" if row.share_of_limit is None else percent(row.share_of_limit)
    return (
        row.job, number(row.ours, ".3g"), row.peer_name, number(row.peer, ".3g"),
        _times(row.ratio), _times(row.floor), share, verdict(row),
    )  # fmt: skip


def _times(ratio: float | None) -> str:
    return number(ratio, ".2f")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)
