"""How far lists go along with a level: the reach told is the reach measured."""

from itertools import pairwise

import numpy as np
import pytest

from core.cli.progress import ProgressLine
from core.data.dataset import RankingDataset
from core.data.lists import CandidateLists, JudgedLists
from core.errors import UsageError
from core.perturb.base import disturbed
from core.perturb.reach import REACHES, most, reached
from core.perturb.registry import entry_of, perturbation
from core.perturb.worst_moves import inversions
from core.progress import Progress
from core.seeds import generator

LENGTHS = (0, 1, 2, 5, 9)
GRADES = [1, 0, 2, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1]


def judged_lists():
    offsets = np.concatenate([[0], np.cumsum(LENGTHS)]).astype(np.int64)
    features = np.random.default_rng(0).normal(size=(offsets[-1], 4)).astype(np.float32)
    dataset = RankingDataset(features, np.float32(GRADES), offsets, tuple("abcde"), (1, 2, 3, 4))
    prior = -np.arange(offsets[-1], dtype=np.float32).reshape(-1, 1)
    return JudgedLists(dataset, CandidateLists.ranked_by(dataset, prior))


def really(family, before, after, level):
    """The level that each list shows afterwards, counted by hand."""
    lengths, offsets = before.lists.lengths, before.lists.offsets
    if family in {"distractors", "hard-distractors", "duplicates", "near-duplicates"}:
        return after.lists.lengths - lengths
    if family == "remove-top":
        return lengths - after.lists.lengths
    if family in {"group-out", "unit-error", "column-shuffled"}:
        changed = (before.dataset.features != after.dataset.features).any(axis=0).sum()
        return np.full(len(lengths), changed)
    if family == "adjacent-inversions":
        return inversions(after.lists.rows[None], offsets)[0]
    bounds = [(low, high) for low, high in pairwise(offsets.tolist())]
    orders = [after.lists.rows[low:high] - low for low, high in bounds]
    found = np.zeros(len(lengths), dtype=np.int64)
    for index, (order, (low, high)) in enumerate(zip(orders, bounds, strict=True)):
        labels = before.dataset.labels[low:high]
        if family == "promote" and (order != np.arange(len(order))).any():
            assert order[level - 1] > level - 1
            assert labels[order[level - 1]] < 1
            found[index] = level
        if family == "demote-best" and len(order) and labels.max() >= 1:
            best = int(labels.argmax())
            found[index] = int(np.flatnonzero(order == best)[0]) - best
    return found


COUNTED = sorted(REACHES.keys() - {"blocks-shown", "batches"})


@pytest.mark.parametrize("family", COUNTED)
def test_a_level_is_reached_where_it_is_said_to_be(family):
    judged = judged_lists()
    for level in (1, 2, 3, 4, 5, 7, 8, 12, 36, 1000):
        after = disturbed(perturbation(family, level), judged, generator(level, family))
        arrived = really(family, judged, after, level) == level
        np.testing.assert_array_equal(most(judged, family) >= level, arrived, f"{family} {level}")
        assert reached(judged, family, level) == arrived.sum()


def test_shares_strengths_and_the_unchanged_level_are_reached_by_all():
    judged = judged_lists()
    assert most(judged, "cut") is None
    assert reached(judged, "cut", 1.0) == reached(judged, "promote", 0) == len(LENGTHS)
    assert most(judged, "blocks-shown").tolist() == list(LENGTHS)
    assert most(judged, "batches").tolist() == [5] * 5


def test_a_chain_without_a_level_is_told_how_a_chain_is_written():
    with pytest.raises(UsageError, match=r"as in transpositions:80\+shuffle-shown") as refused:
        entry_of("transpositions+shuffle-shown")
    assert "transpositions+shuffle-shown lacks the level of transpositions" in str(refused.value)
    assert entry_of("shuffle-shown+cut").family == "shuffle-shown:1+cut"


def test_no_end_is_foretold_from_the_first_trials():
    line = ProgressLine("study")
    line(Progress(0, 100, "trials"))
    assert "left" not in line._text(Progress(4, 100, "trials"), 20.0)
    assert "(0.2/s, 7 min 40 s left)" in line._text(Progress(8, 100, "trials"), 40.0)
    assert "left" in line._text(Progress(1, 100, "epochs", part=0.5), 40.0)
