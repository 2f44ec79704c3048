"""Orders that the search for the worst case keeps."""

import numpy as np
import pytest

from shuffleproof.core.perturb.worst_case import NONE, _best_guided


@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_the_best_orders_of_each_list_are_kept_and_none_twice(width):
    guides = np.array([[0.3, 0.1], [0.1, np.inf], [0.1, 0.2], [0.2, np.nan], [0.4, 0.0]])
    keys = np.array([[1, 1], [2, 2], [2, 3], [3, 4], [4, 3]], dtype=np.uint64)
    best = [[1, 3, 0, 4], [4, 0]]  # the third order of the first list is its second again
    found = _best_guided(guides, keys, width)
    assert len(found) == min(width, 4)
    for column, order in enumerate(best):
        here = found[:, column]
        assert here[here != NONE].tolist() == order[:width]
    nothing = np.full((2, 1), np.inf)
    assert _best_guided(nothing, np.zeros((2, 1), np.uint64), width).tolist() == [[NONE]]
