"""The choices of the page Attention (query, ranker, change, map, look), all in the address."""

from collections.abc import Sequence

import streamlit as st

from shuffleproof.app import address, proposals, scoring, services
from shuffleproof.app.plain import escaped
from shuffleproof.app.study.shown_list import recipe_words
from shuffleproof.app.views.attention.map import LOOKS, SORTED, Overview, Wanted
from shuffleproof.core.answers.trained import TrainedRanker, as_they_came, list_recipes
from shuffleproof.core.errors import ParameterError
from shuffleproof.core.rankers.attention.kinds import KINDS
from shuffleproof.core.rankers.attention.order import Sorting
from shuffleproof.core.rankers.neural.recipes import FIXED
from shuffleproof.core.studies.kinds.attention.study import ListEdit, offered

FIRST_CHANGE = "shuffled:1"
CHANGES = tuple(dict.fromkeys((
    FIRST_CHANGE, "-initial", "label", "transpositions:5:0", "transpositions:20:0", "reverse:1:0",
    *offered(),
)))  # fmt: skip
MEAN = "mean"


def chosen(
    data: scoring.Described, labels: dict[str, TrainedRanker], first: TrainedRanker
) -> tuple[scoring.List, TrainedRanker]:
    """Draw the choice of the query and of the ranker, whose lists the query's is one of."""
    address.one("query", address.named(*data.queries), data.queries[data.telling])
    query = st.selectbox(
        "Query", data.queries, key="query", on_change=forget,
        help="A query of the test part; type to search.",
    )  # fmt: skip
    texts = {label: proposals.texts(ranker) for label, ranker in labels.items()}
    address.one("ranker", texts, first.label)
    label = st.selectbox("Ranker", list(labels), key="ranker", on_change=forget)
    ranker = labels[label]
    recipe = ranker.lists or list_recipes(list(labels.values()))[0]
    address.pin("lists", *proposals.lists_texts(recipe))
    if len(list_recipes(list(labels.values()))) > 1:
        st.caption(escaped(f"Lists: {recipe_words(recipe)}"))
    return scoring.List(data.data, data.test, recipe, query), ranker


def first(data: str, rankers: Sequence[TrainedRanker]) -> TrainedRanker | None:
    """Whom an address without a ranker shows, whatever is trained later; None: it has to say.

    The first that its study is of; else the first shipped SetRank whose documents attend to each
    other directly; else the first SetRank.
    """
    asked, came = address.says("study"), as_they_came(rankers)
    studies = [one for one in services.studies("attention", data) if str(one.key) in asked]
    of = {digest for one in studies for _, digest in one.recipe["rankers"]}
    setranks = [ranker for ranker in came if "block" in FIXED.get(ranker.name, {})]
    direct = [one for one in setranks if one.shipped and FIXED[one.name]["block"] == "msab"]
    return next(iter([*(one for one in came if one.digest in of), *direct, *setranks]), None)


def forget() -> None:
    """Another list or another ranker: what was open or zoomed into belongs to the one before."""
    for name in ("zoom", "cell"):
        st.query_params.pop(name, None)


def change() -> ListEdit:
    """Draw the choice of the change; what the address knows or is typed in is offered too."""
    options = list(CHANGES)
    for place, held in (("address", st.query_params), ("field", st.session_state)):
        text = held.get("change")
        if text and text not in options:
            try:
                held["change"] = str(ListEdit.parse(text))
                options.append(held["change"])
            except ParameterError as error:
                st.warning(escaped(f"The {place} has no readable change: {error}"))
    address.one("change", address.named(*options), FIRST_CHANGE)
    found = st.selectbox(
        "Change", options, key="change", format_func=_short, accept_new_options=True,
        help="What happens to the list between the two looks at the weights. Type for another "
        "level or draw: `mallows:0.3:2` is family, level, draw; `cut:0.2+feature-noise:0.1` does "
        "one after the other.",
    )  # fmt: skip
    return ListEdit.parse(found)


def _short(text: str) -> str:
    """A change in as few words as fit.

    >>> _short("shuffled:1"), _short("transpositions:5:0")
    ('shown shuffled with seed 1', 'ranking: transpositions 5')
    """
    found = ListEdit.parse(text)
    if found.order is not None:
        return found.words()
    what = {"order shown": "shown", "initial ranking": "ranking", "set of documents": "set"}
    return f"{what.get(found.what, found.what)}: {found.family} {found.level:g}" + (
        f", draw {found.seed}" * bool(found.seed)
    )


def _shuffle_again(change: ListEdit) -> None:
    seed = change.order.argument if change.order and change.order.kind == "shuffled" else 0
    st.session_state["change"] = f"shuffled:{seed + 1}"


def wanted_map(seen: Overview) -> Wanted:
    """The map as it was last chosen, as far as this ranker has it."""
    kind = _chosen_in("map", [name for name, _, _ in seen.kinds])
    blocks, heads = seen.size(kind)
    block = int(_chosen_in("block", _numbers(blocks)))
    head = _chosen_in("head", [MEAN, *_numbers(heads)])
    return Wanted(kind, block - 1, None if head == MEAN else int(head) - 1)


def _chosen_in(name: str, options: list[str]) -> str:
    """What is chosen under a name, in this session or in the address; else the first option.

    The address keeps what differs from the first. Binding a widget would put its words there.
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


def more(seen: Overview, wanted: Wanted) -> None:
    """Draw the choice of the map, one click away."""
    blocks, heads = seen.size(wanted.kind)
    with st.popover("Map, block and head", icon=":material/grid_on:", width="stretch"):
        kinds = [name for name, _, _ in seen.kinds]
        st.selectbox(
            "Map", kinds, key="map", format_func=lambda name: KINDS[name].words, on_change=forget
        )
        if blocks > 1:
            st.selectbox("Block", _numbers(blocks), key="block")
        if heads > 1:
            words = {MEAN: "mean of the heads"}
            heads_offered = [MEAN, *_numbers(heads)]
            st.selectbox(
                "Head", heads_offered, key="head", format_func=lambda head: words.get(head, head)
            )
        st.caption(escaped(wanted.of.summary))


def sorting() -> Sorting:
    """Draw the choice of how documents are sorted."""
    _chosen_in("sorting", list(SORTED))
    found: Sorting = st.selectbox(
        "Sorted by", list(SORTED), format_func=SORTED.__getitem__, key="sorting"
    )
    return found


def look_at(change: ListEdit) -> str:
    """Draw the switch between before, after and difference, and the button that shuffles."""
    _chosen_in("look", list(LOOKS))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        look = st.segmented_control(
            "Look", list(LOOKS), key="look", required=True, format_func=LOOKS.__getitem__,
            label_visibility="collapsed",
        )  # fmt: skip
        st.button(
            "Shuffle", icon=":material/shuffle:", on_click=_shuffle_again, args=(change,),
            help="Show the documents in another random order; prior ranks stay.",
        )  # fmt: skip
    return str(look)
