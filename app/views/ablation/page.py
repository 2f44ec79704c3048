"""The ablation page: where paper and released code part ways, and what each difference does."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import ablations, address, curves
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.figures import ablation as figure
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import benchmark_table as switches
from shuffleproof.app.study import choice, parts
from shuffleproof.app.study import page as shell
from shuffleproof.app.views.ablation import queries
from shuffleproof.app.views.ablation.form import FORM
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.ablation.sources import step_of
from shuffleproof.core.studies.kinds.ablation.study import BASE, COLUMNS
from shuffleproof.core.studies.tables import Table
from shuffleproof.core.words import counted

EFFECTS: dict[figure.Effect, str] = {
    "quality": "Quality", "robustness": "Robustness", "seconds": "Seconds", "parameters": "Size",
}  # fmt: skip


@dataclass(frozen=True)
class Chosen:
    """What is drawn of a stored ablation.

    Attributes:
        artefact: the study.
        measure: under the conventions chosen.
        effect: what the picture shows.
    """

    artefact: Artefact
    measure: Measure
    effect: figure.Effect

    @property
    def key(self) -> str:
        """The study's key."""
        return str(self.artefact.key)

    @cached_property
    def table(self) -> pd.DataFrame:
        """What every variant does."""
        return ablations.table(self.key, str(self.measure))


def page() -> None:
    """Draw a stored ablation of the data set in use: picture, finding, table, sources."""
    shell.page(
        FORM,
        "Ablation",
        _study,
        missing="No ablation on {data} is stored yet.",
        remedy="Press the button below: one ranker is trained as the paper says, as the released"
        " code does it, and with every single difference between them.",
    )


@st.fragment
def _study(stored: Mapping[str, Artefact]) -> None:
    top = choice.top(stored, ablations.short_words, ablations.words, ("Ablation", "ablations"))
    artefact = top.artefact
    with top.controls:
        effect = st.selectbox(
            "Effect on", list(EFFECTS), key="effect", bind="query-params",
            format_func=EFFECTS.__getitem__,
            help="Robustness: what is lost when the initial ranking is disturbed.",
        )  # fmt: skip
    with top.picture:
        drawing, said = st.container(), st.container()
        measure = _measure(artefact)
    chosen = Chosen(artefact, measure, effect or "quality")
    drawn = _picture(chosen, drawing)
    with said:
        parts.finding(ablations.finding(chosen.key, str(measure)))
    _table(chosen)
    _sources(chosen)
    queries.section(artefact, chosen.table, chosen.effect, str(measure))
    choice.export_row(artefact, drawn, _declared(chosen))


def _measure(artefact: Artefact) -> Measure:
    """The measure with its conventions, changeable where they stand."""
    offered = {str(one): one for one in curves.offered(artefact.recipe)}
    with st.container(horizontal=True, vertical_alignment="center", key="convention"):
        words = st.container(width="stretch")
        with st.popover("Measure and conventions", icon=":material/tune:"):
            address.one("measure", address.named(*offered), next(iter(offered)))
            name = st.selectbox("Measure", list(offered), key="measure")
            measure = switches.measures(artefact.recipe, offered)[name]
    with words:
        draws = artefact.recipe["draws"]
        parts.convention(
            measure.convention(), counted(artefact.facts["queries"], "query"),
            counted(draws, "draw"), "95 % intervals over queries", "one seed",
        )  # fmt: skip
    return measure


def _picture(chosen: Chosen, place: Any) -> Any:
    if len(chosen.table) < 2:
        place.info("Only one variant is stored: there is nothing to compare.")
        return figure.effects(chosen.table, chosen.effect, str(chosen.measure), step_of)
    drawn = _drawn(chosen, (chosen.key, str(chosen.measure), chosen.effect))
    place.plotly_chart(
        drawn,
        key="effects",
        alt=figure.alt_text(chosen.table, chosen.effect, str(chosen.measure)),
        config=parts.CLICKABLE,
    )
    words = "Diamonds: whole recipes; dots: single differences from the paper's."
    if chosen.effect in {"quality", "robustness"}:
        words += " Full: more than chance (p ≤ .05, Holm); arrows: beyond the axis."
    place.caption(words)
    return drawn


@st.cache_resource(max_entries=64, show_spinner=False)
def _drawn(_chosen: Chosen, identity: tuple[Any, ...]) -> Any:
    """The figure; shared between sessions and never changed (files are made from copies)."""
    del identity  # the memory's key: `_chosen` in values that can be compared
    return figure.effects(_chosen.table, _chosen.effect, str(_chosen.measure), step_of)


def _table(chosen: Chosen) -> None:
    st.subheader("Every variant")
    data_frame(_declared(chosen).without("source"), "variants")
    parts.convention(
        escaped(chosen.measure.convention()), "paired t, Holm over the variants",
        "a variant is trained once: differences between seeds are not in its interval",
    )  # fmt: skip


def _declared(chosen: Chosen) -> Table:
    title = f"Variants of {chosen.artefact.facts['ranker']} by effect on {chosen.measure}"
    return Table(chosen.table, COLUMNS, title)


def _sources(chosen: Chosen) -> None:
    """Each difference with the line that it comes from."""
    told = chosen.table[chosen.table["source"] != ""]
    if not len(told):
        return
    st.subheader("Where each difference comes from")
    lines = [
        f"- **{escaped(row['variant'].removeprefix(f'{BASE} + '))}** — {escaped(row['source'])}"
        for row in told.to_dict("records")
    ]
    st.markdown("\n".join(lines))
