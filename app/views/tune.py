"""The tab Tune: search of a recipe on validation data; the best becomes a named preset."""

import shlex
from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st
from pandas.api.types import is_numeric_dtype

from shuffleproof.app import address, benchmarks, jobs, services, state, training
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.figures.tuning import best_so_far, stopped_in_words
from shuffleproof.app.plain import escaped_sentence
from shuffleproof.app.study import job_panel, parts
from shuffleproof.app.study.picture import chart
from shuffleproof.core import search_space, tuning
from shuffleproof.core.execution.executor import configured, executor
from shuffleproof.core.execution.jobs import Step
from shuffleproof.core.experiment.trainings import time_of
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.rankers import named_presets, registry
from shuffleproof.core.rankers.name import Kind, RankerName, with_display_names
from shuffleproof.core.rankers.named_presets import NamedPreset
from shuffleproof.core.studies.question import preset_of
from shuffleproof.core.studies.tables import COUNT, NAME, SHORT, TEXT, VALUE, Column, Table, keys
from shuffleproof.core.words import counted, listed, number

QUESTION = "Which hyperparameters are best for this ranker?"
CONVENTION = Measure("NDCG", 10).convention()
PANEL = job_panel.Panel(
    "tune",
    title=lambda job: f"Search for {with_display_names(jobs.tuned_preset(job))} · ",
)  # fmt: skip
TUNED = "tuned"
"""Address key of the preset whose search is shown."""

TRIALS, MINUTES = "trials", "minutes"
USUAL = {TRIALS: 20, MINUTES: 10}
USUAL_RANKER = "lambdamart"


def page() -> None:
    """Draw the page for the data set in use."""
    parts.header("Tune", QUESTION)
    with parts.errors_shown(again=True):
        data = state.data()
        names = tuple(dict.fromkeys((data, benchmarks.stem(data))))
        known = _searches(names)
        with st.expander("New search", expanded=not known, icon=":material/play_arrow:"):
            _form(data, names)


def _searches(names: Sequence[str]) -> bool:
    """Draw running searches and the one in the address; True if there is any."""
    job_panel.progress(PANEL, names)
    stored = {
        str(preset): preset
        for preset in named_presets.stored_presets(services.store())
        if preset.data in names
    }
    searches = [job for job in jobs.table().list() if job.kind == PANEL.kind]
    searches = [job for job in searches if job.parameters["data"] in names]
    under_way = {jobs.tuned_preset(job): job for job in searches if not job.ended}
    known = [*stored, *(name for name in under_way if name not in stored)]
    stopped = {jobs.tuned_preset(job) for job in searches if job.state in {"cancelled", "failed"}}
    for name in sorted(stopped.difference(known)):
        parts.finding(
            f"The search for {with_display_names(name)} stopped before its end: Tune with the same "
            "settings goes on where it was."
        )
    missing = state.missing_option(TUNED, known)
    if not known and not stopped:
        st.info(
            "Nothing has been tuned on this data set yet. Choose a ranker and press Tune: every "
            "trial appears here as it ends.",
            icon=":material/tune:",
        )
    if not known:
        named = [with_display_names(name) for name in missing if name not in stopped]
        state.instead("search", named)
        return False
    shown = parts.select(
        "Search", TUNED, known, known[0], format_func=with_display_names,
        help="Named by its preset.",
    )  # fmt: skip
    state.instead("search", [*map(with_display_names, missing)], with_display_names(shown))
    if shown in under_way:
        st.fragment(_watched, run_every=jobs.FAST)(under_way[shown].id)
    elif shown in stored:
        _stored(stored[shown])
    return True


def _watched(identifier: str) -> None:
    """Draw the trials of a running search; repeated every second."""
    frame = trials(jobs.table().history(identifier))
    if frame.empty:
        st.caption(
            "No trial has ended yet. Candidate lists that are not stored are made first: their "
            "initial ranker is fitted, then cross-fitted in parts (“part 1 of 5”), each without "
            "some of the training queries."
        )
        return
    done = frame[frame["state"] == tuning.DONE]
    chart(best_so_far(frame), "best so far", config=parts.PLAIN)
    if len(done):
        best = done.iloc[int(done["valid"].argmax())]
        parts.finding(
            f"Trial {best['trial']} of {len(frame)} so far is best on validation, "
            f"with {number(best['valid'])}."
        )
    parts.convention(CONVENTION, "the test part is used once, after the search")


COLUMNS = ("trial", "of", "state", "valid")


def trials(steps: Sequence[Step]) -> pd.DataFrame:
    """Reported trials of a job: number, state, validation value, and settings."""
    rows = []
    for step in steps:
        if step.unit == "trials":
            values = dict(step.values)
            ends = (tuning.DONE, tuning.PRUNED, tuning.FAILED)
            state_ = next(name for name in ends if values.pop(name, None))
            values.pop("best", None)
            rows.append({"trial": step.done, "of": tuning.SEARCH, "state": state_, **values})
    frame = pd.DataFrame(rows, columns=None if rows else COLUMNS)
    return frame.astype({"valid": float})


def _stored(preset: NamedPreset) -> None:
    """Draw a finished search: the preset, every trial, and the values on the test part."""
    frame, fields = tuning.table(preset), list(preset.asked["search"])
    best, looked = preset.best, "once" if preset.looks == 1 else f"{preset.looks} times"
    values = ", ".join(
        f"{name} {number(value)}"
        for name, value in preset.usual_values.items()
        if value is not None
    )
    parts.finding(
        f"{with_display_names(str(preset))} is the best of {counted(preset.trials, 'trial')}: "
        f"trial "
        f"{best['trial']}, {number(best['value'])} on validation ({values})."
    )
    chart(best_so_far(frame), "best so far", config=parts.PLAIN)
    crosses = [f"{words} (×)" for words in stopped_in_words(frame)]
    parts.convention(CONVENTION, f"validation of {preset.data} alone", *crosses)
    st.subheader("On the test part")
    st.caption(f"Used {looked} by this search, after its end.")
    _table_of_tests(preset)
    st.subheader("Every trial")
    columns = (
        Column("trial", "Trial", COUNT), Column("of", "From", help="A preset, or the search."),
        Column("state", "State"), Column("valid", "Validation NDCG@10", VALUE, CONVENTION),
        Column("seconds", "Seconds", ",.1f", "Training time, also of stored trainings."),
        *(
            Column(name, name.replace("_", " "), SHORT if is_numeric_dtype(frame[name]) else TEXT)
            for name in fields
        ),
    )  # fmt: skip
    title = f"Trials of {preset}: where each came from, validation NDCG@10, settings"
    data_frame(Table(frame[keys(columns)], columns, title), "trials")
    st.markdown("Use it as any ranker; a benchmark reports the number of trials:")
    parts.shell(
        f"shuffleproof study benchmark --data {shlex.quote(preset.data)} "
        f"--rankers {preset.ranker},{preset}"
    )
    parts.link("benchmark", "Benchmark", query={"data": state.data()})


def _table_of_tests(preset: NamedPreset) -> None:
    frame = pd.DataFrame([dict(row) for row in preset.test])
    measures = [name for name in frame.columns if name not in {"ranker", "queries"}]
    columns = (
        Column("ranker", "Ranker", NAME),
        *(Column(name, name, VALUE) for name in measures),
        Column("queries", "Queries", COUNT),
    )
    title = f"Means on the test part of {preset.data}"
    data_frame(Table(frame[keys(columns)], columns, title), "tests")


@st.fragment
@parts.errors_shown()
def _form(data: str, names: Sequence[str]) -> None:
    """Draw the form; a control redraws only this fragment."""
    on = data
    if len(names) > 1:
        on = parts.segments(
            "Folds", "folds", dict.fromkeys(names, "all folds") | {data: f"{data} alone"}, data,
            help="Over all folds a trial is trained once on each, and judged by their mean.",
        )  # fmt: skip
    usual = preset_of(data)
    offered = [name for name in training.FITTED if usual in registry.RANKERS[name].presets]
    left, middle, right = st.columns([5, 8, 5])
    ranker = parts.select(
        "Ranker", "ranker", offered, USUAL_RANKER, place=left, format_func=with_display_names
    )
    base = RankerName(Kind.REGISTERED, ranker, usual)
    space = search_space.space_of(base)
    with middle:
        limit, most = _limit()
    name = right.text_input(
        "Name of the preset", placeholder=tuning.name_for(on), key="name",
        help="Small letters, digits and _. Written after the ranker: "
        f"{ranker}@{tuning.name_for(on)}.",
    )  # fmt: skip
    fields = st.multiselect(
        "Fields that are searched", list(space), default=list(space), wrap=True,
        key=f"fields {ranker}",
        format_func=lambda name: f"{name.replace('_', ' ')} {_range(space[name])}",
        help="All others keep the value of the preset.",
    )  # fmt: skip
    st.caption(_cost(data, base, limit, most, "" if on == data else " a fold"))
    if not fields:
        st.caption("Choose at least one field.")
    called = name.strip() or None
    job = {
        "data": on, "ranker": ranker, "search": () if len(fields) == len(space) else fields,
        "trials": most if limit == TRIALS else None,
        "budget": 60.0 * most if limit == MINUTES else None, "name": called,
        "at_once": executor(place).at_once if (place := configured()) else 1,
    }  # fmt: skip
    if st.button("Tune", type="primary", key="tune now", disabled=not fields):
        _handed_in(job)
    with st.expander("As a command", icon=":material/terminal:"):
        parts.shell(_command(job, limit, most))


def _limit() -> tuple[str, int]:
    """Draw the limit of the search: its unit and its number."""
    kind, number_of = st.columns(2)
    limit = parts.segments(
        "Stop after", "stop", {TRIALS: TRIALS, MINUTES: MINUTES}, place=kind,
        help="No trial starts after this time.",
    )  # fmt: skip
    most = number_of.number_input(
        "Trials, with the presets" if limit == TRIALS else "Minutes", min_value=1,
        value=USUAL[limit], key=limit, bind="query-params",
    )  # fmt: skip
    return limit, int(most)


def _range(ends: Sequence[Any]) -> str:
    """Range in words.

    >>> _range((4, 128)), _range((0.01, 0.3))
    ('4–128', '0.01–0.3')
    """
    return "–".join(f"{end:g}" for end in ends)


def _cost(data: str, base: RankerName, limit: str, most: int, each: str) -> str:
    """Sentence on the first trials and the estimated time; `each` is a suffix like " a fold"."""
    presets = registry.RANKERS[base.base].presets
    presets_first = [name for name in (*tuning.FIRST, base.preset) if name in presets]
    names = listed(list(dict.fromkeys(presets_first))).capitalize()
    words = f"{names} come first: the result is never worse on validation. "
    planner = training.planner(training.fit_size(data))
    plan = planner.plan_training(training.usual_lists(data), base, {})
    times = most if limit == TRIALS else 1
    takes = time_of([plan.seconds and times * plan.seconds])
    what = counted(most, "trial") if limit == TRIALS else "one trial"
    return escaped_sentence(f"{words}{what} like @{base.preset}: {takes}{each}.")


def _command(parameters: dict[str, Any], limit: str, most: int) -> str:
    words = ["shuffleproof", "tune", parameters["ranker"], "--data", parameters["data"]]
    words += [f"--search={field}" for field in parameters["search"]]
    words += ["--trials", str(most)] if limit == TRIALS else ["--budget", f"{most}m"]
    words += ["--name", parameters["name"]] if parameters["name"] else []
    words += ["--at-once", str(parameters["at_once"])] if parameters["at_once"] > 1 else []
    return shlex.join(words)


def _handed_in(parameters: dict[str, Any]) -> None:
    """Submit the search and show it: its preset goes into the address."""
    job = jobs.submit(PANEL.kind, parameters | {"search": list(parameters["search"])})
    st.toast(escaped_sentence(f"{jobs.name(job)}: {'found' if job.ended else 'queued'}"))
    address.pin(TUNED, jobs.tuned_preset(job))
    st.session_state.pop(TUNED, None)
    st.rerun()
