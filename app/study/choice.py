"""What the pages of studies share above and below their picture."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from shuffleproof.app import address, exports, report, selection, services, state, study_access
from shuffleproof.app.plain import escaped_sentence
from shuffleproof.app.study import parts
from shuffleproof.core.rankers.name import display_names, with_display_names
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.registry import EVERY
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
        headline(self.artefact, self.answer, **view)


def headline(artefact: Artefact, place: DeltaGenerator, **view: Any) -> None:
    """Draw the headline of a study.

    Args:
        artefact: the study.
        place: where.
        view: of `sections.View`: what is chosen on the page.
    """
    telling = EVERY[artefact.recipe["kind"]].telling()
    with place:
        parts.headline(study_access.compute(str(artefact.key), telling.headline, View(**view)))


def study_shown(
    stored: Mapping[str, Artefact], first: SortKey = services.arrival_order
) -> Artefact | None:
    """The study that the address names; else the one that a page without an address shows.

    Args:
        stored: the studies by key.
        first: what they are sorted by; nothing stored later may come before.
    """
    asked = address.says("study")[-1:]
    named = [stored[key] for key in asked if key in stored]
    return named[0] if named else min(stored.values(), key=first, default=None)


def draw_top_row(
    stored: Mapping[str, Artefact], short: Words, words: Words, nouns: tuple[str, str] = NOUNS,
    first: SortKey = services.arrival_order,
) -> TopRow:  # fmt: skip
    """Draw the places of a page and the choice of its study, as `study` does."""
    missing = state.missing_option("study", stored)
    notices = st.container()
    picture, controls = parts.top_row([5, 2])
    answer, notes = picture.container(), st.container()
    with controls:
        artefact = study(stored, short, words, nouns, first)
    with notices:
        state.instead("study", missing, short(artefact))
    return TopRow(artefact, notices, answer, picture, controls, notes)


def study(
    stored: Mapping[str, Artefact], short: Words, words: Words, nouns: tuple[str, str] = NOUNS,
    first: SortKey = services.arrival_order,
) -> Artefact:  # fmt: skip
    """Draw the choice of a study; its key always stands in the address, so that links keep it.

    Args:
        stored: the studies by key, newest first.
        short: what tells one from others in a narrow place.
        words: the rest of it in a line.
        nouns: what a study of the page is called, and what several are.
        first: what they are sorted by; the least is what an address without a study shows.
    """
    wanted, keys = address.says("study")[-1:], list(stored)
    chosen = study_shown(stored, first)
    key = st.selectbox(
        nouns[0], keys, index=0 if chosen is None else keys.index(str(chosen.key)),
        format_func=lambda key: with_display_names(short(stored[key])),
        help=f"Stored {nouns[1]} of this data set, newest first.",
    )  # fmt: skip
    if not stored[key].path.is_dir():
        st.rerun()  # deleted since the page was drawn: another is shown, and it is said
    st.caption(escaped_sentence(words(stored[key])))
    for limit in limits(stored[key].facts):
        st.caption(escaped_sentence(limit))
    if wanted != [key]:
        address.pin("study", key)
    newer = max(stored.values(), key=first)
    if services.arrival_order(newer)[0] and first(newer) > first(
        stored[key]
    ):  # shipped ones never are
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
    asked = st.multiselect(
        "Rankers",
        **address.multiselect(
            "show", address.option_texts(*labels), selection.among(labels), of=study
        ),
        wrap=True, format_func=display_names(labels).__getitem__,
    )  # fmt: skip
    chosen = tuple(label for label in labels if label in asked)
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


def export_row(artefact: Artefact, drawn: Any, table: Table) -> None:
    """Draw the row of menus.

    Args:
        artefact: the study.
        drawn: the page's picture; None where there is none.
        table: its numbers.
    """
    stem = f"{artefact.key}-table"
    made = export_menu(artefact, drawn, lambda: exports.table_files(table, stem))
    parts.exports_row(made, "take")


def export_menu(
    artefact: Artefact, drawn: Any, tables: Callable[[], Sequence[exports.File]]
) -> parts.ExportContent:
    """What can be taken away from a study; see `take_away`."""
    recipe, facts, key = artefact.recipe, artefact.facts, str(artefact.key)
    data = state.data()
    return parts.ExportContent(
        figures=lambda width: (
            [] if drawn is None else exports.figure_files(drawn, f"{key}-figure", width)
        ),
        tables=tables,
        recipe=exports.recipe_file(recipe, facts, key),
        report=exports.File(
            "Report (HTML)", f"{key}.html", lambda: report.report([study_access.path(key)]).encode()
        ),
        link=lambda: parts.address_here(data=data, study=key),
        command=lambda: study_command(recipe, facts),
        python=lambda: study_python(recipe, facts),
    )
