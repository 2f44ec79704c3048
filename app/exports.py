"""Results as files: a figure, a table, a recipe, and whether this machine can make them.

HTML needs nothing. SVG, PDF and PNG are drawn by Kaleido in an installed Chromium or Chrome.
"""

import importlib.util
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from shuffleproof.app.figures.style import names_printed, on_paper
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.studies.figure_size import INCH, WIDTHS
from shuffleproof.core.studies.table_text import table_bytes
from shuffleproof.core.studies.tables import Table

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
WIDTH, HEIGHT, PNG_SCALE = 900, 500, 2
PRINTED = 300 / INCH
"""Of a PNG that is printed: 300 dots an inch."""

SECONDS = 60.0
MIME = {
    "html": "text/html", "svg": "image/svg+xml", "pdf": "application/pdf", "png": "image/png",
    "csv": "text/csv", "parquet": "application/vnd.apache.parquet", "tex": "application/x-tex",
    "md": "text/markdown", "json": "application/json", "zip": "application/zip",
}  # fmt: skip
FIGURES = ("html", "svg", "pdf", "png")
TABLES = {"csv": "CSV", "parquet": "Parquet", "tex": "LaTeX", "md": "Markdown"}
NO_NAME = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]')


class ExportError(ShuffleproofError):
    """A file could not be made; the message says why."""


@dataclass(frozen=True)
class File:
    """One file to take away.

    Attributes:
        label: what the button says.
        name: the file's name.
        make: its content, made when it is asked for.
        missing: why it cannot be made here, or empty.
    """

    label: str
    name: str
    make: Callable[[], bytes]
    missing: str = ""

    def __post_init__(self) -> None:
        """Leave nothing in the name that is a path, a device or part of a header."""
        object.__setattr__(self, "name", NO_NAME.sub("_", self.name).lstrip("."))

    @property
    def mime(self) -> str:
        """Its media type."""
        return MIME[self.name.rpartition(".")[2]]


def figure_files(figure: go.Figure, stem: str, width: str = "") -> list[File]:
    """A figure as HTML, SVG, PDF and PNG.

    Args:
        figure: what is drawn.
        stem: the files' names without their endings.
        width: a name of WIDTHS; empty: as on a screen.
    """
    missing = drawing_lacks()
    stem += f"-{width}".replace(":", "by") if width else ""
    return [
        File(
            kind.upper(),
            f"{stem}.{kind}",
            lambda kind=kind: figure_as(figure, kind, width=width),  # type: ignore[misc]
            "" if kind == "html" else missing,
        )
        for kind in FIGURES
        if not (width and kind == "html")
    ]


def table_files(table: Table, stem: str) -> list[File]:
    """A table as CSV, Parquet, LaTeX and Markdown."""
    return [
        File(words, f"{stem}.{ending}", lambda ending=ending: table_bytes(table, ending))  # type: ignore[misc]
        for ending, words in TABLES.items()
    ]


def recipe_file(recipe: Mapping[str, Any], facts: Mapping[str, Any], stem: str) -> File:
    """A study's recipe and facts as JSON."""
    text = json.dumps({"recipe": recipe, "facts": facts}, indent=1, ensure_ascii=False)
    return File("Recipe (JSON)", f"{stem}.json", text.encode)


def figure_as(
    figure: go.Figure, kind: str, size: tuple[int, int] = (WIDTH, HEIGHT), width: str = ""
) -> bytes:
    """A figure as the bytes of a file: html, svg, pdf or png.

    Args:
        figure: what is drawn.
        kind: the file's ending.
        size: width and height in pixels, 96 an inch; HTML takes the window's.
        width: a name of WIDTHS, instead of the size; names that only a legend or a click would
            tell are printed.

    Raises:
        ExportError: nothing here can draw it, or the drawing failed.
    """
    if kind == "html":
        page: str = on_paper(figure).to_html(include_plotlyjs=True, full_html=True)
        return page.encode()
    missing = drawing_lacks()
    if missing:
        raise ExportError(missing)
    import kaleido  # noqa: PLC0415 (only who draws needs it)

    paper = on_paper(figure)
    wide, high, scale = float(size[0]), float(size[1]), 1.0
    if width:
        paper = names_printed(paper)
        wide, high, scale = WIDTHS[width].pixels(paper.layout.height or HEIGHT)
    fine = PRINTED if width else PNG_SCALE
    try:
        drawn: bytes = kaleido.calc_fig_sync(
            paper.to_plotly_json(),
            opts={
                "format": kind, "width": wide, "height": high,
                "scale": scale * (fine if kind == "png" else 1),
            },
            kopts={"path": browser(), "timeout": SECONDS},
        )  # fmt: skip
    except Exception as error:
        raise ExportError(f"the browser could not draw the figure: {error}") from error
    return drawn


def browser() -> str | None:
    """The browser that draws: `BROWSER_PATH`, or Chromium or Chrome on the path."""
    return os.environ.get("BROWSER_PATH") or next(filter(None, map(shutil.which, BROWSERS)), None)


def drawing_lacks() -> str:
    """What this machine lacks to draw SVG, PDF and PNG, as a sentence; empty if nothing.

    >>> drawing_lacks() == "" or drawing_lacks().endswith(".")
    True
    """
    if importlib.util.find_spec("kaleido") is None:
        return "SVG, PDF and PNG need the package kaleido: pip install kaleido."
    if browser() is None:
        return "SVG, PDF and PNG need Chromium or Chrome: apt install chromium, or BROWSER_PATH."
    return ""
