"""Table 2 on the page: groups, best in bold, letters."""

from collections.abc import Mapping, Sequence

import pandas as pd

from shuffleproof.app.plain import escaped
from shuffleproof.core.rankers.name import display_names
from shuffleproof.core.studies.kinds.benchmark.rows import GROUPS
from shuffleproof.core.studies.kinds.benchmark.sections import heads
from shuffleproof.core.studies.tables import Cell

MOST_BASELINES = 3
NO_BREAK = "\u00a0"


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
    names, rows, called = [], [], display_names(labels)
    for group in GROUPS:
        own = [label for label in labels if groups[label] == group]
        if own:
            names.append(f"*{group}*")
            rows.append([""] * len(measures))
        grey = group == GROUPS[0]
        for label in own:
            name = escaped(called[label])
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
