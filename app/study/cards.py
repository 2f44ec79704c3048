"""A list as cards that move: how it is shown, and where each ranker puts its documents."""

from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import captions
from shuffleproof.app.figures import bump
from shuffleproof.app.figures.style import stroke
from shuffleproof.core.answers.one_list import Answer, verdicts
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.studies.headline import of_one_list
from shuffleproof.core.studies.sections import Headline
from shuffleproof.core.words import number

LONGEST = 200
"""Documents of a list that is still shown as cards."""

AnswerAndMoves = tuple[Answer, pd.DataFrame]
"""What a ranker answers, and `core.answers.one_list.moves` of it."""


@cache
def _component() -> Callable[..., Any]:
    assets = files("shuffleproof.app") / "assets"
    css, js = ((assets / name).read_text(encoding="utf-8") for name in ("cards.css", "cards.js"))
    return st.components.v2.component("cards", html="<div class='cards'></div>", css=css, js=js)


def facts(
    query: str,
    orders: tuple[Sequence[int], Sequence[int]],
    words: str,
    answers: Sequence[AnswerAndMoves],
    data: str | None = None,
) -> dict[str, Any]:
    """What the cards are drawn from, as plain values.

    Args:
        query: whose list it is.
        orders: the document at each position, by its row: before, and as shown.
        words: how it is shown.
        answers: what the rankers answer to it.
        data: the data set, by default the one in use.
    """
    first = answers[0][1]
    ids = [*map(str, first["document"])]
    labels = [int(label) for label in first["label"]]
    return {
        "query": query,
        "documents": {"ids": ids, "labels": labels, **captions.documents(ids, data)},
        "before": [*map(int, orders[0])],
        "shown": [*map(int, orders[1])],
        "words": words,
        "verdict": headline(answers).text,
        "rankers": [_ranker(*answered) for answered in answers],
    }


def _ranker(answer: Answer, moves: pd.DataFrame) -> dict[str, Any]:
    start, end = (number(value) for value in answer.quality)
    change = f"NDCG@10 {start} → {end}" if start != end else f"NDCG@10 {end}"
    count = int(moves["moved"].sum())
    return {
        "name": RankerName.of(answer.ranker).display,
        "color": stroke(answer.ranker).color,
        "note": f"{change} · {count or 'none'} of {len(moves)} moved",
        "answered": [int(place) - 1 for place in moves["answered"]],
        "before": [int(place) - 1 for place in moves["answered_before"]],
        "moved": [bool(moved) for moved in moves["moved"]],
        "words": bump.alt_text(moves, answer.ranker),
    }


def headline(answers: Sequence[AnswerAndMoves]) -> Headline:
    """How many documents each ranker moved, and what becomes of the one that loses most."""
    changed = any(bool(moves["moved"].any()) for _, moves in answers)
    tier = of_one_list([answer.quality for answer, _ in answers], changed=changed)
    return Headline(verdicts([(answer.ranker, moves) for answer, moves in answers]), *tier)


def draw(
    drawn: dict[str, Any],
    key: str,
    arranged: Callable[[list[int]], None],
    shuffled: Callable[[], None],
) -> None:
    """Draw the cards.

    Args:
        drawn: `facts`.
        key: of the component.
        arranged: takes the order that a hand made.
        shuffled: shuffles the list, as often as a replay asks for it.
    """

    def take() -> None:
        order = st.session_state[key].get("order")
        whole = isinstance(order, list) and all(type(row) is int for row in order)
        if whole and sorted(order) == [*range(len(drawn["shown"]))]:
            arranged(order)

    _component()(data=drawn, key=key, on_order_change=take, on_shuffle_change=shuffled)
