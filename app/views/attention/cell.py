"""What is behind a cell of a map: both documents, their ranks, what they differ in."""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from shuffleproof.app.plain import escaped
from shuffleproof.app.scoring import List
from shuffleproof.app.views.attention.answers import Overview, Wanted, differing_features
from shuffleproof.core.words import number


def opened_cell(
    one: List, seen: Overview, maps: tuple[np.ndarray, np.ndarray], wanted: Wanted,
    cell: tuple[int, int],
) -> None:  # fmt: skip
    """Draw what is behind a cell: both documents, their ranks, their features that differ most."""
    row, column = cell
    kind = wanted.of
    names = [_called(seen, kind.rows, row), _called(seen, kind.columns, column)]
    before, after = (float(one_map[row, column]) for one_map in maps)
    st.subheader("The cell")
    said = f"{before:.4f}, after the change {after:.4f} ({number(after - before, '+.2g')})"
    if not np.isfinite(after):
        said = f"{before:.4f}; the change took a document out"
    st.markdown(f"**{escaped(names[0])}** ← **{escaped(names[1])}**: {said}.")
    items = [
        item for item, what in ((row, kind.rows), (column, kind.columns)) if what == "documents"
    ]
    left, right = st.columns(2, gap="medium")
    left.dataframe(_side_by_side(seen, items), alt="The documents of the cell")
    if not items:
        return
    same = items[0] == items[-1]
    first, other = seen.documents[items[0]], seen.documents[items[-1]]
    other = "mean of the list" if same else _apart(first, other)
    table = pd.DataFrame(
        differing_features(one, items[0], items[-1]),
        columns=["feature", first, other, "apart (σ)"],
    ).astype({"feature": int})
    right.dataframe(
        table.map(_text), hide_index=True, alt="Features in which both documents differ most"
    )
    right.caption(
        "Features in which the document differs most from the list’s mean, in standard deviations "
        "of this list."
        if same
        else "Features that differ most, in standard deviations of this list."
    )


def _side_by_side(seen: Overview, items: list[int]) -> pd.DataFrame:
    """The documents of a cell as columns, so that both fit on a phone."""
    table = documents_table(seen, list(dict.fromkeys(items)))
    if len(table) == 2:
        table.loc[1, "document"] = _apart(*table["document"])
    table = table.set_index("document")
    return table.map(_text).T


def _apart(first: str, other: str) -> str:
    """The other document's name, told from the first one's: columns have names of their own.

    >>> _apart("a", "b"), _apart("a", "a")
    ('b', 'a (2)')
    """
    return f"{other} (2)" if first == other else other


def _text(value: Any) -> str:
    """A value of the table, or a dash where there is none."""
    if value is None or isinstance(value, float):
        return number(value, ".4g")
    return str(value)


def documents_table(seen: Overview, items: list[int]) -> pd.DataFrame:
    """Label, initial rank, and score and rank of the ranker before and after, from 1.

    Missing where the change took a document out.
    """
    initial = [[place + 1 if place >= 0 else None for place in ranks] for ranks in seen.ranks]
    ranked = [_ranks(scores) for scores in seen.scores]
    columns: dict[str, list[Any]] = {
        "document": list(seen.documents), "label": seen.labels.tolist(),
        "initial rank": initial[0], "ranked": ranked[0], "score": seen.scores[0].tolist(),
        "ranked after": ranked[1], "score after": seen.scores[1].tolist(),
    }  # fmt: skip
    if initial[0] != initial[1]:
        columns["initial rank after"] = initial[1]
    frame = pd.DataFrame({name: [values[at] for at in items] for name, values in columns.items()})
    whole = [name for name in columns if "rank" in name]
    return frame.astype(dict.fromkeys(whole, "Int64"))


def _ranks(scores: np.ndarray) -> list[int | None]:
    order = np.argsort(-scores, kind="stable").tolist()
    places = {document: place for place, document in enumerate(order, 1)}
    return [places[at] if np.isfinite(scores[at]) else None for at in range(len(scores))]


def _called(seen: Overview, what: str, item: int) -> str:
    if what == "documents":
        return seen.documents[item]
    return {"points": "induced point", "units": "unit", "heads": "hidden unit"}[
        what
    ] + f" {item + 1}"
