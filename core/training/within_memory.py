"""Work in parts that fit into the memory of a device: half the budget where it runs out."""

import logging
from collections.abc import Callable
from typing import TypeVar

import torch

from shuffleproof.core.errors import DataError

Outcome = TypeVar("Outcome")
LOG = logging.getLogger("shuffleproof.training")


def within_memory(
    work: Callable[[int], Outcome], budget: int, longest: int, device: str
) -> tuple[Outcome, int]:
    """The work done with the budget or, where memory does not suffice, with half of it, and so on.

    Args:
        work: does everything from the beginning, at most so many padded documents at once.
        budget: documents at once, at first.
        longest: documents of the longest list, below which no list can be parted.
        device: where memory may run out.

    Returns:
        What the work returned, and the budget that it was done with.

    Raises:
        DataError: a single list does not fit.
    """
    while True:
        try:
            return work(budget), budget
        except torch.OutOfMemoryError as error:
            if budget <= longest:
                finding = f"no memory for one list of {longest} documents"
                remedy = "Cut the lists (--depth), take a smaller network, or --device cpu."
                raise DataError(device, finding, remedy) from error
        # Out of the handler: the error would keep all tensors of the failed work alive.
        before, budget = budget, max(longest, budget // 2)
        LOG.warning(
            "the memory of %s does not hold %s documents at once: going on with %s (slower)",
            device, f"{before:,}", f"{budget:,}",
        )  # fmt: skip
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
