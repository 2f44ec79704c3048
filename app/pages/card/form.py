"""Running a robustness card: its form and cost, its progress and its first marks."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from shuffleproof.app import disturbed, proposals, services
from shuffleproof.app.figures import card as figure
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import job_panel as strip
from shuffleproof.app.study import perturbed_form as shared
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.execution.jobs import Job
from shuffleproof.core.perturb.registry import PERTURBATIONS
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.card import study as card
from shuffleproof.core.studies.kinds.card import table as card_table
from shuffleproof.core.studies.kinds.ranking_degradation.study import PAPER_FAMILY
from shuffleproof.core.studies.running import Underway
from shuffleproof.core.words import counted

DRAWS, MOST_DRAWS = 5, 1000
OFFERED = [name for name, entry in PERTURBATIONS.items() if entry.changes <= card.ALLOWED]


def progress(data: str) -> bool:
    """Draw the card that is waiting, running or has just failed; whether there is one."""
    return strip.progress(STRIP, (data,))


def proposed(data: str) -> Sequence[str]:
    """The rankers that a first card would be of."""
    return proposals.for_study(data).rankers


def _begun(one: Underway, job: Job) -> bool:
    families = list(disturbed.families(one.recipe))
    return shared.begun(one, job) and families == list(job.parameters["families"])


def _first(found: Underway) -> None:
    result = found.result(services.store())
    if result is None:
        return
    family, measure = str(result.trials["family"].iloc[0]), str(found.recipe["measures"][0])
    frame = card_table.pareto(card_table.cards(result, family, measure))
    if frame["start"].notna().any():
        last = result.trials[result.trials["family"] == family]["level"].iloc[-1]
        st.plotly_chart(
            figure.pareto(frame, measure, f"{family} {last:g}"), key="first results",
            alt=figure.alt_text(frame, measure),
        )  # fmt: skip
    st.caption(f"First results: {counted(len(result.trials), 'trial')} so far.")


STRIP = strip.Strip(card.KIND, "robustness card", _begun, _first)


def form(data: str, shown: Artefact | None, *, opened: bool) -> None:
    """Draw the form that starts a card."""
    with st.expander("Run a robustness card", expanded=opened, icon=":material/play_arrow:"):
        _form(data, shown)


@st.fragment
def _form(data: str, shown: Artefact | None) -> None:
    usual = proposals.for_study(data, shown)
    names = shared.rankers(usual.rankers)
    before = list(disturbed.families(shown.recipe)) if shown else [PAPER_FAMILY]
    left, right = st.columns([4, 1])
    families = left.multiselect(
        "Disturbed by", OFFERED, default=[name for name in before if name in OFFERED],
        key="new.families", wrap=True,
        help="  \n".join(f"{name}: {PERTURBATIONS[name].summary}" for name in OFFERED),
    )  # fmt: skip
    draws = right.number_input("Draws a level", 1, MOST_DRAWS, DRAWS, key="new.draws")
    with st.popover("Candidate lists and seed", icon=":material/tune:"):
        chosen = shared.lists(data, usual.lists)
        seed = st.number_input("Seed", value=0, min_value=0, key="new.seed")
    try:
        parameters, recipe = shared.asked(data, names, usual.lists, chosen)
    except ShuffleproofError as error:
        st.warning(escaped(str(error)), icon=":material/error:")
        return
    parameters |= {"families": families, "draws": int(draws), "seed": int(seed)}
    st.markdown(_cost(parameters, shown) + shared.trainings(data, names, recipe) + ".")
    ready = bool(names) and bool(families)
    if st.button("Run this card", type="primary", key="new.run", disabled=not ready):
        strip.hand_in(STRIP, parameters)


def _cost(parameters: Mapping[str, Any], shown: Artefact | None) -> str:
    """What the button will cost, from what a trial took in the study shown."""
    draws, names = parameters["draws"], parameters["rankers"]
    each = levels = 0
    for family in parameters["families"]:
        entry = PERTURBATIONS[family]
        own = sorted({entry.unchanged, *entry.default_levels})
        levels += len(own)
        each += sum(entry.draws(level, draws) for level in own)
    parts = [counted(shown.facts["queries"], "query")] if shown else []
    parts += [counted(levels, "level"), counted(draws, "draw")]
    parts += [counted(len(names) + 1, "ranker")]
    text = f"{' × '.join(parts)} = **{counted(each * (len(names) + 1), 'trial')}**"
    timed, unknown = shared.trials(shown, names, each, parameters["data"])
    return text + shared.COUNTED + timed + shared.not_timed(unknown)
