"""Robustness figures by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffleproof.core.metrics import robustness

LEVELS = np.array([0, 1, 2, 5, 10])


def test_the_area_of_a_flat_curve_is_its_height():
    assert robustness.area_under_curve(LEVELS, np.full(5, 0.7)) == pytest.approx(0.7)
    assert robustness.area_under_curve(LEVELS, np.full(5, 0.7), reference=0.7) == pytest.approx(1)


def test_the_area_of_a_straight_fall_is_the_middle_whatever_the_levels():
    assert robustness.area_under_curve(LEVELS, 1 - LEVELS / 10) == pytest.approx(0.5)


def test_the_area_of_many_curves_and_of_one_level():
    curves = np.stack([np.ones(5), 1 - LEVELS / 10])
    np.testing.assert_allclose(robustness.area_under_curve(LEVELS, curves), [1.0, 0.5])
    assert robustness.area_under_curve(np.array([3]), np.array([0.25])) == 0.25


def test_cvar_is_the_mean_of_the_worst_share():
    values = np.arange(100, dtype=np.float32)[::-1]
    assert robustness.conditional_value_at_risk(values) == pytest.approx(2.0)  # of 0 1 2 3 4
    assert robustness.conditional_value_at_risk(values, share=1.0) == pytest.approx(49.5)
    assert robustness.conditional_value_at_risk(np.array([3.0, 1.0, 2.0])) == 1.0  # .15 of a query
    with_nan = np.array([np.nan, 5.0, 7.0])
    assert robustness.conditional_value_at_risk(with_nan, share=0.75) == pytest.approx(17 / 3)
    assert np.isnan(robustness.conditional_value_at_risk(np.array([np.nan])))


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=30), st.integers(1, 30))
def test_cvar_of_a_whole_number_of_queries_is_their_plain_mean(values, worst):
    worst = min(worst, len(values))
    found = robustness.conditional_value_at_risk(np.array(values, float), worst / len(values))
    assert found == pytest.approx(np.mean(sorted(values)[:worst]))


def test_the_worst_query():
    assert robustness.worst_query(np.array([0.2, np.nan, 0.1, 0.1])) == 2
    assert robustness.worst_query(np.array([np.nan])) is None


def test_wins_ties_and_losses():
    before = np.array([0.5, 0.5, 0.5, 0.5, np.nan])
    after = np.array([0.9, 0.5, 0.45, 0.1, 1.0])
    assert robustness.win_tie_loss(before, after) == robustness.WinTieLoss(1, 1, 2)
    assert robustness.win_tie_loss(before, after, 0.1) == robustness.WinTieLoss(1, 2, 1)
