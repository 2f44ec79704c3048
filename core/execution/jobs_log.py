"""The log of a job: what its process printed, the newest part of it, never much more than 1 MiB."""

import os
from pathlib import Path

LOG_BYTES = 1 << 20
KEPT = LOG_BYTES // 2
DROPPED = b"[earlier lines were dropped]\n"


def shorten(path: Path) -> None:
    """Keep the newer half of a log that is longer than 1 MiB; its process writes on at the end."""
    try:
        with path.open("r+b") as log:
            if log.seek(0, os.SEEK_END) > LOG_BYTES:
                log.seek(-KEPT, os.SEEK_END)
                newest = log.read().partition(b"\n")[2]
                log.seek(0)
                log.truncate()
                log.write(DROPPED + newest)
    except FileNotFoundError:
        return


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
