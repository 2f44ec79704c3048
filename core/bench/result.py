"""One row of a benchmark: our figure beside a peer's, both from the same run, and the floor."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class BenchRow:
    """A measured comparison.

    Attributes:
        job: the job's name and size.
        ours: our figure (seconds unless the job's name says otherwise).
        peer: the peer's figure in the same unit, interleaved with ours.
        peer_name: what the peer is.
        ratio: how many times better ours is (peer / ours for times); what `floor` bounds.
        floor: the least ratio the project accepts; None where none is set.
        limit: what the machine itself could do at best, in the unit of `ours`, same run.
        share_of_limit: limit / ours for times, in [0, 1].
        note: sizes, sub-sampling, or why a figure is absent.
    """

    job: str
    ours: float | None
    peer: float | None
    peer_name: str
    ratio: float | None
    floor: float | None
    limit: float | None = None
    share_of_limit: float | None = None
    note: str = ""


def interleave(
    *jobs: Callable[[], object], repeats: int = 5, before: Callable[[], object] | None = None
) -> tuple[float, ...]:
    """Least seconds of each job, run in turn A B A B …, after one warm-up of each.

    On a machine with other work the least time is nearest to what a job takes by itself. What is
    done `before` each turn takes no part in it.
    """
    for job in jobs:
        job()
    seconds = [float("inf")] * len(jobs)
    for _ in range(repeats):
        for index, job in enumerate(jobs):
            if before is not None:
                before()
            start = time.perf_counter()
            job()
            seconds[index] = min(seconds[index], time.perf_counter() - start)
    return tuple(seconds)


def touch_memory(size: int) -> None:
    """Write so many bytes of memory and give them back, so that the next work finds them written.

    The first writing of a page costs a virtual machine up to as much as all else that is done with
    it, and how many were written before depends on what ran before.
    """
    np.ones(size, np.uint8)


def comparison_row(
    job: str, seconds: tuple[float, float], peer_name: str, floor: float | None, note: str = ""
) -> BenchRow:
    """The row of (ours, peer) in seconds: ratio = peer / ours."""
    ours, peer = seconds
    return BenchRow(job, ours, peer, peer_name, peer / ours, floor, note=note)
