"""Below the curves: the map of N0 and N1, the drops in numbers, the claim."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import set_sizes
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.figures import set_size_map
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import parts
from shuffleproof.app.views.set_size import queries
from shuffleproof.app.views.set_size.chosen import Chosen
from shuffleproof.core.studies.claims import STEPS
from shuffleproof.core.studies.kinds.set_size.sections import CURVES, DROPS
from shuffleproof.core.studies.tables import Table

MAP = "map"
SHOWN = {
    "quality": "Measure",
    "shift": "Δ against N0 = N1",
    "order": "Order kept (τ)",
    "scores": "Scores shifted",
}
EXPLAINED = {
    "quality": "The mean on lists of N1. It mixes the candidates that are there with the model's "
    "own shift: the ceiling and the initial ranking in the picture above say the first.",
    "shift": "The mean minus that of the same ranker trained on lists of N1: the shift of the "
    "model alone, since both see the same candidates. Empty where nothing was trained on N1.",
    "order": "Kendall's τ-b between the orders of the documents that a list of N1 shares with the "
    "list of N0. 1: another size changes no order, as for every ranker of single documents.",
    "scores": "How far the scores of the shared documents moved against each other, in standard "
    "deviations of them.",
}


def section(chosen: Chosen) -> None:
    """Draw everything between the finding and what can be taken away."""
    if len(chosen.points):
        _map(chosen)
        queries.section(chosen)
    _drops(chosen)
    _claim(chosen)
    place = parts.folded("Every number of the picture and the map", "every number")
    if place is not None:
        frame = set_sizes.curves(chosen.key, str(chosen.measure))
        data_frame(Table(frame, CURVES, "Means by ranker, N0 and N1"), "numbers", place)


def _map(chosen: Chosen) -> None:
    st.subheader("Every size trained on, every size tested on")
    shown = st.segmented_control(
        "Cells show", list(SHOWN), default="quality", required=True, key="cells",
        format_func=SHOWN.__getitem__, bind="query-params",
    )  # fmt: skip
    name = str(shown or "quality")
    measure = str(chosen.measure)
    st.plotly_chart(
        _drawn(chosen, name, (chosen.key, measure, chosen.rankers)),
        key=MAP,
        alt=set_size_map.alt_text(chosen.points, name, measure),
        on_select=_take_cell,
        selection_mode="points",
        config=parts.CLICKABLE,
    )
    st.caption(f"{EXPLAINED[name]} Click a cell for its queries.")


@st.cache_resource(max_entries=128, show_spinner=False)
def _drawn(_chosen: Chosen, shown: str, identity: tuple[Any, ...]) -> Any:
    """The figure; shared between sessions and never changed."""
    del identity  # the memory's key: `_chosen` in values that can be compared
    return set_size_map.sizes(_chosen.points, shown)


def _take_cell() -> None:
    take(MAP)


def take(chart: str) -> None:
    """A click on a point of a chart chooses the cell whose queries are shown."""
    facts = parts.clicked(chart)
    if facts:
        st.session_state[queries.CELL] = "|".join(str(one) for one in facts[:3])


def _drops(chosen: Chosen) -> None:
    frame = set_sizes.drops(chosen.key, str(chosen.measure))
    if frame.empty:
        return
    st.subheader("Who loses what")
    title = f"Loss of {chosen.measure} between the smallest and the largest lists"
    data_frame(Table(frame, DROPS, title), "drops")
    parts.convention(
        "A negative loss is a gain: longer lists also hold more relevant documents",
        f"N = {chosen.artefact.facts['queries']} queries",
    )


def _claim(chosen: Chosen) -> None:
    found: Mapping[str, Any] = set_sizes.claim(chosen.key, str(chosen.measure))
    if not found:
        return
    st.subheader("The paper's claim, step by step")
    title = "The two steps of the paper's claim with intervals and p"
    data_frame(Table(pd.DataFrame(found["steps"]), STEPS, title), "steps")
    st.caption(escaped(f"{found['claim']} (SetRank, Table 3): {found['verdict']} here."))
