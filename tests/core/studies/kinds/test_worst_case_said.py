"""What the search for the worst case keeps, and what is said of it."""

import numpy as np
import pandas as pd
import pytest

from shuffleproof.core.cli.study_kinds import _dearest
from shuffleproof.core.perturb.worst_case import NONE, _best_guided
from shuffleproof.core.rankers.name import INITIAL
from shuffleproof.core.studies.kinds.worst_case.sections import finding


def row(ranker, worst, budget=5, *, certified=False):
    return {
        "ranker": ranker, "budget": budget, "as_is": 0.5, "worst": 0.5 - worst, "low": 0.0,
        "high": 1.0, "worst_damage": worst, "random_damage": 0.05, "certified": certified,
    }  # fmt: skip


def test_the_finding_names_who_is_hurt_most_and_least_and_who_cannot_be():
    rows = [row(INITIAL, 0.5), row("a", 0.1), row("b", 0.3), row("b", 0.2, 1), row("c", 0.2)]
    said = finding(pd.DataFrame([*rows, row("d", 0.0, certified=True)]), "RR", "exchanges")
    assert said == (
        "The worst 5 exchanges found cost b 0.300 RR (0.500 → 0.200), at random 0.050; a loses "
        "least of those that can be hurt: 0.100, at random 0.050. d is certified: no order costs "
        "anything."
    )
    alone = finding(pd.DataFrame([row(INITIAL, 0.5, 1)]), "RR", "exchanges")
    assert alone.startswith(f"The worst 1 exchange found cost {INITIAL} 0.500 RR")
    both = [row("d", 0.0, certified=True), row("e", 0.0, certified=True)]
    assert finding(pd.DataFrame(both), "RR", "exchanges").startswith("d, e are certified")
    assert finding(pd.DataFrame([row("a", np.nan)]), "RR", "exchanges") == ""


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
