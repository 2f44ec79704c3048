"""What pages of studies let choose: the study, its rankers, a measure; and what to take away."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from shuffleproof.app import address, exports, report, selection, services, state, study_access
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.plain import escaped_sentence
from shuffleproof.app.study import parts
from shuffleproof.core.metrics.measure import Measure, is_measure
from shuffleproof.core.parameters import parameters
from shuffleproof.core.rankers.name import display_names, with_display_names
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.conventions import SWITCHED, derivable
from shuffleproof.core.studies.paired_differences import STEPS
from shuffleproof.core.studies.registry import study_kind
from shuffleproof.core.studies.reproduce import study_command, study_python
from shuffleproof.core.studies.sections import View, limits
from shuffleproof.core.studies.tables import Table

Words = Callable[[Artefact], str]
"""What writes a study as a command, and as Python."""

NOUNS = ("Study", "studies")

SortKey = Callable[[Artefact], Any]
"""What studies are sorted by."""


@dataclass(frozen=True)
class TopRow:
    """What stands at the top of a page.

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

    def says(self, **view: Any) -> None:
        """Draw the headline; `view` is of `sections.View`: what is chosen on the page."""
        telling = study_kind(self.artefact.recipe).telling()
        answer = study_access.compute(str(self.artefact.key), telling.headline, View(**view))
        with self.answer:
            parts.headline(answer)


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
    stored: Mapping[str, Artefact], short: Words, words: Words, nouns: tuple[str, str] = NOUNS,
    sort_key: SortKey = services.arrival_order,
) -> TopRow:  # fmt: skip
    """Draw the places of a page and the choice of its study, as `study` does."""
    missing = state.missing_option("study", stored)
    notices = st.container()
    picture, controls = parts.top_row([5, 2])
    answer, notes = picture.container(), st.container()
    with controls:
        artefact = study(stored, short, words, nouns, sort_key)
    with notices:
        state.instead("study", missing, short(artefact))
        note_unknown_measure(artefact.recipe)
    return TopRow(artefact, notices, answer, picture, controls, notes)


def study(
    stored: Mapping[str, Artefact], short: Words, words: Words, nouns: tuple[str, str] = NOUNS,
    sort_key: SortKey = services.arrival_order,
) -> Artefact:  # fmt: skip
    """Draw the choice of a study; its key always stands in the address, so that links keep it.

    Args:
        stored: the studies by key, newest first.
        short: what tells one from others in a narrow place.
        words: the rest of it in a line.
        nouns: what a study of the page is called, and what several are.
        sort_key: what they are sorted by; the least is what an address without a study shows.
    """
    wanted, keys = address.says("study")[-1:], list(stored)
    chosen = study_shown(stored, sort_key)
    key = st.selectbox(
        nouns[0], keys, index=0 if chosen is None else keys.index(str(chosen.key)),
        format_func=lambda key: with_display_names(short(stored[key])),
        help=f"Stored {nouns[1]} of this data set, newest first.",
    )  # fmt: skip
    if not stored[key].path.is_dir():
        st.rerun()  # deleted since the page was drawn: another is shown, and it is said
    parts.note(words(stored[key]))
    for limit in limits(stored[key].facts):
        parts.note(limit)
    if wanted != [key]:
        address.pin("study", key)
    newer = max(stored.values(), key=sort_key)
    is_later = sort_key(newer) > sort_key(stored[key])
    if services.arrival_order(newer)[0] and is_later:  # those that ship never are
        newer_results(short(newer), str(newer.key))
    return stored[key]


def newer_results(words: str, *keys: str) -> None:
    """Draw the door to results that came later: nothing else leads to them by itself.

    Args:
        words: what tells them from others.
        keys: of their studies.
    """
    st.button(
        escaped_sentence(f"Newer results: {words}"), key="newer results", type="tertiary",
        icon=":material/update:", on_click=address.pin, args=("study", *keys),
        help="What this address shows stays as it is until somebody asks for another.",
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


def claim(steps: pd.DataFrame, words: str) -> None:
    """Draw the two steps of a paper's claim, and what became of it in words."""
    st.subheader("The paper's claim, step by step")
    title = "The two steps of the paper's claim with intervals and p"
    data_frame(Table(steps, STEPS, title), "steps")
    parts.note(words)


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
    """What can be taken away from a study; see `take_away`."""
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


def measure(recipe: Mapping[str, Any]) -> Measure:
    """Draw the measure and the switches of its conventions; what was chosen.

    Args:
        recipe: of the study; what it keeps beside measures of relevance is not offered.
    """
    by_name = offered_measures(recipe)
    name = parts.select("Measure", "measure", by_name, next(iter(by_name)))
    return under_conventions(recipe, by_name)[name]


def note_unknown_measure(recipe: Mapping[str, Any]) -> None:
    """Warn of a measure in the address that the study does not have; call it before `measure`."""
    if known := {*offered_measures(recipe), *recipe.get("measures", ())}:
        unknown = state.missing_option("measure", known)
        state.instead("measure", unknown, "the study's own measure")


def offered_measures(recipe: Mapping[str, Any]) -> dict[str, Measure]:
    """The measures of relevance of which a study has values, under default conventions, by text."""
    measures = _parsed([*recipe.get("measures", ()), *recipe.get("stored", ())])
    return {
        str(plain): plain
        for plain in (Measure(measure.name, measure.cutoff) for measure in measures)
    }


def as_asked(recipe: Mapping[str, Any], measure: Measure) -> Measure:
    """The measure as the study was asked for it, where it was."""
    wanted = measure.name, measure.cutoff
    same = (known for known in _parsed(recipe["measures"]) if (known.name, known.cutoff) == wanted)
    return next(same, measure)


def _parsed(texts: Sequence[str]) -> list[Measure]:
    """Measures of relevance; what else a study keeps of an answer is written in small letters."""
    return [Measure.parse(text) for text in texts if is_measure(text)]


def can_be_drawn(recipe: Mapping[str, Any], measure: Measure) -> bool:
    """Whether the values of a measure follow from what is stored."""
    return derivable(str(measure), list(recipe.get("stored", recipe["measures"])))


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
    as_studied = {name: as_asked(recipe, measure) for name, measure in by_name.items()}
    if any(str(measure) != name for name, measure in as_studied.items()) and st.toggle(
        "As the study was asked", value=True, key="asked", bind="query-params",
        help="Off: under conventions chosen here, as far as stored values give them.",
    ):  # fmt: skip
        return as_studied
    switched = conventions(SWITCHED)
    wanted = {name: measure.under(**switched) for name, measure in by_name.items()}
    return {
        name: measure if can_be_drawn(recipe, measure) else as_studied[name]
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
    words, menu = parts.convention_line()
    with menu:
        chosen = measure(recipe)
    with words:
        parts.convention(chosen.convention(), *facts)
    return chosen
