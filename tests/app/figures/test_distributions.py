import pandas as pd
import pytest

from shuffleproof.app.figures import distributions

LABELS = pd.DataFrame(
    {
        "part": ["train", "train", "test"],
        "label": [0.0, 2.0, 0.0],
        "documents": [30, 10, 5],
    }
)
LENGTHS = pd.DataFrame(
    {"part": ["train"] * 3 + ["test"], "documents": [1, 40, 121, 7], "queries": [5, 3, 2, 4]}
)
BINS = pd.DataFrame(
    {
        "part": ["train", "train", "test"],
        "low": [0.0, 0.5, 7.0],
        "high": [0.5, 1.0, 7.0],
        "share": [0.25, 0.75, 1.0],
    }
)


def test_label_bars_are_shares_of_their_part():
    figure = distributions.labels(LABELS)
    assert [bar.name for bar in figure.data] == ["train", "test"]
    assert list(figure.data[0].y) == pytest.approx([0.75, 0.25])
    assert list(figure.data[0].x) == ["0", "2"]


def test_lengths_are_binned_in_round_steps_and_lose_no_query():
    figure = distributions.lengths(LENGTHS)
    train = figure.data[0]
    assert sum(train.y) == pytest.approx(1)
    held = {entry[0]: int(entry[1]) for entry in train.customdata if int(entry[1])}
    assert held == {"0–9": 5, "40–49": 3, "120–129": 2}
    assert train.y[0] == train.y[-1] == 0


def test_a_feature_has_a_panel_a_part_and_a_constant_one_is_drawn_too():
    figure = distributions.feature(BINS, "feature 39")
    assert len(figure.data) == 2
    assert list(figure.data[0].width) == [0.5, 0.5]
