"""Manifest of a stored artefact: kind, recipe, facts, and size and SHA-256 of each file.

What a manifest must look like is a shape by kind of artefact; what is not so is damaged, and named.
A shape is a type, a tuple of types, a list `[shape]` (a list of such), a mapping `{"*": shape}`
(any names) or a mapping of names to shapes, where a name that ends in `?` may be absent.
"""

import errno
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from safetensors import SafetensorError

from shuffleproof.core.errors import ArtefactError
from shuffleproof.core.store import plain_json
from shuffleproof.core.store.keys import DIGEST, FORMAT, KIND, ArtefactKey

MANIFEST = "manifest.json"

CHECKED_ON_FIND = 1 << 20
"""Files of at most this many bytes (1 MiB) are digested whenever their artefact is opened."""

AT_ONCE = 8
"""Files that are forced to disk at the same time."""

DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
NOT_WRITABLE = frozenset({errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR})
SPACE = (
    "Free some space, or name a folder on a larger disk (of the store: --store, or "
    "SHUFFLEPROOF_HOME)."
)
PLACE = "Name a folder that you may write to (of the store: --store, or SHUFFLEPROOF_HOME)."


@dataclass(frozen=True)
class ImportOrigin:
    """Origin of an imported artefact.

    Attributes:
        source: the file's name.
        at: time of the import, ISO 8601, UTC.
    """

    source: str
    at: str

    def __str__(self) -> str:
        """In words, for lists and pages."""
        return f"imported from {self.source} on {self.at[:10]}"


@dataclass(frozen=True)
class Artefact:
    """One stored artefact.

    Attributes:
        key: of the artefact.
        path: its directory; read it, never write into it.
        recipe: what made it, plain JSON values.
        facts: what is worth knowing without opening it (sizes, measured values).
        created: when it was stored, ISO 8601, UTC.
        size: bytes of all its files.
        imported: origin; None: made here, or bundled.
    """

    key: ArtefactKey
    path: Path
    recipe: Mapping[str, Any] = field(repr=False)
    facts: Mapping[str, Any] = field(repr=False)
    created: str
    size: int
    imported: ImportOrigin | None = None


def write(
    directory: Path, key: ArtefactKey, recipe: Mapping[str, Any], facts: Mapping[str, Any]
) -> None:
    """Digest the files of a finished directory, write its manifest, and force all to disk.

    Raises:
        ArtefactError: the directory already holds a file of the manifest's name.
    """
    if (directory / MANIFEST).exists():
        raise ArtefactError(str(key), f"holds a file {MANIFEST} of its own", "Rename that file.")
    inside = sorted(directory.rglob("*"))
    files = {
        path.relative_to(directory).as_posix(): {
            "bytes": path.stat().st_size,
            "sha256": _digest(path),
        }
        for path in inside
        if path.is_file()
    }
    content = {
        "format": FORMAT,
        "kind": key.kind,
        "digest": key.digest,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "recipe": recipe,
        "facts": facts,
        "files": files,
    }
    _write(directory, content, inside)


def note_import(directory: Path, source: str) -> Artefact:
    """Write into a manifest that its artefact came from an archive, now; what it said is gone."""
    content = _content(directory)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    _write(directory, content | {"imported": {"from": source, "at": at}})
    return read_manifest(directory)


def _write(directory: Path, content: Mapping[str, Any], inside: Iterable[Path] = ()) -> None:
    """Write a manifest and force it, its folder and what is new inside to disk.

    All are forced at the same time: a disk writes its journal once for many, and once for each
    where they come one after the other.
    """
    text = json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False)
    (directory / MANIFEST).write_text(text + "\n", encoding="utf-8")
    list(_syncing(os.getpid()).map(sync, (*inside, directory / MANIFEST, directory)))


@cache
def _syncing(process: int) -> ThreadPoolExecutor:
    """The threads of this process that force files to disk; a fork has none of its parent's."""
    del process
    return ThreadPoolExecutor(AT_ONCE, "sync")


def read_manifest(directory: Path) -> Artefact:
    """The artefact in a directory, its files unchecked.

    Raises:
        ArtefactError: the manifest is missing, cannot be read, or is not one.
    """
    content = _content(directory)
    noted = content.get("imported")
    return Artefact(
        key=ArtefactKey(content["kind"], content["digest"]),
        path=directory,
        recipe=content["recipe"],
        facts=content["facts"],
        created=content["created"],
        size=sum(entry["bytes"] for entry in content["files"].values()),
        imported=ImportOrigin(noted["from"], noted["at"]) if noted else None,
    )


def listed_artefact(directory: Path) -> Artefact:
    """The artefact in a folder of a store, filed and described as its kind must be.

    Raises:
        ArtefactError: it cannot be read, lies under another key, or lacks what its kind says.
    """
    artefact = read_manifest(directory)
    if directory.name != str(artefact.key):
        raise _damage_error(directory, f"its {MANIFEST} is that of {artefact.key}")
    try:
        check_kind(artefact.key.kind, artefact.recipe, artefact.facts)
    except ValueError as error:
        kind = artefact.key.kind
        raise _damage_error(directory, f"its {MANIFEST} describes no {kind} ({error})") from error
    return artefact


def check(directory: Path, digest_up_to: int | None = None) -> None:
    """Check that the files are the ones that were stored: sizes always, then digests.

    Args:
        directory: of the artefact.
        digest_up_to: digest only files of at most this many bytes; None digests all.

    Raises:
        ArtefactError: a file is missing, added, or not what was stored.
    """
    files: dict[str, Any] = _content(directory)["files"]
    present = {
        path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()
    }
    for name in sorted(present ^ {MANIFEST, *files}):
        raise _damage_error(
            directory, f"{name} is {'not in its manifest' if name in present else 'gone'}"
        )
    for name, entry in files.items():
        size = (directory / name).stat().st_size
        if size != entry["bytes"]:
            raise _damage_error(
                directory, f"{name} has {size} bytes where {entry['bytes']} were stored"
            )
        digested = digest_up_to is None or size <= digest_up_to
        if digested and _digest(directory / name) != entry["sha256"]:
            raise _damage_error(directory, f"{name} is not what was stored (its SHA-256 differs)")


@contextmanager
def disk_errors(key: str, place: Path) -> Iterator[None]:
    """Turn a full or read-only disk into an ArtefactError that says what to do."""
    try:
        yield
    except ArtefactError:
        raise
    except Exception as error:
        remedy = remedy_of(error)
        if remedy == SPACE:
            raise ArtefactError(key, f"no space left to write under {place}", remedy) from error
        if remedy:
            raise ArtefactError(key, f"{place} may not be written to ({error})", remedy) from error
        raise


@contextmanager
def checkpoint_errors(path: Path) -> Iterator[None]:
    """Turn a checkpoint that cannot be read, or written, into an ArtefactError, likewise."""
    with disk_errors(path.name, path.parent):
        try:
            yield
        except SafetensorError as error:
            if remedy_of(error):
                raise
            remedy = "Remove it: the training then starts again."
            raise ArtefactError(str(path), f"cannot be read ({error})", remedy) from error


LIMIT = "A limit on the size of files is set here: raise it (`ulimit -f unlimited`)."
TAKEN = "Choose another path: a file is in the place of a folder, or the other way round."


def remedy_of(error: Exception) -> str:
    """Remedy for a full or read-only disk or a taken path; empty for other errors."""
    number = error.errno if isinstance(error, OSError) else None
    if number in DISK_FULL or os.strerror(errno.ENOSPC) in str(error):
        return SPACE
    if number in {errno.EEXIST, errno.ENOTDIR, errno.EISDIR}:
        return TAKEN
    if number == errno.EFBIG:
        return LIMIT
    return PLACE if number in NOT_WRITABLE else ""


def _content(directory: Path) -> dict[str, Any]:
    try:
        return check_manifest(plain_json.read_json(directory / MANIFEST))
    except OSError as error:
        raise _damage_error(
            directory, f"its {MANIFEST} cannot be read ({error.strerror})"
        ) from error
    except ValueError as error:
        raise _damage_error(directory, f"its {MANIFEST} is not a manifest ({error})") from error


def _damage_error(directory: Path, finding: str) -> ArtefactError:
    remedy = (
        f"Remove it with `shuffleproof library delete {directory.name}`: what was in it will be "
        "made again when needed, but a data set is to be read in again."
    )
    return ArtefactError(directory.name, finding, remedy)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync(path: Path) -> None:
    """Force a file, or the entries of a directory, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
        "documents_at_once?": int,
    },
    "collection": {
        "name": str, "documents": int, "queries": int, "judgments": int, "notes?": [str],
    },
    "preferences": {
        "queries": int, "items": int, "judgments": int, "rankers": int, "notes?": [str],
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
        raise _shape_error("format", f"{content['format']}, where this version reads {FORMAT}")
    if not KIND.fullmatch(content["kind"]) or not DIGEST.fullmatch(content["digest"]):
        raise _shape_error("kind or digest", "no part of a key")
    for name, text in (("created", content["created"]), *_import_time(content)):
        _check_time(name, text)
    for name, entry in content["files"].items():
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or "\0" in name or not path.parts:
            raise _shape_error("files", f"a path {name[:80]!r}")
        if entry["bytes"] < 0 or not DIGEST.fullmatch(entry["sha256"]):
            raise _shape_error(f"files.{name[:80]}", "no size and SHA-256")
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


def _import_time(content: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [("imported.at", content["imported"]["at"])] if "imported" in content else []


def _check_time(place: str, text: str) -> None:
    try:
        has_zone = datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        has_zone = False
    if not has_zone:
        raise _shape_error(place, f"{text[:40]!r}, no time with its zone in ISO 8601")


def _check(value: Any, shape: Any, place: str) -> None:
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            raise _shape_error(place, f"{_type_name(value)} instead of a mapping")
        for name, inner in _field_shapes(value, shape, place).items():
            _check(value[name], inner, f"{place}.{name[:80]}".lstrip("."))
    elif isinstance(shape, list):
        if not isinstance(value, list):
            raise _shape_error(place, f"{_type_name(value)} instead of a list")
        for item in value:
            _check(item, shape[0], f"{place}[]")
    elif not isinstance(value, shape) or (isinstance(value, bool) and shape is not bool):
        raise _shape_error(place, f"{_type_name(value)} instead of {_expected_types(shape)}")


def _field_shapes(value: dict[str, Any], shape: dict[str, Any], place: str) -> dict[str, Any]:
    """The shapes of the fields that are there, by name; one that is missing is refused."""
    if "*" in shape:
        return dict.fromkeys(value, shape["*"])
    missing = [name for name in shape if not name.endswith("?") and name not in value]
    if missing:
        raise _shape_error(place, f"no {missing[0]}")
    shapes = {name.removesuffix("?"): inner for name, inner in shape.items()}
    return {name: inner for name, inner in shapes.items() if name in value}


def _check_depth(value: Any, place: str, depth: int = 0) -> None:
    if depth > MOST_DEPTH:
        raise _shape_error(place, f"more than {MOST_DEPTH} levels of nesting")
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, dict | list):
            _check_depth(inner, place, depth + 1)


def _type_name(value: Any) -> str:
    names = {dict: "a mapping", list: "a list", str: "text", bool: "a truth value"}
    return "nothing" if value is None else names.get(type(value), "a number")


def _expected_types(shape: Any) -> str:
    names = {dict: "a mapping", list: "a list", str: "text", int: "a whole number",
             float: "a number", type(None): "nothing"}  # fmt: skip
    kinds = (float,) if shape == NUMBER else shape if isinstance(shape, tuple) else (shape,)
    return " or ".join(names[kind] for kind in kinds)


def _shape_error(place: str, finding: str) -> ValueError:
    return ValueError(f"{place or 'it'}: {finding}")
