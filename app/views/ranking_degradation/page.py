"""The page of Figure 3: a worse initial ranking, and who follows it down."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import address, curves, state
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.figures import initial_ranking as figure
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import choice, parts
from shuffleproof.app.study import page as shell
from shuffleproof.app.views.ranking_degradation import point as behind
from shuffleproof.app.views.ranking_degradation.form import FORM
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.parameters import parameters
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.conventions import SWITCHED
from shuffleproof.core.studies.kinds.ranking_degradation.sections import TESTS, columns
from shuffleproof.core.studies.kinds.ranking_degradation.study import INITIAL
from shuffleproof.core.studies.result import SUMMARY
from shuffleproof.core.studies.tables import Table
from shuffleproof.core.words import interval, p_value, signed

CHOOSABLE = ("ideal", "empty", "ties", "discount", "gain")
WORDS_WIDTH = 330
SAID = {"ideal": "Ideal ranking of", "empty": "No relevant document", "ties": "Equal scores"}
AXES: dict[figure.Axis, str] = {"level": "Level", "tau": "Kendall τ left"}


@dataclass(frozen=True)
class Chosen:
    """What is drawn of a stored study.

    Attributes:
        artefact: the study.
        family: of perturbations.
        measure: under the conventions chosen.
        rankers: in the study's order.
        x: what runs along the horizontal axis.
        from_zero: whether the measure's axis starts at 0.
    """

    artefact: Artefact
    family: str
    measure: Measure
    rankers: tuple[str, ...]
    x: figure.Axis
    from_zero: bool

    @property
    def key(self) -> str:
        """The study's key."""
        return str(self.artefact.key)

    @property
    def identity(self) -> tuple[Any, ...]:
        """All of it in plain values."""
        return (self.key, self.family, str(self.measure), self.rankers, self.x, self.from_zero)

    @cached_property
    def summary(self) -> pd.DataFrame:
        """The numbers behind the picture."""
        frame = curves.summary(self.key, str(self.measure))
        return frame[(frame.family == self.family) & frame.ranker.isin(self.rankers)]


def page() -> None:
    """Draw a stored study of the data set in use: picture, finding, then details."""
    shell.page(
        FORM,
        "Initial ranking",
        _study,
        missing="No study of the initial ranking is stored for {data} yet.",
        remedy="Choose rankers and levels below and start one; rankers that are not trained yet "
        "are trained first.",
    )


@st.fragment
def _study(stored: Mapping[str, Artefact]) -> None:
    no_study = state.absent("study", stored)
    notices = st.container()
    picture, controls = st.columns([5, 2], gap="medium")
    with controls:
        artefact = choice.study(stored, curves.short_words, curves.details)
        with notices:
            state.instead("study", no_study, curves.words(artefact))
        labels = [str(label) for label, _ in artefact.recipe["rankers"]]
        rankers = choice.rankers(labels, notices, str(artefact.key))
        family, x, from_zero = _what(artefact.recipe)
    with picture:
        drawing, said = st.container(), st.container()
        measure = _measure(artefact.recipe)
    chosen = Chosen(artefact, family, measure, rankers, x, from_zero)
    if not rankers:
        drawing.info("Choose at least one ranker.")
        return
    drawn = _picture(chosen, drawing)
    with said:
        _finding(chosen)
    behind.section(artefact, family, str(measure), rankers)
    table = _details(chosen)
    choice.export_row(artefact, drawn, table)


def _what(recipe: Mapping[str, Any]) -> tuple[str, figure.Axis, bool]:
    families = list(curves.families(recipe))
    family = families[0]
    if len(families) > 1:
        family = st.selectbox("Disturbed by", families, key="family", bind="query-params")
    x = st.segmented_control(
        "Horizontal axis", list(AXES), default="level", required=True, format_func=AXES.__getitem__,
        key="x", bind="query-params",
    )  # fmt: skip
    from_zero = st.toggle("Vertical axis from 0", value=True, key="zero", bind="query-params")
    return family, x or "level", from_zero


def _measure(recipe: Mapping[str, Any]) -> Measure:
    """The measure with its conventions, changeable where they stand."""
    offered = {str(one): one for one in curves.offered(recipe)}
    line = st.container(horizontal=True, vertical_alignment="center", key="convention")
    with line:
        words = st.container(width=WORDS_WIDTH)  # on telephones the button goes below it
        with st.popover("Measure and conventions", icon=":material/tune:"):
            address.one("measure", address.named(*offered), next(iter(offered)))
            name = st.selectbox("Measure", list(offered), key="measure")
            usual = _asked(recipe, offered[name])
            wanted = usual.under(**{field: _convention(usual, field) for field in _fields(usual)})
    measure = wanted
    if not curves.can_be_drawn(recipe, wanted):
        measure = usual if curves.can_be_drawn(recipe, usual) else Measure.parse(
            recipe["measures"][0]
        )  # fmt: skip
        st.warning(
            f"{wanted} does not follow from what this study stored. Run it again for this "
            f"measure below; what is shown is {measure}.",
            icon=":material/info:",
        )
    with words:
        levels = len(recipe["perturbations"])
        parts.convention(
            measure.convention(), f"{recipe['draws']} draws", f"{levels} levels", "95 % intervals"
        )
    st.session_state["wanted measure"] = str(wanted)
    return measure


def _asked(recipe: Mapping[str, Any], plain: Measure) -> Measure:
    """The measure as the study was asked for it, where it was."""
    asked = (Measure.parse(text) for text in recipe["measures"])
    same = (one for one in asked if (one.name, one.cutoff) == (plain.name, plain.cutoff))
    return next(same, plain)


def _fields(measure: Measure) -> list[str]:
    return [name for name in CHOOSABLE if name in measure.entry.conventions]


def _convention(measure: Measure, name: str) -> str:
    declared = {one.name: one for one in parameters(Measure)}[name]
    now = str(getattr(measure, name))
    choices = dict.fromkeys([*SWITCHED.get(name, declared.choices), now])
    found = st.segmented_control(
        SAID.get(name, name.capitalize()), list(choices), default=now, required=True,
        key=name, bind="query-params", help=declared.help,
    )  # fmt: skip
    return str(found or now)


def _picture(chosen: Chosen, place: Any) -> Any:
    summary = chosen.summary
    drawn = _drawn(chosen, chosen.identity)
    place.plotly_chart(
        drawn,
        key=behind.CHART,
        alt=figure.alt_text(summary, chosen.family, str(chosen.measure)),
        on_select=behind.take_point,
        selection_mode="points",
        config=parts.CLICKABLE,
    )
    return drawn


@st.cache_resource(max_entries=128, show_spinner=False)
def _drawn(_chosen: Chosen, identity: tuple[Any, ...]) -> Any:
    """The figure; shared between sessions and never changed (files are made from copies)."""
    del identity  # the memory's key: `_chosen` in values that can be compared
    return figure.curves(
        _chosen.summary, _chosen.family, str(_chosen.measure), curves.unit(_chosen.family),
        x=_chosen.x, from_zero=_chosen.from_zero,
    )  # fmt: skip


def _finding(chosen: Chosen) -> None:
    measure = str(chosen.measure)
    parts.finding(curves.finding(chosen.key, chosen.family, measure, chosen.rankers))
    claim = curves.claim(chosen.key, chosen.family, measure)
    if claim:
        bounds = f"95 % {interval(claim['low'], claim['high'])}"
        st.markdown(
            f"{claim['whose']} that {escaped(claim['claim'])}: **{claim['verdict']}** here "
            f"(difference of the falls {signed(claim['difference'])}, {bounds}, "
            f"{p_value(claim['p'])}, N = {claim['n']}, paired t)."
        )


def _details(chosen: Chosen) -> Table:
    st.subheader("Is it more than chance?")
    left, right = st.columns(2)
    baseline = left.selectbox(
        "Compared with", chosen.rankers, key="baseline", bind="query-params",
        help="The ranker that the others are compared with at the same level.",
    )  # fmt: skip
    test = right.selectbox(
        "Test", list(TESTS), key="test", bind="query-params",
        help="; ".join(f"{name}: {words}" for name, words in TESTS.items()),
    )  # fmt: skip
    table = curves.marks(
        chosen.key, chosen.family, str(chosen.measure), baseline or INITIAL, test or "paired t"
    )
    table = table[table.ranker.isin(chosen.rankers)]
    title = f"Significance of {chosen.measure} by ranker and level"
    declared = Table(table, columns(baseline or INITIAL), title)
    data_frame(declared, "marks")
    parts.convention(
        "▲ ▼: p ≤ 0.05 after Holm's adjustment over the column", "d: Cohen's d of the differences",
        f"N = {chosen.artefact.facts['queries']} queries",
    )  # fmt: skip
    place = parts.folded("Every number of the picture", "every number")
    if place is not None:
        data_frame(Table(chosen.summary, SUMMARY, "Every number of the picture"), "numbers", place)
    return declared
