"""Where jobs run: one slot for each GPU, or a number of slots that share the processor's cores."""

import os
import shutil
import subprocess
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from shuffleproof.core.errors import ParameterError

CORES_A_SLOT = 4
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
PATIENCE = 20.0
QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""Of a control group: microseconds of processor time, and in how many of the clock."""


@dataclass(frozen=True)
class Slot:
    """A place for one job at a time.

    Attributes:
        name: `gpu 0`, `cpu 1`.
        environment: what a process started there gets on top of the supervisor's own.
        kinds: of jobs that it is kept for; empty: all.
    """

    name: str
    environment: Mapping[str, str]
    kinds: frozenset[str] = frozenset()


def slots(number: int | None = None, short: Collection[str] = ()) -> tuple[Slot, ...]:
    """The slots of this machine.

    Args:
        number: how many; by default one a GPU, or one for every four cores where there is none.
        short: kinds of jobs that take seconds; they have one slot more, where no long job is.

    Raises:
        ParameterError: fewer than one.
    """
    if number is not None and number < 1:
        raise ParameterError("slots", number, "1 or more")
    devices = gpus()
    count = number or len(devices) or max(1, cores() // CORES_A_SLOT)
    every = tuple(_slot(index, count, devices) for index in range(count))
    lane = replace(every[0], name="short", kinds=frozenset(short))
    return (*every, lane) if short else every


def _slot(index: int, count: int, devices: tuple[str, ...]) -> Slot:
    threads = str(max(1, cores() // count))
    environment = {
        "OMP_WAIT_POLICY": "passive",
        "PYTHONUNBUFFERED": "1",
        "PYTHONFAULTHANDLER": "1",
        **dict.fromkeys(THREADS, threads),
    }
    if not devices:
        return Slot(f"cpu {index}", environment)
    device = devices[index % len(devices)]
    environment |= {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": device}
    return Slot(f"gpu {device}", environment)


def cores() -> int:
    """How many cores this process may use: those it may run on, or a container's quota of them."""
    seen = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = map(int, QUOTA.read_text(encoding="ascii").split())
    except (OSError, ValueError):  # no control group, or "max": no quota
        return seen
    return max(1, min(seen, quota // period))


def threads_allowed() -> int:
    """How many threads a library may start here: the slot's cores, as its environment says.

    Never more than the cores of this process, and never 0 or −1, which mean the whole machine.
    """
    threads = os.environ.get(THREADS[0], "")
    return min(int(threads), cores()) if threads.isdecimal() and int(threads) else cores()


@contextmanager
def threads_set(count: int) -> Iterator[None]:
    """Let processes that are started in this block have so many numeric threads."""
    ours = {name: os.environ.get(name) for name in THREADS}
    os.environ |= dict.fromkeys(THREADS, str(count))  # libraries read them when they are loaded
    try:
        yield
    finally:
        for name, value in ours.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def gpus() -> tuple[str, ...]:
    """The NVIDIA devices to use: those of CUDA_VISIBLE_DEVICES, else all that the driver lists."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return tuple(part.strip() for part in visible.split(",") if part.strip() not in {"", "-1"})
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    query = [program, "--query-gpu=index", "--format=csv,noheader"]
    try:
        listed = subprocess.run(
            query, capture_output=True, text=True, check=False, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        return ()
    return tuple(listed.stdout.split()) if listed.returncode == 0 else ()
