"""In which format `export` writes a file: told before anything is loaded that writes one."""

import argparse

from shuffleproof.core.errors import UsageError

ENDINGS = {
    ".run": "run", ".qrels": "qrels", ".txt": "letor", ".gz": "letor", "": "letor", ".csv": "csv",
    ".parquet": "parquet", ".tex": "latex", ".md": "markdown", ".zip": "run", ".html": "html",
    ".json": "json", ".pdf": "pdf", ".svg": "svg", ".png": "png",
}  # fmt: skip


def export_format(arguments: argparse.Namespace) -> str:
    """What `--format` says, else the file's ending; of a collection, what is written of it.

    Raises:
        UsageError: the ending names no format, or there is no file or more than one.
    """
    of_collection = [name for name in ("vectors", "run") if getattr(arguments, name) is not None]
    if len(of_collection) + (arguments.out is not None) != 1:
        raise UsageError("name one file: FILE, or of a collection --vectors FILE or --run FILE")
    if of_collection:
        return of_collection[0]
    found: str | None = arguments.format or ENDINGS.get(arguments.out.suffix)
    if found is None:
        known = ", ".join(filter(None, ENDINGS))
        raise UsageError(
            f"the ending {arguments.out.suffix!r} names no format: give one of {known}, or --format"
        )
    return found
