"""Running a robustness card: its form and cost, and its first marks."""

from typing import Any

import streamlit as st

from shuffleproof.app import services
from shuffleproof.app.figures import card as figure
from shuffleproof.app.study import families, trial_cost
from shuffleproof.app.study.form import Asked, Form
from shuffleproof.app.study.job_panel import Panel
from shuffleproof.core.parameters import Parameter
from shuffleproof.core.perturb.registry import PERTURBATIONS
from shuffleproof.core.studies.kinds.card import study as card
from shuffleproof.core.studies.kinds.card import table as card_table
from shuffleproof.core.studies.running import RunningStudy
from shuffleproof.core.words import counted

OFFERED = [name for name, entry in PERTURBATIONS.items() if entry.changes <= card.ALLOWED]


def first(found: RunningStudy) -> None:
    """Draw the marks that are there."""
    result = found.result(services.store())
    if result is None:
        return
    family, measure = str(result.trials["family"].iloc[0]), str(found.recipe["measures"][0])
    frame = card_table.pareto(card_table.cards(result, family, measure))
    if frame["start"].notna().any():
        last = result.trials[result.trials["family"] == family]["level"].iloc[-1]
        st.plotly_chart(
            figure.pareto(frame, measure, f"{family} {last:g}"), key="first results",
            alt=figure.alt_text(frame, measure),
        )  # fmt: skip
    st.caption(f"First results: {counted(len(result.trials), 'trial')} so far.")


def disturbed(_declared: Parameter, now: Any) -> tuple[str, ...]:
    """Draw the families."""
    return tuple(families.choice(OFFERED, [name for name in now if name in OFFERED]))


def cost(asked: Asked) -> str:
    """What the button will cost, from what a trial took in the study shown."""
    pairs = []
    for family in asked.question.families:
        entry = PERTURBATIONS[family]
        pairs += [(family, level) for level in sorted({entry.unchanged, *entry.default_levels})]
    return trial_cost.trials(asked, pairs)


FORM = Form(
    Panel(card.KIND, "robustness card", first),
    "Run a robustness card",
    "Run this card",
    rows=(("rankers",), ("families", "draws")),
    cost=cost,
    kept=("families",),
    widgets={"families": disturbed},
)
