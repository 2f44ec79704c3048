"""Permutation invariance by hand: one query, another order shown, and what each ranker answers."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from shuffleproof.app import address, exports, proposals, report, scoring, services, state
from shuffleproof.app.figures import bump
from shuffleproof.app.figures.invariance import alt_text as scatter_words
from shuffleproof.app.figures.invariance import scatter
from shuffleproof.app.plain import escaped
from shuffleproof.app.proposals import as_asked
from shuffleproof.app.scoring import List
from shuffleproof.app.study import parts, shown_list
from shuffleproof.app.study.shown_list import Shown
from shuffleproof.app.views.invariance import certificates
from shuffleproof.core.answers.one_list import Answer, explanation, moves, verdicts
from shuffleproof.core.answers.trained import (
    CONTRAST,
    TrainedRanker,
    as_they_came,
    contrast,
    contrasting,
    list_recipes,
)
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.studies.kinds.invariance.question import Invariance
from shuffleproof.core.studies.reproduce import command_of, python_of
from shuffleproof.core.studies.tables import inferred


@dataclass(frozen=True)
class Answered:
    """A ranker's answer to a list, ready to be shown.

    Attributes:
        ranker: who answered.
        answer: its scores before and now.
        moves: one row a document; see `core.answers.one_list.moves`.
        bump: where documents are shown and answered.
        scatter: scores before and now.
    """

    ranker: TrainedRanker
    answer: Answer
    moves: pd.DataFrame
    bump: go.Figure
    scatter: go.Figure

    @property
    def label(self) -> str:
        """What the ranker is called on this page."""
        return self.ranker.label


def answered(
    one: scoring.List, rankers: Sequence[TrainedRanker], shown: Shown
) -> tuple[Answered, ...]:
    """What each ranker answered to a list as it is shown, beside what it answered before.

    Raises:
        ScoringError: the scoring process has no answer.
    """
    found = scoring.answers(one, tuple(rankers), shown.before, shown.now)
    ready = []
    for ranker, answer in zip(rankers, found, strict=True):
        frame = moves(shown.documents, shown.arranged_before, shown.arranged, answer)
        asked = f"{one!r} {ranker.key} {shown.before} {shown.now}"
        ready.append(
            Answered(
                ranker=ranker,
                answer=answer,
                moves=frame,
                bump=_bump(asked, ranker.label, shown.chosen, frame),
                scatter=_scatter(asked, ranker.label, frame),
            )
        )
    return tuple(ready)


@st.cache_resource(max_entries=128, show_spinner=False)
def _bump(asked: str, label: str, chosen: int | None, _frame: pd.DataFrame) -> go.Figure:
    """The figure by what was asked, which determines the frame; sessions share it, none writes."""
    del asked
    return bump.bump(_frame, label, chosen=chosen)


@st.cache_resource(max_entries=128, show_spinner=False)
def _scatter(asked: str, label: str, _frame: pd.DataFrame) -> go.Figure:
    del asked
    return scatter(_frame, label)


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
    row(one, shown, found)


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
            alt=scatter_words(one.moves, one.label),
        )


def _beside(found: Sequence[Answered], across: int) -> Iterator[tuple[DeltaGenerator, Answered]]:
    """A column for each answer, so many beside each other."""
    for at in range(0, len(found), across):
        yield from zip(st.columns(across), found[at : at + across], strict=False)


def row(one: List, shown: Shown, found: Sequence[Answered]) -> None:
    """Draw the row of exports of this list."""
    stem = f"invariance-{len(found)}-rankers"
    rankers = [answer.ranker for answer in found]
    question = Invariance(tuple(as_asked(ranker, one.data) for ranker in rankers))
    facts = {"data": one.data, "lists": asdict(one.recipe)}
    said = {
        "data": one.data,
        "query": one.query,
        "rankers": [ranker.label for ranker in rankers],
        "before": shown.before,
        "order": shown.now,
    }
    figures = [
        file
        for answer in found
        for file in exports.figure_files(answer.bump, f"{answer.label}-bump")
    ]
    parts.exports_row(
        parts.Shared(
            figures=figures,
            tables=lambda: exports.table_files(inferred(numbers(found), stem), stem),
            recipe=exports.recipe_file(said, facts, stem),
            report=_report(one.data, rankers),
            link=lambda: parts.here(data=one.data),
            command=lambda: command_of(question, facts),
            python=lambda: python_of(question, facts),
        ),
        "invariance",
    )


def numbers(found: Sequence[Answered]) -> pd.DataFrame:
    """Every number of the list: one row a ranker and document, in the order shown."""
    tables = [one.moves.assign(ranker=one.label).sort_values("shown") for one in found]
    table = pd.concat(tables, ignore_index=True)
    return table[["ranker", *(name for name in table.columns if name != "ranker")]]


def _report(data: str, rankers: Sequence[TrainedRanker]) -> exports.File:
    """The certificates of these rankers as a page of their own."""
    found = services.certified(data, address.says("study"))
    studies = {found[ranker.digest].study for ranker in rankers if ranker.digest in found}
    paths: list[Path] = [services.store().resolve(key, "study").path for key in sorted(studies)]
    missing = "" if paths else "A report needs certificates: examine all test queries first."
    return exports.File(
        "Report (HTML)", "certificates.html", lambda: report.report(paths).encode(), missing
    )
