"""Effect of each difference between recipes: one dot per variant, the first recipe at zero."""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures.style import PALETTE, UNSIGNED_ZERO, xaxes
from shuffleproof.app.figures.text import plain_text
from shuffleproof.app.figures.traces import Dots, dots, vertical
from shuffleproof.app.figures.traces import rows as lay_rows
from shuffleproof.core.metrics.significance import ALPHA
from shuffleproof.core.words import signed

Effect = Literal["quality", "robustness"]

StepOf = Callable[[str], str]
"""Function from a difference's name to the step that it begins with, or to an empty text."""
ROW, FRAME = 38, 106
"""Pixels of a variant's row, and of axis and margins."""

FAR = 6.0
"""Distance from zero beyond which a variant is an arrow, in median distances of interval ends."""

LONGEST = 26
WHOLE, SINGLE = PALETTE[1], PALETTE[0]


@plain_text
def effects(table: pd.DataFrame, effect: Effect, measure: str, step_of: StepOf) -> go.Figure:
    """One mark per variant: orange diamonds for whole recipes, blue dots for single differences.

    Args:
        table: as `core.studies.kinds.ablation.sections.table` makes it, the first recipe first.
        effect: the change of the measure, or the change of its loss under perturbation.
        measure: name of the measure.
        step_of: step that a difference begins with, for its name on two lines.
    """
    shown = _shown(table, effect)
    base, reach = str(table["variant"].iloc[0]), _reach(shown)
    figure = go.Figure()
    vertical(figure, 0)
    rows: list[dict[Any, Any]] = shown.to_dict("records")
    inside = [row for row in rows if reach is None or reach[0] <= row["value"] <= reach[1]]
    _dots(figure, inside, base)
    for row in rows:
        if reach is not None and row not in inside:
            _beyond(figure, row, reach)
    names = [str(name) for name in shown["variant"]]
    texts = [label(name, base, step_of) for name in names]
    lay_rows(figure, names, texts, FRAME + ROW * max(len(names), 1))
    what = measure if effect == "quality" else f"{measure} lost by perturbation,"
    title = f"{what}<br>minus that of {base}"
    xaxes(figure, title=title, tickformat="+.3~f", range=reach, **UNSIGNED_ZERO)
    return figure


def _reach(shown: pd.DataFrame) -> tuple[float, float] | None:
    """Range of the axis without outlying variants, which would press all others together.

    Outlying: more than FAR times as far from zero as the median variant's interval reaches. None:
    no variant is outlying, or all are. Whole recipes and single differences are treated alike.
    """
    ends = shown[["low", "high"]].abs().max(axis=1)
    out = shown["value"].abs() > FAR * ends.median()
    if not out.any() or out.all():
        return None
    inside = shown[~out]
    low, high = min(float(inside["low"].min()), 0.0), max(float(inside["high"].max()), 0.0)
    room = 0.15 * max(high - low, 1e-6)  # 1e-6: an axis of zero length is invalid
    return low - room, high + room


def _beyond(figure: go.Figure, row: Mapping[Any, Any], reach: tuple[float, float]) -> None:
    """Add a variant beyond the axis: an arrow at the edge, with its value."""
    left = row["value"] < reach[0]
    color = SINGLE if row["single"] else WHOLE
    figure.add_trace(
        go.Scatter(
            x=[reach[0] if left else reach[1]],
            y=[row["variant"]],
            mode="markers+text",
            marker={"size": 12, "symbol": f"triangle-{'left' if left else 'right'}",
                    "color": color},
            text=[signed(row["value"])],
            textposition=f"middle {'right' if left else 'left'}",
            cliponaxis=False,
            hovertemplate=(
                f"<b>{_wrapped(row['variant'])}</b><br>{row['value']:+.3f} [{row['low']:+.3f}, "
                f"{row['high']:+.3f}], p {row['p']:.2g} (Holm), beyond the axis<extra></extra>"
            ),
        )
    )  # fmt: skip


def label(variant: str, base: str, step_of: StepOf) -> str:
    """Short name of a variant on the axis, at most two lines; hover and table show it in full.

    >>> def first_two(words): return " ".join(words.split()[:2])
    >>> label("paper + input layer gaussian-kernels", "paper", first_two)
    '+ input layer<br>gaussian-kernels'
    >>> label("paper + batch size lists 32, epochs 40, patience 12, seed 4", "paper", first_two)
    '+ batch size<br>lists 32, epochs 40, …'
    """
    short = variant.replace(f"{base} + ", "+ ", 1)
    if len(short) <= LONGEST:
        return short
    step = step_of(short.removeprefix("+ "))
    if not step:
        lines = textwrap.wrap(short, LONGEST, max_lines=2, placeholder=" …")
        return "<br>".join(lines)
    return f"+ {step}<br>{_first_of(short.removeprefix(f'+ {step} '))}"


def _first_of(values: str) -> str:
    """First values of a step, as many as fit on a line."""
    text, *more = values.split(", ")
    for value in more:
        if len(f"{text}, {value}, …") > LONGEST:
            return f"{text}, …"
        text = f"{text}, {value}"
    return text


def _wrapped(variant: str) -> str:
    return "<br>".join(textwrap.wrap(variant, 60, break_on_hyphens=False))


def _shown(table: pd.DataFrame, effect: Effect) -> pd.DataFrame:
    """All variants but the first: whole recipes, then single differences, each largest first."""
    base = str(table["variant"].iloc[0])
    value, low, high, p = {
        "quality": ("change", "change_low", "change_high", "change_p"),
        "robustness": ("loss_change", "loss_low", "loss_high", "loss_p"),
    }[effect]
    rest = table.iloc[1:]
    frame = pd.DataFrame(
        {
            "variant": rest["variant"], "value": rest[value], "low": rest[low],
            "high": rest[high], "p": rest[p], "source": rest["source"],
            "single": rest["variant"].str.startswith(f"{base} + "),
        }
    )  # fmt: skip
    frame = frame[frame["value"].notna()]
    return frame.sort_values(["single", "value"], ascending=[True, False], kind="stable")


def _dots(figure: go.Figure, rows: Sequence[dict[Any, Any]], base: str) -> None:
    hover = (
        "<b>%{customdata[1]}</b><br>%{x:+.3f} %{customdata[3]} (Holm)<br>%{customdata[2]}"
        "<extra></extra>"
    )
    values, names = [row["value"] for row in rows], [row["variant"] for row in rows]
    ends = [row["low"] for row in rows], [row["high"] for row in rows]
    full = [row["p"] <= ALPHA for row in rows]
    colors = [SINGLE if row["single"] else WHOLE for row in rows]
    marks = ["circle" if row["single"] else "diamond" for row in rows]
    facts = [_hover_facts(row, base) for row in rows]
    dots(figure, Dots(values, names, ends, full, colors, marks, facts, hover))


def _hover_facts(row: Mapping[Any, Any], base: str) -> tuple[str, str, str, str]:
    """Facts of a variant for hover: name, wrapped name, source, interval and p."""
    source = row["source"] or f"{base} → {row['variant']}"
    interval = f"[{row['low']:+.3f}, {row['high']:+.3f}], p {row['p']:.2g}"
    name = str(row["variant"])
    return name, _wrapped(name), "<br>".join(textwrap.wrap(source, 60)), interval
