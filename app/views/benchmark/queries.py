"""Two rows of a benchmark query by query: who wins where, and one query as both answered it."""

from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import address, benchmarks
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.figures import benchmark_deltas, benchmark_query, query_bars
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import parts, query_rows, rescored_list
from shuffleproof.app.views.benchmark.chosen import Chosen
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.kinds.benchmark.rows import REFERENCES
from shuffleproof.core.studies.kinds.ranking_degradation.study import INITIAL
from shuffleproof.core.studies.query_changes import in_words

BARS, ROWS, BUMP, FEATURES = "deltas", "queries", "answers", "features"

Pair = tuple[str, str]
Query = tuple[str, str]
"""A query's id and its fold."""


@st.fragment
def section(chosen: Chosen) -> None:
    """Draw the two rankers to choose, the queries by difference, and one query's documents."""
    st.subheader("Query by query")
    pair = _two(chosen)
    if pair is not None:
        _compared(chosen, pair)


def _compared(chosen: Chosen, pair: Pair) -> None:
    """The queries by difference, and one query's documents."""
    frame = benchmarks.deltas(chosen.key, pair, str(chosen.measure))
    if not len(frame):
        st.caption("Every query is left out by this measure.")
        return
    who, ends = f"{pair[0]} against {pair[1]}", ("baseline", "ranker")
    st.markdown(escaped(in_words(frame, who, str(chosen.measure), ends, "difference")))
    query = st.session_state.get("of") or st.query_params.get("of")
    left, right = st.columns([3, 2], gap="medium")
    left.plotly_chart(
        benchmark_deltas.deltas(frame, pair, str(chosen.measure), query),
        key=BARS,
        alt=benchmark_deltas.alt_text(frame, pair, str(chosen.measure)),
        on_select=_take,
        selection_mode="points",
        config=parts.PLAIN,
    )
    with right:
        _rows(frame, pair)
    _one_query(chosen, pair, frame)


def _two(chosen: Chosen) -> Pair | None:
    """The ranker (a click on the picture sets it) and whom it is compared with."""
    means = benchmarks.means(chosen.key, (str(chosen.measure),)).set_index("ranker")["mean"]
    ranked = means[[label for label in chosen.labels if label not in REFERENCES]]
    if not len(ranked):
        return None
    best = str(ranked.idxmax()) if ranked.notna().any() else str(ranked.index[0])
    left, right = st.columns(2)
    address.one("ranker", address.named(*chosen.labels), best)
    ranker = left.selectbox(
        "Ranker", chosen.labels, key="ranker",
        help="A click on a dot of the picture chooses it too.",
    )  # fmt: skip
    usual = chosen.baseline if chosen.baseline != ranker else INITIAL
    others = [label for label in chosen.labels if label != ranker]
    other = right.selectbox(
        "Minus", others, index=others.index(usual) if usual in others else 0, key="minus",
        bind="query-params",
    )  # fmt: skip
    return None if ranker is None or other is None else (ranker, other)


def _take() -> None:
    """A click on a bar chooses its query."""
    facts = parts.clicked(BARS)
    if facts:
        st.session_state["of"], st.session_state["fold of"] = str(facts[0]), str(facts[1])


def _rows(frame: pd.DataFrame, pair: Pair) -> None:
    """The queries by difference, the greatest gain first; a row chosen opens its documents."""
    folds = ["fold"] if len(set(frame["fold"])) > 1 else []
    columns = (
        tables.Column("fold", "Fold"),
        tables.Column("difference", "Difference", tables.CHANGE),
        tables.Column("ranker", pair[0], tables.VALUE),
        tables.Column("baseline", pair[1], tables.VALUE),
    )
    query_rows.rows(
        frame[["query", *folds, "difference", "ranker", "baseline"]], columns,
        "Queries by difference; choose a row to see its documents",
        height=query_bars.HEIGHT, key=ROWS,
    )  # fmt: skip


def _one_query(chosen: Chosen, pair: Pair, frame: pd.DataFrame) -> None:
    left, right = st.columns(2)
    query = query_rows.query(frame["query"], "Click a bar or a row, or choose a query", left)
    if query is None:
        return
    own = frame[frame["query"].astype(str) == query]
    fold = st.session_state.get("fold of")
    if fold not in set(own["fold"]):
        fold = str(own["fold"].iloc[0])
    seeds = benchmarks.seeds(chosen.artefact.recipe)
    most = max(seeds[label] for label in pair)
    seed = 0
    if most > 1:
        address.one("seed", {one: (str(one),) for one in range(most)}, 0)
        seed = right.selectbox("Seed", list(range(most)), key="seed") or 0
    try:
        (_runs if chosen.of_runs else _answers)(chosen, pair, (query, str(fold)), int(seed))
    except ShuffleproofError as error:
        st.warning(escaped(str(error)), icon=":material/info:")


def _answers(chosen: Chosen, pair: Pair, query: Query, seed: int) -> None:
    """A query's documents from the initial ranking to both answers."""
    names = st.session_state.get(FEATURES, ())
    columns = tuple(int(name) for name in names)
    answers = benchmarks.answers(chosen.key, query, pair, seed, columns)
    _chart(benchmark_query.two_answers(answers, pair), benchmark_query.alt_text(answers, pair))
    st.caption(
        escaped(
            f"Query {query[0]} of {query[1]} · seed {seed} · left: the initial ranking · middle: "
            f"the answer of {pair[0]} · right: that of {pair[1]} · full marks are relevant "
            "documents, strong lines relevant ones that the two put at different places, dotted "
            f"lines lead from the initial ranking to the answer of {pair[1]}"
        )
    )
    more = _documents(answers, pair)
    if more.open:
        more.multiselect(
            "Features", benchmarks.features(chosen.key, query[1]), key=FEATURES, wrap=True,
            placeholder="none", help="Their values stand beside every document.",
        )  # fmt: skip


def _runs(chosen: Chosen, pair: Pair, query: Query, seed: int) -> None:
    """What two runs from files retrieved for a topic."""
    found = benchmarks.answers(chosen.key, query, pair, seed, ())
    _chart(benchmark_query.two_runs(found, pair), benchmark_query.runs_alt_text(found, pair))
    st.caption(
        escaped(
            f"Topic {query[0]} · left: the first {benchmark_query.DEPTH} of {pair[0]} · right: "
            f"those of {pair[1]} · full marks are relevant documents · a line that is missing: "
            "the other run has the document further down or not at all"
        )
    )
    _documents(found, pair)


def _chart(figure: Any, words: str) -> None:
    st.plotly_chart(figure, key=BUMP, config=parts.PLAIN, alt=words)


def _documents(frame: pd.DataFrame, pair: Pair) -> Any:
    """The documents of the list in numbers, once somebody opens them."""
    what = "labels, scores and features" if "initial" in frame else "labels and scores"
    more = st.expander(f"Documents, {what} of this list", key="documents opened", on_change="rerun")
    if more.open:
        known = [*rescored_list.DOCUMENT, tables.Column("initial", "Initially at", tables.COUNT)]
        for name in pair:
            known.append(tables.Column(name, f"{name}: at", tables.COUNT))
            known.append(tables.Column(f"score of {name}", f"{name}: score", ".4g"))
        title = "Every document of the list with its label, places and scores"
        data_frame(tables.inferred(frame, title, known), "documents", more)
    return more
