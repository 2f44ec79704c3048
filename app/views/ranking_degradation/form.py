"""Running a study of Figure 3: its form and cost, and its first results."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from shuffleproof.app import curves, services
from shuffleproof.app.figures import initial_ranking as figure
from shuffleproof.app.study import families, trial_cost
from shuffleproof.app.study.form import Form
from shuffleproof.app.study.job_panel import Panel
from shuffleproof.core.parameters import Parameter
from shuffleproof.core.perturb.registry import PERTURBATIONS
from shuffleproof.core.studies.running import RunningStudy
from shuffleproof.core.studies.study import pairs_of
from shuffleproof.core.words import counted

DISTURBING = [name for name, entry in PERTURBATIONS.items() if "ranking" in entry.changes]
FIRST = ["transpositions"]


def first(found: RunningStudy) -> None:
    """Draw the curves that are there."""
    result = found.result(services.store())
    if result is None:
        return
    summary = result.summary()
    family, measure = summary.family.iloc[-1], summary.measure.iloc[0]
    st.plotly_chart(
        figure.curves(summary, family, measure, curves.unit(family)),
        key="first results",
        alt=figure.alt_text(summary, family, measure),
    )
    st.caption(f"First results: {counted(len(result.trials), 'trial')} so far.")


def disturbed(declared: Parameter, now: Any) -> Any:
    """Draw the families and their levels; what reads the pairs."""
    before = [name for name in families.of_pairs(now) if name in DISTURBING]
    return families.levels(declared, families.choice(DISTURBING, before))


def usual(_data: str) -> Mapping[str, Any]:
    """The paper's family at its own levels, under the measure that the page was asked for."""
    measure = st.session_state.get("wanted measure", "NDCG@10")
    return {"perturbations": pairs_of(FIRST), "measures": (measure,)}


FORM = Form(
    Panel(curves.KIND, "study", first),
    "Run a study",
    "Run this study",
    rows=(("rankers",), ("perturbations",), ("draws", "measures")),
    cost=lambda asked: trial_cost.trials(asked, asked.question.perturbations),
    kept=("perturbations",),
    usual=usual,
    widgets={"perturbations": disturbed},
)
