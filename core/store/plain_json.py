"""Foreign JSON, read within bounds: bytes, depth, finite numbers."""

import json
from pathlib import Path
from typing import Any, NoReturn

MOST_BYTES = 8 << 20
"""Of a file of JSON that is read whole; parsed it takes up to some thirty times as much memory."""


def read_json(path: Path, most: int = MOST_BYTES) -> Any:
    """The value in a file.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is no JSON, larger than `most` bytes, nested too deeply, or says NaN.
    """
    with path.open("rb") as file:
        return parse_json(file.read(most + 1), most)


def parse_json(content: bytes, most: int = MOST_BYTES) -> Any:
    """The value that a text says; raises ValueError as `read_json` does."""
    if len(content) > most:
        message = f"more than {most:,} bytes of JSON"
        raise ValueError(message)
    try:
        return json.loads(content, parse_constant=_refuse)
    except RecursionError:
        message = "JSON nested too deeply"
        raise ValueError(message) from None


def _refuse(text: str) -> NoReturn:
    message = f"{text} is no number of JSON"
    raise ValueError(message)
