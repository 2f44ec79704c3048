"""Behind the worst case: queries by damage, the worst order of one, what each exchange costs it."""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from shuffleproof.app import disturbed
from shuffleproof.app.figures import worst_case as figure
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import parts, query_rows, rescored_list
from shuffleproof.app.study.perturbed_queries import both_lists
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.kinds.worst_case.sections import steps
from shuffleproof.core.studies.query_changes import in_words

CHART, MAP = "damages", "swaps"
PLACES = (10, 20, 40)
"""How many of the first places take part in the map of single exchanges."""


def take_point() -> None:
    """A click on the picture chooses its ranker and budget."""
    facts = parts.clicked(CHART)
    if facts and facts[1]:
        st.session_state["point"], st.session_state["at"] = str(facts[0]), int(facts[1])


@st.fragment
def section(artefact: Artefact, rankers: tuple[str, ...]) -> None:
    """Draw the queries of a ranker and budget, and what can be done to one of them."""
    st.subheader("Queries behind a point", anchor=False)
    budgets = [int(one) for one in artefact.recipe["budgets"]]
    left, right = st.columns(2)
    ranker = left.selectbox(
        "Ranker", rankers, index=None, key="point", bind="query-params",
        placeholder="Click a point of the picture, or choose",
    )  # fmt: skip
    unit = artefact.recipe["search"]["unit"]
    budget = right.selectbox(
        f"Budget ({unit})", budgets, index=len(budgets) - 1, key="at", bind="query-params"
    )
    if ranker is None:
        return
    _behind(artefact, ranker, budgets[-1] if budget is None else int(budget))


def _behind(artefact: Artefact, ranker: str, budget: int) -> None:
    """The queries by damage, and the worst order of one."""
    unit = artefact.recipe["search"]["unit"]
    frame = disturbed.worst_queries(str(artefact.key), ranker, budget)
    if not len(frame):
        st.caption("Every query is left out by this measure.")
        return
    who, measure = f"{steps(budget, unit)} at worst, {ranker}", str(artefact.recipe["measure"])
    st.markdown(escaped(in_words(frame, who, measure, ("as_is", "worst"))))
    _rows(frame)
    query = query_rows.query(frame["query"], "Choose a row above, or a query here")
    if query is not None:
        _one_list(artefact, ranker, query, budget)


def _rows(frame: pd.DataFrame) -> None:
    columns = [
        tables.Column("as_is", "As it is", tables.VALUE),
        tables.Column("random", "Random mean", tables.VALUE),
        tables.Column("worst", "Worst found", tables.VALUE),
        tables.Column("change", "Change", tables.CHANGE),
    ]
    alt = "Queries, the most damaged first; choose a row to see its worst order"
    query_rows.rows(frame, columns, alt, height=260)


def _one_list(artefact: Artefact, ranker: str, query: str, budget: int) -> None:
    moves = rescored_list.rescored(
        lambda: disturbed.worst_list(artefact, (ranker, budget), query, rescored_list.features())
    )
    if moves is None:
        return
    what = f"{steps(budget, artefact.recipe['search']['unit'])} of the "
    what += disturbed.TARGETS[artefact.recipe["target"]]
    both_lists(moves, ranker, f"Query {query}. Left: the worst order found within {what}.")
    _swaps(artefact, ranker, query, len(moves))


@st.fragment
def _swaps(artefact: Artefact, ranker: str, query: str, length: int) -> None:
    """What each single exchange costs this list; scored when it is asked for."""
    st.subheader("What each single exchange costs this query", anchor=False)
    options = [places for places in PLACES if places < length] + [min(length, PLACES[-1])]
    options = list(dict.fromkeys(options))
    places = st.segmented_control(
        "Among the first places", options, default=None, key="places", bind="query-params",
        help="n places are n · (n − 1) / 2 lists to score: 45, 190 and 780.",
    )  # fmt: skip
    if places is None:
        st.caption("Choose how many places take part; their exchanges are scored then.")
        return
    found = rescored_list.rescored(
        lambda: disturbed.swaps(artefact, ranker, query, int(places)), "Scoring every exchange …"
    )
    if found is None:
        return
    measure = str(artefact.recipe["measure"])
    costs = np.array(found["costs"], dtype=float)[: int(places), : int(places)]
    st.plotly_chart(
        figure.swaps(costs, found["documents"], found["labels"], measure), key=MAP,
        alt=figure.swaps_alt_text(costs, measure), config={"displaylogo": False},
    )  # fmt: skip
    st.caption(escaped(_dearest(costs, found, ranker, measure)))


def _dearest(costs: np.ndarray, found: dict[str, Any], ranker: str, measure: str) -> str:
    """The map in a sentence."""
    if found["invariant"]:
        return f"{ranker} reads nothing of what is exchanged: every exchange costs 0."
    known = np.nan_to_num(costs)
    if known.max(initial=0.0) <= 0:
        return f"No single exchange costs {ranker} any {measure} here."
    row, column = np.unravel_index(int(known.argmax()), known.shape)
    share = float((known[np.triu_indices(len(known), 1)] > 0).mean())
    return (
        f"The dearest exchange is that of places {row + 1} and {column + 1}: it costs "
        f"{known.max():.3f} {measure}; {100 * share:.0f} % of the exchanges cost something. Dots "
        "at the edges are relevant documents; purple exchanges help."
    )
