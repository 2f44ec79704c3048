"""Certified share of the top documents, and the share that the attack left, by added documents."""

import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures.style import end_labels, faded, ribbon, stroke, xaxes
from shuffleproof.app.figures.text import plain_text
from shuffleproof.app.figures.traces import Curve, bounds, curves, finish_curves

HEIGHT = 400


@plain_text
def gaps(frame: pd.DataFrame) -> go.Figure:
    """Gap of each ranker between the certified share and what the attack left, by added documents.

    The true share lies in the gap. A ranker without a certificate has the upper line alone.

    Args:
        frame: as `kinds.certified_top_k.sections.table` makes it: ranker, inject, k, K, certified,
            low, high, attacked, n.
    """
    frame = frame.assign(left=1 - frame["attacked"]).sort_values("inject", kind="stable")
    figure, drawn, ends, texts = go.Figure(), [], [], []
    for ranker in map(str, dict.fromkeys(frame["ranker"])):
        points = frame[frame["ranker"] == ranker]
        facts, last = ["ranker", "inject", "n"], points.iloc[-1]
        words = f"<b>{ranker}, %{{x}} added</b><br>%{{y:.1%}} "
        after = f"{words}stay after the attack<br>N = %{{customdata[2]}}<extra></extra>"
        dotted = {"line": {"dash": "dot"}, "marker": {"symbol": "circle-open"}}
        is_certified = bool(points["certified"].notna().all())
        if is_certified:
            color = faded(stroke(ranker).color, 0.13)
            figure.add_trace(ribbon(points["inject"], points["certified"], points["left"], color))
            sure = f"{words}certified to stay<br>N = %{{customdata[2]}}<extra></extra>"
            drawn.append(Curve(ranker, points, facts, sure, "inject", "certified", 0))
        drawn.append(Curve(ranker, points, facts, after, "inject", "left", 0, dotted))
        end = last["certified" if is_certified else "left"]
        ends.append((ranker, float(last["inject"]), float(end)))
        texts += [f"{end_labels([ranker])[0]}<br>{'certified' if is_certified else 'attacked'}"]
    curves(figure, drawn)
    counts = sorted(set(frame["inject"].tolist()))
    xaxes(figure, title="added documents", tickvals=counts)
    k, kept = int(frame["k"].iloc[0]), int(frame["K"].iloc[0])
    title = f"share of the top {k} that stays in the top {kept}"
    return finish_curves(figure, ends, (title, bounds(0.0, 1.0)), HEIGHT, texts)
