"""One supervisor a store: a lock that dies with its holder, and a start for when there is none."""

import fcntl
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from shuffleproof.core.errors import JobError
from shuffleproof.core.execution.jobs import folder_of
from shuffleproof.core.execution.jobs_log import LOG_BYTES, tail

START_SECONDS = 10.0
LOOK = 0.02
TRIES = 10
HOME = Path(__file__).resolve().parents[2]
"""The folder that holds `core` and `app`: processes start there, where no stranger's files lie."""


@contextmanager
def only_one(folder: Path) -> Iterator[bool]:
    """Be the one supervisor of these jobs; yields False where another is."""
    folder.mkdir(parents=True, exist_ok=True)
    with _lock_path(folder).open("a") as lock:
        yield any(_try_lock(lock.fileno()) for _ in range(TRIES))


def _try_lock(lock: int) -> bool:
    """Take the lock, or wait a moment: whoever asks `is_running` holds it for microseconds."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        time.sleep(LOOK)
        return False
    return True


def is_running(root: Path) -> bool:
    """Whether a supervisor works on the store at `root`."""
    path = _lock_path(folder_of(root))
    if not path.exists():
        return False
    with path.open("r") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def ensure_running(root: Path, command: Sequence[str]) -> bool:
    """Start a supervisor that outlives this process, unless one is at work; True if started.

    Args:
        root: the store's folder.
        command: starts a supervisor for that store, whose path in it is absolute.

    Raises:
        JobError: it ended at once; the message holds what it said.
    """
    if is_running(root):
        return False
    folder = folder_of(root)
    folder.mkdir(parents=True, exist_ok=True)
    log_path = folder / "supervisor.log"
    mode = "ab" if log_path.exists() and log_path.stat().st_size < LOG_BYTES else "wb"
    with log_path.open(mode) as log:
        process = subprocess.Popen(
            list(command),
            env=os.environ | {"OMP_WAIT_POLICY": "passive"},
            cwd=HOME,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    Thread(target=process.wait, daemon=True, name="supervisor's end").start()
    limit = time.monotonic() + START_SECONDS
    while not is_running(root):
        if process.poll() or time.monotonic() > limit:
            finding = (
                f"no supervisor could be started: {tail(log_path, 500).strip() or 'it is silent'}"
            )
            raise JobError(str(folder), finding, "`shuffleproof worker` starts one by hand.")
        time.sleep(LOOK)
    return True


def _lock_path(folder: Path) -> Path:
    return folder / "supervisor.lock"
