"""The least kernel of Triton, which shows whether any compiles here."""

import torch
import triton
import triton.language as tl


@triton.jit
def _doubled(values: tl.tensor, count: tl.constexpr) -> None:
    at = values + tl.arange(0, count)
    tl.store(at, 2 * tl.load(at))


def try_out(device: torch.device) -> None:
    """Compile and run it on a device: raises whatever is wrong with Triton there."""
    values = torch.zeros(16, device=device)
    with torch.cuda.device_of(values):  # type: ignore[no-untyped-call]
        _doubled[(1,)](values, count=16)
