"""The cards themselves: a row a ranker, and how far documents of each grade moved."""

import pandas as pd
import streamlit as st

from shuffleproof.app import opened
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.study import parts
from shuffleproof.core.studies.kinds.card import table as card_table
from shuffleproof.core.studies.kinds.card.study import MOVED


def section(cards: pd.DataFrame, key: str, family: str, measure: str) -> None:
    """Draw the cards of all rankers.

    Args:
        cards: as `app.disturbed.cards` gives them.
        key: of the study.
        family: of perturbations.
        measure: that they are of.
    """
    st.subheader("The cards", anchor=False)
    data_frame(card_table.told(cards, family).without(*MOVED), "cards")
    convention = card_table.convention(opened.result(key), measure)
    parts.convention(convention, "empty: it never happens, or there is nothing to compare with")
    st.subheader("Who is moved: relevant documents or others?", anchor=False)
    data_frame(card_table.moves(cards, family), "moves")
    st.caption(
        "Mean number of positions that documents of a grade moved in the ranker's own answer, from "
        "the lists as they are to the last level; a mean over the queries that have the grade."
    )
