"""The card of one ranker, on one page that can be printed."""

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from shuffleproof.app import captions, disturbed_lists, study_access
from shuffleproof.app.figures import card_dials
from shuffleproof.app.figures import ranking_degradation as curves
from shuffleproof.app.figures.style import set_properties
from shuffleproof.app.plain import escaped_sentence
from shuffleproof.app.study import parts
from shuffleproof.app.study.picture import cached_figure, chart
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.card import sections
from shuffleproof.core.studies.kinds.perturbations.sections import damage
from shuffleproof.core.studies.kinds.ranking_degradation.sections import losses_of
from shuffleproof.core.studies.paired_differences import loss_in
from shuffleproof.core.studies.sections import View
from shuffleproof.core.words import counted, number, signed

WORST = 5
"""Queries that a card names."""

WIDTH = 700
"""Pixels: of a sheet of A4 without its margins."""


HEIGHT = 300
"""Pixels of the curve."""


def card(artefact: Artefact, ranker: str, family: str, measure: str) -> None:
    """Draw the card: verdict, dials, curve, worst queries, and under which conditions."""
    key = str(artefact.key)
    view = View((measure,), family=family, rankers=(ranker,))
    dials = study_access.compute(key, sections.dials, family, measure)
    own = dials[dials["ranker"] == ranker]
    st.caption("One page: print it with Ctrl + P (⌘ P). Nothing else of this page is printed.")
    with st.container(key="printed_card", border=True, width=WIDTH):
        st.subheader(
            escaped_sentence(f"Robustness card: {RankerName.of(ranker).display}"), anchor=False
        )
        if own.empty:
            st.caption("This part of the study is not stored.")
            return
        parts.headline(study_access.compute(key, sections.headline, view))
        if order := sections.of_order(_row(key, ranker, family, measure)):
            st.caption(escaped_sentence(order))
        words = {dial: name for dial, (name, _) in sections.DIALS.items()}
        alt = card_dials.dials_alt_text(own, words)
        chart(cached_figure(card_dials.dials, own, words), alt, "dials", config=parts.PLAIN)
        said = "; ".join(f"{name}: {what}" for name, what in sections.DIALS.values())
        st.caption(f"{measure}. {said}. 95 % intervals over queries.")
        _curve(key, ranker, family, measure)
        _worst(
            key, ranker, (family, disturbed_lists.families(artefact.recipe)[family][-1]), measure
        )
        st.caption(escaped_sentence(_conditions(artefact, family)))


def _row(key: str, ranker: str, family: str, measure: str) -> pd.DataFrame:
    cards = study_access.compute(key, sections.cards, family, measure)
    return cards[cards["ranker"] == ranker]


def _curve(key: str, ranker: str, family: str, measure: str) -> None:
    lost = study_access.compute(key, losses_of, family, measure)
    lost = lost[lost["ranker"] == ranker]
    if lost["level"].nunique() < 2:
        return
    axis = loss_in(measure)
    figure = go.Figure(
        cached_figure(curves.curves, lost, family, axis, disturbed_lists.unit(family))
    )
    set_properties(figure.layout, height=HEIGHT)
    chart(figure, curves.alt_text(lost, family, axis), "card curve", config=parts.PLAIN)


def _worst(key: str, ranker: str, point: tuple[str, float], measure: str) -> None:
    """The queries that lose most at the last level."""
    family, level = point
    frame = study_access.compute(key, damage, ranker, family, level, measure)
    lost = frame[frame["change"] < 0].head(WORST)
    if lost.empty:
        st.markdown(f"No query loses anything at level {level:g}.")
        return
    st.markdown(f"**The queries that lose most, at level {level:g}**")
    rows = {
        "Query": [_named(str(query)) for query in lost["query"]],
        "As it is": [number(value) for value in lost["unchanged"]],
        "Disturbed": [number(value) for value in lost["disturbed"]],
        "Change": [signed(value) for value in lost["change"]],
    }
    st.table(pd.DataFrame(rows).set_index("Query"))


def _named(query: str) -> str:
    """A query with its text, where a side file has it."""
    text = captions.text_of(query)
    return escaped_sentence(f"{query}: {text}" if text else query)


def _conditions(artefact: Artefact, family: str) -> str:
    """What a reader must know to compare the card with another."""
    recipe, facts = artefact.recipe, artefact.facts
    levels = disturbed_lists.families(recipe)[family]
    return " · ".join(
        [
            f"Data: {facts.get('data', '–')}",
            f"N = {counted(facts['queries'], 'query')}",
            f"lists by {', '.join(recipe['initial'])}",
            f"{family}: {disturbed_lists.unit(family)}, levels "
            + ", ".join(f"{level:g}" for level in levels),
            counted(recipe["draws"], "draw"),
            f"seed {recipe['seed']}",
            f"stored {study_access.day(artefact)} UTC as {artefact.key}",
        ]
    )
