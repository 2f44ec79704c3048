"""Drawing of tables with declared columns."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from shuffleproof.app import captions, terms
from shuffleproof.core.studies.tables import COUNT, FLAG, NAME, TEXT, Column, P, Table, of_people

P_WIDTH = 90
"""Pixels of p values: Streamlit measures the first rows, and lower ones may be longer."""


def data_frame(
    table: Table, key: str | None, place: Any = st, *,
    widths: Mapping[str, int] | None = None, **more: Any,
) -> None:  # fmt: skip
    """Draw a table with the labels, formats and help that its columns declare.

    Captions from side files are added to documents and queries.

    Args:
        table: the table.
        key: key of the widget.
        place: container of the widget.
        widths: pixels of columns whose widest cells are below the rows that Streamlit measures.
        more: further arguments of `st.dataframe`, such as `on_select`.
    """
    table = table.with_display_names
    shown = table.columns
    frame = of_people(table.frame[[column.key for column in shown]], shown)
    frame, texts = captions.with_captions(frame)
    place.dataframe(
        frame,
        hide_index=True,
        key=key,
        placeholder="",
        column_config=texts
        | {
            column.key: config(
                column, pinned=column is shown[0], width=(widths or {}).get(column.key)
            )
            for column in shown
        },
        alt=table.title,
        **more,
    )


def config(column: Column, *, pinned: bool = False, width: int | None = None) -> Any:
    """Streamlit's configuration of a declared column."""
    words = terms.help_with_terms(column.label, column.help, leave=[column.help])
    if column.format in {TEXT, NAME}:
        return st.column_config.TextColumn(column.label, help=words, pinned=pinned, width=width)
    if column.format == FLAG:
        return st.column_config.CheckboxColumn(column.label, help=words, width=width)
    if column.format == P:
        width = width or P_WIDTH
    spec = column.spec()
    known = {COUNT: "localized"}
    written = "percent" if spec.endswith("%") else known.get(spec, f"%{spec}")
    return st.column_config.NumberColumn(
        column.label, help=words, format=written, pinned=pinned, width=width
    )
