"""The page of GSF's shuffles: how much the order shown changes it, and what more of them give."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import groups
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.figures import gsf as figure
from shuffleproof.app.study import choice, parts
from shuffleproof.app.study import page as shell
from shuffleproof.app.views.group_shuffles.form import FORM
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.group_shuffles.sections import COLUMNS, TITLE, reading
from shuffleproof.core.studies.tables import Table


def page() -> None:
    """Draw a stored study of the data set in use: picture, finding, table."""
    shell.page(
        FORM,
        "Group shuffles",
        _study,
        missing="No study of GSF's shuffles on {data} is stored yet.",
        remedy="Press the button below: a GSF is trained if need be, and asked with groups of "
        "more and more shuffles.",
    )


@st.fragment
def _study(stored: Mapping[str, Artefact]) -> None:
    top = choice.top(stored, groups.short_words, groups.words)
    artefact = top.artefact
    labels = groups.rankers(artefact)
    with top.controls:
        shown = choice.rankers(labels, top.notices, str(artefact.key))
    if not shown:
        top.picture.info("Choose at least one ranker.")
        return
    key = str(artefact.key)
    frame = groups.table(key)
    frame = frame[frame["ranker"].isin(shown)]
    with top.picture:
        drawn = _picture(key, frame)
        for label in shown:
            parts.finding(groups.finding(key, label))
        alone = len(frame) and int(frame["lists"].max()) == 1
        intervals = "1 query, so no intervals" if alone else "95 % intervals over queries"
        parts.convention(reading(groups.reference(key)), intervals, "one training")
    st.subheader("Every way to form groups")
    table = Table(frame, COLUMNS, TITLE)
    data_frame(table, "ways")
    choice.export_row(artefact, drawn, table)


def _picture(key: str, frame: pd.DataFrame) -> Any:
    drawn = _drawn(frame, (key, *dict.fromkeys(frame["ranker"])))
    st.plotly_chart(drawn, key="error", alt=figure.alt_text(frame), config=parts.CLICKABLE)
    return drawn


@st.cache_resource(max_entries=32, show_spinner=False)
def _drawn(_frame: pd.DataFrame, identity: tuple[str, ...]) -> Any:
    """The figure; shared between sessions and never changed (files are made from copies)."""
    del identity  # the memory's key: the study and the rankers shown
    return figure.equivariance(_frame)
