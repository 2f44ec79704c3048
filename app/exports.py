"""Results as files: a figure, a table, a recipe, and whether this machine can make them.

HTML needs nothing. SVG, PDF and PNG are drawn by Kaleido in an installed Chromium or Chrome.
"""

import importlib.util
import io
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures.style import on_paper
from shuffleproof.core.data.csv_text import csv
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.words import one_line

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
WIDTH, HEIGHT, PNG_SCALE = 900, 500, 2
SECONDS = 60.0
MIME = {
    "html": "text/html", "svg": "image/svg+xml", "pdf": "application/pdf", "png": "image/png",
    "csv": "text/csv", "parquet": "application/vnd.apache.parquet", "tex": "application/x-tex",
    "md": "text/markdown", "json": "application/json", "zip": "application/zip",
}  # fmt: skip
FIGURES = ("html", "svg", "pdf", "png")
TABLES = ("csv", "parquet", "tex", "md")
NO_NAME = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]')
SPECIAL = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "▲": r"$\blacktriangle$", "▼": r"$\blacktriangledown$", "τ": r"$\tau$", "−": "$-$",
}  # fmt: skip


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


def figure_files(figure: go.Figure, stem: str) -> list[File]:
    """A figure as HTML, SVG, PDF and PNG."""
    missing = drawing_lacks()
    return [
        File(
            kind.upper(),
            f"{stem}.{kind}",
            lambda kind=kind: figure_as(figure, kind),  # type: ignore[misc]
            "" if kind == "html" else missing,
        )
        for kind in FIGURES
    ]


def table_files(frame: pd.DataFrame, stem: str) -> list[File]:
    """A table as CSV, Parquet, LaTeX and Markdown."""
    words = {"csv": "CSV", "parquet": "Parquet", "tex": "LaTeX", "md": "Markdown"}
    return [
        File(words[kind], f"{stem}.{kind}", lambda kind=kind: table_as(frame, kind))  # type: ignore[misc]
        for kind in TABLES
    ]


def recipe_file(recipe: Mapping[str, Any], facts: Mapping[str, Any], stem: str) -> File:
    """A study's recipe and facts as JSON."""
    text = json.dumps({"recipe": recipe, "facts": facts}, indent=1, ensure_ascii=False)
    return File("Recipe (JSON)", f"{stem}.json", text.encode)


def figure_as(figure: go.Figure, kind: str) -> bytes:
    """A figure as the bytes of a file: html, svg, pdf or png.

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

    try:
        drawn: bytes = kaleido.calc_fig_sync(
            on_paper(figure).to_plotly_json(),
            opts={
                "format": kind, "width": WIDTH, "height": HEIGHT,
                "scale": PNG_SCALE if kind == "png" else 1,
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


def table_as(frame: pd.DataFrame, kind: str) -> bytes:
    """A table as the bytes of a file: csv, parquet, tex or md; the first two exact."""
    if kind == "csv":
        return csv(frame).encode()
    if kind == "parquet":
        content = io.BytesIO()
        frame.to_parquet(content, index=False)
        return content.getvalue()
    whole = [_is_whole(frame[column]) for column in frame.columns]
    rows = [
        [_cell(value, is_whole) for value, is_whole in zip(row, whole, strict=True)]
        for row in frame.itertuples(index=False)
    ]
    heads = [one_line(str(column).replace("_", " ")) for column in frame.columns]
    return (_latex if kind == "tex" else _markdown)(heads, rows, _numeric(frame)).encode()


def _numeric(frame: pd.DataFrame) -> list[bool]:
    return [pd.api.types.is_numeric_dtype(kind) for kind in frame.dtypes]


def _is_whole(column: "pd.Series[Any]") -> bool:
    """Numbers without a broken one among them: levels and counts."""
    if not pd.api.types.is_numeric_dtype(column.dtype):
        return False
    known = column.dropna()
    return bool((known == known.round()).all()) and bool((known.abs() >= 1).any())


def _cell(value: Any, is_whole: bool) -> str:  # noqa: FBT001 (a fact of the column)
    """Three decimals, whole numbers as they are, nothing for NaN."""
    if isinstance(value, float):
        if pd.isna(value):
            return ""
        if is_whole:
            return f"{value:.0f}"
        return f"{value:.3f}" if abs(value) >= 5e-4 or not value else f"{value:.1e}"
    return one_line(str(value))


def _markdown(heads: list[str], rows: list[list[str]], numeric: list[bool]) -> str:
    lines = [heads, ["--:" if number else ":--" for number in numeric], *rows]
    escaped = [[re.sub(r"([|\\`*_<>])", r"\\\1", cell) for cell in line] for line in lines]
    escaped[1] = lines[1]
    return "".join(f"| {' | '.join(line)} |\n" for line in escaped)


def _latex(heads: list[str], rows: list[list[str]], numeric: list[bool]) -> str:
    columns = "".join("r" if number else "l" for number in numeric)
    lines = [rf"\begin{{tabular}}{{{columns}}}", r"\hline"]
    lines += [" & ".join(map(_escaped, heads)) + r" \\", r"\hline"]
    lines += [" & ".join(map(_escaped, row)) + r" \\" for row in rows]
    return "\n".join([*lines, r"\hline", r"\end{tabular}", ""])


def _escaped(text: str) -> str:
    return "".join(SPECIAL.get(character, character) for character in text)
