"""The log of a job: what its process printed, the newest part of it, never more than a bound."""

import os
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import IO

LOG_BYTES = 1 << 20
KEPT = LOG_BYTES // 2
CHUNK = 1 << 16
DROPPED = b"[earlier lines were dropped]\n"


class LogPump(Thread):
    """Copies a process's output to a file until the output ends; holds the file to its bound."""

    def __init__(self, output: IO[bytes], path: Path, heading: str) -> None:
        """Start copying.

        Args:
            output: the reading end of the process's stdout and stderr.
            path: the log, appended to.
            heading: one line before what this process prints.
        """
        super().__init__(daemon=True, name=f"log {path.name}")
        self.output, self.path, self.heading = output, path, heading
        self.start()

    def run(self) -> None:
        """Copy until the last holder of the writing end is gone.

        Where nothing can be written any more the output is still read: a full disk must not stop
        the work itself.
        """
        with self.output:
            chunk = f"{self.heading}\n".encode()
            while chunk:
                with suppress(OSError):
                    append(self.path, chunk)
                chunk = os.read(self.output.fileno(), CHUNK)


def append(path: Path, chunk: bytes) -> None:
    """Add to a log; past a bound of 1 MiB its newer half replaces it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as log:
        log.write(chunk)
        size = log.tell()
    if size > LOG_BYTES:
        with path.open("rb") as log:
            log.seek(-KEPT, os.SEEK_END)
            newest = log.read().partition(b"\n")[2]
        shorter = path.with_suffix(".new")
        shorter.write_bytes(DROPPED + newest)
        shorter.replace(path)


def tail(path: Path, limit: int) -> str:
    """The last `limit` bytes of a log from the first whole line on; empty where there is none."""
    try:
        with path.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(0, size - limit))
            text = log.read(limit).decode(errors="replace")
    except FileNotFoundError:
        return ""
    return text.partition("\n")[2] if size > limit and "\n" in text else text
