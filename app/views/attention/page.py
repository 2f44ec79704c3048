"""The page Attention: a ranker's weights in one list, and the effect of the input order."""

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from shuffleproof.app import address, captions, proposals, scoring, selection, state
from shuffleproof.app.figures import attention as figure
from shuffleproof.app.figures.text import alt_text
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import cards, parts
from shuffleproof.app.study.picture import OnClick, chart
from shuffleproof.app.study.shown_list import query_choice, recipe_words
from shuffleproof.app.views.attention import export
from shuffleproof.app.views.attention.map import (
    CHART,
    LOOKS,
    MOST_CELLS,
    SORTED,
    MapLayout,
    Overview,
    View,
    WantedMap,
    attention_cards,
    heads,
    lay_out,
    looked_at,
    maps,
    opened_cell,
    overview,
    pair_in_address,
    take,
)
from shuffleproof.app.views.attention.sentences import is_uniform, summary, verdict
from shuffleproof.core.answers.list_edit import ListEdit, offered_families
from shuffleproof.core.answers.shown_order import ShownOrder
from shuffleproof.core.answers.trained_rankers import (
    TrainedRanker,
    in_order_of_arrival,
    list_recipes,
)
from shuffleproof.core.errors import ParameterError
from shuffleproof.core.rankers.attention.kinds import KINDS, attends
from shuffleproof.core.rankers.attention.order import Sorting
from shuffleproof.core.rankers.name import display_names
from shuffleproof.core.rankers.neural.recipes import FIXED
from shuffleproof.core.words import counted

HEADS = "attention heads"
MEAN = "mean"
FIRST_CHANGE = "shuffled:1"
CHANGES = tuple(dict.fromkeys((
    FIRST_CHANGE, "-initial", "label", "transpositions:5:0", "transpositions:20:0", "reverse:1:0",
    *offered_families(),
)))  # fmt: skip


def page() -> None:
    """Draw the page for the data set in use."""
    parts.header(
        "Attention",
        "Which documents does a ranker attend to, and does the input order change that?",
    )
    _sections()


@st.fragment
def _sections() -> None:
    """Draw everything below the title; a control redraws only this fragment."""
    with parts.errors_shown(again=True):
        data = scoring.describe(state.data())
        rankers = [
            ranker for ranker in scoring.rankers_of(data) if attends(ranker.name) and ranker.lists
        ]
        if rankers:
            _study(data, rankers)
        else:
            _nothing_trained(data.data)


def _nothing_trained(data: str) -> None:
    parts.not_yet(
        f"No ranker with attention is trained on {data} yet.",
        "Train a SetRank, and a DLCM for comparison (its gates are shown in the same way). As "
        "commands:",
        f"shuffleproof train setrank-msab --data {data}\nshuffleproof train dlcm --data {data}",
    )
    parts.link("train", "Train rankers", "model_training")


def _study(data: scoring.DataDescription, rankers: list[TrainedRanker]) -> None:
    labels = {ranker.label: ranker for ranker in in_order_of_arrival(rankers)}
    default = _first(rankers)
    # Before the widgets, which remove unknown values from the address.
    no_query = state.missing_option("query", data.queries)
    no_ranker = state.missing_option(
        "ranker", [*chain.from_iterable(map(proposals.texts, rankers))]
    )
    notices = st.container()
    picture, controls = parts.top_row([8, 3])
    notes = st.container()
    with controls:
        query_list, ranker = _list(data, labels, default)
        change = _change()
        seen = overview(query_list, ranker.key, str(change))
    with notices:
        state.instead("test query", no_query, query_list.query)
        state.instead("ranker", no_ranker, display_names(labels)[ranker.label])
    numbers, pictures = heads(query_list, ranker.key)
    wanted = _last_map(seen)
    weights = maps(query_list, ranker.key, str(change), wanted)
    with picture:
        uniform = is_uniform(numbers, len(seen.documents))
        answer = verdict(ranker.label, seen.reads, change, seen.changes, uniform=uniform)
        with st.container(horizontal=True, vertical_alignment="center", key="cards_verdict"):
            st.button(
                "Shuffle", icon=":material/shuffle:", on_click=_shuffle_again, args=(change,),
                type="primary",
                help="Show the documents in another random order; prior ranks stay.",
            )  # fmt: skip
            with st.container():
                parts.headline(answer)
        _cards(query_list, ranker, change, seen)
    parts.note(_caption(query_list, seen, change), notes)
    parts.finding(summary(ranker.label, numbers, len(seen.documents)))
    _attended(seen, weights, wanted)
    cell = pair_in_address("cell", weights[0].shape)
    _chosen_in("look", list(LOOKS))
    _chosen_in("sorting", list(SORTED))
    view = View(st.session_state["look"], st.session_state["sorting"], cell)
    if place := parts.fold(
        "Matrix of weights, head by head", "matrix", expanded=_is_matrix_asked()
    ):
        with place:
            view = _matrix(query_list, seen, weights, wanted, cell)
            _heads(numbers, pictures, wanted)
    map_ = lay_out(seen, weights, wanted, view)
    export.row(export.ExportedView(query_list, ranker, wanted, str(change), view), map_)


def _is_matrix_asked() -> bool:
    """True if the address names a choice of the matrix."""
    return any(
        name in st.query_params for name in ("cell", "map", "block", "head", "look", "sorting")
    )


def _cards(
    query_list: scoring.List, ranker: TrainedRanker, change: ListEdit, seen: Overview
) -> None:
    """Draw the list and the ranking before and after the change, with arcs of attention."""
    main = WantedMap(seen.kinds[0][0], 0, None)
    sides = maps(query_list, ranker.key, str(change), main)
    words = change.words().removeprefix("shown ")
    drawn = attention_cards(ranker.label, seen, sides, words) | {"query": query_list.query}
    with st.container(key="cards_place"):
        arrange = partial(_arrange, len(seen.documents))
        cards.draw(drawn, "attention cards", arrange, partial(_shuffle_again, change))


def _arrange(documents: int, order: Sequence[int]) -> None:
    """Show the whole list in an order made by hand; a list that lost documents keeps its change."""
    if len(order) == documents:
        st.session_state["change"] = str(ShownOrder.by_hand(order))


def _matrix(
    query_list: scoring.List, seen: Overview, weights: tuple[np.ndarray, np.ndarray],
    wanted: WantedMap, cell: tuple[int, int] | None,
) -> View:  # fmt: skip
    """Draw the matrix of weights with its choices; return them."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        look = st.segmented_control(
            "View", list(LOOKS), key="look", required=True, format_func=LOOKS.__getitem__
        )
        sorting: Sorting = st.selectbox(
            "Sorted by", list(SORTED), format_func=SORTED.__getitem__, key="sorting"
        )
        _map_choice(seen, wanted)
    view = View(str(look), sorting, cell)
    map_ = lay_out(seen, weights, wanted, view)
    _picture(figure.heat(map_.cells), map_, view)
    parts.note(f"{wanted.words(*seen.size(wanted.kind))}. Amber marks: relevant documents.")
    if cell is not None:
        opened_cell(query_list, seen, weights, wanted, cell)
    return view


def _first(rankers: Sequence[TrainedRanker]) -> TrainedRanker:
    """Default ranker of an address without one.

    The first shipped SetRank whose documents attend to each other directly; else the first
    SetRank; else the first ranker.
    """
    came = in_order_of_arrival(rankers)
    setranks = list(filter(_is_setrank, came))
    direct = [
        ranker for ranker in setranks if ranker.is_bundled and FIXED[ranker.name]["block"] == "msab"
    ]
    return [*direct, *setranks, *came][0]


def _list(
    data: scoring.DataDescription, labels: dict[str, TrainedRanker], default: TrainedRanker
) -> tuple[scoring.List, TrainedRanker]:
    """Draw the choices of query and ranker; the list comes from the ranker's lists."""
    query = query_choice(data, _forget)
    texts = {label: proposals.texts(ranker) for label, ranker in labels.items()}
    usual = next(iter(selection.selected_among(labels)), default.label)
    ranker = labels[
        st.selectbox(
            "Ranker",
            **address.selectbox("ranker", texts, usual),
            on_change=_forget,
            format_func=display_names(labels).__getitem__,
        )
    ]
    recipes = list_recipes(list(labels.values()))
    recipe = ranker.lists or recipes[0]
    address.pin("lists", *proposals.lists_texts(recipe))
    if len(recipes) > 1:
        parts.note(f"Lists: {recipe_words(recipe)}")
    return scoring.List(data.data, data.test, recipe, query), ranker


def _forget() -> None:
    """Close the open cell, and forget an order made by hand: they belong to the previous list."""
    st.query_params.pop("cell", None)
    if "by-hand" in st.session_state.get("change", ""):
        st.session_state["change"] = FIRST_CHANGE


def _change() -> ListEdit:
    """Draw the choice of the change; offers changes from the address or the text field too."""
    options = list(CHANGES)
    for place, held in (("address", st.query_params), ("field", st.session_state)):
        text = held.get("change")
        if text and text not in options:
            try:
                held["change"] = str(ListEdit.parse(text))
                options.append(held["change"])
            except ParameterError as error:
                st.warning(escaped(f"The {place} has no readable change: {error}"))
    text = parts.select(
        "Change", "change", options, FIRST_CHANGE, format_func=_short, accept_new_options=True,
        help="Change of the list whose weights are compared. Type family, level and draw "
             "(`mallows:0.3:2`), or a chain (`cut:0.2+feature-noise:0.1`).",
    )  # fmt: skip
    return ListEdit.parse(text)


def _short(text: str) -> str:
    """Short name of a change.

    >>> _short("shuffled:1"), _short("transpositions:5:0")
    ('shown shuffled with seed 1', 'ranking: transpositions 5')
    """
    edit = ListEdit.parse(text)
    if edit.order is not None:
        return edit.words()
    what = {"input order": "shown", "initial ranking": "ranking", "set of documents": "set"}
    draw = f", draw {edit.seed}" if edit.seed else ""
    return f"{what.get(edit.change_name, edit.change_name)}: {edit.family} {edit.level:g}{draw}"


def _last_map(seen: Overview) -> WantedMap:
    """Last chosen map, as far as this ranker has it."""
    kind = _chosen_in("map", [name for name, _, _ in seen.kinds])
    blocks, heads = seen.size(kind)
    block = int(_chosen_in("block", _numbers(blocks)))
    head = _chosen_in("head", [MEAN, *_numbers(heads)])
    return WantedMap(kind, block - 1, None if head == MEAN else int(head) - 1)


def _chosen_in(name: str, options: list[str]) -> str:
    """Choice under a name, from the session or the address; else the first option.

    The address holds a choice that differs from the first. A bound widget would write its label.
    """
    held = st.session_state.get(name, st.query_params.get(name))
    chosen = str(held) if held in options else options[0]
    st.session_state[name] = chosen
    if chosen == options[0]:
        st.query_params.pop(name, None)
    else:
        st.query_params[name] = chosen
    return chosen


def _numbers(count: int) -> list[str]:
    return [str(at + 1) for at in range(count)]


def _map_choice(seen: Overview, wanted: WantedMap) -> None:
    """Draw the choice of the map, one click away."""
    blocks, heads = seen.size(wanted.kind)
    with st.popover("Map, block and head", icon=":material/grid_on:", width="stretch"):
        kinds = [name for name, _, _ in seen.kinds]
        st.selectbox(
            "Map", kinds, key="map", format_func=lambda name: KINDS[name].words, on_change=_forget
        )
        if blocks > 1:
            st.selectbox("Block", _numbers(blocks), key="block")
        if heads > 1:
            st.selectbox(
                "Head",
                [MEAN, *_numbers(heads)],
                key="head",
                format_func=lambda head: "mean of the heads" if head == MEAN else head,
            )
        parts.note(wanted.of.summary)


def _shuffle_again(change: ListEdit) -> None:
    seed = change.order.argument if change.order and change.order.kind == "shuffled" else 0
    st.session_state["change"] = f"shuffled:{seed + 1}"


def _picture(drawn: go.Figure, map_: MapLayout, view: View) -> None:
    st.plotly_chart(
        drawn,
        key=CHART,
        config=parts.PLAIN,
        alt=alt_text(drawn),
        on_select=take(map_),
        selection_mode="points",
    )
    if map_.left_out:
        st.caption(f"The first {MOST_CELLS} of {MOST_CELLS + map_.left_out} documents are drawn.")
    if view.cell is None:
        st.caption("Click a cell to see both documents, their features, labels and ranks.")

    low = map_.cells.limits[0]
    if low > 0:
        st.caption(f"The map is flat: colours begin at its smallest weight, {low:.3g}.")


def _caption(query_list: scoring.List, seen: Overview, change: ListEdit) -> str:
    moves = ((seen.gone, "taken out"), (seen.came, "added, left out"))
    moved = "".join(f" · {counted(count, 'document')} {what}" for count, what in moves if count)
    return (
        f"Query {query_list.query}, {counted(len(seen.documents), 'document')} · change: the list "
        f"{change.words()}{moved}. Arcs lead from the marked document to the five that it attends "
        "to most; width: weight. The largest change is that over all blocks and heads."
    )


def _attended(seen: Overview, weights: tuple[np.ndarray, np.ndarray], wanted: WantedMap) -> None:
    """Draw the table of documents with most of the weight."""
    table = looked_at(seen, weights, wanted)
    if table is None:
        return
    st.subheader("Most attended documents")
    table, columns = captions.with_captions(table)
    heads = {str(name): st.column_config.Column(str(name).capitalize()) for name in table}
    for name in ("weight", "weight after"):
        heads[name] = st.column_config.NumberColumn(name.capitalize(), format="%.1f %%")
    st.dataframe(
        table, hide_index=True, alt="Most attended documents", column_config=heads | columns
    )
    st.caption(
        f"Share of the map's weight; equal weights give {100 / len(seen.documents):.1f} %. "
        "Weight after: after the change."
    )


def _is_setrank(ranker: TrainedRanker) -> bool:
    return "block" in FIXED.get(ranker.name, {})


def _heads(numbers: pd.DataFrame, pictures: list[np.ndarray], wanted: WantedMap) -> None:
    """Draw all heads in small, and their numbers for this list."""
    if len(pictures) * len(pictures[0]) > 1:
        st.subheader("All heads")
        kind = str(numbers["map"].iloc[0])
        ring = (wanted.block, wanted.head) if wanted.kind == kind else (-1, None)
        small = figure.small(pictures, ring)
        chart(small, HEADS, _take_head(kind), config=parts.PLAIN)
        st.caption(
            "Click a head to see it above. Colours run from the smallest to the largest weight "
            "of each head. Documents are in the initial order."
        )
    if place := parts.fold("Numbers for every head, for this list", "every head"):
        shown = numbers.assign(block=numbers["block"] + 1, head=numbers["head"] + 1)
        place.dataframe(shown, hide_index=True, alt="All heads for this list")


def _take_head(kind: str) -> OnClick:
    def take_head(place: Sequence[Any]) -> None:
        block, head = (str(int(at) + 1) for at in place)
        st.session_state.update({"map": kind, "block": block, "head": head})
        _forget()

    return take_head
