"""The page of preferences: a stored study, one query under a budget of calls, live judges."""

import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from shuffleproof.app import address, jobs, services, state
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.figures import preferences as figure
from shuffleproof.app.plain import escaped, escaped_sentence
from shuffleproof.app.study import job_panel, parts
from shuffleproof.app.study.page import StudyPage, draw_listless
from shuffleproof.app.study.picture import cached_figure, chart
from shuffleproof.core.aggregate import judge_questions, judges, planted, preference_store
from shuffleproof.core.aggregate.consistency import Cycle, agreement_of, cycles_of
from shuffleproof.core.aggregate.disturbances import DISTURBANCES
from shuffleproof.core.aggregate.kemeny import kemeny
from shuffleproof.core.aggregate.preferences import Pairs, Preferences
from shuffleproof.core.aggregate.registry import AGGREGATORS, Aggregation, Terms, aggregate
from shuffleproof.core.studies.kinds.preferences import sections
from shuffleproof.core.studies.kinds.preferences.question import PreferenceAggregation
from shuffleproof.core.studies.registry import PREFERENCE_STUDIES
from shuffleproof.core.studies.tables import SHORT, Column, Table
from shuffleproof.core.words import counted, number

NO_CYCLE = "none"

ORDER = (
    Column("rank", "Rank", "d"), Column("item", "Item"),
    Column("grade", "Grade", SHORT, "Empty: unknown."),
    Column("beats", "Beats", "d", "Items that a majority puts below it."),
    Column("against", "Contradictions", "d", "Pairs with items below that contradict its place."),
)  # fmt: skip


def page() -> None:
    """Draw the choice of a set, its stored study, then one query of it."""
    parts.header("Preferences", PreferenceAggregation.title)
    sets = [planted.NAME]
    sets += [
        name for name, key in services.store().names().items() if key.kind == preference_store.KIND
    ]
    studied = [str(artefact.facts.get("data", "")) for artefact in services.artefacts("study")
               if artefact.recipe["kind"] == PreferenceAggregation.kind]  # fmt: skip
    names = list(dict.fromkeys([*sets, *state.data_sets()[1:], *sorted(studied)]))
    missing = state.missing_option("preferences", names)
    chosen = parts.select(
        "Preferences", "preferences", names, planted.NAME,
        help="Stored preferences, or those of a trained function. `shuffleproof "
             "ingest-preferences FILE --name mine` imports pairs, matrices, rankings and runs.",
    )  # fmt: skip
    state.instead("set of preferences", missing, chosen)
    if chosen == planted.NAME:
        st.caption(
            "A generated set: three judges compare all pairs in both orders. Half of the "
            "queries contain a cycle of three items."
        )
    with parts.errors_shown(again=True):
        draw_listless(PAGE, PREFERENCE_STUDIES, chosen)
        if chosen in sets:
            st.subheader("One query")
            _query(chosen)
        if place := parts.fold("Ask a live judge", "judging", ":material/gavel:"):
            with place:
                _judging()


@st.fragment
def _query(name: str) -> None:
    """Draw a query: its order after a number of calls, contradicting pairs, cycles."""
    preferences = _opened(name)
    left, right = st.columns([2, 5], gap="medium")
    with left:
        query = parts.select("Query", "asked", preferences.query_ids, preferences.query_ids[0])
        at = preferences.query_ids.index(query)
        pairs, items = preferences.pairs(at), preferences.items[at]
        aggregator = parts.select(
            "Aggregator", "aggregator", AGGREGATORS, "goa", format_func=sections.label
        )
        parts.note(f"{AGGREGATORS[aggregator].summary.capitalize()}.")
        budget = int(
            st.slider(
                "Calls allowed", **address.slider("calls", pairs.count, pairs.count, of=query),
                help="Pairs that the aggregator may ask about, of this query.",
            )
        )  # fmt: skip
    spent = aggregate(aggregator, pairs, Terms(calls=budget))
    order = spent.order
    labels = preferences.labels[at] if preferences.labels else np.full(len(items), np.nan)
    worst = cycles_of(pairs, items, query)
    with left:
        ringed = _cycle(worst)
    with right:
        parts.sentence(_in_words(pairs, spent, aggregator))
        named = [items[place] for place in order.tolist()]
        places = [named.index(item) for item in ringed]
        values = pairs.values[np.ix_(order, order)]
        shown = cached_figure(figure.matrix, values, named, places)
        chart(shown, "matrix")
        st.caption(
            "Rows and columns are in the aggregated order. Blue above the diagonal agrees with "
            "it, brown contradicts it, white was never compared."
        )
    frame = _ranked(pairs, order, items, labels)
    st.markdown(f"**{escaped(sections.label(aggregator))} with {counted(budget, 'call')}**")
    data_frame(Table(frame, ORDER, "Order"), "order")


def _cycle(worst: list[Cycle]) -> tuple[str, ...]:
    """Draw the choice of a cycle to mark; empty without cycles."""
    if not worst:
        st.caption("This query has no cycles of three items.")
        return ()
    options = {" > ".join(cycle.items): cycle.items for cycle in worst}
    chosen = st.selectbox(
        "Worst cycles", [NO_CYCLE, *options], index=1,
        help="Three items, each preferred to the next; largest margin first.",
    )  # fmt: skip
    return options.get(str(chosen), ())


def _in_words(pairs: Pairs, spent: Aggregation, aggregator: str) -> str:
    """Sentence on the order's agreement, the best possible agreement, and the calls spent."""
    total = float(np.nansum(pairs.means))
    agreement = agreement_of(pairs, spent.order)
    if agreement is None:
        return "No pairs of this query were compared."
    best = kemeny(pairs.means)
    most = 1.0 - best.bound / total
    text = (
        f"{sections.label(aggregator)} agrees with {number(agreement)} of the preferences; "
        f"{'the best order' if best.exact else 'no order'} agrees with "
        f"{'' if best.exact else 'more than '}{number(most)}. It compared "
        f"{spent.calls:,} of {counted(pairs.count, 'pair')}"
    )
    if spent.complete:
        return f"{text}."
    return f"{text} and would compare {len(spent.following):,} more."


def _ranked(
    pairs: Pairs, order: np.ndarray, items: tuple[str, ...], labels: np.ndarray
) -> pd.DataFrame:
    above = pairs.weights > pairs.weights.T
    place = np.argsort(order)
    below = place[:, None] < place[None, :]
    rows = [
        {
            "rank": rank, "item": items[item], "grade": labels[item],
            "beats": int(above[item].sum()), "against": int((above.T & below)[item].sum()),
        }
        for rank, item in enumerate(order.tolist(), start=1)
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=[column.key for column in ORDER])


@st.cache_resource(max_entries=4, show_spinner="Reading the preferences …")
def _opened(name: str) -> Preferences:
    return preference_store.find(name, services.store())


PAGE = StudyPage(
    "Preferences",
    rankers=lambda _result: (),
    families=sections.families,
    family=("Perturbation", lambda name: DISTURBANCES[name].title),
    measured=False,
)
PANEL = job_panel.Panel("judge")
SHOWN = {judge_questions.SAMPLED: "Sampled pairs", judge_questions.ALL: "All pairs"}
CALLS, QUERIES = 100, 10


def _judging() -> None:
    """Draw the judge, the pairs, their cost and the button; or the running job."""
    data = state.data()
    st.caption(
        f"The test documents of {data}, the first {judge_questions.LISTS['depth']} of each query "
        "in file order, are shown to a judge in pairs. Answers are stored, so no call is "
        "repeated."
    )
    with parts.errors_shown():
        if not job_panel.progress(PANEL, (data,)):
            _form(data)
    for name, key in services.store().names().items():
        if key.kind == preference_store.KIND:
            stored = services.store().resolve(name, preference_store.KIND)
            if stored.recipe.get("data") == data:
                count = counted(stored.facts["judgments"], "judgment")
                parts.link("preferences", f"{name}: {count}", query={"preferences": name})


@st.fragment
def _form(data: str) -> None:
    known = judges.judges_for_pages()
    if not known:
        st.info("This dashboard has no judge. Start it with:", icon=":material/gavel:")
        st.code(f"{judges.OFFERED}=http://127.0.0.1:8000/judge shuffleproof app", language="bash")
        st.caption("Or call a judge from the shell:")
        st.code(
            f"shuffleproof judge {data}-judged --data {shlex.quote(data)} "
            f"--with http://127.0.0.1:8000/judge --calls {CALLS}",
            language="bash",
        )  # fmt: skip
        return
    left, right = st.columns(2, gap="medium")
    with left:
        judge = str(st.selectbox("Judge", known, key="judge"))
        pairs = str(
            st.selectbox(
                "Pairs", [*SHOWN, *AGGREGATORS], key="judge pairs",
                format_func=lambda of: SHOWN.get(of) or f"Those that {sections.label(of)} wants",
            )
        )  # fmt: skip
        orders = st.segmented_control(
            "Orders", judge_questions.ORDERS, default=judge_questions.ORDERS[0],
            required=True, key="judge orders",
            help="Both: each pair is judged in both orders (two calls), which reveals position "
                 "bias.",
        )  # fmt: skip
        name = st.text_input("Name of the preferences", f"{data}-judged", key="judge name")
    sizes = _sizes(str(services.data_set(data).key))
    with right:
        queries = st.number_input(
            "Test queries", 1, len(sizes), min(QUERIES, len(sizes)), key="judge queries"
        )
        calls = st.number_input("Calls allowed", 2, value=CALLS, key="judge calls")
        at_once = st.number_input("Calls at the same time", 1, 64, 4, key="judge at once")
        price = st.number_input(
            "Price of a call", 0.0, format="%.5f", key="judge price", help="In any currency."
        )
    parameters = {
        "data": data, "name": name.strip(), "judge": judge, "pairs": pairs, "calls": int(calls),
        "orders": str(orders), "at_once": int(at_once), "queries": int(queries),
    }  # fmt: skip
    plan = judge_questions.Plan(pairs, int(calls), str(orders), jobs=int(at_once))
    most = plan.most_of(sizes[: int(queries)])
    cost = judge_questions.cost_of(plan, most, None, price or None, None)
    parts.sentence(f"{cost['text'][0].upper()}{cost['text'][1:]}")
    if st.button("Ask", type="primary", key="judge now", disabled=not (most and name.strip())):
        with parts.errors_shown():
            job = jobs.submit(PANEL.kind, parameters)
            st.toast(escaped_sentence(f"{jobs.name(job)}: {'found' if job.ended else 'queued'}"))
            st.rerun()
    parts.shell(_command(parameters))


@st.cache_data(max_entries=16, show_spinner=False)
def _sizes(key: str) -> Sequence[int]:
    """Number of documents per test query that a judge sees."""
    sizes = np.diff(services.fold(key).test.offsets)
    return [int(size) for size in np.minimum(sizes, judge_questions.LISTS["depth"])]


def _command(parameters: dict[str, Any]) -> str:
    words = ["shuffleproof", "judge", parameters["name"], "--data", parameters["data"]]
    for flag, key in (
        ("--with", "judge"), ("--pairs", "pairs"), ("--orders", "orders"), ("--calls", "calls"),
        ("--queries", "queries"), ("--jobs", "at_once"),
    ):  # fmt: skip
        words += [flag, str(parameters[key])]
    return shlex.join(words)
