"""What machine this is, in a few words: times measured on one say nothing about another."""

import functools
import platform
from pathlib import Path

from shuffleproof.core.execution.jobs_slots import cores, gpus

PROCESSORS = Path("/proc/cpuinfo")


@functools.cache
def machine() -> str:
    """The processor's name, how many cores may be used, and whether there is a GPU; no torch."""
    computes = " · GPU" if gpus() else ""
    return f"{processor()} · {cores()} cores{computes}"


def processor() -> str:
    """The processor's model as the system names it, else its kind."""
    try:
        lines = PROCESSORS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()
