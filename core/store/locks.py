"""A lock between processes and threads that the operating system releases when its holder dies."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOOK = 0.2
"""Seconds between two looks at whether a lock is free."""


@contextmanager
def hold_lock(path: Path, *, patience: float = float("inf")) -> Iterator[bool]:
    """Hold the exclusive lock on a file, which exists only while it is in use.

    The lock is not re-entrant: a second one on the same path waits even in the same thread.

    Args:
        path: the lock file; its folder is made when absent and must not be removed.
        patience: seconds to wait for another holder.

    Yields:
        Whether the lock is held.
    """
    descriptor = _acquire(path, patience)
    if descriptor is None:
        yield False
        return
    try:
        yield True
    finally:
        # Removed while still held: other waiters see that this file is gone.
        if _is_still(path, descriptor):
            path.unlink(missing_ok=True)
        os.close(descriptor)


def _acquire(path: Path, patience: float) -> int | None:
    path.parent.mkdir(parents=True, exist_ok=True)
    limit, waits = time.monotonic() + patience, patience == float("inf")
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
            if _is_still(path, descriptor):
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            if time.monotonic() >= limit:
                return None
            time.sleep(LOOK)
            continue
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
