"""Tasks done by processes of this machine."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

from shuffleproof.core.execution.early_end import end_with_parent
from shuffleproof.core.execution.machine import cores, threads_allowed, threads_set
from shuffleproof.core.execution.work import Failure

ATTEMPTS = 2
"""Pools that a task may cost before it counts as failed: a process that dies ends its pool."""

LOOK = 0.2
"""Seconds between two looks at what has ended."""


@dataclass(frozen=True)
class Processes:
    """A pool of processes.

    Attributes:
        workers: how many; None takes one a core.
    """

    elsewhere: ClassVar[bool] = False

    workers: int | None = None

    @property
    def at_once(self) -> int:
        """One task a process."""
        return self.workers or cores()

    def map(
        self, work: Callable[[Any, bytes], Any], common: Any, items: Sequence[bytes]
    ) -> Generator[tuple[int, Any] | None, None, None]:
        """Do `work(common, item)` for every item; see `core.execution.executor.Executor`."""
        left = set(range(len(items)))
        for _ in range(ATTEMPTS):
            workers = min(self.at_once, len(left))
            threads = min(threads_allowed(), max(1, cores() // max(1, workers)))
            with _pool(workers) as pool:
                with threads_set(threads):  # a process starts when it is first needed
                    running = {
                        pool.submit(work, common, items[index]): index for index in sorted(left)
                    }
                while running:
                    ended, _ = wait(running, timeout=LOOK, return_when=FIRST_COMPLETED)
                    if not ended:
                        yield None
                    for future in ended:
                        index = running.pop(future)
                        if not isinstance(future.exception(), BrokenExecutor):
                            left.discard(index)
                            yield index, future.result()
            if not left:
                return
        for index in sorted(left):
            yield index, Failure(f"its process, or one beside it, died {ATTEMPTS} times")


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """A pool whose processes end with the block."""
    spawn = multiprocessing.get_context("spawn")  # a copy of a process with threads may hang
    pool = ProcessPoolExecutor(workers, spawn, initializer=_begin, initargs=(os.getpid(),))
    try:
        yield pool
    finally:
        for process in multiprocessing.active_children():
            process.kill()
        pool.shutdown(wait=True, cancel_futures=True)


def _begin(parent: int) -> None:
    """Leave Ctrl-C to the process that started this one, and end when that one ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(2, 1)  # the answer of a command is printed by the command alone
    end_with_parent(parent)
