"""Which device computes, and whether bf16 pays on it: measured, never guessed."""

import functools
import json
import os
import platform
import re
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from shuffleproof.core.errors import ParameterError

if TYPE_CHECKING:
    from torch import Tensor

DEVICE = re.compile(r"cpu|cuda(:[0-9]{1,3})?")
WORTHWHILE = 0.9
"""bf16 is used where it takes at most this share of float32's time."""

LISTS, DOCUMENTS, WIDTH, HEADS, REPEATS = 16, 40, 256, 8, 7
PROBES = "bf16.json"


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


def bf16_pays(device: str, cache: Path | None = None) -> bool:
    """Whether a transformer block runs clearly faster in bf16 than in float32 on this device.

    Measured once a process, or once a machine where a folder keeps the answer. Never asked where
    exact equivariance is measured: bf16 moves scores.

    Args:
        device: as `device` returns it.
        cache: a folder for the answer, kept under the name of the processor; None keeps none.
    """
    return _bf16_pays(device, cache)


@functools.cache
def _bf16_pays(device: str, cache: Path | None) -> bool:
    import torch  # noqa: PLC0415 (see device)

    name = f"{_processor(device)} · {torch.get_num_threads()} threads · torch {torch.__version__}"
    shares = _read(cache) if cache else {}
    if name not in shares:
        shares[name] = _share_of_float32(device)
        if cache:
            _write(cache, shares)
    return shares[name] <= WORTHWHILE


def _share_of_float32(device: str) -> float:
    """Time of one block forward and backward in bf16 over its time in float32, interleaved."""
    import torch  # noqa: PLC0415 (see device)

    draws = torch.Generator(device).manual_seed(0)
    documents = torch.randn(LISTS, DOCUMENTS, WIDTH, device=device, generator=draws)
    shapes = ((WIDTH, 3 * WIDTH), (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH))
    weights = [
        torch.randn(*shape, device=device, generator=draws).div_(16).requires_grad_()
        for shape in shapes
    ]

    def run(*, lowered: bool) -> None:
        with torch.autocast(device.partition(":")[0], torch.bfloat16, enabled=lowered):
            torch.autograd.grad(_block(documents, weights).float().square().mean(), weights)
        if device != "cpu":
            torch.cuda.synchronize(device)

    seconds: dict[bool, list[float]] = {False: [], True: []}
    for repeat in range(REPEATS + 1):
        for lowered, times in seconds.items():
            start = time.perf_counter()
            run(lowered=lowered)
            if repeat:  # the first round warms up
                times.append(time.perf_counter() - start)
    return median(seconds[True]) / median(seconds[False])


def _block(documents: "Tensor", weights: "list[Tensor]") -> "Tensor":
    lists, count, width = documents.shape
    parts = (documents @ weights[0]).view(lists, count, 3, HEADS, width // HEADS)
    queries, keys, values = parts.permute(2, 0, 3, 1, 4)
    attention = (queries @ keys.transpose(-1, -2) / (width // HEADS) ** 0.5).softmax(-1)
    mixed = (attention @ values).transpose(1, 2).reshape(lists, count, width)
    return (mixed @ weights[1]).relu() @ weights[2]


def _processor(device: str) -> str:
    if device != "cpu":
        import torch  # noqa: PLC0415 (see device)

        return torch.cuda.get_device_name(device)
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _read(cache: Path) -> dict[str, float]:
    with suppress(
        OSError, ValueError, TypeError, AttributeError
    ):  # absent or damaged: measure again
        content = json.loads((cache / PROBES).read_text(encoding="utf-8"))
        return {str(name): float(share) for name, share in content.items()}
    return {}


def _write(cache: Path, shares: dict[str, float]) -> None:
    with suppress(OSError):  # a cache that cannot be written costs a measurement, no more
        cache.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=PROBES, dir=cache)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(shares, file, indent=1)
        Path(name).replace(cache / PROBES)
