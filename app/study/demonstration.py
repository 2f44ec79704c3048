"""The shuffle of one query of the sample: how it is shown, and who follows."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from shuffleproof.app import address, scoring
from shuffleproof.app.study import cards, parts
from shuffleproof.core.answers.one_list import moves
from shuffleproof.core.answers.shown_order import ShownOrder
from shuffleproof.core.answers.trained_rankers import contrast, list_recipes
from shuffleproof.core.data.catalogue import SAMPLE
from shuffleproof.core.errors import ParameterError
from shuffleproof.core.words import counted


@st.fragment
def draw() -> None:
    """Draw it; the rest of the page stays as it is."""
    with parts.errors_shown(again=True):
        _demonstration()


def _demonstration() -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="cards_verdict"):
        shown = str(_order())
        st.button("Shuffle", type="primary", icon=":material/shuffle:", on_click=_shuffle)
        st.button("Reverse", on_click=lambda: _show(_order().turned()))
        st.button("Reset", on_click=lambda: _show(ShownOrder()), disabled=shown == "initial")
        said = st.container()
    with st.container(key="cards_place"):
        legend = _moving(shown, said)
    st.caption(legend)


def _moving(shown: str, said: DeltaGenerator) -> str:
    """Draw the cards in the order shown, and what they say in its place; how to read them."""
    with st.spinner("Opening the sample's rankers …", show_time=True):
        sample = scoring.describe(SAMPLE)
        pair = contrast(scoring.rankers_of(sample))
    if len(pair) < 2:
        parts.not_yet(
            "The sample's rankers are not here yet.",
            "One command trains them, in about a minute:",
            "shuffleproof demo",
        )
        return ""
    recipe = list_recipes(pair)[0]
    one = scoring.List(SAMPLE, sample.test, recipe, sample.queries[sample.telling])
    listed = scoring.documents(one, (shown,))
    start = ShownOrder().arranged(listed)
    order = ShownOrder.parse(shown).arranged(listed)
    answers = scoring.answers(one, tuple(pair), "initial", shown)
    answered = [(answer, moves(listed, start, order, answer)) for answer in answers]
    with said:
        if shown == "initial":
            st.markdown("**Press Shuffle: whose ranking changes?**")
        else:
            parts.headline(cards.headline(answered))
    words = ShownOrder.parse(shown).words()
    drawn = cards.facts(one.query, (start, order), words, answered, SAMPLE)
    cards.draw(drawn, "cards", lambda places: _show(ShownOrder.by_hand(places)), _shuffle)
    return (
        f"Query {one.query} of the sample, {counted(len(listed), 'document')}, shown {words}. "
        "Stars: grades. "
        "▲ ▼: places up or down from the answer to the initial order; a coloured edge: it moved."
    )


def _order() -> ShownOrder:
    """The order in the address: the initial one, a shuffle, or made by hand."""
    try:
        asked = ShownOrder.parse(next(iter(address.says("order")), "initial"))
    except ParameterError:
        asked = ShownOrder()
    order = asked if asked.kind in {"initial", "shuffled", "by-hand"} else ShownOrder()
    address.pin("order", str(order))
    return order


def _shuffle() -> None:
    before = _order()
    seed = before.argument if before.kind == "shuffled" else 0
    _show(ShownOrder("shuffled", seed + 1))


def _show(order: ShownOrder) -> None:
    address.pin("order", str(order))
