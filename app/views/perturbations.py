"""The page of perturbations: rankers × perturbations, curves of one, single queries."""

from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import rescoring, study_access
from shuffleproof.app.figures import initial_ranking as curves
from shuffleproof.app.figures import perturbations as figure
from shuffleproof.app.study import form, parts
from shuffleproof.app.study.form import Form
from shuffleproof.app.study.page import StudyPage, StudyView
from shuffleproof.app.study.per_query import PerQuery, unchanged_lists
from shuffleproof.app.study.picture import cached_figure, chart, chooses
from shuffleproof.core.parameters import Parameter
from shuffleproof.core.perturb.levels import pairs_of
from shuffleproof.core.perturb.registry import PERTURBATIONS
from shuffleproof.core.rankers.name import with_display_names
from shuffleproof.core.studies.kinds.perturbations import sections
from shuffleproof.core.studies.kinds.perturbations.question import Perturbations
from shuffleproof.core.studies.paired_differences import loss_in
from shuffleproof.core.studies.result import stored_summary
from shuffleproof.core.studies.sections import LOSS, MEAN

FIRST = ("shuffle-shown", "transpositions", "sample", "distractors", "feature-noise")
"""Perturbations of a first study: one of each kind that needs no training."""

VIEWS = {LOSS: "Loss", MEAN: "Mean"}


def one_family(shown: StudyView) -> str:
    """Draw the curves of one perturbation, level by level; return its name."""
    known = list(rescoring.families(shown.artefact.recipe))
    st.subheader("One perturbation, level by level", anchor=False)
    left, right = st.columns(2)
    family = parts.select(
        "Perturbation", "family", known, known[0], place=left, format_func=with_display_names
    )
    measure = shown.measure
    what = parts.segments("Vertical axis", "axis", VIEWS, place=right)
    if entry := rescoring.entry(family):
        words = f"{entry.summary} Level: {entry.unit}. From: {entry.source}."
        parts.note(f"{words} {sections.short_of(shown.artefact.facts, [family])}")
    frame = points(shown.key, family, measure, what)
    frame = frame[frame["ranker"].isin(shown.view.rankers)]
    axis = loss_in(measure) if what == LOSS else measure
    if len(set(frame["level"])) < 2:
        omitted = sections.omission_text(shown.artefact.facts, [family])
        parts.note(omitted or "One level: there is no curve.")
    else:
        chart(cached_figure(_curved, frame, family, axis), "curves", chooses(point=str, at=float))
    return family


@st.cache_data(max_entries=128, show_spinner=False)
def points(key: str, family: str, measure: str, what: str) -> pd.DataFrame:
    """Means or losses of one family with intervals; uses stored summaries where they exist."""
    stored = stored_summary(study_access.path(key))
    rows = stored[(stored["family"] == family) & (stored["measure"] == measure)]
    result = study_access.result(key)
    rows = rows if len(rows) else sections.of_family(result, family).summary([measure])
    rows = rows.reset_index(drop=True)
    if what == MEAN or rows.empty:
        return rows
    return sections.losses_of(result, rows, measure)


def _curved(summary: pd.DataFrame, family: str, measure: str) -> Any:
    unit = rescoring.unit(family)
    return figure.fitted_axis(curves.curves(summary, family, measure, unit), f"{family}: {unit}")


def family_fields(declared: Parameter, now: Any) -> Any:
    """Draw the families and their levels; return a reader of the (family, level) pairs."""
    known = form.families_of(now)
    return form.family_levels(declared, form.family_choice(PERTURBATIONS, known, chains=True))


FORM = Form(
    Perturbations.kind,
    rows=(("rankers",), ("perturbations",), ("draws",)),
    from_shown=("perturbations",),
    usual=lambda _data: {"perturbations": pairs_of(FIRST)},
    widgets={"perturbations": family_fields},
)
PAGE = StudyPage(
    "Perturbations",
    FORM,
    clicks={"point": str, "family": str},
    per_query=PerQuery(unchanged_lists, rescoring.perturbed_scores),
    more=one_family,
)
page = PAGE.draw
