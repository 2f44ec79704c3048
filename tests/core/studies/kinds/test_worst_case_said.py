"""What the search for the worst case keeps, and what is said of it."""

import numpy as np
import pytest

from shuffleproof.core.cli.study_kinds import _dearest
from shuffleproof.core.perturb.worst_case import NONE, _best_guided


def row(ranker, worst, budget=5, *, certified=False):
    return {
        "ranker": ranker, "budget": budget, "as_is": 0.5, "worst": 0.5 - worst, "low": 0.0,
        "high": 1.0, "worst_damage": worst, "random_damage": 0.05, "certified": certified,
    }  # fmt: skip


def test_the_dearest_exchanges_are_told_by_places_dearest_first():
    costs = np.zeros((4, 4))
    costs[0, 2], costs[1, 3], costs[2, 3], costs[0, 1] = 0.1, 0.3, 0.2, -0.4
    lines = _dearest("dlcm", costs)
    assert lines[0] == "dlcm: 50 % of 6 exchanges cost something; the dearest, by places"
    assert [line.split(":")[0].strip() for line in lines[1:-1]] == ["2 ↔ 4", "3 ↔ 4", "1 ↔ 3"]
    assert _dearest("mart", np.minimum(costs, 0)) == ["mart: no single exchange costs anything", ""]


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
