"""Running a study of set size: its form and cost, and its first curves."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from shuffleproof.app import services, set_sizes, training
from shuffleproof.app.figures import set_size as figure
from shuffleproof.app.study import trainings
from shuffleproof.app.study.form import Asked, Form, to_train
from shuffleproof.app.study.job_panel import Panel
from shuffleproof.app.views.set_size.chosen import of_home
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.rankers import registry
from shuffleproof.core.studies.kinds.set_size import feasibility
from shuffleproof.core.studies.kinds.set_size import sections as set_size_table
from shuffleproof.core.studies.ranker_sets import expanded
from shuffleproof.core.studies.running import RunningStudy
from shuffleproof.core.words import counted

GIVEN = {registry.FEATURE, "random", "ideal"}


def first(found: RunningStudy) -> None:
    """Draw the curves that are there."""
    result = found.result(services.store())
    if result is None:
        return
    measure = str(found.recipe["measures"][0])
    trained_on = set_sizes.trained_on(found.recipe)
    home = trained_on[0] if trained_on else None
    frame = of_home(set_size_table.curves(result, measure), home)
    st.plotly_chart(
        figure.curves(frame, measure, home),
        key="first results",
        alt=figure.alt_text(frame, measure),
    )
    st.caption(f"First results: {len(result.trials)} trainings and scorings so far.")


def usual(data: str) -> Mapping[str, Any]:
    """The paper's sizes that test lists reach; where they are shorter, steps up to the longest."""
    try:
        sizes = feasibility.proposed(set_sizes.lengths(data))
    except ShuffleproofError:  # the data set is gone, its studies are not
        sizes = feasibility.SIZES
    return {"sizes": tuple(sizes), "trained_on": tuple(feasibility.train_sizes(sizes))}


def cost(asked: Asked) -> str:
    """What the button will cost: trainings that are not stored yet, and their seconds.

    Raises:
        ShuffleproofError: a data set that cannot be read, or a ranker that cannot be trained.
    """
    fitting, question, preset = training.fitting(asked.data), asked.question, asked.preset
    trained_on = feasibility.checked("trained on", list(question.trained_on))
    tested = feasibility.checked("sizes", list(question.sizes))
    plans = []
    for name, seeds in trainings.fitted(question.rankers, question.seeds):
        spec = registry.spec(name, preset)
        for size in [None] if spec.fits_documents else trained_on:
            for seed in range(seeds):
                changes = {"seed": str(seed)} if seeds > 1 else {}
                of_size = replace(asked.lists, depth=size)
                plans.append(training.planned(fitting, of_size, name, preset, changes))
    first = training.preparing(fitting, asked.lists)
    sizes = {*tested, *trained_on}
    text = f"{counted(len(expanded(question.rankers)), 'ranker')} on lists of "
    text += f"{', '.join(map(str, trained_on))}: {trainings.in_words(plans, first)}"
    text += f"; each is tested at {counted(len(sizes), 'size')}"
    longest = int(set_sizes.lengths(asked.data).max(initial=0))
    unreached = feasibility.beyond([size for size in sizes if size > longest])
    return ". ".join(filter(None, [text, unreached.rstrip(".")]))


FORM = Form(
    Panel(set_sizes.KIND, "study of set size", first),
    "Run a study of set size",
    "Run this study",
    rows=(("rankers",), ("trained_on", "sizes", "seeds")),
    cost=cost,
    kept=("rankers", "trained_on", "sizes"),
    usual=usual,
    proposed=to_train,
    trains=True,
    offered=lambda name: name not in GIVEN,
    note="The ceiling and the initial ranking always stand beside them; rankers with ordinal "
    "embeddings are not asked beyond their longest rank.",
    list_fields=("scores", "folds", "seed"),
)
