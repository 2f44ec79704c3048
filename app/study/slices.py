"""Below the queries of a study: the same change by what queries have in common."""

import numpy as np
import pandas as pd
import streamlit as st

from shuffleproof.app import captions, services, state
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.plain import escaped_sentence
from shuffleproof.core.data.display_texts import DisplayTexts
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.studies import slices
from shuffleproof.core.studies.tables import Table

KEY = "slice"


def draw_slices(frame: pd.DataFrame, change: str, measure: str) -> None:
    """Draw the choice of what queries are sliced by, and the table of the slices.

    Args:
        frame: query and its numbers.
        change: the column of what is sliced.
        measure: that changed.
    """
    try:
        facts = _facts(str(services.data_set(state.data()).key), captions.of())
    except ShuffleproofError:  # the data set is gone; its page says so
        return
    facts = facts[facts.index.isin(frame["query"].astype(str))]
    offered = [name for name in map(str, facts) if len(set(facts[name])) > 1]
    if not offered:
        return
    chosen = st.segmented_control(
        "Slice by", offered, key=KEY, bind="query-params",
        help="The mean change of queries that have it in common, with its paired interval.",
    )  # fmt: skip
    if chosen is None:
        return
    values = frame[change].to_numpy(dtype=np.float64)
    found = slices.slice_table(list(frame["query"].astype(str)), values, facts[str(chosen)])
    words = slices.in_words(found, measure)
    if words:
        st.markdown(escaped_sentence(words))
    data_frame(Table(found, slices.COLUMNS, f"Change of {measure} by {chosen}"), "slices")


@st.cache_data(max_entries=8, show_spinner=False, hash_funcs={DisplayTexts: id})
def _facts(key: str, texts: DisplayTexts | None) -> pd.DataFrame:
    return slices.query_facts(services.fold(key).test, texts)
