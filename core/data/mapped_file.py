"""A data set in one memory-mapped file: opening it copies nothing and computes nothing.

The layout is that of safetensors: the length of a JSON header, the header, the arrays one after
the other. Every array starts at a multiple of 64 bytes (little `padding.N` arrays see to it), so
that any safetensors reader can read the file too. The fingerprint is stored, not recomputed.
"""

import json
import mmap
import os
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from shuffleproof.core.data.dataset import Fold, RankingDataset
from shuffleproof.core.data.letor.write import whole_file
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.errors import DataError

ALIGNMENT = 64
FORMAT = "shuffleproof-dataset-1"
LONGEST_HEADER = 1 << 24
KINDS: dict[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"),
    "I32": np.dtype("<i4"),
    "I64": np.dtype("<i8"),
    "U32": np.dtype("<u4"),
    "U8": np.dtype("u1"),
}
PARTS = ("train", "valid", "test")
Arrays = Mapping[str, np.ndarray]


def save(dataset: RankingDataset, path: Path) -> None:
    """Write a data set to a file that replaces whatever stood there only when it is complete."""
    queries = TextColumn.of(dataset.query_ids)
    arrays = {
        "features": dataset.features,
        "labels": dataset.labels,
        "offsets": dataset.offsets,
        "feature_ids": np.array(dataset.feature_ids, dtype=np.int64),
        "query_ids.blob": queries.blob,
        "query_ids.ends": queries.ends,
    }
    columns = {"comments": dataset.comments, "doc_ids": dataset.doc_ids, "texts": dataset.texts}
    more, blobs = text_arrays(
        {name: column for name, column in columns.items() if column is not None}
    )
    arrays |= more
    if dataset.absent is not None:
        arrays["absent"] = dataset.absent
    if dataset.source_rows is not None:
        arrays["source_rows"] = dataset.source_rows
    about = {"format": FORMAT, "fingerprint": dataset.fingerprint, "blobs": blobs}
    if dataset.missing:
        about["missing"] = "absent cells"
    if dataset.feature_names is not None:
        about["feature_names"] = json.dumps(dataset.feature_names)
    write(path, arrays, about)


def open_(path: Path) -> RankingDataset:
    """Open a data set that `save` wrote; its arrays are the file's pages, read when touched.

    Raises:
        DataError: there is no such file, or it is damaged or of another kind.
    """
    arrays, about = open_mapped(path)
    try:
        columns = text_columns(arrays, about["blobs"])
        bounds = np.concatenate([[0], arrays["query_ids.ends"]]).tolist()
        text = arrays["query_ids.blob"].tobytes()
        names = [text[first:last].decode() for first, last in pairwise(bounds)]
        features = json.loads(about.get("feature_names", "null"))
        return RankingDataset(
            features=arrays["features"],
            labels=arrays["labels"],
            offsets=arrays["offsets"],
            query_ids=tuple(names),
            feature_ids=tuple(arrays["feature_ids"].tolist()),
            feature_names=None if features is None else tuple(map(str, features)),
            absent=arrays.get("absent"),
            missing="missing" in about,
            source_rows=arrays.get("source_rows"),
            fingerprint=about["fingerprint"],
            doc_ids=columns.get("doc_ids"),
            comments=columns.get("comments"),
            texts=columns.get("texts"),
        )
    except (KeyError, ValueError) as error:
        raise _damage_error(path, str(error)) from error


def text_arrays(columns: Mapping[str, TextColumn]) -> tuple[dict[str, np.ndarray], str]:
    """Arrays of columns, and the name of each one's blob as JSON; a shared blob is there once."""
    names: dict[int, str] = {}
    blobs, arrays = {}, {}
    for name, column in columns.items():
        blobs[name] = names.setdefault(id(column.blob), f"{name}.blob")
        arrays[blobs[name]] = column.blob
        arrays[f"{name}.starts"], arrays[f"{name}.ends"] = column.starts, column.ends
    return arrays, json.dumps(blobs)


def text_columns(arrays: Arrays, blobs: str) -> dict[str, TextColumn]:
    """The columns of `text_arrays`."""
    return {
        name: TextColumn(arrays[blob], arrays[f"{name}.starts"], arrays[f"{name}.ends"])
        for name, blob in json.loads(blobs).items()
    }


def save_fold(fold: Fold, directory: Path) -> None:
    """Write train.safetensors, valid.safetensors, test.safetensors and fold.json."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, part in fold.parts.items():
        save(part, directory / f"{name}.safetensors")
    facts = {name: part.fingerprint for name, part in fold.parts.items()}
    text = json.dumps({"format": FORMAT, "fingerprint": fold.fingerprint, "parts": facts}, indent=1)
    with whole_file(directory / "fold.json") as file:
        file.write(f"{text}\n".encode())


def open_fold(directory: Path) -> Fold:
    """Open what `save_fold` wrote.

    Raises:
        DataError: a part is missing, damaged, or of another fold.
    """
    try:
        facts = json.loads((directory / "fold.json").read_text(encoding="utf-8"))
        expected = [facts["parts"][name] for name in PARTS]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damage_error(directory / "fold.json", str(error)) from error
    fold = Fold(*(open_(directory / f"{name}.safetensors") for name in PARTS))
    if list(fold.fingerprints) != expected:
        raise _damage_error(directory, "parts of different folds")
    for name in PARTS:
        _PLACES[getattr(fold, name)] = (directory, name)
    return fold


_PLACES: "WeakKeyDictionary[RankingDataset, tuple[Path, str]]" = WeakKeyDictionary()


def place_of(dataset: RankingDataset) -> tuple[Path, str] | None:
    """The folder of the fold that a data set was opened from, and its part; None: it was not."""
    return _PLACES.get(dataset)


def write(path: Path, arrays: Arrays, about: Mapping[str, str]) -> None:
    """Write arrays and texts about them, `format` among these, to a file; whole or not at all."""
    header: dict[str, Any] = {"__metadata__": dict(about)}
    chunks: list[np.ndarray] = []
    end = 0
    kinds = {dtype: kind for kind, dtype in KINDS.items()}
    for name, array in arrays.items():
        if gap := -end % ALIGNMENT:
            chunks.append(np.zeros(gap, dtype=np.uint8))
            spans = [end, end + gap]
            header[f"padding.{len(header)}"] = {
                "dtype": "U8",
                "shape": [gap],
                "data_offsets": spans,
            }
        whole = np.ascontiguousarray(array)
        chunks.append(whole)
        spans = [end + gap, end + gap + whole.nbytes]
        shape = list(whole.shape)
        header[name] = {"dtype": kinds[whole.dtype], "shape": shape, "data_offsets": spans}
        end = spans[1]
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % ALIGNMENT)
    with whole_file(path) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for chunk in chunks:
            file.write(chunk.reshape(-1).view(np.uint8).data)
        file.flush()
        os.fsync(file.fileno())


def open_mapped(path: Path, form: str = FORMAT) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arrays of a file that `write` wrote, memory-mapped, and the texts about them.

    Raises:
        DataError: there is no such file, it is damaged, or its `format` is another.
    """
    try:
        with path.open("rb") as file:
            pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise _damage_error(path, str(error)) from error
    length = int.from_bytes(pages[:8], "little")
    if not 0 < length <= min(LONGEST_HEADER, len(pages) - 8):
        raise _damage_error(path, "no header")
    try:
        header = json.loads(pages[8 : 8 + length])
        about = header.pop("__metadata__")
        if about["format"] != form:
            raise _damage_error(path, f"format {about['format']}")
        arrays = {
            name: _array(pages, 8 + length, entry)
            for name, entry in header.items()
            if not name.startswith("padding.")
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damage_error(path, str(error)) from error
    return arrays, about


def _array(pages: mmap.mmap, start: int, entry: Mapping[str, Any]) -> np.ndarray:
    dtype, shape = KINDS[entry["dtype"]], tuple(entry["shape"])
    first, last = entry["data_offsets"]
    count = (last - first) // dtype.itemsize
    if first < 0 or start + last > len(pages):
        message = f"{len(pages)} bytes, where {start + last} are due"
        raise ValueError(message)
    if count == 0:
        return np.zeros(shape, dtype=dtype)
    return np.frombuffer(pages, dtype=dtype, count=count, offset=start + first).reshape(shape)


def _damage_error(path: Path, finding: str) -> DataError:
    return DataError(
        str(path), f"not a whole stored data set ({finding})", "Ingest the data again."
    )
