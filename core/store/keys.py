"""The content key of an artefact: a digest of what determines it, never a name or a path."""

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shuffleproof.core.errors import ParameterError, no_file

FORMAT = 1
"""Version of the stored formats; raising it makes every older artefact a stranger."""

SHOWN_DIGITS = 16
KIND = re.compile(r"[a-z][a-z0-9-]{0,40}")
DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, order=True)
class ArtefactKey:
    """Key of an artefact.

    Attributes:
        kind: `dataset`, `ranker`, `study`, …: lower-case letters, digits, `-`.
        digest: SHA-256 of all that determines its content, 64 hexadecimal digits.
    """

    kind: str
    digest: str

    def __post_init__(self) -> None:
        """Check that both can be part of a file name."""
        if not KIND.fullmatch(self.kind):
            raise ParameterError("artefact kind", self.kind, "lower-case letters, digits and -")
        if not DIGEST.fullmatch(self.digest):
            raise ParameterError("artefact digest", self.digest, "64 hexadecimal digits")

    def __str__(self) -> str:
        """The kind and the first 16 digits, the artefact's directory name."""
        return f"{self.kind}-{self.digest[:SHOWN_DIGITS]}"


def key_of(kind: str, recipe: Mapping[str, Any], inputs: Sequence[str] = ()) -> ArtefactKey:
    """The key of the artefact that this recipe makes from these inputs.

    Args:
        kind: what the artefact is.
        recipe: plain JSON values; tuples count as lists, the order of keys does not matter.
        inputs: digests of what the recipe is applied to; their order matters.

    Raises:
        ParameterError: the recipe holds something that JSON cannot say, NaN and infinity included.

    >>> str(key_of("ranker", {"width": 8}, ["ab"]))
    'ranker-90ace8cc37a6b8fa'
    """
    text = canonical_json({"format": FORMAT, "inputs": list(inputs), "recipe": recipe})
    return ArtefactKey(kind, hashlib.sha256(text.encode()).hexdigest())


def file_digest(path: Path) -> str:
    """SHA-256 of the bytes of a file.

    Raises:
        DataError: there is no such file.
    """
    if not path.is_file():
        raise no_file(path)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def canonical_json(value: Any) -> str:
    """The one JSON text of a value: sorted keys, no blanks, ASCII, shortest floats.

    Raises:
        ParameterError: the value holds something that JSON cannot say.

    >>> canonical_json({"b": (1, 2.0), "a": None})
    '{"a":null,"b":[1,2.0]}'
    """
    plain = _plain(value, "recipe")
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _plain(value: Any, place: str) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        raise ParameterError(place, value, "a finite number")
    if isinstance(value, list | tuple):
        return [_plain(item, f"{place}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                raise ParameterError(f"a key of {place}", name, "text")
        return {name: _plain(item, f"{place}.{name}") for name, item in value.items()}
    raise ParameterError(place, value, "text, a number, true, false, none, a list or a mapping")
