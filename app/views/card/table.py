"""The cards themselves: a row a ranker, and how far documents of each grade moved."""

from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import disturbed, opened
from shuffleproof.app.study import parts
from shuffleproof.core.studies.kinds.card import table as card_table
from shuffleproof.core.studies.kinds.card.study import FLIPS, MOVED

INTERVAL = "95 % interval over queries (bootstrap, rankers paired)."
CROSSING = "Where the curves cross, taken as straight between the levels measured."


def section(cards: pd.DataFrame, key: str, family: str, measure: str) -> None:
    """Draw the cards of all rankers.

    Args:
        cards: as `app.disturbed.cards` gives them.
        key: of the study.
        family: of perturbations.
        measure: that they are of.
    """
    st.subheader("The cards", anchor=False)
    shown = cards.drop(columns=list(MOVED))
    st.dataframe(
        shown,
        hide_index=True,
        key="cards",
        placeholder="",
        column_config=_columns(disturbed.unit(family)),
        alt=f"Robustness cards under {family}: one row a ranker",
    )
    convention = card_table.convention(opened.result(key), measure)
    parts.convention(convention, "empty: it never happens, or there is nothing to compare with")
    st.subheader("Who is moved: relevant documents or others?", anchor=False)
    moved = cards[["ranker", *MOVED]].dropna(axis="columns", how="all")
    number = st.column_config.NumberColumn
    st.dataframe(
        moved,
        hide_index=True,
        key="moves",
        placeholder="",
        column_config={"ranker": st.column_config.TextColumn("Ranker", pinned=True)}
        | {name: number(f"grade {name[-1]}", format="%.2f") for name in MOVED},
        alt="Mean number of positions that documents of each grade moved in the answer",
    )
    st.caption(
        "Mean number of positions that documents of a grade moved in the ranker's own answer, from "
        "the lists as they are to the last level; a mean over the queries that have the grade."
    )


def _columns(unit: str) -> dict[str, Any]:
    number, text = st.column_config.NumberColumn, st.column_config.TextColumn
    flips = {
        name: number(
            f"top {depth} flips",
            format="percent",
            help=f"Share of the first {depth} documents of the answer that are others.",
        )
        for name, depth in FLIPS.items()
    }
    return {
        "ranker": text("Ranker", pinned=True),
        "start": number("Start", format="%.3f", help="Mean on the lists as they are."),
        "end": number("End", format="%.3f", help="Mean at the last level."),
        "kept": number("Kept", format="percent", help="End as a share of start."),
        "kept_low": number("from", format="percent", help=INTERVAL),
        "kept_high": number("to", format="percent", help=INTERVAL),
        "area": number("Area", format="%.3f", help="Under the curve; 1: unharmed at every level."),
        "area_low": number("from", format="%.3f", help=INTERVAL),
        "area_high": number("to", format="%.3f", help=INTERVAL),
        "keeps_less_than": text("Keeps less than", help="Those that keep more, beyond chance."),
        "below_initial": number(
            "Below initial", format="%g",
            help=f"Breakdown point: the first level measured ({unit}) at which the curve is below "
            "the undisturbed initial ranking.",
        ),
        "below_initial_crossing": number("interpolated", format="%.2g", help=CROSSING),
        "below_twin": number(
            "Below twin", format="%g",
            help=f"The first level measured ({unit}) at which the curve is below the same ranker "
            "without ordinal embeddings, where the study has it.",
        ),
        "below_twin_crossing": number("interpolated", format="%.2g", help=CROSSING),
        "cvar": number("CVaR 5 %", format="%+.3f", help="Mean change of the worst 5 % of queries."),
        "worst": text("Worst query"),
        "worst_change": number("its change", format="%+.3f"),
        **flips,
        "milliseconds_a_list": number("ms a list", format="%.3g", help="Scoring, in batches."),
        "noise": text("Own noise", help="Of rankers that are not deterministic."),
        "front": st.column_config.CheckboxColumn(
            "Front", help="Not beaten by another here; the initial ranking takes no part."
        ),
    }  # fmt: skip
