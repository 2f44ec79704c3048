"""Two documents of a list: why each ranker puts one above the other."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

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


@parts.errors_shown()
def draw(
    query_list: scoring.List,
    shown: ShownList,
    rankers: Sequence[tuple[TrainedRanker, pd.DataFrame]],
) -> None:
    """Draw the fold; nothing is scored while it is closed.

    Args:
        query_list: the list.
        shown: its input order.
        rankers: rankers, and their `core.answers.one_list.moves`.
    """
    place = parts.fold(TITLE, FOLD, ":material/swap_vert:")
    if place is None:
        return
    left, right = place.columns(2)
    moves = [moves for _, moves in rankers]
    document = _choice(left, "Document", DOCUMENT, shown, usual_pair(moves)[0])
    usual = usual_pair(moves, document)[1]
    rival = _choice(right, "Compared with", RIVAL, shown, usual, document)
    parts.note(
        "Margin: the difference of both scores. Effect of a document: the margin minus the margin "
        "without it. Effect of a feature: its Shapley value; without it, both documents have the "
        "list's mean. Equal features: the margin with all features at their mean.", place,
    )  # fmt: skip
    for at, (ranker, _) in enumerate(rankers):
        if at % 2 == 0:
            columns = place.columns(min(2, len(rankers)))
        with columns[at % 2]:
            found = scoring.margin(query_list, ranker, shown.now, shown.changes, (document, rival))
            parts.sentence(str(found))
            others = captions.titles(found.documents.iloc[: 0 if found.alone else None])
            facts = found.features, others, found.rest, ranker.label
            bars = cached_figure(figure.effects, *facts)
            chart(bars, f"margin {ranker.label}", config=parts.PLAIN)


def _choice(  # noqa: PLR0913, PLR0917 (widget, its list, its default, and what it leaves out)
    place: DeltaGenerator, label: str, key: str, shown: ShownList, usual: int, other: int = -1
) -> int:
    options = [document for document in shown.arranged if document != other]
    if st.session_state.get(key) not in options:  # of another list
        st.session_state[key] = None
    ids = shown.documents.ids
    chosen: int | None = place.selectbox(
        label, options, index=None, key=key, placeholder=ids[usual], format_func=ids.__getitem__,
        help="Or click a card of a ranker.",
    )  # fmt: skip
    return usual if chosen is None else chosen


def usual_pair(rankings: Sequence[pd.DataFrame], document: int | None = None) -> tuple[int, int]:
    """A document and the one that took its place, or is next to it, in the first changed ranking.

    Args:
        rankings: of each ranker, its `core.answers.one_list.moves`.
        document: by default the one that lost most positions, else the first one.

    >>> frame = pd.DataFrame({"answered": [3, 1, 2], "answered_before": [1, 2, 3],
    ...                       "moved": [True] * 3})
    >>> usual_pair([frame]), usual_pair([frame], 2)
    ((0, 1), (2, 0))
    >>> usual_pair([frame.assign(answered_before=[3, 1, 2], moved=False)])
    (1, 2)
    """
    moves = next((moves for moves in rankings if moves["moved"].any()), rankings[0])
    ranking = moves["answered"].dropna().sort_values().index.tolist()
    falls = (moves["answered"] - moves["answered_before"]).where(moves["moved"], 0)
    if document is None:
        document = int(falls.to_numpy().argmax()) if falls.max() > 0 else ranking[0]
    place, former = ranking.index(document), moves["answered_before"][document] - 1
    if moves["moved"][document] and former != place and former < len(ranking):
        return document, ranking[int(former)]
    return document, ranking[place + 1 if place + 1 < len(ranking) else place - 1]
