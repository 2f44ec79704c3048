"""The page of a kind of study that has none of its own: what its sections say, and a form.

Nothing of it knows a kind: words, picture and tables come from the kind's sections, the form from
its question.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from shuffleproof.app import pictures, study_access
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.plain import escaped_sentence
from shuffleproof.app.study import choice, job_panel, parts, sample_result, trial_cost
from shuffleproof.app.study import form as shell
from shuffleproof.app.study.form import Form, FormState
from shuffleproof.app.study.picture import chart
from shuffleproof.core.parameters import parameters
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import methods
from shuffleproof.core.studies.registry import EVERY, STUDIES
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import (
    Convention,
    Details,
    Finding,
    Heading,
    Picture,
    Section,
    View,
)
from shuffleproof.core.studies.tables import Table
from shuffleproof.core.words import counted, listed


@dataclass(frozen=True)
class PlainPage:
    """What draws the page, called without arguments: see `navigation.Page.plain`.

    Attributes:
        kind: of study; each of its fields is one that a form draws by itself.
        title: of the page.
        noun: what the page calls a study of the kind.
    """

    kind: str
    title: str
    noun: str

    @property
    def form(self) -> Form:
        """The rankers in a row, all other fields in the next."""
        names = [declared.name for declared in parameters(STUDIES[self.kind])]
        rankers = [name for name in names if name == "rankers"]
        others = [name for name in names if name != "rankers"]
        return Form(
            job_panel.Panel(self.kind, self.noun, partial_picture),
            f"Run a {self.noun}",
            "Run this study",
            rows=[row for row in (rankers, others) if row],
            cost=cost,
        )

    def __call__(self) -> None:
        """Draw a stored study of the data set in use, and the form."""
        shell.page(
            self.form,
            self.title,
            study,
            missing=f"No {self.noun} is stored for {{data}} yet.",
            remedy="Choose rankers below and start one; rankers that are not trained yet are "
            "trained first.",
        )


def short_words(artefact: Artefact) -> str:
    """What tells a stored study from others in a narrow place."""
    return study_access.dated_name(artefact, listed(methods.rankers_of(artefact.recipe)))


def words(artefact: Artefact) -> str:
    """A stored study in a line: its queries, and its other numbers as they were asked."""
    recipe, queries = artefact.recipe, counted(artefact.facts["queries"], "query")
    numeric = (
        declared for declared in parameters(EVERY[recipe["kind"]]) if declared.type in {int, float}
    )
    numbers = [
        f"{declared.name} {recipe[declared.name]:g}"
        for declared in numeric
        if declared.name in recipe
    ]
    return " · ".join([queries, *numbers])


@st.fragment
def study(stored: Mapping[str, Artefact]) -> None:
    """Draw one of the stored studies: the answer, its picture, then the rest in its order."""
    top = choice.draw_top_row(stored, short_words, words)
    artefact, key = top.artefact, str(top.artefact.key)
    top.says()
    sections = study_access.compute(key, sections_of)
    drawings = [section for section in sections if isinstance(section, Picture)]
    findings = [
        section.text for section in sections if isinstance(section, Finding) and section.text
    ]
    tables = [section for section in sections if isinstance(section, Table)]
    figures = [pictures.draw(section) for section in drawings]
    with top.picture:
        if figures:
            chart(*figures[0], "picture 0", config=parts.PLAIN)
        if findings:
            with parts.in_words():
                for text in findings:
                    parts.finding(text)
        for section in sections:
            if isinstance(section, Convention) and section.text:
                parts.convention(section.text)
    for at, section in enumerate(sections):
        _section(section, f"section {at}")
    for at, (figure, alt) in enumerate(figures[1:], 1):
        chart(figure, alt, f"picture {at}", config=parts.PLAIN)
    if tables:
        choice.export_row(artefact, figures[0][0] if figures else None, tables[0])


def sections_of(result: StudyResult) -> list[Section]:
    """What a study says, with the facts of its pictures."""
    sections = EVERY[result.recipe["kind"]].telling().sections(result, View())
    return [section.complete if isinstance(section, Picture) else section for section in sections]


def _section(section: Section, key: str) -> None:
    """Draw a section below the first picture; what stands beside that is drawn already."""
    if isinstance(section, Table):
        place = parts.fold(section.title, key) if section.folded else st
        if place is not None:
            place.markdown(f"**{escaped_sentence(section.title)}**")
            data_frame(section, f"{key} table", place)
            for note in section.notes:
                parts.note(note, place)
    elif isinstance(section, Details):
        with st.expander(escaped_sentence(section.title)):
            st.markdown("  \n".join(map(escaped_sentence, section.lines)))
    elif isinstance(section, Heading):
        st.subheader(escaped_sentence(section.text), anchor=False)
    elif not isinstance(section, Picture | Finding | Convention) and section.text:
        parts.note(section.text)


@job_panel.picture_so_far
def partial_picture(result: StudyResult) -> tuple[Picture | None, str]:
    """The first picture of what is there."""
    return sample_result.picture(result), f"{counted(len(result.trials), 'trial')} so far."


def cost(filled: FormState) -> str:
    """What the button will cost: whom it asks, and the trainings first."""
    rankers: Any = getattr(filled.question, "rankers", ())
    return f"Scores {counted(len(rankers), 'ranker')}{trial_cost.trainings(filled)}"
