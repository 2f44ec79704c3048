"""This machine: its processor, the cores and GPUs that may be used, and numeric threads."""

import functools
import os
import platform
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
TIMEOUT = 20.0
QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""Of a control group: microseconds of processor time, and in how many of the clock."""

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


def cores() -> int:
    """Number of cores that this process may use: its affinity, or a container's quota."""
    seen = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = map(int, QUOTA.read_text(encoding="ascii").split())
    except (OSError, ValueError):  # no control group, or "max": no quota
        return seen
    return max(1, min(seen, quota // period))


def threads_allowed() -> int:
    """Number of threads that a library may start here, as the environment says.

    Never more than the cores of this process, and never 0 or −1, which mean the whole machine.
    """
    threads = os.environ.get(THREADS[0], "")
    return min(int(threads), cores()) if threads.isdecimal() and int(threads) else cores()


@contextmanager
def restored(names: Iterable[str]) -> Iterator[None]:
    """Give environment variables back the values that they had before this block."""
    before = {name: os.environ.get(name) for name in names}
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def threads_set(count: int) -> Iterator[None]:
    """Give processes that start in this block `count` numeric threads."""
    with restored(THREADS):
        os.environ |= dict.fromkeys(THREADS, str(count))  # libraries read them when they are loaded
        yield


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
        listed = subprocess.run(query, capture_output=True, text=True, check=False, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return ()
    return tuple(listed.stdout.split()) if listed.returncode == 0 else ()
