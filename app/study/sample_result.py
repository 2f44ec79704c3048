"""Greyed result on the sample, for data without a study of the kind."""

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from shuffleproof.app import pictures, services, state, study_access
from shuffleproof.app.study import parts
from shuffleproof.app.study.picture import chart
from shuffleproof.core.answers.trained_rankers import TrainedRanker
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


def headline(result: StudyResult, rankers: tuple[str, ...] = ()) -> Headline:
    """Headline of a study of any kind, on these rankers or all."""
    return study_kind(result.recipe).sections_module().headline(result, View(rankers=rankers))


def finding(study: Artefact, rankers: Sequence[TrainedRanker]) -> Headline:
    """Headline of a study on those of its rankers that are given."""
    digests = {ranker.digest for ranker in rankers}
    labels = tuple(label for label, digest in study.recipe["rankers"] if digest in digests)
    return study_access.compute(str(study.key), headline, labels)


def picture(result: StudyResult) -> Picture | None:
    """First picture of a study, or None."""
    sections = study_kind(result.recipe).sections_module().sections(result, View())
    return next((section.complete for section in sections if isinstance(section, Picture)), None)


def draw_sample(kind: str) -> DeltaGenerator:
    """Draw the sample's result of a kind; return the place next to it.

    Without such a result, or with the sample in use, the place has the page's full width.
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
    if shown is not None:
        place = left.container(key="of_the_sample")
        chart(pictures.draw(shown), "example", place=place, config=STILL)
    return right
