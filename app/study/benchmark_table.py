"""Table 2 on the page: groups, best in bold, letters, and the conventions that it stands under."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import curves
from shuffleproof.app.plain import escaped
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.parameters import parameters
from shuffleproof.core.studies.conventions import SWITCHED
from shuffleproof.core.studies.kinds.benchmark.rows import GROUPS
from shuffleproof.core.studies.kinds.benchmark.sections import heads
from shuffleproof.core.studies.tables import Cell

CHOOSABLE = ("ideal", "empty", "ties", "discount")
SAID = {
    "ideal": "Ideal ranking of", "empty": "No relevant document", "ties": "Equal scores",
    "short": "Lists shorter than the cut-off",
}  # fmt: skip
MOST_BASELINES = 3
NO_BREAK = "\u00a0"


def measures(recipe: Mapping[str, Any], offered: Mapping[str, Measure]) -> dict[str, Measure]:
    """Draw the switches of the conventions; every measure under what they say.

    A study that was asked for other conventions than the usual ones shows those until they are
    switched.

    Args:
        recipe: of the study.
        offered: its measures under default conventions, by text.
    """
    asked: dict[str, Measure] = {}
    for one in map(Measure.parse, recipe["measures"]):
        asked.setdefault(str(Measure(one.name, one.cutoff)), one)
    if any(str(one) != text for text, one in asked.items()) and st.toggle(
        "As the study was asked", value=True, key="asked", bind="query-params",
        help="Off: under conventions chosen here, as far as stored values give them.",
    ):  # fmt: skip
        return dict(offered) | {text: one for text, one in asked.items() if text in offered}
    wanted = conventions(SWITCHED)
    return {text: curves.drawable(recipe, one.under(**wanted)) for text, one in offered.items()}


def conventions(
    limits: Mapping[str, Sequence[str]], names: Sequence[str] = CHOOSABLE
) -> dict[str, str]:
    """Draw the switches of conventions; what was chosen, by field of `Measure`.

    Args:
        limits: the choices of some of them, where not all can be had.
        names: which ones.
    """
    declared, found = {one.name: one for one in parameters(Measure)}, {}
    for name in names:
        one = declared[name]
        chosen = st.segmented_control(
            SAID.get(name, name.capitalize()), list(limits.get(name, one.choices)),
            default=one.default, required=True, key=name, bind="query-params", help=one.help,
        )  # fmt: skip
        found[name] = str(chosen or one.default)
    return found


def frame(
    cells: Mapping[tuple[str, str], Cell],
    labels: Sequence[str],
    groups: Mapping[str, str],
    measures: Sequence[str],
) -> pd.DataFrame:
    """The table as Streamlit's Markdown, cell by cell; references are grey, names are escaped.

    Args:
        cells: every (ranker, measure) as it is printed.
        labels: the rows in their order.
        groups: of each row.
        measures: the columns.
    """
    names, rows = [], []
    for group in GROUPS:
        own = [label for label in labels if groups[label] == group]
        if own:
            names.append(f"*{group}*")
            rows.append([""] * len(measures))
        grey = group == GROUPS[0]
        for label in own:
            name = escaped(label)
            names.append(f":gray[{name}]" if grey else name)
            rows.append([_cell(cells[label, measure], grey=grey) for measure in measures])
    columns = heads(measures)  # of a registry, nobody's text
    return pd.DataFrame(rows, columns=columns, index=pd.Index(names, name="Ranker"))


def _cell(cell: Cell, *, grey: bool) -> str:
    mean = f"**{cell.text}**" if cell.best else cell.text
    text = f":gray[{mean}]" if grey else mean
    marks = f" {escaped(cell.marks)}" if cell.marks else ""
    spread = f" :gray[:small[{cell.spread.replace(' ', NO_BREAK)}]]" if cell.spread else ""
    return f"{text}{marks}{spread}"
