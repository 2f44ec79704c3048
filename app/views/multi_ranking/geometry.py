"""What a trained SetRank has learnt of ranks: the geometry of its ordinal embeddings."""

from typing import Any

import streamlit as st

from shuffleproof.app import rankings
from shuffleproof.app.figures import initial_rankings_geometry as figure
from shuffleproof.app.plain import escaped
from shuffleproof.app.rankings import Learnt
from shuffleproof.app.study import parts
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.rankers.neural import ordinal_geometry
from shuffleproof.core.rankers.neural.ordinal_geometry import OrdinalGeometry

RANKS = 40


@st.fragment
def section(data: str, study: str | None, depth: int | None) -> None:
    """Draw the geometry of a ranker to be chosen; nothing where none with ordinals is trained.

    Args:
        data: the data set in use.
        study: the study shown, whose rankers come first.
        depth: how many ranks its lists have; ranks beyond were never trained.
    """
    found = {ranker.key: ranker for ranker in rankings.learnt(data, study)}
    if not found:
        return
    st.subheader("What was learnt of ranks")
    left, right = st.columns(2)
    key = left.selectbox(
        "Trained ranker", list(found), format_func=lambda key: found[key].label, key="learnt",
        bind="query-params", help="Every SetRank with ordinal embeddings of this data set.",
    )  # fmt: skip
    try:
        tables = rankings.geometry(str(key), depth or RANKS)
        names = rankings.tables(str(key))
    except ShuffleproofError as error:
        st.warning(escaped(str(error)), icon=":material/info:")
        return
    at = 0
    if len(tables) > 1:
        labels = [names[one] if one < len(names) else f"{one + 1}" for one in range(len(tables))]
        chosen = right.selectbox("Of the initial ranking", labels, key="table", bind="query-params")
        at = labels.index(chosen) if chosen in labels else 0
    _drawn(found[str(key)], tables[at], (str(key), depth, at))


def _drawn(ranker: Learnt, found: OrdinalGeometry, identity: tuple[Any, ...]) -> None:
    words = ordinal_geometry.words(found)
    for column, (title, picture) in zip(st.columns(3), _pictures(found, identity), strict=True):
        with column:
            st.caption(title)
            st.plotly_chart(
                picture, key=f"geometry {title}", alt=f"{title}. {words}", config=parts.PLAIN
            )
    st.markdown(escaped(f"{ranker.label}. {words}"))
    st.caption(
        "Where ranks mean something to the ranker, neighbours are alike and the path bends "
        "steadily; ranks that training never reached are as they were drawn."
    )


@st.cache_resource(max_entries=64, show_spinner=False)
def _pictures(_found: OrdinalGeometry, identity: tuple[Any, ...]) -> list[tuple[str, Any]]:
    """The figures under their titles; shared between sessions and never changed."""
    del identity  # the memory's key: ranker, depth and which of its initial rankings
    return [
        ("Cosine between ranks", figure.similarity(_found.similarity)),
        ("Length by rank", figure.lengths(_found.lengths)),
        ("Path through the two main components", figure.path(_found.plane, _found.explained)),
    ]
