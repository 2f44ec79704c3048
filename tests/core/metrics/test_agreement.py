"""Agreement of rankings against scipy, hand formulas, and enumeration of the orders of ties."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from shuffleproof.core.metrics import agreement, pairs
from shuffleproof.core.metrics.agreement import AGREEMENTS


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


@pytest.mark.parametrize("levels", [None, 3, 12])
def test_kendall_is_scipys(levels):
    offsets, first, second = many_lists(1, levels)
    found = agreement.kendall_tau(offsets, first, second)
    for value, (a, b) in zip(found, itertools.pairwise(offsets), strict=True):
        wanted = scipy.stats.kendalltau(first[a:b], second[a:b]).statistic
        assert value == pytest.approx(wanted, nan_ok=True)


@pytest.mark.parametrize("levels", [None, 3, 12])
def test_weighted_tau_is_scipys(levels):
    offsets, first, second = many_lists(2, levels)
    found = agreement.weighted_tau(offsets, first, second)
    for value, (a, b) in zip(found, itertools.pairwise(offsets), strict=True):
        wanted = scipy.stats.weightedtau(first[a:b], second[a:b]).statistic
        assert value == pytest.approx(wanted, nan_ok=True)


def test_a_ranking_that_ties_everything_has_no_tau():
    for of in (agreement.kendall_tau, agreement.weighted_tau):
        assert math.isnan(alone(of, [1, 1, 1], [1, 2, 3]))
        assert math.isnan(alone(of, [1, 2, 3], [1, 1, 1]))


def ap_correlation(reference, estimate):
    """Yilmaz, Aslam & Robertson 2008, Eq. 7."""
    place = {document: rank for rank, document in enumerate(reference)}
    shares = [
        sum(place[above] < place[estimate[i]] for above in estimate[:i]) / i
        for i in range(1, len(estimate))
    ]
    return 2 * sum(shares) / len(shares) - 1


def biased_overlap(first, second, persistence=0.9):
    """Webber, Moffat & Zobel 2010, Eq. 30, of two rankings of the same documents."""
    size = len(first)
    shares = [len({*first[:d]} & {*second[:d]}) / d for d in range(1, size + 1)]
    series = sum(share * persistence**d for d, share in enumerate(shares, start=1))
    return shares[-1] * persistence**size + (1 - persistence) / persistence * series


@given(two_small_rankings())
def test_tau_ap_is_its_formula_averaged_over_the_orders_of_ties(case):
    assert alone(agreement.tau_ap, *case) == pytest.approx(averaged(ap_correlation, *case))


@given(two_small_rankings(), st.sampled_from([0.5, 0.9, 0.98]))
def test_rbo_is_its_formula_averaged_over_the_orders_of_ties(case, persistence):
    wanted = averaged(lambda a, b: biased_overlap(a, b, persistence), *case)
    found = alone(agreement.rank_biased_overlap, *case, persistence=persistence)
    assert found == pytest.approx(wanted)


@given(two_small_rankings(), st.integers(1, 7))
def test_overlap_is_its_share_averaged_over_the_orders_of_ties(case, depth):
    kept = min(depth, len(case[0]))
    wanted = averaged(lambda a, b: len({*a[:kept]} & {*b[:kept]}) / kept, *case)
    assert alone(agreement.overlap, *case, depth=depth) == pytest.approx(wanted)


@given(two_small_rankings())
def test_footrule_is_the_sum_of_rank_differences(case):
    ranks = [scipy.stats.rankdata([-s for s in scores]) for scores in case]
    size = len(case[0])
    most = sum(abs(i - (size - 1 - i)) for i in range(size))
    wanted = np.abs(ranks[0] - ranks[1]).sum() / most
    assert alone(agreement.footrule, *case) == pytest.approx(wanted)


def test_large_lists_by_formula():
    offsets, first, second = many_lists(3, lists=10, longest=300)
    taus = agreement.tau_ap(offsets, first, second)
    shares = agreement.rank_biased_overlap(offsets, first, second)
    for one, (a, b) in enumerate(itertools.pairwise(offsets)):
        rankings = np.argsort(-first[a:b]).tolist(), np.argsort(-second[a:b]).tolist()
        assert taus[one] == pytest.approx(ap_correlation(*rankings))
        assert shares[one] == pytest.approx(biased_overlap(*rankings))


@pytest.mark.parametrize("name", sorted(AGREEMENTS))
def test_equal_rankings_agree_best(name):
    offsets, first, _ = many_lists(4)
    entry = AGREEMENTS[name]
    np.testing.assert_allclose(entry.of(offsets, first, first * 2 + 1), entry.best)
    assert entry.name == name
    assert entry.summary
    assert entry.source


@pytest.mark.parametrize("name", sorted(AGREEMENTS))
def test_lists_of_none_and_of_one_document_agree(name):
    scores = np.array([4.0, 1.0, 2.0])
    found = AGREEMENTS[name].of(np.array([0, 0, 1, 3]), scores, scores)
    assert found.tolist() == [AGREEMENTS[name].best] * 3


@pytest.mark.parametrize("name", sorted(AGREEMENTS))
def test_each_list_is_judged_by_itself_and_in_any_order_of_documents(name):
    of = AGREEMENTS[name].of
    offsets, first, second = many_lists(5, levels=4)
    random = np.random.default_rng(0)
    if name == "moved-positions":  # ties stand in the order given: have none
        first, second = first + random.random(len(first)), second + random.random(len(first))
    found = of(offsets, first, second)
    for one, (a, b) in enumerate(itertools.pairwise(offsets)):
        order = a + random.permutation(b - a)
        value = alone(of, first[order], second[order])
        assert value == pytest.approx(found[one], nan_ok=True)


@pytest.mark.parametrize("name", sorted(set(AGREEMENTS) - {"tau-ap"}))
def test_agreement_is_symmetric(name):
    offsets, first, second = many_lists(6, levels=5)
    of = AGREEMENTS[name].of
    np.testing.assert_allclose(of(offsets, first, second), of(offsets, second, first))


@pytest.mark.parametrize(
    ("name", "value"),
    [("kendall-tau", -1.0), ("weighted-tau", -1.0), ("tau-ap", -1.0), ("footrule", 1.0)],
)
def test_reversed_rankings_agree_least(name, value):
    offsets, first, _ = many_lists(7)
    np.testing.assert_allclose(AGREEMENTS[name].of(offsets, first, -first), value)


def test_integer_ranks_and_float32_scores_are_taken():
    ranks = np.array([0, 1, 2, 3], np.int32)
    scores = np.array([4, 3, 1, 2], np.float32)
    assert agreement.kendall_tau(np.array([0, 4]), -ranks, scores)[0] == pytest.approx(4 / 6)


def test_positions_break_ties_by_row():
    offsets, rows = np.array([0, 4, 6]), np.array([9, 3, 5, 1, 2, 0])
    scores = np.array([1.0, 2.0, 1.0, 1.0, 0.0, 0.0])
    assert agreement.positions(offsets, scores, rows).tolist() == [3, 0, 2, 1, 1, 0]
    assert agreement.positions(offsets, scores).tolist() == [1, 0, 2, 3, 0, 1]


def test_moved_positions_by_hand():
    offsets = np.array([0, 4])
    before, after = np.array([4.0, 3.0, 2.0, 1.0]), np.array([4.0, 2.0, 3.0, 1.0])
    assert agreement.moved_positions(offsets, before, after).tolist() == [2]
    first_to_last = np.array([0.0, 3.0, 2.0, 1.0])
    assert agreement.moved_positions(offsets, before, first_to_last).tolist() == [4]


@pytest.mark.parametrize("size", range(1, 9))
def test_sums_by_rank_stay_inside_their_tree(size):
    """Asked of the functions before they are compiled: those refuse a place beyond the end."""
    tree = np.zeros(size + 1)
    for rank in range(size):
        pairs._add.py_func(tree, rank, rank + 1.0)
    sums = [pairs._below.py_func(tree, rank) for rank in range(size + 1)]
    assert sums == [rank * (rank + 1) / 2 for rank in range(size + 1)]
