"""The choices of the page Attention (query, ranker, change, map, look), all in the address."""

from collections.abc import Callable

import streamlit as st

from app import scoring
from app.plain import escaped
from app.views.attention_asked import Overview, Wanted
from app.views.attention_map import LOOKS, SORTED
from app.views.shown_list import recipe_words
from core.errors import ParameterError
from core.rankers.attention_kinds import KINDS
from core.rankers.attention_order import Sorting
from core.studies.attention_list import Change
from core.studies.trained import TrainedRanker, list_recipes

FIRST_CHANGE = "shuffled:1"
CHANGES = (
    FIRST_CHANGE, "-initial", "label", "transpositions:5:0", "transpositions:20:0", "reverse:1:0",
)  # fmt: skip
MEAN = "mean"


def chosen(
    data: scoring.Described, labels: dict[str, TrainedRanker]
) -> tuple[scoring.List, TrainedRanker]:
    """Draw the choice of the query and of the ranker, whose lists the query's is one of."""
    query = st.selectbox(
        "Query", data.queries, index=data.telling, key="query", bind="query-params",
        on_change=forget, help="A query of the test part; type to search.",
    )  # fmt: skip
    label = st.selectbox(
        "Ranker", list(labels), index=_first(list(labels)), key="ranker", bind="query-params",
        on_change=forget,
    )  # fmt: skip
    ranker = labels[label]
    recipe = ranker.lists or list_recipes(list(labels.values()))[0]
    if len(list_recipes(list(labels.values()))) > 1:
        st.caption(escaped(f"Lists: {recipe_words(recipe)}"))
    return scoring.List(data.data, data.test, recipe, query), ranker


def _first(labels: list[str]) -> int:
    """The first SetRank whose documents attend to each other directly, if there is one."""
    for wanted in ("setrank-msab", "setrank"):
        for place, label in enumerate(labels):
            if label.startswith(wanted):
                return place
    return 0


def forget() -> None:
    """Another list or another ranker: what was open or zoomed into belongs to the one before."""
    for name in ("zoom", "cell"):
        st.query_params.pop(name, None)


def change() -> Change:
    """Draw the choice of the change; one that the address alone knows is offered too."""
    asked = st.query_params.get("change", "")
    options = list(CHANGES)
    drawn = st.session_state.get("change")
    for text in (asked, drawn):
        if text and text not in options:
            try:
                options.append(str(Change.parse(text)))
            except ParameterError as error:
                st.warning(escaped(f"The address has no readable change: {error}"))
    chosen = st.selectbox(
        "Change", options, key="change", bind="query-params",
        format_func=lambda text: Change.parse(text).words(),
        help="What happens to the list between the two looks at the weights.",
    )  # fmt: skip
    return Change.parse(chosen)


def _shuffle_again(change: Change) -> None:
    seed = change.order.argument if change.order and change.order.kind == "shuffled" else 0
    st.session_state["change"] = f"shuffled:{seed + 1}"


def wanted_map(seen: Overview) -> Wanted:
    """The map as it was last chosen, as far as this ranker has it."""
    kinds = [name for name, _, _ in seen.kinds]
    kind = _held("map", kinds, kinds[0])
    blocks, heads = seen.size(kind)
    block = _held("block", [str(at + 1) for at in range(blocks)], "1")
    head = _held("head", [MEAN, *(str(at + 1) for at in range(heads))], MEAN)
    return Wanted(kind, int(block) - 1, None if head == MEAN else int(head) - 1)


def _held(name: str, options: list[str], first: str) -> str:
    """What is chosen under a name, in this session or in the address; else the first."""
    for found in (st.session_state.get(name), st.query_params.get(name)):
        if found in options:
            return str(found)
    st.session_state.pop(name, None)
    return first


def more(seen: Overview, wanted: Wanted) -> None:
    """Draw the choice of the map, one click away."""
    blocks, heads = seen.size(wanted.kind)
    with st.popover("Map, block and head", icon=":material/grid_on:", width="stretch"):
        kinds = [name for name, _, _ in seen.kinds]
        _select("Map", kinds, "map", wanted.kind, lambda name: KINDS[name].words)
        if blocks > 1:
            numbers = [str(at + 1) for at in range(blocks)]
            _select("Block", numbers, "block", str(wanted.block + 1), str)
        if heads > 1:
            numbers = [MEAN, *(str(at + 1) for at in range(heads))]
            _select("Head", numbers, "head", head_text(wanted.head), _head_words)
        st.caption(escaped(wanted.of.summary))


def head_text(head: int | None) -> str:
    """A head as the address has it."""
    return MEAN if head is None else str(head + 1)


def _head_words(head: str) -> str:
    return "mean of the heads" if head == MEAN else head


def _select(
    label: str, options: list[str], key: str, chosen: str, words: Callable[[str], str]
) -> None:
    st.session_state[key] = chosen
    st.selectbox(label, options, key=key, bind="query-params", format_func=words, on_change=forget)


def sorting() -> Sorting:
    """Draw the choice of how documents are sorted."""
    found: Sorting = st.selectbox(
        "Sorted by", list(SORTED), format_func=SORTED.__getitem__, key="sorted by",
        bind="query-params",
    )  # fmt: skip
    return found


def look_at(change: Change) -> str:
    """Draw the switch between before, after and difference, and the button that shuffles."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        look = st.segmented_control(
            "Look", list(LOOKS), default="before", key="look", bind="query-params", required=True,
            format_func=LOOKS.__getitem__, label_visibility="collapsed",
        )  # fmt: skip
        st.button(
            "Shuffle", icon=":material/shuffle:", on_click=_shuffle_again, args=(change,),
            help="Show the documents in another random order; prior ranks stay.",
        )  # fmt: skip
    return str(look)
