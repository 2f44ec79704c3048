"""Running a study of perturbations: families by what they change, cost, progress, first cells."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from shuffleproof.app import disturbed, proposals, services, training
from shuffleproof.app.figures import perturbations as figure
from shuffleproof.app.jobs import duration
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import fields
from shuffleproof.app.study import job_panel as strip
from shuffleproof.app.study import perturbed_form as shared
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.execution.jobs import Job
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.perturb.registry import PERTURBATIONS, entry_of
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import cost
from shuffleproof.core.studies.kinds.perturbations import notes as perturbations_notes
from shuffleproof.core.studies.kinds.perturbations import study as perturbations
from shuffleproof.core.studies.kinds.perturbations import table as perturbations_table
from shuffleproof.core.studies.running import Underway
from shuffleproof.core.words import counted

DRAWS, MOST_DRAWS = 5, 1000
FIRST = ("shuffle-shown", "transpositions", "sample", "distractors", "feature-noise")
"""What a first study asks: one family of each kind that takes no training."""


def progress(data: str) -> bool:
    """Draw the study that is waiting, running or has just failed; whether there is one."""
    return strip.progress(STRIP, (data,))


def proposed(data: str) -> Sequence[str]:
    """The rankers that a first study would be of."""
    return proposals.for_study(data).rankers


def _begun(one: Underway, job: Job) -> bool:
    return shared.begun(one, job)


def _first(found: Underway) -> None:
    result = found.result(services.store())
    if result is None:
        return
    measure = str(found.recipe["measures"][0])
    cells = perturbations_table.condensed(perturbations_table.losses(result, measure), "last")
    groups = perturbations_table.headed(cells["family"])
    st.plotly_chart(
        figure.losses(cells, groups, measure), key="first results",
        alt=figure.alt_text(cells, measure),
    )  # fmt: skip
    st.caption(f"First results: {counted(len(result.trials), 'trial')} so far.")


STRIP = strip.Strip(perturbations.KIND, "study of perturbations", _begun, _first)


def form(data: str, shown: Artefact | None, *, opened: bool) -> None:
    """Draw the form that starts a study."""
    with st.expander("Run a study of perturbations", expanded=opened,
                     icon=":material/play_arrow:"):  # fmt: skip
        _form(data, shown)


@st.fragment
def _form(data: str, shown: Artefact | None) -> None:
    usual = proposals.for_study(data, shown)
    names = shared.rankers(usual.rankers)
    families = _families(shown)
    left, right = st.columns([4, 1])
    levels = left.text_input(
        "Levels", key="new.levels", placeholder="each family's own",
        help="Comma-separated, taken for every family chosen; empty: each family's own.",
    )  # fmt: skip
    draws = right.number_input("Draws a level", 1, MOST_DRAWS, DRAWS, key="new.draws")
    with st.popover("Measures, candidate lists and seed", icon=":material/tune:"):
        measures = fields.measures()
        chosen = shared.lists(data, usual.lists)
        seed = st.number_input("Seed", value=0, min_value=0, key="new.seed")
    try:
        parameters, recipe = shared.asked(data, names, usual.lists, chosen)
        pairs = perturbations.pairs_of(families, levels.strip() or None)
        if names:
            perturbations.check(names, families)
        skipped = perturbations_notes.skipped(names, families)
        parameters |= {
            "perturbations": [list(pair) for pair in pairs],
            "measures": [str(Measure.parse(text)) for text in measures.split(";")],
            "draws": int(draws), "seed": int(seed),
        }  # fmt: skip
        text = _cost(parameters, shown) + shared.trainings(data, names, recipe)
        text += _retrained(parameters, recipe)
    except ShuffleproofError as error:
        st.warning(escaped(str(error)), icon=":material/error:")
        return
    st.markdown(f"{text}. Finished trials are never repeated.")
    if names and skipped:
        st.caption(escaped(f"Skipped: {skipped}"))
    if st.button("Run this study", type="primary", key="new.run", disabled=not (names and pairs)):
        strip.hand_in(STRIP, parameters)


def _families(shown: Artefact | None) -> list[str]:
    """Draw one choice for each kind of change, and one for chains."""
    before = list(disturbed.families(shown.recipe)) if shown else list(FIRST)
    found: list[str] = []
    places = st.columns(2)
    groups = perturbations_table.grouped(PERTURBATIONS)
    for at, (group, names) in enumerate(groups.items()):
        found += places[at % 2].multiselect(
            perturbations_table.GROUPS[group], names,
            default=[name for name in before if name in names],
            key=f"new.{group}", wrap=True, placeholder="none",
            help="  \n".join(f"{name}: {PERTURBATIONS[name].summary}" for name in names),
        )  # fmt: skip
    chains = [name for name in before if name not in PERTURBATIONS]
    found += places[len(groups) % 2].multiselect(
        "Chains, attacks on one network, matrices", chains, default=chains, accept_new_options=True,
        key="new.chains", wrap=True, placeholder="type transpositions:5+shuffle-shown",
        help="Families joined by +, each but the last with its level; gradient-sign@RANKER; "
        "label-flips@0.9_0.1/0.2_0.8, a row a grade.",
    )  # fmt: skip
    return found


def _cost(parameters: Mapping[str, Any], shown: Artefact | None) -> str:
    """What the button will cost, from what a trial took in the study shown."""
    draws, names, pairs = (parameters[name] for name in ("draws", "rankers", "perturbations"))
    each = sum(entry_of(family).draws(level, draws) for family, level in pairs)
    families = counted(len({family for family, _ in pairs}), "family")
    parts = [counted(shown.facts["queries"], "query")] if shown else []
    parts += [f"{families} with {counted(len(pairs), 'level')}"]
    parts += [counted(draws, "draw"), counted(len(names) + 1, "ranker")]
    text = f"{' × '.join(parts)} = **{counted(each * (len(names) + 1), 'trial')}**"
    timed, unknown = shared.trials(shown, names, each, parameters["data"])
    return text + shared.COUNTED + timed + shared.not_timed(unknown)


def _retrained(parameters: Mapping[str, Any], recipe: ListRecipe) -> str:
    """What families that train add: a training for every ranker, level and draw."""
    draws = parameters["draws"]
    count = sum(
        entry_of(family).draws(level, draws)
        for family, level in parameters["perturbations"]
        if entry_of(family).retrains and level != entry_of(family).unchanged
    )
    if not count:
        return ""
    trained = counted(count * len(parameters["rankers"]), "training")
    text = f"; labels, rows and seeds train each ranker anew: **{trained}**"
    try:
        fitting, costs = training.fitting(parameters["data"]), []
        for name in parameters["rankers"]:
            own = RankerName.parse(name)
            preset = own.preset or training.usual_preset(parameters["data"])
            costs += [training.planned(fitting, recipe, own.base, preset, {}).cost] * count
    except ShuffleproofError:
        return text
    low, high = cost.added(costs)
    return f"{text}, from **{duration(low)}** to **{duration(high)}**"
