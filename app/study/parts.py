"""Small parts that all study pages share, always in the same order and place."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlencode

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.navigation.page import StreamlitPage

from shuffleproof.app import address, navigation, state, terms
from shuffleproof.app.exports import File
from shuffleproof.app.plain import escaped, escaped_sentence, refusal
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.studies.figure_size import WIDTHS
from shuffleproof.core.studies.headline import BEST, DEGRADES, FAILS, INCONCLUSIVE, ROBUST, TIE
from shuffleproof.core.studies.sections import Headline

CLICKABLE = {"displaylogo": False, "modeBarButtonsToRemove": ["select2d", "lasso2d"]}
"""Plotly's configuration of clickable figures."""

PLAIN = {"displayModeBar": False}
"""Plotly's configuration of small figures, without buttons."""

PLAY = ":material/play_arrow:"
SEVERITIES = {
    "problem": ":material/error: :red[problem]",
    "warning": ":material/warning: :orange[warning]",
    "info": ":material/info: :gray[note]",
}
"""Markdown before a finding, by severity."""


def header(title: str, question: str) -> None:
    """Draw the title of the page, and the question that its picture answers."""
    st.title(title)
    st.markdown(question, help=terms.help_with_terms(question))


def top_row(widths: Sequence[int]) -> list[DeltaGenerator]:
    """Columns at the top of a page: the picture, then its controls.

    The page's CSS hides parts that would move when the picture appears.

    Args:
        widths: relative widths of the columns.
    """
    return st.container(key="top_row").columns(widths, gap="medium")


@contextmanager
def errors_shown(*, again: bool = False) -> Generator[None]:
    """Draw a ShuffleproofError of the block as a message.

    Args:
        again: True to add a button "Try again".
    """
    try:
        yield
    except ShuffleproofError as error:
        if state.data() not in state.data_sets():  # deleted in another tab: the sidebar says so
            state.draw_again()
        st.error(refusal(error))
        if again:
            st.button("Try again", key="again")


def long_error(text: str) -> None:
    """Draw an error: the first line as the message, further lines as a list."""
    headline, _, rest = text.partition("\n")
    st.error(refusal(headline))
    if rest:
        st.code(rest, language=None, height=240 if rest.count("\n") > 9 else None)


def sentence(text: str, place: Any = st) -> None:
    """Draw a sentence with display names of rankers, and without markup."""
    place.markdown(escaped_sentence(text))


def note(text: str, place: Any = st) -> None:
    """Draw a sentence as a caption, as `sentence` does."""
    place.caption(escaped_sentence(text))


def finding(text: str) -> None:
    """Draw a finding in bold, with help on its terms."""
    st.markdown(f"**{escaped_sentence(text)}**", help=terms.help_with_terms(text))


CHIPS: Mapping[str, tuple[str, str]] = {
    ROBUST: ("green", "check_circle"),
    DEGRADES: ("orange", "trending_down"),
    FAILS: ("red", "error"),
    TIE: ("blue", "blur_on"),
    INCONCLUSIVE: ("gray", "help"),
    BEST: ("green", "emoji_events"),
}
"""Badges by tier: colour, and icon of Material Symbols."""


def headline(answer: Headline) -> None:
    """Draw a headline: the badge of the first ranker's tier, then the sentence."""
    st.markdown(headline_words(answer), help=terms.help_with_terms(answer.text, answer.why))


def headline_words(answer: Headline) -> str:
    """Markdown of a headline."""
    chip = ""
    if answer.tier:
        colour, icon = CHIPS[answer.tier]
        chip = f":{colour}-badge[:material/{icon}: {answer.label or answer.tier}] "
    return f"{chip}**{escaped_sentence(answer.text)}**"


def convention(words: str, *more: str) -> None:
    """Draw the caption of numbers: the measure's conventions, then further facts."""
    st.caption(" · ".join((words, *map(escaped, more))))  # the measure's words can be copied


Name = TypeVar("Name", bound=str)


def select(
    label: str, key: str, options: Iterable[str], usual: str, *, place: Any = st,
    **more: Any,
) -> str:  # fmt: skip
    """Draw a choice of one option, which the address always holds.

    Args:
        label: label of the widget.
        key: key of the address and of the widget.
        options: options, as in the address.
        usual: default of an address without the key.
        place: container of the widget.
        more: further arguments of `st.selectbox`.
    """
    settled = address.selectbox(key, address.option_texts(*options), usual)
    return str(place.selectbox(label, **settled, **more))


def segments(
    label: str, key: str, options: Mapping[Name, str], usual: Name | None = None, *,
    place: Any = st, **more: Any,
) -> Name:  # fmt: skip
    """Draw a choice of one of a few visible options; the address holds it unless it is the default.

    Args:
        label: label of the widget.
        key: key of the address and of the widget.
        options: labels by option.
        usual: default; None: the first option.
        place: container of the widget.
        more: further arguments of `st.segmented_control`.
    """
    default = next(iter(options)) if usual is None else usual
    chosen: Name | None = place.segmented_control(
        label, list(options), default=default, required=True, key=key, bind="query-params",
        format_func=options.__getitem__, **more,
    )  # fmt: skip
    return chosen or default


def shell(command: str) -> None:
    """Draw one or more commands for copying."""
    st.code(command, language="bash", wrap_lines=True)


def not_yet(missing: str, remedy: str = "", command: str = "") -> None:
    """Draw the message of a page that lacks something, and a remedy."""
    st.info(escaped_sentence(missing), icon=":material/hourglass_empty:")
    if remedy:
        sentence(remedy)
    if command:
        shell(command)


def link(
    path: str, label: str, icon: str = "arrow_forward", query: Mapping[str, str] | None = None
) -> None:
    """Draw a link to another page.

    Args:
        path: path of the page, or name of the tab.
        label: label of the link.
        icon: icon of Material Symbols, before the label.
        query: query parameters of the link.
    """
    page, tab = navigation.address_of(path)
    st.page_link(
        page_at(page, label),
        label=label,
        icon=f":material/{icon}:",
        query_params={**tab, **(query or {})} or None,
    )


def page_at(path: str, title: str = "elsewhere") -> StreamlitPage:
    """Page of the navigation, by its path."""
    return st.Page(_elsewhere, title=title, url_path=path, default=not path)


def _elsewhere() -> None:
    """Empty placeholder: Streamlit finds the page by its path."""


def fold(
    label: str, key: str, icon: str | None = None, *, expanded: bool = False
) -> DeltaGenerator | None:
    """Draw an expander; return the place of its content if it is open.

    Args:
        label: label of the widget.
        key: key of the widget.
        icon: icon before the label.
        expanded: True to start open.
    """
    place = st.expander(label, key=key, icon=icon, expanded=expanded, on_change="rerun")
    return place if place.open else None


def address_here(**more: str) -> dict[str, list[str]]:
    """Query parameters that show the same page in another browser."""
    return address.full_address() | {name: [value] for name, value in more.items()}


@dataclass(frozen=True)
class ExportContent:
    """Downloads of a result.

    Attributes:
        figures: files of the figure in a width (as `width_of` reads it; empty: as on a screen),
            with or without a caption line.
        tables: function that returns the files of the table.
        recipe: file of the recipe.
        link: function that returns query parameters of the same view in another browser.
        report: file of the whole report.
        python: function that returns equivalent Python code; None: no menu.
        command: function that returns the command, or raises if there is none; None: no menu.
        more: other files, such as a benchmark's runs.
        slide: draws the button that adds the figure to the presentation; None: no button.
    """

    figures: Callable[[str, bool], Sequence[File]]
    tables: Callable[[], Sequence[File]]
    recipe: File
    link: Callable[[], Mapping[str, Sequence[str]]]
    report: File | None = None
    python: Callable[[], str] | None = None
    command: Callable[[], str] | None = None
    more: Sequence[File] = ()
    slide: Callable[[], None] | None = None


@st.fragment
def exports_row(shared: ExportContent, key: str) -> None:
    """Draw a row of menus: link, command, Python, figure, table, recipe, report.

    A menu is filled when it is opened: pages draw faster, and the link is up to date.
    """
    st.subheader("Export")
    fill: dict[tuple[str, str], Callable[[], None] | None] = {
        ("Link", "link"): lambda: _link(shared.link()),
        ("Command", "terminal"): shared.command and partial(command, shared.command),
        ("Python", "code"): shared.python and partial(command, shared.python, "python"),
        ("Figure", "show_chart"): lambda: _figures(shared.figures, key, shared.slide),
        ("Table", "table"): lambda: downloads(shared.tables(), key),
        ("Report and recipe", "description"): lambda: downloads(
            [*([shared.report] if shared.report else []), shared.recipe, *shared.more], key
        ),
    }
    with st.container(horizontal=True, key=f"{key}.row"):
        for (label, icon), filled in fill.items():
            if filled is None:
                continue
            menu = st.popover(
                label, icon=f":material/{icon}:", key=f"{key}.{label}", on_change="rerun"
            )
            if menu.open:
                with menu:
                    filled()


def _link(link: Mapping[str, Sequence[str]]) -> None:
    st.caption(
        "The same study with the same choices, in any browser that reaches this address. For "
        "others: *Report and recipe* has a file that opens anywhere."
    )
    page = str(st.context.url or "").partition("?")[0]
    st.code(f"{page}?{urlencode(link, doseq=True)}", language=None, wrap_lines=True)


def command(written: Callable[[], str], language: str = "bash") -> None:
    """Draw a command or other code, or the error that explains why there is none."""
    try:
        st.code(written(), language=language, wrap_lines=True)
    except ShuffleproofError as error:
        st.caption(refusal(error))


def _figures(
    files: Callable[[str, bool], Sequence[File]], key: str, slide: Callable[[], None] | None
) -> None:
    """Draw the downloads of a figure, with a choice of its width: screen, print or slide."""
    if not files("", True):  # noqa: FBT003 (as ExportContent says)
        return
    width = st.selectbox(
        "Width", ("", *WIDTHS), accept_new_options=True, key=f"{key}.width",
        format_func=lambda name: name or "Screen",
        help="A column or page of a journal has 8-point letters, a slide 18-point letters. "
        "Type another width such as 90mm or 3.3in.",
    )  # fmt: skip
    caption = st.toggle(
        "Caption line", value=True, key=f"{key}.caption",
        help="Data set, queries, seeds, convention and study under the figure.",
    )  # fmt: skip
    with errors_shown():
        downloads(files(width or "", caption), key)
        if slide is not None:
            slide()


def downloads(files: Sequence[File], key: str) -> None:
    """Draw a download button for each file; `key` is the prefix of their keys."""
    for file in files:
        st.download_button(
            file.label,
            file.make,
            file_name=file.name,
            mime=file.mime,
            key=f"{key}.{file.name}",
            disabled=bool(file.missing),
            on_click="ignore",
            width="stretch",
        )
    for missing in dict.fromkeys(file.missing for file in files if file.missing):
        note(missing)
