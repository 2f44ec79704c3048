"""Figures of set size and of several rankings: what is drawn is what the frame says."""

import numpy as np
import pandas as pd
import pytest

from shuffleproof.app.figures import initial_rankings as dots
from shuffleproof.app.figures import set_size as figure
from shuffleproof.app.figures.style import stroke


@pytest.fixture
def frame():
    rows = []
    for place, ranker in enumerate(("ideal", "initial ranking", "dlcm-without-init")):
        for home in ("40", "240") if ranker.startswith("dlcm") else ("any",):
            for size in (40, 240, 500):
                mean = 0.9 - 0.2 * place - size / 5000
                rows.append(
                    {"ranker": ranker, "trained_on": home, "size": size, "mean_length": size - 0.5,
                     "mean": mean, "low": mean - 0.05, "high": mean + 0.05, "n": 7,
                     "home": np.nan, "shift": np.nan if size == 500 else size / 1e3 - 0.1,
                     "order_stability": 0.5, "score_shift": 0.25}
                )  # fmt: skip
    return pd.DataFrame(rows)


def drawn(frame, home="40"):
    return frame[frame["trained_on"].isin(("any", home))]


def test_a_curve_holds_the_means_of_its_ranker(frame):
    own = drawn(frame)
    made = figure.curves(own, "NDCG@10", 40)
    lines = {trace.name: trace for trace in made.data if trace.name}
    assert set(lines) == {"ideal order", "initial ranking", "DLCM without init"}
    means = own[own.ranker == "dlcm-without-init"]["mean"]
    assert list(lines["DLCM without init"].y) == list(means)
    assert list(lines["DLCM without init"].x) == [40, 240, 500]
    assert lines["DLCM without init"].line.color == stroke("dlcm-without-init").color
    assert list(lines["DLCM without init"].customdata[1][:3]) == ["DLCM without init", "40", 240]


@pytest.fixture
def conditions():
    columns = ["ranker", "condition", "mean", "low", "high", "change", "change_low", "change_high",
               "change_p", "n"]  # fmt: skip
    nan = float("nan")
    rows = [
        ("setrank-imsab", "as trained", 0.5, 0.4, 0.6, nan, nan, nan, nan, 9),
        ("setrank-imsab-init", "as trained", 0.6, 0.5, 0.7, nan, nan, nan, nan, 9),
        ("setrank-imsab-init", "without any", 0.4, 0.3, 0.5, -0.2, -0.3, -0.1, 0.01, 9),
        ("setrank-imsab-init", "oracle for mart@small", 0.65, 0.5, 0.8, 0.05, -0.1, 0.2, 0.4, 9),
    ]
    return pd.DataFrame(rows, columns=columns)


def test_dots_are_full_where_the_change_is_more_than_chance(conditions):
    made = dots.conditions(conditions, "NDCG@10")
    alone, own = made.data
    assert list(alone.x) == [0.5]
    assert list(own.x) == [0.6, 0.4, 0.65]
    color = stroke("setrank-imsab-init").color
    assert [one == color for one in own.marker.color] == [True, True, False]
    assert list(own.error_x.array) == pytest.approx([0.1, 0.1, 0.15])
    assert "oracle for MART" in made.layout.yaxis.ticktext
    assert len(set(made.layout.yaxis.tickvals)) == 4
