"""The figure of trainings: what it draws, where, and in words."""

import pandas as pd

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


def test_a_run_selected_by_loss_has_its_validation_loss_below():
    figure = curves({"dlcm": run(valid=None, valid_loss=(2.5, 2.4, 2.6))})
    assert not lines(figure, "y")
    assert [list(trace.y) for trace in lines(figure, "y2")] == [[3, 2, 1.5], [2.5, 2.4, 2.6]]
    assert [mark.yref for mark in figure.layout.annotations] == ["y2"]
