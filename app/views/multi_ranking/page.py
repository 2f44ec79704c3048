"""The page of Table 4: none, one or many initial rankings, left out and exchanged."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import rankings, state
from shuffleproof.app.figures import initial_rankings as figure
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import choice, parts
from shuffleproof.app.study import page as shell
from shuffleproof.app.study.measure_menu import choice as measure_choice
from shuffleproof.app.views.multi_ranking import details, geometry, queries
from shuffleproof.app.views.multi_ranking.form import FORM
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.multi_ranking.sections import COLUMNS
from shuffleproof.core.studies.tables import Table

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
        geometry.section(state.data(), None, None)


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
    details.section(artefact, str(measure))
    geometry.section(data, chosen.key, artefact.facts["lists"]["depth"])
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
        f"adjustment). {details.ADJUSTED if chosen.shown == 'change' else ''} Click one."
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
