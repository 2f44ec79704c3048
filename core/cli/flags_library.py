"""The commands about what is stored: `library` and `export`; and `demo`, `sample`, `app`."""

import argparse
from pathlib import Path

from shuffleproof.core.cli import flags
from shuffleproof.core.numerals import is_count, whole
from shuffleproof.core.studies.figure_size import WIDTHS

SIZES = {"column": (480, 420), "page": (840, 400)}
"""Pixels: letters stay readable where the figure is as wide as a column or the page."""

LEAST_SIZE, MOST_SIZE = 100, 10_000
FORMATS = (
    "run", "qrels", "letor", "csv", "parquet", "arrow", "jsonl", "latex", "markdown", "html",
    "json", "pdf", "svg", "png",
)  # fmt: skip
A_NAME = "a name or key"
OR_PRESET = f"{A_NAME}, or a preset of `tune`: RANKER@NAME"
STORED_KINDS = ("data", "ranker", "study", "scores", "preferences", "collection")


def add(commands: flags.Commands) -> None:
    """Add them."""
    _library(commands)
    _export(commands)
    summary = "the main job on the sample set, in minutes"
    demo = flags.command(commands, "demo", "work:demo", summary)
    demo.add_argument("--out", type=Path, default=Path("reports/demo.html"), help="the report")
    sample = flags.command(commands, "sample", "sample:sample", "make what sample_data ships")
    sample.add_argument("folder", type=Path, help="the folder sample_data")
    add = flags.command(commands, "app", "work:app", "open the dashboard").add_argument
    add("--host", default="127.0.0.1", help="address to listen on")
    add("--port", type=whole, choices=range(1, 65_536), metavar="PORT", default=8501)
    add("--allow-host", nargs="+", help="host names it answers to, beside loopback")
    add("--base-path", help="path below which a proxy serves it")


def _library(commands: flags.Commands) -> None:
    library = commands.add_parser("library", help="what is stored: names, archives, damage")
    doings = library.add_subparsers(required=True, metavar="DOING")

    def doing(name: str, function: str, summary: str) -> argparse.ArgumentParser:
        return flags.command(doings, name, f"library:{function}", summary)

    doing("list", "listing", "everything that is stored").add_argument(
        "--kind", choices=STORED_KINDS
    )
    show = doing("show", "show", "one entry: recipe, needs, command, Python")
    show.add_argument("what", help=OR_PRESET)
    export = doing("export", "export", "one archive for another machine")
    export.add_argument("out", type=Path, help="the file to write")
    export.add_argument("what", nargs="+", help="names or keys; what they need goes along")
    importing = doing("import", "take", "take the artefacts of an archive")
    importing.add_argument("archive", type=Path, help="a file of `library export`")
    rename = doing("rename", "rename", "call something by another name")
    rename.add_argument("what", help=A_NAME)
    rename.add_argument("name", help="its new name")
    delete = doing("delete", "delete", "delete something")
    delete.add_argument("what", help=OR_PRESET)
    dependents = "and everything that was made from it"
    delete.add_argument("--with-dependents", action="store_true", help=dependents)
    verify = doing("verify", "verify", "read every file and compare digests")
    verify.add_argument("what", nargs="*", help="names or keys (default: everything)")
    clean = doing("clean", "clean", "what nobody needs: trials, left files")
    clean.add_argument("--yes", action="store_true", help="remove it; without, it is only listed")


def _export(commands: flags.Commands) -> None:
    export = flags.command(commands, "export", "export:export", "write something stored to a file")
    export.set_defaults(first="open:export_format", late="out")
    add = export.add_argument
    add("what", help="a stored study, ranker, data set or collection: key or name")
    out = "the file; its ending names the format (none: a LETOR folder)"
    add("out", type=Path, nargs="?", metavar="FILE", help=out)
    add("--format", choices=FORMATS)
    add("--per-query", action="store_true", help="of a study: values by query instead of means")
    add("--figure", type=flags.count, help="of a study: number of its figure (default 1)")
    add("--no-caption", action="store_true", help="leave out the line under a figure")
    large = export.add_mutually_exclusive_group()
    width = "of a figure for a column, a page or a slide, with letters to match"
    large.add_argument("--width", choices=tuple(WIDTHS), help=width)
    size = "of a figure, in pixels (default 900x500), or `column` or `page` of a paper"
    large.add_argument("--size", type=_size, default="900x500", metavar="WIDTHxHEIGHT", help=size)
    add("--against", help="of a benchmark: baselines for its marks (default initial ranking)")
    add("--vectors", type=Path, metavar="FILE", help="of a collection: learnt vectors, JSON lines")
    add("--run", type=Path, metavar="FILE", help="of a collection: results of its queries (TREC)")
    by = "of a collection: retriever of vectors (default snrm) or of a run (default bm25)"
    add("--by", metavar="RETRIEVER", help=by)
    add("-k", type=flags.count, default=1000, help="documents a query (default 1000)")
    flags.measures(export, None)
    flags.baselines(export)
    export.set_defaults(test=None, marks=None)  # told from what was given
    part = "of a data set (default: all in tables and folders, test in other files)"
    add("--part", choices=("all", "train", "valid", "test"), help=part)
    flags.workbench(export)


def _size(text: str) -> tuple[int, int]:
    """Width and height of a figure.

    >>> _size("640x360"), _size("column")
    ((640, 360), (480, 420))
    """
    width, _, height = text.partition("x")
    if text in SIZES:
        return SIZES[text]
    if is_count(width) and is_count(height):
        size = int(width), int(height)
        if min(size) >= LEAST_SIZE and max(size) <= MOST_SIZE:
            return size
    reason = f"is not WIDTHxHEIGHT of {LEAST_SIZE} to {MOST_SIZE} pixels, column or page"
    raise argparse.ArgumentTypeError(f"{text!r} {reason}")
