"""Agreement of rankings against scipy, hand formulas, and enumeration of the orders of ties."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from shuffleproof.core.metrics import agreement, pairs


def alone(of, first, second, **options):
    """A measure of agreement of a single list."""
    first, second = np.array(first, float), np.array(second, float)
    return float(of(np.array([0, len(first)]), first, second, **options)[0])


def many_lists(seed=0, levels=None, lists=60, longest=50):
    random = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(random.integers(2, longest, size=lists))])
    both = random.normal(size=(2, offsets[-1]))
    if levels:
        both = np.floor(both * levels / 3)
    return offsets, both[0], both[1]


@st.composite
def two_small_rankings(draw):
    size = draw(st.integers(2, 5))
    scores = st.lists(st.integers(0, 3), min_size=size, max_size=size)
    return draw(scores), draw(scores)


def orders(scores):
    """Every ranking (documents, best first) that the scores allow."""
    ranked = sorted(range(len(scores)), key=lambda i: -scores[i])
    blocks = [list(block) for _, block in itertools.groupby(ranked, lambda i: scores[i])]
    for choice in itertools.product(*(itertools.permutations(block) for block in blocks)):
        yield [document for block in choice for document in block]


def averaged(formula, first, second):
    values = [formula(a, b) for a in orders(first) for b in orders(second)]
    return sum(values) / len(values)


@pytest.mark.parametrize("few", [0, pairs.FEW])
@pytest.mark.parametrize("levels", [None, 3, 12])
def test_kendall_is_scipys(levels, few, monkeypatch):
    monkeypatch.setattr(pairs, "FEW", few)  # 0: all by compiled code
    offsets, first, second = many_lists(1, levels)
    found = agreement.kendall_tau(offsets, first, second)
    for value, (a, b) in zip(found, itertools.pairwise(offsets), strict=True):
        wanted = scipy.stats.kendalltau(first[a:b], second[a:b]).statistic
        assert value == pytest.approx(wanted, nan_ok=True)


def test_a_ranking_that_ties_everything_has_no_tau():
    assert math.isnan(alone(agreement.kendall_tau, [1, 1, 1], [1, 2, 3]))
    assert math.isnan(alone(agreement.kendall_tau, [1, 2, 3], [1, 1, 1]))


@given(two_small_rankings(), st.integers(1, 7))
def test_overlap_is_its_share_averaged_over_the_orders_of_ties(case, depth):
    kept = min(depth, len(case[0]))
    wanted = averaged(lambda a, b: len({*a[:kept]} & {*b[:kept]}) / kept, *case)
    assert alone(agreement.overlap, *case, depth=depth) == pytest.approx(wanted)


@pytest.mark.parametrize("of", [agreement.kendall_tau, agreement.overlap])
def test_each_list_is_judged_by_itself_and_in_any_order_of_documents(of):
    offsets, first, second = many_lists(5, levels=4)
    random = np.random.default_rng(0)
    found = of(offsets, first, second)
    np.testing.assert_allclose(found, of(offsets, second, first))
    for one, (a, b) in enumerate(itertools.pairwise(offsets)):
        order = a + random.permutation(b - a)
        value = alone(of, first[order], second[order])
        assert value == pytest.approx(found[one], nan_ok=True)


@pytest.mark.parametrize("of", [agreement.kendall_tau, agreement.overlap])
def test_equal_rankings_and_lists_of_none_and_of_one_document_agree(of):
    offsets, first, _ = many_lists(4)
    np.testing.assert_allclose(of(offsets, first, first * 2 + 1), 1.0)
    scores = np.array([4.0, 1.0, 2.0])
    assert of(np.array([0, 0, 1, 3]), scores, scores).tolist() == [1.0] * 3


def test_integer_ranks_and_float32_scores_are_taken():
    ranks = np.array([0, 1, 2, 3], np.int32)
    scores = np.array([4, 3, 1, 2], np.float32)
    assert agreement.kendall_tau(np.array([0, 4]), -ranks, scores)[0] == pytest.approx(4 / 6)


def test_positions_break_ties_by_row():
    offsets, rows = np.array([0, 4, 6]), np.array([9, 3, 5, 1, 2, 0])
    scores = np.array([1.0, 2.0, 1.0, 1.0, 0.0, 0.0])
    assert agreement.positions(offsets, scores, rows).tolist() == [3, 0, 2, 1, 1, 0]
    assert agreement.positions(offsets, scores).tolist() == [1, 0, 2, 3, 0, 1]
