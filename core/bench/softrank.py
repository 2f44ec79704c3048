"""Bench job `softrank`: an epoch of training with SoftRank beside one with attention rank.

The papers' ratio is twenty (Ai et al., SIGIR 2018); both epochs are those of the training loop
itself, on the same network, lists and batches, in turn.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch

from shuffleproof.core.bench.result import BenchRow, interleaved
from shuffleproof.core.data.batches import held
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.rankers.neural.recipes import NeuralSpec
from shuffleproof.core.seeds import generator
from shuffleproof.core.training.loop import TrainingData, train
from shuffleproof.core.training.network import built

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
    data, spec = _data(case), NeuralSpec.preset(case.ranker, case.preset)
    seconds = interleaved(
        *(_epoch(spec, data, loss) for loss in ("softrank", "attention-rank")), repeats=repeats
    )
    ours, peer = seconds
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


def _epoch(spec: NeuralSpec, data: TrainingData, loss: str) -> Callable[[], object]:
    """One epoch of the training loop from the same first weights; one list is validated."""
    recipe = replace(
        spec.training, loss=loss, epochs=1, least_steps=1, steps_per_epoch=None,
        schedule="constant",
    )  # fmt: skip
    network = built(spec.model, FEATURES, 0).to(data.train.features.device)

    def run() -> None:
        for _ in train(network, data, recipe):
            pass

    return run


def _data(case: Case) -> TrainingData:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    judged, valid = _judged(case.docs, case.lists), _judged(case.docs, 1)
    parts = [
        held(one.lists, one.dataset.features, one.dataset.labels, device) for one in (judged, valid)
    ]
    return TrainingData("softrank bench", parts[0], parts[1], valid)


def _judged(docs: int, lists: int) -> JudgedLists:
    """Seeded lists whose grades 0 to 4 follow two of the features."""
    draws = generator(0, "bench softrank", docs)
    features = draws.standard_normal((docs * lists, FEATURES), dtype=np.float32)
    useful = features[:, 0] + features[:, 1] + draws.normal(size=len(features))
    labels = np.clip(np.floor(useful), 0, 4).astype(np.float32)
    names = tuple(f"q{query}" for query in range(lists))
    offsets, ids = np.arange(lists + 1, dtype=np.int64) * docs, tuple(range(1, FEATURES + 1))
    dataset = RankingDataset(features, labels, offsets, names, ids)
    return JudgedLists(dataset, CandidateLists.everything(dataset))


JOBS: dict[str, Callable[[bool], list[BenchRow]]] = {"softrank": softrank}
