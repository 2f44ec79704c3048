"""The compiled sort of lists against NumPy's lexsort."""

import numpy as np
import pytest

from shuffleproof.core.data.argsort_descending import blocks_of, falling_order
from shuffleproof.core.data.ragged import offsets_of, order_within, segment_ids


@pytest.mark.parametrize("kind", ["distinct", "tied", "sorted", "backwards", "constant"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_sorts_every_list_as_lexsort_does(kind, dtype):
    draws = np.random.default_rng(0)
    offsets = offsets_of(np.array([0, 1, 2, 3, 7, 8, 9, 16, 17, 40, 500, 0]))
    count = int(offsets[-1])
    scores = {
        "distinct": draws.permutation(count),
        "tied": draws.integers(0, 5, count),
        "sorted": -np.arange(count),
        "backwards": np.arange(count),
        "constant": np.zeros(count),
    }[kind].astype(dtype)
    rows = draws.permutation(count)
    order = falling_order(offsets, scores)
    assert np.array_equal(order, order_within(offsets, -scores))
    assert np.array_equal(
        falling_order(offsets, scores, rows), order_within(offsets, -scores, rows)
    )
    owner = segment_ids(offsets)
    better = (scores[None, :] > scores[:, None]) & (owner[None, :] == owner[:, None])
    assert np.array_equal(blocks_of(offsets, scores, order), better.sum(axis=1))


def test_nan_comes_last_and_keeps_its_order():
    scores = np.array([np.nan, 1, np.nan, 2, -np.inf], np.float32)
    assert falling_order(np.array([0, 5]), scores).tolist() == [3, 1, 4, 0, 2]
