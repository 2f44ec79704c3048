"""One query as a study answered it twice: choosing it, both answers as a bump chart, documents."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import address
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import rescored_list
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
    chosen = query(ids, "Choose a row or a cell above, or a query here", left)
    if chosen is None:
        return
    seed = seeds[0] if seeds else 0
    if len(seeds) > 1:
        address.one("seed", {one: (str(one),) for one in seeds}, seed)
        seed = right.selectbox(
            "Seed", list(seeds), key="seed",
            help="The numbers above are means over all of them.",
        )  # fmt: skip
    moves = rescored_list.rescored(lambda: replay(chosen, int(seed or 0), rescored_list.features()))
    if moves is not None:
        _drawn(moves, f"Query {chosen}", compared)


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


def rows(
    frame: pd.DataFrame,
    columns: Sequence[tables.Column],
    alt: str,
    *,
    height: int,
    key: str = "behind",
) -> None:
    """Draw the queries, the most telling first; a click on a row chooses its query.

    Args:
        frame: query and its numbers; where queries are told apart by their folds too, fold.
        columns: its columns, but for the query.
        alt: the table in words.
        height: of the table in pixels.
        key: of the widget.
    """
    chosen = {"of": "query"} | ({"fold of": "fold"} if "fold" in frame else {})
    ids = {name: frame[column].astype(str) for name, column in chosen.items()}

    def take() -> None:
        for row in st.session_state[key]["selection"]["rows"]:
            for name, own in ids.items():
                st.session_state[name] = own.iloc[row]

    table = tables.inferred(frame, alt, (tables.Column("query", "Query"), *columns))
    data_frame(table, key, on_select=take, selection_mode="single-row", height=height)


def query(queries: Iterable[object], placeholder: str, place: Any = st) -> str | None:
    """Draw the choice of a query; a click on a row or a mark sets it too."""
    found = place.selectbox(
        "Query", list(dict.fromkeys(map(str, queries))), index=None, key="of",
        bind="query-params", placeholder=placeholder,
    )  # fmt: skip
    return None if found is None else str(found)


def draw(frame: pd.DataFrame, chosen: str, draws: int, place: Any) -> int:
    """Draw the choice of one of the draws of a query.

    Args:
        frame: query and worst_draw.
        chosen: the query.
        draws: how many there are.
        place: where it is drawn.
    """
    worst = int(frame.loc[frame["query"].astype(str) == chosen, "worst_draw"].iloc[0])
    found = place.selectbox(
        "Draw", ["worst", *map(str, range(draws))], key="draw", bind="query-params",
        help=f"Worst: the draw with the lowest value for this query, here draw {worst}.",
    )  # fmt: skip
    return worst if found in {None, "worst"} else int(found)
