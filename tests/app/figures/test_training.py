"""The figure of trainings: what it draws, where, and in words."""

import numpy as np
import pandas as pd

from shuffleproof.app.figures.style import stroke
from shuffleproof.app.figures.training import LOSS, VALID, curves


def run(loss=(3.0, 2.0, 1.5), valid=(0.5, 0.7, 0.6), valid_loss=None):
    epochs = len(loss)
    nothing = [None] * epochs
    columns = {
        "done": range(1, epochs + 1),
        "loss": loss,
        "valid": nothing if valid is None else valid,
        "valid_loss": nothing if valid_loss is None else valid_loss,
    }
    return pd.DataFrame(columns).astype(float)


def lines(figure, axis):
    return [trace for trace in figure.data if trace.yaxis == axis and len(trace.x) > 1]


def test_validation_is_above_and_loss_below():
    figure = curves({"dlcm": run()})
    (above,), (below,) = lines(figure, "y"), lines(figure, "y2")
    assert list(above.y) == [0.5, 0.7, 0.6]
    assert list(below.y) == [3.0, 2.0, 1.5]
    assert list(above.x) == list(below.x) == [1, 2, 3]
    assert (figure.layout.yaxis.title.text, figure.layout.yaxis2.title.text) == (VALID, LOSS)
    assert figure.layout.yaxis.domain[0] > figure.layout.yaxis2.domain[1]


def test_the_best_epoch_is_ringed():
    (ring,) = [trace for trace in curves({"dlcm": run()}).data if len(trace.x) == 1]
    assert (ring.x[0], ring.y[0]) == (2, 0.7)
    assert ring.marker.symbol == "circle-open"


def test_a_ranker_has_its_colour_whatever_its_recipe():
    figure = curves({"dlcm": run(), "setrank-imsab@tuned seed=2": run()})
    colors = {"DLCM": stroke("dlcm"), "SetRank IMSAB tuned seed=2": stroke("setrank-imsab")}
    for trace in figure.data:
        if trace.mode == "lines":
            assert trace.line.color == colors[trace.name].color
            assert trace.line.dash == colors[trace.name].dash


def test_every_curve_is_named_at_its_end_and_names_do_not_overlap():
    figure = curves({"dlcm": run(), "setrank-imsab": run(valid=(0.5, 0.7, 0.6))})
    marks = figure.layout.annotations
    assert {mark.text.replace("<br>", "") for mark in marks} == {"DLCM", "SetRankIMSAB"}
    assert {(mark.x, mark.y) for mark in marks} == {(3.0, 0.6)}
    assert abs(marks[0].ay - marks[1].ay) >= 17


def test_the_axis_ends_with_the_longest_run_and_holds_every_value():
    longer = run(loss=np.ones(40), valid=np.linspace(0.1, 0.9, 40))
    figure = curves({"dlcm": run(), "mart": longer})
    assert figure.layout.xaxis.range[0] == 0
    assert 40 <= figure.layout.xaxis.range[1] <= 41
    low, high = figure.layout.yaxis.range
    assert low < 0.1
    assert high > 0.9


def test_a_run_selected_by_loss_has_its_validation_loss_below():
    figure = curves({"dlcm": run(valid=None, valid_loss=(2.5, 2.4, 2.6))})
    assert not lines(figure, "y")
    assert [list(trace.y) for trace in lines(figure, "y2")] == [[3, 2, 1.5], [2.5, 2.4, 2.6]]
    assert [mark.yref for mark in figure.layout.annotations] == ["y2"]
