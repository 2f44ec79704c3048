"""Permutation invariance by hand: one query, another order shown, and what each ranker answers."""

from collections.abc import Iterator, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import scoring, state
from app.figures import bump, scatter
from app.plain import escaped
from app.views import certificates, invariance_taken, parts, shown_list, train
from app.views.answered import Answered, answered
from app.views.invariance_taken import numbers
from app.views.shown_list import Shown
from core.errors import ShuffleproofError
from core.studies.one_list import explanation, verdicts
from core.studies.trained import TrainedRanker, contrasting, list_recipes

QUESTION = "Does the order in which documents are shown change a ranker's answer?"
CHART = {"displayModeBar": False}


def page() -> None:
    """Draw the page for the data set in use."""
    parts.header("Invariance", QUESTION)
    _answered()


@st.fragment
def _answered() -> None:
    """All below the title; a control here draws nothing else of the page."""
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
        "Train two of them, say DLCM and SetRank, and this page compares them. By command:",
        f"shuffleproof train dlcm --data {data}\n"
        f"shuffleproof train setrank-imsab-init --data {data}",
    )
    st.page_link(
        st.Page(train.page, title="Train", url_path="train"),
        label="Train rankers",
        icon=":material/model_training:",
    )


def _study(data: scoring.Described, rankers: list[TrainedRanker]) -> None:
    no_query = state.absent("query", data.queries)
    no_ranker = state.absent("rankers", [ranker.label for ranker in rankers])
    notices = st.container()
    picture, controls = st.columns([5, 2], gap="medium")
    with controls:
        one, chosen = _choices(data, rankers)
        shown = shown_list.controls(one, data)
    with notices:
        state.instead("query", no_query, one.query)
        state.instead("ranker", no_ranker, *(ranker.label for ranker in chosen))
    if not chosen:
        picture.info("Choose at least one ranker.")
        return
    changed = shown.arranged != shown.arranged_before
    with picture:
        found = answered(one, chosen, shown)
        shown_list.buttons()
        _bumps(found)
        _said(found, shown, changed=changed)
    if changed:
        st.subheader("Why")
        for one_of in found:
            st.markdown(f"- {escaped(explanation(one_of.answer, one_of.moves))}")
    st.subheader("Scores before and after")
    _scatters(found)
    certificates.section(data, one.recipe, chosen)
    place = parts.folded("Every number of this list", "every number")
    if place is not None:
        place.dataframe(numbers(found), hide_index=True, alt="Every document, ranker by ranker")
    invariance_taken.row(one, shown, found)


def _said(found: Sequence[Answered], shown: Shown, *, changed: bool) -> None:
    """What the other order did, in a sentence, and how to read the picture."""
    query = shown.documents.query
    if not changed:
        parts.finding("Nothing is shuffled: both orders are the same.")
        st.caption(escaped(f"Query {query}, shown {shown.words}."))
        return
    parts.finding(verdicts([(one.label, one.moves) for one in found]))
    st.caption(
        escaped(
            f"Query {query}, shown {shown.words}; before, it was shown {shown.words_before}. "
            "Full marks are relevant documents; a strong line is a document that moved, the "
            "dotted ones behind are the order before."
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
    first = contrasting(list(offered.values())) or list(offered.values())[:2]
    labels = st.multiselect(
        "Rankers",
        list(offered),
        default=[ranker.label for ranker in first],
        key="rankers",
        bind="query-params",
        wrap=True,
    )
    one = scoring.List(data.data, data.test, recipe, query)
    return one, [offered[label] for label in labels]


def _bumps(found: Sequence[Answered]) -> None:
    for column, one in _beside(found, min(2, len(found))):
        key = f"bump {one.label}"
        column.markdown(f"**{escaped(one.label)}**")
        column.plotly_chart(
            one.bump,
            key=key,
            config=CHART,
            alt=bump.alt_text(one.moves, one.label),
            on_select=shown_list.take(key),
            selection_mode="points",
        )


def _scatters(found: Sequence[Answered]) -> None:
    for column, one in _beside(found, min(3, max(2, len(found)))):
        column.markdown(f"**{escaped(one.label)}**")
        column.plotly_chart(
            one.scatter,
            key=f"scatter {one.label}",
            config=CHART,
            alt=scatter.alt_text(one.moves, one.label),
        )


def _beside(found: Sequence[Answered], across: int) -> Iterator[tuple[DeltaGenerator, Answered]]:
    """A column for each answer, so many beside each other."""
    for at in range(0, len(found), across):
        yield from zip(st.columns(across), found[at : at + across], strict=False)
