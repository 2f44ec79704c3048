"""A list that the user reorders (shuffle, sort, reverse, move by hand) and changes.

The address holds it: `order` is a text of `core.answers.shown_order`, `changed` those of
`core.answers.document_changes`. It is compared with the list by the initial ranking.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import streamlit as st

from shuffleproof.app import address, captions, scoring, state
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import parts
from shuffleproof.app.study.picture import chooses, follow_click
from shuffleproof.core.answers.document_changes import UNCHANGED, DocumentChanges
from shuffleproof.core.answers.shown_order import Documents, ShownOrder, move_document
from shuffleproof.core.errors import ParameterError
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import with_display_names

CHANGED = "changed"
"""Address key of changes of single documents."""

WORST = (
    "Searches the input order that costs most NDCG@10, within five exchanges of two documents, for "
    "the first ranker that reads the order. Undo changes first: the list is searched without them."
)

START, USUAL = "initial", "shuffled:1"
"""Order to compare with, and the order of an address without one."""

ONE_LIST = ("by-hand", "worst")
"""Orders that belong to one list."""

KINDS = {
    "initial": "initial ranking",
    "shuffled": "shuffled",
    "label": "label",
    "id": "document id",
    "feature": "a feature",
    "by-hand": "chosen order",
    "worst": "worst order found",
}


@dataclass(frozen=True)
class ShownList:
    """A list in its current input order, and in the one to compare with.

    Attributes:
        documents: the list, with copies of its documents last.
        before: input order to compare with, as text.
        now: current input order, as text.
        changes: changes of its documents.
        arranged_before: document at each position of the order to compare with.
        arranged: document at each position of the current order.
        chosen: document picked by hand, if any.
    """

    documents: Documents
    before: str
    now: str
    changes: DocumentChanges
    arranged_before: list[int]
    arranged: list[int]
    chosen: int | None

    @property
    def words(self) -> str:
        """Current input order, in words."""
        return ShownOrder.parse(self.now).words()

    @property
    def words_before(self) -> str:
        """Input order to compare with, in words."""
        return ShownOrder.parse(self.before).words()


def order() -> ShownOrder:
    """Order in the address; an invalid one becomes the first shuffle."""
    try:
        return ShownOrder.parse(st.query_params.get("order", USUAL))
    except ParameterError:
        return ShownOrder.parse(USUAL)


def show_worst(arranged: list[int]) -> None:
    """Show the worst order found."""
    show(replace(ShownOrder.by_hand(arranged), kind="worst"))


def show(new: ShownOrder) -> None:
    """Show the list in another order."""
    address.pin("order", str(new))


def query_choice(data: scoring.DataDescription, forget: Callable[[], None]) -> str:
    """Draw the choice of a query, which all pages share; a change calls `forget`."""
    before = address.carried("query")
    chosen = parts.select(
        "Query", "query", data.queries, data.example_query, on_change=forget,
        help="A query of the test part; type to search. All pages follow.",
    )  # fmt: skip
    captions.draw_query_text(chosen)
    if address.carried("query") != before:
        state.draw_again()  # the sidebar shows it
    return chosen


def forget_hand() -> None:
    """Forget changes, and orders and documents chosen by hand, of the previous list."""
    address.pin(CHANGED)
    if order().kind in ONE_LIST:
        st.query_params.pop("order", None)
    st.session_state.pop("document", None)


def controls(query_list: scoring.List, data: scoring.DataDescription) -> ShownList:
    """Draw the controls of the order; return the list in the chosen order.

    A changed list is compared with the unchanged one in the same order: one change at a time.
    """
    _unreadable()
    present = order()
    _sorting(present, data)
    documents, arranged_before, arranged = _listed(query_list)
    address.pin("order", str(order()))
    changes = _changes(documents, data.features)
    chosen = _one_document(query_list, data, documents, arranged)
    now = str(order())
    before = now if changes else START
    return ShownList(
        changes.documents(documents), before, now, changes,
        arranged if changes else arranged_before,
        changes.arranged(arranged, len(documents)), chosen,
    )  # fmt: skip


def _changes(documents: Documents, features: tuple[int, ...]) -> DocumentChanges:
    """Changes in the address; those of another list are dropped with a message."""
    try:
        changes = DocumentChanges.parse(address.says(CHANGED))
        changes.check(len(documents), features)
    except ParameterError as error:
        st.info(escaped(f"The changes in the address are left out: {error}"))
        changes = UNCHANGED
    address.pin(CHANGED, *changes.texts())
    return changes


def change(text: str) -> None:
    """Change one more document."""
    address.pin(CHANGED, *DocumentChanges.parse([*address.says(CHANGED), text]).texts())


def change_card(shown: ShownList, what: str, document: int) -> None:
    """Remove or copy the document of a card; a copy that is removed was never made."""
    copied = shown.changes.copied
    originals = len(shown.documents) - len(copied)
    if document < originals:
        change(f"{what}:{document}")
    elif what == "removed":
        texts = [
            text
            for text in shown.changes.texts()
            if text != f"copied:{copied[document - originals]}"
        ]
        address.pin(CHANGED, *texts)


def _unreadable() -> None:
    """Draw a warning for an invalid order in the address, and remove it."""
    try:
        ShownOrder.parse(st.query_params.get("order", USUAL))
    except ParameterError as error:
        words = ShownOrder.parse(USUAL).words()
        st.warning(escaped(f"The address has no readable order: {error}. It is {words} now."))
        st.query_params.pop("order")


def _listed(query_list: scoring.List) -> tuple[Documents, list[int], list[int]]:
    """Documents and both orders; an order of another list is dropped with a message."""
    texts = (START, str(order()))
    documents = scoring.documents(query_list, texts)
    try:
        before, now = (ShownOrder.parse(text).arranged(documents) for text in texts)
    except ParameterError:
        st.info("The order in the address belongs to another list; this one is shuffled instead.")
        st.query_params.pop("order", None)
        before, now = (ShownOrder.parse(text).arranged(documents) for text in (START, USUAL))
    return documents, before, now


def _sorting(present: ShownOrder, data: scoring.DataDescription) -> None:
    kinds = [kind for kind in KINDS if kind not in ONE_LIST or present.kind == kind]
    st.session_state["sorted"] = present.kind
    st.selectbox(
        "Shown by", kinds, format_func=KINDS.__getitem__, key="sorted", on_change=_sort,
        args=(data.features,),
    )  # fmt: skip
    if present.kind == "feature":
        st.session_state["feature"] = present.argument
        st.selectbox("Feature", data.features, key="feature", on_change=_sort_by("feature"))
    if present.kind == "shuffled":
        st.session_state["seed"] = present.argument
        st.number_input(
            "Seed", min_value=0, max_value=999_999_999, step=1, key="seed",
            on_change=_sort_by("shuffled", "seed"),
        )  # fmt: skip


def _sort(features: tuple[int, ...]) -> None:
    kind = st.session_state["sorted"]
    if kind in ONE_LIST:
        return
    argument = {"feature": features[0] if features else 0, "shuffled": _last_seed()}.get(kind, 0)
    show(ShownOrder(kind, argument))


def _sort_by(kind: str, key: str = "feature") -> Callable[[], None]:
    """Callback of the number widget of a kind of order."""
    return lambda: show(ShownOrder(kind, int(st.session_state[key])))


def _last_seed() -> int:
    """Seed of the shuffle in the address; 1 without one."""
    present = order()
    return present.argument if present.kind == "shuffled" else 1


def shuffle_again() -> None:
    """Show the next shuffle."""
    known = order().kind == "shuffled"
    show(ShownOrder("shuffled", _last_seed() + 1 if known else 1))


def by_hand(shown: ShownList, arranged: list[int]) -> None:
    """Show the documents in an order made by hand; copies stay with their originals."""
    originals = len(shown.documents) - len(shown.changes.copied)
    there = [document for document in arranged if document < originals]
    show(ShownOrder.by_hand([*there, *shown.changes.removed]))


def buttons(shown: ShownList, search: Callable[[], None] | None) -> None:
    """Draw the buttons above the picture.

    Args:
        shown: the list.
        search: shows the worst order; None: no order can be worse.
    """
    with st.container(horizontal=True, vertical_alignment="center", key="order_buttons"):
        st.button("Shuffle", type="primary", icon=":material/shuffle:", on_click=shuffle_again)
        st.button("Reverse", on_click=lambda: show(order().turned()))
        st.button(
            "Initial order",
            on_click=lambda: show(ShownOrder()),
            disabled=order().kind == "initial" and not order().reversed,
        )
        if search:
            st.button("Worst order", on_click=search, disabled=bool(shown.changes), help=WORST)
        if shown.changes:
            st.button("Undo changes", icon=":material/undo:", on_click=address.pin, args=(CHANGED,))


def _one_document(
    query_list: scoring.List, data: scoring.DataDescription, documents: Documents,
    arranged: list[int],
) -> int | None:  # fmt: skip
    """Draw the controls that move or change one document; return the chosen document."""
    touched = order().kind == "by-hand" or address.says(CHANGED)
    with st.expander("Move or change one document", expanded=bool(touched)):
        places = {document: place for place, document in enumerate(arranged)}
        chosen = st.selectbox(
            "Document",
            range(len(arranged)),
            index=None,
            placeholder="Choose one",
            key="document",
            format_func=_names(documents.ids).__getitem__,
            help="Or click its mark in a picture. Then Alt + ↑ and Alt + ↓ move it.",
        )
        if chosen is None:
            return None
        place = places[chosen]
        step = partial(_move, arranged, place)
        with st.container(horizontal=True):
            st.button(
                "Up", icon=":material/arrow_upward:", on_click=step, args=(place - 1,),
                disabled=place == 0, shortcut="Alt+Up",
            )  # fmt: skip
            st.button(
                "Down", icon=":material/arrow_downward:", on_click=step, args=(place + 1,),
                disabled=place == len(arranged) - 1, shortcut="Alt+Down",
            )  # fmt: skip
        st.session_state["place"] = place + 1
        st.number_input(
            "To position", 1, len(arranged), step=1, key="place",
            on_change=lambda: step(st.session_state["place"] - 1),
        )  # fmt: skip
        with st.container(horizontal=True):
            for label, icon, what in (
                ("Remove", "delete", "removed"), ("Duplicate", "content_copy", "copied"),
            ):  # fmt: skip
                st.button(
                    label, icon=f":material/{icon}:", on_click=change, args=(f"{what}:{chosen}",)
                )
        _feature_slider(query_list, data, int(chosen))
    return int(chosen)


def _feature_slider(query_list: scoring.List, data: scoring.DataDescription, document: int) -> None:
    """Draw a slider that changes one feature of a document, over the values of the list."""
    feature = st.selectbox("Feature to change", data.features, index=None, key="changed feature")
    if feature is None:
        return
    column = scoring.documents(query_list, (f"feature:{feature}",)).features[feature]
    changes = DocumentChanges.parse(address.says(CHANGED)).features
    now = {(row, at): value for row, at, value in changes}.get(
        (document, feature), column[document]
    )
    low, high = min(*column, now), max(*column, now)
    if low == high:
        st.caption("All documents of this list have the same value.")
        return
    key = f"value {document} {feature}"
    st.session_state[key] = now  # also after the changes were undone
    st.slider(
        "Value", low, high, key=key,
        on_change=lambda: change(f"feature:{document}:{feature}:{st.session_state[key]:g}"),
    )  # fmt: skip


def _names(ids: tuple[str, ...]) -> list[str]:
    """Ids of the documents, numbered if any two are equal.

    >>> _names(("a", "b")), _names(("a", "a"))
    (['a', 'b'], ['1. a', '2. a'])
    """
    if len(set(ids)) == len(ids):
        return list(ids)
    return [f"{place}. {name}" for place, name in enumerate(ids, 1)]


def _move(arranged: list[int], at: int, to: int) -> None:
    show(ShownOrder.by_hand(move_document(arranged, at, to)))


def take(chart: str) -> Callable[[], None]:
    """Callback of a click on a mark of this chart: picks up its document."""
    return partial(follow_click, chart, chooses(document=int))


def recipe_words(recipe: ListRecipe) -> str:
    """Short description of a recipe of lists, for a menu."""
    depth = "all documents" if recipe.depth is None else f"top {recipe.depth}"
    return with_display_names(f"{depth} by {', '.join(recipe.initial)}, {recipe.scores}")
