"""Running a study of set size: its form and cost, its progress and its first curves."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from shuffleproof.app import proposals, services, set_sizes, training
from shuffleproof.app.figures import set_size as figure
from shuffleproof.app.forms import drawn
from shuffleproof.app.pages.set_size.chosen import of_home
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import fields, trainings
from shuffleproof.app.study import job_panel as strip
from shuffleproof.core.errors import ParameterError, ShuffleproofError
from shuffleproof.core.execution.jobs import Job
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.numerals import whole
from shuffleproof.core.parameters import parsed
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.set_size import feasibility as reach
from shuffleproof.core.studies.kinds.set_size import table as set_size_table
from shuffleproof.core.studies.ranker_sets import expanded
from shuffleproof.core.studies.running import Underway
from shuffleproof.core.words import counted

MOST_SEEDS = 100
CLAIMED = ("setrank-imsab", "setrank-msab", "dlcm-without-init")
"""The rankers that the paper's claim is about."""


def progress(data: str) -> bool:
    """Draw the study that is waiting, running or has just failed; whether there is one."""
    return strip.progress(STRIP, (data,))


def usual_sizes(data: str) -> list[int]:
    """The paper's sizes that test lists reach; where they are shorter, steps up to the longest."""
    try:
        return list(reach.proposed(set_sizes.lengths(data)))
    except ShuffleproofError:  # the data set is gone, its studies are not
        return list(reach.SIZES)


def _begun(one: Underway, job: Job) -> bool:
    """Whether an announced study is the one that a job works on."""
    asked = job.parameters
    names = [name for name in expanded(asked["rankers"]) if name not in set_sizes.CANDIDATES]
    sizes = sorted({*asked["sizes"], *asked["trained_on"]})
    return (
        one.facts["data"] == asked["data"]
        and set_sizes.rankers(one.recipe) == names
        and sorted(one.recipe["sizes"]) == sizes
    )


def _first(found: Underway) -> None:
    result = found.result(services.store())
    if result is None:
        return
    measure = str(found.recipe["measures"][0])
    trained_on = set_sizes.trained_on(found.recipe)
    home = trained_on[0] if trained_on else None
    frame = of_home(set_size_table.curves(result, measure), home)
    st.plotly_chart(
        figure.curves(frame, measure, home),
        key="first results",
        alt=figure.alt_text(frame, measure),
    )
    st.caption(f"First results: {len(result.trials)} trainings and scorings so far.")


STRIP = strip.Strip(set_sizes.KIND, "study of set size", _begun, _first)


def form(data: str, shown: Artefact | None, *, opened: bool) -> None:
    """Draw the form that starts a study."""
    with st.expander("Run a study of set size", expanded=opened, icon=":material/play_arrow:"):
        _form(data, shown)


@st.fragment
def _form(data: str, shown: Artefact | None) -> None:
    usual_preset, usual_lists = proposals.for_training()
    rankers = _rankers(data, shown)
    trained_on, sizes, seeds = _sizes(data, shown)
    with st.popover("Preset, measures and lists", icon=":material/tune:"):
        preset = fields.preset(trainings.plain(rankers), usual_preset)
        measures = fields.measures()
        lists = _lists(data, usual_lists)
    try:
        parameters = {
            "data": data, "rankers": list(rankers), "seeds": seeds,
            "trained_on": _numbers("trained on", trained_on), "sizes": _numbers("sizes", sizes),
            "measures": [str(Measure.parse(text)) for text in measures.split(";")],
            "lists": training.lists_asked(data, lists) | {"initial": list(lists.initial)},
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
    before = set_sizes.rankers(shown.recipe) if shown else list(CLAIMED)
    given = {registry.FEATURE, "random", "ideal"}
    return fields.rankers(
        data, before, given,
        f"{trainings.HELP} The ceiling and the initial ranking always stand beside them; "
        "rankers with ordinal embeddings are not asked beyond their longest rank.",
    )  # fmt: skip


def _sizes(data: str, shown: Artefact | None) -> tuple[str, str, int]:
    usual = usual_sizes(data)
    homes = list(reach.homes(usual))
    own = set_sizes.trained_on(shown.recipe) if shown else homes
    tested = list(shown.recipe["sizes"]) if shown else usual
    left, middle, right = st.columns([2, 2, 1])
    trained_on = left.text_input(
        "Trained on lists of (N0)", value=",".join(map(str, own or homes)), key="new.home",
        help="Candidates a list, comma-separated; each size is a training of its own.",
    )  # fmt: skip
    sizes = middle.text_input(
        "Tested on lists of (N1)", value=",".join(map(str, tested)), key="new.sizes",
        help="Candidates a list, comma-separated; cut from the initial ranking.",
    )  # fmt: skip
    seeds = right.number_input("Seeds", 1, MOST_SEEDS, 1, key="new.seeds")
    return trained_on, sizes, int(seeds)


def _numbers(name: str, text: str) -> list[int]:
    try:
        return reach.checked(name, [whole(part) for part in text.split(",")])
    except ValueError:
        raise ParameterError(name, text, "whole numbers, comma-separated") from None


def _lists(data: str, usual: ListRecipe) -> ListRecipe:
    initial = fields.initial(data, usual)
    changes = drawn(usual, "new.lists", only=("scores", "folds", "seed"))
    return replace(parsed(usual, changes), initial=tuple(initial or usual.initial))


def _cost(parameters: Mapping[str, Any], lists: ListRecipe, preset: str) -> str:
    """What the button will cost: trainings that are not stored yet, and their seconds.

    Raises:
        ShuffleproofError: a data set that cannot be read, or a ranker that cannot be trained.
    """
    fitting = training.fitting(parameters["data"])
    plans = []
    for name, seeds in trainings.fitted(parameters["rankers"], parameters["seeds"]):
        spec = registry.spec_of(name, preset)
        asked = name.base, name.preset or preset
        for size in [None] if spec.fits_documents else parameters["trained_on"]:
            for seed in range(seeds):
                changes = {"seed": str(seed)} if seeds > 1 else {}
                of_size = replace(lists, depth=size)
                plans.append(training.planned(fitting, of_size, *asked, changes))
    first = training.preparing(fitting, lists)
    text = f"{counted(len(expanded(parameters['rankers'])), 'ranker')} on lists of "
    text += f"{', '.join(map(str, parameters['trained_on']))}: {trainings.said(plans, first)}"
    sizes = {*parameters["sizes"], *parameters["trained_on"]}
    text += f"; each is tested at {counted(len(sizes), 'size')}"
    longest = int(set_sizes.lengths(parameters["data"]).max(initial=0))
    unreached = reach.beyond([size for size in sizes if size > longest])
    return " ".join(filter(None, [f"{text}. What is stored is never repeated.", unreached]))
