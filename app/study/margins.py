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
    for key in (DOCUMENT, RIVAL):
        if st.session_state.get(key) not in shown.arranged:  # of another list
            st.session_state[key] = None
    usual = usual_pair([moves for _, moves in rankers], st.session_state[DOCUMENT])
    labels = ("Document", "Compared with")
    pair = []
    for column, label, key, default in zip(
        place.columns(2), labels, (DOCUMENT, RIVAL), usual, strict=True
    ):
        chosen = column.selectbox(
            label, shown.arranged, index=None, key=key, help="Or click a card of a ranker.",
            placeholder=shown.documents.ids[default], format_func=shown.documents.ids.__getitem__,
        )  # fmt: skip
        pair.append(default if chosen is None else chosen)
    if pair[0] == pair[1]:
        place.info("Choose two different documents.")
        return
    parts.note(
        "Margin: the difference of both scores. Effect of a document: the margin minus the margin "
        "without it. Effect of a feature: its Shapley value; without it, both documents have the "
        "list's mean. Equal features: the margin with all features at their mean.", place,
    )  # fmt: skip
    for at, (ranker, _) in enumerate(rankers):
        if at % 2 == 0:
            columns = place.columns(min(2, len(rankers)))
        with columns[at % 2]:
            found = scoring.margin(query_list, ranker, shown.now, shown.changes, (pair[0], pair[1]))
            parts.sentence(str(found))
            documents = captions.titles(
                found.documents if not found.alone else found.documents.head(0)
            )
            facts = found.features, documents, found.rest, ranker.label
            bars = cached_figure(figure.effects, *facts)
            chart(bars, f"margin {ranker.label}", config=parts.PLAIN)


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
    fell = int(falls.to_numpy().argmax()) if falls.max() > 0 else ranking[0]
    one = fell if document is None else document
    place, former = ranking.index(one), moves["answered_before"][one]
    if moves["moved"][one] and former != place + 1 and former <= len(ranking):
        return one, ranking[int(former) - 1]
    return one, ranking[place + 1 if place + 1 < len(ranking) else place - 1]
