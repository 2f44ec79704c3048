"""Below the map: the curves of one family, its queries, and the catalogue of all families."""

from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import disturbed
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.figures import initial_ranking as curves
from shuffleproof.app.figures.perturbations import fitted_axis
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import parts
from shuffleproof.app.study import perturbed_queries as queries
from shuffleproof.core.perturb.registry import PERTURBATIONS, attacked
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.perturbations import sections as perturbations_notes
from shuffleproof.core.studies.kinds.perturbations.sections import headed
from shuffleproof.core.studies.tables import inferred

MAP, CURVES = "losses", "curves"


def take_cell() -> None:
    """A click on the map chooses its ranker and family."""
    facts = parts.clicked(MAP)
    if facts:
        st.session_state["point"], st.session_state["family"] = str(facts[0]), str(facts[1])


def _take_point() -> None:
    """A click on a curve chooses its ranker and level."""
    facts = parts.clicked(CURVES)
    if facts:
        st.session_state["point"], st.session_state["at"] = str(facts[0]), float(facts[1])


@st.fragment
def section(
    artefact: Artefact, rankers: tuple[str, ...], losses: pd.DataFrame, measure: str
) -> None:
    """Draw the curves of a family, and the queries of a ranker under it.

    Args:
        artefact: the study.
        rankers: those shown.
        losses: theirs, as `core.studies.kinds.perturbations.sections.losses` gives them.
        measure: that is lost.
    """
    families = list(disturbed.families(artefact.recipe))
    st.subheader("One family, level by level", anchor=False)
    left, right = st.columns(2)
    family = left.selectbox(
        "Family", families, key="family", bind="query-params",
        help="Or click a cell of the map.",
    )  # fmt: skip
    ranker = right.selectbox(
        "Queries of", rankers, index=None, key="point", bind="query-params",
        placeholder="Click a cell or a point, or choose",
    )  # fmt: skip
    family = family if family in families else families[0]
    entry = disturbed.entry(family)
    if entry is not None:
        words = f"{entry.summary} Level: {entry.unit}. From: {entry.source}."
        st.caption(escaped(f"{words} {disturbed.short_of(artefact, [family])}"))
    summary = disturbed.summary(str(artefact.key), family, measure)
    _curves(str(artefact.key), summary[summary["ranker"].isin(rankers)], family, measure)
    if attacked(family):
        _transfer(losses, measure)
    if ranker is None:
        if summary.empty:
            st.info(escaped(disturbed.left_out(artefact, [family])))
        return
    if (ranker, family) in disturbed.no_values(artefact):
        st.info(escaped(disturbed.left_out(artefact, [family])))
        return
    queries.section(artefact, str(ranker), family, measure)


def _curves(key: str, summary: pd.DataFrame, family: str, measure: str) -> None:
    levels = set(summary["level"])
    if not levels:
        return
    if len(levels) < 2:
        st.caption("This family stands at one level alone: there is no curve.")
        return
    st.plotly_chart(
        _curved(summary, family, measure, (key, *dict.fromkeys(summary["ranker"]))), key=CURVES,
        alt=curves.alt_text(summary, family, measure), on_select=_take_point,
        selection_mode="points", config=parts.CLICKABLE,
    )  # fmt: skip


@st.cache_resource(max_entries=64, show_spinner=False)
def _curved(_summary: pd.DataFrame, family: str, measure: str, identity: tuple[str, ...]) -> Any:
    """The figure; shared between sessions and never changed."""
    del identity  # the memory's key: study and rankers
    unit = disturbed.unit(family)
    return fitted_axis(curves.curves(_summary, family, measure, unit), f"{family}: {unit}")


def _transfer(losses: pd.DataFrame, measure: str) -> None:
    """Whom the attacks reach: a row a network attacked, a column a ranker that was hit."""
    table = perturbations_notes.transfer_table(losses, measure)
    st.markdown(f"**{escaped(table.title)}**")
    data_frame(table, "transfer")
    wide = perturbations_notes.transfer(losses)
    said = perturbations_notes.transferred(wide, measure)
    st.caption(escaped(f"At the last level of each attack. {said}"))


def catalogue() -> None:
    """Draw all families of the registry by what they change, one line each."""
    with st.expander("Everything that can happen to an input", icon=":material/menu_book:"):
        for heading, families in headed(PERTURBATIONS).items():
            st.markdown(f"**{heading}**")
            frame = pd.DataFrame(
                {
                    "family": families,
                    "what happens": [PERTURBATIONS[name].summary for name in families],
                    "level": [PERTURBATIONS[name].unit for name in families],
                    "levels": [
                        ", ".join(f"{level:g}" for level in PERTURBATIONS[name].default_levels)
                        for name in families
                    ],
                }
            )
            table = inferred(frame, f"Families that change: {heading}")
            data_frame(table, f"catalogue {heading}")
        st.caption(
            "Families can be chained, one on what the other left: transpositions:5+shuffle-shown. "
            "gradient-sign@RANKER attacks one network; the others are hit too. "
            "label-flips@0.9_0.1/0.2_0.8 flips labels by a matrix, a row a grade. What is no input "
            "(labels, seeds, precision, batches, threads) is studied one by one."
        )
