"""Foreign JSON, read within bounds: bytes, depth, finite numbers."""

import json
from pathlib import Path
from typing import Any, NoReturn

from shuffleproof.core.errors import DataError

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


def read_object(path: Path, remedy: str, most: int = MOST_BYTES) -> dict[str, Any]:
    """The object in a file that a user names.

    Raises:
        DataError: it cannot be read, or holds no object; `remedy` says what to do.
    """
    try:
        values = read_json(path, most)
    except json.JSONDecodeError as error:
        place = f"{path}:{error.lineno}"
        raise DataError(place, f"no JSON at column {error.colno} ({error.msg})", remedy) from None
    except OSError as error:
        raise DataError(str(path), f"cannot be read ({error.strerror})", remedy) from None
    except ValueError as error:  # too large, too deep, no UTF-8, NaN, an endless whole number
        raise DataError(str(path), str(error), remedy) from None
    if not isinstance(values, dict):
        raise DataError(str(path), "it is JSON, but no object of names and values", remedy)
    return values


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
