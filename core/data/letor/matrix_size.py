"""How large the matrix of LETOR text may become: a stated limit, the machine, and the text."""

import os
from pathlib import Path

from shuffleproof.core.data.letor.stream import Limits
from shuffleproof.core.words import percent

MEMORY = Path("/proc/meminfo")
GROUP, GROUP_USED = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")
SHARE = 0.8
"""Of the memory that is free when reading begins."""

UNCHECKED = 1 << 28
"""Bytes of a matrix that any text may take; from there on `Limits.ratio` holds."""


def available() -> int:
    """Bytes of memory that this process could still take, by the system and its control group."""
    try:
        lines = MEMORY.read_text(encoding="ascii").splitlines()
        free = next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvail"))
    except (OSError, StopIteration, ValueError):
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        group = int(GROUP.read_text(encoding="ascii")) - int(GROUP_USED.read_text(encoding="ascii"))
    except (OSError, ValueError):  # "max", or no such group
        return free
    return max(0, min(free, group))


class Room:
    """What the matrix of a table may take, and which of the bounds says so."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._free = int(SHARE * available())

    def bound(self, text_bytes: int) -> tuple[int, str]:
        """(bytes that a matrix may take, why no more) once so much text has been read."""
        dense = max(UNCHECKED, int(self._limits.ratio * text_bytes))
        return min(
            (self._limits.matrix_bytes, "the limit on a table"),
            (self._free, f"{percent(SHARE)} of the memory that this machine has left"),
            (dense, f"{self._limits.ratio:.0f} times the text read, as nearly empty rows do"),
        )
