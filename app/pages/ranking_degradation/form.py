"""Running an initial-ranking study: its form and cost, its progress and its first results."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from shuffleproof.app import curves, proposals, services, training
from shuffleproof.app.figures import initial_ranking as figure
from shuffleproof.app.forms import drawn
from shuffleproof.app.jobs import duration
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import fields
from shuffleproof.app.study import job_panel as strip
from shuffleproof.app.study import perturbed_form as shared
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.execution.jobs import Job
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.parameters import parsed
from shuffleproof.core.perturb.registry import PERTURBATIONS
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.ranking_degradation.study import INITIAL
from shuffleproof.core.studies.running import Underway
from shuffleproof.core.studies.study import levels_of

DRAWS, MOST_DRAWS = 10, 1000
DISTURBING = [name for name, entry in PERTURBATIONS.items() if "ranking" in entry.changes]


def progress(data: str) -> bool:
    """Draw the study that is waiting, running or has just failed; whether there is one."""
    return strip.progress(STRIP, (data,))


def _begun(one: Underway, job: Job) -> bool:
    """Whether an announced study is the one that a job works on."""
    asked, study = job.parameters, one.study
    labels = [label for label, _ in study.rankers if label != INITIAL]
    pairs = [list(pair) for pair in study.perturbations]
    return (
        one.facts["data"] == asked["data"]
        and labels == list(asked["rankers"])
        and pairs == [[family, float(level)] for family, level in asked["perturbations"]]
        and (study.draws, study.seed) == (asked["draws"], asked["seed"])
    )


def _first(found: Underway) -> None:
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


STRIP = strip.Strip(curves.KIND, "study", _begun, _first)
MINE = STRIP.mine


def form(data: str, shown: Artefact | None, *, opened: bool) -> None:
    """Draw the form that starts a study."""
    with st.expander("Run a study", expanded=opened, icon=":material/play_arrow:"):
        _form(data, shown)


@st.fragment
def _form(data: str, shown: Artefact | None) -> None:
    proposed = proposals.for_study(data, shown)
    asked = _rankers_and_levels(list(proposed.rankers))
    with st.popover("Candidate lists and seed", icon=":material/tune:"):
        initial = fields.initial(data, proposed.lists)
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
    st.markdown(_cost(parameters, shown))
    ready = bool(parameters["rankers"]) and bool(initial) and bool(pairs)
    if st.button("Run this study", type="primary", key="new.run", disabled=not ready):
        strip.hand_in(STRIP, parameters)


def _rankers_and_levels(before: list[str]) -> dict[str, Any]:
    rankers = shared.rankers(before)
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
    measures = fields.measures(st.session_state.get("wanted measure", fields.FIRST_MEASURE))
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


def _cost(parameters: Mapping[str, Any], shown: Artefact | None) -> str:
    """What the button will cost, from what a trial took in the study shown."""
    points = parameters["perturbations"]
    disturbed = sum(level != PERTURBATIONS[family].unchanged for family, level in points)
    each = disturbed * parameters["draws"] + len(points) - disturbed
    count = each * (len(parameters["rankers"]) + 1)
    queries = shown.facts["queries"] if shown else None
    size = f"{queries} queries × " if queries else ""
    text = f"{size}{len(points)} levels × {parameters['draws']} draws × "
    text += f"{len(parameters['rankers']) + 1} rankers = **{count} trials**{shared.COUNTED}"
    known = _timed(shown) if shown else {}
    timed = [name for name in parameters["rankers"] if name in known]
    if timed:
        seconds = each * (sum(known[name] for name in timed) + known.get(INITIAL, 0.0))
        text += f", about **{duration(seconds)}** of scoring by the study shown"
    new = [name for name in parameters["rankers"] if name not in known]
    if new:
        text += f"; not timed on this set: {escaped(', '.join(new))} (trained first if need be)"
    return text + ". Finished trials are never repeated."


def _timed(shown: Artefact) -> dict[str, float]:
    """Seconds of a trial by ranker, under the study's own names and as a job names them now."""
    known = curves.seconds_a_trial(str(shown.key))
    data = str(shown.facts["data"])
    labels = [label for label, _ in shown.recipe["rankers"] if label != INITIAL]
    asked = proposals.for_study(data, shown).rankers
    return known | {
        name: known[label] for label, name in zip(labels, asked, strict=False) if label in known
    }
