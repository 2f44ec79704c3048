"""Small pieces that every study page shares, always in the same order and place."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlencode

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.navigation.page import StreamlitPage

from shuffleproof.app import address, terms
from shuffleproof.app.exports import File
from shuffleproof.app.plain import escaped, escaped_sentence, refusal
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.studies.figure_size import WIDTHS
from shuffleproof.core.studies.headline import BENDS, BEST, BREAKS, NOISE, SURVIVES, UNTOLD
from shuffleproof.core.studies.sections import Headline

CLICKABLE = {"displaylogo": False, "modeBarButtonsToRemove": ["select2d", "lasso2d"]}
"""Of every picture that takes clicks."""

PLAIN = {"displayModeBar": False}
"""Of small pictures, which need no buttons over them."""

PLAY = ":material/play_arrow:"
SEVERITIES = {
    "problem": ":material/error: :red[problem]",
    "warning": ":material/warning: :orange[warning]",
    "info": ":material/info: :gray[remark]",
}
"""How findings of a doctor begin."""


def header(title: str, question: str) -> None:
    """The page's title, and under it the question that its picture answers."""
    st.title(title)
    st.markdown(question, help=terms.help_with_terms(question))


def top_row(widths: Sequence[int]) -> list[DeltaGenerator]:
    """The places side by side at the top of a page: its picture's, then what changes it.

    The style keeps back what would move when the picture comes.

    Args:
        widths: of the places, to each other.
    """
    return st.container(key="top_row").columns(widths, gap="medium")


@contextmanager
def errors_shown(*, again: bool = False) -> Generator[None]:
    """Draw a deliberate error that ends the block as a sentence.

    Args:
        again: whether a button to try again stands under it.
    """
    try:
        yield
    except ShuffleproofError as error:
        st.error(refusal(error))
        if again:
            st.button("Try again", key="again")


def long_error(text: str) -> None:
    """Draw an error whose further lines list more of its kind."""
    headline, _, rest = text.partition("\n")
    st.error(refusal(headline))
    if rest:
        st.code(rest, language=None, height=240 if rest.count("\n") > 9 else None)


def sentence(text: str, place: Any = st) -> None:
    """A sentence of ours: names of rankers in it are shown, nothing in it is markup."""
    place.markdown(escaped_sentence(text))


def note(text: str, place: Any = st) -> None:
    """The same in small letters."""
    place.caption(escaped_sentence(text))


def finding(text: str) -> None:
    """The sentences that the program wrote from the numbers."""
    st.markdown(f"**{escaped_sentence(text)}**", help=terms.help_with_terms(text))


CHIPS: Mapping[str, tuple[str, str]] = {
    SURVIVES: ("green", "check_circle"),
    BENDS: ("orange", "trending_down"),
    BREAKS: ("red", "error"),
    NOISE: ("blue", "blur_on"),
    UNTOLD: ("gray", "help"),
    BEST: ("green", "emoji_events"),
}
"""How what becomes of a ranker is marked: colour and icon of Material Symbols."""


def headline(answer: Headline) -> None:
    """The answer in a sentence, before it what becomes of the ranker that it names first."""
    st.markdown(headline_words(answer), help=terms.help_with_terms(answer.text, answer.why))


def headline_words(answer: Headline) -> str:
    """The same as Markdown."""
    chip = ""
    if answer.tier:
        colour, icon = CHIPS[answer.tier]
        chip = f":{colour}-badge[:material/{icon}: {answer.label or answer.tier}] "
    return f"{chip}**{escaped_sentence(answer.text)}**"


def convention(words: str, *more: str) -> None:
    """Line about the numbers: the measure's conventions, then counts."""
    st.caption(" · ".join((words, *map(escaped, more))))  # the measure's words can be copied


Name = TypeVar("Name", bound=str)


def select(  # noqa: PLR0913 (what Streamlit takes, named)
    label: str, key: str, options: Iterable[str], usual: str, *, of: str = "", place: Any = st,
    **more: Any,
) -> str:  # fmt: skip
    """Draw a choice of one that is always in the address.

    Args:
        label: of the widget.
        key: in the address, and the widget's.
        options: what there is, as the address says it.
        usual: meaning of an address without the key.
        of: owner of the choice; a new owner resets it.
        place: where it is drawn.
        more: what `st.selectbox` takes beside.
    """
    settled = address.selectbox(key, address.option_texts(*options), usual, of)
    return str(place.selectbox(label, **settled, **more))


def segments(
    label: str, key: str, options: Mapping[Name, str], usual: Name | None = None, *,
    place: Any = st, **more: Any,
) -> Name:  # fmt: skip
    """Draw a choice of one of a few, all of them in view; the address keeps all but the usual.

    Args:
        label: of the widget.
        key: in the address, and the widget's.
        options: what each is called on the page.
        usual: what an address that says nothing means; by default the first.
        place: where it is drawn.
        more: what `st.segmented_control` takes beside.
    """
    default = next(iter(options)) if usual is None else usual
    chosen: Name | None = place.segmented_control(
        label, list(options), default=default, required=True, key=key, bind="query-params",
        format_func=options.__getitem__, **more,
    )  # fmt: skip
    return chosen or default


def shell(command: str) -> None:
    """A command, or several lines of them, to be copied."""
    st.code(command, language="bash", wrap_lines=True)


def not_yet(missing: str, remedy: str = "", command: str = "") -> None:
    """A page that can't do anything yet says what is missing and what provides it."""
    st.info(escaped_sentence(missing), icon=":material/hourglass_empty:")
    if remedy:
        sentence(remedy)
    if command:
        shell(command)


def link(
    path: str, label: str, icon: str = "arrow_forward", query: Mapping[str, str] | None = None
) -> None:
    """A link to another page, which the navigation knows by its path.

    Args:
        path: of the page.
        label: what the link is called.
        icon: of Material Symbols, before the label.
        query: what the page's address must say.
    """
    st.page_link(
        page_at(path, label),
        label=label,
        icon=f":material/{icon}:",
        query_params=query,
    )


def page_at(path: str, title: str = "elsewhere") -> StreamlitPage:
    """A page that the navigation knows by its path."""
    return st.Page(_elsewhere, title=title, url_path=path)


def _elsewhere() -> None:
    """Placeholder of a page, which Streamlit finds by its path."""


def fold(
    label: str, key: str, icon: str | None = None, *, expanded: bool = False
) -> DeltaGenerator | None:
    """Draw an expander; returns the place of its content once the user has opened it.

    Args:
        label: of the widget.
        key: of the widget.
        icon: before the label.
        expanded: whether it begins open.
    """
    place = st.expander(label, key=key, icon=icon, expanded=expanded, on_change="rerun")
    return place if place.open else None


def address_here(**more: str) -> dict[str, list[str]]:
    """Query parameters that show the same page in another browser."""
    return address.whole_address() | {name: [value] for name, value in more.items()}


@dataclass(frozen=True)
class ExportContent:
    """Downloads of a result.

    Attributes:
        figures: the figure's files in a width (a name of WIDTHS, or empty: as on a screen), with
            or without a caption line.
        tables: asks for the table's files.
        recipe: the recipe's file.
        link: asks for the query parameters that show the same in another browser.
        report: the whole report's file.
        python: writes the lines of Python that make it again; None: no menu.
        command: writes the command, or says in an error why there is none; None: no menu.
        more: other files, such as a benchmark's runs.
    """

    figures: Callable[[str, bool], Sequence[File]]
    tables: Callable[[], Sequence[File]]
    recipe: File
    link: Callable[[], Mapping[str, Sequence[str]]]
    report: File | None = None
    python: Callable[[], str] | None = None
    command: Callable[[], str] | None = None
    more: Sequence[File] = ()


@st.fragment
def exports_row(shared: ExportContent, key: str) -> None:
    """One row of menus: link, command, Python, figure, table, recipe, report.

    A menu is filled when it is opened: pages draw faster, and the link is of that moment.
    """
    st.subheader("Export")
    fill: dict[tuple[str, str], Callable[[], None] | None] = {
        ("Link", "link"): lambda: _link(shared.link()),
        ("Command", "terminal"): shared.command and partial(command, shared.command),
        ("Python", "code"): shared.python and partial(command, shared.python, "python"),
        ("Figure", "show_chart"): lambda: _figures(shared.figures, key),
        ("Table", "table"): lambda: downloads(shared.tables(), key),
        ("Recipe and report", "description"): lambda: downloads(
            [shared.recipe, *([shared.report] if shared.report else []), *shared.more], key
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
    st.caption("The same study with the same choices, in any browser that reaches it.")
    page = str(st.context.url or "").partition("?")[0]
    st.code(f"{page}?{urlencode(link, doseq=True)}", language=None, wrap_lines=True)


def command(written: Callable[[], str], language: str = "bash") -> None:
    """Draw a command line, or the same in another language, or say why there is none."""
    try:
        st.code(written(), language=language, wrap_lines=True)
    except ShuffleproofError as error:
        st.caption(refusal(error))


def _figures(files: Callable[[str, bool], Sequence[File]], key: str) -> None:
    """The figure's files, as on a screen or in a width that is printed or projected."""
    if not files("", True):  # noqa: FBT003 (as ExportContent says)
        return
    width = st.segmented_control(
        "Width", ("", *WIDTHS), default="", required=True, key=f"{key}.width",
        format_func=lambda name: name.replace("mm", " mm") or "Screen",
        help="A column and a page of a journal with letters of 8 points, a slide with 18.",
    )  # fmt: skip
    caption = st.toggle(
        "Caption line", value=True, key=f"{key}.caption",
        help="Data set, queries, seeds, convention and study under the figure.",
    )  # fmt: skip
    downloads(files(str(width or ""), caption), key)


def downloads(files: Sequence[File], key: str) -> None:
    """Draw a button for each file; key is what theirs begin with."""
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
