"""The invariance page's second half: certificates over the whole test part, queries by damage."""

import streamlit as st

from app import services
from app.scoring import Described
from app.services import Certified
from app.views import shown_list
from core.studies.one_list import spoken
from core.studies.trained import TrainedRanker

PERMUTATIONS = 20


def section(data: Described, rankers: list[TrainedRanker]) -> None:
    """Draw the certificates of these rankers and the queries that suffered."""
    st.subheader("Over all test queries")
    found = services.certified(data.data)
    known = [(ranker, found[ranker.digest]) for ranker in rankers if ranker.digest in found]
    for at in range(0, len(known), 3):
        for column, (_, certified) in zip(st.columns(3), known[at : at + 3], strict=False):
            with column.container(border=True, height="stretch"):
                _card(certified)
    missing = [ranker for ranker in rankers if ranker.digest not in found]
    if missing:
        _offer(data, missing)
    _by_damage(known)


def _card(certified: Certified) -> None:
    card = certified.certificate
    icon = ":material/verified:" if card.invariant else ":material/error:"
    verdict = "Invariant" if card.invariant else "Not invariant"
    st.markdown(f"**{certified.label}**  \n{icon} **{verdict}** to the order shown")
    st.markdown(
        f"Largest score difference **{card.max_score_deviation:.3g}**; arithmetic alone makes "
        f"{card.numeric_floor:.2g}. Documents moved: **{card.positions_moved:,}**, in "
        f"{card.queries_moved} of {card.queries} queries."
    )
    st.caption(f"{card.permutations:,} real permutations · {certified.study}")


def _offer(data: Described, missing: list[TrainedRanker]) -> None:
    names = [spoken(ranker.label) for ranker in missing]
    st.markdown(f"No certificate yet: {', '.join(names)}.")
    asked = ",".join(
        f"{ranker.name}@{ranker.preset}" for ranker in missing if ranker.preset is not None
    )
    if asked:
        st.code(f"shuffleproof study invariance --data {data.data} --rankers {asked}", "bash")


def _by_damage(known: list[tuple[TrainedRanker, Certified]]) -> None:
    if not known:
        return
    st.subheader("Queries by damage")
    labels = [certified.label for _, certified in known]
    worst = max(known, key=lambda pair: pair[1].certificate.positions_moved)[1].label
    label = st.selectbox(
        "Of ranker", labels, index=labels.index(worst), key="damage", bind="query-params"
    )
    certified = next(certified for _, certified in known if certified.label == label)
    table = services.damage(certified.study, label)

    def open_query() -> None:
        rows = st.session_state["queries"]["selection"]["rows"]
        if rows:
            st.session_state["query"] = str(table["query"].iloc[rows[0]])
            shown_list.forget_hand()

    st.caption("Click a row to open its query above.")
    st.dataframe(
        table,
        key="queries",
        hide_index=True,
        on_select=open_query,
        selection_mode="single-row",
        height=280,
        column_config={
            "query": "query",
            "moved": st.column_config.NumberColumn("most documents moved"),
            "deviation": st.column_config.NumberColumn("largest score difference", format="%.3g"),
            "tau": st.column_config.NumberColumn("lowest τ left", format="%.3f"),
            "gap": st.column_config.NumberColumn("smallest score gap", format="%.3g"),
        },
        alt=f"Queries by how much reordering changed {label}'s answer",
    )
