"""Running a study of perturbations: families by what they change, cost, first cells."""

from typing import Any

import streamlit as st

from shuffleproof.app import services, training
from shuffleproof.app.figures import perturbations as figure
from shuffleproof.app.jobs import duration
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import families, trial_cost
from shuffleproof.app.study.form import Asked, Form
from shuffleproof.app.study.job_panel import Panel
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.parameters import Parameter
from shuffleproof.core.perturb.registry import PERTURBATIONS, entry_of
from shuffleproof.core.studies import cost
from shuffleproof.core.studies.kinds.perturbations import sections, study
from shuffleproof.core.studies.running import RunningStudy
from shuffleproof.core.studies.study import pairs_of
from shuffleproof.core.words import counted

FIRST = ("shuffle-shown", "transpositions", "sample", "distractors", "feature-noise")
"""What a first study asks: one family of each kind that takes no training."""


def first(found: RunningStudy) -> None:
    """Draw the cells that are there."""
    result = found.result(services.store())
    if result is None:
        return
    measure = str(found.recipe["measures"][0])
    cells = sections.condensed(sections.losses(result, measure), "last")
    st.plotly_chart(
        figure.losses(cells, sections.headed(cells["family"]), measure), key="first results",
        alt=figure.alt_text(cells, measure),
    )  # fmt: skip
    st.caption(f"First results: {counted(len(result.trials), 'trial')} so far.")


def disturbed(declared: Parameter, now: Any) -> Any:
    """Draw the families and their levels; what reads the pairs."""
    before = families.of_pairs(now)
    return families.levels(declared, families.choice(PERTURBATIONS, before, chains=True))


def costs(asked: Asked) -> str:
    """What the button will cost: trials, trainings of labels, rows and seeds, what is skipped."""
    pairs = asked.question.perturbations
    study.check(asked.question.rankers, families.of_pairs(pairs))
    skipped = sections.skipped(asked.question.rankers, families.of_pairs(pairs))
    text = trial_cost.trials(asked, pairs) + _retrained(asked)
    return f"{text}. Skipped: {escaped(skipped.rstrip('.'))}" if skipped else text


def _retrained(asked: Asked) -> str:
    """What families that train add: a training for every ranker, level and draw."""
    question = asked.question
    count = sum(
        entry_of(family).draws(level, question.draws)
        for family, level in question.perturbations
        if entry_of(family).retrains and level != entry_of(family).unchanged
    )
    if not count:
        return ""
    trained = counted(count * len(question.rankers), "training")
    text = f"; labels, rows and seeds train each ranker anew: **{trained}**"
    try:
        fitting, each = training.fitting(asked.data), []
        for name in question.rankers:
            plan = training.planned(fitting, asked.lists, name, asked.preset, {})
            each += [plan.cost] * count
    except ShuffleproofError:
        return text
    low, high = cost.added(each)
    return f"{text}, from **{duration(low)}** to **{duration(high)}**"


FORM = Form(
    Panel(study.KIND, "study of perturbations", first),
    "Run a study of perturbations",
    "Run this study",
    rows=(("rankers",), ("perturbations",), ("draws",)),
    cost=costs,
    kept=("perturbations",),
    usual=lambda _data: {"perturbations": pairs_of(FIRST)},
    widgets={"perturbations": disturbed},
)
