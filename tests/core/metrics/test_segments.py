"""Ragged reductions and sorting against a plain loop over the segments."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from shuffleproof.core.data.ragged import sort_within
from shuffleproof.core.metrics import passing, segments

REDUCTIONS = {
    segments.sums: lambda values: values.sum(),
    segments.maxima: lambda values: values.max(initial=-np.inf),
}


@st.composite
def ragged(draw):
    lengths = draw(st.lists(st.integers(0, 6), max_size=8))
    offsets = np.cumsum([0, *lengths]).astype(np.int64)
    kind = draw(st.sampled_from([np.float32, np.float64, np.int32]))
    elements = st.integers(-9, 9)
    values = draw(npst.arrays(kind, int(offsets[-1]), elements=elements))
    return offsets, values


def parts(offsets, values):
    return [values[a:b] for a, b in itertools.pairwise(offsets)]


@pytest.mark.parametrize("reduction", REDUCTIONS)
@given(ragged())
def test_a_reduction_is_the_plain_one_of_each_segment(reduction, case):
    wanted = [REDUCTIONS[reduction](part.astype(float)) for part in parts(*case)]
    np.testing.assert_allclose(reduction(*case), np.array(wanted, dtype=float))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("values", [[np.nan, 1.0, -1.0], [1.0, np.nan, 2.0], [2.0, 1.0, np.nan]])
def test_a_nan_is_seen(reduction, values):
    found = reduction(np.array([0, 3, 4]), np.array([*values, 5.0]))
    assert np.isnan(found[0])
    assert found[1] == 5.0


def test_infinities_are_values_like_others():
    offsets, values = np.array([0, 2]), np.array([np.inf, -np.inf])
    assert segments.maxima(offsets, values)[0] == np.inf


@given(ragged())
def test_sorting_within_segments(case):
    offsets, values = case
    keys = values.copy()
    sort_within(offsets, keys)
    assert keys.tolist() == [key for part in parts(offsets, values) for key in sorted(part)]


@given(ragged())
def test_the_falling_order_stays_within_segments_and_falls(case):
    offsets, values = case
    order = segments.falling_order(offsets, values)
    assert sorted(order.tolist()) == list(range(len(values)))
    for place, (old, new) in enumerate(
        zip(parts(offsets, values), parts(offsets, values[order]), strict=True)
    ):
        assert new.tolist() == sorted(old, reverse=True), place


def test_segments_of_one_length_need_no_gathering():
    random = np.random.default_rng(0)
    values = random.normal(size=(50, 7))
    offsets = np.arange(51) * 7
    keys = values.ravel().copy()
    sort_within(offsets, keys)
    np.testing.assert_array_equal(keys.reshape(50, 7), np.sort(values, axis=1))
    order = segments.falling_order(offsets, values.ravel())
    wanted = np.argsort(-values, axis=1) + offsets[:-1, None]
    np.testing.assert_array_equal(order.reshape(50, 7), wanted)


def test_the_largest_deviation():
    first, second = np.array([1.0, 2.0, 3.0], np.float32), np.array([1.0, 2.5, 0.0], np.float32)
    assert segments.largest_deviations(np.array([0, 0, 2, 3]), first, second).tolist() == [
        0,
        0.5,
        3,
    ]


def test_documents_passed_and_smallest_gaps_by_hand():
    offsets = np.array([0, 4, 4, 5])
    before = np.array([4.0, 3.0, 2.0, 1.0, 0.0], np.float32)
    after = np.array([4.0, 1.0, 2.0, 3.0, 0.0], np.float32)  # the last three reversed
    for floor, passed in ((0.0, 3), (0.75, 2), (2.0, 0)):  # of each of the two documents
        found = passing.documents_passed(offsets, before, after, np.full(5, floor))
        assert found.tolist() == [False, passed > 0, passed == 3, passed > 0, False]
    near = passing.pairs_within(offsets, before, np.full(5, 0.5))
    np.testing.assert_array_equal(near, [3 / 6, np.nan, np.nan])
    assert passing.pairs_within(np.array([0, 2]), np.ones(2), np.zeros(2)).tolist() == [1.0]
    gaps = passing.smallest_gap(offsets, np.array([5.0, 5.0, 4.5, 1.0, 0.0], np.float32))
    assert gaps.tolist() == [0.5, np.inf, np.inf]
