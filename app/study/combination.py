"""A ranker made of rankers, put together by hand: how, of whom, and what it costs to ask it."""

from collections.abc import Sequence

import streamlit as st

from shuffleproof.app.study import parts
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.combining import ORDERS, Fusion, Pairwise, ShuffleOptions
from shuffleproof.core.rankers.name import RankerName, with_display_names

WAYS = {
    "rrf": "Reciprocal rank fusion of several",
    "mean-rank": "Mean of the ranks of several",
    "shuffled": "One ranker, asked in many orders: mean of its scores",
    "shuffled-borda": "One ranker, asked in many orders: Borda count",
    "pairwise": "One ranker, pair by pair: an aggregator makes the order",
    "shuffled-kemeny": "One ranker, asked in many orders: Kemeny, by local search",
}
"""What a name begins with, and what it means."""


def combination_form(offered: Sequence[str], key: str) -> RankerName | None:
    """Draw the fields; the combination that they describe, None while members are missing.

    Args:
        offered: whom it may be made of.
        key: what the fields' keys begin with.
    """
    way = st.selectbox("How", list(WAYS), format_func=WAYS.__getitem__, key=f"{key}.way")
    kind, _, aggregate = (way or "rrf").partition("-")
    if way == Pairwise.kind:
        return _pairwise(offered, key)
    if kind == "shuffled":
        return _shuffled(offered, aggregate or ShuffleOptions.aggregate, key)
    members = st.multiselect(
        "Made of", list(offered), key=f"{key}.members", wrap=True, accept_new_options=True,
        format_func=with_display_names,
        help="Two or more; also feature:<id>. A member that is not trained yet is trained first.",
    )  # fmt: skip
    k = Fusion.k
    if way == "rrf":
        k = int(st.number_input("k", 0, 10_000, Fusion.k, key=f"{key}.k", help="Σ 1/(k + rank)"))
    if len(members) < 2:
        st.caption("Choose two or more rankers.")
        return None
    return RankerName.made_of(members, Fusion(str(way or "rrf"), k))


def _shuffled(offered: Sequence[str], aggregate: str, key: str) -> RankerName | None:
    following = [name for name in offered if follows_the_order(name)]
    member = st.selectbox(
        "Around", [*following, *(name for name in offered if name not in following)],
        key=f"{key}.member", format_func=with_display_names,
        help="Rankers that follow the order shown stand first.",
    )  # fmt: skip
    shuffles = int(
        st.number_input("Shuffles", 1, 1_000, ShuffleOptions.shuffles, key=f"{key}.shuffles")
    )
    if member is None:
        return None
    if member not in following:
        parts.note(f"{member} does not read the order shown: shuffling changes nothing.")
    return RankerName.made_of([str(member)], ShuffleOptions(shuffles, aggregate))


def _pairwise(offered: Sequence[str], key: str) -> RankerName | None:
    member = st.selectbox(
        "Preferences of", list(offered), key=f"{key}.function", format_func=with_display_names,
        help="Of a ranker that scores documents one by one they cannot contradict each other.",
    )  # fmt: skip
    aggregator = st.selectbox("Aggregator", ORDERS, key=f"{key}.aggregator")
    if member is None or aggregator is None:
        return None
    return RankerName.made_of([str(member)], Pairwise(aggregator))


def follows_the_order(name: str) -> bool:
    """Whether a ranker's answer depends on the order in which documents are shown.

    >>> follows_the_order("dlcm@small"), follows_the_order("setrank-imsab")
    (True, False)
    """
    ranker = RankerName.of(name).base
    return ranker in registry.RANKERS and "order" in registry.RANKERS[ranker].reads


def cost(combination: RankerName) -> str:
    """What one answer of it costs, beside the training of its members.

    >>> cost(RankerName.parse("shuffled:dlcm"))
    '16 scorings of every list for one answer, instead of 1'
    """
    if isinstance(combination.options, ShuffleOptions):
        times = combination.options.shuffles
        plural = "s" if times != 1 else ""
        return f"{times} scoring{plural} of every list for one answer, instead of 1"
    if isinstance(combination.options, Pairwise):
        return "the preferences of every two documents of a list for one answer"
    return f"{len(combination.parts)} scorings of every list for one answer, one a member"
