"""One query as a study answered it twice: choosing it, both answers as a bump chart, documents."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from shuffleproof.app import address
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import query_rows, rescored_list
from shuffleproof.core.studies import tables

LONG, FIRST = 100, 10
"""Documents beyond which a list is drawn in part, and how many of each answer always are."""

Replay = Callable[[str, int, tuple[int, ...]], pd.DataFrame]
"""Query, seed and features to both answers."""


@dataclass(frozen=True)
class Compared:
    """What is compared, in words.

    Attributes:
        ranker: its label, which gives the colour.
        heads: of the three columns: what the lists were shown by, the answer, the other answer.
        caption: what the columns are, in full.
        before: what stands on the right of the numbers.
        now: what stands on the left of them.
    """

    ranker: str
    heads: tuple[str, str, str]
    caption: str
    before: str
    now: str


@st.fragment
def one_query(ids: Sequence[str], seeds: Sequence[int], compared: Compared, replay: Replay) -> None:
    """Draw the choice of a query and, once there is one, both answers to it.

    Args:
        ids: of the queries, the most damaged first.
        seeds: that the ranker was trained with.
        compared: what is compared.
        replay: scores the list again.
    """
    if st.session_state.get("of") not in {None, *ids}:  # of another study
        del st.session_state["of"]
    left, right = st.columns(2)
    query = query_rows.query(ids, "Choose a row or a cell above, or a query here", left)
    if query is None:
        return
    seed = seeds[0] if seeds else 0
    if len(seeds) > 1:
        address.one("seed", {one: (str(one),) for one in seeds}, seed)
        seed = right.selectbox(
            "Seed", list(seeds), key="seed",
            help="The numbers above are means over all of them.",
        )  # fmt: skip
    moves = rescored_list.rescored(lambda: replay(query, int(seed or 0), rescored_list.features()))
    if moves is not None:
        _drawn(moves, f"Query {query}", compared)


def _drawn(moves: pd.DataFrame, query: str, compared: Compared) -> None:
    telling = moves if len(moves) <= LONG else moves[_telling(moves)]
    rescored_list.chart(telling, compared.ranker, compared.heads)
    gone, new = (int((moves["kind"] == kind).sum()) for kind in ("gone", "new"))
    other = f" {new} {_documents(new)} joined the list." if new else ""
    other += f" {gone} {_documents(gone)} left the list." if gone else ""
    if len(telling) < len(moves):
        other += (
            f" Drawn are {len(telling)} of {len(moves)}: those of both lists, the relevant ones "
            f"and the first {FIRST} of each answer."
        )
    st.caption(
        escaped(
            f"{query}. {compared.caption} Full marks are relevant documents, strong lines are "
            f"documents that passed another.{other}"
        )
    )
    now, before, count = compared.now, compared.before, tables.COUNT
    columns = (
        tables.Column("shown", f"Shown: {now}", count),
        tables.Column("answered", f"Answered: {now}", count),
        tables.Column("shown_before", f"Shown: {before}", count),
        tables.Column("answered_before", f"Answered: {before}", count),
        tables.Column("score", f"Score: {now}", ".4g"),
        tables.Column("score_before", f"Score: {before}", ".4g"),
    )
    alt = "Every document of the list with both answers"
    rescored_list.documents(_once(moves), columns, "Of every document of the list.", alt)


def _telling(moves: pd.DataFrame) -> pd.Series:
    """Which documents of a long list are drawn: some lists hold hundreds that only fill it."""
    first = (moves["answered"] <= FIRST) | (moves["answered_before"] <= FIRST)
    return (moves["kind"] == "kept") | (moves["label"] > 0) | first


def _documents(count: int) -> str:
    return "document" if count == 1 else "documents"


def _once(moves: pd.DataFrame) -> pd.DataFrame:
    """The documents with each feature once: what they hold does not change here."""
    names = [str(name) for name in moves]
    kept = [name for name in names if not name.startswith("feature ")]
    there = [name for name in names if name not in kept and not name.endswith(" as it is")]
    features = {name: moves[name].combine_first(moves[f"{name} as it is"]) for name in there}
    return moves[kept].assign(**features)
