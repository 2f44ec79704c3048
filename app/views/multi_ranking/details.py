"""Below the dots: every number with its test, and the claim's steps."""

from dataclasses import asdict

import pandas as pd
import streamlit as st

from shuffleproof.app import rankings
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import parts
from shuffleproof.app.views.multi_ranking import queries
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.claims import STEPS
from shuffleproof.core.studies.kinds.multi_ranking import sections as multi_ranking_table
from shuffleproof.core.studies.tables import Table

ADJUSTED = "Intervals of changes are adjusted as p is: they leave out 0 where p ≤ .05."


def section(artefact: Artefact, measure: str) -> None:
    """Draw the queries behind a dot to be chosen, then the table and the claim's steps."""
    key = str(artefact.key)
    queries.section(artefact, measure)
    _numbers(key, measure)
    _claim(key, measure)


def _numbers(key: str, measure: str) -> None:
    st.subheader("Is it more than chance?")
    frame = rankings.table(key, measure)
    title = f"{measure} of every ranker under every condition"
    data_frame(Table(frame, multi_ranking_table.COLUMNS, title), "numbers")
    parts.convention(
        "Every condition is scored on the same candidates; DLCM is fed in the order of what stands "
        "in the initial ranking's place",
        escaped(multi_ranking_table.adjustment(frame)),
        ADJUSTED,
    )


def _claim(key: str, measure: str) -> None:
    found = rankings.claim(key, measure)
    if found is None:
        return
    st.subheader("The paper's claim, step by step")
    title = "The two steps of the paper's claim with intervals and p"
    data_frame(Table(pd.DataFrame([asdict(step) for step in found.steps]), STEPS, title), "steps")
    st.caption(
        escaped(
            f"Many initial rankings beat one, and one beats none (SetRank, Table 4): {found.word} "
            "here. It holds where both steps are above 0 at p ≤ .05."
        )
    )
