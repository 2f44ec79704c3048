"""Greyed result on the sample, for data without a study of the kind."""

from collections.abc import Callable

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from shuffleproof.app import pictures, services, state, study_access
from shuffleproof.app.study import parts
from shuffleproof.app.study.picture import chart
from shuffleproof.core.data.catalogue import SAMPLE
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.registry import study_kind
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import Headline, Picture, View

STILL = {"staticPlot": True}
"""Plotly's configuration of a figure without interaction."""


def shipped_study(kind: str) -> Artefact | None:
    """Shipped study of a kind on the sample, or None."""
    home = services.store().root
    of_kind = (study for study in services.artefacts("study") if study.recipe["kind"] == kind)
    return next((study for study in of_kind if not study.path.is_relative_to(home)), None)


def headline(result: StudyResult) -> Headline:
    """Headline of a study of any kind."""
    return study_kind(result.recipe).sections_module().headline(result, View())


def picture(result: StudyResult) -> Picture | None:
    """First picture of a study, or None."""
    sections = study_kind(result.recipe).sections_module().sections(result, View())
    return next((section.complete for section in sections if isinstance(section, Picture)), None)


def draw_sample(kind: str, instead: Callable[[], None] = lambda: None) -> DeltaGenerator:
    """Draw the sample's result of a kind; return the place next to it.

    Without such a result, or with the sample in use, the place has the page's full width.

    Args:
        kind: kind of study.
        instead: draws a replacement, for a kind without a picture.
    """
    artefact = None if state.data() == SAMPLE else shipped_study(kind)
    if artefact is None:
        return st.container()
    left, right = st.columns([5, 3], gap="medium")
    key = str(artefact.key)
    with left:
        st.markdown(":gray-badge[Example: the result on the sample. Yours will appear here.]")
        parts.headline(study_access.compute(key, headline))
        shown = study_access.compute(key, picture)
    if shown is None:
        with left:
            instead()
    else:
        place = left.container(key="of_the_sample")
        chart(pictures.draw(shown), "example", place=place, config=STILL)
    return right
