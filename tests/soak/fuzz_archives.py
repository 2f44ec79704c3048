"""Damaged and malicious archives into a store: refused in a sentence and nothing left, or right.

`python -m tests.soak.fuzz_archives 1000`; the test suite runs a slice. An archive that is accepted
must leave artefacts whose files have the digests of the sound one, or whose keys follow from
what they hold; whatever happened, the store is listed, looked through and verified afterwards.
"""

import hashlib
import io
import json
import os
import zipfile
import zlib
from collections.abc import Callable
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from shuffleproof.core.answers.trained_rankers import studied_on, trained_on
from shuffleproof.core.data.catalogue import ingest
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.library import entries as library
from shuffleproof.core.library import imports
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.store import archive, manifest, plain_json
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.kinds.initial_ranking.question import InitialRanking
from shuffleproof.core.studies.workbench import Workbench, run_to_end
from tests.soak import fuzzing
from tests.soak.fuzzing import UnclearError, WrongError

LETOR = "".join(
    f"{(query * 3 + place) % 3} qid:{query} 1:{place / 7:.3f} 2:{(place * query) % 5} # d{place}\n"
    for query in range(12)
    for place in range(6)
)
JSON_VALUES = (
    None, "x", 5, -1, 1e308, [], {}, [[]], {"a": {}}, True, "", "../x", "\x00", "=1+1", "é" * 300,
    json.loads("[" * 40 + "]" * 40), ["x"] * 50, 10**30,
)  # fmt: skip
TOKENS = (b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06", b"{", b"}", b"[", b"null", b"\0" * 8,
          b"\xff" * 4, b"../", b"NaN", b"1e999", b"manifest.json", b'"kind":',
          b"ranker-")  # fmt: skip
NAMES = ("../evil", "/etc/evil", "a/../../b", "C:\\evil", "x" * 400, "a\nb", "", "a//b", "a/./b",
         "e\u202evil", "new/" * 12 + "x", archive.HEAD, "con/nul\x00x")  # fmt: skip
PLACE = "SHUFFLEPROOF_FUZZED_ARCHIVE"
BOUNDS = fuzzing.Bounds(patience=300.0)
"""A process apart starts with torch; on a busy machine that takes its time."""

DOCUMENTS = {"train.safetensors", "valid.safetensors", "test.safetensors"}

Entries = dict[str, bytes]
Generator = np.random.Generator


@lru_cache(maxsize=1)
def sound() -> bytes:
    """The archive that all others are made from, as `prepared` left it for this process."""
    return Path(os.environ[PLACE]).read_bytes()


def prepared(place: Path) -> None:
    """Write the archive of a data set, a ranker of it and a study of that ranker, once for all."""
    place.write_bytes(_made())
    os.environ[PLACE] = str(place)


def _made() -> bytes:
    with TemporaryDirectory() as folder:
        (Path(folder) / "set.txt").write_text(LETOR)
        store = Store(Path(folder) / "store")
        run_to_end(ingest(Path(folder) / "set.txt", "mine", store))
        workbench = run_to_end(Workbench.open("mine", ListRecipe(("feature:1",)), store, "small"))
        ranker = run_to_end(workbench.train(RankerName.parse("mart"), {"trees": "3"})).artefact
        label = f"mart#{ranker.key.digest[:12]}"
        study = run_to_end(
            InitialRanking((label,), (("transpositions", 5.0),), draws=2).run(workbench)
        )
        entries = library.with_dependencies(library.entries(store), [study.key])
        out = Path(folder) / "all.zip"
        run_to_end(archive.write(store, [entry.artefact for entry in entries], out))
        return out.read_bytes()


@lru_cache(maxsize=1)
def inside() -> Entries:
    """The files of the sound archive, by name."""
    with zipfile.ZipFile(io.BytesIO(sound())) as whole:
        return {entry.filename: whole.read(entry) for entry in whole.infolist()}


def attempt(generator: Generator, room: Path) -> None:
    """Import one archive and look at the store that it leaves."""
    path, store = room / "given.zip", Store(room / "store")
    damage = DAMAGES[int(generator.integers(0, len(DAMAGES)))]
    path.write_bytes(damage(generator))
    before = held(store)
    try:
        run_to_end(imports.read_archive(path, store))
    except ShuffleproofError as error:
        if str(room) in str(error):
            raise UnclearError(f"it names a folder of ours: {error}") from error
        if list(store.artefacts()) or library.damaged_entries(store) or store.names():
            raise WrongError(f"something of it was taken: {error}") from error
        if left := held(store) - before:
            raise WrongError(f"files left behind {sorted(left)}: {error}") from error
        raise
    finally:
        outside = {one.name for one in room.iterdir()} - {"given.zip", "store"}
        if outside:
            raise WrongError(f"written outside of the store: {outside}")
    looked_through(store)


def held(store: Store) -> set[str]:
    """Files of a store and folders of unfinished work, relative to its root."""
    inside = store.root.rglob("*")
    return {
        path.relative_to(store.root).as_posix()
        for path in inside
        if not path.is_dir() or path.parent.name == "incoming"
    }


def looked_through(store: Store) -> None:
    """What pages and commands do with a store after an import."""
    originals = inside()
    if library.damaged_entries(store):
        raise WrongError(f"damaged after import: {library.damaged_entries(store)[0].found}")
    for entry in library.entries(store):
        store.verify(entry.artefact)
        if entry.artefact.imported is None:
            raise WrongError(f"{entry.key} does not say that it was imported")
        for path in entry.artefact.path.rglob("*"):
            name = f"{entry.key}/{path.relative_to(entry.artefact.path).as_posix()}"
            if path.name in DOCUMENTS and originals.get(name) != path.read_bytes():
                raise WrongError(f"{name} is another file than the one of this key")
    for data in store.artefacts("data"):
        fingerprint = str(data.facts["fingerprint"])
        trained_on(store, fingerprint, fingerprint)
        studied_on(store, fingerprint)
    if "sample" in store.names():
        raise WrongError("the name sample means something")


# --- damages ------------------------------------------------------------------------------------


def packed(entries: Entries, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip of these files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as new:
        for name, content in entries.items():
            new.writestr(zipfile.ZipInfo(name), content, compress_type=compression)
    return out.getvalue()


def raw_bytes(generator: Generator) -> bytes:
    """Bytes changed, cut, repeated, swapped anywhere."""
    return fuzzing.damaged(sound(), generator, TOKENS)


def content(generator: Generator) -> bytes:
    """A file of an artefact changed; the zip itself is sound."""
    entries = dict(inside())
    name = _one(generator, entries)
    entries[name] = fuzzing.damaged(entries[name], generator, TOKENS)
    return packed(entries)


def manifest_fields(generator: Generator) -> bytes:
    """One to three fields of a manifest replaced by another JSON value."""
    entries = dict(inside())
    name = _one(generator, [name for name in entries if name.endswith(manifest.MANIFEST)])
    entries[name] = _spoilt(entries[name], generator)
    return packed(entries)


def head_fields(generator: Generator) -> bytes:
    """Fields of the head replaced, names and keys among them."""
    entries = dict(inside())
    entries[archive.HEAD] = _spoilt(entries[archive.HEAD], generator)
    return packed(entries)


def names(generator: Generator) -> bytes:
    """An entry by a name that climbs, is absolute, too long, or there twice."""
    entries = dict(inside())
    name = _one(generator, entries)
    key = name.split("/")[0]
    entries[f"{key}/{NAMES[int(generator.integers(0, len(NAMES)))]}"] = entries.pop(name)
    return packed(entries)


def forged(generator: Generator) -> bytes:
    """Files changed and their digests with them: only the key could tell."""
    entries = dict(inside())
    name = _one(generator, [name for name in entries if "/" in name])
    key = name.split("/")[0]
    entries[name] = fuzzing.damaged(entries[name], generator, TOKENS)
    place = f"{key}/{manifest.MANIFEST}"
    if name != place:
        told = json.loads(entries[place])
        told["files"][name.removeprefix(f"{key}/")] = {
            "bytes": len(entries[name]), "sha256": hashlib.sha256(entries[name]).hexdigest(),
        }  # fmt: skip
        entries[place] = json.dumps(told).encode()
    return packed(entries)


def bombs(generator: Generator) -> bytes:
    """Much of little: zeros, brackets, digits, entries, a table of contents that promises more."""
    entries = dict(inside())
    kind, name = int(generator.integers(0, 5)), _one(generator, entries)
    if kind == 0:
        entries[name] = bytes(int(generator.integers(1, 200)) << 20)
    elif kind == 1:
        entries[name] = b"[" * (1 << int(generator.integers(10, 23)))
    elif kind == 2:
        entries[name] = b"[" + b"[]," * (1 << int(generator.integers(10, 22))) + b"[]]"
    elif kind == 3:
        entries |= {f"x/{number}": b"" for number in range(int(generator.integers(1, 20_000)))}
    else:
        entries[name] = b" " * (plain_json.MOST_BYTES + 1)
    return packed(entries)


def left_out(generator: Generator) -> bytes:
    """Files missing, doubled, or stored by another method."""
    entries = dict(inside())
    kind = int(generator.integers(0, 3))
    if kind == 0:
        del entries[_one(generator, entries)]
        return packed(entries)
    if kind == 1:
        methods = (zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
        return packed(entries, methods[int(generator.integers(0, 3))])
    return zlib.compress(sound()) if generator.integers(0, 2) else sound() * 2


DAMAGES: tuple[Callable[[Generator], bytes], ...] = (
    raw_bytes, content, manifest_fields, head_fields, names, forged,
    bombs, left_out, lambda _: sound(),
)  # fmt: skip


def _one(generator: Generator, names: Entries | list[str]) -> str:
    return sorted(names)[int(generator.integers(0, len(names)))]


def _spoilt(text: bytes, generator: Generator) -> bytes:
    told = json.loads(text)
    for _ in range(generator.integers(1, 4)):
        place = told
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            key = keys[int(generator.integers(0, len(keys)))]
            deeper = isinstance(place[key], dict | list) and len(place[key])
            if not deeper or generator.integers(0, 2):
                break
            place = place[key]
        if isinstance(place, dict) and not generator.integers(0, 4):
            place[JSON_KEYS[int(generator.integers(0, len(JSON_KEYS)))]] = place.pop(key)
        else:
            place[key] = deepcopy(JSON_VALUES[int(generator.integers(0, len(JSON_VALUES)))])
        if not isinstance(told, dict) or not told:
            break
    return json.dumps(told).encode()


JSON_KEYS = ("sample", "mine", "x", "", "../x", "recipe", "files", "data-0123456789abcdef")


if __name__ == "__main__":
    fuzzing.main(
        attempt,
        __doc__,
        1000,
        warm=0,
        bounds=BOUNDS,
        prepared=lambda folder: prepared(folder / "sound.zip"),
    )
