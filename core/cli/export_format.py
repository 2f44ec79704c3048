"""In which format `export` writes a file: told before anything is loaded that writes one."""

import argparse

from shuffleproof.core.errors import UsageError

ENDINGS = {
    ".run": "run", ".qrels": "qrels", ".txt": "letor", ".gz": "letor", "": "letor", ".csv": "csv",
    ".parquet": "parquet", ".tex": "latex", ".md": "markdown", ".zip": "run", ".html": "html",
    ".json": "json", ".pdf": "pdf", ".svg": "svg", ".png": "png",
}  # fmt: skip


def chosen(arguments: argparse.Namespace) -> str:
    """What `--format` says, else the file's ending.

    Raises:
        UsageError: the ending names no format.
    """
    found: str | None = arguments.format or ENDINGS.get(arguments.out.suffix)
    if found is None:
        known = ", ".join(filter(None, ENDINGS))
        raise UsageError(
            f"the ending {arguments.out.suffix!r} names no format: give one of {known}, or --format"
        )
    return found
