"""The page of Table 3: trained on lists of one size, tested on lists of another."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from shuffleproof.app import set_sizes
from shuffleproof.app.figures import set_size as figure
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import choice, parts
from shuffleproof.app.study import page as shell
from shuffleproof.app.study.measure_menu import choice as measure_choice
from shuffleproof.app.views.set_size import details
from shuffleproof.app.views.set_size.chosen import Chosen
from shuffleproof.app.views.set_size.form import FORM
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.set_size import sections as set_size_table
from shuffleproof.core.studies.kinds.set_size.sections import CURVES
from shuffleproof.core.studies.tables import Table

CHART = "sizes"


def page() -> None:
    """Draw a stored study of the data set in use: curves, finding, verdict, then details."""
    shell.page(
        FORM,
        "Set size",
        _study,
        missing="No study of the size of lists is stored for {data} yet.",
        remedy="Press the button below: rankers are trained on short lists and tested on longer "
        "ones.",
    )


@st.fragment
def _study(stored: Mapping[str, Artefact]) -> None:
    top = choice.top(stored, set_sizes.short_words, set_sizes.words)
    artefact = top.artefact
    with top.controls:
        home = _home(set_sizes.trained_on(artefact.recipe))
        labels = set_sizes.rankers(artefact.recipe)
        rankers = choice.rankers(labels, top.notices, str(artefact.key))
    with top.picture:
        drawing, said = st.container(), st.container()
        measure, from_zero = _measure(artefact)
    chosen = Chosen(artefact, measure, home, rankers)
    drawn = _picture(chosen, drawing, from_zero=from_zero)
    with said:
        _said(chosen)
    details.section(chosen)
    frame = set_sizes.curves(chosen.key, str(measure))
    table = Table(frame, CURVES, f"{measure} by ranker, N0 and N1")
    choice.export_row(artefact, drawn, table)


def _home(trained_on: list[int]) -> int | None:
    """The size trained on."""
    home: int | None = trained_on[0] if trained_on else None
    if len(trained_on) > 1:
        chosen = st.selectbox(
            "Trained on lists of (N0)", trained_on, key="home", bind="query-params",
            help="Which size the rankers of the picture were trained on; the map below has all.",
        )  # fmt: skip
        home = chosen if chosen in trained_on else trained_on[0]
    return home


def _measure(artefact: Artefact) -> tuple[Measure, bool]:
    """The measure with its conventions, changeable where they stand, and where the axis begins."""
    with st.container(horizontal=True, vertical_alignment="center", key="convention"):
        words = st.container(width="stretch")
        with st.popover("Measure and conventions", icon=":material/tune:"):
            measure = measure_choice(artefact.recipe)
            from_zero = st.toggle(
                "Vertical axis from 0", value=True, key="zero", bind="query-params"
            )
    with words:
        parts.convention(
            measure.convention(),
            f"N = {artefact.facts['queries']} queries",
            "95 % intervals over queries",
        )
    parts.convention(*_shorter(artefact))
    return measure, from_zero


def _shorter(artefact: Artefact) -> list[str]:
    """How many lists are shorter than a size, and who was left out."""
    short = set_size_table.shorter(artefact.facts) or "every list is as long as asked"
    return [escaped(short), *artefact.facts["left_out"]]


def _picture(chosen: Chosen, place: Any, *, from_zero: bool) -> Any:
    identity = (chosen.key, str(chosen.measure), chosen.home, chosen.rankers, from_zero)
    drawn = _drawn(chosen, from_zero, identity)
    place.plotly_chart(
        drawn,
        key=CHART,
        alt=figure.alt_text(chosen.drawn, str(chosen.measure)),
        on_select=_take,
        selection_mode="points",
        config=parts.CLICKABLE,
    )
    return drawn


@st.cache_resource(max_entries=128, show_spinner=False)
def _drawn(_chosen: Chosen, from_zero: bool, identity: tuple[Any, ...]) -> Any:  # noqa: FBT001 (part of the key)
    """The figure; shared between sessions and never changed (files are made from copies)."""
    del identity  # the memory's key: `_chosen` in values that can be compared
    return figure.curves(_chosen.drawn, str(_chosen.measure), _chosen.home, from_zero=from_zero)


def _take() -> None:
    """A click on a point chooses the cell whose queries are shown below."""
    details.take(CHART)


def _said(chosen: Chosen) -> None:
    found = set_sizes.sentences(chosen.key, str(chosen.measure))
    parts.finding(found.losses or found.candidates)
    if found.losses:
        st.markdown(escaped(found.candidates))
    if found.verdict:
        st.markdown(escaped(found.verdict))
    else:
        st.caption(
            "The paper's claim is about setrank-imsab, setrank-msab and dlcm-without-init, each "
            "trained on lists: with all three in a study, the verdict stands here."
        )
