"""The greatest level that a list can take: what a family declares is what is measured."""

from itertools import pairwise

import numpy as np
import pytest

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import UsageError
from shuffleproof.core.perturb.base import perturb
from shuffleproof.core.perturb.feasibility import any_level
from shuffleproof.core.perturb.registry import PERTURBATIONS, entry_of, perturbation
from shuffleproof.core.perturb.worst_moves import inversions
from shuffleproof.core.seeds import generator

LENGTHS = (0, 1, 2, 5, 9)
GRADES = [1, 0, 2, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1]


def judged_lists(lengths=LENGTHS):
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    features = np.random.default_rng(0).normal(size=(offsets[-1], 4)).astype(np.float32)
    labels, ids = np.float32(GRADES[: offsets[-1]]), tuple("abcde")[: len(lengths)]
    dataset = RankingDataset(features, labels, offsets, ids, (1, 2, 3, 4))
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


BY_HAND = (
    "adjacent-inversions", "promote", "demote-best", "remove-top", "distractors",
    "hard-distractors", "duplicates", "near-duplicates", "group-out", "unit-error",
    "column-shuffled",
)  # fmt: skip
OF_INPUT = [name for name, entry in PERTURBATIONS.items() if entry.of_input]


def outcome(family, judged, level, seed):
    after = perturb(perturbation(family, level), judged, generator(seed, family))
    return after.lists.rows.tobytes(), after.dataset.features.tobytes()


@pytest.mark.parametrize("family", OF_INPUT)
@pytest.mark.parametrize("length", [0, 1, 2, 5, 14])
def test_a_list_changes_up_to_the_declared_reach_and_no_further(family, length):
    entry, judged = entry_of(family), judged_lists((length,))
    most = float(entry.reach(judged)[0])
    if not entry.whole or np.isfinite(entry.high):
        assert entry.reach is any_level, "a share or a strength: every list takes every level"
    elif np.isfinite(most):
        for seed in range(5):
            beyond = [outcome(family, judged, most + more, seed) for more in (1, 2, 1000)]
            assert len(set(beyond)) == 1, "a level beyond the reach changes the list further"
        if most > entry.unchanged and 1 < length < 14:
            assert any(
                outcome(family, judged, most, seed) != outcome(family, judged, most - 1, seed)
                for seed in range(300)
            ), "the level below the reach already changes as much"
    elif length > 1:
        seen = {outcome(family, judged, level, 0) for level in range(1000, 1010)}
        assert len(seen) > 1, "there is a greatest level that this list can take: declare it"


@pytest.mark.parametrize("family", BY_HAND)
def test_a_level_is_reached_where_it_is_said_to_be(family):
    judged, entry = judged_lists(), entry_of(family)
    for level in (1, 2, 3, 4, 5, 7, 8, 12, 36, 1000):
        after = perturb(perturbation(family, level), judged, generator(level, family))
        arrived = really(family, judged, after, level) == level
        np.testing.assert_array_equal(entry.reach(judged) >= level, arrived, f"{family} {level}")
        assert entry.lists_reaching(judged, level) == arrived.sum()


def test_shares_strengths_and_the_unchanged_level_are_reached_by_all():
    judged = judged_lists()
    for family in ("cut", "duplicates:2+remove-top", "gradient-sign@dlcm"):
        assert entry_of(family).lists_reaching(judged, 1.0) == len(LENGTHS)
    assert entry_of("promote").lists_reaching(judged, 0) == len(LENGTHS)
    assert entry_of("blocks-shown").reach(judged).tolist() == list(LENGTHS)
    assert entry_of("batches").reach(judged).tolist() == [5] * 5


def test_a_chain_without_a_level_is_told_how_a_chain_is_written():
    with pytest.raises(UsageError, match=r"as in transpositions:80\+shuffle-shown") as refused:
        entry_of("transpositions+shuffle-shown")
    assert "transpositions+shuffle-shown lacks the level of transpositions" in str(refused.value)
    assert entry_of("shuffle-shown+cut").family == "shuffle-shown:1+cut"
