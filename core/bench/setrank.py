"""SetRank beside `nn.TransformerEncoder` of the same depth, width, heads and inner width.

Both see embedded documents; the peer runs in float32 and computes neither ordinals nor scores.
The limit is the time that the blocks' operations would take at the matrix product's rate of the
same run.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor, nn

from shuffleproof.core.bench.peak import MatrixProduct, profile_in_words, scoring_operations
from shuffleproof.core.bench.result import BenchRow, interleave
from shuffleproof.core.losses.listwise import attention_rank
from shuffleproof.core.models.config import SETRANK_PRESETS, SetRankConfig
from shuffleproof.core.models.setrank import SetRank

PEER = "nn.TransformerEncoder fp32"
PAPER = SETRANK_PRESETS["paper"]
LOW = torch.bfloat16
PEAK_SHARE = 0.6
"""Least share of the matrix peak of a step in bf16, on a CPU with AMX."""


@dataclass(frozen=True)
class Size:
    """Lists of one length, and the floors that hold there.

    Attributes:
        docs: documents a list.
        lists: lists a batch.
        floors: least ratios in float32 and in bf16; None where none is set.
    """

    docs: int
    lists: int
    floors: tuple[float | None, float | None]


SCORING = (Size(40, 64, (0.95, 2.3)), Size(240, 16, (1.4, 4.0)))
TRAINING = (Size(40, 32, (None, 2.0)), Size(240, 6, (None, 2.0)))


@dataclass(frozen=True)
class Contender:
    """One of our ways to do the job."""

    config: SetRankConfig
    dtype: torch.dtype
    run: Callable[[], object]

    @property
    def name(self) -> str:
        """Block and precision."""
        return f"{self.config.block} {'bf16' if self.dtype == LOW else 'fp32'}"

    def floor(self, size: Size) -> float | None:
        """MSAB has the peer's structure and carries the floors; bf16's hold on a CPU with AMX."""
        low = self.dtype == LOW
        if self.config.block != "msab" or (low and not has_amx()):
            return None
        return size.floors[low]


def encoder(config: SetRankConfig) -> nn.TransformerEncoder:
    """PyTorch's own encoder of the same sizes, without dropout."""
    layer = nn.TransformerEncoderLayer(
        config.width, config.heads, config.feed_forward, dropout=0.0, batch_first=True
    )
    return nn.TransformerEncoder(layer, config.depth)


def has_amx() -> bool:
    """Whether this processor multiplies bf16 matrices in tiles."""
    facts = Path("/proc/cpuinfo")
    return facts.exists() and "amx_bf16" in facts.read_text(encoding="utf-8")


def scoring(quick: bool) -> list[BenchRow]:  # noqa: FBT001 (every job takes it)
    """Scores of embedded lists in evaluation mode, float32 and bf16, MSAB and IMSAB."""
    rows: list[BenchRow] = []
    for size in SCORING:
        lists = 4 if quick else size.lists
        embedded = torch.randn(lists, size.docs, PAPER.width)
        peer = _inferred(encoder(PAPER).eval(), embedded)
        contenders = [
            Contender(config, dtype, _inferred(model.score, embedded.to(dtype)))
            for config, dtype, model in _models()
        ]
        rows += _rows("setrank-score", size, lists, (peer, contenders), 1)
    return rows


def training(quick: bool) -> list[BenchRow]:  # noqa: FBT001 (every job takes it)
    """A training step (forward, attention rank, backward), float32 and bf16 autocast."""
    rows: list[BenchRow] = []
    for size in TRAINING:
        lists = 2 if quick else size.lists
        embedded = torch.randn(lists, size.docs, PAPER.width)
        labels = torch.randint(0, 3, (lists, size.docs)).float()
        scored = nn.Sequential(encoder(PAPER), nn.Linear(PAPER.width, 1), nn.Flatten(1))
        peer = _step(scored, scored, embedded, labels, torch.float32)
        contenders = [
            Contender(config, dtype, _step(model, model.score, embedded, labels, dtype))
            for config, dtype, model in _models(training=True)
        ]
        contender_rows = list(_rows("setrank-train", size, lists, (peer, contenders), 3))
        rows += contender_rows
        for contender, row in zip(contenders, contender_rows, strict=True):
            if contender.dtype == LOW and row.limit is not None:
                rows.append(_share_row(row, contender.run))
    return rows


def _share_row(row: BenchRow, run: Callable[[], object]) -> BenchRow:
    """The share of the matrix peak that a step reaches, and where the rest of it goes."""
    return replace(
        row,
        job=f"{row.job}, share of the matrix peak",
        peer=row.limit,
        peer_name="its products at the matrix peak",
        ratio=row.share_of_limit,
        floor=PEAK_SHARE if has_amx() else None,
        note=profile_in_words(run, row.limit),
    )


def _models(*, training: bool = False) -> Iterator[tuple[SetRankConfig, torch.dtype, SetRank]]:
    for config in (PAPER, replace(PAPER, block="imsab")):
        for dtype in (torch.float32, LOW):
            model = SetRank(1, config).train(training)
            yield config, dtype, model if training else model.to(dtype)


def _inferred(function: Callable[[Tensor], Tensor], embedded: Tensor) -> Callable[[], object]:
    def run() -> None:
        with torch.inference_mode():
            function(embedded)

    return run


def _step(
    model: nn.Module,
    scores: Callable[[Tensor], Tensor],
    embedded: Tensor,
    labels: Tensor,
    dtype: torch.dtype,
) -> Callable[[], object]:
    real = torch.ones_like(labels, dtype=torch.bool)
    parameters = [given for name, given in model.named_parameters() if "input" not in name]

    def run() -> None:
        with torch.autocast("cpu", LOW, enabled=dtype == LOW):
            predicted = scores(embedded)
        torch.autograd.grad(attention_rank(predicted, labels, real).mean(), parameters)

    return run


def _rows(
    job: str,
    size: Size,
    lists: int,
    runs: tuple[Callable[[], object], list[Contender]],
    passes: int,
) -> Iterator[BenchRow]:
    """One row a contender; `passes` is how many times a scoring's operations a run costs."""
    peer, contenders = runs
    products = {dtype: MatrixProduct(dtype) for dtype in (torch.float32, LOW)}
    ours = [contender.run for contender in contenders]
    seconds = interleave(peer, *ours, *products.values(), repeats=3 if lists < 6 else 7)
    for contender, elapsed in zip(contenders, seconds[1:-2], strict=True):
        rate = products[contender.dtype].rate
        limit = passes * scoring_operations(contender.config, lists, size.docs) / rate
        yield BenchRow(
            job=f"{job} {contender.name} N={size.docs}",
            ours=elapsed,
            peer=seconds[0],
            peer_name=PEER,
            ratio=seconds[0] / elapsed,
            floor=contender.floor(size),
            limit=limit,
            share_of_limit=limit / elapsed,
            note=f"paper preset, {lists} lists; matrix product {rate / 1e9:.0f} Gflop/s",
        )


JOBS: dict[str, Callable[[bool], list[BenchRow]]] = {
    "setrank-score": scoring,
    "setrank-train": training,
}
