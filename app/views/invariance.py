"""Permutation invariance by hand: one query, another order shown, and what each ranker answers."""

from collections.abc import Iterator

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import scoring, state
from app.figures import bump, scatter
from app.plain import escaped
from app.views import certificates, parts, shown_list
from app.views import invariance_taken as taken
from app.views.shown_list import Shown
from core.errors import ShuffleproofError
from core.studies.one_list import explanation, moves, verdicts
from core.studies.trained import TrainedRanker, list_recipes

QUESTION = "Does the order in which documents are shown change a ranker's answer?"
CHART = {"displayModeBar": False}
Labelled = tuple[str, pd.DataFrame]
FIRST = ("dlcm", "setrank-imsab-init", "setrank-imsab", "setrank-msab-init", "setrank-msab")


def page() -> None:
    """Draw the page for the data set in use."""
    parts.header("Invariance", QUESTION)
    try:
        data = scoring.described(state.data())
        rankers = scoring.rankers_of(data)
        if not list_recipes(rankers):
            _nothing_trained(data.data)
            return
        _study(data, rankers)
    except ShuffleproofError as error:
        st.error(escaped(str(error)))
        st.button("Try again", key="again")


def _nothing_trained(data: str) -> None:
    parts.not_yet(
        f"No ranker that reads whole lists is trained on {data} yet, so nothing can be asked.",
        "Train two of them, and this page compares them:",
        f"shuffleproof train dlcm --data {data}\n"
        f"shuffleproof train setrank-imsab-init --data {data}",
    )


def _study(data: scoring.Described, rankers: list[TrainedRanker]) -> None:
    picture, controls = st.columns([8, 3], gap="medium")
    with controls:
        one, chosen = _choices(data, rankers)
        shown = shown_list.controls(one, data)
    if not chosen:
        picture.info("Choose at least one ranker.")
        return
    with picture:
        answers = scoring.answers(one, tuple(chosen), shown.before, shown.now)
        labelled = [
            (
                answer.ranker,
                moves(shown.documents, shown.arranged_before, shown.arranged, answer),
            )
            for answer in answers
        ]
        shown_list.buttons()
        _bumps(labelled, shown)
        if shown.arranged == shown.arranged_before:
            st.markdown("**Nothing is shuffled: both orders are the same.**")
            st.caption(escaped(f"Query {one.query}, shown {shown.words}."))
        else:
            _said(labelled, shown)
    if shown.arranged != shown.arranged_before:
        st.subheader("Why")
        for answer, (_, frame) in zip(answers, labelled, strict=True):
            st.markdown(f"- {escaped(explanation(answer, frame))}")
    st.subheader("Scores before and after")
    _scatters(labelled)
    certificates.section(data, one.recipe, chosen)
    table = shown_list.numbers(labelled)
    with st.expander("Every number of this list"):
        st.dataframe(table, hide_index=True, alt="Every document, ranker by ranker")
    taken.row(one, chosen, shown, labelled)


def _said(labelled: list[Labelled], shown: Shown) -> None:
    """What the other order did, in a sentence, and how to read the picture."""
    parts.finding(verdicts(labelled))
    st.caption(
        escaped(
            f"Query {shown.documents.query}, shown {shown.words}; before, it was shown "
            f"{shown.words_before}. Full marks are relevant documents; a strong line is a "
            "document that moved, the dotted ones behind are the order before."
        )
    )


def _choices(
    data: scoring.Described, rankers: list[TrainedRanker]
) -> tuple[scoring.List, list[TrainedRanker]]:
    recipes = list_recipes(rankers)
    recipe = recipes[0]
    query = st.selectbox(
        "Query",
        data.queries,
        index=data.telling,
        key="query",
        bind="query-params",
        on_change=shown_list.forget_hand,
        help="A query of the test part; type to search.",
    )
    if len(recipes) > 1:
        recipe = st.selectbox("Candidate lists", recipes, format_func=shown_list.recipe_words)
    offered = {r.label: r for r in rankers if r.lists is None or r.lists == recipe}
    first = [label for name in FIRST for label, r in offered.items() if r.name == name]
    labels = st.multiselect(
        "Rankers",
        list(offered),
        default=first[:2],
        key="rankers",
        bind="query-params",
        wrap=True,
    )
    one = scoring.List(data.data, data.test, recipe, query)
    return one, [offered[label] for label in labels]


def _bumps(labelled: list[Labelled], shown: Shown) -> None:
    for column, (label, frame) in _beside(labelled, 2):
        column.markdown(f"**{escaped(label)}**")
        column.plotly_chart(
            bump.bump(frame, label, chosen=shown.chosen),
            key=f"bump {label}",
            config=CHART,
            alt=bump.alt_text(frame, label),
            on_select=shown_list.take(f"bump {label}"),
            selection_mode="points",
        )


def _scatters(labelled: list[Labelled]) -> None:
    for column, (label, frame) in _beside(labelled, 3):
        column.markdown(f"**{escaped(label)}**")
        column.plotly_chart(
            scatter.scatter(frame, label),
            key=f"scatter {label}",
            config=CHART,
            alt=scatter.alt_text(frame, label),
        )


def _beside(labelled: list[Labelled], across: int) -> Iterator[tuple[DeltaGenerator, Labelled]]:
    """A column for each ranker, so many beside each other."""
    for at in range(0, len(labelled), across):
        yield from zip(st.columns(across), labelled[at : at + across], strict=False)
