"""What documents and queries are called on pages: side files of titles, addresses and texts.

They belong to a data set by its fingerprint and to no key: no ranker reads them and no study
changes by them. A file is CSV, tab-separated or JSON lines, plain or compressed, Parquet or Arrow.
"""

import hashlib
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pandas as pd

from shuffleproof.core.data import mapped_file, tables
from shuffleproof.core.data.letor.stream import (
    ARROW,
    HEAD,
    PARQUET,
    STREAM,
    Limits,
    blocks,
    kind_of,
)
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.errors import BadLinesError, DataError, LetorError, no_file, quoted
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.words import counted

KIND = "display-texts"
STORED, FORMAT = "texts.safetensors", "shuffleproof-texts-1"
LIMITS = Limits(line_bytes=1 << 24, decoded_bytes=1 << 30)
MOST_TOLD = 20
"""Bad rows that are named."""


@dataclass(frozen=True)
class Shape:
    """What a side file of one kind holds.

    Attributes:
        of: what its rows are about, in the singular.
        columns: the id, then what is said of it.
        needed: the columns without which there is nothing to show; one of them at least.
        others: other names of columns that mean one of these.
    """

    of: str
    columns: tuple[str, ...]
    needed: tuple[str, ...]
    others: Mapping[str, str]

    @property
    def remedy(self) -> str:
        """What such a file looks like."""
        name, *further = self.columns
        return (
            f"The first line names the columns: {name}, and {', '.join(further)} as far as known."
        )


DOCUMENTS = Shape(
    "document", ("docid", "title", "url", "snippet"), ("title", "url", "snippet"),
    {"document": "docid", "docno": "docid", "doc_id": "docid", "text": "snippet"},
)  # fmt: skip
QUERIES = Shape(
    "query", ("qid", "text", "tag"), ("text", "tag"), {"query": "qid", "query_id": "qid"}
)
SHAPES = {"documents": DOCUMENTS, "queries": QUERIES}


@dataclass(frozen=True, eq=False)
class SideFile:
    """A side file that was read and not yet compared with a data set.

    Attributes:
        path: of the file, for messages.
        shape: what it holds.
        rows: the columns of its shape, all texts, and `line`.
        digest: SHA-256 of its bytes.
    """

    path: Path
    shape: Shape
    rows: pd.DataFrame
    digest: str


@dataclass(frozen=True, eq=False)
class DisplayTexts:
    """What the documents and queries of a data set are called.

    Attributes:
        documents: title, url and snippet by document id; urls are of http or https, or empty.
        queries: text and tag by query id.
        notes: what in the files does not fit, in sentences.
    """

    documents: pd.DataFrame
    queries: pd.DataFrame
    notes: tuple[str, ...] = ()


def read_side_file(path: Path, kind: str) -> SideFile:
    """Read a side file.

    Args:
        path: CSV, tab-separated, JSON lines (also compressed), Parquet or Arrow, by its content.
        kind: `documents` or `queries`.

    Raises:
        DataError: no such file, none of these formats, or a column is missing.
        LetorError: rows without an id, of another width, or two that say different things of one
            id, by file and line.
    """
    shape = SHAPES[kind]
    if not path.is_file():
        raise no_file(path)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0)
        table = kind_of(file.read(HEAD)) in {PARQUET, ARROW, STREAM}
    rows = _table(path, shape) if table else _text(path, shape)
    rows = rows.fillna("").reindex(columns=[*shape.columns, "line"], fill_value="")
    rows[shape.columns[0]] = rows[shape.columns[0]].str.strip()
    return SideFile(path, shape, _unique_rows(path, rows, shape), digest)


def attach(
    data: Artefact, store: Store, files: Sequence[SideFile]
) -> tuple[Artefact, tuple[str, ...]]:
    """Keep side files beside a data set; what it had of the other kind stays.

    Args:
        data: a stored data set.
        store: where it is kept.
        files: of documents, of queries, or both.

    Returns:
        What is kept, and what did not fit, in sentences.

    Raises:
        DataError: the documents have no ids, or a file knows none of the ids.
    """
    fold, fingerprint = mapped_file.open_fold(data.path), str(data.facts["fingerprint"])
    before = _artefact(fingerprint, store)
    texts = DisplayTexts(_empty_frame(DOCUMENTS), _empty_frame(QUERIES))
    recipe: dict[str, object] = {"of": fingerprint}
    notes: dict[str, list[str]] = {}
    if before is not None:
        texts, recipe = _open_texts(before), dict(before.recipe)
        notes = {kind: list(sentences) for kind, sentences in before.facts["notes"].items()}
    for side in files:
        kind = next(name for name, shape in SHAPES.items() if shape is side.shape)
        ids: set[str] = set()
        for part in (fold.train, fold.valid, fold.test):
            column = part.doc_ids if side.shape is DOCUMENTS else part.query_ids
            ids |= {identifier for identifier in column or () if identifier}
        fitting, notes[kind] = _fitting_rows(side, ids, str(data.facts.get("name", data.key)))
        if side.shape is DOCUMENTS:
            texts = replace(texts, documents=fitting)
        else:
            texts = replace(texts, queries=fitting)
        recipe[kind] = side.digest
    key = key_of(KIND, recipe)

    def write(folder: Path) -> None:
        arrays: dict[str, np.ndarray] = {}
        for kind in SHAPES:
            for name, column in getattr(texts, kind).reset_index().items():
                text = TextColumn.of(column)
                arrays |= {f"{kind}.{name}.blob": text.blob, f"{kind}.{name}.ends": text.ends}
        mapped_file.write(folder / STORED, arrays, {"format": FORMAT})

    with store.lock(key):
        artefact = store.add(key, recipe, write, {"fingerprint": fingerprint, "notes": notes})
    for older in _all_of(fingerprint, store):
        if older.key != key:
            store.remove(older.key)
    return artefact, tuple(note for side in notes.values() for note in side)


def find(fingerprint: str, store: Store) -> DisplayTexts | None:
    """What is kept beside the data set of a fingerprint; None: nothing."""
    artefact = _artefact(fingerprint, store)
    return None if artefact is None else _open_texts(artefact)


def forget(fingerprint: str, store: Store) -> None:
    """Remove what is kept beside the data set of a fingerprint, if anything."""
    for artefact in _all_of(fingerprint, store):
        store.remove(artefact.key)


def _all_of(fingerprint: str, store: Store) -> list[Artefact]:
    return [
        artefact for artefact in store.artefacts(KIND) if artefact.recipe.get("of") == fingerprint
    ]


def _artefact(fingerprint: str, store: Store) -> Artefact | None:
    return max(_all_of(fingerprint, store), key=lambda artefact: artefact.created, default=None)


def _open_texts(artefact: Artefact) -> DisplayTexts:
    if (artefact.path / STORED).exists():
        arrays, _ = mapped_file.open_mapped(artefact.path / STORED, FORMAT)
        documents, queries = (
            pd.DataFrame({name: _stored_column(arrays, kind, name) for name in shape.columns})
            for kind, shape in SHAPES.items()
        )
    else:  # as earlier versions stored them; an archive may have brought anything
        documents, queries = (
            pd.DataFrame(
                tables.read_table(path := artefact.path / f"{kind}.parquet", str(path)),
                columns=shape.columns, dtype="str",
            )
            for kind, shape in SHAPES.items()
        )  # fmt: skip
    documents, queries = (
        frame.set_index(shape.columns[0])
        for frame, shape in zip((documents, queries), SHAPES.values(), strict=True)
    )
    notes = (note for sentences in artefact.facts["notes"].values() for note in sentences)
    return DisplayTexts(documents, queries, tuple(notes))


def _stored_column(arrays: Mapping[str, np.ndarray], kind: str, name: str) -> "pd.Series[str]":
    """A column that `attach` wrote."""
    text = arrays[f"{kind}.{name}.blob"].tobytes()
    bounds = [0, *arrays[f"{kind}.{name}.ends"].tolist()]
    return pd.Series([text[a:b].decode() for a, b in pairwise(bounds)], dtype="str")


def _empty_frame(shape: Shape) -> pd.DataFrame:
    return pd.DataFrame(dict.fromkeys(shape.columns, pd.Series(dtype="str"))).set_index(
        shape.columns[0]
    )


def _table(path: Path, shape: Shape) -> pd.DataFrame:
    """The columns that are asked for, as texts, with the numbers of the rows."""
    names = _names(path, tables.names_of(path, str(path)), shape)
    columns = tables.read_table(path, str(path), [*names], most_bytes=LIMITS.decoded_bytes)
    frame = pd.DataFrame(
        {mine: [*map(_text_of, columns.get(name, ()))] for name, mine in names.items()}, dtype="str"
    )
    return frame.assign(line=range(1, len(frame) + 1))


def _text_of(value: Any) -> str:
    """A cell of a table as text; half of a pair of UTF-16 is escaped."""
    empty = value is None or value != value  # noqa: PLR0124 (NaN)
    return "" if empty else str(value).encode(errors="backslashreplace").decode()


def _text(path: Path, shape: Shape) -> pd.DataFrame:
    """CSV, tabs or JSON lines as texts, with the line on which each row begins."""
    pieces = [block.buffer[: block.end].tobytes() for block in blocks(path, str(path), LIMITS)]
    text = b"".join(pieces).decode(errors="replace").removeprefix("\ufeff")
    if not text.strip():
        raise DataError(str(path), "it is empty", shape.remedy)
    if text.lstrip().startswith("{"):
        return _json(path, text, shape)
    body = text.lstrip("\r\n")
    first_line = 1 + text[: len(text) - len(body)].count("\n")
    tabs = "\t" in body.partition("\n")[0]
    try:
        cells = pd.read_csv(
            io.StringIO(body), sep="\t" if tabs else ",", dtype="str", header=None,
            keep_default_na=False, skip_blank_lines=False, index_col=False, engine="c",
        ).fillna("")  # fmt: skip
    except pd.errors.ParserError as error:
        raise _csv_error(path, str(error), first_line, body) from error
    breaks = sum((cells[name].str.count("\n") for name in cells), start=pd.Series(1, cells.index))
    cells["line"] = first_line + breaks.cumsum() - breaks
    head = [str(name).strip() for name in cells.iloc[0, :-1]]
    names = _names(path, head, shape)
    rows = pd.DataFrame({mine: cells[head.index(name)] for name, mine in names.items()})
    filled = (rows != "").any(axis=1) & (cells.index > 0)
    return rows.assign(line=cells["line"])[filled]


def _csv_error(path: Path, message: str, first_line: int, body: str) -> LetorError:
    """What pandas says of CSV that it cannot read, by the line that it names."""
    quote = re.search(r"EOF inside string starting at row (\d+)", message)
    wide = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", message)
    at, finding, remedy = 0, message.strip(), "Save it as CSV in UTF-8."
    if quote:
        at, finding, remedy = int(quote[1]), "a quote that is never closed", "Close each quote."
    elif wide:
        at = int(wide[2]) - 1
        finding, remedy = f"{wide[3]} columns instead of {wide[1]}", "Quote cells that hold commas."
    line = "".join(body.split("\n")[at : at + 1])
    return LetorError(path, first_line + at, line, finding, remedy)


def _json(path: Path, text: str, shape: Shape) -> pd.DataFrame:
    rows: list[dict[str, object]] = []
    faults: list[LetorError] = []
    wanted, seen = {*shape.columns, *shape.others}, dict[str, None]()
    for line, entry in enumerate(text.split("\n"), start=1):
        if not entry.strip() or len(faults) > MOST_TOLD:
            continue
        try:
            fields = json.loads(entry)
            cells = {name: _cell(value) for name, value in fields.items() if name in wanted}
            seen |= dict.fromkeys(fields)
        except (ValueError, AttributeError, TypeError, RecursionError) as error:
            why = "no JSON object" if isinstance(error, ValueError | AttributeError) else str(error)
            faults.append(
                LetorError(path, line, entry.strip(), why, f"One object a line. {shape.remedy}")
            )
            continue
        rows.append({**cells, "line": line})
    _refuse(faults)
    frame = pd.DataFrame(rows, dtype="str")
    names = _names(path, [*seen], shape)
    return frame[[*names, "line"]].rename(columns=names).astype({"line": int})


def _cell(value: object) -> str:
    """The text of a value of JSON.

    Raises:
        TypeError: it is a list or an object.
    """
    if isinstance(value, list | dict):
        raise TypeError("a list or an object where a text belongs")
    return "" if value is None else _text_of(value)


def _names(path: Path, columns: Sequence[str], shape: Shape) -> dict[str, str]:
    """The columns of a file that are read, and what they are called here.

    Raises:
        DataError: the id is missing, or everything that could be shown.
    """
    by_other_name = ((name, mine) for name, mine in shape.others.items() if mine not in columns)
    names = {name: name for name in shape.columns if name in columns}
    names |= {name: mine for name, mine in by_other_name if name in columns}
    identifier, read = shape.columns[0], set(names.values())
    missing = [identifier] if identifier not in read else []
    if not read & set(shape.needed):
        missing = missing or list(shape.needed)
    if missing:
        letters = {name.casefold(): name for name in columns}
        near = [
            f" (did you mean {name}? it is called {quoted(letters[match])})"
            for name in missing
            for match in get_close_matches(name, letters, n=1)
        ]
        listed = ", ".join(map(quoted, columns[:MOST_TOLD])) or "none"
        finding = f"no column {' nor '.join(missing)}; its columns are {listed}{''.join(near[:1])}"
        raise DataError(str(path), finding, shape.remedy)
    return names


def _unique_rows(path: Path, rows: pd.DataFrame, shape: Shape) -> pd.DataFrame:
    """The rows, each id once; refused where one is missing or said twice otherwise."""
    identifier, *further = shape.columns
    distinct = rows.drop_duplicates([identifier, *further])
    bad = distinct[(distinct[identifier] == "") | distinct[identifier].duplicated()]
    original = distinct.drop_duplicates(identifier).set_index(identifier)["line"]
    faults = []
    for row in bad.head(MOST_TOLD + 1).to_dict("records"):
        name, line = str(row[identifier]), int(row["line"])
        finding = f"no {identifier}"
        if name:
            finding = f"a second {shape.of} of this id, the first is in line {original[name]}"
        quoted = ",".join(str(row[column]) for column in shape.columns)
        faults.append(LetorError(path, line, quoted, finding, "Leave one row for each id."))
    _refuse(faults)
    return distinct


def _refuse(faults: Sequence[LetorError]) -> None:
    if len(faults) == 1:
        raise faults[0]
    if faults:
        raise BadLinesError(faults[:MOST_TOLD], more=len(faults) > MOST_TOLD)


def _fitting_rows(side: SideFile, ids: set[str], data: str) -> tuple[pd.DataFrame, list[str]]:
    """What a file says of the ids that a data set has, and what does not fit."""
    identifier, rows = side.shape.columns[0], side.rows
    of, name = side.shape.of, side.path.name
    if not ids:
        raise DataError(
            data,
            f"its {of}s have no ids, so that nothing in {name} can be told to be theirs",
            "Name each document at the end of its line of LETOR text (`#docid = …`), read that in, "
            f"then {name}.",
        )  # fmt: skip
    inside = rows[identifier].isin(ids)
    if not inside.any():
        example = ", ".join(sorted(ids)[:3])
        raise DataError(
            str(side.path),
            f"it knows none of the {counted(len(ids), of)} of {data}",
            f"Write the ids as the data set has them: {example} …",
        )
    notes = [f"{name}: {int(inside.sum()):,} of {counted(len(ids), of)} have a text."]
    if not inside.all():
        unknown = rows[~inside]
        lines = ", ".join(
            f"{row[identifier]} (line {row['line']})"
            for row in unknown.head(MOST_TOLD).to_dict("records")
        )
        ellipsis = " …" if len(unknown) > MOST_TOLD else ""
        notes.append(
            f"{name}: {counted(len(unknown), 'row')} of ids that the data does not have, passed "
            f"over: {lines}{ellipsis}. Remove them, or write their ids as the data has them."
        )  # fmt: skip
    fitting = rows[inside].set_index(identifier)
    if "url" in fitting:
        foreign = fitting[(fitting["url"] != "") & ~fitting["url"].map(is_web)]
        if len(foreign):
            lines = ", ".join(f"line {line}" for line in foreign["line"].head(MOST_TOLD))
            notes.append(
                f"{name}: {counted(len(foreign), 'address')} not of http or https, left out: "
                f"{lines}. Write them as https://…"
            )  # fmt: skip
            fitting = fitting.assign(url=fitting["url"].where(fitting["url"].map(is_web), ""))
    return fitting.drop(columns="line"), notes


def is_web(url: str) -> bool:
    """Whether an address is one of http or https, and has a host.

    >>> is_web("https://example.org/a"), is_web("javascript:alert(1)"), is_web("//a")
    (True, False, False)
    """
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.netloc) and url.isprintable()
