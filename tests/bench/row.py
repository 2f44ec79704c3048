"""A row of the benchmark, and the timing of jobs in turns."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Row:
    """Our figure next to a peer's or a limit's, both from the same run; smaller is better.

    Attributes:
        name: the task and its size, with the unit where it is not seconds.
        ours: our figure; None where it was not measured.
        peer: the peer's figure, or the limit.
        peer_name: the peer, or `limit`.
        floor: least ratio that the project accepts; None: no floor.
        note: sizes, or why nothing was measured.
    """

    name: str
    ours: float | None
    peer: float | None
    peer_name: str
    floor: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """Peer / ours: 2 is twice as fast, or half the memory."""
        return None if self.ours is None or self.peer is None else self.peer / self.ours

    @property
    def verdict(self) -> str:
        """The ratio against its floor."""
        if self.ratio is None:
            return "not measured"
        if self.floor is None:
            return "no floor"
        return "met" if self.ratio >= self.floor else "**missed**"


def interleave(
    *jobs: Callable[[], object], repeats: int = 5, before: Callable[[], object] = lambda: None
) -> tuple[float, ...]:
    """Least seconds of each job, run in turn A B A B … after one warm-up of each.

    The least is closest to what a job takes on an idle machine: other work only adds time.

    Args:
        jobs: functions to time.
        repeats: timed runs of each.
        before: run before each timed run, not timed.
    """
    for job in jobs:
        job()
    seconds = [float("inf")] * len(jobs)
    for _ in range(repeats):
        for index, job in enumerate(jobs):
            before()
            start = time.perf_counter()
            job()
            seconds[index] = min(seconds[index], time.perf_counter() - start)
    return tuple(seconds)


def touch_memory(size: int) -> None:
    """Write `size` bytes and free them.

    On a virtual machine the first write to a memory page is slow, and which pages are new depends
    on what ran before.
    """
    np.ones(size, np.uint8)
