"""Choices of a study's page: study, rankers, measure, conventions and export."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from textwrap import shorten
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from shuffleproof.app import (
    address,
    exports,
    report,
    selection,
    services,
    slides,
    state,
    study_access,
)
from shuffleproof.app.plain import escaped_sentence
from shuffleproof.app.slides import Slide
from shuffleproof.app.study import parts
from shuffleproof.core.library.entries import summary_of
from shuffleproof.core.metrics.measure import Measure, is_measure
from shuffleproof.core.parameters import parameters
from shuffleproof.core.rankers.name import display_names, with_display_names
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.conventions import SWITCHED, derivable
from shuffleproof.core.studies.registry import study_kind
from shuffleproof.core.studies.reproduce import study_command, study_python
from shuffleproof.core.studies.sections import View, limits
from shuffleproof.core.studies.tables import Table
from shuffleproof.core.words import counted

SortKey = Callable[[Artefact], Any]
"""Sort key of studies; an address without a study shows the least one."""

LABEL_LENGTH = 44
"""Letters of a study's summary in a menu."""


@dataclass(frozen=True)
class TopRow:
    """Places at the top of a study's page.

    Attributes:
        artefact: the chosen study.
        notices: place of messages about missing options of the address.
        answer: place of the headline, above the picture.
        picture: place of the picture.
        controls: place next to it, below the choice of the study.
        notes: place below both; on phones the controls are between picture and notes.
    """

    artefact: Artefact
    notices: DeltaGenerator
    answer: DeltaGenerator
    picture: DeltaGenerator
    controls: DeltaGenerator
    notes: DeltaGenerator

    def says(self, view: View) -> str:
        """Draw the headline of the current view; return its text."""
        sections_module = study_kind(self.artefact.recipe).sections_module()
        answer = study_access.compute(str(self.artefact.key), sections_module.headline, view)
        with self.answer:
            parts.headline(answer)
        return str(answer.text)


def label(artefact: Artefact) -> str:
    """Label of a stored study in a menu: date and summary."""
    compared = with_display_names(summary_of(artefact).partition(": ")[2])
    return study_access.dated_name(artefact, shorten(compared, LABEL_LENGTH, placeholder=" …"))


def line(artefact: Artefact) -> str:
    """One-line description of a study: summary, numbers of queries and draws, lists."""
    recipe, facts = artefact.recipe, artefact.facts
    lists = facts.get("lists") or recipe
    initial, depth = lists.get("initial", ()), lists.get("depth")
    documents = f"top {depth}" if depth else "all documents"
    words = [
        summary_of(artefact).partition(": ")[2],
        counted(facts["queries"], "query") if "queries" in facts else "",
        exports.draws_of(recipe),
        f"candidates: {documents} by {', '.join(initial)}" if initial else "",
    ]
    return " · ".join(filter(None, words))


def study_shown(
    stored: Mapping[str, Artefact], sort_key: SortKey = services.arrival_order
) -> Artefact | None:
    """Study in the address; else the first one by the sort key.

    Args:
        stored: studies by key.
        sort_key: sort key; a later study must never come before an earlier one.
    """
    wanted = address.says("study")[-1:]
    named = [stored[key] for key in wanted if key in stored]
    return named[0] if named else min(stored.values(), key=sort_key, default=None)


def draw_top_row(
    stored: Mapping[str, Artefact], sort_key: SortKey = services.arrival_order
) -> TopRow:
    """Draw the top row of a page, with the choice of its study (`study`)."""
    missing = state.missing_option("study", stored)
    notices = st.container()
    picture, controls = parts.top_row([5, 2])
    answer, notes = picture.container(), st.container()
    with controls:
        artefact = study(stored, sort_key)
    with notices:
        state.instead("study", missing, label(artefact))
        if known := {*offered_measures(artefact.recipe), *artefact.recipe.get("measures", ())}:
            unknown = state.missing_option("measure", known)
            state.instead("measure", unknown, "measure of the study")
    return TopRow(artefact, notices, answer, picture, controls, notes)


def study(stored: Mapping[str, Artefact], sort_key: SortKey = services.arrival_order) -> Artefact:
    """Draw the choice of a study; the address always holds its key, so that links stay valid.

    Args:
        stored: studies by key, newest first.
        sort_key: sort key of the default.
    """
    wanted, keys = address.says("study")[-1:], list(stored)
    chosen = study_shown(stored, sort_key)
    key = st.selectbox(
        "Study", keys, index=0 if chosen is None else keys.index(str(chosen.key)),
        format_func=lambda key: label(stored[key]),
        help="Stored studies of this data set, newest first.",
    )  # fmt: skip
    if not stored[key].path.is_dir():
        st.rerun()  # deleted since the page was drawn: show another one, with a message
    for text in (line(stored[key]), *limits(stored[key].facts)):
        parts.note(text)
    if wanted != [key]:
        address.pin("study", key)
    data = stored[key].facts.get("data")
    newer = max((each for each in stored.values() if each.facts.get("data") == data), key=sort_key)
    is_later = sort_key(newer) > sort_key(stored[key])
    if services.arrival_order(newer)[0] and is_later:  # shipped studies are never newer
        newer_results(label(newer), str(newer.key))
    return stored[key]


def newer_results(words: str, *keys: str) -> None:
    """Draw the button that shows newer results, which the page never does by itself.

    Args:
        words: label of the results.
        keys: keys of their studies.
    """
    st.button(
        escaped_sentence(f"Newer results: {words}"), key="newer results", type="tertiary",
        icon=":material/update:", on_click=address.pin, args=("study", *keys),
        help="This page keeps its study until you open another one.",
    )  # fmt: skip


def rankers(labels: Sequence[str], notices: DeltaGenerator, study: str) -> tuple[str, ...]:
    """Draw the choice of the rankers in the picture; return them in the study's order.

    Args:
        labels: labels of all rankers of the study.
        notices: place of messages about missing rankers of the address.
        study: key of the study.
    """
    missing = state.missing_option("show", labels)
    options = address.option_texts(*labels)
    settled = address.multiselect("show", options, selection.among(labels), of=study)
    names, seen = display_names(labels), {*settled["default"]}

    def name(label: str) -> str:
        eye = "visibility" if label in seen else "visibility_off"
        return f":material/{eye}: {escaped_sentence(names[label])}"

    def show() -> None:
        selection.show_only(labels, st.session_state["show"])

    picked = st.pills(
        "Rankers", **settled, selection_mode="multi", format_func=name, on_change=show,
        help="Press to hide or show a ranker, on all pages.",
    )  # fmt: skip
    chosen = tuple(label for label in labels if label in picked)
    with notices:
        state.instead("ranker", missing, *map(display_names(labels).__getitem__, chosen))
    return chosen


def ranker(
    words: str, labels: Sequence[str], key: str, usual: str | None = None, place: Any = st,
    **more: Any,
) -> str | None:  # fmt: skip
    """Draw the choice of one ranker; the page shows its name, the address its label.

    Args:
        words: label of the widget.
        labels: options.
        key: key of the address and of the widget.
        usual: default; None: no ranker.
        place: container of the widget.
        more: further arguments of `st.selectbox`.
    """
    names = display_names(labels)
    options: dict[str | None, Sequence[str]] = {name: (name, names[name]) for name in labels}
    options |= {None: ()} if usual is None else {}
    chosen: str | None = place.selectbox(
        words, **address.selectbox(key, options, usual), format_func=names.__getitem__, **more
    )
    return chosen


def baseline(labels: Sequence[str], usual: str) -> str:
    """Draw the choice of the baseline of tests."""
    chosen = ranker(
        "Compared with", labels, "baseline", selection.baseline(labels, usual),
        help="The baseline of the tests.",
    )  # fmt: skip
    return str(chosen or labels[0])


def export_row(
    artefact: Artefact, drawn: Any, table: Table, measure: str = "", title: str = ""
) -> None:
    """Draw the row of export menus.

    Args:
        artefact: the study.
        drawn: picture of the page, or None.
        table: its numbers.
        measure: measure of the picture, with its conventions; empty: the study's first.
        title: sentence about the picture, for a slide.
    """
    stem = f"{exports.study_stem(artefact)}-table"
    tables = partial(exports.table_files, table, stem)
    parts.exports_row(export_menu(artefact, drawn, tables, measure, title), "take")


def export_menu(
    artefact: Artefact,
    drawn: Any,
    tables: Callable[[], Sequence[exports.File]],
    measure: str = "",
    title: str = "",
) -> parts.ExportContent:
    """Files, link, command and Python of a study; see `export_row`."""
    recipe, facts, key = artefact.recipe, artefact.facts, str(artefact.key)
    data, stem = state.data(), exports.study_stem(artefact)
    caption = exports.study_caption(artefact, measure)
    return parts.ExportContent(
        figures=lambda width, captioned: (
            []
            if drawn is None
            else exports.figure_files(drawn, f"{stem}-figure", width, caption * captioned)
        ),
        tables=tables,
        recipe=exports.recipe_file(recipe, facts, stem),
        report=exports.File(
            "Report (HTML)",
            f"{stem}.html",
            lambda: report.report([study_access.path(key)]).encode(),
        ),
        link=lambda: parts.address_here(data=data, study=key),
        command=lambda: study_command(recipe, facts),
        python=lambda: study_python(recipe, facts),
        slide=drawn and partial(slides.draw_button, lambda: Slide(title, caption, drawn), "take"),
    )


CHOOSABLE = ("ideal", "empty", "ties", "discount")
LABELS = {
    "ideal": "Ideal ranking of", "empty": "No relevant document", "ties": "Equal scores",
    "short": "Lists shorter than the cut-off",
}  # fmt: skip


def offered_measures(recipe: Mapping[str, Any]) -> dict[str, Measure]:
    """Measures of relevance with stored values, under default conventions, by text."""
    measures = _parsed([*recipe.get("measures", ()), *recipe.get("stored", ())])
    return {
        str(plain): plain
        for plain in (Measure(measure.name, measure.cutoff) for measure in measures)
    }


def _parsed(texts: Sequence[str]) -> list[Measure]:
    """Measures of relevance in texts; other stored values have lower-case names."""
    return [Measure.parse(text) for text in texts if is_measure(text)]


def under_conventions(
    recipe: Mapping[str, Any], by_name: Mapping[str, Measure]
) -> dict[str, Measure]:
    """Draw the switches of the conventions; return every measure under the chosen ones.

    A study with other conventions than the defaults shows its own until they are switched. A
    measure without stored values under a convention keeps the study's convention.

    Args:
        recipe: recipe of the study.
        by_name: its measures under default conventions, by text.
    """
    asked = {(known.name, known.cutoff): known for known in reversed(_parsed(recipe["measures"]))}
    as_studied = {
        name: asked.get((measure.name, measure.cutoff), measure)
        for name, measure in by_name.items()
    }
    if any(str(measure) != name for name, measure in as_studied.items()) and st.toggle(
        "Conventions of the study", value=True, key="asked", bind="query-params",
        help="Off: choose other conventions here, if the stored values allow it.",
    ):  # fmt: skip
        return as_studied
    stored, switched = list(recipe.get("stored", recipe["measures"])), conventions(SWITCHED)
    wanted = {name: measure.under(**switched) for name, measure in by_name.items()}
    return {
        name: measure if derivable(str(measure), stored) else as_studied[name]
        for name, measure in wanted.items()
    }


def conventions(
    limits: Mapping[str, Sequence[str]],
    names: Sequence[str] = CHOOSABLE,
    usual: Measure = Measure("NDCG"),  # noqa: B008 (frozen)
) -> dict[str, str]:
    """Draw the switches of conventions; return the choices by field of `Measure`.

    Args:
        limits: available choices of conventions, where not all are available.
        names: conventions to draw.
        usual: defaults.
    """
    declared = {parameter.name: parameter for parameter in parameters(Measure)}
    chosen = {}
    for name in names:
        now = str(getattr(usual, name))
        offered = [*limits.get(name, declared[name].choices), now]
        options = {option: option for option in offered}
        label = LABELS.get(name, name.capitalize())
        chosen[name] = parts.segments(label, name, options, now, help=declared[name].help)
    return chosen


def measure_line(recipe: Mapping[str, Any], *facts: str) -> Measure:
    """Draw the measure with its conventions and their menu; return the chosen measure.

    Args:
        recipe: recipe of the study.
        facts: further facts about the numbers.
    """
    with st.container(horizontal=True, vertical_alignment="center", key="convention"):
        words = st.container(width="stretch")
        with st.popover("Measure and conventions", icon=":material/tune:"):
            by_name = offered_measures(recipe)
            name = parts.select("Measure", "measure", by_name, next(iter(by_name)))
            chosen = under_conventions(recipe, by_name)[name]
    with words:
        parts.convention(chosen.convention(), *facts)
    return chosen
