"""The glossary: every term of the field that pages use, in a sentence, with its source."""

import streamlit as st

from shuffleproof.app import terms
from shuffleproof.app.study import parts
from shuffleproof.core.glossary import TERMS


def page() -> None:
    """Draw the page."""
    parts.header("Glossary", "What do the terms on these pages mean?")
    for at, place in enumerate(st.columns(2, gap="large")):
        half = (len(TERMS) + 1) // 2
        place.markdown("\n\n".join(map(terms.written, TERMS[at * half : (at + 1) * half])))
