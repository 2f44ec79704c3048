"""Cached doors to stored ablations: every answer by the study's content key."""

import pandas as pd
import streamlit as st

from shuffleproof.app.opened import day, result
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.ablation import finding as ablation_finding
from shuffleproof.core.studies.kinds.ablation import queries as ablation_queries
from shuffleproof.core.studies.kinds.ablation import study as ablation
from shuffleproof.core.studies.kinds.ablation.queries import Effect
from shuffleproof.core.words import counted

KIND = ablation.KIND


def short_words(artefact: Artefact) -> str:
    """What tells a stored ablation from others in a narrow place."""
    return f"{day(artefact)} · {artefact.facts['ranker']}"


def words(artefact: Artefact) -> str:
    """A stored ablation in a line: how many variants, at which sizes, how disturbed."""
    recipe, facts = artefact.recipe, artefact.facts
    levels = ", ".join(f"{level:g}" for _, level in recipe["perturbations"])
    sizes = f"sizes of {facts['sizes']}" if facts.get("sizes") else "each its own size"
    return (
        f"{counted(len(recipe['rankers']), 'variant')} · {sizes} · {levels} transpositions, "
        f"{counted(recipe['draws'], 'draw')} · on {', '.join(recipe['initial'])}"
    )


@st.cache_data(max_entries=64, show_spinner=False)
def table(key: str, measure: str) -> pd.DataFrame:
    """What every variant does to quality, to robustness and to cost."""
    return ablation.table(result(key), measure)


@st.cache_data(max_entries=64, show_spinner=False)
def finding(key: str, measure: str) -> str:
    """What the numbers amount to, in words."""
    return ablation_finding.finding(result(key), measure)


@st.cache_data(max_entries=64, show_spinner=False)
def by_query(key: str, variant: str, effect: Effect, measure: str) -> pd.DataFrame:
    """A variant beside the first one, query by query, the greatest gain first."""
    return ablation_queries.by_query(result(key), variant, effect, measure)
