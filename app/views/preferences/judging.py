"""The form that asks a live judge for preferences, with its cost before the button."""

import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from shuffleproof.app import jobs, services, state
from shuffleproof.app.plain import escaped_sentence
from shuffleproof.app.study import job_panel, parts
from shuffleproof.core.aggregate import judge_questions, judges, preference_store
from shuffleproof.core.aggregate.registry import AGGREGATORS
from shuffleproof.core.studies.kinds.preferences import sections
from shuffleproof.core.words import counted

PANEL = job_panel.Panel("judge", "round of questions")
SHOWN = {judge_questions.SAMPLED: "Sampled pairs", judge_questions.ALL: "All pairs"}
CALLS, QUERIES = 100, 10


def form() -> None:
    """Draw who is asked, which pairs, what that costs, and the button; or work under way."""
    data = state.data()
    st.caption(
        f"The test documents of {data}, the first {judge_questions.LISTS['depth']} of each query "
        "in file order, are put to a judge two at a time. Each answer is kept: nothing is "
        "asked twice, also after a restart."
    )
    with parts.errors_shown():
        if not job_panel.progress(PANEL, (data,)):
            _form(data)
    for name, key in services.store().names().items():
        if key.kind == preference_store.KIND:
            found = services.store().resolve(name, preference_store.KIND)
            if found.recipe.get("data") == data:
                count = counted(found.facts["judgments"], "judgment")
                parts.link("preferences", f"{name}: {count}", query={"preferences": name})


@st.fragment
def _form(data: str) -> None:
    known = judges.judges_for_pages()
    if not known:
        st.info(
            "No judge is offered by this dashboard. Whoever starts it names them:",
            icon=":material/gavel:",
        )
        st.code(f"{judges.OFFERED}=http://127.0.0.1:8000/judge make app", language="bash")
        st.caption("Or ask from the shell:")
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
                format_func=lambda one: SHOWN.get(one) or f"Those that {sections.label(one)} wants",
            )
        )  # fmt: skip
        orders = st.segmented_control(
            "Orders", judge_questions.ORDERS, default=judge_questions.ORDERS[0],
            required=True, key="judge orders",
            help="Both: each pair is shown twice, with either document first, which takes two "
            "calls and tells whether the judge prefers what comes first.",
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
    asked = {
        "data": data, "name": name.strip(), "judge": judge, "pairs": pairs, "calls": int(calls),
        "orders": str(orders), "at_once": int(at_once), "queries": int(queries),
    }  # fmt: skip
    plan = judge_questions.Plan(pairs, int(calls), str(orders), jobs=int(at_once))
    most = plan.most_of(sizes[: int(queries)])
    cost = judge_questions.cost_of(plan, most, None, price or None, None)
    st.markdown(escaped_sentence(f"{cost['text'][0].upper()}{cost['text'][1:]}"))
    if st.button("Ask", type="primary", key="judge now", disabled=not (most and name.strip())):
        with parts.errors_shown():
            job = jobs.submit(PANEL.kind, asked)
            st.toast(escaped_sentence(f"{jobs.name(job)}: {'found' if job.ended else 'queued'}"))
            st.rerun()
    st.code(_command(asked), language="bash", wrap_lines=True)


@st.cache_data(max_entries=16, show_spinner=False)
def _sizes(key: str) -> Sequence[int]:
    """Documents that a judge is shown of each test query."""
    sizes = np.diff(services.fold(key).test.offsets)
    return [int(size) for size in np.minimum(sizes, judge_questions.LISTS["depth"])]


def _command(asked: dict[str, Any]) -> str:
    words = ["shuffleproof", "judge", asked["name"], "--data", asked["data"]]
    words += ["--with", asked["judge"], "--pairs", asked["pairs"], "--orders", asked["orders"]]
    for flag, key in (("--calls", "calls"), ("--queries", "queries"), ("--jobs", "at_once")):
        words += [flag, str(asked[key])]
    return shlex.join(words)
