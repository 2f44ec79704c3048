"""SetRank on a GPU: epochs of the training loop and scores of its lists, in bf16.

The limit of most rows is the time of the blocks' operations at the rate of a large bf16 matrix
product, which runs in turns with them. `tests/core/models/test_setrank.py` holds the GPU's float32
scores, losses and gradients equal to the CPU's.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import torch

from shuffleproof.core.data.batches import on_device
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.models.config import SETRANK_PRESETS, SetRankConfig
from shuffleproof.core.rankers.neural.recipes import NeuralSpec
from shuffleproof.core.seeds import generator
from shuffleproof.core.training.loop import TrainingData, train
from shuffleproof.core.training.network import built, held_scores
from tests.bench.row import Row, interleave

DEVICE, FEATURES, SIDE = "cuda", 136, 8192
SIZES = ((40, 19_000, 1024, 0.25), (240, 3_200, 170, 0.35))
"""Documents a list, lists, lists a batch, and the least share of the matrix peak in training."""


def gpu(*, quick: bool) -> Iterator[Row]:
    """Seconds of an epoch and of scoring; a quick run has four batches."""
    if not torch.cuda.is_available():
        yield Row("SetRank on a GPU", None, None, "limit", None, "no GPU")
        return
    for docs, count, batch, share in SIZES:
        data = training_data(4 * batch if quick else count, docs)
        lists = len(data.train.lengths)
        rate = MatrixProduct()
        msab, imsab = epoch_seconds([spec_of(block, batch, docs) for block in BLOCKS], data, rate)
        least, least_imsab = (3 * seconds_at(rate, block, lists, docs) for block in BLOCKS)
        name = f"N={docs}, {lists} lists, batches of {batch}"
        yield Row(f"GPU epoch of MSAB, {name}", msab, least, "its products", share)
        # IMSAB may take 1.3 × the time of its operations at MSAB's rate.
        peer = 1.3 * msab * least_imsab / least
        yield Row(f"GPU epoch of IMSAB, {name}", imsab, peer, "1.3 × MSAB's rate", 1.0)
        network = built(spec_of("msab", batch, docs).model, FEATURES, 0).to(DEVICE).eval()
        seconds, _ = interleave(lambda: held_scores(network, data.train, "bf16"), rate)  # noqa: B023
        least = seconds_at(rate, "msab", lists, docs)
        yield Row(
            f"GPU scores of MSAB, N={docs}, {lists} lists", seconds, least, "its products", 0.4
        )
    data = training_data(128 if quick else 19_000, 40)
    (seconds,) = epoch_seconds([spec_of("msab", 32, 40)], data, lambda: None)
    yield Row("GPU epoch of MSAB, N=40, batches of 32", seconds, 1.0, "limit", 1.0)


Block = Literal["msab", "imsab"]
BLOCKS: tuple[Block, ...] = ("msab", "imsab")


def spec_of(block: Block, batch: int, docs: int) -> NeuralSpec:
    """The paper's recipe with other batches, in bf16."""
    return NeuralSpec.preset(
        f"setrank-{block}", "paper", precision="bf16", batch_lists=batch,
        batch_documents=batch * docs,
    )  # fmt: skip


class MatrixProduct:
    """A large bf16 matrix product; its best rate is kept, in operations per second."""

    def __init__(self) -> None:
        self.rate = 0.0
        self.left, self.right = torch.randn((2, SIDE, SIDE), device=DEVICE).bfloat16()

    def __call__(self) -> None:
        """Multiply once and wait for the result."""
        start = time.perf_counter()
        torch.mm(self.left, self.right)
        torch.cuda.synchronize()
        self.rate = max(self.rate, 2 * SIDE**3 / (time.perf_counter() - start))


def seconds_at(product: MatrixProduct, block: Block, lists: int, docs: int) -> float:
    """Seconds of a forward pass of SetRank's blocks at the rate of the product."""
    config = replace(SETRANK_PRESETS["paper"], block=block)
    return lists * operations(config, docs) / product.rate


def operations(config: SetRankConfig, docs: int) -> int:
    """Multiplications and additions in the blocks of SetRank, for one list.

    >>> layers = 3 * 256 * 256 + 2 * 256 * 1024  # Q, K, V and the two of the feed-forward net
    >>> by_hand = 6 * (2 * 40 * layers + 4 * 40 * 40 * 256)  # and Q Kᵀ, then its product with V
    >>> operations(SETRANK_PRESETS["paper"], 40) == by_hand
    True
    """
    width, points = config.width, config.inducing_points
    square, net = 2 * width * width, 4 * width * config.feed_forward
    if config.block == "msab":
        return config.depth * (docs * (3 * square + net) + 4 * docs * docs * width)
    inside = points * (2 * square + net * config.inducing_feed_forward)
    return config.depth * (docs * (3 * square + net) + inside + 8 * docs * points * width)


def epoch_seconds(specs: Sequence[NeuralSpec], data: TrainingData, between) -> list[float]:
    """Least seconds of an epoch of each training, without validation.

    The trainings take turns, an epoch at a time; the first epochs warm up. `between` runs once a
    turn.
    """
    repeats = 5
    runs = []
    for spec in specs:
        recipe = replace(
            spec.training, epochs=repeats + 1, patience=None, least_steps=1, steps_per_epoch=None,
            schedule="constant",
        )  # fmt: skip
        runs.append(train(built(spec.model, FEATURES, 0).to(DEVICE), data, recipe))
    seconds = [float("inf")] * len(runs)
    for turn in range(repeats + 1):
        for index, run in enumerate(runs):
            report = next(progress for progress in run if not progress.part)
            if turn:
                epoch = len(data.train.lengths) / report.values["lists_per_second"]
                seconds[index] = min(seconds[index], epoch)
        between()
    return seconds


def training_data(lists: int, docs: int) -> TrainingData:
    """Lists to train on, and one to select on."""
    train_lists, valid = graded_lists(lists, docs), graded_lists(1, docs)
    held = (
        on_device(part.lists, part.dataset.features, part.dataset.labels, DEVICE)
        for part in (train_lists, valid)
    )
    return TrainingData("bench", *held, valid)


def graded_lists(lists: int, docs: int) -> JudgedLists:
    """Seeded lists whose grades 0 to 4 follow two of the features."""
    draws = generator(0, "bench epochs", docs)
    values = draws.standard_normal((docs * lists, FEATURES), dtype=np.float32)
    useful = values[:, 0] + values[:, 1] + draws.normal(size=len(values))
    dataset = RankingDataset(
        values,
        np.clip(np.floor(useful), 0, 4).astype(np.float32),
        np.arange(lists + 1, dtype=np.int64) * docs,
        tuple(f"q{query}" for query in range(lists)),
        tuple(range(1, FEATURES + 1)),
    )
    return JudgedLists(dataset, CandidateLists.ranked_by(dataset, values[:, :4].copy(), None))
