"""The machine's own limit: the rate of a large matrix product, and what a network needs of it."""

import time

import torch

from shuffleproof.core.models.config import SetRankConfig
from shuffleproof.core.models.dense import dense

SIDE = 1536  # of the square matrices on a CPU
GPU_SIDE = 8192


class MatrixProduct:
    """A square matrix product to run in turns with what it bounds; it keeps its own best time.

    The product is the fastest that the networks themselves can call: on a CPU oneDNN's, which is a
    tenth faster in float32 than `torch.mm`, so that no network can beat its limit.

    Args:
        dtype: of the matrices.
        device: where they live.
        side: of the matrices; None: SIDE on a CPU, GPU_SIDE elsewhere.
    """

    def __init__(self, dtype: torch.dtype, device: str = "cpu", side: int | None = None) -> None:
        self.side = side or (SIDE if device == "cpu" else GPU_SIDE)
        self.seconds = float("inf")
        generator = torch.Generator(device).manual_seed(0)
        shape = (self.side, self.side)
        self.left = torch.randn(shape, generator=generator, device=device).to(dtype)
        self.right = torch.randn(shape, generator=generator, device=device).to(dtype)

    def __call__(self) -> None:
        """Multiply once, and wait for it."""
        start = time.perf_counter()
        with torch.inference_mode():
            dense(self.left, self.right)
        if self.left.is_cuda:
            torch.cuda.synchronize(self.left.device)
        self.seconds = min(self.seconds, time.perf_counter() - start)

    @property
    def rate(self) -> float:
        """Floating point operations a second at best, of all times that it ran."""
        return 2 * self.side**3 / self.seconds


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
