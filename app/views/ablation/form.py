"""Running an ablation: its form and cost, and its first variants."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import streamlit as st

from shuffleproof.app import ablations, proposals, services, training
from shuffleproof.app.figures import ablation as figure
from shuffleproof.app.jobs import duration
from shuffleproof.app.study.form import Asked, Form, to_train
from shuffleproof.app.study.job_panel import Panel
from shuffleproof.core.parameters import Parameter
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.fit_cache import ranker_key
from shuffleproof.core.rankers.neural.recipes import FIXED
from shuffleproof.core.studies import cost
from shuffleproof.core.studies.kinds.ablation import study
from shuffleproof.core.studies.kinds.ablation.sources import step_of
from shuffleproof.core.studies.kinds.ablation.study import PAPER, TOWARDS
from shuffleproof.core.studies.running import RunningStudy
from shuffleproof.core.words import counted

OWN = "each its own"
RANKERS = tuple(
    name for name in FIXED if {study.BASE, *TOWARDS} <= set(registry.RANKERS[name].presets)
)


def first(found: RunningStudy) -> None:
    """Draw the variants that are there."""
    result = found.result(services.store())
    if result is None:
        return
    table = study.table(result)
    if len(table) > 1:
        st.plotly_chart(
            figure.effects(table, "quality", study.MEASURE, step_of),
            key="first variants",
            alt=figure.alt_text(table, "quality", study.MEASURE),
        )
    total = len(found.recipe["rankers"])
    st.caption(f"First results: {len(table)} of {total} variants are trained and measured.")


def ranker(_declared: Parameter, now: str) -> str:
    """Draw the choice of a network."""
    at = RANKERS.index(now) if now in RANKERS else 0
    return str(
        st.selectbox(
            "Ranker", RANKERS, index=at, key="new.ranker",
            help="A network whose paper and released code differ.",
        )
    )  # fmt: skip


def sizes(_declared: Parameter, now: str | None) -> str | None:
    """Draw the choice of a preset whose sizes all variants take."""
    presets = [*training.PRESETS, OWN]
    found = st.selectbox(
        "Sizes", presets, index=presets.index(now) if now in presets else len(presets) - 1,
        key="new.sizes",
        help="Widths, depth, batches and epochs of this preset for all variants, so that the "
        "differences can be seen on a small machine; all else stays each variant's own.",
    )  # fmt: skip
    return None if found == OWN else str(found)


def towards(_declared: Parameter, now: tuple[str, ...]) -> tuple[str, ...]:
    """Draw the choice of recipes whose differences are taken one by one."""
    found = st.multiselect(
        "Differences towards", (*TOWARDS, PAPER), default=list(now), key="new.towards",
        help="Every step from the paper's recipe towards these, one at a time; claims: what "
        "DLCM's paper compares and no preset has (directions, cells, losses).",
    )  # fmt: skip
    return tuple(found)


def usual(_data: str) -> Mapping[str, Any]:
    """The sizes of a preset that is trained at once."""
    return {"sizes": proposals.for_training()[0]}


def costs(asked: Asked) -> str:
    """What the button will cost: trainings that are not stored yet, and their seconds.

    Raises:
        ShuffleproofError: the data set cannot be read.
    """
    question, lists = asked.question, asked.lists
    made = study.variants(question.ranker, question.sizes, question.towards, question.seed)
    fitting = training.fitting(asked.data)
    of, store = fitting.sizes(lists.depth), services.store()
    known = cost.measured(store)
    missing = [
        cost.estimate(one.spec, of, known)
        for one in made
        if store.find(ranker_key(one.spec, asdict(lists), *fitting.fingerprints[:2])) is None
    ]
    first = training.preparing(fitting, lists)
    low, high = cost.added(missing)
    low, high = (low + first.low, high + first.high) if first else (low, high)
    text = f"{counted(len(made), 'variant')}, **{counted(len(missing), 'training')}**"
    if len(missing) < len(made):
        text += f" ({len(made) - len(missing)} more are stored)"
    trials = len(made) * (1 + (len({0.0, *question.levels}) - 1) * question.draws)
    text += f", then {counted(trials, 'trial')}"
    if missing:
        text += f": from **{duration(low)}** to **{duration(high)}** of training on this machine"
    return text


FORM = Form(
    Panel(ablations.KIND, "ablation", first),
    "Run an ablation",
    "Run this ablation",
    rows=(("ranker", "sizes"), ("towards",), ("levels", "draws")),
    cost=costs,
    kept=("ranker",),
    usual=usual,
    proposed=to_train,
    widgets={"ranker": ranker, "sizes": sizes, "towards": towards},
)
