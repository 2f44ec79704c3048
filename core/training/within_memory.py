"""Work in parts that fit into a device's memory: the budget is halved when memory runs out."""

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
    """Result of work done with the budget or, if memory runs out, with half of it, and so on.

    Args:
        work: function that does all the work with a budget of padded documents per batch.
        budget: first budget, in documents.
        longest: number of documents of the longest list, the least budget.
        device: name of the device in messages.

    Returns:
        Result of the work, and the budget that sufficed.

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
        # Outside the handler: the error would hold all tensors of the failed work.
        before, budget = budget, max(longest, budget // 2)
        LOG.warning(
            "the memory of %s does not hold %s documents at once: going on with %s (slower)",
            device, f"{before:,}", f"{budget:,}",
        )  # fmt: skip
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
