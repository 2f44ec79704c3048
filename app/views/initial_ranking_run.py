"""Running an initial-ranking study: its form and cost, its progress and its first results."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from app import curves, proposals, services, state, training
from app.figures import initial_ranking as figure
from app.forms import drawn
from app.jobs import act, duration, far, submit, table
from app.plain import escaped
from core.errors import ShuffleproofError
from core.execution.jobs import Job
from core.metrics.measure import Measure
from core.parameters import parsed
from core.perturb.registry import PERTURBATIONS
from core.rankers import registry
from core.rankers.initial import ListRecipe
from core.store.keys import ArtefactKey
from core.store.manifest import Artefact
from core.studies.initial_ranking import INITIAL
from core.studies.study import levels_of
from core.studies.underway import Underway, underway

EVERY_SECONDS = 1.0
DRAWS, MOST_DRAWS = 10, 1000
MINE = "study handed in"
DISTURBING = [name for name, entry in PERTURBATIONS.items() if "ranking" in entry.changes]


def progress(data: str) -> bool:
    """Draw the study that is waiting, running or has just failed; whether there is one."""
    found = _jobs(data)
    _ended(found)
    if any(not job.ended for job in found):
        _under_way(data)
        return True
    failed = found[0] if found and found[0].state == "failed" else None
    if failed is not None:
        _failure(failed)
    return failed is not None


def _jobs(data: str) -> list[Job]:
    try:
        found = table().list()
    except ShuffleproofError:
        return []  # the form says so when work is handed in
    own = [job for job in found if job.kind == curves.KIND and job.parameters["data"] == data]
    return sorted(own, key=lambda job: (job.ended, -job.created))


@st.fragment(run_every=EVERY_SECONDS)
def _under_way(data: str) -> None:
    job = next((job for job in _jobs(data) if not job.ended), None)
    if job is None:
        st.rerun()
    assert job is not None  # noqa: S101 (rerun does not return)
    told = far(job, table().history(job.id))
    waiting = job.state == "waiting"
    words = "Waiting for a free worker" if waiting else f"Running: {told.words}"
    st.progress(told.share, text=escaped(words))
    st.button("Cancel", key=f"cancel {job.id[:16]}", on_click=_cancel, args=(job.id,))
    found = _begun(job)
    if found is not None and job.state == "running":
        _first_results(found)


def _ended(found: list[Job]) -> None:
    """Once what this session handed in has ended, show what was done."""
    mine = next((job for job in found if job.id == st.session_state.get(MINE)), None)
    if mine is None or not mine.ended:
        return
    del st.session_state[MINE]
    if mine.state == "done":
        _show(mine)


def _show(job: Job) -> None:
    kind, _, digest = str(job.result["artefact"]).rpartition("-")
    st.query_params["study"] = str(ArtefactKey(kind, digest))


def _begun(job: Job) -> Underway | None:
    """The announced study that a job works on."""
    asked = job.parameters
    for one in underway(services.store(), curves.KIND):
        study = one.study
        labels = [label for label, _ in study.rankers if label != INITIAL]
        pairs = [list(pair) for pair in study.perturbations]
        if (
            one.facts["data"] == asked["data"]
            and labels == list(asked["rankers"])
            and pairs == [[family, float(level)] for family, level in asked["perturbations"]]
            and (study.draws, study.seed) == (asked["draws"], asked["seed"])
        ):
            return one
    return None


def _first_results(found: Underway) -> None:
    result = found.result(services.store())
    if result is None:
        return
    summary = result.summary()
    family, measure = summary.family.iloc[-1], summary.measure.iloc[0]
    st.plotly_chart(
        figure.curves(summary, family, measure, curves.unit(family)),
        key="first results",
        alt=figure.alt_text(summary, family, measure),
    )
    st.caption(f"First results: {len(result.trials)} trials so far.")


def _cancel(identifier: str) -> None:
    act("cancel", identifier)


def _failure(job: Job) -> None:
    st.error(escaped(f"The last study failed: {job.reason or 'no reason was left.'}"))
    with st.container(horizontal=True):
        st.button("Try again", key="retry", on_click=_retry, args=(job.id,))
        st.button("Dismiss", key="forget", on_click=_forget, args=(job.id,))
    with st.expander("What it printed"):
        st.code(table().log(job.id) or "nothing", language=None)


def _retry(identifier: str) -> None:
    act("retry", identifier)


def _forget(identifier: str) -> None:
    act("forget", identifier)


def form(data: str, newest: Artefact | None, *, opened: bool) -> None:
    """Draw the form that starts a study."""
    with st.expander("Run a study", expanded=opened, icon=":material/play_arrow:"):
        _form(data, newest)


@st.fragment
def _form(data: str, newest: Artefact | None) -> None:
    proposed = proposals.for_study(data, newest)
    asked = _rankers_and_levels(list(proposed.rankers))
    with st.popover("Candidate lists and seed", icon=":material/tune:"):
        initial = st.multiselect(
            "Initial ranker", _initial_rankers(data, proposed.lists),
            default=list(proposed.lists.initial), accept_new_options=True, key="new.initial",
            help="The first one cuts and orders the lists; feature:<id> takes any feature.",
        )  # fmt: skip
        changes = drawn(proposed.lists, "new.lists")
        asked["seed"] = st.number_input("Seed", value=0, min_value=0, key="new.seed")
    try:
        lists = replace(parsed(proposed.lists, changes), initial=tuple(initial or ["random"]))
        made = training.lists_asked(data, lists)
        parameters = asked | {"data": data} | ({"lists": made} if made else {})
        pairs = _pairs(parameters.pop("families"), parameters.pop("levels"))
        parameters["perturbations"] = [list(pair) for pair in pairs]
        parameters["measures"] = [
            str(Measure.parse(text)) for text in parameters.pop("measures").split(";")
        ]
        for name in parameters["rankers"]:
            proposals.check(str(name))
    except ShuffleproofError as error:
        st.warning(escaped(str(error)), icon=":material/error:")
        return
    st.markdown(_cost(parameters, newest))
    ready = bool(parameters["rankers"]) and bool(initial) and bool(pairs)
    if st.button("Run this study", type="primary", key="new.run", disabled=not ready):
        _submit(parameters)


def _initial_rankers(data: str, lists: ListRecipe) -> list[str]:
    """What may be the initial ranker; the proposed ones first."""
    try:
        known = training.initial_rankers(training.fitting(data))
    except ShuffleproofError:  # the data set is gone, its studies are not
        known = []
    return list(dict.fromkeys([*lists.initial, *known]))


def _rankers_and_levels(before: list[str]) -> dict[str, Any]:
    plain = [name for name in registry.RANKERS if name != registry.FEATURE]
    brought = proposals.brought(state.data())
    rankers = st.multiselect(
        "Rankers", list(dict.fromkeys([*before, *brought, *plain])), default=before, wrap=True,
        accept_new_options=True, key="new.rankers",
        help="Add @preset (dlcm@tuned), #digits of a trained ranker's key, or feature:<id>.",
    )  # fmt: skip
    left, middle, right = st.columns([2, 2, 1])
    families = left.multiselect(
        "Disturbed by", DISTURBING, default=["transpositions"], key="new.families",
        help="  \n".join(f"{name}: {PERTURBATIONS[name].summary}" for name in DISTURBING),
    )  # fmt: skip
    levels = middle.text_input(
        "Levels", key="new.levels", placeholder=_usual(families),
        help="Comma-separated, for every family chosen; empty: each family's own.",
    )  # fmt: skip
    draws = right.number_input(
        "Draws a level", min_value=1, max_value=MOST_DRAWS, value=DRAWS, key="new.draws"
    )
    wanted = st.session_state.get("wanted measure", "NDCG@10")
    measures = st.text_input(
        "Measures", value=wanted, key="new.measures",
        help="Separated by ; — NDCG at 1, 3, 5 and 10 is kept under all conventions anyway.",
    )  # fmt: skip
    return {
        "rankers": rankers, "families": families, "levels": levels, "draws": int(draws),
        "measures": measures,
    }  # fmt: skip


def _usual(families: list[str]) -> str:
    return "; ".join(",".join(f"{level:g}" for level in levels_of(name)[1:]) for name in families)


def _pairs(families: list[str], levels: str) -> list[tuple[str, float]]:
    return [
        (family, level)
        for family in families
        for level in levels_of(family, levels.strip() or None)
    ]


def _cost(parameters: Mapping[str, Any], newest: Artefact | None) -> str:
    """What the button will cost, from what a trial took last time."""
    points = parameters["perturbations"]
    disturbed = sum(level != PERTURBATIONS[family].unchanged for family, level in points)
    each = disturbed * parameters["draws"] + len(points) - disturbed
    count = each * (len(parameters["rankers"]) + 1)
    queries = newest.facts["queries"] if newest else None
    size = f"{queries} queries × " if queries else ""
    text = f"{size}{len(points)} levels × {parameters['draws']} draws × "
    text += f"{len(parameters['rankers']) + 1} rankers = **{count} trials**"
    known = _timed(newest) if newest else {}
    timed = [name for name in parameters["rankers"] if name in known]
    if timed:
        seconds = each * (sum(known[name] for name in timed) + known.get(INITIAL, 0.0))
        text += f", about **{duration(seconds)}** of scoring by what a trial took last time"
    new = [name for name in parameters["rankers"] if name not in known]
    if new:
        text += f"; not timed on this set: {escaped(', '.join(new))} (trained first if need be)"
    return text + ". Finished trials are never repeated."


def _timed(newest: Artefact) -> dict[str, float]:
    """Seconds of a trial by ranker, under the study's own names and as a job names them now."""
    known = curves.seconds_a_trial(str(newest.key))
    data = str(newest.facts["data"])
    labels = [label for label, _ in newest.recipe["rankers"] if label != INITIAL]
    asked = proposals.for_study(data, newest).rankers
    return known | {
        name: known[label] for label, name in zip(labels, asked, strict=False) if label in known
    }


def _submit(parameters: Mapping[str, Any]) -> None:
    try:
        job = submit(curves.KIND, dict(parameters))
    except ShuffleproofError as error:
        st.error(escaped(str(error)))
        return
    st.session_state[MINE] = job.id
    st.rerun()
