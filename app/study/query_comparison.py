"""The queries behind a number: by damage, by what they have in common, one answered twice."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import streamlit as st

from shuffleproof.app import address, captions, rescoring, services, state
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.figures import bump, perturbations
from shuffleproof.app.figures.perturbations import MOST_QUERIES
from shuffleproof.app.plain import refusal
from shuffleproof.app.study import parts
from shuffleproof.app.study.picture import OnClick, cached_figure, chart
from shuffleproof.core.answers.one_list import fell_most
from shuffleproof.core.data.display_texts import DisplayTexts
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.studies import slices, tables
from shuffleproof.core.studies.result import in_words
from shuffleproof.core.studies.tables import Table
from shuffleproof.core.words import counted

LONG, FIRST = 100, 10
"""Documents beyond which a list is drawn in part, and how many of each answer always are."""

FEATURE = re.compile("feature .* as it is")
MAP, BUMP, FEATURES = "query map", "bump", "features"
DOCUMENT = (
    tables.Column("document", "Document"),
    tables.Column("label", "Label", tables.LEVEL),
    tables.Column("moved", "Moved", tables.FLAG, "Passed another document."),
)
"""Columns of every table of documents."""

Value = TypeVar("Value")
Replay = Callable[[str, int, tuple[int, ...]], pd.DataFrame]
"""Query, seed and features to both answers."""


@dataclass(frozen=True)
class ComparisonTexts:
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


def by_damage(
    frame: pd.DataFrame, start: str, measure: str, columns: Sequence[tables.Column], *, height: int
) -> bool:
    """Draw what disturbing did to the queries, in words and as rows; whether there are any.

    Args:
        frame: query, unchanged, disturbed and change, the most damaged first.
        start: what was done, and to whom.
        measure: that changed.
        columns: of the table.
        height: of the table in pixels.
    """
    if not len(frame):
        st.caption("Every query is left out by this measure.")
        return False
    parts.sentence(in_words(frame, start, measure, ("unchanged", "disturbed")))
    alt = "Queries, the most damaged first; choose a row to see its list"
    rows(frame, columns, alt, height=height)
    draw_slices(frame, measure)
    return True


def level(words: str, levels: Sequence[float], place: Any = st) -> float:
    """Draw the choice of a level, by default the last; a click on a mark sets it too."""
    chosen = place.selectbox(
        words, levels, index=len(levels) - 1, key="at", bind="query-params",
        format_func=lambda level: f"{level:g}",
    )  # fmt: skip
    return levels[-1] if chosen is None else float(chosen)


def by_column(frame: pd.DataFrame, axis: str, measure: str, origin: str, takes: OnClick) -> None:
    """Draw the map of queries and what they were compared under.

    Args:
        frame: a column a size or condition, a row a query.
        axis: title of the columns.
        measure: that changed.
        origin: what it changed from.
        takes: what a click on a cell does.
    """
    figure = cached_figure(perturbations.query_columns, frame, axis, measure)
    chart(figure, MAP, takes, config=parts.PLAIN)
    more = f" The {MOST_QUERIES} most damaged of {len(frame)}." if len(frame) > MOST_QUERIES else ""
    parts.note(f"Change from {origin}. Click a cell for its list.{more}")


@st.fragment
def one_query(
    frame: pd.DataFrame, seeds: Sequence[int], compared: ComparisonTexts, replay: Replay
) -> None:
    """Draw the choice of a query and, once there is one, both answers to it.

    Args:
        frame: the queries, the most damaged first.
        seeds: that the ranker was trained with.
        compared: what is compared.
        replay: scores the list again.
    """
    ids = list(map(str, frame["query"]))
    if st.session_state.get("of") not in {None, *ids}:  # of another study
        del st.session_state["of"]
    left, right = st.columns(2)
    chosen = query(ids, "Choose a row or a cell above, or a query here", left)
    if chosen is None:
        return
    seed = seeds[0] if seeds else 0
    if len(seeds) > 1:
        options = {trained: (str(trained),) for trained in seeds}
        seed = right.selectbox(
            "Seed", **address.selectbox("seed", options, seed),
            help="The numbers above are means over all of them.",
        )  # fmt: skip
    moves = rescore(lambda: replay(chosen, int(seed or 0), features()))
    if moves is not None:
        _both_answers(moves, f"Query {chosen}. {compared.caption}", compared)


def _both_answers(moves: pd.DataFrame, caption: str, compared: ComparisonTexts) -> None:
    near_top = (moves["answered"] <= FIRST) | (moves["answered_before"] <= FIRST)
    telling = moves[(moves["kind"] == "kept") | (moves["label"] > 0) | near_top]
    shown = moves if len(moves) <= LONG else telling
    bump_chart(shown, compared.ranker, compared.heads)
    gone, new = (int((moves["kind"] == kind).sum()) for kind in ("gone", "new"))
    other = f" {counted(new, 'document')} joined the list." if new else ""
    other += f" {counted(gone, 'document')} left the list." if gone else ""
    if len(shown) < len(moves):
        other += (
            f" Drawn are {len(shown)} of {len(moves)}: those of both lists, the relevant ones "
            f"and the first {FIRST} of each answer."
        )
    parts.note(
        f"{caption} Filled marks are relevant documents, strong lines are "
        f"documents that passed another.{other}"
    )
    sides = (("", compared.now), ("_before", compared.before))
    columns = [
        tables.Column(f"{name}{side}", f"{name.capitalize()}: {words}", tables.COUNT)
        for side, words in sides
        for name in ("shown", "answered")
    ]
    columns += [tables.Column(f"score{side}", f"Score: {words}", ".4g") for side, words in sides]
    alt = "Every document of the list with both answers"
    documents(_once(moves), columns, "Of every document of the list.", alt)


def _once(moves: pd.DataFrame) -> pd.DataFrame:
    """The documents with each feature once: what they hold does not change here."""
    before = [name for name in map(str, moves) if FEATURE.fullmatch(name)]
    features = {
        name: moves[name].combine_first(moves[f"{name} as it is"])
        for name in (name.removesuffix(" as it is") for name in before)
    }
    return moves.drop(columns=[*before, *features]).assign(**features)


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
            for name, values in ids.items():
                st.session_state[name] = values.iloc[row]

    table = tables.infer_columns(frame, alt, (tables.Column("query", "Query"), *columns))
    data_frame(table, key, on_select=take, selection_mode="single-row", height=height)


def query(queries: Iterable[object], placeholder: str, place: Any = st) -> str | None:
    """Draw the choice of a query; a click on a row or a mark sets it too."""
    chosen = place.selectbox(
        "Query", list(dict.fromkeys(map(str, queries))), index=None, key="of",
        bind="query-params", placeholder=placeholder,
    )  # fmt: skip
    if chosen is None:
        return None
    captions.draw_query_text(str(chosen), place)
    return str(chosen)


def draw(frame: pd.DataFrame, chosen: str, draws: int, place: Any) -> int:
    """Draw the choice of one of the draws of a query.

    Args:
        frame: query and worst_draw.
        chosen: the query.
        draws: how many there are.
        place: where it is drawn.
    """
    worst = int(frame.loc[frame["query"].astype(str) == chosen, "worst_draw"].iloc[0])
    picked = place.selectbox(
        "Draw", ["worst", *map(str, range(draws))], key="draw", bind="query-params",
        help=f"Worst: the draw with the lowest value for this query, here draw {worst}.",
    )  # fmt: skip
    return worst if picked in {None, "worst"} else int(picked)


def rescore(ask: Callable[[], Value], words: str = "Scoring the list again …") -> Value | None:
    """What the scoring process answers; None, and a notice, where it has no answer.

    Args:
        ask: asks it.
        words: what stands on the page meanwhile.
    """
    try:
        with st.spinner(words, show_time=True):
            return ask()
    except ShuffleproofError as error:
        st.warning(refusal(error), icon=":material/info:")
        return None


def features() -> tuple[int, ...]:
    """The features that the table of a list's documents shows."""
    return tuple(int(name) for name in st.session_state.get(FEATURES, ()))


def bump_chart(moves: pd.DataFrame, ranker: str, heads: Sequence[str] = bump.HEADS) -> None:
    """Draw both answers as a bump chart, above it in words which document fell most.

    Args:
        moves: as `app.figures.bump` takes them.
        ranker: who answered.
        heads: what stands over the three columns.
    """
    moves = captions.titles(moves)
    if fallen := fell_most(moves):
        parts.sentence(fallen)
    chart(bump.bump(moves, ranker, heads=heads), BUMP, config=parts.PLAIN)


def documents(moves: pd.DataFrame, columns: Sequence[tables.Column], of: str, alt: str) -> None:
    """Draw the documents of a list in numbers, folded up.

    Args:
        moves: a row a document.
        columns: how columns are drawn that are called otherwise on other pages.
        of: what the features chosen are those of.
        alt: the table in words.
    """
    place = parts.fold("Documents, labels, scores and features of this list", "documents opened")
    if place is None:
        return
    with place:
        st.multiselect(
            "Features", rescoring.features(), key=FEATURES, wrap=True, placeholder="none", help=of
        )
        known = (*DOCUMENT, tables.Column("kind", "In", help="kept: in both lists"), *columns)
        data_frame(tables.infer_columns(moves, alt, known), "documents")


def draw_slices(frame: pd.DataFrame, measure: str) -> None:
    """Draw the choice of what queries are sliced by, and the table of the slices.

    Args:
        frame: query and change.
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
        "Slice by", offered, key="slice", bind="query-params",
        help="The mean change of queries that have it in common, with its paired interval.",
    )  # fmt: skip
    if chosen is None:
        return
    values = frame["change"].to_numpy(dtype=np.float64)
    means = slices.slice_table(list(frame["query"].astype(str)), values, facts[str(chosen)])
    if words := slices.in_words(means, measure):
        parts.sentence(words)
    data_frame(Table(means, slices.COLUMNS, f"Change of {measure} by {chosen}"), "slices")


@st.cache_data(max_entries=8, show_spinner=False, hash_funcs={DisplayTexts: id})
def _facts(key: str, texts: DisplayTexts | None) -> pd.DataFrame:
    return slices.query_facts(services.fold(key).test, texts)
