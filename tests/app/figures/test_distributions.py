import pandas as pd
import pytest

from shuffleproof.app.figures import distributions

LENGTHS = pd.DataFrame(
    {"part": ["train"] * 3 + ["test"], "documents": [1, 40, 121, 7], "queries": [5, 3, 2, 4]}
)


def test_lengths_are_binned_in_round_steps_and_lose_no_query():
    figure = distributions.lengths(LENGTHS)
    train = figure.data[0]
    assert sum(train.y) == pytest.approx(1)
    held = {entry[0]: int(entry[1]) for entry in train.customdata if int(entry[1])}
    assert held == {"0–9": 5, "40–49": 3, "120–129": 2}
    assert train.y[0] == train.y[-1] == 0
