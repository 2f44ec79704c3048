"""The page of GSF's shuffles: how much the order shown changes it, and what more of them give."""

from collections.abc import Mapping

import streamlit as st

from shuffleproof.app import disturbed_lists, proposals
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.figures import group_shuffles as figure
from shuffleproof.app.proposals import Proposal
from shuffleproof.app.study import choice, job_panel, parts
from shuffleproof.app.study import form as shell
from shuffleproof.app.study.form import Form
from shuffleproof.app.study.picture import cached_figure, chart
from shuffleproof.app.study_access import compute, dated_name
from shuffleproof.core.answers.trained_rankers import as_they_came
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.group_shuffles import sections
from shuffleproof.core.studies.kinds.group_shuffles.question import GroupShuffles
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import Picture
from shuffleproof.core.studies.tables import Table
from shuffleproof.core.words import counted


def page() -> None:
    """Draw a stored study of the data set in use: picture, finding, table."""
    shell.page(
        FORM,
        "Group shuffles",
        _study,
        missing="No study of GSF's shuffles on {data} is stored yet.",
        remedy="Press the button below: a GSF is trained if need be, and asked with groups of "
        "more and more shuffles.",
    )


def short_words(artefact: Artefact) -> str:
    """What tells a stored study from others in a narrow place."""
    return dated_name(artefact, ", ".join(disturbed_lists.rankers(artefact.recipe)))


def words(artefact: Artefact) -> str:
    """A stored study in a line: how many queries, orders and shuffles."""
    recipe = artefact.recipe
    return (
        f"{counted(artefact.facts['queries'], 'query')} · "
        f"{counted(recipe['orders'], 'order')} shown · S = "
        f"{', '.join(map(str, recipe['shuffles']))} · lists by {', '.join(recipe['initial'])}"
    )


@st.fragment
def _study(stored: Mapping[str, Artefact]) -> None:
    top = choice.draw_top_row(stored, short_words, words)
    artefact, key = top.artefact, str(top.artefact.key)
    with top.controls:
        shown = choice.rankers(disturbed_lists.rankers(artefact.recipe), top.notices, key)
    if not shown:
        top.picture.info("Choose at least one ranker.")
        return
    top.says(rankers=shown)
    frame = compute(key, sections.table)
    frame = frame[frame["ranker"].isin(shown)]
    with top.picture:
        errors = cached_figure(figure.equivariance, frame)
        chart(errors, "error")
    with top.notes:
        alone = len(frame) and int(frame["lists"].max()) == 1
        intervals = "1 query, so no intervals" if alone else "95 % intervals over queries"
        parts.convention(sections.ERROR, intervals, "one training")
    st.subheader("Every way to form groups")
    ways = Table(frame, sections.COLUMNS, sections.TITLE)
    data_frame(ways, "ways")
    slopes = compute(key, sections.slopes)
    slopes = slopes[slopes["ranker"].isin(shown)]
    data_frame(Table(slopes, sections.SLOPES, sections.SLOPES_TITLE), "slopes")
    choice.export_row(artefact, errors, ways)


GSF = "gsf"


@job_panel.picture_so_far
def partial_picture(result: StudyResult) -> tuple[Picture, str]:
    """The points that are there."""
    frame = sections.table(result)
    return Picture("group shuffles", (frame,)), f"{counted(len(frame), 'point')}."


def proposed_values(data: str, shown: Artefact | None) -> Proposal:
    """The GSFs of the study shown once more; else the first trained here; else the cheapest."""
    if shown is not None:
        return proposals.for_study(data, shown)
    trained = as_they_came(
        ranker for ranker in proposals.trained_rankers(data) if ranker.name == GSF
    )
    lists = proposals.for_study(data).lists
    if not trained:
        return Proposal((proposals.cheapest(GSF),), lists)
    return Proposal((proposals.as_asked(trained[0]),), trained[0].lists or lists)


FORM = Form(
    job_panel.Panel(GroupShuffles.kind, "study of GSF's shuffles", partial_picture),
    "Score with more shuffles",
    "Run this study",
    rows=(("rankers",), ("shuffles", "orders", "seed")),
    from_shown=("shuffles",),
    proposed=proposed_values,
    offered=lambda name: name == GSF,
    note="Only GSFs of groups of two documents or more.",
)
