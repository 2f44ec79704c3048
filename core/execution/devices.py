"""Choice of the device, of bf16 and of the number of threads."""

import functools
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from shuffleproof.core.errors import ParameterError

DEVICE = re.compile(r"cpu|cuda(:[0-9]{1,3})?")
LARGE = 64_000_000
"""Parameters times lists from which threads pay; `tuned` networks have 23e6, `paper` 139e6."""


def device(name: str | None) -> str:
    """The device to compute on: the one asked for, else "cuda" when there is one, else "cpu".

    Without a name, the environment's SHUFFLEPROOF_DEVICE asks (the command line's --device).

    Raises:
        ParameterError: no such kind of device, or CUDA on a machine without it.
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
