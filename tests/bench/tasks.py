"""Tasks of one second by workers: what starting the processes and sending the tasks costs."""

import tempfile
import time
from collections.abc import Generator, Iterator
from pathlib import Path

from shuffleproof.core.execution.tasks import run_tasks
from shuffleproof.core.progress import Progress, run_to_end
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.workers import workers_of
from tests.bench.row import Row

SECONDS, EACH = 1.0, 60
"""Of a task, and how many tasks each worker does."""


def sleep(seconds: float) -> Generator[Progress, None, None]:
    """A task."""
    yield Progress(0, 1, "naps")
    time.sleep(seconds)


def tasks(*, quick: bool) -> Iterator[Row]:
    """Two workers measured, 64 computed from what starting and sending took here."""
    each = 5 if quick else EACH
    starting = seconds_of([0.0] * 2)
    sending = (seconds_of([0.0] * 2000) - starting) / 2000
    ours = seconds_of([SECONDS] * 2 * each)
    note = f"start {starting:.1f} s, {1000 * sending:.1f} ms a task"
    floors = (None, None) if quick else (0.9, 0.8)
    yield Row(
        f"{each} tasks of 1 s each of 2 processes", ours, each * SECONDS, "limit", floors[0], note
    )
    at_64 = starting + each * SECONDS + 64 * each * sending
    yield Row(
        f"{each} tasks of 1 s each of 64, computed", at_64, each * SECONDS, "limit", floors[1], note
    )


def seconds_of(naps: list[float]) -> float:
    """Seconds that two workers take for tasks of these lengths."""
    start = time.perf_counter()
    with (
        tempfile.TemporaryDirectory() as folder,
        workers_of(Store(Path(folder)), "processes:2"),
    ):
        errors = run_to_end(run_tasks(sleep, naps))
    assert errors == [None] * len(naps)
    return time.perf_counter() - start
