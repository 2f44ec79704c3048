"""Pages of the documentation, in a dialog."""

import re
from pathlib import Path

import streamlit as st

from shuffleproof.app import state

PLACE = Path(__file__).parents[1] / "docs"
"""Folder of the pages, in a clone and in an installed package."""

UNSHOWN = re.compile(r"\[([^\]]*)\]\((?!https?:)[^)]*\)|^<!--.*-->\n", re.MULTILINE)
"""Links between files, which lead nowhere in a dialog, and marks of generated parts."""


@st.dialog("Documentation", width="large", on_dismiss="rerun")
def show(topic: str) -> None:
    """Draw one page of the documentation, and the choice of another.

    Args:
        topic: name of the page's file, without its ending.
    """
    state.dialog_opened()
    names = sorted(path.stem for path in PLACE.glob("*.md"))
    chosen = st.selectbox("Page", names, names.index(topic), key=f"docs of {topic}")
    st.markdown(UNSHOWN.sub(r"\1", (PLACE / f"{chosen}.md").read_text(encoding="utf-8")))
