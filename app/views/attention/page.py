"""Attention: what a ranker looks at in one list, and whether the order shown changes it."""

from collections.abc import Callable
from itertools import chain

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from shuffleproof.app import address, proposals, scoring, state
from shuffleproof.app.figures import attention as figure
from shuffleproof.app.figures import attention_heads as heads_figure
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import parts
from shuffleproof.app.views.attention import controls as attention_controls
from shuffleproof.app.views.attention import map as attention_asked
from shuffleproof.app.views.attention import study as attention_study
from shuffleproof.app.views.attention.map import (
    CHART,
    Heads,
    Laid,
    Overview,
    View,
    Wanted,
    laid,
    opened_cell,
    pair_in_address,
    take,
)
from shuffleproof.core.answers.trained import TrainedRanker, as_they_came
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.rankers.attention.kinds import attends
from shuffleproof.core.rankers.attention.summary import MEASURES
from shuffleproof.core.studies.kinds.attention.sections import verdict
from shuffleproof.core.studies.kinds.attention.study import ListEdit
from shuffleproof.core.studies.registry import STUDIES

QUESTION = STUDIES["attention"].title
HEADS = "attention heads"
NUMBERS = ("map", "block", "head", *MEASURES)


def page() -> None:
    """Draw the page for the data set in use."""
    parts.header("Attention", QUESTION)
    _looked()


@st.fragment
def _looked() -> None:
    """All below the title; a control here draws nothing else of the page."""
    try:
        data = scoring.described(state.data())
        rankers = [one for one in scoring.rankers_of(data) if attends(one.name) and one.lists]
        if not rankers:
            _nothing_trained(data.data)
            return
        _study(data, rankers)
    except ShuffleproofError as error:
        st.error(escaped(str(error)))
        st.button("Try again", key="again")


def _nothing_trained(data: str) -> None:
    parts.not_yet(
        f"No ranker with attention is trained on {data} yet, so there are no weights to look at.",
        "Train a SetRank, and beside it a DLCM, whose gates are shown in the same way. By command:",
        f"shuffleproof train setrank-msab --data {data}\nshuffleproof train dlcm --data {data}",
    )
    parts.link("train", "Train rankers", "model_training")


def _asked(data: str, labels: dict[str, TrainedRanker]) -> TrainedRanker | None:
    """Whom the address or somebody here chose where no SetRank is trained yet; says so else."""
    asked = {st.session_state.get("ranker"), *address.says("ranker")}
    for label, one in labels.items():
        if asked & {label, *proposals.texts(one)}:
            return one
    st.info(
        escaped(
            f"Without a choice this page shows a SetRank, and none is trained on {data} yet. Train "
            "one, or look at what is there."
        )
    )
    for label in labels:
        st.button(
            escaped(f"Show {label}"), key=f"show {label}", type="tertiary",
            on_click=st.session_state.update, args=({"ranker": label},),
        )  # fmt: skip
    return None


def _study(data: scoring.Described, rankers: list[TrainedRanker]) -> None:
    labels = {one.label: one for one in as_they_came(rankers)}
    first = attention_controls.first(data.data, rankers)
    if first is None:
        first = _asked(data.data, labels)
        if first is None:
            return
    texts = [*chain.from_iterable(map(proposals.texts, rankers))]
    missing = {name: state.absent(name, options) for name, options in (
        ("query", data.queries), ("ranker", texts))}  # fmt: skip
    notices = st.container()
    picture, controls = st.columns([8, 3], gap="medium")
    with controls:
        one, ranker = attention_controls.chosen(data, labels, first)
        change = attention_controls.change()
        seen = attention_asked.overview(one, ranker.key, str(change))
        wanted = attention_controls.wanted_map(seen)
        sorting = attention_controls.sorting()
        attention_controls.more(seen, wanted)
    with notices:
        state.instead("query", missing["query"], one.query)
        state.instead("ranker", missing["ranker"], ranker.label)
    maps = attention_asked.maps(one, ranker.key, str(change), wanted)
    shape = maps[0].shape
    zoom = pair_in_address("zoom", (shape[0], shape[1]))
    cell = pair_in_address("cell", (shape[0], shape[1]))
    with picture:
        view = View(attention_controls.look_at(change), sorting, zoom, cell)
        found = laid(seen, maps, wanted, view)
        drawn = figure.heat(found.cells)
        _picture(drawn, found, view)
        said = verdict(ranker.label, seen.reads, change, seen.changes)
        parts.finding(said)
        st.caption(escaped(_caption(one, seen, change, wanted)))
    if cell is not None:
        opened_cell(one, seen, maps, wanted, cell)
    _heads(attention_asked.heads(one, ranker.key), wanted)
    attention_study.section(data, one, ranker, seen.seconds)
    taken = attention_study.Exported(one, ranker, wanted, str(change), view)
    attention_study.row(taken, seen, drawn, found, said)


def _picture(drawn: go.Figure, found: Laid, view: View) -> None:
    st.plotly_chart(
        drawn,
        key=CHART,
        config={"displayModeBar": False},
        alt=figure.alt_text(found.cells),
        on_select=take(found),
        selection_mode="points",
    )
    if found.grouped:
        rows, columns = found.total
        st.caption(
            f"{rows} × {columns} cells are drawn as {found.cells.values.shape[0]} × "
            f"{found.cells.values.shape[1]} means. Click a cell to see the documents around it."
        )
    elif view.zoom is not None and max(found.total) > max(found.cells.values.shape):
        st.button("Whole list", icon=":material/zoom_out_map:", on_click=_whole)
    elif view.cell is None:
        st.caption("Click a cell to see both documents, their features, labels and ranks.")

    low = found.cells.limits[0]
    if low > 0:
        st.caption(f"The map is flat: colours begin at its smallest weight, {low:.3g}.")


def _whole() -> None:
    st.query_params.pop("zoom", None)


def _caption(one: scoring.List, seen: Overview, change: ListEdit, wanted: Wanted) -> str:
    relevant = int((seen.labels > 0).sum())
    blocks, heads = seen.size(wanted.kind)
    moved = [
        f"{'1 document' if count == 1 else f'{count} documents'} {what}"
        for count, what in (
            (seen.gone, "taken out, empty in the map"),
            (seen.came, "added, left out"),
        )
        if count
    ]
    return (
        f"Query {one.query}, {len(seen.documents)} documents, {relevant} of them relevant (amber "
        f"marks) · {wanted.words(blocks, heads)} · change: the list {change.words()}"
        f"{''.join(f' · {words}' for words in moved)}. The largest change is that over all blocks "
        "and heads; documents are matched by identity."
    )


def _heads(seen: Heads, wanted: Wanted) -> None:
    """The heads side by side, and the numbers of this list."""
    numbers = pd.DataFrame(seen.numbers, columns=list(NUMBERS))
    pictures = list(seen.small)
    if len(pictures) * len(pictures[0]) > 1:
        st.subheader("Every head")
        kind = seen.numbers[0][0]
        own = (wanted.block, wanted.head) if wanted.kind == kind else (-1, None)
        st.plotly_chart(
            heads_figure.small(pictures, own),
            key=HEADS,
            config={"displayModeBar": False},
            alt=heads_figure.small_alt_text(pictures),
            on_select=_take_head(kind),
            selection_mode="points",
        )
        st.caption(
            "Click a head to see it above. Every head has its own colours, from its smallest "
            "to its largest weight; documents in the order of the initial ranking."
        )
    place = parts.folded("The numbers of every head, for this list", "every head")
    if place is not None:
        shown = numbers.assign(block=numbers["block"] + 1, head=numbers["head"] + 1)
        place.dataframe(
            shown.drop(columns="received"), hide_index=True, alt="Every head of this list"
        )


def _take_head(kind: str) -> Callable[[], None]:
    def taken() -> None:
        points = st.session_state[HEADS]["selection"]["points"]
        if points and points[0].get("customdata"):
            block, head = points[0]["customdata"]
            chosen = {"map": kind, "block": str(int(block) + 1), "head": str(int(head) + 1)}
            st.session_state.update(chosen)
            attention_controls.forget()

    return taken
