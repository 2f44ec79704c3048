"""What a level means, family by family, against formulas and the papers' table."""

import numpy as np
import pytest
from scipy.stats import chisquare, kendalltau

from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.data.ragged import offsets_of
from shuffleproof.core.perturb import permutations
from shuffleproof.core.perturb.permutations import _mean_depth, dispersion, expected_tau
from shuffleproof.core.perturb.ranking import strictly_falling
from shuffleproof.core.perturb.registry import perturbation, tau_left
from shuffleproof.core.seeds import generator

NONE = np.zeros(0, np.float32)


def equal_lists(count, length, *, prior=None):
    offsets = offsets_of(np.full(count, length))
    total = count * length
    if prior is None:
        prior = -np.tile(np.arange(length), count).astype(np.float32)
    blank = CandidateLists(
        offsets,
        np.arange(count),
        np.arange(total),
        np.zeros((total, 1), np.int32),
        prior.reshape(-1, 1),
    )
    return blank.reranked(prior.reshape(-1, 1))


def inversions(order):
    return sum(order[i] > order[j] for i in range(len(order)) for j in range(i + 1, len(order)))


def arranged(arrange, count, length, level, seed=0):
    """(lists, places) of old places, 0-based in each list."""
    offsets = offsets_of(np.full(count, length))
    scores = -np.tile(np.arange(length), count).astype(np.float32)
    came_from = arrange(offsets, scores, float(level), generator(seed, "levels"))
    return came_from.reshape(count, length) - offsets[:-1, None]


@pytest.mark.parametrize(
    ("exchanges", "tau"),
    # PAPERS.md, SetRank, Figure 3: 40 documents
    [(1, 0.93), (2, 0.86), (5, 0.71), (10, 0.51), (20, 0.28), (40, 0.08), (80, 0.01)],
)
def test_transpositions_leave_the_tau_of_the_papers(exchanges, tau):
    lists = equal_lists(4000, 40)
    change = perturbation("transpositions", exchanges)
    left = tau_left(lists, change(lists, generator(1)), change)
    assert left.mean() == pytest.approx(tau, abs=0.012)


def test_one_transposition_exchanges_two_documents_at_every_distance_alike():
    moved = arranged(permutations.transposed, 6000, 4, 1)
    away = moved != np.arange(4)
    assert np.all(away.sum(axis=1) == 2)
    first, second = np.argmax(away, axis=1), 3 - np.argmax(away[:, ::-1], axis=1)
    counts = np.bincount(first * 4 + second, minlength=16)
    pairs = counts[counts > 0]
    assert len(pairs) == 6
    assert chisquare(pairs).pvalue > 1e-4


@pytest.mark.parametrize("length", [0, 1, 2, 3, 7, 40])
@pytest.mark.parametrize("wanted", [1, 2, 5, 30, 160, 10_000])
def test_adjacent_inversions_leave_exactly_that_many(length, wanted):
    for order in arranged(permutations.inverted, 5, length, wanted):
        assert inversions(order) == min(wanted, length * (length - 1) // 2)


def test_adjacent_inversions_count_the_order_shown_even_where_scores_tie():
    tied = np.tile(np.array([3, 2, 2, 2, 2, 0, 0, -1], np.float32), 6)
    lists = equal_lists(6, 8, prior=tied)
    after = perturbation("adjacent-inversions", 9)(lists, generator(0))
    for shown, ranks in zip(after.rows.reshape(6, 8), after.ranks.reshape(6, 8), strict=True):
        assert inversions(shown) == 9
        assert np.array_equal(ranks, np.arange(8))
    assert np.abs(np.sort(after.prior, axis=0) - np.sort(lists.prior, axis=0)).max() < 1e-5


def test_one_step_reaches_every_neighbouring_pair_alike():
    moved = arranged(permutations.inverted, 5000, 6, 1)
    counts = np.bincount(np.argmax(moved != np.arange(6), axis=1), minlength=5)
    assert len(counts) == 5
    assert chisquare(counts).pvalue > 1e-4


def test_ties_are_told_apart_by_the_smallest_steps():
    scores = np.array([1, 1, 1, 0, 0, 5, 5], np.float32)
    strict = strictly_falling(np.array([0, 5, 7]), scores)
    assert np.all(np.diff(strict[:5]) < 0)
    assert strict[6] < strict[5] == 5
    assert strict[1] == np.nextafter(np.float32(1), np.float32(0))
    assert np.abs(strict - scores).max() < 1e-6


@pytest.mark.parametrize("arrange", [permutations.shuffled, permutations.mallows])
def test_full_shuffles_draw_every_order_alike(arrange):
    level = 1 if arrange is permutations.shuffled else 0
    orders = arranged(arrange, 12_000, 4, level) @ np.array([64, 16, 4, 1])
    _, counts = np.unique(orders, return_counts=True)
    assert len(counts) == 24
    assert chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize("arrange", [permutations.shuffled, permutations.turned])
@pytest.mark.parametrize(("share", "part"), [(0.1, 1), (0.3, 3), (0.55, 6), (1.0, 10)])
def test_shares_touch_that_many_places(arrange, share, part):
    moved = arranged(arrange, 400, 10, share)
    away = (moved != np.arange(10)).sum(axis=1)
    assert away.max() <= part
    if arrange is permutations.turned:
        assert np.all(away == part - part % 2)
        for order in moved:
            held = order[order != np.arange(10)]
            assert np.all(np.diff(held) < 0) or part == 1


def test_reverse_turns_every_list_round():
    lists = equal_lists(3, 9)
    after = perturbation("reverse", 1)(lists, generator(0))
    assert np.array_equal(after.rows.reshape(3, 9), lists.rows.reshape(3, 9)[:, ::-1])
    shown = perturbation("reverse-shown", 1)(lists, generator(0))
    assert np.array_equal(shown.rows, after.rows)
    assert np.array_equal(shown.ranks[:9, 0], np.arange(9)[::-1])


@pytest.mark.parametrize("tau", [0.95, 0.8, 0.5, 0.2, 0.0, -0.4, -1.0])
@pytest.mark.parametrize("length", [2, 10, 40])
def test_mallows_meets_its_target(tau, length):
    count = 120_000 // length  # the τ of a pair is ±1: its mean is known within .005
    moved = arranged(permutations.mallows, count, length, tau)
    rising = sum(
        np.sign(moved[:, later] - moved[:, earlier])
        for earlier in range(length)
        for later in range(earlier + 1, length)
    )
    assert rising.mean() / (length * (length - 1) / 2) == pytest.approx(tau, abs=0.01)


def test_mallows_reports_what_kendall_measures_on_mixed_lengths():
    moved = arranged(permutations.mallows, 200, 25, 0.6)
    taus = [kendalltau(np.arange(25), np.argsort(order)).statistic for order in moved]
    assert np.mean(taus) == pytest.approx(0.6, abs=0.03)


@pytest.mark.parametrize("length", [2, 3, 40, 1251])
@pytest.mark.parametrize("tau", [0.001, 0.3, 0.99, 0.99999])
def test_dispersion_is_solved_to_rounding(length, tau):
    assert expected_tau(length, dispersion(length, tau)) == pytest.approx(tau, abs=1e-9)


def test_expected_tau_is_the_sum_over_all_orders():
    from itertools import permutations

    theta = 0.7
    weights, taus = [], []
    for order in permutations(range(5)):
        weights.append(np.exp(-theta * inversions(order)))
        taus.append(1 - inversions(order) / 5)  # 10 pairs
    assert expected_tau(5, theta) == pytest.approx(np.average(taus, weights=weights))


def test_mallows_draws_orders_with_their_probabilities():
    theta = dispersion(4, 0.4)
    moved = arranged(permutations.mallows, 20_000, 4, 0.4)
    found, counts = np.unique(moved, axis=0, return_counts=True)
    assert len(found) == 24
    weights = np.array([np.exp(-theta * inversions(order)) for order in found])
    assert chisquare(counts, weights / weights.sum() * counts.sum()).pvalue > 1e-4


def test_noise_is_measured_in_the_lists_own_deviation():
    small = np.tile(np.array([0, 1, 2, 3], np.float32), 3000)
    draws = [
        perturbation("score-noise", 1)(equal_lists(3000, 4, prior=prior), generator(3))
        for prior in (small, small * 64 - 128)
    ]
    assert np.array_equal(draws[0].rows, draws[1].rows)
    # P(neighbours one apart are exchanged) = Φ(−1 / (√2 σ)), σ = std of 0..3 = √1.25
    prior = draws[0].prior[np.argsort(draws[0].rows), 0].reshape(3000, 4)
    assert np.mean(prior[:, 0] > prior[:, 1]) == pytest.approx(0.2635, abs=0.03)


def test_noise_on_a_constant_ranking_changes_nothing():
    lists = equal_lists(2, 5, prior=np.ones(10, np.float32))
    after = perturbation("score-noise", 3)(lists, generator(0))
    assert np.array_equal(after.rows, lists.rows)


@pytest.mark.parametrize("theta", [-1.0, 0.0, 1e-9, 1e-6, 2e-5, 1e-3, 0.5, 30.0, 500.0])
def test_mean_depths_are_those_of_the_geometric_distribution(theta):
    sizes = np.arange(1.0, 9.0)
    found = _mean_depth(sizes, theta)
    for size, depth in zip(sizes, found, strict=True):
        places = np.arange(size)
        chances = np.exp(-max(theta, 0.0) * places)
        assert depth == pytest.approx((places @ chances) / chances.sum(), rel=1e-8, abs=1e-12)
