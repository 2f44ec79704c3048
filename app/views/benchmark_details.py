"""Below the table: the comparison in numbers, two rankers by query, ranks, the paper's rows."""

from typing import Any

import pandas as pd
import streamlit as st

from app import benchmarks
from app.figures import benchmark_deltas, benchmark_query, benchmark_ranks
from app.plain import escaped
from app.views import parts
from app.views.benchmark_chosen import Chosen
from core.data.published import CONVENTION, SOURCE
from core.errors import ShuffleproofError
from core.studies.benchmark import REFERENCES
from core.studies.initial_ranking import INITIAL

BARS, ROWS, BUMP = "deltas", "queries", "answers"
PLAIN = {"displayModeBar": False}


def section(chosen: Chosen) -> None:
    """Draw everything between the table and what can be taken away."""
    _numbers(chosen)
    _pair(chosen)
    _alike(chosen)
    _as_printed(chosen)
    with st.expander("Every number of the table"):
        st.dataframe(
            benchmarks.means(chosen.key, chosen.columns), hide_index=True, key="numbers",
            alt="Means by ranker and measure",
        )  # fmt: skip


def _numbers(chosen: Chosen) -> None:
    st.subheader("Is it more than chance?")
    number, text = st.column_config.NumberColumn, st.column_config.TextColumn
    st.dataframe(
        chosen.compared.drop(columns=["group"]),
        hide_index=True,
        key="compared",
        placeholder="",
        column_config={
            "ranker": text("Ranker", pinned=True),
            "difference": number(f"− {chosen.baseline}", format="%+.3f"),
            "low": number("from", format="%+.3f", help="95 % interval over queries (BCa)."),
            "high": number("to", format="%+.3f"),
            "p": number("p", format="%.2g", help="Adjusted by Holm over the rows."),
            "effect": number("d", format="%+.2f", help="Cohen's d of the differences."),
            "wins": number("better", help="Queries on which it is better."),
            "ties": number("equal"),
            "losses": number("worse"),
            "n": number("N"),
        },
        alt=f"Differences of {chosen.measure} from {chosen.baseline} by ranker",
    )
    parts.convention(
        escaped(chosen.measure.convention()), f"{chosen.test}, Holm over the rows",
        "d: Cohen's d of the differences",
    )  # fmt: skip


def _pair(chosen: Chosen) -> None:
    st.subheader("Query by query")
    pair = _two(chosen)
    if pair is None:
        return
    frame = benchmarks.deltas(chosen.key, pair, str(chosen.measure))
    if not len(frame):
        st.caption("Every query is left out by this measure.")
        return
    st.markdown(_said(frame, pair, str(chosen.measure)))
    query = st.session_state.get("of") or st.query_params.get("of")
    st.plotly_chart(
        benchmark_deltas.deltas(frame, pair, str(chosen.measure), query),
        key=BARS,
        alt=benchmark_deltas.alt_text(frame, pair, str(chosen.measure)),
        on_select=_take,
        selection_mode="points",
        config=PLAIN,
    )
    _one_query(chosen, pair, frame)


def _two(chosen: Chosen) -> tuple[str, str] | None:
    """The ranker (a click on the picture sets it) and whom it is compared with."""
    means = benchmarks.means(chosen.key, (str(chosen.measure),)).set_index("ranker")["mean"]
    ranked = means[[label for label in chosen.labels if label not in REFERENCES]]
    if not len(ranked):
        return None
    best = str(ranked.idxmax()) if ranked.notna().any() else str(ranked.index[0])
    left, right = st.columns(2)
    if st.session_state.get("ranker") not in {None, *chosen.labels}:  # of another benchmark
        del st.session_state["ranker"]
    ranker = left.selectbox(
        "Ranker", chosen.labels, index=chosen.labels.index(best), key="ranker",
        bind="query-params", help="A click on a dot of the picture chooses it too.",
    )  # fmt: skip
    usual = chosen.baseline if chosen.baseline != ranker else INITIAL
    others = [label for label in chosen.labels if label != ranker]
    other = right.selectbox(
        "Minus", others, index=others.index(usual) if usual in others else 0, key="minus",
        bind="query-params",
    )  # fmt: skip
    return None if ranker is None or other is None else (ranker, other)


def _said(frame: pd.DataFrame, pair: tuple[str, str], measure: str) -> str:
    better, worse = int((frame.difference > 0).sum()), int((frame.difference < 0).sum())
    text = f"{pair[0]} is better than {pair[1]} on {better} of {len(frame)} queries, worse on "
    text += f"{worse} ({measure})"
    if worse:
        last = frame.iloc[-1]
        text += f"; query {last['query']} loses most: {last.difference:+.3f}"
    return escaped(text + ".")


def _take() -> None:
    """A click on a bar chooses its query."""
    for clicked in st.session_state[BARS]["selection"]["points"]:
        facts = clicked.get("customdata")
        if facts:
            st.session_state["of"] = str(facts[0])
            st.session_state["fold of"] = str(facts[1])
            return


def _one_query(chosen: Chosen, pair: tuple[str, str], frame: pd.DataFrame) -> None:
    left, right = st.columns(2)
    query = left.selectbox(
        "Query", list(dict.fromkeys(frame["query"].astype(str))), index=None, key="of",
        bind="query-params", placeholder="Click a bar, or choose a query",
    )  # fmt: skip
    if query is None:
        return
    own = frame[frame["query"].astype(str) == query]
    fold = st.session_state.get("fold of")
    if fold not in set(own["fold"]):
        fold = str(own["fold"].iloc[0])
    seeds = {row["label"]: row["seeds"] for row in chosen.artefact.recipe["rows"]}
    most = max(seeds[label] for label in pair)
    seed = 0
    if most > 1:
        seed = right.selectbox("Seed", list(range(most)), key="seed", bind="query-params") or 0
    _bump(chosen, pair, (query, str(fold)), int(seed))


def _bump(chosen: Chosen, pair: tuple[str, str], query: tuple[str, str], seed: int) -> None:
    try:
        answers = benchmarks.answers(chosen.key, query, pair, seed)
    except ShuffleproofError as error:
        st.warning(escaped(str(error)), icon=":material/info:")
        return
    st.plotly_chart(
        benchmark_query.two_answers(answers, pair),
        key=BUMP,
        config=PLAIN,
        alt=benchmark_query.alt_text(answers, pair),
    )
    st.caption(
        escaped(
            f"Query {query[0]} of {query[1]}, seed {seed}. Left: the initial ranking. Middle: the "
            f"answer of {pair[0]}. Right: that of {pair[1]}. Full marks are relevant documents, "
            "strong lines are relevant ones that the two put at different places."
        )
    )


def _alike(chosen: Chosen) -> None:
    ranked = [label for label in chosen.labels if label not in REFERENCES]
    if len(ranked) < 2:
        return
    st.subheader("Who cannot be told apart?")
    found = benchmarks.ranks(chosen.key, str(chosen.measure))
    if not found.queries:
        st.caption("Every query is left out by this measure.")
        return
    places = [(str(name), float(place)) for name, place in found.ranks.items()]
    st.plotly_chart(
        benchmark_ranks.ranks(places, found.cliques, found.difference),
        key="ranks",
        config=PLAIN,
        alt=benchmark_ranks.alt_text(places, found.cliques),
    )
    p = "< 0.0001" if found.p_value < 1e-4 else f"= {found.p_value:.2g}"
    st.caption(
        escaped(
            f"Mean ranks over {found.queries} queries; a thick line joins rankers that differ by "
            f"less than Nemenyi's critical difference {found.difference:.2f} (α = .05). Friedman's "
            f"χ² = {found.statistic:.1f}, p {p}. Ranks say how often a ranker is ahead, not by "
            "how much; each ranker's queries are means over its seeds."
        )
    )


def _as_printed(chosen: Chosen) -> None:
    found: Any = benchmarks.printed(chosen.key)
    if found is None:
        return
    printed, frame = found
    st.subheader("As the paper printed it")
    wide = frame.pivot_table(
        index="ranker", columns="measure", values=["printed", "here"], sort=False, dropna=False
    )
    wide.columns = [f"{measure} {kind}" for kind, measure in wide.columns]
    order = [f"{m} {kind}" for m in dict.fromkeys(frame["measure"]) for kind in ("printed", "here")]
    number = st.column_config.NumberColumn
    st.dataframe(
        wide[order].reset_index(),
        hide_index=True,
        key="printed",
        placeholder="",
        column_config={name: number(name, format="%.4f") for name in order}
        | {"ranker": st.column_config.TextColumn("Ranker", pinned=True)},
        alt=f"Printed and measured rows for {printed.collection}",
    )
    st.caption(escaped(f"{SOURCE}, {printed.collection}. Their convention: {CONVENTION}."))
    st.caption(escaped(f"{printed.remark} The columns called here are under that convention."))
