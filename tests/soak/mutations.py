"""Mutated LETOR files through the ingestion job: an error in words or a whole data set, no third.

`python -m tests.soak.mutations 5000` runs the long version; the test suite runs a slice.
"""

import gzip
import io
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from core.data import stored
from core.errors import ShuffleproofError
from core.store.artefacts import Store
from core.studies import jobs, uploads
from core.studies.workbench import finished

LINES = 40
TOKENS = (
    b"nan", b"NULL", b"inf", b"1e400", b"-", b":", b"qid:", b"qid:7", b"#", b"\0", b"\r", b"\n",
    b"1:", b":1", b"99999:1", b"70000:1", b"1e", b"--1", b"\xff\xfe", b"\xef\xbb\xbf", b" ", b"\t",
    b"9" * 400, b"0x1f", b"1_0", b"\xe2\x80\xae", b"<script>", b"qid:" + b"q" * 300,
)  # fmt: skip


def base(generator: np.random.Generator) -> bytes:
    """A sound file of a few queries, with comments on half of its lines."""
    lines = []
    for row in range(LINES):
        cells = " ".join(f"{f}:{generator.random():.4f}" for f in range(1, 6))
        comment = f" #docid = D{row}" if row % 2 else ""
        lines.append(f"{generator.integers(0, 3)} qid:{row // 5} {cells}{comment}\n")
    return "".join(lines).encode()


def mutated(text: bytes, generator: np.random.Generator) -> bytes:
    """The text after one to three random damages: bytes, tokens, cuts, swaps and repeats."""
    data = bytearray(text)
    for _ in range(generator.integers(1, 4)):
        place, other = sorted(generator.integers(0, max(len(data), 1), 2).tolist())
        kind = generator.integers(0, 6)
        if kind == 0 and data:
            data[place] = int(generator.integers(0, 256))
        elif kind == 1:
            data[place:place] = TOKENS[int(generator.integers(0, len(TOKENS)))]
        elif kind == 2:
            del data[place : min(other, place + 200)]
        elif kind == 3:
            data[place:place] = data[place : min(other, place + 200)]
        elif kind == 4:
            del data[max(len(data) - other, 1) :]
        else:
            lines = bytes(data).split(b"\n")
            generator.shuffle(lines)
            data = bytearray(b"\n".join(lines))
    return bytes(data)


def packed(text: bytes, generator: np.random.Generator) -> bytes:
    """One in eight is compressed, and half of those damaged afterwards."""

    if generator.integers(0, 8):
        return text
    squeezed = bytearray(gzip.compress(text, mtime=0))
    if generator.integers(0, 2):
        squeezed[int(generator.integers(0, len(squeezed)))] ^= 0xFF
    return bytes(squeezed)


def run(count: int, root: Path, seed: int = 0) -> Iterator[str]:
    """Ingest so many mutated files; yields "read" or the error of each.

    Raises:
        AssertionError: a file left something partial behind.
        Exception: anything but a ShuffleproofError; the job would call it a defect of ours.
    """
    store = Store(root)
    policies = ("error", "zero", "mean", "largest")
    for number in range(count):
        generator = np.random.default_rng([seed, number])
        text = packed(mutated(base(generator), generator), generator)
        upload = uploads.spooled(store, [("mutated.txt", io.BytesIO(text))])
        name = f"m{number}"
        wanted = {"upload": upload, "name": name, "missing": policies[number % 4]}
        before = {artefact.key for artefact in store.artefacts()}
        try:
            result = finished(jobs.KINDS["ingest"](store, **wanted))
        except ShuffleproofError as error:
            _nothing(store, name, before)
            _sentence(str(error), root)
            yield str(error)
        else:
            _whole(store, result["artefact"])
            yield "read"
        _clean(store, upload)


def _sentence(text: str, root: Path) -> None:
    assert str(root) not in text, "an error names our folders"
    assert text.isprintable(), "an error shows control characters"
    assert len(text) < 1000, "an error is longer than a person reads"


def _nothing(store: Store, name: str, before: set) -> None:
    assert name not in store.names(), "a name without a data set"
    assert {artefact.key for artefact in store.artefacts()} == before, "a partial data set"
    for folder in ("incoming", "workspaces"):
        assert not list((store.root / folder).glob("*")), f"something is left in {folder}"


def _whole(store: Store, key: str) -> None:
    artefact = store.resolve(key, "data")
    store.verify(artefact)
    fold = stored.open_fold(artefact.path)
    for part in (fold.train, fold.valid, fold.test):
        assert np.isfinite(part.features).all()
        assert np.isfinite(part.labels).all()
        assert part.documents > 0


def _clean(store: Store, upload: str) -> None:

    shutil.rmtree(uploads.folder_of(store, upload))
    for artefact in list(store.artefacts()):
        store.remove(artefact.key)


def main() -> None:
    """Run as many as the command line says and tell how they ended."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    endings: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, ending in enumerate(run(count, Path(folder)), start=1):
            kind = "read" if ending == "read" else "refused"
            endings[kind] = endings.get(kind, 0) + 1
            if number % 500 == 0:
                sys.stdout.write(f"{number} of {count}: {endings}\n")
                sys.stdout.flush()
    sys.stdout.write(f"{count} files: {endings}; no traceback, nothing partial\n")


if __name__ == "__main__":
    main()
