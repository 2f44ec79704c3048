"""The figures of benchmarks and ablations: the numbers where they belong, and words that fit."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from shuffleproof.app.figures import ablation, benchmark, benchmark_query
from shuffleproof.core.rankers.name import with_display_names
from shuffleproof.core.studies.kinds.ablation.sources import step_of


@pytest.fixture
def compared():
    return pd.DataFrame(
        {
            "ranker": ["mart", "dlcm", "gsf", "setrank-imsab-init"],
            "difference": [-0.02, 0.05, np.nan, 0.08],
            "low": [-0.05, 0.01, np.nan, 0.06],
            "high": [0.01, 0.09, np.nan, 0.11],
            "p": [0.4, 0.02, np.nan, 1e-9],
            "n": 100, "wins": 3, "ties": 4, "losses": 5,
        }
    )  # fmt: skip


def dots(figure):
    """What is drawn of every row, by its name, in the order of the axis."""
    found = {}
    for trace in figure.data:
        if trace.mode == "markers":
            for at, name in enumerate(trace.y):
                ends = None
                if trace.error_x.array is not None:
                    ends = (
                        trace.x[at] - trace.error_x.arrayminus[at],
                        trace.x[at] + trace.error_x.array[at],
                    )
                found[name] = SimpleNamespace(
                    x=trace.x[at], symbol=trace.marker.symbol[at], color=trace.marker.color[at],
                    edge=trace.marker.line.color, ends=ends,
                    facts=None if trace.customdata is None else trace.customdata[at],
                )  # fmt: skip
    return {name: found[name] for name in figure.layout.yaxis.tickvals or found if name in found}


def test_differences_are_dots_with_their_intervals_best_on_top(compared):
    figure = benchmark.differences(compared, "initial ranking", "NDCG@10")
    drawn = dots(figure)
    assert list(drawn) == ["SetRank IMSAB + init", "DLCM", "MART"]  # undefined: left out
    rows = compared.dropna().set_index("ranker").loc[["setrank-imsab-init", "dlcm", "mart"]]
    assert [one.x for one in drawn.values()] == list(rows["difference"])
    rows.index = rows.index.map(with_display_names)
    for name, one in drawn.items():
        assert one.ends == pytest.approx((rows["low"][name], rows["high"][name]))
        assert one.facts[0] == name
        assert (one.color == one.edge) == (rows["p"][name] <= 0.05)
    assert figure.layout.yaxis.categoryarray[-1] == "SetRank IMSAB + init"
    assert "initial ranking" in figure.layout.xaxis.title.text
    assert figure.layout.shapes[0].x0 == figure.layout.shapes[0].x1 == 0
    json.dumps(figure.to_plotly_json(), default=str)


def test_two_runs_are_joined_where_both_have_a_document_among_their_first():
    found = pd.DataFrame(
        {"document": ["x", "y", "z", "far"], "label": [1.0, 0.0, 2.0, 0.0],
         "bm25": [1.0, 2.0, np.nan, 50.0], "ql": [2.0, np.nan, 1.0, 60.0]}
    )  # fmt: skip
    figure = benchmark_query.two_runs(found, ("bm25", "ql"))
    left, right, _ = (trace for trace in figure.data if trace.mode == "markers")
    np.testing.assert_array_equal(left.y, [1, 2, np.nan])
    np.testing.assert_array_equal(right.y, [2, np.nan, 1])
    assert list(figure.layout.xaxis.ticktext) == ["bm25", "ql"]
    assert figure.layout.yaxis.range[0] < 3


@pytest.fixture
def table():
    return pd.DataFrame(
        {
            "variant": ["paper", "released", "paper + loss softmax-ce", "paper + clip 5"],
            "mean": [0.6, 0.5, 0.61, 0.55], "change": [0, -0.1, 0.01, -0.05],
            "change_low": [0, -0.2, -0.01, -0.08], "change_high": [0, -0.05, 0.03, -0.02],
            "change_p": [np.nan, 0.001, 0.5, 0.03], "loss": [0.2, 0.2, 0.1, 0.3],
            "loss_change": [0, 0, -0.1, 0.1], "loss_low": [0, -0.1, -0.2, 0.05],
            "loss_high": [0, 0.1, -0.05, 0.2], "loss_p": [np.nan, 1, 0.01, 0.01],
            "seconds": [10, 20, np.nan, 12], "parameters": [100, 900, 100, 100],
            "source": ["", "", "paper: both terms; released: one", "not stated; released: 5"],
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    ("effect", "column"),
    [("quality", "change"), ("robustness", "loss_change")],
)
def test_every_effect_is_a_dot_a_variant_whole_recipes_first(table, effect, column):
    figure = ablation.effects(table, effect, "NDCG@10", step_of)
    drawn = dots(figure)
    known = table.iloc[1:].dropna(subset=[column]).set_index("variant")[column]
    assert {name: one.x for name, one in drawn.items()} == known.to_dict()
    assert next(iter(drawn)) == "released"
    singles = [drawn[name].x for name in drawn if name != "released"]
    assert singles == sorted(singles, reverse=True)
    symbols = {name: one.symbol for name, one in drawn.items()}
    assert symbols.pop("released") == "diamond"
    assert set(symbols.values()) == {"circle"}
    if effect == "quality":
        one = drawn["paper + clip 5"]
        assert one.ends == pytest.approx((-0.08, -0.02))
        open_dot = drawn["paper + loss softmax-ce"]
        assert open_dot.color != open_dot.edge
