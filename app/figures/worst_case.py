"""The worst order found against random ones, by budget."""

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures.style import end_labels, stroke, xaxes
from shuffleproof.app.figures.text import plain_text
from shuffleproof.app.figures.traces import Curve, bounds, curves, finish_curves

HEIGHT = 440


@plain_text
def damages(frame: pd.DataFrame, measure: str, unit: str) -> go.Figure:
    """Damage by budget: a thick line for the worst found, with interval, a thin one for random.

    Args:
        frame: ranker, budget, random_damage, worst_damage (NaN while a ranker is searched), low,
            high, certified.
        measure: name of the measure.
        unit: unit of the budget.
    """
    random, worst, ends = [], [], []
    for name, rows in frame.groupby("ranker", sort=False):
        ranker, points = str(name), _from_nothing(rows)
        random.append(_random(ranker, points, measure))
        searched = bool(points["worst_damage"].notna().all())
        if searched:
            hover = (
                f"<b>%{{customdata[0]}}</b>, worst order found<br>%{{customdata[1]}} {unit}: "
                f"{measure} lost %{{y:.3f}} [%{{customdata[2]:.3f}}, %{{customdata[3]:.3f}}]<br>"
                "random: %{customdata[4]:+.3f}<extra></extra>"
            )
            facts = ("ranker", "budget", "low", "high", "random_damage")
            worst.append(Curve(ranker, points, facts, hover, "budget", "worst_damage"))
        last: Any = points.iloc[-1]
        end = last["worst_damage" if searched else "random_damage"]
        ends.append((ranker, float(last["budget"]), float(end)))
    figure = go.Figure()
    curves(figure, random)
    curves(figure, worst)  # later, to be on top
    budgets = [0, *sorted(set(frame["budget"]))]
    title = f"budget: {unit} per list"
    xaxes(figure, title=title, tickvals=budgets, range=[-0.3, budgets[-1] * 1.02])
    certified = set(frame[frame["certified"]]["ranker"])
    names = end_labels([ranker for ranker, _, _ in ends])
    texts = [
        f"{text}<br>certified 0" if ranker in certified else text
        for text, (ranker, _, _) in zip(names, ends, strict=True)
    ]
    low = min([0.0, *frame["random_damage"]])
    high = float(np.nanmax([0.01, *frame["high"], *frame["random_damage"]]))
    scale = bounds(low - 1e-9, high)  # a curve along 0 is seen above the axis
    return finish_curves(figure, ends, (f"{measure} lost", scale), HEIGHT, texts)


def _from_nothing(rows: pd.DataFrame) -> pd.DataFrame:
    """Points of a ranker, preceded by a budget of 0 without a loss."""
    start = rows.head(1).assign(budget=0, random_damage=0.0, worst_damage=0.0, low=0.0, high=0.0)
    return pd.concat([start, rows.sort_values("budget")], ignore_index=True)


def _random(ranker: str, points: pd.DataFrame, measure: str) -> Curve:
    look = {
        "line": {"width": 1.2, "dash": "dot"}, "name": None,
        "marker": {"size": 6, "symbol": f"{stroke(ranker).shape}-open"},
    }  # fmt: skip
    hover = (
        "<b>%{customdata[0]}</b>, random orders<br>budget %{customdata[1]}: "
        f"{measure} lost %{{y:+.3f}}<extra></extra>"
    )
    facts = ("ranker", "budget", "random_damage")
    return Curve(ranker, points, facts, hover, "budget", "random_damage", 0, look)
