"""The page of everything that may happen to an input: rankers × families, curves, queries."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import disturbed
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.figures import perturbations as figure
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import choice, parts
from shuffleproof.app.study import page as shell
from shuffleproof.app.study.measure_menu import choice as measure_choice
from shuffleproof.app.views.perturbations import details
from shuffleproof.app.views.perturbations.form import FORM
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.perturbations import sections as perturbations_table
from shuffleproof.core.studies.kinds.perturbations.sections import STRENGTHS
from shuffleproof.core.studies.tables import Table
from shuffleproof.core.words import counted

SHORT = {"last": "Last", "worst": "Worst", "mean": "Mean"}


@dataclass(frozen=True)
class Chosen:
    """What is drawn of a stored study.

    Attributes:
        artefact: the study.
        measure: under the conventions chosen.
        rankers: in the study's order.
        strength: how the levels of a family become one number.
    """

    artefact: Artefact
    measure: Measure
    rankers: tuple[str, ...]
    strength: str

    @property
    def key(self) -> str:
        """The study's key."""
        return str(self.artefact.key)

    @cached_property
    def losses(self) -> pd.DataFrame:
        """A row a ranker, family and level."""
        frame = disturbed.losses(self.key, str(self.measure))
        return frame[frame["ranker"].isin(self.rankers)]

    @cached_property
    def cells(self) -> pd.DataFrame:
        """A row a ranker and family."""
        return perturbations_table.condensed(self.losses, self.strength)


def page() -> None:
    """Draw a stored study of the data set in use: map, finding, curves, then queries."""
    shell.page(
        FORM,
        "Perturbations",
        _study,
        missing="No study of perturbations is stored for {data} yet.",
        remedy="Choose rankers and what shall happen to their input below and start one.",
    )
    details.catalogue()


@st.fragment
def _study(stored: Mapping[str, Artefact]) -> None:
    top = choice.top(stored, disturbed.short_words, disturbed.words)
    artefact = top.artefact
    with top.controls:
        strength = _strength()
        labels = disturbed.rankers(artefact.recipe)
        rankers = choice.rankers(labels, top.notices, str(artefact.key))
    with top.picture:
        drawing, said = st.container(), st.container()
        measure = _measure(artefact, strength)
    if not rankers:
        drawing.info("Choose at least one ranker.")
        return
    chosen = Chosen(artefact, measure, rankers, strength)
    drawn = _picture(chosen, drawing)
    with said:
        parts.finding(perturbations_table.finding(chosen.losses, str(measure), rankers, strength))
        left = disturbed.left_out(artefact, disturbed.families(artefact.recipe))
        if left:
            st.caption(escaped(f"–: {left}"))
    details.section(artefact, rankers, chosen.losses, str(measure))
    table = Table(chosen.losses, perturbations_table.COLUMNS, "Losses by ranker, family and level")
    place = parts.folded("Every level, and what became of the answers", "every number")
    if place is not None:
        data_frame(table, "numbers", place)
    choice.export_row(artefact, drawn, table)


def _strength() -> str:
    found = st.segmented_control(
        "Change at which level", list(SHORT), default="last", required=True,
        format_func=SHORT.__getitem__, key="cells", bind="query-params",
        help="Levels of different families count different things. "
        + "; ".join(f"{SHORT[name]}: {words}" for name, words in STRENGTHS.items()) + ".",
    )  # fmt: skip
    return str(found or "last")


def _measure(artefact: Artefact, strength: str) -> Measure:
    """The measure with its conventions, changeable where they stand."""
    recipe, facts = artefact.recipe, artefact.facts
    asked = [text for text in recipe["measures"] if text[:1].isupper()]
    with st.container(horizontal=True, vertical_alignment="center", key="convention"):
        words = st.container(width="stretch")
        with st.popover("Measure and conventions", icon=":material/tune:"):
            measure = measure_choice({"measures": asked, "stored": recipe["stored"]})
    with words:
        parts.convention(
            measure.convention(),
            f"N = {counted(facts['queries'], 'query')}",
            counted(recipe["draws"], "draw"),
            STRENGTHS[strength],
        )
    return measure


def _picture(chosen: Chosen, place: Any) -> Any:
    identity = (chosen.key, str(chosen.measure), chosen.rankers, chosen.strength)
    drawn = _drawn(chosen, identity)
    place.plotly_chart(
        drawn, key=details.MAP, alt=figure.alt_text(chosen.cells, str(chosen.measure)),
        on_select=details.take_cell, selection_mode="points", config=parts.CLICKABLE,
    )  # fmt: skip
    return drawn


@st.cache_resource(max_entries=64, show_spinner=False)
def _drawn(_chosen: Chosen, identity: tuple[Any, ...]) -> Any:
    """The figure; shared between sessions and never changed (files are made from copies)."""
    del identity  # the memory's key: `_chosen` in values that can be compared
    groups = perturbations_table.headed(_chosen.cells["family"])
    return figure.losses(
        _chosen.cells, groups, str(_chosen.measure), disturbed.no_values(_chosen.artefact)
    )
