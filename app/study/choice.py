"""Choices of a study's page: the study, its rankers, measure and conventions; and its export."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from shuffleproof.app import address, exports, report, selection, services, state, study_access
from shuffleproof.app.plain import escaped_sentence
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
"""Order of studies; the least is what an address without a study shows."""

LABEL_LENGTH = 44
"""Letters of what a study compares, in a menu."""


@dataclass(frozen=True)
class TopRow:
    """Places at the top of a study's page.

    Attributes:
        artefact: the study chosen.
        notices: the place of what the address asks for in vain.
        answer: the place of the headline, above the picture.
        picture: the place of the picture.
        controls: the place beside it, below the choice of the study.
        notes: the place below both: on telephones controls stand right under the picture.
    """

    artefact: Artefact
    notices: DeltaGenerator
    answer: DeltaGenerator
    picture: DeltaGenerator
    controls: DeltaGenerator
    notes: DeltaGenerator

    def says(self, view: View) -> None:
        """Draw the headline of what is chosen on the page."""
        telling = study_kind(self.artefact.recipe).telling()
        answer = study_access.compute(str(self.artefact.key), telling.headline, view)
        with self.answer:
            parts.headline(answer)


def label(artefact: Artefact) -> str:
    """Label of a stored study in a menu: its day and what it compares."""
    compared = with_display_names(summary_of(artefact).partition(": ")[2])
    return study_access.dated_name(artefact, shorten(compared, LABEL_LENGTH, placeholder=" …"))


def line(artefact: Artefact) -> str:
    """A stored study in a line: what it compares, how many queries and draws, on which lists."""
    recipe, facts = artefact.recipe, artefact.facts
    initial = (facts.get("lists") or recipe).get("initial", ())
    words = [
        summary_of(artefact).partition(": ")[2],
        counted(facts["queries"], "query") if "queries" in facts else "",
        exports.draws_of(recipe),
        f"lists by {', '.join(initial)}" if initial else "",
    ]
    return " · ".join(filter(None, words))


def study_shown(
    stored: Mapping[str, Artefact], sort_key: SortKey = services.arrival_order
) -> Artefact | None:
    """The study that the address names; else the one that a page without an address shows.

    Args:
        stored: the studies by key.
        sort_key: what they are sorted by; nothing stored later may come before.
    """
    wanted = address.says("study")[-1:]
    named = [stored[key] for key in wanted if key in stored]
    return named[0] if named else min(stored.values(), key=sort_key, default=None)


def draw_top_row(
    stored: Mapping[str, Artefact], sort_key: SortKey = services.arrival_order
) -> TopRow:
    """Draw the places of a page and the choice of its study, as `study` does."""
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
            state.instead("measure", unknown, "the study's own measure")
    return TopRow(artefact, notices, answer, picture, controls, notes)


def study(stored: Mapping[str, Artefact], sort_key: SortKey = services.arrival_order) -> Artefact:
    """Draw the choice of a study; its key always stands in the address, so that links keep it.

    Args:
        stored: the studies by key, newest first.
        sort_key: what they are sorted by.
    """
    wanted, keys = address.says("study")[-1:], list(stored)
    chosen = study_shown(stored, sort_key)
    key = st.selectbox(
        "Study", keys, index=0 if chosen is None else keys.index(str(chosen.key)),
        format_func=lambda key: label(stored[key]),
        help="Stored studies of this data set, newest first.",
    )  # fmt: skip
    if not stored[key].path.is_dir():
        st.rerun()  # deleted since the page was drawn: another is shown, and it is said
    for text in (line(stored[key]), *limits(stored[key].facts)):
        parts.note(text)
    if wanted != [key]:
        address.pin("study", key)
    newer = max(stored.values(), key=sort_key)
    is_later = sort_key(newer) > sort_key(stored[key])
    if services.arrival_order(newer)[0] and is_later:  # those that ship never are
        newer_results(label(newer), str(newer.key))
    return stored[key]


def newer_results(words: str, *keys: str) -> None:
    """Draw the button that shows results that came later: nothing else leads to them by itself.

    Args:
        words: what tells them from others.
        keys: of their studies.
    """
    st.button(
        escaped_sentence(f"Newer results: {words}"), key="newer results", type="tertiary",
        icon=":material/update:", on_click=address.pin, args=("study", *keys),
        help="What this address shows stays as it is until you ask for another study.",
    )  # fmt: skip


def rankers(labels: Sequence[str], notices: DeltaGenerator, study: str) -> tuple[str, ...]:
    """Draw the choice of the rankers in the picture; in the study's order.

    Args:
        labels: of all rankers of the study.
        notices: where it is said that the address asks for others.
        study: its key.
    """
    missing = state.missing_option("show", labels)
    picked = st.multiselect(
        "Rankers",
        **address.multiselect(
            "show", address.option_texts(*labels), selection.among(labels), of=study
        ),
        wrap=True, format_func=display_names(labels).__getitem__,
    )  # fmt: skip
    chosen = tuple(label for label in labels if label in picked)
    with notices:
        state.instead("ranker", missing, *map(display_names(labels).__getitem__, chosen))
    return chosen


def ranker(
    words: str, labels: Sequence[str], key: str, usual: str | None = None, place: Any = st,
    **more: Any,
) -> str | None:  # fmt: skip
    """Draw the choice of one ranker: by its name on the page, by its label in the address.

    Args:
        words: what the choice is called.
        labels: to choose from.
        key: in the address, and the widget's.
        usual: what is chosen where the address says nothing; None: nobody.
        place: where it is drawn.
        more: what `st.selectbox` takes beside.
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


def export_row(artefact: Artefact, drawn: Any, table: Table, measure: str = "") -> None:
    """Draw the row of menus.

    Args:
        artefact: the study.
        drawn: the page's picture; None where there is none.
        table: its numbers.
        measure: of the picture, with its conventions; empty: the study's first.
    """
    stem = f"{exports.study_stem(artefact)}-table"
    content = export_menu(artefact, drawn, lambda: exports.table_files(table, stem), measure)
    parts.exports_row(content, "take")


def export_menu(
    artefact: Artefact, drawn: Any, tables: Callable[[], Sequence[exports.File]], measure: str = ""
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
    )


CHOOSABLE = ("ideal", "empty", "ties", "discount")
LABELS = {
    "ideal": "Ideal ranking of", "empty": "No relevant document", "ties": "Equal scores",
    "short": "Lists shorter than the cut-off",
}  # fmt: skip


def offered_measures(recipe: Mapping[str, Any]) -> dict[str, Measure]:
    """The measures of relevance of which a study has values, under default conventions, by text."""
    measures = _parsed([*recipe.get("measures", ()), *recipe.get("stored", ())])
    return {
        str(plain): plain
        for plain in (Measure(measure.name, measure.cutoff) for measure in measures)
    }


def _parsed(texts: Sequence[str]) -> list[Measure]:
    """Measures of relevance; what else a study keeps of an answer is written in small letters."""
    return [Measure.parse(text) for text in texts if is_measure(text)]


def under_conventions(
    recipe: Mapping[str, Any], by_name: Mapping[str, Measure]
) -> dict[str, Measure]:
    """Draw the switches of the conventions; every measure under what they say.

    A study that was asked for other conventions than the usual ones shows those until they are
    switched; a measure of which nothing is stored under a convention stays as it was asked for.

    Args:
        recipe: of the study.
        by_name: its measures under default conventions, by text.
    """
    asked = {(known.name, known.cutoff): known for known in reversed(_parsed(recipe["measures"]))}
    as_studied = {
        name: asked.get((measure.name, measure.cutoff), measure)
        for name, measure in by_name.items()
    }
    if any(str(measure) != name for name, measure in as_studied.items()) and st.toggle(
        "As the study was asked", value=True, key="asked", bind="query-params",
        help="Off: under conventions chosen here, as far as stored values give them.",
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
    """Draw the switches of conventions; what was chosen, by field of `Measure`.

    Args:
        limits: the choices of some of them, where not all can be had.
        names: which ones.
        usual: what they say at first.
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
    """Draw the measure with its conventions, changeable where they stand; what was chosen.

    Args:
        recipe: of the study.
        facts: what else the numbers are.
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
