"""The machine's own limit: the rate of a large matrix product, and what a network needs of it."""

import torch

from shuffleproof.core.models.config import SetRankConfig

SIDE = 1536  # of the square matrices on a CPU
GPU_SIDE = 8192


class MatrixProduct:
    """A square matrix product to run beside what it bounds.

    Args:
        dtype: of the matrices.
        device: where they live.
    """

    def __init__(self, dtype: torch.dtype, device: str = "cpu") -> None:
        self.side = SIDE if device == "cpu" else GPU_SIDE
        generator = torch.Generator(device).manual_seed(0)
        shape = (self.side, self.side)
        self.left = torch.randn(shape, generator=generator, device=device).to(dtype)
        self.right = torch.randn(shape, generator=generator, device=device).to(dtype)

    def __call__(self) -> None:
        """Multiply once."""
        with torch.inference_mode():
            torch.mm(self.left, self.right)

    def rate(self, seconds: float) -> float:
        """Floating point operations a second, when one product took so long."""
        return 2 * self.side**3 / seconds


def scoring_operations(config: SetRankConfig, lists: int, docs: int) -> int:
    """Multiplications and additions in the blocks of SetRank, for lists of one length.

    >>> from shuffleproof.core.models.config import SETRANK_PRESETS
    >>> layers = 3 * 256 * 256 + 2 * 256 * 1024  # Q, K, V and the two of the feed-forward net
    >>> by_hand = 6 * (2 * 40 * layers + 4 * 40 * 40 * 256)  # and Q Kᵀ, then its product with V
    >>> scoring_operations(SETRANK_PRESETS["paper"], 1, 40) == by_hand
    True
    """
    width, points = config.width, config.inducing_points
    square, net = 2 * width * width, 4 * width * config.feed_forward
    if config.block == "msab":
        block = docs * (3 * square + net) + 4 * docs * docs * width
    else:
        inside = points * (2 * square + net * config.inducing_feed_forward)
        block = docs * (3 * square + net) + inside + 8 * docs * points * width
    return lists * config.depth * block
