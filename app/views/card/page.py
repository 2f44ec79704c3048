"""The robustness card: what a worse input does to each ranker, and which are worth their cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import disturbed, opened, services
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.figures import card as figure
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import choice, families, parts, trial_cost
from shuffleproof.app.study import form as shell
from shuffleproof.app.study import perturbed_queries as queries
from shuffleproof.app.study.form import Asked, Form
from shuffleproof.app.study.job_panel import Panel
from shuffleproof.app.study.parts import choice as measure_choice
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.parameters import Parameter
from shuffleproof.core.perturb.registry import PERTURBATIONS
from shuffleproof.core.rankers.name import INITIAL
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.engine import RunningStudy
from shuffleproof.core.studies.kinds.card import sections as card_table
from shuffleproof.core.studies.kinds.card.question import Card
from shuffleproof.core.studies.kinds.card.study import ALLOWED, MOVED
from shuffleproof.core.words import counted

CHART = "pareto"


@dataclass(frozen=True)
class Chosen:
    """What is drawn of a stored card.

    Attributes:
        artefact: the study.
        family: of perturbations.
        measure: under the conventions chosen.
        rankers: in the study's order.
    """

    artefact: Artefact
    family: str
    measure: Measure
    rankers: tuple[str, ...]

    @property
    def key(self) -> str:
        """The study's key."""
        return str(self.artefact.key)

    @cached_property
    def cards(self) -> pd.DataFrame:
        """A row a ranker; the front is that of the rankers shown."""
        frame = disturbed.cards(self.key, self.family, str(self.measure))
        return card_table.pareto(frame[frame["ranker"].isin(self.rankers)].drop(columns="front"))


def page() -> None:
    """Draw a stored card of the data set in use: picture, finding, cards, then queries."""
    shell.page(
        FORM,
        "Robustness card",
        _study,
        missing="No robustness card is stored for {data} yet.",
        remedy="Choose rankers below and start one; rankers that are not trained yet are trained"
        " first.",
    )


@st.fragment
def _study(stored: Mapping[str, Artefact]) -> None:
    top = choice.top(stored, disturbed.short_words, disturbed.words)
    artefact = top.artefact
    with top.controls:
        family = _family(artefact.recipe)
        labels = disturbed.rankers(artefact.recipe)
        rankers = choice.rankers(labels, top.notices, str(artefact.key))
    with top.picture:
        drawing, said = st.container(), st.container()
        measure = _measure(artefact, family)
    if not rankers:
        drawing.info("Choose at least one ranker.")
        return
    chosen = Chosen(artefact, family, measure, rankers)
    drawn = _picture(chosen, drawing)
    with said:
        parts.finding(card_table.finding(chosen.cards, family, str(measure)))
    _table(chosen.cards, chosen.key, family, str(measure))
    _queries(chosen)
    choice.export_row(artefact, drawn, card_table.told(chosen.cards, family))


def _family(recipe: Mapping[str, Any]) -> str:
    families = list(disturbed.families(recipe))
    found = st.selectbox("Disturbed by", families, key="family", bind="query-params")
    family = found if found in families else families[0]
    entry = disturbed.entry(family)
    if entry is not None:
        st.caption(escaped(entry.summary))
    return str(family)


def _measure(artefact: Artefact, family: str) -> Measure:
    """The measure with its conventions, changeable where they stand."""
    recipe, facts = artefact.recipe, artefact.facts
    with st.container(horizontal=True, vertical_alignment="center", key="convention"):
        words = st.container(width="stretch")
        with st.popover("Measure and conventions", icon=":material/tune:"):
            measure = measure_choice(recipe)
    with words:
        levels = disturbed.families(recipe)[family]
        parts.convention(
            measure.convention(),
            f"N = {counted(facts['queries'], 'query')}",
            counted(recipe["draws"], "draw"),
            f"levels {levels[0]:g} to {levels[-1]:g}: {disturbed.unit(family)}",
        )
    st.caption(
        "Across: how good. Up: what is left of it at the last level, with its 95 % interval. "
        "Large: slow. Strong marks are on the front: no other ranker is better in one of the three "
        "and as good in the others. One keeps more than another only beyond chance: where the 95 % "
        "interval of the paired difference leaves out 0. The initial ranking stands for "
        "comparison and takes no part. Click a mark for its queries."
    )
    return measure


def _picture(chosen: Chosen, place: Any) -> Any:
    drawn = _drawn(chosen, (chosen.key, chosen.family, str(chosen.measure), chosen.rankers))
    place.plotly_chart(
        drawn, key=CHART, alt=figure.alt_text(chosen.cards, str(chosen.measure)), on_select=_take,
        selection_mode="points", config=parts.CLICKABLE,
    )  # fmt: skip
    return drawn


@st.cache_resource(max_entries=64, show_spinner=False)
def _drawn(_chosen: Chosen, identity: tuple[Any, ...]) -> Any:
    """The figure; shared between sessions and never changed (files are made from copies)."""
    del identity  # the memory's key: `_chosen` in values that can be compared
    last = disturbed.families(_chosen.artefact.recipe)[_chosen.family][-1]
    return figure.pareto(_chosen.cards, str(_chosen.measure), f"{_chosen.family} {last:g}")


def _take() -> None:
    """A click on a mark chooses the ranker whose queries are shown."""
    facts = parts.clicked(CHART)
    if facts:
        st.session_state["point"] = str(facts[0])


@st.fragment
def _queries(chosen: Chosen) -> None:
    """The queries behind one ranker's card."""
    ranker = _ranker(chosen)
    if ranker is not None:
        queries.section(chosen.artefact, ranker, chosen.family, str(chosen.measure))


def _ranker(chosen: Chosen) -> str | None:
    known = [label for label in chosen.rankers if label in set(chosen.cards["ranker"])]
    found = st.selectbox(
        "Queries behind the card of", known, index=None, key="point", bind="query-params",
        placeholder=f"Click a mark of the picture, or choose ({INITIAL} too)",
    )  # fmt: skip
    return None if found is None else str(found)


def _table(cards: pd.DataFrame, key: str, family: str, measure: str) -> None:
    """Draw the cards of all rankers.

    Args:
        cards: as `app.disturbed.cards` gives them.
        key: of the study.
        family: of perturbations.
        measure: that they are of.
    """
    st.subheader("The cards", anchor=False)
    data_frame(card_table.told(cards, family).without(*MOVED), "cards")
    convention = card_table.convention(opened.result(key), measure)
    parts.convention(convention, "empty: it never happens, or there is nothing to compare with")
    st.subheader("Who is moved: relevant documents or others?", anchor=False)
    data_frame(card_table.moves(cards, family), "moves")
    st.caption(
        "Mean number of positions that documents of a grade moved in the ranker's own answer, from "
        "the lists as they are to the last level; a mean over the queries that have the grade."
    )


OFFERED = [name for name, entry in PERTURBATIONS.items() if entry.changes <= ALLOWED]


def first(found: RunningStudy) -> None:
    """Draw the marks that are there."""
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


def disturbing(_declared: Parameter, now: Any) -> tuple[str, ...]:
    """Draw the families."""
    return tuple(families.choice(OFFERED, [name for name in now if name in OFFERED]))


def cost(asked: Asked) -> str:
    """What the button will cost, from what a trial took in the study shown."""
    pairs = []
    for family in asked.question.families:
        entry = PERTURBATIONS[family]
        pairs += [(family, level) for level in sorted({entry.unchanged, *entry.default_levels})]
    return trial_cost.trials(asked, pairs)


FORM = Form(
    Panel(Card.kind, "robustness card", first),
    "Run a robustness card",
    "Run this card",
    rows=(("rankers",), ("families", "draws")),
    cost=cost,
    kept=("families",),
    widgets={"families": disturbing},
)
