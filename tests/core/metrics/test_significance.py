"""Tests and intervals against scipy, and Holm by hand."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import TypeCheckError

from shuffleproof.core.errors import ShapeError
from shuffleproof.core.metrics import randomisation, significance


def pair(n=30, shift=0.3, seed=0):
    random = np.random.default_rng(seed)
    first = random.normal(size=n)
    return first, first + random.normal(shift, 1.0, size=n)


@pytest.mark.parametrize("n", [2, 5, 30, 500])
def test_paired_t_is_scipys(n):
    first, second = pair(n)
    found, wanted = significance.paired_t(first, second), scipy.stats.ttest_rel(first, second)
    assert found.p_value == pytest.approx(wanted.pvalue)
    assert found.difference == pytest.approx((first - second).mean())
    assert found.n == n


def test_differences_without_spread():
    ones, zeros = np.ones(4), np.zeros(4)
    assert significance.paired_t(ones, ones).p_value == 1.0
    assert significance.paired_t(ones, zeros).p_value == 0.0
    assert np.isnan(significance.paired_t(ones[:1], zeros[:1]).p_value)
    assert np.isnan(significance.paired_t(ones[:0], zeros[:0]).p_value)


def test_queries_with_a_nan_are_left_out_of_both():
    first, second = pair()
    holed = first.copy()
    holed[[3, 7]] = np.nan
    kept = ~np.isnan(holed)
    assert significance.paired_t(holed, second) == significance.paired_t(first[kept], second[kept])
    with pytest.raises((ShapeError, TypeCheckError)):  # the second: annotations are checked first
        significance.paired_t(first[:5], second)


@pytest.mark.parametrize("n", [2, 6, 11])
def test_the_exact_randomisation_test_is_scipys(n):
    first, second = pair(n)
    wanted = scipy.stats.permutation_test(
        (first, second),
        lambda a, b: (a - b).mean(),
        permutation_type="samples",
        n_resamples=np.inf,
    )
    rows = np.stack([first - second, np.full(n, np.nan)])
    found = randomisation.randomisation_p(rows, np.random.default_rng(0))
    assert found == pytest.approx([wanted.pvalue, np.nan], nan_ok=True)


def test_sums_that_differ_in_their_last_bits_are_equal():
    """Of the 2³ sign patterns of three differences of .1, all but two have smaller sums."""
    rows = np.array([[0.1, 0.7, 0.4]]) - np.array([0.0, 0.6, 0.3])
    assert randomisation.randomisation_p(rows, np.random.default_rng(0)) == pytest.approx([2 / 8])


def test_drawn_p_values_come_near_the_exact_ones():
    rows = -np.diff(pair(13, shift=0.5), axis=0)
    exact, drawn = (
        randomisation.randomisation_p(rows, np.random.default_rng(0), resamples)[0]
        for resamples in (10_000, 8000)
    )
    assert exact != drawn
    assert abs(drawn - exact) < 4 * np.sqrt(exact * (1 - exact) / 8000) + 1 / 8000


@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_the_bootstrap_interval_is_scipys(confidence):
    values = np.random.default_rng(3).exponential(size=60)
    found = significance.bootstrap_interval(
        values, np.random.default_rng(5), confidence, resamples=3000
    )
    wanted = scipy.stats.bootstrap(
        (values,),
        np.mean,
        confidence_level=confidence,
        n_resamples=3000,
        method="bca",
        rng=np.random.default_rng(5),
    ).confidence_interval
    assert found == pytest.approx((wanted.low, wanted.high))


@pytest.mark.parametrize("shift", [0.0, 1.5, 40.0, -40.0])
def test_the_bca_interval_is_efrons_formula(shift):
    """Efron & Tibshirani (1993), 14.10, 14.14 and 14.15; equal resamples count half."""
    values = np.array([0.0, 0.0, 0.1, 0.2, 0.9, 1.0, 1.0, 5.0])
    draws = np.random.default_rng(0).integers(0, 8, (400, 8))
    means = np.append(values[draws].mean(axis=1) + shift, [values.mean()] * 3)
    below = (means < values.mean()).mean() + (means == values.mean()).mean() / 2
    low = 0.5 / len(means)
    bias = scipy.stats.norm.ppf(np.clip(below, low, 1 - low))
    jackknife = np.array([np.delete(values, one).mean() for one in range(8)])
    away = jackknife.mean() - jackknife
    acceleration = (away**3).sum() / (6 * (away**2).sum() ** 1.5)
    moved = [bias + scipy.stats.norm.ppf(tail) for tail in (0.05, 0.95)]
    tails = [scipy.stats.norm.cdf(bias + z / (1 - acceleration * z)) for z in moved]
    found = significance._interval(values, means, 0.9)
    assert found == pytest.approx(np.quantile(means, tails), rel=1e-12)


def test_an_interval_of_equal_values_has_no_width_and_of_none_is_nan():
    generator = np.random.default_rng(0)
    assert significance.bootstrap_interval(np.full(9, 0.5), generator) == (0.5, 0.5)
    assert np.isnan(significance.bootstrap_interval(np.array([np.nan]), generator)).all()


@pytest.mark.parametrize("mean", [0.97, 0.99, 0.999])
@pytest.mark.parametrize("mirrored", [False, True])
def test_intervals_of_shares_near_their_ends_cover_the_mean(mean, mirrored):
    """Without exact limits they cover a mean of .999 in 2 % of the samples."""
    random, covered = np.random.default_rng(2), []
    for _ in range(400):
        # Half of the values below 1 are 0, the others anything: no values of a coin alone
        below = random.random(20) * random.integers(2, size=20)
        values = np.where(random.random(20) < (mean - 0.25) / 0.75, 1.0, below)
        values = 1 - values if mirrored else values
        low, high = significance.bootstrap_interval(values, random, resamples=300, shares=True)
        covered.append(low <= (1 - mean if mirrored else mean) <= high)
    assert np.mean(covered) > 0.93


def test_the_interval_of_equal_shares_is_exact():
    ones = np.append(np.ones(30), np.nan)
    exact = scipy.stats.binomtest(30, 30).proportion_ci()
    for shares, wanted in ((ones, (exact.low, 1.0)), (1 - ones, (0.0, 1 - exact.low))):
        random = np.random.default_rng(0)
        curves = significance.bootstrap_intervals(shares[None], random, shares=True)
        assert np.ravel(curves) == pytest.approx(wanted)
        assert significance.bootstrap_interval(shares, random, shares=True) == pytest.approx(wanted)
        assert significance.t_interval(shares, shares=True) == pytest.approx(wanted)
        assert significance.t_interval(shares) == (shares[0], shares[0])  # of differences


def test_students_interval_of_shares_stays_between_0_and_1():
    values = np.append(np.ones(9), 0.0)
    low, high = significance.t_interval(values)
    assert high > 1
    assert significance.t_interval(values, shares=True) == (low, 1.0)


def test_intervals_of_many_curves_are_those_of_each():
    random = np.random.default_rng(8)
    values = random.normal(size=(3, 40))
    values[1] = 0.25
    low, high = significance.bootstrap_intervals(values, np.random.default_rng(2), resamples=700)
    for curve in range(3):
        alone = significance.bootstrap_interval(
            values[curve], np.random.default_rng(2), resamples=700
        )
        assert (low[curve], high[curve]) == pytest.approx(alone)


def test_curves_leave_out_their_own_missing_queries():
    random = np.random.default_rng(9)
    values = random.exponential(size=(3, 80))
    values[0, ::3] = np.nan
    values[2] = np.nan
    low, high = significance.bootstrap_intervals(values, random, resamples=4000)
    alone = significance.bootstrap_interval(values[0], random, resamples=4000)
    assert (low[0], high[0]) == pytest.approx(alone, abs=0.08)  # five times its noise
    assert np.isnan([low[2], high[2]]).all()


def test_holm_by_hand():
    """Rising: .005 · 4 = .02, .01 · 3 = .03, .03 · 2 = .06, and .04 · 1 is raised to .06."""
    found = significance.holm(np.array([0.01, 0.04, 0.03, 0.005]))
    assert found.tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert significance.holm(np.array([0.9, 0.8])).tolist() == [1.0, 1.0]
    assert significance.holm(np.empty(0)).tolist() == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_never_lowers_and_keeps_the_order(p_values):
    p = np.array(p_values)
    adjusted = significance.holm(p)
    assert (adjusted >= p).all()
    assert (adjusted <= 1).all()
    assert (np.diff(adjusted[np.argsort(p, kind="stable")]) >= 0).all()


def test_cohens_d_by_hand():
    assert significance.effect_size(np.array([1.0, 2.0, 3.0])) == pytest.approx(2.0)
    assert significance.effect_size(np.array([2.0, 2.0])) == np.inf
    assert np.isnan(significance.effect_size(np.zeros(3)))
    assert np.isnan(significance.effect_size(np.ones(1)))


def test_randomised_p_values_count_the_draw_observed_among_all():
    """(1 + draws at least as far) / (1 + draws): Phipson & Smyth (2010)."""
    rows = np.array([np.ones(40), np.zeros(40), np.tile([1.0, -1.0], 20)])
    found = randomisation.randomisation_p(rows, np.random.default_rng(0), resamples=99)
    assert found.tolist() == [1 / 100, 1.0, 1.0]


def test_signs_are_drawn_in_pieces_of_so_many_numbers_so_that_p_values_stay_what_they_were():
    queries, resamples = 8200, 1500  # 12.3 million signs, in pieces of at most 2²³: 1,023 draws
    rows = np.random.default_rng(5).normal(0.004, 1.0, (3, queries))
    found = randomisation.randomisation_p(rows, np.random.default_rng(7), resamples)
    generator, larger = np.random.default_rng(7), np.zeros(3)
    for draws in (1023, resamples - 1023):
        drawn = np.frombuffer(generator.bytes(draws * 1025), np.uint8).reshape(draws, 1025)
        signs = 2.0 * np.unpackbits(drawn, axis=1) - 1.0
        larger += (np.abs(signs @ rows.T) >= np.abs(rows.sum(axis=1)) - 1e-9).sum(axis=0)
    assert found == pytest.approx((larger + 1) / (resamples + 1))
    assert len(set(found)) == 3
