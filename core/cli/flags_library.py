"""The commands about what is stored: `library` and `export`."""

import argparse
from pathlib import Path

from shuffleproof.core.cli import flags
from shuffleproof.core.numerals import is_count
from shuffleproof.core.studies.figure_size import WIDTHS

SIZES = {"column": (480, 420), "page": (840, 400)}
"""Pixels: letters stay readable where the figure is as wide as a column or the page."""

LEAST_SIZE, MOST_SIZE = 100, 10_000


A_NAME = "a name or key"
OR_PRESET = f"{A_NAME}, or what tune made: RANKER@NAME"


def add(commands: flags.Commands) -> None:
    """Add them."""
    _library_commands(commands)
    _export_command(commands)


def _library_commands(commands: flags.Commands) -> None:
    library = commands.add_parser("library", help="what is stored: names, archives, damage")
    doings = library.add_subparsers(required=True, metavar="DOING")
    listing = flags.command(doings, "list", "library:listing", "everything that is stored")
    listing.add_argument(
        "--kind", choices=("data", "ranker", "study", "scores", "preferences", "collection")
    )
    show = flags.command(
        doings, "show", "library:show", "one entry: recipe, needs, command, Python"
    )
    show.add_argument("what", help=OR_PRESET)
    export = flags.command(doings, "export", "library:export", "one archive for another machine")
    export.add_argument("out", type=Path, help="the file to write")
    export.add_argument("what", nargs="+", help="names or keys; what they need goes along")
    importing = flags.command(doings, "import", "library:take", "take the artefacts of an archive")
    importing.add_argument("archive", type=Path, help="what `library export` wrote")
    rename = flags.command(doings, "rename", "library:rename", "call something by another name")
    delete = flags.command(doings, "delete", "library:delete", "delete something")
    for command, which in ((rename, A_NAME), (delete, OR_PRESET)):
        command.add_argument("what", help=which)
    rename.add_argument("name", help="its new name")
    delete.add_argument(
        "--with-dependents", action="store_true", help="and everything that was made from it"
    )
    verify = flags.command(
        doings, "verify", "library:verify", "read every file and compare digests"
    )
    verify.add_argument("what", nargs="*", help="names or keys (default: everything)")
    clean = flags.command(doings, "clean", "library:clean", "what nobody needs: trials, left files")
    clean.add_argument("--yes", action="store_true", help="remove it; without, it is only told")


def _export_command(commands: flags.Commands) -> None:
    export = flags.command(commands, "export", "export:export", "write something stored to a file")
    export.set_defaults(first="open:export_format", late="out")
    export.add_argument("what", help="a stored study, ranker, data set or collection: key or name")
    export.add_argument(
        "out",
        type=Path,
        nargs="?",
        metavar="FILE",
        help="the file; its ending says the format (none: a LETOR folder)",
    )
    export.add_argument(
        "--format",
        choices=(
            "run", "qrels", "letor", "csv", "parquet", "arrow", "jsonl", "latex", "markdown",
            "html", "json", "pdf", "svg", "png",
        ),
    )  # fmt: skip
    export.add_argument(
        "--per-query", action="store_true", help="of a study: every query's value, not the means"
    )
    export.add_argument(
        "--figure", type=flags.count, help="of a study: which of its figures, from 1 (default 1)"
    )
    export.add_argument(
        "--no-caption", action="store_true",
        help="leave out the line under a figure: data set, queries, seeds, convention, study",
    )  # fmt: skip
    large = export.add_mutually_exclusive_group()
    large.add_argument(
        "--width", choices=tuple(WIDTHS),
        help="of a figure that is printed or projected, with letters to match: a column, a page "
        "or a slide",
    )  # fmt: skip
    large.add_argument(
        "--size", type=_size, default="900x500", metavar="WIDTHxHEIGHT",
        help="of a figure, in pixels, 96 an inch (default 900x500); `column` and `page` fit a "
        "column and a page of a paper",
    )  # fmt: skip
    export.add_argument(
        "--against", help="of a benchmark: baselines for its marks (default initial ranking)"
    )
    export.add_argument(
        "--vectors", type=Path, metavar="FILE",
        help="of a collection: its documents' learnt vectors, a line of JSON each: id, vector",
    )  # fmt: skip
    export.add_argument(
        "--run", type=Path, metavar="FILE", help="of a collection: what its queries find (TREC)"
    )
    export.add_argument(
        "--by", metavar="RETRIEVER",
        help="of a collection: whose vectors (default snrm) or whose run (default bm25)",
    )  # fmt: skip
    export.add_argument(
        "-k", type=flags.count, default=1000, help="documents a query (default 1000)"
    )
    flags.measures(export, None)
    flags.baselines(export)
    export.set_defaults(test=None, marks=None)  # told from what was given
    export.add_argument(
        "--part",
        choices=("all", "train", "valid", "test"),
        help="of a data set (default: all in tables and folders, test in other files)",
    )
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
