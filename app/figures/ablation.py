"""What each difference between recipes does: one dot a variant, the first recipe at zero."""

import textwrap
from collections.abc import Mapping
from typing import Any, Literal

import pandas as pd
import plotly.graph_objects as go

from app.figures.style import PALETTE, laid_out

Effect = Literal["quality", "robustness", "seconds", "parameters"]
ROW, FRAME = 38, 90
"""Pixels of a variant, and of axis and margins."""

SIGNIFICANT = 0.05
LONGEST = 26
WHOLE, SINGLE = PALETTE[1], PALETTE[0]


def effects(table: pd.DataFrame, effect: Effect, measure: str) -> go.Figure:
    """One dot a variant: whole recipes in orange diamonds, single differences in blue dots.

    Args:
        table: as `core.studies.ablation.table` makes it, the first recipe first.
        effect: the change of the measure, the change of its loss under disturbance, seconds of
            training, or trained numbers.
        measure: what is measured.
    """
    shown = _shown(table, effect)
    base = str(table["variant"].iloc[0])
    figure = go.Figure()
    zero = 0.0 if effect in {"quality", "robustness"} else float(table[effect].iloc[0])
    figure.add_vline(x=zero, line={"color": "rgba(127,127,127,0.8)", "width": 1.5, "dash": "dot"})
    for row in shown.to_dict("records"):
        figure.add_trace(_dot(row, base, effect))
    names = [str(name) for name in shown["variant"]]
    laid_out(figure, height=FRAME + ROW * max(len(names), 1), showlegend=False, hovermode="closest")
    figure.update_xaxes(title=_title(effect, measure, base))
    if effect in {"quality", "robustness"}:
        figure.update_xaxes(tickformat="+.3~f")
    else:
        figure.update_xaxes(rangemode="tozero")
    figure.update_yaxes(
        tickvals=names, ticktext=[label(name, base) for name in names], showgrid=True,
        categoryorder="array", categoryarray=names[::-1],
    )  # fmt: skip
    figure.update_layout(margin={"r": 24})
    return figure


def label(variant: str, base: str) -> str:
    """A variant's name on the axis, over several lines where it is long.

    >>> label("paper + input layer gaussian-kernels", "paper")
    '+ input layer<br>gaussian-kernels'
    """
    short = variant.replace(f"{base} + ", "+ ", 1)
    return "<br>".join(textwrap.wrap(short, LONGEST, break_on_hyphens=False))


def _shown(table: pd.DataFrame, effect: Effect) -> pd.DataFrame:
    """The variants but the first, whole recipes before single differences, the largest first."""
    base = str(table["variant"].iloc[0])
    value, low, high, p = {
        "quality": ("change", "change_low", "change_high", "change_p"),
        "robustness": ("loss_change", "loss_low", "loss_high", "loss_p"),
    }.get(effect, (effect, effect, effect, None))
    rest = table.iloc[1:]
    frame = pd.DataFrame(
        {
            "variant": rest["variant"], "value": rest[value], "low": rest[low],
            "high": rest[high], "p": rest[p] if p else float("nan"), "source": rest["source"],
            "single": rest["variant"].str.startswith(f"{base} + "),
        }
    )  # fmt: skip
    frame = frame[frame["value"].notna()]
    return frame.sort_values(["single", "value"], ascending=[True, False], kind="stable")


def _title(effect: Effect, measure: str, base: str) -> str:
    return {
        "quality": f"{measure} minus that of {base}",
        "robustness": f"{measure} lost by disturbance, minus that of {base}",
        "seconds": f"seconds of training (dotted: {base})",
        "parameters": f"trained numbers (dotted: {base})",
    }[effect]


def _dot(row: Mapping[Any, Any], base: str, effect: Effect) -> go.Scatter:
    color = SINGLE if row["single"] else WHOLE
    tested = effect in {"quality", "robustness"}
    full = not tested or row["p"] <= SIGNIFICANT
    interval = {
        "type": "data", "symmetric": False, "color": color, "thickness": 2.2, "width": 5,
        "array": [row["high"] - row["value"]], "arrayminus": [row["value"] - row["low"]],
    }  # fmt: skip
    numbers = (
        f"%{{x:+.3f}} [{row['low']:+.3f}, {row['high']:+.3f}], p {row['p']:.2g} (Holm)"
        if tested
        else "%{x:,.0f}"
    )
    return go.Scatter(
        x=[row["value"]],
        y=[row["variant"]],
        mode="markers",
        marker={
            "size": 12,
            "symbol": "circle" if row["single"] else "diamond",
            "color": color if full else "rgba(127,127,127,0.15)",
            "line": {"color": color, "width": 2.5},
        },
        error_x=interval if tested else None,
        customdata=[
            ["<br>".join(textwrap.wrap(row["source"] or f"{base} → {row['variant']}", 60))]
        ],
        hovertemplate=f"<b>{row['variant']}</b><br>{numbers}<br>%{{customdata[0]}}<extra></extra>",
    )


def alt_text(table: pd.DataFrame, effect: Effect, measure: str) -> str:
    """The picture in words."""
    tested = effect in {"quality", "robustness"}
    said = [
        f"{row['variant']} {row['value']:+.3f}"
        + ("" if row["p"] <= SIGNIFICANT else " (may be chance)")
        if tested
        else f"{row['variant']} {row['value']:,.0f}"
        for row in _shown(table, effect).to_dict("records")
    ]
    title = _title(effect, measure, str(table["variant"].iloc[0]))
    return f"Dot plot, {title}: {'; '.join(said)}."
