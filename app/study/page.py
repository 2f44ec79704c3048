"""The page of a kind of study, from its declaration.

Every page has the same parts in the same order: question, headline, picture, per-query results,
tables with their tests, export, form. Their content comes from the kind's `sections` in core.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import pandas as pd
import streamlit as st

from shuffleproof.app import pictures, services, state, study_access
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.plain import escaped_sentence
from shuffleproof.app.study import (
    choice,
    form,
    job_panel,
    lab_form,
    parts,
    per_query,
    sample_result,
)
from shuffleproof.app.study.form import Form
from shuffleproof.app.study.per_query import PerQuery
from shuffleproof.app.study.picture import cached_figure, chart, chooses
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.rankers.name import INITIAL
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import sections as told
from shuffleproof.core.studies.listless.question import ListlessQuestion
from shuffleproof.core.studies.registry import study_kind
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import Picture, Section, View
from shuffleproof.core.studies.tables import Table
from shuffleproof.core.words import counted


@dataclass(frozen=True)
class StudyView:
    """The study that a page shows, with the choices made there.

    Attributes:
        artefact: the study.
        view: chosen measure, rankers, family and tests.
        sections: sections of the study under this view.
    """

    artefact: Artefact
    view: View
    sections: Sequence[Section]

    @property
    def key(self) -> str:
        """Key of the study."""
        return str(self.artefact.key)

    @property
    def measure(self) -> str:
        """Chosen measure with its conventions, or the study's first one."""
        return self.view.measure(study_access.result(self.key))


def _all_rankers(result: StudyResult) -> Sequence[str]:
    return list(dict.fromkeys(map(str, result.trials["ranker"])))


def nothing(_shown: StudyView) -> str:
    """Draw nothing."""
    return ""


@dataclass(frozen=True)
class StudyPage:
    """Declaration of the page of a kind of study.

    Attributes:
        title: title of the page.
        form: form of another study; None: a page of data without candidate lists.
        rankers: rankers that can be shown; none: the study compares no rankers.
        families: families, one shown at a time; none: all are shown.
        family: label of that choice, and name of each family.
        clicks: choices that a click on the picture sets, in the order of a mark's facts.
        per_query: view of single queries; None: no such view.
        measured: True if the measure and its conventions can be changed.
        tested: True if the baseline can be changed.
        caption: legend of the picture.
        more: draws this page's special part below the picture; returns the family chosen there.
        sort_key: order of the stored studies.
    """

    title: str
    form: Form | None = None
    rankers: Callable[[StudyResult], Sequence[str]] = _all_rankers
    families: Callable[[StudyResult], Sequence[str]] = lambda _result: ()
    family: tuple[str, Callable[[str], str]] = ("Perturbation", str)
    clicks: Mapping[str, Callable[[Any], object]] | None = None
    per_query: PerQuery | None = None
    measured: bool = True
    tested: bool = False
    caption: str = ""
    more: Callable[[StudyView], str] = nothing
    sort_key: choice.SortKey = services.arrival_order

    def draw(self) -> None:
        """Draw the header, then everything else."""
        parts.header(self.title, cast("Form", self.form).question.title)
        self.body()

    def body(self) -> None:
        """Draw a stored study of the data set in use, the running job, and the form."""
        data, asked = state.data(), cast("Form", self.form)
        stored = study_access.stored_studies(asked.kind, data)
        at_work = job_panel.progress(asked.panel, (data,))
        if stored:
            self.study(stored)
        elif not at_work:
            with sample_result.draw_sample(asked.kind):
                parts.not_yet(f"No study of this kind is stored for {data} yet.")
                form.body(asked, data, None, stacked=True)
            return
        elif not job_panel.has_first_results(asked.panel, (data,)):
            sample_result.draw_sample(asked.kind)
        with st.expander("New study", icon=parts.PLAY):
            form.body(asked, data, choice.study_shown(stored))

    @st.fragment
    def study(self, stored: Mapping[str, Artefact]) -> None:
        """Draw one of the stored studies; a control redraws only this fragment."""
        top = choice.draw_top_row(stored, self.sort_key)
        artefact, key = top.artefact, str(top.artefact.key)
        result = study_access.result(key)
        with top.controls:
            view = self._view(result, top)
        with top.notes:
            facts = f"N = {counted(artefact.facts['queries'], 'query')}", "95 % intervals"
            if self.measured:
                measure = str(choice.measure_line(artefact.recipe, *facts))
                view = replace(view, measures=(measure,))
        if not view.rankers and self.rankers(result):
            top.picture.info("Choose at least one ranker.")
            return
        title = top.says(view)
        shown = StudyView(
            artefact, view, [_of_rankers(one, view) for one in study_sections(key, view)]
        )
        drawn = self._picture(shown, top)
        family = self.more(shown) or view.family
        if self.per_query is not None:
            names = view.rankers or _all_rankers(result)
            per_query.section(artefact, self.per_query, shown.measure, names, family)
        st.subheader("Numbers", anchor=False)
        drawn_above = Measure.parse(shown.measure).convention() if self.measured else ""
        below = [one for one in _below(shown.sections) if not _repeats(one, drawn_above)]
        table = draw_sections(below)
        measure = view.measures[0] if view.measures else ""
        choice.export_row(artefact, drawn, table, measure, title)

    def _view(self, result: StudyResult, top: choice.TopRow) -> View:
        """Draw the choices next to the picture, without the measure; return the view."""
        families, family = list(self.families(result)), ""
        if families:
            label, called = self.family
            family = (
                families[0]
                if len(families) == 1
                else parts.select(label, "family", families, families[0], format_func=called)
            )
        labels = self.rankers(result)
        rankers: tuple[str, ...] = ()
        if labels:
            rankers = choice.rankers(labels, top.notices, str(top.artefact.key))
        view = View(family=family, rankers=rankers)
        if not (self.tested and rankers):
            return view
        usual = INITIAL if INITIAL in labels else labels[0]
        return replace(view, baselines=(choice.baseline(labels, usual),))

    def _picture(self, shown: StudyView, top: choice.TopRow) -> Any:
        """Draw the chosen picture of those with a title; without titles, the first picture."""
        every = [one for one in shown.sections if isinstance(one, Picture)]
        titled = {one.title: one for one in every if one.title}
        if not every:
            top.picture.info("This study has no picture yet.")
            return None
        picture = every[0]
        if len(titled) > 1:
            with top.controls:
                picture = titled[parts.select("Picture", "drawn", titled, picture.title)]
        figure = cached_figure(_drawn, picture)
        takes = chooses(**self.clicks) if self.clicks else None
        with top.picture:
            chart(figure, "picture", takes)
            click = "Click a mark for per-query results." if self.per_query and takes else ""
            if words := " ".join(filter(None, (self.caption, click))):
                parts.note(words)
        return figure


def _repeats(section: Section, convention: str) -> bool:
    """True for a section that consists of this convention."""
    return isinstance(section, told.Convention) and section.text == convention


def _drawn(picture: Picture) -> Any:
    return pictures.draw(picture)


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=study_access.BY_CONTENT)
def study_sections(key: str, view: View) -> list[Section]:
    """Sections below a study's headline, cached: never change them."""
    result = study_access.result(key)
    sections = study_kind(result.recipe).sections_module().sections(result, view)
    # `complete` computes a picture's facts now, inside of the cache.
    return [one.complete if isinstance(one, Picture) else one for one in sections]


def _of_rankers(section: Section, view: View) -> Section:
    """Section restricted to the shown rankers."""
    if not view.rankers:
        return section
    if isinstance(section, Picture) and not callable(section.facts):
        return replace(section, facts=[_rows_of(fact, view.rankers) for fact in section.facts])
    if isinstance(section, Table) and not section.groups:
        return replace(section, frame=_rows_of(section.frame, view.rankers))
    return section


def _rows_of(value: Any, rankers: Sequence[str]) -> Any:
    if isinstance(value, pd.DataFrame) and "ranker" in value:
        return value[value["ranker"].isin(rankers)]
    return value


def _below(sections: Sequence[Section]) -> list[Section]:
    """Sections below the picture, without the alternative pictures."""
    pictures_ = [one for one in sections if isinstance(one, Picture)]
    titled = [one for one in pictures_ if one.title] or pictures_[:1]
    return [one for one in sections if not any(one is other for other in titled)]


def draw_sections(sections: Sequence[Section]) -> Table:
    """Draw sections; return the first table that is not folded, or the first one.

    The returned table is always drawn open.
    """
    tables = [one for one in sections if isinstance(one, Table)]
    opened = next((one for one in tables if not one.folded), tables[0])
    for at, section in enumerate(sections):
        if isinstance(section, Table):
            _table(section, f"table {at}", opened=section is opened)
        elif isinstance(section, Picture):
            chart(pictures.draw(section), f"section {section.name}")
        elif isinstance(section, told.Details):
            with st.expander(escaped_sentence(section.title), icon=":material/notes:"):
                for text in section.lines:
                    parts.note(text)
        elif section.text:
            draw = parts.finding if isinstance(section, told.Finding) else parts.note
            draw(section.text)
    return opened


def _table(table: Table, key: str, *, opened: bool) -> None:
    if table.folded and not opened:
        if place := parts.fold(table.title, f"{key} opened"):
            data_frame(table, key, place)
        return
    st.markdown(f"**{escaped_sentence(table.title)}**")
    data_frame(table, key)
    for text in table.notes:
        parts.note(text)


def draw_listless(
    page: StudyPage, studies: Mapping[str, type[ListlessQuestion]], name: str
) -> None:
    """Draw the stored study of data without candidate lists, and the form of another.

    Args:
        page: declaration of the page.
        studies: kinds of study for these data.
        name: name of the data.
    """
    stored = {
        str(artefact.key): artefact
        for artefact in services.artefacts("study")
        if artefact.recipe["kind"] in studies and artefact.facts.get("data") == name
    }
    at_work = [job_panel.progress(job_panel.Panel(kind), (name,)) for kind in studies]
    if stored:
        page.study(stored)
    elif not any(at_work):
        parts.not_yet("No study of these data is stored yet.")
    with st.expander("New study", expanded=not stored and not any(at_work), icon=parts.PLAY):
        lab_form.draw(studies, name)
