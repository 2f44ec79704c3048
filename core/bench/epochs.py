"""Epochs of the training loop itself, on generated lists of one length: what some jobs time."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from shuffleproof.core.data.batches import on_device
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.rankers.neural.recipes import NeuralSpec
from shuffleproof.core.seeds import generator
from shuffleproof.core.training.loop import EpochReport, TrainingData, train
from shuffleproof.core.training.network import built


def timed(
    specs: Sequence[NeuralSpec],
    data: TrainingData,
    between: Callable[[], object] = lambda: None,
    repeats: int = 5,
) -> list[float]:
    """Least seconds of an epoch of each training, without its validation.

    Args:
        specs: the trainings, which take turns, an epoch at a time; their first epochs warm up.
        data: that all are trained on.
        between: done once a turn.
        repeats: turns that are timed.
    """
    features = data.train.features
    runs = []
    for spec in specs:
        recipe = replace(
            spec.training, epochs=repeats + 1, patience=None, least_steps=1, steps_per_epoch=None,
            schedule="constant",
        )  # fmt: skip
        network = built(spec.model, features.shape[1], 0).to(features.device)
        runs.append(train(network, data, recipe))
    seconds = [float("inf")] * len(runs)
    for turn in range(repeats + 1):
        for index, run in enumerate(runs):
            report = next(progress for progress in run if isinstance(progress, EpochReport))
            if turn:
                epoch_seconds = len(data.train.lengths) / report.lists_per_second
                seconds[index] = min(seconds[index], epoch_seconds)
        between()
    return seconds


def data_of(lists: int, docs: int, features: int, device: str) -> TrainingData:
    """Lists to learn from, and one to select on."""
    learnt, selected = graded_lists(lists, docs, features), graded_lists(1, docs, features)
    train_lists, valid = (
        on_device(part.lists, part.dataset.features, part.dataset.labels, device)
        for part in (learnt, selected)
    )
    return TrainingData("bench", train_lists, valid, selected)


def graded_lists(lists: int, docs: int, features: int) -> JudgedLists:
    """Seeded lists whose grades 0 to 4 follow two of the features, ranked by each of four."""
    draws = generator(0, "bench epochs", docs)
    values = draws.standard_normal((docs * lists, features), dtype=np.float32)
    useful = values[:, 0] + values[:, 1] + draws.normal(size=len(values))
    labels = np.clip(np.floor(useful), 0, 4).astype(np.float32)
    names = tuple(f"q{query}" for query in range(lists))
    offsets, ids = np.arange(lists + 1, dtype=np.int64) * docs, tuple(range(1, features + 1))
    dataset = RankingDataset(values, labels, offsets, names, ids)
    return JudgedLists(dataset, CandidateLists.ranked_by(dataset, values[:, :4].copy(), None))
