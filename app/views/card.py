"""The robustness card: what a worse input does to each ranker, and which are worth their cost."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from shuffleproof.app import captions, disturbed_lists, study_access
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.figures import card as figure
from shuffleproof.app.figures import ranking_degradation as curves
from shuffleproof.app.figures.style import set_properties
from shuffleproof.app.plain import escaped_sentence
from shuffleproof.app.study import choice, job_panel, parts, perturbed_queries
from shuffleproof.app.study import form as shell
from shuffleproof.app.study.form import Form
from shuffleproof.app.study.picture import cached_figure, chart, chooses
from shuffleproof.core.parameters import Parameter
from shuffleproof.core.perturb.registry import PERTURBATIONS
from shuffleproof.core.rankers.name import INITIAL, RankerName
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.card import sections
from shuffleproof.core.studies.kinds.card.question import Card
from shuffleproof.core.studies.kinds.card.study import ALLOWED, MOVED
from shuffleproof.core.studies.kinds.perturbations.sections import damage
from shuffleproof.core.studies.kinds.ranking_degradation.sections import losses_of
from shuffleproof.core.studies.paired_differences import loss_in
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import Picture, View
from shuffleproof.core.words import counted, number, signed

CHART, CLICK = "pareto", chooses(point=str)
DOTS = "dials side by side"


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
    top = choice.draw_top_row(stored, disturbed_lists.short_words, disturbed_lists.words)
    artefact, key, recipe = top.artefact, str(top.artefact.key), top.artefact.recipe
    with top.controls:
        family = _family(recipe)
        rankers = choice.rankers(disturbed_lists.rankers(recipe), top.notices, key)
    levels = disturbed_lists.families(recipe)[family]
    with top.notes:
        finding = st.container()
        measure = str(
            choice.measure_line(
                recipe,
                f"N = {counted(artefact.facts['queries'], 'query')}",
                counted(recipe["draws"], "draw"),
                f"levels {levels[0]:g} to {levels[-1]:g}: {disturbed_lists.unit(family)}",
            )
        )
        st.caption(
            "Horizontal: effectiveness as the lists are. Vertical: the share of it that is kept at "
            "the last level, with its 95 % interval. The larger a mark, the slower the ranker. "
            "Full marks are on the Pareto front: no other ranker is better in one of the three and "
            "as good in the others. A ranker keeps more than another where the 95 % interval of "
            "their paired difference leaves out 0. The initial ranking is drawn for comparison "
            "only. Click a mark for its queries."
        )
    if not rankers:
        top.picture.info("Choose at least one ranker.")
        return
    top.says(measures=(measure,), family=family, rankers=rankers)
    frame = study_access.compute(key, sections.cards, family, measure)
    cards = sections.pareto(frame[frame["ranker"].isin(rankers)])
    pareto = cached_figure(figure.pareto, cards, measure, f"{family} {levels[-1]:g}")
    chart(pareto, CHART, CLICK, place=top.picture)
    if order := sections.of_order(cards):
        parts.note(order, finding)
    known = [label for label in rankers if label in set(cards["ranker"])]
    _side_by_side(key, known, family, measure)
    _one_ranker(artefact, known, family, measure)
    _tables(cards, key, family, measure)
    choice.export_row(artefact, pareto, sections.shown_cards(cards, family), measure)


def _family(recipe: Mapping[str, Any]) -> str:
    known = list(disturbed_lists.families(recipe))
    chosen = st.selectbox("Disturbed by", known, key="family", bind="query-params")
    family = chosen if chosen in known else known[0]
    entry = disturbed_lists.entry(family)
    if entry is not None:
        parts.note(entry.summary)
    return family


@st.fragment
def _side_by_side(key: str, rankers: list[str], family: str, measure: str) -> None:
    """One dial of all rankers, on an axis as wide as their intervals are."""
    st.subheader("Rankers side by side", anchor=False)
    names = {dial: name for dial, (name, _) in sections.DIALS.items()}
    dial = parts.segments("Dial", "dial", names, "kept", label_visibility="collapsed")
    frame = study_access.compute(key, sections.dials, family, measure)
    frame = frame[frame["ranker"].isin(rankers) & (frame["dial"] == dial)]
    name, what = sections.DIALS[dial]
    chart(cached_figure(figure.compare_dials, frame, name), DOTS, CLICK, config=parts.PLAIN)
    parts.note(f"{name}: {what} ({measure}). 95 % intervals; larger is better. Click a ranker.")


@st.fragment
def _one_ranker(artefact: Artefact, rankers: list[str], family: str, measure: str) -> None:
    """One ranker's card, and the queries behind it."""
    st.subheader("The card of one ranker", anchor=False)
    ranker = choice.ranker(
        "Ranker of the card", rankers, "point",
        placeholder=f"Click a mark of a picture, or choose ({INITIAL} too)",
    )  # fmt: skip
    if ranker is not None:
        _printed_card(artefact, ranker, family, measure)
        perturbed_queries.section(artefact, ranker, family, measure)


def _tables(cards: pd.DataFrame, key: str, family: str, measure: str) -> None:
    st.subheader("The cards", anchor=False)
    data_frame(sections.shown_cards(cards, family).without(*MOVED), "cards")
    convention = sections.convention(study_access.result(key), measure)
    parts.convention(convention, "empty: it never happens, or there is nothing to compare with")
    st.subheader("Which documents move: relevant ones or others?", anchor=False)
    data_frame(sections.moves(cards, family), "moves")
    st.caption(
        "Mean number of positions that documents of a grade moved in the ranker's own answer, from "
        "the lists as they are to the last level; a mean over the queries that have the grade."
    )


OFFERED = [name for name, entry in PERTURBATIONS.items() if entry.changes <= ALLOWED]


@job_panel.picture_so_far
def partial_picture(result: StudyResult) -> tuple[Picture | None, str]:
    """The marks that are there."""
    family, measure = str(result.trials["family"].iloc[0]), str(result.recipe["measures"][0])
    frame = sections.pareto(sections.cards(result, family, measure))
    last = result.trials[result.trials["family"] == family]["level"].iloc[-1]
    picture = Picture("cards", (frame, measure, f"{family} {last:g}"))
    there = picture if frame["start"].notna().any() else None
    return there, f"{counted(len(result.trials), 'trial')} so far."


def family_fields(_declared: Parameter, now: Any) -> tuple[str, ...]:
    """Draw the families."""
    return tuple(shell.family_choice(OFFERED, [name for name in now if name in OFFERED]))


FORM = Form(
    job_panel.Panel(Card.kind, "robustness card", partial_picture),
    "Run a robustness card",
    "Run this card",
    rows=(("rankers",), ("families", "draws")),
    from_shown=("families",),
    widgets={"families": family_fields},
)


WORST = 5
"""Queries that a card names."""

WIDTH = 700
"""Pixels: of a sheet of A4 without its margins."""


HEIGHT = 300
"""Pixels of the curve."""


def _printed_card(artefact: Artefact, ranker: str, family: str, measure: str) -> None:
    """Draw the card: verdict, dials, curve, worst queries, and under which conditions."""
    key = str(artefact.key)
    view = View((measure,), family=family, rankers=(ranker,))
    dials = study_access.compute(key, sections.dials, family, measure)
    of_ranker = dials[dials["ranker"] == ranker]
    st.caption("One page: print it with Ctrl + P (⌘ P). Nothing else of this page is printed.")
    with st.container(key="printed_card", border=True, width=WIDTH):
        st.subheader(
            escaped_sentence(f"Robustness card: {RankerName.of(ranker).display}"), anchor=False
        )
        if of_ranker.empty:
            st.caption("This part of the study is not stored.")
            return
        parts.headline(study_access.compute(key, sections.headline, view))
        if order := sections.of_order(_row(key, ranker, family, measure)):
            parts.note(order)
        words = {dial: name for dial, (name, _) in sections.DIALS.items()}
        chart(cached_figure(figure.dials, of_ranker, words), "dials", config=parts.PLAIN)
        meanings = "; ".join(f"{name}: {what}" for name, what in sections.DIALS.values())
        st.caption(f"{measure}. {meanings}. 95 % intervals over queries.")
        _curve(key, ranker, family, measure)
        _worst(
            key, ranker, (family, disturbed_lists.families(artefact.recipe)[family][-1]), measure
        )
        parts.note(_conditions(artefact, family))


def _row(key: str, ranker: str, family: str, measure: str) -> pd.DataFrame:
    cards = study_access.compute(key, sections.cards, family, measure)
    return cards[cards["ranker"] == ranker]


def _curve(key: str, ranker: str, family: str, measure: str) -> None:
    lost = study_access.compute(key, losses_of, family, measure)
    lost = lost[lost["ranker"] == ranker]
    if lost["level"].nunique() < 2:
        return
    axis = loss_in(measure)
    figure = go.Figure(
        cached_figure(curves.curves, lost, family, axis, disturbed_lists.unit(family))
    )
    set_properties(figure.layout, height=HEIGHT)
    chart(figure, "card curve", config=parts.PLAIN)


def _worst(key: str, ranker: str, point: tuple[str, float], measure: str) -> None:
    """The queries that lose most at the last level."""
    family, level = point
    frame = study_access.compute(key, damage, ranker, family, level, measure)
    lost = frame[frame["change"] < 0].head(WORST)
    if lost.empty:
        st.markdown(f"No query loses anything at level {level:g}.")
        return
    st.markdown(f"**The queries that lose most, at level {level:g}**")
    rows = {
        "Query": [_named(str(query)) for query in lost["query"]],
        "As it is": [number(value) for value in lost["unchanged"]],
        "Disturbed": [number(value) for value in lost["disturbed"]],
        "Change": [signed(value) for value in lost["change"]],
    }
    st.table(pd.DataFrame(rows).set_index("Query"))


def _named(query: str) -> str:
    """A query with its text, where a side file has it."""
    text = captions.text_of(query)
    return escaped_sentence(f"{query}: {text}" if text else query)


def _conditions(artefact: Artefact, family: str) -> str:
    """What a reader must know to compare the card with another."""
    recipe, facts = artefact.recipe, artefact.facts
    levels = disturbed_lists.families(recipe)[family]
    return " · ".join(
        [
            f"Data: {facts.get('data', '–')}",
            f"N = {counted(facts['queries'], 'query')}",
            f"lists by {', '.join(recipe['initial'])}",
            f"{family}: {disturbed_lists.unit(family)}, levels "
            + ", ".join(f"{level:g}" for level in levels),
            counted(recipe["draws"], "draw"),
            f"seed {recipe['seed']}",
            f"stored {study_access.day(artefact)} UTC as {artefact.key}",
        ]
    )
