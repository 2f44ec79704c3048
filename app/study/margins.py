"""Two documents of a list: why each ranker puts one above the other."""

from collections.abc import Sequence

import streamlit as st

from shuffleproof.app import captions, scoring
from shuffleproof.app.figures import margin as figure
from shuffleproof.app.study import parts
from shuffleproof.app.study.picture import cached_figure, chart
from shuffleproof.app.study.shown_list import ShownList
from shuffleproof.core.answers.trained_rankers import TrainedRanker

TITLE = "One document above another"
FOLD, PAIR = "margins", "margin of"
"""Keys of the fold and of its documents."""


def show_document(document: int) -> None:
    """Open the fold on a document and the next one of each ranking."""
    st.session_state.update({FOLD: True, PAIR: [document]})
    st.toast(f"See “{TITLE}” below.")


@parts.errors_shown()
def draw(query_list: scoring.List, shown: ShownList, rankers: Sequence[TrainedRanker]) -> None:
    """Draw the fold; nothing is scored while it is closed."""
    place = parts.fold(TITLE, FOLD, ":material/swap_vert:")
    if place is None:
        return
    # Documents of another list may be chosen
    chosen = st.session_state.get(PAIR, [])
    st.session_state[PAIR] = [document for document in chosen if document in shown.arranged]
    pair = place.multiselect(
        "Documents", shown.arranged, key=PAIR, max_selections=2,
        format_func=shown.documents.ids.__getitem__,
        placeholder="The first two of each ranking",
        help="Or click a card of a ranker. One alone is compared with the next of each ranking.",
    )  # fmt: skip
    parts.note(
        "Margin: the difference of both scores. Effect of a document: the margin minus the margin "
        "without it. Effect of a feature: its Shapley value; without it, both documents have the "
        "list's mean. Equal features: the margin with all features at their mean.", place,
    )  # fmt: skip
    for at, ranker in enumerate(rankers):
        if at % 2 == 0:
            columns = place.columns(min(2, len(rankers)))
        with columns[at % 2]:
            found = scoring.margin(query_list, ranker, shown.now, shown.changes, pair)
            parts.sentence(str(found))
            others = captions.titles(found.documents.iloc[: 0 if found.alone else None])
            facts = found.features, others, found.rest, ranker.label
            bars = cached_figure(figure.effects, *facts)
            chart(bars, f"margin {ranker.label}", config=parts.PLAIN)
