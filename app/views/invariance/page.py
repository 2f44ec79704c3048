"""Permutation invariance by hand: one query, another order shown, and what each ranker answers."""

from collections.abc import Iterator, Sequence
from itertools import chain

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from shuffleproof.app import address, proposals, scoring, services, state
from shuffleproof.app.figures import bump, scatter
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import parts, shown_list
from shuffleproof.app.study.shown_list import Shown
from shuffleproof.app.views.invariance import certificates
from shuffleproof.app.views.invariance import export as invariance_taken
from shuffleproof.app.views.invariance.answers import Answered, answered
from shuffleproof.app.views.invariance.export import numbers
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.studies.answers.one_list import explanation, verdicts
from shuffleproof.core.studies.answers.trained import (
    CONTRAST,
    TrainedRanker,
    as_they_came,
    contrast,
    contrasting,
    list_recipes,
)

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
    parts.link("train", "Train rankers", "model_training")


def _study(data: scoring.Described, rankers: list[TrainedRanker]) -> None:
    no_query = state.absent("query", data.queries)
    no_ranker = state.absent("rankers", [*chain.from_iterable(map(proposals.texts, rankers))])
    notices = st.container()
    picture, controls = st.columns([5, 2], gap="medium")
    with controls:
        one, chosen = _choices(data, rankers)
        shown = shown_list.controls(one, data)
    with notices:
        state.instead("query", no_query, one.query)
        state.instead("ranker", no_ranker, *(ranker.label for ranker in chosen))
    if not chosen:
        with picture:
            _nobody(data.data, rankers)
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
    address.one("query", address.named(*data.queries), data.queries[data.telling])
    query = st.selectbox(
        "Query", data.queries, key="query", on_change=shown_list.forget_hand,
        help="A query of the test part; type to search.",
    )  # fmt: skip
    first = _first(data, rankers)
    recipe = _lists(rankers, first)
    offered = {r.label: r for r in as_they_came(rankers) if r.lists in {None, recipe}}
    address.several(
        "rankers",
        {label: proposals.texts(ranker) for label, ranker in offered.items()},
        [ranker.label for ranker in first if ranker.label in offered],
    )
    labels = st.multiselect("Rankers", list(offered), key="rankers", wrap=True)
    newest = contrasting([one for one in rankers if one.lists == list_recipes(rankers)[0]])
    if first and any(one not in first and one.label not in labels for one in newest):
        _door("Newer rankers", newest)
    return scoring.List(data.data, data.test, recipe, query), [offered[label] for label in labels]


def _nobody(data: str, rankers: list[TrainedRanker]) -> None:
    """Say why nobody is shown, and offer whom there is."""
    if contrast(rankers):
        st.info("Choose at least one ranker.")
        return
    st.info(
        escaped(
            "Without a choice this page compares a DLCM with a SetRank that were trained on the "
            f"same lists; {data} does not have both yet. Train what is missing, or choose rankers."
        )
    )
    _door("Show", [ranker for ranker in as_they_came(rankers) if ranker.lists][: len(CONTRAST)])


def _door(words: str, rankers: list[TrainedRanker]) -> None:
    """Draw a button that shows these rankers: nothing else leads to them by itself."""

    def taken() -> None:
        st.session_state["lists"] = rankers[0].lists
        st.session_state["rankers"] = [ranker.label for ranker in rankers]

    label = f"{words}: {', '.join(ranker.label for ranker in rankers)}"
    st.button(
        escaped(label), key="other rankers", type="tertiary", icon=":material/update:",
        on_click=taken,
    )  # fmt: skip


def _first(data: scoring.Described, rankers: list[TrainedRanker]) -> list[TrainedRanker]:
    """Who is shown where the address names nobody: those of its study, else the contrast."""
    for artefact in services.studies("invariance", data.data):
        if str(artefact.key) in address.says("study"):
            digests = [digest for _, digest in artefact.recipe["rankers"]]
            own = [ranker for ranker in as_they_came(rankers) if ranker.digest in digests]
            return (contrasting(own) or own)[: len(CONTRAST)]
    return contrast(rankers)


def _lists(rankers: list[TrainedRanker], first: list[TrainedRanker]) -> ListRecipe:
    """The lists that are shown: those of the rankers asked for, where nothing else is said."""
    came = as_they_came(rankers)
    asked = [one for one in came if set(proposals.texts(one)) & set(address.says("rankers"))]
    recipes = list_recipes(came)
    usual = [*list_recipes(asked), *list_recipes(first), *recipes][0]
    chosen = address.one("lists", {one: proposals.lists_texts(one) for one in recipes}, usual)
    if len(recipes) > 1:
        chosen = st.selectbox(
            "Candidate lists", recipes, key="lists", format_func=shown_list.recipe_words
        )
    return chosen


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
