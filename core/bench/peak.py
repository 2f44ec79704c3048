"""The machine's own limit: the rate of a large matrix product, and what a network needs of it."""

import time
from collections.abc import Callable, Mapping

import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from shuffleproof.core.models.config import SetRankConfig
from shuffleproof.core.models.dense import dense
from shuffleproof.core.words import percent

SIDES: Mapping[int, int] = {512: 8, 1536: 1}  # of the square matrices on a CPU, and how often
GPU_SIDES: Mapping[int, int] = {8192: 1}

PROFILED = 5
"""Steps that a profile looks at."""

PRODUCTS = ("mm", "addmm", "addmm_", "bmm", "baddbmm", "mkldnn_linear", "_linear_pointwise")
"""Operations that the peak bounds, as the profiler names them."""


class MatrixProduct:
    """Square matrix products to run in turns with what they bound; their best rate is kept.

    The product is the fastest that the networks themselves can call: on a CPU with AVX-512
    oneDNN's, a tenth faster in float32 than `torch.mm`; with AVX2 alone `torch.mm` itself. On a CPU
    there are two sizes: one whose matrices lie in the nearest memory and that is over before other
    work interrupts it, as a network's own products may be, and a large one. A network whose limit
    was the large one alone seemed to beat it.

    Args:
        dtype: of the matrices.
        device: where they live.
        sides: of the matrices, and how often each is multiplied in a turn; None: SIDES on a CPU,
            GPU_SIDES elsewhere.
    """

    def __init__(
        self, dtype: torch.dtype, device: str = "cpu", sides: Mapping[int, int] | None = None
    ) -> None:
        self.rate = 0.0  # floating point operations a second at best, of all times that it ran
        generator = torch.Generator(device).manual_seed(0)

        self.pairs: list[tuple[Tensor, Tensor]] = []
        for side, times in (sides or (SIDES if device == "cpu" else GPU_SIDES)).items():
            pair = torch.randn((2, side, side), generator=generator, device=device).to(dtype)
            self.pairs += [(pair[0], pair[1])] * times

    def __call__(self) -> None:
        """Multiply each pair, and wait for it."""
        for left, right in self.pairs:
            start = time.perf_counter()
            with torch.inference_mode():
                dense(left, right)
            if left.is_cuda:
                torch.cuda.synchronize(left.device)
            seconds = time.perf_counter() - start
            self.rate = max(self.rate, 2 * left.shape[0] ** 3 / seconds)


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


def profile_in_words(run: Callable[[], object], limit: float | None) -> str:
    """Where a step's time goes, measured operation by operation.

    Args:
        run: a step.
        limit: seconds that its products would take at the matrix peak.
    """
    run()
    with profile(activities=[ProfilerActivity.CPU]) as measured:
        for _ in range(PROFILED):
            run()
    events = [event for event in measured.key_averages() if event.self_cpu_time_total > 0]
    seconds = {
        event.key.removeprefix("aten::"): event.self_cpu_time_total / 1e6 / PROFILED
        for event in events
    }
    whole = sum(seconds.values())
    products = sum(seconds.pop(name, 0.0) for name in PRODUCTS)
    rest = sorted(seconds.items(), key=lambda item: -item[1])[:5]
    parts = ", ".join(f"{name} {percent(spent / whole)}" for name, spent in rest)
    rate = "" if not limit else f", at {percent(limit / products)} of the peak"
    return f"of {PROFILED} profiled steps products take {percent(products / whole)}{rate}; {parts}"
