"""Running a study of initial rankings: its form and cost, its progress and its first dots."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from shuffleproof.app import proposals, rankings, services, training
from shuffleproof.app.figures import initial_rankings as figure
from shuffleproof.app.forms import drawn
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import fields, trainings
from shuffleproof.app.study import job_panel as strip
from shuffleproof.core.errors import MissingRankingError, ShuffleproofError, UsageError
from shuffleproof.core.execution.jobs import Job
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.parameters import parsed
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.multi_ranking import ranking_conditions as exchanged
from shuffleproof.core.studies.kinds.multi_ranking import table as initial_rankings_table
from shuffleproof.core.studies.kinds.multi_ranking.ranking_conditions import SWAPS
from shuffleproof.core.studies.kinds.multi_ranking.study import FOUR, TABLE4
from shuffleproof.core.studies.ranker_sets import expanded
from shuffleproof.core.studies.running import Underway

MOST_SEEDS = 100
SAID = {
    "oracle": "the judgments themselves",
    "anti-oracle": "the judgments upside down",
    "random": "chance",
}


def progress(data: str) -> bool:
    """Draw the study that is waiting, running or has just failed; whether there is one."""
    return strip.progress(STRIP, (data,))


def _begun(one: Underway, job: Job) -> bool:
    """Whether an announced study is the one that a job works on."""
    asked = job.parameters
    return one.facts["data"] == asked["data"] and rankings.rankers(one.recipe) == expanded(
        asked["rankers"]
    )


def _first(found: Underway) -> None:
    result = found.result(services.store())
    if result is None:
        return
    measure = str(found.recipe["measures"][0])
    frame = initial_rankings_table.table(result, measure)
    st.plotly_chart(
        figure.conditions(frame, measure),
        key="first results",
        alt=figure.alt_text(frame, measure),
    )
    st.caption(f"First results: {len(result.trials)} rankers and conditions so far.")


STRIP = strip.Strip(rankings.KIND, "study of several rankings", _begun, _first)


def form(data: str, shown: Artefact | None, *, opened: bool) -> None:
    """Draw the form that starts a study."""
    with st.expander("Run a study of several rankings", expanded=opened,
                     icon=":material/play_arrow:"):  # fmt: skip
        _form(data, shown)


@st.fragment
def _form(data: str, shown: Artefact | None) -> None:
    usual_preset, usual = proposals.for_training()
    rankers = _rankers(data, shown)
    initial, swaps = _initial(data, shown, usual_preset)
    with st.popover("Preset, seeds, measures and lists", icon=":material/tune:"):
        preset = fields.preset(trainings.plain(rankers), usual_preset)
        seeds = int(st.number_input("Seeds", 1, MOST_SEEDS, 1, key="new.seeds"))
        measures = fields.measures()
        changes = drawn(usual, "new.lists", only=("depth", "scores", "folds", "seed"))
    try:
        if not initial:
            raise UsageError("no initial ranking is chosen: name at least one")
        lists = replace(parsed(usual, changes), initial=tuple(initial))
        parameters = {
            "data": data, "rankers": rankers, "swaps": swaps, "seeds": seeds,
            "measures": [str(Measure.parse(text)) for text in measures.split(";")],
            "lists": training.lists_asked(data, lists) | {"initial": initial},
        }  # fmt: skip
        if preset != training.usual_preset(data):
            parameters["preset"] = preset
        st.markdown(_cost(parameters, lists, preset))
    except ShuffleproofError as error:
        st.warning(escaped(str(error)), icon=":material/error:")
        return
    if st.button("Run this study", type="primary", key="new.run", disabled=not rankers):
        strip.hand_in(STRIP, parameters)


def _rankers(data: str, shown: Artefact | None) -> list[str]:
    before = rankings.rankers(shown.recipe) if shown else list(TABLE4)
    given = {registry.FEATURE, "random", "ideal", "file-order"}
    return fields.rankers(
        data, before, given,
        f"{trainings.HELP} Those that read no initial ranking are measured once; DLCM is fed "
        "in the order of what stands in its place.",
    )  # fmt: skip


def _initial(data: str, shown: Artefact | None, preset: str) -> tuple[list[str], list[str]]:
    """The initial rankings of training, and what is put in the first one's place."""
    known = fields.known_initial(data)
    before = list(shown.facts["lists"]["initial"]) if shown else [f"{x}@{preset}" for x in FOUR]
    left, right = st.columns(2)
    initial = left.multiselect(
        "Initial rankings, in their order", list(dict.fromkeys([*before, *known])), default=before,
        accept_new_options=True, key="new.initial", wrap=True,
        help="The first one cuts and orders the lists. A ranker that reads one reads the first.",
    )  # fmt: skip
    usual = list(shown.recipe["initial"][len(before) :]) if shown else list(SWAPS)
    swaps = right.multiselect(
        "Exchanged at test time for", list(dict.fromkeys([*usual, *SWAPS, *known])), default=usual,
        accept_new_options=True, key="new.swaps", wrap=True,
        format_func=lambda name: f"{name}: {SAID[name]}" if name in SAID else name,
        help="What stands in the first one's place once the ranker is trained.",
    )  # fmt: skip
    return list(initial), list(swaps)


def _cost(parameters: Mapping[str, Any], lists: ListRecipe, preset: str) -> str:
    """What the button will cost: trainings that are not stored yet, and their seconds.

    Raises:
        ShuffleproofError: a data set that cannot be read, a ranker that there is not, or one
            that reads more initial rankings than are chosen.
    """
    fitting = training.fitting(parameters["data"])
    plans = []
    for name, seeds in trainings.fitted(parameters["rankers"], parameters["seeds"]):
        reads = registry.spec_of(name, preset).rankings
        if reads > len(lists.initial):
            raise MissingRankingError(str(name), reads, len(lists.initial))
        asked = name.base, name.preset or preset
        for seed in range(seeds):
            changes = {"rankings": str(reads)} if reads else {}
            changes |= {"seed": str(seed)} if seeds > 1 else {}
            plans.append(training.planned(fitting, lists, *asked, changes))
    for swap in parameters["swaps"]:
        exchanged.swap_named(swap, preset)
    text = trainings.said(plans, training.preparing(fitting, lists), fits=True)
    return f"{text}. What is stored is never repeated."
