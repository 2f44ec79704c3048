"""Figure 3 as a figure: numbers where they belong, labels that do not overlap, words that fit."""

import json
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from shuffleproof.app.figures.initial_ranking import curves
from shuffleproof.app.figures.style import (
    on_paper,
    spread_labels,
    stroke,
)
from shuffleproof.app.figures.text import labels_in, unescaped
from shuffleproof.core.rankers.name import with_display_names

LEVELS = {"transpositions": [0.0, 1.0, 2.0, 5.0, 80.0], "mallows": [1.0, 0.9, 0.2, 0.0]}
RANKERS = ("initial ranking", "dlcm", "setrank-imsab", "setrank-imsab-init")


@pytest.fixture(scope="module")
def summary():
    rows = []
    for family, levels in LEVELS.items():
        for step, level in enumerate(levels):
            for at, ranker in enumerate(RANKERS):
                mean = 0.7 + 0.01 * at - 0.02 * step * (ranker == "dlcm")
                rows.append(
                    {
                        "ranker": ranker, "family": family, "level": level,
                        "tau": 1 - step / len(levels), "set_size": 40, "measure": "NDCG@10",
                        "mean": mean, "low": mean - 0.05, "high": mean + 0.04, "n": 9,
                    }
                )  # fmt: skip
    return pd.DataFrame(rows)


def lines(figure):
    return {trace.name: trace for trace in figure.data if trace.mode == "lines+markers"}


@pytest.mark.parametrize("family", LEVELS)
def test_points_are_the_summary(summary, family):
    figure = curves(summary, family, "NDCG@10", "unit")
    drawn = lines(figure)
    assert set(drawn) == set(map(with_display_names, RANKERS))
    for ranker in RANKERS:
        trace = drawn[with_display_names(ranker)]
        own = summary[(summary.ranker == ranker) & (summary.family == family)]
        np.testing.assert_array_equal(trace.x, own["level"])
        np.testing.assert_array_equal(trace.y, own["mean"])
        # A click names the point that it fell on.
        assert [
            (facts[0], facts[1])
            for facts in unescaped(trace.customdata.tolist(), labels_in(figure))
        ] == list(zip(own.ranker, own.level, strict=True))
    ribbons = [trace for trace in figure.data if trace.fill == "toself"]
    assert len(ribbons) == len(RANKERS)
    first = summary[(summary.ranker == RANKERS[0]) & (summary.family == family)]
    assert max(ribbons[0].y) == first.high.max()
    assert min(ribbons[0].y) == first.low.min()
    json.dumps(figure.to_plotly_json(), default=str)


def test_second_axis_tells_the_tau_of_its_level(summary):
    layout = curves(summary, "transpositions", "NDCG@10", "unit").layout
    taus = summary[summary.family == "transpositions"].groupby("level")["tau"].mean()
    told = dict(zip(layout.xaxis2.tickvals, layout.xaxis2.ticktext, strict=True))
    assert told == {level: f"{taus[level]:.2f}" for level in told}
    assert {0.0, 80.0} <= set(told)
    assert layout.xaxis2.matches == "x"
    gaps = np.diff(layout.xaxis2.tickvals)
    assert gaps.min() >= 0.1 * 80


def test_labels_stay_in_the_room_and_in_order():
    generator = np.random.default_rng(0)
    for _ in range(200):
        count = int(generator.integers(1, 9))
        heights = generator.choice([17.0, 34.0], count)
        wanted = generator.uniform(-20, 420, count)
        places = np.array(spread_labels(wanted.tolist(), heights.tolist(), 400.0))
        order = np.argsort(wanted, kind="stable")
        assert (np.diff(places[order]) > 0).all()
        edges = [(places[at] - heights[at] / 2, places[at] + heights[at] / 2) for at in order]
        for above, below in pairwise(edges):
            assert above[1] <= below[0] + 1e-6
        assert edges[0][0] >= -1e-6
        assert edges[-1][1] <= 400 + 1e-6


@pytest.mark.parametrize("suffix", ["", "@tuned", "#390841fe", " 3f2a91"])
def test_a_ranker_keeps_its_stroke_under_every_preset(suffix):
    assert stroke("dlcm" + suffix) == stroke("dlcm")
    assert stroke("random" + suffix).dash == "dot"


def test_paper_is_white_and_the_figure_on_screen_is_left_alone(summary):
    figure = curves(summary, "mallows", "NDCG@10", "unit")
    copy = on_paper(figure)
    assert copy.layout.paper_bgcolor == "white"
    assert figure.layout.paper_bgcolor == "rgba(0,0,0,0)"
