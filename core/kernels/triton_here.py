"""Check if Triton can compile kernels for a GPU of this machine; tried once."""

import functools
import logging
import os

import torch

LOG = logging.getLogger("shuffleproof.kernels")

# A product and a sum become one instruction: unasked, Triton 3.9 warns and 3.10 makes two.
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")


@functools.cache
def compiles_for(device: torch.device) -> bool:
    """True if the project's kernels (folders and files `gpu*`) can be used on a device.

    >>> compiles_for(torch.device("cpu"))
    False
    """
    if device.type != "cuda" or torch.cuda.get_device_capability(device) < (8, 0):
        return False
    try:
        from shuffleproof.core.kernels import trial  # noqa: PLC0415 (Triton)

        trial.try_out(device)
    except Exception as error:  # noqa: BLE001 (no Triton, no C compiler, no cache: all end here)
        LOG.warning("%s goes without Triton's kernels, which is slower: %s", device, error)
        return False
    return True
