"""The bump chart and the scatter: documents are drawn where the frame says, and said in words."""

import numpy as np
import pandas as pd
import pytest

from shuffleproof.app.figures import bump
from shuffleproof.app.figures.style import faded, stroke


@pytest.fixture
def moves():
    return pd.DataFrame(
        {
            "document": ["a", "b<br>", "c"],
            "label": [2.0, 0.0, 1.0],
            "shown": [3, 1, 2],
            "answered": [1, 3, 2],
            "shown_before": [1, 2, 3],
            "answered_before": [1, 2, 3],
            "moved": [False, True, True],
            "score_before": np.float32([3, 2, 1]),
            "score": np.float32([3.0, 0.5, 1.0]),
        }
    )


def drawn(trace):
    """The polylines of a trace: lists of (x, y) between its gaps."""
    points = list(zip(trace.x, trace.y, strict=True))
    lines, line = [], []
    for x, y in points:
        if np.isnan(y):
            lines.append(line)
            line = []
        else:
            line.append((x, y))
    return lines


def test_lines_run_from_shown_to_answer_to_answer_before(moves):
    behind, stayed, moved, *_ = bump.bump(moves, "dlcm").data
    assert drawn(behind) == [[(0, 1), (1, 1)], [(0, 2), (1, 2)], [(0, 3), (1, 3)]]
    assert drawn(stayed) == [[(0, 3), (1, 1), (2, 1)]]
    assert drawn(moved) == [[(0, 1), (1, 3), (2, 2)], [(0, 2), (1, 2), (2, 3)]]
    assert moved.line.color == faded(stroke("dlcm").color, 0.9)
    assert moved.line.width > stayed.line.width, "not by colour alone"


def test_of_a_long_list_the_documents_that_moved_furthest_are_drawn():
    count, chosen = 5000, 7
    places, answered = np.arange(1, count + 1), np.arange(1, count + 1)
    answered[[10, 4000]] = answered[[4000, 10]]
    frame = pd.DataFrame(
        {"document": places.astype(str), "label": 0.0, "shown": places, "answered": answered,
         "shown_before": places, "answered_before": places, "moved": answered != places}
    )  # fmt: skip
    figure = bump.bump(frame, "dlcm", chosen=chosen)
    rows = {row[0] for row in figure.data[-1].customdata}
    assert rows >= {10, 4000, chosen}
    assert len(rows) <= bump.MOST + 1
    assert figure.layout.yaxis.range[0] > count
    assert "The 500 of 5,000 documents that moved furthest" in figure.layout.annotations[-1].text


@pytest.mark.parametrize("count", [0, 1, 7, 40, 60, 1000])
def test_any_length_is_drawn_within_bounds(count):
    places = np.arange(1, count + 1)
    frame = pd.DataFrame(
        {
            "document": [f"d{place}" for place in places],
            "label": np.zeros(count),
            **dict.fromkeys(("shown", "answered", "shown_before", "answered_before"), places),
            "moved": np.zeros(count, dtype=bool),
        }
    )
    figure = bump.bump(frame, "setrank-imsab")
    assert bump.SMALLEST <= figure.layout.height <= bump.LARGEST
    assert len(figure.layout.yaxis.tickvals) <= 8
