import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from shuffleproof.core.data import ragged
from shuffleproof.core.data.batches import (
    SCORING_WASTE,
    TRAINING_WASTE,
    on_device,
    reheld,
    scoring_plan,
    tied_blocks,
    training_plan,
)
from shuffleproof.core.data.lists import CandidateLists

LENGTHS = st.lists(st.integers(0, 60), max_size=50).map(lambda some: np.array(some, dtype=np.int64))


def waste_of(lengths, batches):
    """Padded documents over real documents of these batches."""
    padded = sum(int(lengths[batch].max(initial=0)) * len(batch) for batch in batches)
    return padded / max(1, sum(int(lengths[batch].sum()) for batch in batches))


def lists_of(lengths, rankings=1, grades=4, seed=0):
    generator = np.random.default_rng(seed)
    total = int(np.sum(lengths))
    prior = generator.integers(0, grades, (total, rankings)).astype(np.float32)
    lists = CandidateLists(
        ragged.offsets_of(np.asarray(lengths, dtype=np.int64)),
        np.arange(len(lengths)),
        np.arange(total),
        np.zeros((total, rankings), np.int32),
        np.zeros((total, rankings), np.float32),
    )
    return lists.reranked(prior)


@given(LENGTHS, st.integers(1, 300))
def test_scoring_plan_holds_every_filled_list_once_within_the_waste(lengths, budget):
    plan = list(scoring_plan(lengths, budget))
    assert sorted(np.concatenate([*plan, np.empty(0, int)])) == list(np.flatnonzero(lengths))
    assert waste_of(lengths, plan) <= SCORING_WASTE
    assert all(lengths[one].max() * len(one) <= budget or len(one) == 1 for one in plan)


@given(LENGTHS, st.integers(1, 300), st.integers(1, 9), st.integers(0, 3))
def test_training_plan_holds_every_filled_list_once_within_the_waste(lengths, budget, most, seed):
    def plan():
        draws = np.random.default_rng(seed)
        return training_plan(lengths, np.arange(len(lengths)), (most, budget), draws)

    batches = plan()
    assert sorted(np.concatenate([*batches, np.empty(0, int)])) == list(np.flatnonzero(lengths))
    assert waste_of(lengths, batches) <= TRAINING_WASTE
    for one in batches:
        assert len(one) <= most
        assert lengths[one].max() * len(one) <= budget or len(one) == 1
    assert all(np.array_equal(one, again) for one, again in zip(batches, plan(), strict=True))


def test_epochs_differ_and_lists_of_one_length_are_really_shuffled():
    lengths = np.full(64, 40)
    draws = np.random.default_rng(0)
    first = training_plan(lengths, np.arange(64), (8, 4096), draws)
    second = training_plan(lengths, np.arange(64), (8, 4096), draws)
    assert [len(one) for one in first] == [8] * 8
    together = [set(one) for one in first]
    assert not any(set(one) in together for one in second)


def test_a_list_drawn_twice_is_seen_twice():
    batches = training_plan(
        np.array([3, 5]), np.array([1, 1, 0]), (2, 99), np.random.default_rng(0)
    )
    assert sorted(np.concatenate(batches)) == [0, 1, 1]


def test_a_batch_shows_the_documents_of_its_lists_and_zeros():
    lists = lists_of([2, 0, 3, 1], rankings=2)
    features = np.arange(12, dtype=np.float32).reshape(6, 2) + 1
    labels = np.arange(6, dtype=np.float32)
    batch = on_device(lists, features, labels).batch(np.array([3, 2]))
    assert batch.mask.tolist() == [[True, False, False], [True, True, True]]
    assert batch.features[0].tolist() == [[11, 12], [0, 0], [0, 0]]
    assert batch.features[1].tolist() == features[2:5].tolist()
    assert batch.labels.tolist() == [[5, 0, 0], [2, 3, 4]]
    assert batch.rows.tolist() == [[5, 6, 6], [2, 3, 4]]
    assert batch.ranks[1].tolist() == lists.ranks[2:5].tolist()
    assert batch.ranks.dtype == batch.tied.dtype == torch.int64


def test_reheld_lists_show_rows_of_a_shared_tensor():
    lists = lists_of([2, 2])
    shared = torch.tensor([[1.0], [2.0], [0.0]])
    batch = reheld(lists, shared, np.array([0, 1, 1, 0])).batch(np.array([0, 1]))
    assert batch.features[..., 0].tolist() == [[1, 2], [2, 1]]


def test_held_arrays_are_copies_so_read_only_data_stays_untouched():
    lists = lists_of([3])
    features = np.ones((3, 2), dtype=np.float32)
    features.flags.writeable = False
    kept = on_device(lists, features, np.ones(3, dtype=np.float32))
    kept.features.zero_()
    assert features.all()


@pytest.mark.parametrize("lengths", [[5], [7, 0, 1, 12], [0, 0, 9], []])
@pytest.mark.parametrize("grades", [1, 3, 1000])
def test_the_host_knows_of_every_batch_what_decides_its_shape(lengths, grades):
    lists = lists_of(lengths, rankings=2, grades=grades)
    rows = len(lists.rows)
    whole = on_device(lists, np.zeros((rows, 1), np.float32), np.zeros(rows, np.float32))
    assert whole.ties.shape == (len(lengths), 2)
    plan = [np.array([index]) for index in np.flatnonzero(lengths)]
    for chosen, batch in zip(plan, whole.batches(plan), strict=True):
        assert batch.lengths.tolist() == [lengths[chosen[0]]] == batch.mask.sum(1).tolist()
        assert batch.ties == tuple((batch.tied > 1).any(1).any(0).tolist())
        assert batch.held.present == (0, 1)


@pytest.mark.parametrize("lengths", [[5], [7, 0, 1, 12], []])
def test_tied_blocks_count_equal_priors(lengths):
    lists = lists_of(lengths, rankings=2, grades=3)
    tied = tied_blocks(lists)
    for index in range(len(lists)):
        inside = slice(lists.offsets[index], lists.offsets[index + 1])
        for column in range(2):
            prior = lists.prior[inside, column]
            assert tied[inside, column].tolist() == [int((prior == one).sum()) for one in prior]
