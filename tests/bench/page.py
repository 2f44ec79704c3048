"""The rows of a benchmark and the machine that it ran on, as a page of Markdown."""

import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version

import torch

from shuffleproof.core.execution.machine import processor
from tests.bench.row import Row

COLUMNS = ("task", "ours", "peer or limit", "its figure", "ratio", "floor", "verdict", "note")
HEAD = """\
Each task and its peer ran in turns. Figures are the least seconds of the turns, unless the task
names another unit. The ratio is the peer's figure over ours: 2 is twice as fast, or half the
memory. `make bench` writes this page; `tests/bench/GPU.md` has figures of GPUs."""


def page_text(rows: Sequence[Row], *, quick: bool) -> str:
    """Rows below their floor, the machine, all rows.

    >>> slow = Row("parse", 2.0, 3.0, "polars", 4.0)
    >>> print(page_text([slow], quick=False))  # doctest: +ELLIPSIS
    # Benchmarks
    ...
    1 row: 0 met, 1 missed, 0 without a floor, 0 not measured.
    <BLANKLINE>
    Below the floor:
    - parse, next to polars: 1.50, floor 4.00
    <BLANKLINE>
    | task | ours | peer or limit | its figure | ratio | floor | verdict | note |
    | --- | --- | --- | --- | --- | --- | --- | --- |
    | parse | 2 | polars | 3 | 1.50 | 4.00 | **missed** |  |
    <BLANKLINE>
    """
    missed = [row for row in rows if row.verdict == "**missed**"]
    below = "\n".join(
        f"- {row.name}, next to {row.peer_name}: {_ratio(row.ratio)}, floor {_ratio(row.floor)}"
        for row in missed
    )
    machine = ", ".join(f"{name} {value}" for name, value in machine_facts().items())
    when, sizes = f"{datetime.now(UTC):%Y-%m-%d}", "small" if quick else "full"
    parts = [
        "# Benchmarks",
        HEAD,
        f"{when}, version {version('shuffleproof')}, {sizes} sizes; {machine}.",
        summary(rows),
        f"Below the floor:\n{below or '- none'}",
        table(COLUMNS, map(_cells, rows)),
    ]
    return "\n\n".join(parts) + "\n"


def machine_facts() -> Mapping[str, str]:
    """The processor, cores, memory, load, GPU and versions."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "processor": processor(),
        "cores": f"{len(os.sched_getaffinity(0))}",
        "memory": f"{memory / 2**30:.0f} GiB",
        "load": f"{os.getloadavg()[2]:.1f}",
        "GPU": torch.cuda.get_device_name() if torch.cuda.is_available() else "none",
        "Python": platform.python_version(),
        "torch": version("torch"),
    }


def summary(rows: Sequence[Row]) -> str:
    """Counts of the verdicts, in a sentence."""
    every = [row.verdict for row in rows]
    return (
        f"{len(rows)} row{'s' * (len(rows) != 1)}: {every.count('met')} met, "
        f"{every.count('**missed**')} missed, {every.count('no floor')} without a floor, "
        f"{every.count('not measured')} not measured."
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.name, _figure(row.ours), row.peer_name, _figure(row.peer), _ratio(row.ratio),
        _ratio(row.floor), row.verdict, row.note,
    )  # fmt: skip


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def _ratio(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
