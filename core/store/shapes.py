"""What a manifest must look like, by kind of artefact: what is not so is damaged, and is said.

A shape is a type, a tuple of types, a list `[shape]` (a list of such), a mapping `{"*": shape}`
(any names) or a mapping of names to shapes, where a name that ends in `?` may be absent.
"""

from collections.abc import Mapping
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

from shuffleproof.core.store.keys import DIGEST, FORMAT, KIND

NUMBER = (int, float)
MOST_DEPTH = 32
"""Mappings and lists inside one another in a manifest; what we write has six."""

LISTS = {
    "initial?": [str], "depth?": (int, type(None)), "scores?": str, "folds?": int, "seed?": int,
}  # fmt: skip
RANKER = {"name": str, "file?": str, "kind?": str, "model?": dict, "training?": dict}

RECIPES: Mapping[str, Any] = {
    "data": {"files?": {"*": [str]}},
    "ranker": {"ranker": RANKER, "lists?": (str, dict), "family?": str},
    "scores": {"ranker": RANKER},
    "study": {
        "kind": str, "rankers?": list, "rows?": [dict], "lists?": (str, dict), "initial?": [str],
        "perturbations?": [list], "measures?": [str], "draws?": int, "seed?": int,
    },
}  # fmt: skip
"""What the recipes of the library's kinds must hold; other kinds hold anything."""

FACTS: Mapping[str, Any] = {
    "data": {
        "name?": str, "queries?": int, "documents?": int, "features?": int, "fingerprint?": str,
        "notes?": [str], "parts?": {"*": {"queries": int, "documents": int}},
    },
    "ranker": {
        "name?": str, "valid?": {"*": NUMBER}, "test?": {"*": NUMBER}, "seconds?": NUMBER,
        "members?": [str], "file?": str, "epochs?": int, "machine?": str,
    },
    "study": {
        "data": str, "reads?": {"*": [str]}, "lists?": LISTS, "preset?": str, "queries?": int,
        "candidates?": int, "seconds?": NUMBER, "initial?": [str], "fingerprints?": [str],
    },
}  # fmt: skip
"""What the facts of the library's kinds must hold."""

_MANIFEST = {
    "format": int, "kind": str, "digest": str, "created": str, "recipe": dict, "facts": dict,
    "files": {"*": {"bytes": int, "sha256": str}},
    "imported?": {"from": str, "at": str},
}  # fmt: skip


def check_manifest(content: Any) -> dict[str, Any]:
    """The content of any artefact's manifest, as far as opening and filing it needs.

    Raises:
        ValueError: it is no manifest; the message says where, to be read after "its manifest".
    """
    _check(content, _MANIFEST, "")
    if content["format"] != FORMAT:
        raise _wrong("format", f"{content['format']}, where this version reads {FORMAT}")
    if not KIND.fullmatch(content["kind"]) or not DIGEST.fullmatch(content["digest"]):
        raise _wrong("kind or digest", "no part of a key")
    for name, text in (("created", content["created"]), *_imported(content)):
        _check_time(name, text)
    for name, entry in content["files"].items():
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or "\0" in name or not path.parts:
            raise _wrong("files", f"a path {name[:80]!r}")
        if entry["bytes"] < 0 or not DIGEST.fullmatch(entry["sha256"]):
            raise _wrong(f"files.{name[:80]}", "no size and SHA-256")
    for name in ("recipe", "facts"):
        _check_depth(content[name], name)
    return dict(content)


def check_kind(kind: str, recipe: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
    """The recipe and the facts of an artefact of this kind, as far as lists of entries need them.

    Raises:
        ValueError: a field is missing or of another type; the message says which.
    """
    _check(recipe, RECIPES.get(kind, dict), "recipe")
    _check(facts, FACTS.get(kind, dict), "facts")


def _imported(content: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [("imported.at", content["imported"]["at"])] if "imported" in content else []


def _check_time(place: str, text: str) -> None:
    try:
        known = datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        known = False
    if not known:
        raise _wrong(place, f"{text[:40]!r}, no time with its zone in ISO 8601")


def _check(value: Any, shape: Any, place: str) -> None:
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            raise _wrong(place, f"{_called(value)} instead of a mapping")
        for name, inner in _fields(value, shape, place).items():
            _check(value[name], inner, f"{place}.{name[:80]}".lstrip("."))
    elif isinstance(shape, list):
        if not isinstance(value, list):
            raise _wrong(place, f"{_called(value)} instead of a list")
        for one in value:
            _check(one, shape[0], f"{place}[]")
    elif not isinstance(value, shape) or (isinstance(value, bool) and shape is not bool):
        raise _wrong(place, f"{_called(value)} instead of {_wanted(shape)}")


def _fields(value: dict[str, Any], shape: dict[str, Any], place: str) -> dict[str, Any]:
    """The shapes of the fields that are there, by name; one that is missing is refused."""
    if "*" in shape:
        return dict.fromkeys(value, shape["*"])
    missing = [name for name in shape if not name.endswith("?") and name not in value]
    if missing:
        raise _wrong(place, f"no {missing[0]}")
    named = {name.removesuffix("?"): inner for name, inner in shape.items()}
    return {name: inner for name, inner in named.items() if name in value}


def _check_depth(value: Any, place: str, depth: int = 0) -> None:
    if depth > MOST_DEPTH:
        raise _wrong(place, f"more than {MOST_DEPTH} levels of nesting")
    for one in value.values() if isinstance(value, dict) else value:
        if isinstance(one, dict | list):
            _check_depth(one, place, depth + 1)


def _called(value: Any) -> str:
    names = {dict: "a mapping", list: "a list", str: "text", bool: "a truth value"}
    return "nothing" if value is None else names.get(type(value), "a number")


def _wanted(shape: Any) -> str:
    names = {dict: "a mapping", list: "a list", str: "text", int: "a whole number",
             float: "a number", type(None): "nothing"}  # fmt: skip
    kinds = (float,) if shape == NUMBER else shape if isinstance(shape, tuple) else (shape,)
    return " or ".join(names[kind] for kind in kinds)


def _wrong(place: str, found: str) -> ValueError:
    return ValueError(f"{place or 'it'}: {found}")
