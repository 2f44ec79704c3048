"""A list as moving cards: its input order, and each ranker's ranking of it.

The demonstration shuffles one query of the sample.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from shuffleproof.app import address, captions, scoring
from shuffleproof.app.figures.style import stroke
from shuffleproof.app.study import parts
from shuffleproof.app.study.shown_list import ShownList
from shuffleproof.core.answers.document_changes import UNCHANGED
from shuffleproof.core.answers.one_list import Answer, fell_most, moves, verdicts
from shuffleproof.core.answers.shown_order import ShownOrder
from shuffleproof.core.answers.trained_rankers import TrainedRanker, contrast, list_recipes
from shuffleproof.core.data.catalogue import SAMPLE
from shuffleproof.core.errors import ParameterError
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.studies.headline import of_one_list
from shuffleproof.core.studies.sections import Headline
from shuffleproof.core.words import counted, number

LONGEST = 200
"""Length of the longest list that is shown as cards."""

LEGEND = (
    "Stars: relevance labels. ▲ ▼: ranks gained or lost. Coloured edge: the document passed "
    "another one. Filled: the marked document attends to it."
)

AnswerAndMoves = tuple[Answer, pd.DataFrame]
"""A ranker's answer, and its `core.answers.one_list.moves`."""


@cache
def _component() -> Callable[..., Any]:
    assets = files("shuffleproof.app") / "assets"
    css, js = ((assets / name).read_text(encoding="utf-8") for name in ("cards.css", "cards.js"))
    return st.components.v2.component("cards", html="<div class='cards'></div>", css=css, js=js)


def facts(
    shown: ShownList,
    answers: Sequence[AnswerAndMoves],
    attended: Mapping[str, Any],
    data: str | None = None,
) -> dict[str, Any]:
    """Data of the cards, as plain values.

    Args:
        shown: the list.
        answers: answers of the rankers.
        attended: `scoring.attended` of these rankers and the current order.
        data: data set; by default the one in use.
    """
    documents = shown.documents
    described = {
        "ids": documents.ids,
        "labels": [*map(int, documents.labels)],
        "unusual": documents.unusual,
    }
    return {
        "query": documents.query,
        "documents": described | captions.documents([*documents.ids], data),
        "before": shown.arranged_before,
        "shown": shown.arranged,
        "words": shown.words,
        "verdict": headline(answers).text,
        "rankers": [
            _ranker(*both) | {"attended": attended.get(both[0].ranker, [])} for both in answers
        ],
    }


def _ranker(answer: Answer, moves: pd.DataFrame) -> dict[str, Any]:
    start, end = (number(value) for value in answer.quality)
    change = f"NDCG@10 {start} → {end}" if start != end else f"NDCG@10 {end}"
    count = int(moves["moved"].sum())
    name = RankerName.of(answer.ranker).display
    note = f"{change} · {count or 'none'} of {int(moves['answered'].count())} moved"
    return {
        "name": name,
        "color": stroke(answer.ranker).color,
        "note": note,
        "answered": [_from_zero(place) for place in moves["answered"]],
        "before": [_from_zero(place) for place in moves["answered_before"]],
        "moved": [bool(moved) for moved in moves["moved"]],
        "words": f"{name}: {note}",
    }


def _from_zero(place: float) -> int | None:
    """Position from 0; None of a document that is not in the list."""
    return None if pd.isna(place) else int(place) - 1


def headline(answers: Sequence[AnswerAndMoves]) -> Headline:
    """Loss of each ranker and the number of documents that it moved."""
    changed = any(bool(moves["moved"].any()) for _, moves in answers)
    tier = of_one_list([answer.quality for answer, _ in answers], changed=changed)
    loses = any(after < before for before, after in (answer.quality for answer, _ in answers))
    # No tier fits a ranking that changed without a loss, or a loss that no ranker could avoid.
    if (changed and not loses) or any(answer.best < 1 for answer, _ in answers):
        return Headline(verdicts(answers))
    return Headline(verdicts(answers), *tier)


def draw(  # noqa: PLR0913, PLR0917 (data, key, and a callback for each gesture)
    drawn: dict[str, Any],
    key: str,
    arranged: Callable[[list[int]], None],
    shuffled: Callable[[], None],
    changed: Callable[[str, int], None] | None = None,
    explained: Callable[[int], None] | None = None,
) -> None:
    """Draw the cards.

    Args:
        drawn: `facts`.
        key: of the component.
        arranged: callback with the order that the user made by hand.
        shuffled: callback that shuffles the list.
        changed: callback with `removed` or `copied` and a document; None: no buttons on cards.
        explained: callback with a document that was clicked in a ranking; None: no clicks.
    """

    def take() -> None:
        order = st.session_state[key].get("order")
        # The browser's value is untrusted: accept only permutations of the rows.
        whole = isinstance(order, list) and all(type(row) is int for row in order)
        if whole and sorted(order) == sorted(drawn["shown"]):
            arranged(order)

    def change() -> None:
        what, row = st.session_state[key].get("change") or ("", -1)
        if changed and what in {"removed", "copied"} and row in drawn["shown"]:
            changed(what, row)

    def explain() -> None:
        row = st.session_state[key].get("explain")
        if explained and row in drawn["shown"]:
            explained(row)

    _component()(
        data=drawn | {"editable": changed is not None, "explains": explained is not None}, key=key,
        on_order_change=take, on_shuffle_change=shuffled, on_change_change=change,
        on_explain_change=explain,
    )  # fmt: skip


@st.fragment
@parts.errors_shown(again=True)
def demonstration() -> None:
    """Draw the demonstration; a control redraws only this fragment."""
    with st.container(horizontal=True, vertical_alignment="center", key="cards_verdict"):
        shown = str(_order())
        st.button("Shuffle", type="primary", icon=":material/shuffle:", on_click=_shuffle)
        st.button("Worst order", on_click=_show_worst)
        st.button("Reset", on_click=lambda: _show(ShownOrder()), disabled=shown == "initial")
        verdict = st.container(gap="xxsmall")
    with st.container(key="cards_place"):
        legend = _moving(shown, verdict)
    st.caption(legend)


def _moving(shown: str, verdict: DeltaGenerator) -> str:
    """Draw the cards and, in its place, their headline; return a legend."""
    with st.spinner("Opening the sample's rankers …", show_time=True):
        query_list, pair = _of_sample()
    if query_list is None:
        parts.not_yet(
            "The sample's rankers are not here yet.",
            "One command trains them, in about a minute:",
            "shuffleproof demo",
        )
        return ""
    documents = scoring.documents(query_list, (shown,))
    order = ShownOrder.parse(shown).arranged(documents)
    start = ShownOrder().arranged(documents)
    listed = ShownList(documents, "initial", shown, UNCHANGED, start, order, None)
    answers = scoring.answers(query_list, tuple(pair), "initial", shown)
    answers_and_moves = [(answer, moves(documents, start, order, answer)) for answer in answers]
    query = f"Query {query_list.query}"
    with verdict:
        if shown == "initial":
            st.markdown("**Press Shuffle: whose ranking changes?**")
        else:
            found = headline(answers_and_moves)
            parts.headline(replace(found, text=f"{query}: {found.text}"))
        fallen = (fell_most(moves) for _, moves in answers_and_moves)
        parts.note(
            " ".join(filter(None, fallen)) or f"{query} of the sample, by the initial ranking."
        )
    attended = scoring.attended(query_list, pair, shown, UNCHANGED)
    drawn = facts(listed, answers_and_moves, attended, SAMPLE)
    draw(drawn, "cards", lambda places: _show(ShownOrder.by_hand(places)), _shuffle)
    return f"{query}, {counted(len(documents), 'document')}, shown {listed.words}. {LEGEND}"


def _of_sample() -> tuple[scoring.List | None, list[TrainedRanker]]:
    """The example's list and its two rankers; no list if they are not trained."""
    sample = scoring.describe(SAMPLE)
    pair = contrast(scoring.rankers_of(sample))
    if len(pair) < 2:
        return None, []
    return scoring.List(SAMPLE, sample.test, list_recipes(pair)[0], sample.example_query), pair


def _order() -> ShownOrder:
    """Order in the address: initial, shuffled, the worst one found, or made by hand."""
    try:
        wanted = ShownOrder.parse(next(iter(address.says("order")), "initial"))
    except ParameterError:
        wanted = ShownOrder()
    order = wanted if wanted.kind in {"initial", "shuffled", "worst", "by-hand"} else ShownOrder()
    address.pin("order", str(order))
    return order


def _shuffle() -> None:
    before = _order()
    seed = before.argument if before.kind == "shuffled" else 0
    _show(ShownOrder("shuffled", seed + 1))


def _show_worst() -> None:
    """Show the input order that was found to cost the first ranker most; a callback."""
    query_list, pair = _of_sample()
    if query_list is not None:
        worst = ShownOrder.by_hand(scoring.worst_order(query_list, pair[0].key))
        _show(replace(worst, kind="worst"))


def _show(order: ShownOrder) -> None:
    address.pin("order", str(order))
