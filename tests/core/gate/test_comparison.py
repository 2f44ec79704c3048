"""Tiers by hand, and their error rates: 200 builds of noise, of planted losses and of gains."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.stats

from shuffleproof.core.errors import ParameterError, ShapeError
from shuffleproof.core.gate.comparison import LEAST, MEANINGS, Pair, Tier, compare
from tests.soak import gate_rates

QUERIES, BUILDS = 120, 200
WAVE = np.sin(np.arange(40)) - np.sin(np.arange(40)).mean()
BEFORE = np.linspace(0.2, 0.8, 40)


def pair(shift, spread, **more):
    return Pair(BEFORE, BEFORE + shift + spread * WAVE, **more)


@pytest.mark.parametrize(
    ("one", "tier", "said"),
    [
        (pair(-0.05, 0.05), "regression", "−0.050 (p = 0.0001): a loss of 0.01 or more"),
        (pair(-0.005, 0.005), "soft", "real, but less than 0.01"),
        (pair(-0.02, 0.2), "soft", "0.01 or more, but not significant"),
        (pair(-0.005, 0.2), "tie", "not significant"),
        (pair(0, 0), "tie", "unchanged"),
        (pair(-1e-8, 0), "tie", "no more than rounding"),
        (pair(-0.008, 0.001, noise=0.009), "tie", "no more than rounding"),
        (pair(-0.008, 0.001, noise=0.009, steady=False), "tie", "its own noise"),
        (pair(0.05, 0.05), "improvement", "+0.050"),
        (pair(-0.05, 0.05, noise=0.02), "unreliable baseline", "rounding of its scores moves"),
        (pair(-0.05, 0.05, noise=0.02, steady=False), "unreliable baseline", "not deterministic"),
        (Pair(BEFORE[:9], BEFORE[:9] - 0.1), "unreliable baseline", "9 queries that count in both"),
        (Pair(BEFORE, np.full(40, np.nan)), "unreliable baseline", "0 queries"),
    ],
)  # fmt: skip
def test_every_tier_is_what_its_meaning_says(one, tier, said):
    (found,) = compare([one])
    assert found.tier == tier
    assert said in found.because
    assert found.tier in MEANINGS
    assert found.p <= 1 or np.isnan(found.p)


def test_a_size_that_is_none_and_sides_of_other_queries_are_refused():
    with pytest.raises(ParameterError, match="above 0"):
        compare([], 0.0)
    with pytest.raises(ShapeError, match="one pair a query"):
        compare([Pair(BEFORE, BEFORE[1:])])


def test_equal_differences_are_one_hypothesis_and_queries_may_differ():
    weak = pair(-0.02, 0.04)
    (alone,) = compare([weak])
    assert compare([weak] * 8)[3].p == alone.p
    others = [pair(0, 0.1 + 0.01 * step) for step in range(7)]
    assert alone.p <= compare([weak, *others])[0].p <= 9 * alone.p
    short = Pair(BEFORE[:12], BEFORE[:12] + WAVE[:12])
    assert alone.p <= compare([weak, short])[0].p <= 10 * alone.p


def test_an_interval_leaves_out_0_exactly_where_p_is_significant():
    chance = np.random.default_rng(5)
    shared = chance.normal(0, 0.1, 60)
    shifts = np.linspace(-0.06, 0.03, 25)
    pairs = [Pair(0 * shared, shift + shared + chance.normal(0, 0.1, 60)) for shift in shifts]
    found = compare(pairs)
    assert {one.p <= 0.05 for one in found} == {True, False}
    for one in found:
        assert (one.p <= 0.05) == (one.low > 0 or one.high < 0), one


def test_nearly_equal_levels_cost_nearly_nothing():
    """A loss at eight levels of one perturbation that each level alone finds at 5 %."""
    chance = np.random.default_rng(6)
    shared = chance.normal(0, 1, 150)
    shared = (shared - shared.mean()) / shared.std()
    levels = [-0.034 + 0.17 * shared + chance.normal(0, 0.01, 150) for _ in range(8)]
    alone = compare([Pair(np.zeros(150), levels[0])])[0]
    assert 0.005 < alone.p < 0.04
    assert compare([Pair(np.zeros(150), level) for level in levels])[0].tier == Tier.REGRESSION


def builds(chance, rankers, conditions, planted, count=BUILDS):
    """Builds of simulated values: queries keep half of their change through all conditions.

    As a retrained ranker's do: most queries change little, some much, the mean not at all.
    """
    for _ in range(count):
        before = chance.beta(1.2, 1.2, (rankers, 1, QUERIES))
        shared = chance.standard_t(5, (rankers, 1, QUERIES))
        own = chance.standard_t(5, (rankers, conditions, QUERIES))
        change = 0.06 * (shared + own) * (chance.random((rankers, 1, QUERIES)) < 0.7)
        after = before + change
        after[0, 0] += planted
        before = np.broadcast_to(before, after.shape)
        pairs = zip(before.reshape(-1, QUERIES), after.reshape(-1, QUERIES), strict=True)
        yield compare([Pair(*one) for one in pairs])


SPREAD = np.sqrt(0.06**2 * 2 * (5 / 3) * 0.7)
"""Standard deviation of a simulated change: both parts have variance 5 / 3."""


def power(loss, comparisons):
    """Of Student's paired t, two-sided at 5 % shared by the comparisons, to find a loss."""
    freedom, shift = QUERIES - 1, loss / (SPREAD / np.sqrt(QUERIES))
    return 1 - scipy.stats.nct.cdf(scipy.stats.t.isf(0.025 / comparisons, freedom), freedom, shift)


def test_noise_is_no_regression_in_95_of_100_builds():
    chance = np.random.default_rng(1)
    red = sum(
        any(one.tier == Tier.REGRESSION for one in build) for build in builds(chance, 3, 4, 0.0)
    )
    assert red <= 0.05 * BUILDS


@pytest.mark.parametrize("shift", [-0.03, -0.05, 0.04])
def test_a_planted_shift_is_found_as_often_as_the_tests_own_power_says(shift):
    wanted = Tier.REGRESSION if shift < 0 else Tier.IMPROVEMENT
    chance, found, others = np.random.default_rng(2), 0, 0
    for first, *rest in builds(chance, 2, 3, shift):
        found += first.tier == wanted
        others += any(one.tier == Tier.REGRESSION for one in rest)
    assert abs(shift) > LEAST
    assert found / BUILDS == pytest.approx(power(abs(shift), 6), abs=0.05)
    assert others <= 0.05 * BUILDS


def test_sixteen_levels_alarm_no_more_and_find_as_much_as_one_test():
    assert gate_rates.rates(60, 3, 0.0)["gate"] <= 0.05
    power_of = gate_rates.rates(60, 4, gate_rates.LOSS)
    assert power_of["gate"] >= power_of["single t test"] - 0.03


def test_it_loads_no_torch_no_pandas_and_no_screen():
    program = (
        "import sys, shuffleproof.core.gate.comparison; "
        "sys.exit(({'torch', 'pandas', 'streamlit', 'lightgbm'} & set(sys.modules)) or 0)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert ended.returncode == 0, ended.stderr
