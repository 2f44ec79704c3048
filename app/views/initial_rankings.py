"""The page of Table 4: none, one or many initial rankings, left out and exchanged."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd
import streamlit as st

from app import rankings, state
from app.figures import initial_rankings as figure
from app.plain import escaped
from app.views import initial_rankings_details as details
from app.views import initial_rankings_geometry as geometry
from app.views import initial_rankings_run as run
from app.views import initial_rankings_taken as taken
from app.views import parts
from app.views.set_size_measure import choice
from core.metrics.measure import Measure
from core.store.manifest import Artefact
from core.studies.registry import STUDIES

QUESTION = STUDIES["initial-rankings"].question
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
            own |= frame["ranker"].str.startswith(rankings.ALONE)
        rows = frame[own]
        if self.shown == "mean":
            return rows
        changed = rows[rows["change"].notna()]["ranker"]
        return rows[rows["ranker"].isin(changed)]


def page() -> None:
    """Draw a stored study of the data set in use: dots, finding, verdict, then details."""
    data = state.data()
    parts.header("Several rankings", QUESTION)
    stored = rankings.stored(data)
    at_work = run.progress(data)
    if stored:
        _study(data, stored)
    elif not at_work:
        parts.not_yet(
            f"No study of several initial rankings is stored for {data} yet.",
            "Press the button below: SetRank is trained without, with one and with several "
            "initial rankings; then they are left out and exchanged. Or on the command line:",
            f"shuffleproof study initial-rankings --data {data}",
        )
    run.form(data, next(iter(stored.values()), None), opened=not stored and not at_work)
    if not stored:
        geometry.section(data, None, None)


def _study(data: str, stored: Mapping[str, Artefact]) -> None:
    no_study = state.absent("study", stored)
    notices = st.container()
    picture, controls = st.columns([5, 2], gap="medium")
    with controls:
        artefact = stored[_key(stored)]
        labels = rankings.rankers(artefact.recipe)
        no_ranker = state.absent("show", labels)
        shown, chosen_rankers = _what(labels)
    with notices:
        state.instead("study", no_study, rankings.short_words(artefact))
        state.instead("ranker", no_ranker, *chosen_rankers)
    with picture:
        drawing, said = st.container(), st.container()
        measure, alone = _measure(artefact)
    chosen = Chosen(artefact, measure, chosen_rankers, shown, alone)
    point = details.point(chosen.key, str(measure))
    drawn = _picture(chosen, point, drawing)
    with said:
        _said(chosen)
    details.section(artefact, str(measure), point)
    geometry.section(data, chosen.key, artefact.facts["lists"]["depth"])
    taken.row(artefact, str(measure), drawn)


def _key(stored: Mapping[str, Artefact]) -> str:
    """The study chosen; its key always stands in the address."""
    wanted, keys = st.query_params.get("study", ""), list(stored)
    key = st.selectbox(
        "Study", keys, index=keys.index(wanted) if wanted in keys else 0,
        format_func=lambda key: rankings.short_words(stored[key]),
        help="Stored studies of this data set, newest first.",
    )  # fmt: skip
    st.caption(escaped(rankings.words(stored[key])))
    if wanted != key:
        st.query_params["study"] = key
    return str(key)


def _what(labels: list[str]) -> tuple[figure.Shown, tuple[str, ...]]:
    shown = st.segmented_control(
        "Horizontal axis", list(AXES), default="mean", required=True, format_func=AXES.__getitem__,
        key="x", bind="query-params", help="The mean, or its change from the ranker as trained.",
    )  # fmt: skip
    found = st.multiselect(
        "Rankers", labels, default=labels, key="show", bind="query-params", wrap=True
    )
    return shown or "mean", tuple(label for label in labels if label in found)


def _measure(artefact: Artefact) -> tuple[Measure, bool]:
    """The measure with its conventions, changeable where they stand."""
    with st.container(horizontal=True, vertical_alignment="center", key="convention"):
        words = st.container(width="stretch")
        with st.popover("Measure and conventions", icon=":material/tune:"):
            measure = choice(artefact.recipe)
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


def _picture(chosen: Chosen, point: tuple[str, str] | None, place: Any) -> Any:
    if chosen.drawn.empty:
        place.info("Nothing to draw: choose a ranker that reads an initial ranking, or the means.")
        return None
    identity = (chosen.key, str(chosen.measure), chosen.rankers, chosen.shown, chosen.alone)
    drawn = _drawn(chosen, point, identity)
    place.plotly_chart(
        drawn,
        key=CHART,
        alt=figure.alt_text(chosen.drawn, str(chosen.measure)),
        on_select=_take,
        selection_mode="points",
        config={"displaylogo": False, "modeBarButtonsToRemove": ["select2d", "lasso2d"]},
    )
    place.caption(
        "Full dots under a ranker: the change is more than chance (p ≤ .05, Holm). Click one."
    )
    return drawn


@st.cache_resource(max_entries=128, show_spinner=False)
def _drawn(_chosen: Chosen, point: tuple[str, str] | None, identity: tuple[Any, ...]) -> Any:
    """The figure; shared between sessions and never changed (files are made from copies)."""
    del identity  # the memory's key: `_chosen` in values that can be compared
    return figure.conditions(_chosen.drawn, str(_chosen.measure), _chosen.shown, point)


def _take() -> None:
    """A click on a dot chooses the condition whose queries are shown below."""
    for clicked in st.session_state[CHART]["selection"]["points"]:
        facts = clicked.get("customdata")
        if facts:
            st.session_state[details.POINT] = (str(facts[0]), str(facts[1]))
            return


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
