"""Running an ablation: its form and cost, its progress and its first variants."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import streamlit as st

from shuffleproof.app import ablations, proposals, services, training
from shuffleproof.app.figures import ablation as figure
from shuffleproof.app.jobs import duration
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import job_panel as strip
from shuffleproof.core.errors import ParameterError, ShuffleproofError
from shuffleproof.core.execution.jobs import Job
from shuffleproof.core.numerals import number
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.fit_cache import ranker_key
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.neural.recipes import FIXED
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import cost
from shuffleproof.core.studies.kinds.ablation import study as ablation
from shuffleproof.core.studies.kinds.ablation.question import Ablation
from shuffleproof.core.studies.kinds.ablation.steps import step_of
from shuffleproof.core.studies.kinds.ablation.study import PAPER, TOWARDS, Variant
from shuffleproof.core.studies.reproduce import command_of
from shuffleproof.core.studies.running import Underway
from shuffleproof.core.words import counted

FIRST = "setrank-imsab-init"
DRAWS, MOST_DRAWS = 5, 1000
LEVELS = "0, 5, 20"
OWN = "each its own"
RANKERS = tuple(
    name for name in FIXED if {ablation.BASE, *TOWARDS} <= set(registry.RANKERS[name].presets)
)


def progress(data: str) -> bool:
    """Draw the ablation that is waiting, running or has just failed; whether there is one."""
    return strip.progress(STRIP, (data,))


def _begun(one: Underway, job: Job) -> bool:
    """Whether an announced ablation is the one that a job works on."""
    asked = job.parameters
    levels = [float(level) for level in asked["levels"]]
    return (
        one.facts["data"] == asked["data"]
        and one.facts["ranker"] == asked["ranker"]
        and one.facts.get("sizes") == asked["sizes"]
        and list(one.facts.get("towards", ())) == list(asked["towards"])
        and [level for _, level in one.recipe["perturbations"]] == levels
    )


def _first(found: Underway) -> None:
    result = found.result(services.store())
    if result is None:
        return
    table = ablation.table(result)
    if len(table) > 1:
        st.plotly_chart(
            figure.effects(table, "quality", ablation.MEASURE, step_of),
            key="first variants",
            alt=figure.alt_text(table, "quality", ablation.MEASURE),
        )
    total = len(found.recipe["rankers"])
    st.caption(f"First results: {len(table)} of {total} variants are trained and measured.")


STRIP = strip.Strip(ablations.KIND, "ablation", _begun, _first)


def command(data: str) -> str:
    """The command line of what the form offers on a data set without an ablation."""
    preset, lists = proposals.for_training()
    presets = training.presets([FIRST])
    question = Ablation(sizes=preset if preset in presets else presets[0])
    facts = {"data": data, "lists": asdict(lists), "preset": training.usual_preset(data)}
    return command_of(question, facts)


def form(data: str, shown: Artefact | None, *, opened: bool) -> None:
    """Draw the form that starts an ablation."""
    with st.expander("Run an ablation", expanded=opened, icon=":material/play_arrow:"):
        _form(data, shown)


@st.fragment
def _form(data: str, shown: Artefact | None) -> None:
    usual_preset, lists = proposals.for_training()
    before = str(shown.facts["ranker"]) if shown else FIRST
    left, middle, right = st.columns(3)
    ranker = left.selectbox(
        "Ranker", RANKERS, index=RANKERS.index(before if before in RANKERS else FIRST),
        key="new.ranker", help="A network whose paper and released code differ.",
    )  # fmt: skip
    presets = [*training.presets([ranker]), OWN]
    sizes = middle.selectbox(
        "Sizes", presets, index=presets.index(usual_preset) if usual_preset in presets else 0,
        key="new.sizes",
        help="Widths, depth, batches and epochs of this preset for all variants, so that the "
        "differences can be seen on a small machine; all else stays each variant's own.",
    )  # fmt: skip
    towards = right.multiselect(
        "Differences towards", (*TOWARDS, PAPER), default=list(TOWARDS), key="new.towards",
        help="Every step from the paper's recipe towards these, one at a time; claims: what "
        "DLCM's paper compares and no preset has (directions, cells, losses).",
    )  # fmt: skip
    left, middle, right = st.columns(3)
    levels = left.text_input(
        "Levels", value=LEVELS, key="new.levels",
        help="Transpositions of the initial ranking, comma-separated; 0: as it is.",
    )  # fmt: skip
    draws = middle.number_input("Draws a level", 1, MOST_DRAWS, DRAWS, key="new.draws")
    seed = right.number_input("Seed", 0, value=0, key="new.seed")
    try:
        numbers = _levels(levels)
        own = None if sizes == OWN else sizes
        made = ablation.variants(ranker, own, towards, int(seed))
        st.markdown(_cost(data, made, lists, len(numbers), int(draws)))
    except ShuffleproofError as error:
        st.warning(escaped(str(error)), icon=":material/error:")
        return
    if st.button("Run this ablation", type="primary", key="new.run", disabled=not towards):
        asked: dict[str, Any] = {"data": data, "ranker": ranker, "sizes": own}
        asked |= {"towards": list(towards), "levels": numbers, "draws": int(draws)}
        strip.hand_in(STRIP, asked | {"seed": int(seed), "lists": _listed(data, lists)})


def _listed(data: str, lists: ListRecipe) -> dict[str, Any] | None:
    return training.lists_asked(data, lists) or None


def _levels(text: str) -> list[float]:
    """The levels, rising, 0 among them.

    Raises:
        ParameterError: no numbers.
    """
    try:
        found = sorted({0.0, *(number(level) for level in text.split(",") if level.strip())})
    except ValueError:
        raise ParameterError("levels", text, "numbers, comma-separated") from None
    if any(level < 0 or level != int(level) for level in found):
        raise ParameterError("levels", text, "whole numbers from 0 on")
    return found


def _cost(data: str, made: Sequence[Variant], lists: ListRecipe, levels: int, draws: int) -> str:
    """What the button will cost: trainings that are not stored yet, and their seconds.

    Raises:
        ShuffleproofError: the data set cannot be read.
    """
    fitting = training.fitting(data)
    sizes, store = fitting.sizes(lists.depth), services.store()
    known = cost.measured(store)
    missing = [
        cost.estimate(one.spec, sizes, known)
        for one in made
        if store.find(ranker_key(one.spec, asdict(lists), *fitting.fingerprints[:2])) is None
    ]
    first = training.preparing(fitting, lists)
    low, high = cost.added(missing)
    low, high = (low + first.low, high + first.high) if first else (low, high)
    text = f"{counted(len(made), 'variant')}, **{counted(len(missing), 'training')}**"
    if len(missing) < len(made):
        text += f" ({len(made) - len(missing)} more are stored)"
    trials = len(made) * (1 + (levels - 1) * draws)
    text += f", then {counted(trials, 'trial')}"
    if missing:
        text += f": from **{duration(low)}** to **{duration(high)}** of training on this machine"
    return f"{text}. What is stored is never repeated."
