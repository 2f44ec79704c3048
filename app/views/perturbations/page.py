"""The page of everything that may happen to an input: rankers × families, curves, queries."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import disturbed, services, training
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.figures import perturbations as figure
from shuffleproof.app.figures import ranking_degradation as curves
from shuffleproof.app.figures.perturbations import fitted_axis
from shuffleproof.app.jobs import duration
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import choice, families, parts, trial_cost
from shuffleproof.app.study import form as shell
from shuffleproof.app.study import perturbed_queries as queries
from shuffleproof.app.study.form import Asked, Form
from shuffleproof.app.study.job_panel import Panel
from shuffleproof.app.study.parts import choice as measure_choice
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.experiment import cost
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.parameters import Parameter
from shuffleproof.core.perturb.registry import PERTURBATIONS, attacked, entry_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.engine import RunningStudy
from shuffleproof.core.studies.kinds.perturbations import sections, study
from shuffleproof.core.studies.kinds.perturbations.question import Perturbations
from shuffleproof.core.studies.kinds.perturbations.sections import STRENGTHS, headed
from shuffleproof.core.studies.study import pairs_of
from shuffleproof.core.studies.tables import Table, inferred
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
        return sections.condensed(self.losses, self.strength)


def page() -> None:
    """Draw a stored study of the data set in use: map, finding, curves, then queries."""
    shell.page(
        FORM,
        "Perturbations",
        _study,
        missing="No study of perturbations is stored for {data} yet.",
        remedy="Choose rankers and what shall happen to their input below and start one.",
    )
    catalogue()


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
        parts.finding(sections.finding(chosen.losses, str(measure), rankers, strength))
        left = disturbed.left_out(artefact, disturbed.families(artefact.recipe))
        if left:
            st.caption(escaped(f"–: {left}"))
    _behind(artefact, rankers, chosen.losses, str(measure))
    table = Table(chosen.losses, sections.COLUMNS, "Losses by ranker, family and level")
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
        drawn, key=MAP, alt=figure.alt_text(chosen.cells, str(chosen.measure)),
        on_select=take_cell, selection_mode="points", config=parts.CLICKABLE,
    )  # fmt: skip
    return drawn


@st.cache_resource(max_entries=64, show_spinner=False)
def _drawn(_chosen: Chosen, identity: tuple[Any, ...]) -> Any:
    """The figure; shared between sessions and never changed (files are made from copies)."""
    del identity  # the memory's key: `_chosen` in values that can be compared
    groups = sections.headed(_chosen.cells["family"])
    return figure.losses(
        _chosen.cells, groups, str(_chosen.measure), disturbed.no_values(_chosen.artefact)
    )


MAP, CURVES = "losses", "curves"


def take_cell() -> None:
    """A click on the map chooses its ranker and family."""
    facts = parts.clicked(MAP)
    if facts:
        st.session_state["point"], st.session_state["family"] = str(facts[0]), str(facts[1])


def _take_point() -> None:
    """A click on a curve chooses its ranker and level."""
    facts = parts.clicked(CURVES)
    if facts:
        st.session_state["point"], st.session_state["at"] = str(facts[0]), float(facts[1])


@st.fragment
def _behind(
    artefact: Artefact, rankers: tuple[str, ...], losses: pd.DataFrame, measure: str
) -> None:
    """Draw the curves of a family, and the queries of a ranker under it.

    Args:
        artefact: the study.
        rankers: those shown.
        losses: theirs, as `core.studies.kinds.perturbations.sections.losses` gives them.
        measure: that is lost.
    """
    families = list(disturbed.families(artefact.recipe))
    st.subheader("One family, level by level", anchor=False)
    left, right = st.columns(2)
    family = left.selectbox(
        "Family", families, key="family", bind="query-params",
        help="Or click a cell of the map.",
    )  # fmt: skip
    ranker = right.selectbox(
        "Queries of", rankers, index=None, key="point", bind="query-params",
        placeholder="Click a cell or a point, or choose",
    )  # fmt: skip
    family = family if family in families else families[0]
    entry = disturbed.entry(family)
    if entry is not None:
        words = f"{entry.summary} Level: {entry.unit}. From: {entry.source}."
        st.caption(escaped(f"{words} {disturbed.short_of(artefact, [family])}"))
    summary = disturbed.summary(str(artefact.key), family, measure)
    _curves(str(artefact.key), summary[summary["ranker"].isin(rankers)], family, measure)
    if attacked(family):
        _transfer(losses, measure)
    if ranker is None:
        if summary.empty:
            st.info(escaped(disturbed.left_out(artefact, [family])))
        return
    if (ranker, family) in disturbed.no_values(artefact):
        st.info(escaped(disturbed.left_out(artefact, [family])))
        return
    queries.section(artefact, str(ranker), family, measure)


def _curves(key: str, summary: pd.DataFrame, family: str, measure: str) -> None:
    levels = set(summary["level"])
    if not levels:
        return
    if len(levels) < 2:
        st.caption("This family stands at one level alone: there is no curve.")
        return
    st.plotly_chart(
        _curved(summary, family, measure, (key, *dict.fromkeys(summary["ranker"]))), key=CURVES,
        alt=curves.alt_text(summary, family, measure), on_select=_take_point,
        selection_mode="points", config=parts.CLICKABLE,
    )  # fmt: skip


@st.cache_resource(max_entries=64, show_spinner=False)
def _curved(_summary: pd.DataFrame, family: str, measure: str, identity: tuple[str, ...]) -> Any:
    """The figure; shared between sessions and never changed."""
    del identity  # the memory's key: study and rankers
    unit = disturbed.unit(family)
    return fitted_axis(curves.curves(_summary, family, measure, unit), f"{family}: {unit}")


def _transfer(losses: pd.DataFrame, measure: str) -> None:
    """Whom the attacks reach: a row a network attacked, a column a ranker that was hit."""
    table = sections.transfer_table(losses, measure)
    st.markdown(f"**{escaped(table.title)}**")
    data_frame(table, "transfer")
    wide = sections.transfer(losses)
    said = sections.transferred(wide, measure)
    st.caption(escaped(f"At the last level of each attack. {said}"))


def catalogue() -> None:
    """Draw all families of the registry by what they change, one line each."""
    with st.expander("Everything that can happen to an input", icon=":material/menu_book:"):
        for heading, families in headed(PERTURBATIONS).items():
            st.markdown(f"**{heading}**")
            frame = pd.DataFrame(
                {
                    "family": families,
                    "what happens": [PERTURBATIONS[name].summary for name in families],
                    "level": [PERTURBATIONS[name].unit for name in families],
                    "levels": [
                        ", ".join(f"{level:g}" for level in PERTURBATIONS[name].default_levels)
                        for name in families
                    ],
                }
            )
            table = inferred(frame, f"Families that change: {heading}")
            data_frame(table, f"catalogue {heading}")
        st.caption(
            "Families can be chained, one on what the other left: transpositions:5+shuffle-shown. "
            "gradient-sign@RANKER attacks one network; the others are hit too. "
            "label-flips@0.9_0.1/0.2_0.8 flips labels by a matrix, a row a grade. What is no input "
            "(labels, seeds, precision, batches, threads) is studied one by one."
        )


FIRST = ("shuffle-shown", "transpositions", "sample", "distractors", "feature-noise")
"""What a first study asks: one family of each kind that takes no training."""


def first(found: RunningStudy) -> None:
    """Draw the cells that are there."""
    result = found.result(services.store())
    if result is None:
        return
    measure = str(found.recipe["measures"][0])
    cells = sections.condensed(sections.losses(result, measure), "last")
    st.plotly_chart(
        figure.losses(cells, sections.headed(cells["family"]), measure), key="first results",
        alt=figure.alt_text(cells, measure),
    )  # fmt: skip
    st.caption(f"First results: {counted(len(result.trials), 'trial')} so far.")


def disturbing(declared: Parameter, now: Any) -> Any:
    """Draw the families and their levels; what reads the pairs."""
    before = families.of_pairs(now)
    return families.levels(declared, families.choice(PERTURBATIONS, before, chains=True))


def costs(asked: Asked) -> str:
    """What the button will cost: trials, trainings of labels, rows and seeds, what is skipped."""
    pairs = asked.question.perturbations
    study.check(asked.question.rankers, families.of_pairs(pairs))
    skipped = sections.skipped(asked.question.rankers, families.of_pairs(pairs))
    text = trial_cost.trials(asked, pairs) + _retrained(asked)
    return f"{text}. Skipped: {escaped(skipped.rstrip('.'))}" if skipped else text


def _retrained(asked: Asked) -> str:
    """What families that train add: a training for every ranker, level and draw."""
    question = asked.question
    count = sum(
        entry_of(family).draws(level, question.draws)
        for family, level in question.perturbations
        if entry_of(family).retrains and level != entry_of(family).unchanged
    )
    if not count:
        return ""
    trained = counted(count * len(question.rankers), "training")
    text = f"; labels, rows and seeds train each ranker anew: **{trained}**"
    try:
        fitting, each = training.fitting(asked.data), []
        for name in question.rankers:
            plan = training.planned(fitting, asked.lists, name, asked.preset, {})
            each += [plan.cost] * count
    except ShuffleproofError:
        return text
    low, high = cost.added(each)
    return f"{text}, from **{duration(low)}** to **{duration(high)}**"


FORM = Form(
    Panel(Perturbations.kind, "study of perturbations", first),
    "Run a study of perturbations",
    "Run this study",
    rows=(("rankers",), ("perturbations",), ("draws",)),
    cost=costs,
    kept=("perturbations",),
    usual=lambda _data: {"perturbations": pairs_of(FIRST)},
    widgets={"perturbations": disturbing},
)
