"""The page of Table 4: none, one or many initial rankings, left out and exchanged."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import proposals, rankings, services, state, training
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.figures import multi_ranking as figure
from shuffleproof.app.plain import escaped
from shuffleproof.app.proposals import Proposal
from shuffleproof.app.study import choice, parts, trial_cost
from shuffleproof.app.study import form as shell
from shuffleproof.app.study.form import Asked, Form
from shuffleproof.app.study.job_panel import Panel
from shuffleproof.app.study.parts import choice as measure_choice
from shuffleproof.app.views.multi_ranking import queries
from shuffleproof.core.errors import MissingRankingError
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.parameters import Parameter
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.claims import STEPS
from shuffleproof.core.studies.engine import RunningStudy
from shuffleproof.core.studies.kinds.multi_ranking import sections
from shuffleproof.core.studies.kinds.multi_ranking.question import MultiRanking
from shuffleproof.core.studies.kinds.multi_ranking.ranking_conditions import swap_named
from shuffleproof.core.studies.kinds.multi_ranking.sections import COLUMNS
from shuffleproof.core.studies.tables import Table
from shuffleproof.core.words import counted

CHART = "conditions"
AXES: dict[figure.Shown, str] = {"mean": "Measure", "change": "Change"}


@dataclass(frozen=True)
class Chosen:
    """What is drawn of a stored study.

    Attributes:
        artefact: the study.
        measure: under the conventions chosen.
        rankers: in the study's order, without the initial rankings by themselves.
        shown: means, or changes from the ranker as trained.
        alone: whether the initial rankings stand in the picture by themselves.
    """

    artefact: Artefact
    measure: Measure
    rankers: tuple[str, ...]
    shown: figure.Shown
    alone: bool

    @property
    def key(self) -> str:
        """The study's key."""
        return str(self.artefact.key)

    @cached_property
    def drawn(self) -> pd.DataFrame:
        """The rows of the picture."""
        frame = rankings.table(self.key, str(self.measure))
        own = frame["ranker"].isin(self.rankers)
        if self.alone and self.shown == "mean":
            own |= frame["ranker"].map(rankings.is_by_itself)
        rows = frame[own]
        if self.shown == "mean":
            return rows
        changed = rows[rows["change"].notna()]["ranker"]
        return rows[rows["ranker"].isin(changed)]


def page() -> None:
    """Draw a stored study of the data set in use: dots, finding, verdict, then details."""
    there = shell.page(
        FORM,
        "Several rankings",
        lambda stored: _study(state.data(), stored),
        missing="No study of several initial rankings is stored for {data} yet.",
        remedy="Press the button below: SetRank is trained without, with one and with several "
        "initial rankings; then they are left out and exchanged.",
    )
    if not there:
        queries.geometry(state.data(), None, None)


@st.fragment
def _study(data: str, stored: Mapping[str, Artefact]) -> None:
    top = choice.top(stored, rankings.short_words, rankings.words)
    artefact = top.artefact
    with top.controls:
        shown = _shown()
        labels = rankings.rankers(artefact.recipe)
        rankers = choice.rankers(labels, top.notices, str(artefact.key))
    with top.picture:
        drawing, said = st.container(), st.container()
        measure, alone = _measure(artefact)
    chosen = Chosen(artefact, measure, rankers, shown, alone)
    drawn = _picture(chosen, drawing)
    with said:
        _said(chosen)
    _details(artefact, str(measure))
    queries.geometry(data, chosen.key, artefact.facts["lists"]["depth"])
    frame = rankings.table(chosen.key, str(measure))
    table = Table(frame, COLUMNS, f"{measure} of every ranker under every condition")
    choice.export_row(artefact, drawn, table)


def _shown() -> figure.Shown:
    shown = st.segmented_control(
        "Horizontal axis", list(AXES), default="mean", required=True, format_func=AXES.__getitem__,
        key="x", bind="query-params", help="The mean, or its change from the ranker as trained.",
    )  # fmt: skip
    return shown or "mean"


def _measure(artefact: Artefact) -> tuple[Measure, bool]:
    """The measure with its conventions, changeable where they stand."""
    with st.container(horizontal=True, vertical_alignment="center", key="convention"):
        words = st.container(width="stretch")
        with st.popover("Measure and conventions", icon=":material/tune:"):
            measure = measure_choice(artefact.recipe)
            alone = st.toggle(
                "The initial rankings by themselves too", key="alone", bind="query-params",
                help="What each of them reaches without any ranker, the oracle included.",
            )  # fmt: skip
    with words:
        parts.convention(
            measure.convention(),
            f"N = {artefact.facts['queries']} queries",
            "95 % intervals over queries",
        )
    return measure, alone


def _picture(chosen: Chosen, place: Any) -> Any:
    if chosen.drawn.empty:
        place.info("Nothing to draw: choose a ranker that reads an initial ranking, or the means.")
        return None
    identity = (chosen.key, str(chosen.measure), chosen.rankers, chosen.shown, chosen.alone)
    drawn = _drawn(chosen, identity)
    place.plotly_chart(
        drawn,
        key=CHART,
        alt=figure.alt_text(chosen.drawn, str(chosen.measure)),
        on_select=_take,
        selection_mode="points",
        config=parts.CLICKABLE,
    )
    place.caption(
        "Full dots under a ranker: the change is more than chance (p ≤ .05 after Holm's "
        f"adjustment). {ADJUSTED if chosen.shown == 'change' else ''} Click one."
    )
    return drawn


@st.cache_resource(max_entries=128, show_spinner=False)
def _drawn(_chosen: Chosen, identity: tuple[Any, ...]) -> Any:
    """The figure; shared between sessions and never changed (files are made from copies)."""
    del identity  # the memory's key: `_chosen` in values that can be compared
    return figure.conditions(_chosen.drawn, str(_chosen.measure), _chosen.shown)


def _take() -> None:
    """A click on a dot chooses the condition whose queries are shown below."""
    facts = parts.clicked(CHART)
    if facts:
        st.session_state[queries.POINT] = (str(facts[0]), str(facts[1]))


def _said(chosen: Chosen) -> None:
    found = rankings.sentences(chosen.key, str(chosen.measure))
    if found.rankers:
        parts.finding(found.rankers)
    if found.verdict:
        st.markdown(escaped(found.verdict))
    else:
        st.caption(
            "The paper's claim is about setrank-imsab, setrank-imsab-init and "
            "setrank-imsab-multi-init: with all three in a study, the verdict stands here."
        )


GIVEN = {registry.FEATURE, "random", "ideal", "file-order"}
SAID = {
    "oracle": "the judgments themselves",
    "anti-oracle": "the judgments upside down",
    "random": "chance",
}


def first(found: RunningStudy) -> None:
    """Draw the dots that are there."""
    result = found.result(services.store())
    if result is None:
        return
    measure = str(found.recipe["measures"][0])
    frame = sections.table(result, measure)
    st.plotly_chart(
        figure.conditions(frame, measure),
        key="first results",
        alt=figure.alt_text(frame, measure),
    )
    st.caption(f"First results: {len(result.trials)} rankers and conditions so far.")


def proposed(_data: str, shown: Artefact | None) -> Proposal:
    """The question's own rankers; the initial rankings of the study shown, else the paper's."""
    preset, lists = proposals.for_training()
    initial = [f"{name}@{preset}" for name in MultiRanking.initial]
    if shown is not None:
        initial = list(shown.facts["lists"]["initial"])
    return Proposal((), ListRecipe(tuple(initial), lists.depth, lists.scores, lists.folds))


def swaps(declared: Parameter, now: tuple[str, ...]) -> tuple[str, ...]:
    """Draw what is put in the first initial ranking's place."""
    found = st.multiselect(
        "Exchanged at test time for", list(dict.fromkeys([*now, *MultiRanking.swaps])),
        default=list(now), accept_new_options=True, key="new.swaps", wrap=True,
        format_func=lambda name: f"{name}: {SAID[name]}" if name in SAID else name,
        help=f"{declared.help}, once the ranker is trained; any initial ranker can be named.",
    )  # fmt: skip
    return tuple(found)


def cost(asked: Asked) -> str:
    """What the button will cost: trainings that are not stored yet, and their seconds.

    Raises:
        ShuffleproofError: a data set that cannot be read, a ranker that there is not, or one
            that reads more initial rankings than are chosen.
    """
    fitting, question, preset = training.fitting(asked.data), asked.question, asked.preset
    plans = []
    for name, seeds in trial_cost.fitted(question.rankers, question.seeds):
        reads = registry.spec(name, preset).rankings
        if reads > len(asked.lists.initial):
            raise MissingRankingError(str(name), reads, len(asked.lists.initial))
        for seed in range(seeds):
            changes = {"rankings": str(reads)} if reads else {}
            changes |= {"seed": str(seed)} if seeds > 1 else {}
            plans.append(training.planned(fitting, asked.lists, name, preset, changes))
    for swap in question.swaps:
        swap_named(swap, preset)
    text = trial_cost.in_words(plans, training.preparing(fitting, asked.lists), fits=True)
    return f"{counted(len(question.rankers), 'ranker')}: {text}"


FORM = Form(
    Panel(rankings.KIND, "study of several rankings", first),
    "Run a study of several rankings",
    "Run this study",
    rows=(("rankers",), ("initial", "swaps")),
    cost=cost,
    kept=("rankers", "swaps"),
    proposed=proposed,
    trains=True,
    widgets={"swaps": swaps},
    offered=lambda name: name not in GIVEN,
    note="Those that read no initial ranking are measured once; DLCM is fed in the order of what "
    "stands in its place.",
    list_fields=("depth", "scores", "folds", "seed"),
)


ADJUSTED = "Intervals of changes are adjusted as p is: they leave out 0 where p ≤ .05."


def _details(artefact: Artefact, measure: str) -> None:
    """Draw the queries behind a dot to be chosen, then the table and the claim's steps."""
    key = str(artefact.key)
    queries.section(artefact, measure)
    _numbers(key, measure)
    _claim(key, measure)


def _numbers(key: str, measure: str) -> None:
    st.subheader("Is it more than chance?")
    frame = rankings.table(key, measure)
    title = f"{measure} of every ranker under every condition"
    data_frame(Table(frame, sections.COLUMNS, title), "numbers")
    parts.convention(
        "Every condition is scored on the same candidates; DLCM is fed in the order of what stands "
        "in the initial ranking's place",
        escaped(sections.adjustment(frame)),
        ADJUSTED,
    )


def _claim(key: str, measure: str) -> None:
    found = rankings.claim(key, measure)
    if found is None:
        return
    st.subheader("The paper's claim, step by step")
    title = "The two steps of the paper's claim with intervals and p"
    data_frame(Table(found.steps, STEPS, title), "steps")
    st.caption(
        escaped(
            f"Many initial rankings beat one, and one beats none (SetRank, Table 4): {found.word} "
            "here. It holds where both steps are above 0 at p ≤ .05."
        )
    )
