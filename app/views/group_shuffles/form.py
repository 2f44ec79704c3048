"""Running a study of GSF's shuffles: its form and cost, and its first points."""

import streamlit as st

from shuffleproof.app import groups, proposals, services
from shuffleproof.app.figures import gsf as figure
from shuffleproof.app.jobs import duration
from shuffleproof.app.proposals import Proposal
from shuffleproof.app.study import trial_cost
from shuffleproof.app.study.form import Asked, Form
from shuffleproof.app.study.job_panel import Panel
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.answers.trained import as_they_came
from shuffleproof.core.studies.kinds.group_shuffles.sections import table
from shuffleproof.core.studies.running import RunningStudy
from shuffleproof.core.words import counted

GSF = "gsf"


def first(found: RunningStudy) -> None:
    """Draw the points that are there."""
    result = found.result(services.store())
    if result is None:
        return
    frame = table(result)
    st.plotly_chart(figure.equivariance(frame), key="first points", alt=figure.alt_text(frame))
    st.caption(f"First results: {counted(len(frame), 'point')}.")


def proposed(data: str, shown: Artefact | None) -> Proposal:
    """The GSFs of the study shown once more; else the first trained here; else the cheapest."""
    if shown is not None:
        return proposals.for_study(data, shown)
    own = as_they_came(ranker for ranker in proposals.trained(data) if ranker.name == GSF)
    lists = proposals.for_study(data).lists
    if not own:
        return Proposal((proposals.cheapest(GSF),), lists)
    return Proposal((proposals.as_asked(own[0], data),), own[0].lists or lists)


def cost(asked: Asked) -> str:
    """What the button will cost: scorings of lists, seconds by the study shown."""
    question, shown = asked.question, asked.shown
    text = (
        f"Each list is scored in **{question.orders + 1} orders** with "
        f"{counted(len(question.shuffles), 'number')} of shuffles"
    )
    if shown is not None:
        passes = len(question.rankers) * sum(question.shuffles) * (question.orders + 1)
        frame = groups.table(str(shown.key))
        done = frame["shuffles"].sum() * (shown.recipe["orders"] + 1)
        seconds = passes * float(frame["seconds"].sum()) / max(int(done), 1)
        text += f", about **{duration(seconds)}** by the pace of the study shown"
    return text + trial_cost.trainings(asked)


FORM = Form(
    Panel(groups.KIND, "study of GSF's shuffles", first),
    "Ask with more shuffles",
    "Run this study",
    rows=(("rankers",), ("shuffles", "orders", "seed")),
    cost=cost,
    kept=("shuffles",),
    proposed=proposed,
    offered=lambda name: name == GSF,
    note="Only GSFs of groups of two documents or more.",
)
