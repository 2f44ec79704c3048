"""The invariance page's second half: certificates over the whole test part, queries by damage."""

from dataclasses import asdict

import streamlit as st

from app import services
from app.plain import escaped
from app.scoring import Described
from app.services import Certified
from app.views import shown_list
from core.data.catalogue import SAMPLE
from core.errors import ShuffleproofError
from core.execution.jobs import Job, State
from core.rankers.initial import ListRecipe
from core.studies import jobs
from core.studies.one_list import amount, spoken
from core.studies.trained import TrainedRanker

PERMUTATIONS = 20
DIGITS = 8


def section(data: Described, recipe: ListRecipe, rankers: list[TrainedRanker]) -> None:
    """Draw the certificates of these rankers and the queries that suffered."""
    st.subheader("Over all test queries")
    found = services.certified(data.data)
    known = [(ranker, found[ranker.digest]) for ranker in rankers if ranker.digest in found]
    for at in range(0, len(known), 3):
        for column, (ranker, certified) in zip(st.columns(3), known[at : at + 3], strict=False):
            with column.container(border=True, height="stretch"):
                _card(ranker.label, certified)
    missing = [ranker for ranker in rankers if ranker.digest not in found]
    if missing:
        _offer(data, recipe, missing)
    _by_damage(known)


def _card(label: str, certified: Certified) -> None:
    card = certified.certificate
    icon = ":material/verified:" if card.invariant else ":material/error:"
    verdict = "Invariant" if card.invariant else "Not invariant"
    st.markdown(f"**{escaped(label)}**  \n{icon} **{verdict}** to the order shown")
    st.markdown(
        f"Largest score difference **{amount(card.max_score_deviation)}**  \n"
        f"Numeric floor {amount(card.numeric_floor)}  \n"
        f"Documents moved **{card.positions_moved:,}**, in {card.queries_moved} of "
        f"{card.queries} queries"
    )
    st.caption(f"{card.permutations:,} real permutations · {certified.study}")


def _offer(data: Described, recipe: ListRecipe, missing: list[TrainedRanker]) -> None:
    """Offer to examine rankers that have no certificate, or show how far that has come."""
    names = [spoken(ranker.label) for ranker in missing]
    st.markdown(escaped(f"No certificate yet: {', '.join(names)}."))
    asked = [as_asked(ranker, data.data) for ranker in missing]
    running = examinations(data.data, "waiting", "running")
    if running:
        under_way([job.id for job in running])
        return
    total = len(data.queries) * PERMUTATIONS * len(asked)
    st.button(
        "Examine all test queries",
        icon=":material/playlist_add_check:",
        on_click=_submit,
        args=(data.data, recipe, asked),
        help=f"{len(data.queries)} queries × {PERMUTATIONS} permutations × {len(asked)} rankers: "
        f"{total:,} lists are scored in the background.",
    )
    for job in examinations(data.data, "failed")[:1]:
        st.error(escaped(f"The last examination failed: {job.reason} (job {job.id[:16]})"))


def as_asked(ranker: TrainedRanker, data: str) -> str:
    """The ranker as a job names it: by its preset, or by its key where no preset says it alone."""
    if ranker.preset is None or ranker.label != ranker.name:
        return f"{ranker.name}#{ranker.digest[:DIGITS]}"
    usual = "small" if data == SAMPLE else "paper"
    return ranker.name if ranker.preset == usual else f"{ranker.name}@{ranker.preset}"


def _submit(data: str, recipe: ListRecipe, rankers: list[str]) -> None:
    usual = asdict(ListRecipe(initial=(f"lambdamart@{'small' if data == SAMPLE else 'paper'}",)))
    lists = {name: value for name, value in asdict(recipe).items() if value != usual[name]}
    parameters = {
        "data": data, "rankers": rankers, "permutations": PERMUTATIONS, "lists": lists or None,
    }  # fmt: skip
    try:
        job = jobs.submit(services.store(), "invariance", parameters)
        if job.state in {"failed", "cancelled"}:
            jobs.jobs_of(services.store()).retry(job.id)
        jobs.ensure_running(services.store())
    except ShuffleproofError as error:
        st.toast(escaped(str(error)), icon=":material/error:")


def examinations(data: str, *states: State) -> list[Job]:
    """The jobs in these states that examine rankers of a data set."""
    found = jobs.jobs_of(services.store()).list(*states)
    return [job for job in found if job.kind == "invariance" and job.parameters["data"] == data]


@st.fragment(run_every=1.0)
def under_way(identifiers: list[str]) -> None:
    """Show how far examinations have come, second by second; the page follows when one ends."""
    table = jobs.jobs_of(services.store())
    for identifier in identifiers:
        job = table.get(identifier)
        if job.ended:
            st.rerun()
        progress = job.progress or {"done": 0, "total": 1, "unit": "steps"}
        share = progress["done"] / max(progress["total"], 1)
        words = f"{progress['done']} of {progress['total']} {progress['unit']}"
        rankers = ", ".join(job.parameters["rankers"])
        said = words if job.state == "running" else "waiting for a worker"
        st.progress(min(share, 1.0), escaped(f"Examining {rankers}: {said}"))
        st.button("Cancel", key=f"cancel {identifier}", on_click=_cancel, args=(identifier,))


def _by_damage(known: list[tuple[TrainedRanker, Certified]]) -> None:
    if not known:
        return
    st.subheader("Queries by damage")
    labels = [ranker.label for ranker, _ in known]
    worst = max(known, key=lambda pair: pair[1].certificate.positions_moved)[0].label
    label = st.selectbox(
        "Of ranker", labels, index=labels.index(worst), key="damage", bind="query-params"
    )
    certified = next(certified for ranker, certified in known if ranker.label == label)
    table = services.damage(certified.study, certified.label)

    def open_query() -> None:
        rows = st.session_state["queries"]["selection"]["rows"]
        if rows:
            st.session_state["query"] = str(table["query"].iloc[rows[0]])
            shown_list.forget_hand()
            st.toast(escaped(f"Query {table['query'].iloc[rows[0]]} is shown above."))

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


def _cancel(identifier: str) -> None:
    jobs.jobs_of(services.store()).cancel(identifier)
