"""What a job measured on its way, kept as one JSON line a report: the table has the last one only.

Work that is resumed repeats no step; work that starts anew begins again at its first one. So a
step takes the place of all steps of its unit from the same number on.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from shuffleproof.core.numerals import finite
from shuffleproof.core.progress import Progress

HISTORY_BYTES = 1 << 19
"""Past 512 KiB every second line is dropped; curves stay whole."""


@dataclass(frozen=True)
class Step:
    """One report with measured values.

    Attributes:
        done: finished units.
        total: how many there will be at most.
        unit: what is counted.
        at: when it was reported, seconds since 1970.
        values: what was measured, by name; None is what JSON has for NaN and infinity.
    """

    done: int
    total: int
    unit: str
    at: float
    values: Mapping[str, float | None]


def history_path(folder: Path, digest: str) -> Path:
    """The history of a job."""
    return folder / "history" / f"{digest}.jsonl"


def add(path: Path, report: Progress) -> None:
    """Append a report; a line that a dying process left unfinished does not spoil it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    step = [report.done, report.total, report.unit, round(time.time(), 3), finite(report.values)]
    with path.open("a", encoding="utf-8") as file:
        file.write("\n" + json.dumps(step, allow_nan=False))
        size = file.tell()
    if size > HISTORY_BYTES:
        lines = path.read_text(encoding="utf-8").split("\n")
        shorter = path.with_suffix(".new")
        shorter.write_text("\n".join(lines[::-1][::2][::-1]), encoding="utf-8")
        shorter.replace(path)


def read_steps(path: Path) -> tuple[Step, ...]:
    """The steps of a job in the order of its work; empty where it measured nothing yet."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    except FileNotFoundError:
        return ()
    steps: list[Step] = []
    for line in lines:
        step = _step_of(line)
        if step is None:
            continue
        while steps and steps[-1].unit == step.unit and steps[-1].done >= step.done:
            steps.pop()
        steps.append(step)
    return tuple(steps)


def _step_of(line: str) -> Step | None:
    """The step of a line; None for an empty or unfinished one."""
    try:
        done, total, unit, at, values = json.loads(line)
    except ValueError:
        return None
    return Step(done, total, unit, at, values)
