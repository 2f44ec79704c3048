"""GSF's equivariance error falls like 1/√S, is rounding alone for all pairs, and is drawn so."""

import numpy as np
import pandas as pd
import pytest

from app.figures import gsf as figure_of
from core.data.features import fit
from core.data.lists import CandidateLists
from core.data.synthetic import planted
from core.errors import ParameterError
from core.rankers import registry
from core.rankers.neural import NeuralRanker
from core.studies.gsf_equivariance import equivariance_error, slope

DATASET = planted((2, 2, 16), seed=3).test
LISTS = CandidateLists.ranked_by(DATASET, DATASET.feature(3)[:, None], 20)


def ranker_of(name="gsf", **changes):
    spec = registry.spec(name, "small", **changes)
    return NeuralRanker.untrained(spec, fit("z-score", DATASET), DATASET.feature_ids, "cpu")


@pytest.fixture(scope="module")
def frame():
    return equivariance_error(ranker_of(group=2), DATASET, LISTS)


def test_the_error_falls_like_one_over_the_root_of_the_shuffles(frame):
    assert slope(frame) == pytest.approx(-0.5, abs=0.06)
    sampled = frame[frame.grouping == "sampled"]
    assert sampled.error.is_monotonic_decreasing
    assert sampled.error.iloc[0] / sampled.error.iloc[-1] == pytest.approx(8, rel=0.25)  # √64
    assert sampled.tau.is_monotonic_increasing
    assert (sampled.low <= sampled.error * 1.2).all()
    assert (sampled.low < sampled.high).all()
    assert (frame.lists == 16).all()


def test_all_pairs_leave_rounding_alone(frame):
    (exhaustive,) = frame[frame.grouping == "exhaustive"].itertuples()
    assert exhaustive.error < 1e-5
    assert exhaustive.tau > 0.9999


def test_larger_groups_have_no_row_of_all_pairs_and_a_frame_is_the_same_twice():
    ranker = ranker_of(group=4)
    first, second = (equivariance_error(ranker, DATASET, LISTS, (1, 4), 2) for _ in range(2))
    pd.testing.assert_frame_equal(first, second)
    assert first.grouping.tolist() == ["sampled"] * 2


@pytest.mark.parametrize(("name", "changes"), [("gsf", {"group": 1}), ("mlp", {})])
def test_other_rankers_are_refused(name, changes):
    with pytest.raises(ParameterError, match="gsf"):
        equivariance_error(ranker_of(name, **changes), DATASET, LISTS)


def test_the_figure_draws_every_point_and_the_line_that_is_due(frame):
    figure = figure_of.equivariance(frame)
    by_name = {trace.name: trace for trace in figure.data}
    sampled = frame[frame.grouping == "sampled"]
    assert list(by_name["gsf"].y) == sampled.error.tolist()
    due = np.array(by_name[figure_of.DUE].y)
    assert due[0] / due[-1] == pytest.approx(8)
    assert np.abs(np.log(due / sampled.error.to_numpy())).max() < 0.3
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("log", "log")
    assert list(figure.layout.xaxis.tickvals) == [1, 2, 4, 8, 16, 32, 64]
    texts = [note.text for note in figure.layout.annotations]
    assert any("all pairs" in text for text in texts)
    words = figure_of.alt_text(frame)
    assert "64" in words
    assert "0.12" in words  # 1/√64 in two places
    assert figure_of.equivariance(frame.iloc[:0]).data == ()
    assert "No sampled" in figure_of.alt_text(frame.iloc[:0])
