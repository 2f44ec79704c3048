"""Choice of the device, and of faster ways to compute on it."""

import functools
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from shuffleproof.core.errors import ParameterError
from shuffleproof.core.execution.machine import processor

DEVICE = re.compile(r"cpu|cuda(:[0-9]{1,3})?")
WORTHWHILE = 0.9
"""Largest share of the usual time at which another way to compute is chosen."""

LARGE = 64_000_000
"""Parameters times lists from which threads pay; `tuned` networks have 23e6, `paper` 139e6."""


def device(name: str | None) -> str:
    """The device to compute on: the one asked for, else "cuda" when there is one, else "cpu".

    Without a name, the environment's SHUFFLEPROOF_DEVICE asks (the command line's --device).

    Raises:
        ParameterError: no such kind of device, or CUDA is asked for where there is none.
    """
    import torch  # noqa: PLC0415 (half a second, which only who computes should pay)

    name = name or os.environ.get("SHUFFLEPROOF_DEVICE")
    if name is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    if not DEVICE.fullmatch(name):
        raise ParameterError("device", name, "cpu, cuda or cuda:N")
    if name.startswith("cuda"):
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if count == 0:
            raise ParameterError("device", name, "cpu: PyTorch finds no CUDA device here")
        if int(name.partition(":")[2] or 0) >= count:
            raise ParameterError("device", name, f"cpu or below cuda:{count}, as many are here")
    return name


@contextmanager
def threads_worth(work: int) -> Iterator[None]:
    """One thread for a small step of training, all that are allowed for a large one.

    Threads wait for each other at every layer: SetRank `small` takes 23 ms a step with two and
    8 ms with one, `tuned` 78 and 65, `paper` 266 and 438. What one thread sums is the same
    whatever cores there are; PyTorch's sums by several depend on their number.

    Args:
        work: parameters times the lists of a batch, or whatever there is of them.

    >>> import torch
    >>> with threads_worth(1_000_000):
    ...     torch.get_num_threads()
    1
    """
    import torch  # noqa: PLC0415 (see device)

    before = torch.get_num_threads()
    torch.set_num_threads(1 if work < LARGE else before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@functools.cache
def multiplies_bf16() -> bool:
    """True if this processor multiplies matrices in bfloat16 (AVX-512, AMX, Arm's)."""
    import torch  # noqa: PLC0415 (see device)

    has_them = getattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", None)  # told nowhere else
    return has_them is not None and bool(has_them())


def bf16_pays(device: str) -> bool:
    """True if bf16 is clearly faster than float32: on a GPU that multiplies in it, never on a CPU.

    A processor with AVX-512 products in bf16 took .99 to 1.02 of the time of float32 for a
    transformer block. Never asked where exact equivariance is measured: bf16 moves scores.

    Args:
        device: as `device` returns it.
    """
    import torch  # noqa: PLC0415 (see device)

    return device != "cpu" and torch.cuda.is_bf16_supported(including_emulation=False)


@functools.cache
def pays(what: str, device: str, cache: Path | None, share_on: Callable[[str], float]) -> bool:
    """True if a way to compute takes at most WORTHWHILE of the usual time on this device.

    Measured once a process, or once a machine where a folder keeps the answer.

    Args:
        what: the way; names the file of answers.
        device: as `device` returns it.
        cache: a folder for the answer, kept under the name of the processor; None keeps none.
        share_on: measures the share of the usual time on a device.
    """
    import torch  # noqa: PLC0415 (see device)

    computes = processor() if device == "cpu" else torch.cuda.get_device_name(device)
    name = f"{computes} · {torch.get_num_threads()} threads · torch {torch.__version__}"
    known = _read(cache, what) if cache else {}
    if name not in known:
        known[name] = share_on(device)
        if cache:
            _write(cache, what, known)
    return known[name] <= WORTHWHILE


def _read(cache: Path, what: str) -> dict[str, float]:
    with suppress(
        OSError, ValueError, TypeError, AttributeError
    ):  # absent or damaged: measure again
        content = json.loads((cache / f"{what}.json").read_text(encoding="utf-8"))
        return {str(name): float(share) for name, share in content.items()}
    return {}


def _write(cache: Path, what: str, shares: dict[str, float]) -> None:
    with suppress(OSError):  # a cache that cannot be written costs a measurement, no more
        cache.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=what, dir=cache)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(shares, file, indent=1)
        Path(name).replace(cache / f"{what}.json")
