"""Choosing a measure and its conventions for a study that keeps all of NDCG's."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from shuffleproof.app import address, curves
from shuffleproof.app.study import benchmark_table as conventions
from shuffleproof.core.metrics.measure import Measure


def choice(recipe: Mapping[str, Any]) -> Measure:
    """Draw the measure and the switches of its conventions; what was chosen.

    Args:
        recipe: of the study; what it keeps beside measures of relevance is not offered.
    """
    stored = [text for text in recipe["stored"] if text[:1].isupper()]
    found = curves.offered({"measures": recipe["measures"], "stored": stored})
    offered = {str(one): one for one in found}
    usual = Measure.parse(recipe["measures"][0])
    first = str(Measure(usual.name, usual.cutoff))
    address.one("measure", address.named(*offered), first)
    name = st.selectbox("Measure", list(offered), key="measure")
    return conventions.measures(recipe, offered)[name]
