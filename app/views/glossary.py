"""The glossary: a sentence and a source for every technical term that pages use."""

import streamlit as st

from shuffleproof.app import terms
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import parts
from shuffleproof.core.glossary import TERMS, anchor


def page() -> None:
    """Draw the page; definitions link to other terms."""
    parts.header("Glossary", "What do the terms on these pages mean?")
    half = (len(TERMS) + 1) // 2
    for at, place in enumerate(st.columns(2, gap="large")):
        with place, st.container(key=f"glossary {at}"):
            for term in TERMS[at * half : (at + 1) * half]:
                st.subheader(escaped(term.name), anchor=anchor(term))
                source = f" *({escaped(term.source)})*" if term.source else ""
                st.markdown(terms.linked_definition(term) + source)
