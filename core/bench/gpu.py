"""SetRank's paper preset on a CUDA device: first that it is right, then how much of it is used.

Float32 scores, losses and gradients must equal the CPU's within 1e-4 relative, TF32 off, before
anything is timed. The whole set lives on the device; an epoch is gathered there.
"""

import time
from collections.abc import Callable
from statistics import median

import torch
from torch import Tensor

from shuffleproof.core.bench.peak import MatrixProduct, scoring_operations
from shuffleproof.core.bench.result import BenchRow
from shuffleproof.core.losses.listwise import attention_rank
from shuffleproof.core.models.config import SETRANK_PRESETS
from shuffleproof.core.models.setrank import SetRank

CONFIG = SETRANK_PRESETS["paper"]
FEATURES = 136
SETS = ((40, 19_000), (240, 3_200))  # documents a list, lists
BATCH = 40_960  # documents a step
CLOSE = 1e-4
AIMS = {"gpu-train": 0.25, "gpu-score": 0.40}
LOW = torch.bfloat16


def training(quick: bool) -> list[BenchRow]:  # noqa: FBT001 (every job takes it)
    """An epoch: gather, forward in bf16, attention rank, backward, fused Adam."""
    return _job("gpu-train", 3, _epoch, quick=quick)


def scoring(quick: bool) -> list[BenchRow]:  # noqa: FBT001 (every job takes it)
    """Scores of the whole set in bf16."""
    return _job("gpu-score", 1, _scores, quick=quick)


def difference_from_cpu(device: str, docs: int) -> float:
    """Largest relative difference of scores, losses and gradients in float32, TF32 off.

    Relative to the largest value of each tensor; 8 lists.
    """
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        torch.manual_seed(0)
        model, features, labels = SetRank(FEATURES, CONFIG), *_set(8, docs, "cpu")
        due = _facts(model, features, labels)
        found = _facts(model.to(device), features.to(device), labels.to(device))
    finally:
        torch.set_float32_matmul_precision(before)
    pairs = zip(due, found, strict=True)
    return max(float((b.cpu() - a).detach().abs().max() / a.detach().abs().max()) for a, b in pairs)


def _facts(model: SetRank, features: Tensor, labels: Tensor) -> tuple[Tensor, ...]:
    scores = model.score(model.embed(features))
    losses = attention_rank(scores, labels, torch.ones_like(labels, dtype=torch.bool))
    return scores, losses, *torch.autograd.grad(losses.mean(), list(model.parameters()))


def _job(
    job: str, passes: int, make: Callable[..., Callable[[], object]], *, quick: bool
) -> list[BenchRow]:
    if not torch.cuda.is_available():
        note = "no CUDA device here: neither checked nor timed"
        return [
            BenchRow(f"{job} N={docs}", None, None, "", None, None, note=note) for docs, _ in SETS
        ]
    return [_row(job, docs, 64 if quick else lists, passes, make) for docs, lists in SETS]


def _row(
    job: str, docs: int, lists: int, passes: int, make: Callable[..., Callable[[], object]]
) -> BenchRow:
    named = f"{job} bf16 N={docs}"
    apart = difference_from_cpu("cuda", docs)
    if apart > CLOSE:
        note = f"float32 differs from the CPU by {apart:.1e} relative: not timed"
        return BenchRow(named, None, None, "CPU float32", None, None, note=note)
    model = SetRank(FEATURES, CONFIG).cuda()
    features, labels = _set(lists, docs, "cuda")
    product = MatrixProduct(LOW, "cuda")
    seconds, limit = _timed(make(model, features, labels), product)
    rate = product.rate(limit)
    operations = passes * scoring_operations(CONFIG, lists, docs)
    note = (
        f"{lists} lists, {torch.cuda.get_device_name()}; CPU float32 within {apart:.1e}; matrix "
        f"product {rate / 1e12:.0f} Tflop/s, aim {AIMS[job]:.0%} of it"
    )
    limit = operations / rate
    return BenchRow(named, seconds, None, "", None, None, limit, limit / seconds, note)


def _set(lists: int, docs: int, device: str) -> tuple[Tensor, Tensor]:
    drawn = torch.Generator(device).manual_seed(0)
    features = torch.randn(lists, docs, FEATURES, generator=drawn, device=device)
    labels = torch.randint(0, 3, (lists, docs), generator=drawn, device=device).float()
    return features, labels


def _epoch(model: SetRank, features: Tensor, labels: Tensor) -> Callable[[], object]:
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    step = max(1, BATCH // features.shape[1])

    def run() -> None:
        """One epoch of steps over the set, in an order drawn anew."""
        for chosen in torch.split(torch.randperm(len(features), device=features.device), step):
            optimiser.zero_grad(set_to_none=True)
            with torch.autocast("cuda", LOW):
                scores = model.score(model.embed(features[chosen]))
            real = torch.ones_like(scores, dtype=torch.bool)
            loss: Tensor = attention_rank(scores, labels[chosen], real).mean()
            torch.autograd.backward(loss)
            optimiser.step()

    return run


def _scores(model: SetRank, features: Tensor, labels: Tensor) -> Callable[[], object]:
    low = model.eval().to(LOW)
    step = max(1, BATCH // labels.shape[1])

    def run() -> None:
        """Score the whole set, part after part."""
        with torch.inference_mode():
            for part in torch.split(features, step):
                low.score(low.embed(part.to(LOW)))

    return run


def _timed(*jobs: Callable[[], object]) -> tuple[float, ...]:
    """Median seconds of each on the device, run in turn after two warm-ups."""
    seconds: list[list[float]] = [[] for _ in jobs]
    for repeat in range(7):
        for index, job in enumerate(jobs):
            torch.cuda.synchronize()
            start = time.perf_counter()
            job()
            torch.cuda.synchronize()
            if repeat > 1:
                seconds[index].append(time.perf_counter() - start)
    return tuple(median(taken) for taken in seconds)


JOBS: dict[str, Callable[[bool], list[BenchRow]]] = {"gpu-train": training, "gpu-score": scoring}
