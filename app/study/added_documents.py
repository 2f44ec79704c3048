"""Certificates of top documents from the first stored study of a data set, for other pages."""

import streamlit as st

from shuffleproof.app import services, state, study_access
from shuffleproof.app.study import parts, sample_result
from shuffleproof.core.studies.kinds.certified_top_k import sections
from shuffleproof.core.studies.kinds.certified_top_k.question import CertifiedTopK


def draw(query: str = "") -> None:
    """Draw what the study says of a query, else its headline, with a link; nothing without one.

    Args:
        query: id of a query; empty: all queries.
    """
    stored = services.studies(CertifiedTopK.kind, state.data())
    if not stored:
        return
    key = str(min(stored, key=services.arrival_order).key)
    sentences = sections.of_query(study_access.result(key), query)
    st.subheader("Added documents")
    for sentence in sentences:
        parts.sentence(sentence)
    if not sentences:
        parts.headline(study_access.compute(key, sample_result.headline))
    address = {state.USE: state.data(), "study": key}
    parts.link(CertifiedTopK.kind, "Certified top k", query=address)
