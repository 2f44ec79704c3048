"""Below the dots: the queries behind one of them, and every number with its test."""

from dataclasses import asdict

import pandas as pd
import streamlit as st

from app import rankings
from app.plain import escaped
from app.views import parts

POINT = "behind dot"
Point = tuple[str, str]


def point(key: str, measure: str) -> Point | None:
    """The ranker and condition that the address asks for, where the study has them."""
    asked = st.session_state.get(POINT)
    if asked is None and "ranker" in st.query_params:
        asked = (st.query_params["ranker"], st.query_params.get("condition", ""))
    frame = rankings.table(key, measure)
    known = set(zip(frame["ranker"], frame["condition"], strict=True))
    if asked is None or tuple(asked) not in known:
        st.query_params.pop("ranker", None)
        st.query_params.pop("condition", None)
        return None
    st.query_params["ranker"], st.query_params["condition"] = asked
    return str(asked[0]), str(asked[1])


def section(key: str, measure: str, chosen: Point | None) -> None:
    """Draw the queries behind the chosen dot, then the table and the claim's steps."""
    _behind(key, measure, chosen)
    _numbers(key, measure)
    _claim(key, measure)


def _behind(key: str, measure: str, chosen: Point | None) -> None:
    if chosen is None:
        return
    ranker, condition = chosen
    st.subheader(escaped(f"{ranker}, {condition}"), anchor=False)
    frame = rankings.queries(key, chosen, measure)
    if len(frame):
        st.markdown(escaped(_said(frame, measure)))
    number = st.column_config.NumberColumn
    st.dataframe(
        frame,
        hide_index=True,
        key="behind",
        placeholder="",
        column_config={
            "query": st.column_config.TextColumn("Query", pinned=True),
            "as_trained": number("as trained", format="%.3f"),
            "here": number("here", format="%.3f"),
            "change": number("change", format="%+.3f"),
        },
        alt=f"Queries of {ranker} {condition}, the most damaged first",
    )


def _said(frame: pd.DataFrame, measure: str) -> str:
    worse, better = int((frame["change"] < 0).sum()), int((frame["change"] > 0).sum())
    text = f"Against the ranker as trained, {worse} of {len(frame)} queries lose {measure} and "
    text += f"{better} gain"
    first = frame.iloc[0]
    if first["change"] < 0:
        text += f"; query {first['query']} loses most: {first['change']:+.3f}"
    return f"{text}."


def _numbers(key: str, measure: str) -> None:
    st.subheader("Is it more than chance?")
    frame = rankings.table(key, measure)
    number, text = st.column_config.NumberColumn, st.column_config.TextColumn
    st.dataframe(
        frame,
        hide_index=True,
        key="numbers",
        placeholder="",
        column_config={
            "ranker": text("Ranker", pinned=True),
            "condition": text("Reads"),
            "mean": number("Mean", format="%.3f"),
            "low": number("from", format="%.3f", help="95 % interval over queries (BCa)."),
            "high": number("to", format="%.3f"),
            "change": number("− as trained", format="%+.3f"),
            "change_low": number("from ", format="%+.3f", help="95 % interval over queries."),
            "change_high": number("to ", format="%+.3f"),
            "change_p": number("p", format="%.2g", help="Paired t, Holm over all changes."),
            "n": number("N"),
        },
        alt=f"{measure} of every ranker under every condition",
    )
    parts.convention(
        "Every condition is scored on the same candidates in the same order shown",
        "paired t, Holm over all changes",
    )


def _claim(key: str, measure: str) -> None:
    found = rankings.claim(key, measure)
    if found is None:
        return
    st.subheader("The paper's claim, step by step")
    number, text = st.column_config.NumberColumn, st.column_config.TextColumn
    st.dataframe(
        pd.DataFrame([asdict(step) for step in found.steps]),
        hide_index=True,
        key="steps",
        placeholder="",
        column_config={
            "less": text("is below, it says"),
            "more": text("is above, it says"),
            "difference": number("difference", format="%+.3f"),
            "low": number("from", format="%+.3f", help="95 % interval over queries."),
            "high": number("to", format="%+.3f"),
            "p": number("p", format="%.2g", help="Paired t, two-sided."),
            "n": number("N"),
        },
        alt="The two steps of the paper's claim with intervals and p",
    )
    st.caption(
        escaped(
            f"Many initial rankings beat one, and one beats none (SetRank, Table 4): {found.word} "
            "here. It holds where both steps are above 0 at p ≤ .05."
        )
    )
