"""Two documents of a list: why each ranker puts one above the other."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from shuffleproof.app import captions, scoring
from shuffleproof.app.figures import margin as figure
from shuffleproof.app.study import parts
from shuffleproof.app.study.picture import cached_figure, chart
from shuffleproof.app.study.shown_list import ShownList
from shuffleproof.core.answers.trained_rankers import TrainedRanker

TITLE = "One document above another"
FOLD, DOCUMENT, RIVAL = "margins", "margin of", "margin against"
"""Keys of the fold and of its choices."""


def show_document(document: int) -> None:
    """Open the fold on a document and the one that took its place, or is next to it."""
    st.session_state.update({FOLD: True, DOCUMENT: document, RIVAL: None})
    st.toast(f"See “{TITLE}” below.")


def draw(
    query_list: scoring.List,
    shown: ShownList,
    answers: Sequence[tuple[TrainedRanker, pd.DataFrame]],
) -> None:
    """Draw the fold; nothing is scored while it is closed.

    Args:
        query_list: the list.
        shown: its input order.
        answers: rankers, and their `core.answers.one_list.moves`.
    """
    place = parts.fold(TITLE, FOLD, ":material/swap_vert:")
    if place is None:
        return
    with place, parts.errors_shown():
        for key in (DOCUMENT, RIVAL):
            if st.session_state.get(key) not in shown.arranged:
                st.session_state[key] = None
        left, right = st.columns(2)
        frames = [frame for _, frame in answers]
        ids, first = shown.documents.ids, pair_of(frames, st.session_state[DOCUMENT])
        chosen = []
        for column, label, key, usual in (
            (left, "Document", DOCUMENT, first[0]), (right, "Compared with", RIVAL, first[1]),
        ):  # fmt: skip
            hand = column.selectbox(
                label, shown.arranged, index=None, key=key, placeholder=ids[usual],
                format_func=ids.__getitem__, help="Or click a card of a ranker.",
            )  # fmt: skip
            chosen.append(usual if hand is None else hand)
        if chosen[0] == chosen[1]:
            st.info("Choose two different documents.")
            return
        parts.note(
            "Margin: the difference of both scores. Effect of a document: the margin minus the "
            "margin without it. Effect of a feature: its Shapley value; without it, both documents "
            "have the list's mean. Equal features: the margin with all features at their mean."
        )
        for at in range(0, len(answers), 2):
            pair = answers[at : at + 2]
            columns = st.columns(min(2, len(answers)))
            for column, (ranker, _) in zip(columns, pair, strict=False):
                with column:
                    _one_ranker(query_list, shown, ranker, (chosen[0], chosen[1]))


def _one_ranker(
    query_list: scoring.List, shown: ShownList, ranker: TrainedRanker, pair: tuple[int, int]
) -> None:
    found = scoring.margin(query_list, ranker, shown.now, shown.changes, pair)
    parts.sentence(str(found))
    documents = found.documents.head(0 if found.alone else None)
    bars = captions.titles(documents)
    drawn = cached_figure(figure.effects, found.features, bars, found.rest, ranker.label)
    chart(drawn, f"margin {ranker.label}", config=parts.PLAIN)


def pair_of(frames: Sequence[pd.DataFrame], document: int | None = None) -> tuple[int, int]:
    """A document, and the one that took its place in the first ranking where it moved.

    Args:
        frames: of each ranker, its `core.answers.one_list.moves`.
        document: by default the one that lost most positions; where none did, the first one.

    >>> frame = pd.DataFrame({"answered": [3, 1, 2], "answered_before": [1, 2, 3],
    ...                       "moved": [True] * 3})
    >>> pair_of([frame]), pair_of([frame], 2), pair_of([frame.assign(moved=False)])
    ((0, 2), (2, 1), (1, 2))
    """
    for frame in frames:
        falls = (frame["answered"] - frame["answered_before"]).where(frame["moved"])
        at = document
        if at is None and falls.max() > 0:
            at = int(falls.idxmax())
        if at is not None and frame["moved"][at]:
            taken = frame.index[frame["answered"] == frame["answered_before"][at]].drop(
                at, errors="ignore"
            )
            if len(taken):
                return at, int(taken[0])
    ranking = frames[0]["answered"].dropna().sort_values().index
    place = 0 if document is None else int(ranking.get_loc(document))
    return int(ranking[place]), int(ranking[place + 1 if place + 1 < len(ranking) else place - 1])
