"""Results as files: figures, tables and recipes, and the requirements of each format.

HTML has no requirements. Kaleido draws SVG, PDF and PNG in an installed Chromium or Chrome.
"""

import base64
import importlib.util
import json
import os
import re
import shutil
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import plotly.graph_objects as go

from shuffleproof.app.figures.style import names_printed, on_paper
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.metrics.measure import Measure, is_measure
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.figure_size import INCH, width_of
from shuffleproof.core.studies.table_text import table_bytes
from shuffleproof.core.studies.tables import Table
from shuffleproof.core.words import counted

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
WIDTH, HEIGHT, PNG_SCALE = 900, 500, 2
PRINTED = 300 / INCH
"""Scale of a PNG for print: 300 dots per inch."""

SECONDS = 60.0
MIME = {
    "html": "text/html", "svg": "image/svg+xml", "pdf": "application/pdf", "png": "image/png",
    "csv": "text/csv", "parquet": "application/vnd.apache.parquet", "tex": "application/x-tex",
    "md": "text/markdown", "json": "application/json", "zip": "application/zip", "gif": "image/gif",
}  # fmt: skip
FIGURES = ("html", "svg", "pdf", "png")
TABLES = {"csv": "CSV", "parquet": "Parquet", "tex": "LaTeX", "md": "Markdown"}
NO_NAME = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]')


class ExportError(ShuffleproofError):
    """A file could not be made; the message says why."""


@dataclass(frozen=True)
class File:
    """One file to download.

    Attributes:
        label: label of the button.
        name: name of the file.
        make: function that makes its content.
        missing: reason why it cannot be made here, or empty.
    """

    label: str
    name: str
    make: Callable[[], bytes]
    missing: str = ""

    def __post_init__(self) -> None:
        """Replace characters of paths, devices and HTTP headers in the name."""
        object.__setattr__(self, "name", NO_NAME.sub("_", self.name).lstrip("."))

    @property
    def mime(self) -> str:
        """Media type of the file."""
        return MIME[self.name.rpartition(".")[2]]


def study_stem(artefact: Artefact) -> str:
    """Prefix of a study's file names: kind, data set and the first digits of its key."""
    data = str(artefact.facts.get("data", ""))
    return "-".join(filter(None, [artefact.recipe["kind"], data, artefact.key.digest[:8]]))


def draws_of(recipe: Mapping[str, Any]) -> str:
    """Number of draws or seeds of a study in words; empty if it has none.

    >>> draws_of({"draws": 10}), draws_of({"rows": [{"seeds": 2}]})
    ('10 draws', '2 seeds')
    """
    if draws := recipe.get("draws"):
        return counted(draws, "draw")
    rows = (row.get("seeds", 0) for row in recipe.get("rows", ()))
    seeds = recipe.get("seeds") or max(rows, default=0)
    return counted(seeds, "seed") if seeds else ""


def study_caption(artefact: Artefact, measure: str = "") -> str:
    """Caption of a study's figures: data set, queries, draws, convention, key.

    Args:
        artefact: the study.
        measure: measure of the figure, with its conventions; empty: the study's first.
    """
    recipe, facts = artefact.recipe, artefact.facts
    measure = measure or str(next(iter(recipe.get("measures", ())), ""))
    parts = [
        str(facts.get("data", "")),
        f"n = {counted(facts['queries'], 'query')}" if "queries" in facts else "",
        draws_of(recipe),
        Measure.parse(measure).convention() if is_measure(measure) else "",
        str(artefact.key),
    ]
    return " · ".join(filter(None, parts))


def figure_files(figure: go.Figure, stem: str, width: str = "", caption: str = "") -> list[File]:
    """Figure as HTML, SVG, PDF and PNG files.

    Args:
        figure: the figure.
        stem: file name without its ending.
        width: as `width_of` reads it; empty: as on a screen.
        caption: a line under the figure; empty: none.
    """
    missing = drawing_lacks()
    if width:
        width_of(width)  # refuses what is no width
    stem += f"-{width}".replace(":", "by") if width else ""
    return [
        File(
            kind.upper(),
            f"{stem}.{kind}",
            lambda kind=kind: figure_as(figure, kind, width=width, caption=caption),  # type: ignore[misc]
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
    figure: go.Figure, kind: str, size: tuple[int, int] = (WIDTH, HEIGHT), width: str = "",
    caption: str = "",
) -> bytes:  # fmt: skip
    """Figure as the bytes of a file: html, svg, pdf or png.

    Args:
        figure: the figure.
        kind: ending of the file.
        size: width and height in pixels, 96 per inch; HTML fills the window.
        width: as `width_of` reads it, instead of the size; adds a legend for names that the
            figure would only show on a click.
        caption: a line under the figure; empty: none.

    Raises:
        ExportError: a requirement is missing, or the drawing failed.
    """
    if kind == "html":
        page: str = on_paper(figure).to_html(include_plotlyjs=True, full_html=True)
        return page.replace("</body>", f"<p>{escape(caption)}</p></body>").encode()
    missing = drawing_lacks()
    if missing:
        raise ExportError(missing)
    paper = on_paper(figure)
    wide, high, scale = float(size[0]), float(size[1]), 1.0
    if width:
        paper = names_printed(paper)  # paper has no hover texts
        wide, high, scale = width_of(width).pixels(paper.layout.height or HEIGHT)
    if caption:  # added below the finished drawing: Plotly would change the figure's margins
        svg, high = captioned(_drawn(paper, "svg", wide, high).decode(), caption, wide, high, scale)
        if kind == "svg":
            return svg.encode()
        paper = _image(svg)
    fine = PRINTED if width else PNG_SCALE
    return _drawn(paper, kind, wide, high, scale * (fine if kind == "png" else 1))


def _drawn(figure: go.Figure, kind: str, wide: float, high: float, scale: float = 1.0) -> bytes:
    import kaleido  # noqa: PLC0415 (only who draws needs it)

    try:
        drawn: bytes = kaleido.calc_fig_sync(
            figure.to_plotly_json(),
            opts={"format": kind, "width": wide, "height": high, "scale": scale},
            kopts={"path": browser(), "timeout": SECONDS},
        )
    except Exception as error:
        raise ExportError(f"the browser could not draw the figure: {error}") from error
    return drawn


LETTER, LINE = 5.2, 14
"""Pixels of a caption: mean width of a letter, height of a line."""


def captioned(
    svg: str, caption: str, width: float, height: float, scale: float = 1.0
) -> tuple[str, float]:
    """Drawing with a caption below it, wrapped to its width.

    Args:
        svg: the drawing.
        caption: the text.
        width: of the drawing, in pixels.
        height: of the drawing, in pixels.
        scale: scale of the result.

    Returns:
        The drawing with its caption, and its height before scaling.
    """
    lines = textwrap.wrap(caption, max(20, int(width / LETTER)))
    whole = height + LINE * (len(lines) + 0.5)
    texts = "".join(
        f'<text x="8" y="{height + LINE * at}" font-size="10" fill="#444">{escape(line)}</text>'
        for at, line in enumerate(lines, 1)
    )
    page = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {whole}" '
        f'width="{width * scale}" height="{whole * scale}" font-family="sans-serif">'
        f'<rect width="100%" height="100%" fill="white"/>{svg}{texts}</svg>'
    )
    return page, whole


def _image(svg: str) -> go.Figure:
    """Figure that contains only a drawing, so that Kaleido can convert it to PDF and PNG."""
    source = "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
    figure = go.Figure()
    figure.update_layout(
        template="none", margin={"l": 0, "r": 0, "t": 0, "b": 0, "pad": 0},
        xaxis={"visible": False}, yaxis={"visible": False},
        images=[{"source": source, "x": 0, "y": 1, "sizex": 1, "sizey": 1, "sizing": "stretch"}],
    )  # fmt: skip
    return figure


def browser() -> str | None:
    """Path of the browser that draws: `BROWSER_PATH`, or Chromium or Chrome on the path."""
    return os.environ.get("BROWSER_PATH") or next(filter(None, map(shutil.which, BROWSERS)), None)


def drawing_lacks() -> str:
    """Missing requirements for SVG, PDF and PNG, as a sentence; empty if none.

    >>> drawing_lacks() == "" or drawing_lacks().endswith(".")
    True
    """
    if importlib.util.find_spec("kaleido") is None:
        return "SVG, PDF and PNG need the package kaleido: pip install kaleido."
    if browser() is None:
        return "SVG, PDF and PNG need Chromium or Chrome: apt install chromium, or BROWSER_PATH."
    return ""
