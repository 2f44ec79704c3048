"""Bench job `softrank`: an epoch of training with SoftRank beside one with attention rank.

The papers' ratio is twenty (Ai et al., SIGIR 2018); both epochs are those of the training loop
itself, on the same network, lists and batches, in turn.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from shuffleproof.core.bench.epochs import data_of, timed
from shuffleproof.core.bench.result import BenchRow
from shuffleproof.core.rankers.neural.recipes import NeuralSpec

FEATURES = 46
ALLOWED = 20.0
"""A SoftRank epoch may take so many times as long."""


@dataclass(frozen=True)
class Case:
    """One network and one length of list.

    Attributes:
        ranker: whose network.
        preset: whose widths and batches.
        docs: documents of every list.
        lists: lists of the epoch.
    """

    ranker: str
    preset: str
    docs: int
    lists: int


CASES = (
    Case("dlcm", "tuned", 40, 128),
    Case("setrank-msab", "tuned", 40, 128),
    Case("dlcm", "tuned", 240, 32),
    Case("setrank-msab", "tuned", 240, 32),
)
QUICK = (Case("dlcm", "small", 40, 32), Case("setrank-msab", "small", 40, 32))


def softrank(quick: bool) -> list[BenchRow]:  # noqa: FBT001 (the jobs' common signature)
    """Seconds of one epoch with either loss; the ratio is allowed over found, so its floor is 1."""
    return [_row(case, repeats=5 if quick else 3) for case in (QUICK if quick else CASES)]


def _row(case: Case, repeats: int) -> BenchRow:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    data = data_of(case.lists, case.docs, FEATURES, device)
    spec = NeuralSpec.preset(case.ranker, case.preset)
    specs = [spec.with_fields({"loss": loss}) for loss in ("softrank", "attention-rank")]
    ours, peer = timed(specs, data, repeats=repeats)
    return BenchRow(
        job=f"softrank epoch {case.ranker} N={case.docs}",
        ours=ours,
        peer=peer,
        peer_name="attention-rank, the same epoch",
        ratio=ALLOWED * peer / ours,
        floor=1.0,
        note=f"{case.lists} lists, {case.preset} widths: {ours / peer:.1f} × as long, at most "
        f"{ALLOWED:g} ×; the ratio is {ALLOWED:g} over that",
    )


JOBS: dict[str, Callable[[bool], list[BenchRow]]] = {"softrank": softrank}
