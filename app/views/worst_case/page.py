"""The page of the worst case: how much worse than chance can an order within a budget be?"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import streamlit as st

from shuffleproof.app import disturbed
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.figures import worst_case as figure
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import choice, parts
from shuffleproof.app.study import page as shell
from shuffleproof.app.views.worst_case import queries
from shuffleproof.app.views.worst_case.form import FORM
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.worst_case.sections import finding, told
from shuffleproof.core.studies.tables import Table
from shuffleproof.core.words import counted, number


@dataclass(frozen=True)
class Chosen:
    """What is drawn of a stored study.

    Attributes:
        artefact: the study.
        rankers: in the study's order.
    """

    artefact: Artefact
    rankers: tuple[str, ...]

    @property
    def key(self) -> str:
        """The study's key."""
        return str(self.artefact.key)

    @property
    def measure(self) -> str:
        """What was hurt; a search has no other."""
        return str(self.artefact.recipe["measure"])

    @property
    def unit(self) -> str:
        """What the budget counts."""
        return str(self.artefact.recipe["search"]["unit"])

    @cached_property
    def table(self) -> Table:
        """A row a ranker and budget."""
        frame = disturbed.worst(self.key)
        return told(frame[frame["ranker"].isin(self.rankers)], self.unit)


def page() -> None:
    """Draw a stored study of the data set in use: picture, finding, numbers, then queries."""
    shell.page(
        FORM,
        "Worst case",
        _study,
        missing="No search for the worst case is stored for {data} yet.",
        remedy="Choose rankers and a budget below and start one.",
    )


@st.fragment
def _study(stored: Mapping[str, Artefact]) -> None:
    top = choice.top(stored, disturbed.short_words, disturbed.words)
    artefact = top.artefact
    with top.controls:
        labels = disturbed.rankers(artefact.recipe)
        rankers = choice.rankers(labels, top.notices, str(artefact.key))
    if not rankers:
        top.picture.info("Choose at least one ranker.")
        return
    chosen = Chosen(artefact, rankers)
    with top.picture:
        drawn = _picture(chosen)
        parts.finding(finding(chosen.table.frame, chosen.measure, chosen.unit))
        _convention(chosen)
    st.subheader("Random mean against worst found", anchor=False)
    data_frame(chosen.table, "numbers")
    _certificates(chosen)
    queries.section(artefact, rankers)
    choice.export_row(artefact, drawn, chosen.table)


def _picture(chosen: Chosen) -> Any:
    drawn = _drawn(chosen, (chosen.key, chosen.rankers))
    words = figure.alt_text(chosen.table.frame, chosen.measure, chosen.unit)
    st.plotly_chart(
        drawn, key=queries.CHART, on_select=queries.take_point, selection_mode="points", alt=words,
        config=parts.CLICKABLE,
    )  # fmt: skip
    return drawn


@st.cache_resource(max_entries=64, show_spinner=False)
def _drawn(_chosen: Chosen, identity: tuple[Any, ...]) -> Any:
    """The figure; shared between sessions and never changed (files are made from copies)."""
    del identity  # the memory's key: `_chosen` in values that can be compared
    return figure.damages(_chosen.table.frame, _chosen.measure, _chosen.unit)


def _convention(chosen: Chosen) -> None:
    recipe, facts = chosen.artefact.recipe, chosen.artefact.facts
    parts.convention(
        Measure.parse(chosen.measure).convention(),
        f"N = {counted(facts['queries'], 'query')}",
        f"{counted(recipe['draws'], 'random order')} a budget",
        "95 % intervals over queries",
    )
    st.caption(
        escaped(
            f"Strong: the worst order that a {recipe['search']['method']} search found. Thin and "
            "dotted: the mean of random orders of the same budget. A search finds a bound from "
            "below: something worse may exist. Its measure cannot be changed afterwards, since it "
            "decided what was looked for."
        )
    )


def _certificates(chosen: Chosen) -> None:
    """Which rankers need no search, and what was searched of the others."""
    facts = chosen.artefact.facts
    place = st.expander("What was searched, and what is proven", icon=":material/verified:")
    for ranker in chosen.rankers:
        proof = facts["certificates"].get(ranker, {})
        effort = facts["effort"].get(ranker, {})
        if proof.get("proven"):
            said = (
                f"{ranker}: certified 0. It reads nothing of the "
                f"{disturbed.TARGETS[chosen.artefact.recipe['target']]}; "
                f"{proof['permutations']} lists were really permuted and scored, the largest "
                f"deviation was {_tiny(proof['deviation'])}."
            )
        else:
            said = (
                f"{ranker}: {effort.get('evaluated', 0):,} orders of single lists were scored in "
                f"{effort.get('seconds', 0.0):.1f} s."
            )
        place.caption(escaped(said))


def _tiny(deviation: float) -> str:
    return number(deviation, ".1e") if deviation else "0"
