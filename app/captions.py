"""Captions of documents and queries on all pages, from side files."""

from textwrap import shorten
from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import services, state
from shuffleproof.app.plain import escaped
from shuffleproof.core.data import display_texts
from shuffleproof.core.data.display_texts import DisplayTexts
from shuffleproof.core.errors import ArtefactError

LONGEST = 60
"""Longest title in a figure, in letters."""

OF = {"documents": "document", "queries": "query"}
"""Columns of tables with their ids."""

CONFIG = {
    "title": st.column_config.TextColumn("Title", width="medium"),
    "url": st.column_config.LinkColumn("Address", validate="^https?://", width="small"),
    "snippet": st.column_config.TextColumn("Snippet", width="medium"),
    "text": st.column_config.TextColumn("Query text", width="medium"),
    "tag": st.column_config.TextColumn("Tag", width="small"),
}
"""Streamlit's configuration of the columns of side files."""


def of(data: str | None = None) -> DisplayTexts | None:
    """Texts from side files of a data set, by default the one in use; None: no texts."""
    try:
        fingerprint = services.data_set(data or state.data()).facts.get("fingerprint")
    except ArtefactError:  # deleted meanwhile
        return None
    if not isinstance(fingerprint, str):  # of an earlier version, which noted none
        return None
    stored = services.artefacts(display_texts.KIND)
    keys = tuple(
        str(artefact.key) for artefact in stored if artefact.recipe.get("of") == fingerprint
    )
    return _opened(fingerprint, keys) if keys else None


@st.cache_resource(max_entries=8, show_spinner=False)
def _opened(fingerprint: str, keys: tuple[str, ...]) -> DisplayTexts | None:
    del keys  # only part of the cache's key
    return display_texts.find(fingerprint, services.store())


def with_captions(frame: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Table with added captions of its documents and queries, and the columns' configuration.

    Args:
        frame: any table; columns document or query hold ids.
    """
    texts = of()
    for kind, column in OF.items():
        if texts is None or column not in frame:
            continue
        columns = getattr(texts, kind).reindex(frame[column].astype(str))
        at = frame.columns.get_loc(column)
        for name in reversed([*columns]):
            if name not in frame and columns[name].fillna("").ne("").any():
                frame.insert(int(str(at)) + 1, name, columns[name].to_numpy())
    return frame, {name: config for name, config in CONFIG.items() if name in frame}


def titles(frame: pd.DataFrame) -> pd.DataFrame:
    """Frame whose document ids are followed by their titles, for figures."""
    texts = of()
    if texts is None:
        return frame
    title_of = texts.documents["title"].reindex(frame["document"].astype(str)).fillna("").to_numpy()
    named = [
        f"{name} · {shorten(title, LONGEST, placeholder=' …')}" if title else name
        for name, title in zip(frame["document"], title_of, strict=True)
    ]
    return frame.assign(document=named)


def documents(ids: list[str], data: str | None = None) -> dict[str, list[str]]:
    """Title, url and snippet of documents; empty without a side file."""
    texts = of(data)
    if texts is None:
        return {}
    rows = texts.documents.reindex(ids).fillna("")
    return {str(name): rows[name].astype(str).tolist() for name in rows}


def draw_query_text(query: str, place: Any = st) -> None:
    """Draw the text of a query, if a side file has one."""
    texts = of()
    if texts is not None and query in texts.queries.index:
        text = str(texts.queries.loc[query, "text"] or "")
        if text:
            place.markdown(f":material/search: {escaped(text)}")
