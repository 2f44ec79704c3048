"""Whether Triton can compile kernels for a GPU of this machine: tried once, never guessed."""

import functools
import logging

import torch

LOG = logging.getLogger("shuffleproof.models")


@functools.cache
def compiles_for(device: torch.device) -> bool:
    """Whether `gpu_layers.py` and `gpu_recurrence.py` can be used on a device.

    >>> compiles_for(torch.device("cpu"))
    False
    """
    if device.type != "cuda" or torch.cuda.get_device_capability(device) < (8, 0):
        return False
    try:
        from shuffleproof.core.models import gpu_kernels  # noqa: PLC0415 (Triton, for a GPU alone)

        gpu_kernels.try_out(torch.zeros(1, 16, device=device))
    except Exception as error:  # noqa: BLE001 (no Triton, no C compiler, no cache: all end here)
        LOG.warning("%s goes without Triton's kernels, which is slower: %s", device, error)
        return False
    return True
