"""Texts of documents and queries: side files, as CSV, tabs, JSON lines, Parquet or Arrow.

Display texts (titles, addresses, texts) belong to a data set by its fingerprint. Functions and live
rerankers read the queries' texts; nothing else reads any of them. Texts that functions read of
documents (`with_texts`: a table with the columns `document` and `text`) are stored with the data.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pandas as pd

from shuffleproof.core.data import mapped_file, tables
from shuffleproof.core.data.dataset import Fold, RankingDataset
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.errors import DataError, quoted
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import file_digest, key_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.words import counted

KIND = "display-texts"
STORED, FORMAT = "texts.safetensors", "shuffleproof-texts-1"
MOST_BYTES, MOST_TEXT = 1 << 30, 1 << 35  # of display texts, of texts of documents
MOST_TOLD = 5  # Rows and columns that a sentence names
DOCUMENT, TEXT = "document", "text"
TEXT_REMEDY = (
    'Give it the columns document and text, or one {"document": …, "text": …} a line; ids as the '
    "data set has them."
)


@dataclass(frozen=True)
class Shape:
    """Content of a side file of one kind."""

    of: str  # subject of its rows, in the singular
    columns: tuple[str, ...]  # the id, then its texts, one of which must be there
    others: Mapping[str, str]  # other names of columns that mean one of these


DOCUMENTS = Shape(
    "document", ("docid", "title", "url", "snippet"),
    {"document": "docid", "docno": "docid", "doc_id": "docid", "text": "snippet"},
)  # fmt: skip
QUERIES = Shape("query", ("qid", "text", "tag"), {"query": "qid", "query_id": "qid"})
SHAPES = {"documents": DOCUMENTS, "queries": QUERIES}


@dataclass(frozen=True, eq=False)
class SideFile:
    """A side file that was read and not yet compared with a data set."""

    path: Path  # of the file, for messages
    kind: str  # `documents` or `queries`
    rows: pd.DataFrame  # the columns of its shape, all texts, and `row`
    digest: str  # SHA-256 of its bytes


@dataclass(frozen=True, eq=False)
class DisplayTexts:
    """Display texts of the documents and queries of a data set."""

    # title, url and snippet by document id; urls are of http or https, or empty
    documents: pd.DataFrame
    queries: pd.DataFrame  # text and tag by query id
    notes: tuple[str, ...] = ()  # what in the files does not fit, in sentences


def read_side_file(path: Path, kind: str) -> SideFile:
    """Read a side file of `documents` or `queries`; its content says its format, not its name.

    Raises:
        DataError: no such file, none of these formats, a missing column, rows without an id, or
            two that say different things of one id.
    """
    shape = SHAPES[kind]
    digest = file_digest(path)
    rows = _table(path, shape).reindex(columns=[*shape.columns, "row"], fill_value="")
    rows[shape.columns[0]] = rows[shape.columns[0]].str.strip()
    return SideFile(path, kind, _unique_rows(path, rows, shape), digest)


def attach(
    data: Artefact, store: Store, files: Sequence[SideFile]
) -> tuple[Artefact, tuple[str, ...]]:
    """Store side files of documents, of queries, or both; texts of another kind do not change.

    Returns:
        Stored texts, and notes on rows that did not fit.

    Raises:
        DataError: the documents have no ids, or a file knows none of the ids.
    """
    fold, fingerprint = mapped_file.open_fold(data.path), str(data.facts["fingerprint"])
    texts = {kind: _frame({}, shape) for kind, shape in SHAPES.items()}
    recipe: dict[str, object] = {"of": fingerprint}
    notes: dict[str, list[str]] = {}
    for before in _all_of(fingerprint, store):
        texts, recipe = _open_texts(before), dict(before.recipe)
        notes = {kind: list(sentences) for kind, sentences in before.facts["notes"].items()}
    parts = fold.parts.values()
    for side in files:
        columns = [part.doc_ids if side.kind == "documents" else part.query_ids for part in parts]
        ids = {identifier for column in columns for identifier in column or () if identifier}
        name = str(data.facts.get("name", data.key))
        texts[side.kind], notes[side.kind] = _fitting_rows(side, ids, name)
        recipe[side.kind] = side.digest
    key = key_of(KIND, recipe)

    def write(folder: Path) -> None:
        arrays: dict[str, np.ndarray] = {}
        for kind, frame in texts.items():
            for name, column in frame.reset_index().items():
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
    """Side texts of the data set of a fingerprint; None: nothing."""
    stored = _all_of(fingerprint, store)
    if not stored:
        return None
    notes = (note for sentences in stored[-1].facts["notes"].values() for note in sentences)
    return DisplayTexts(**_open_texts(stored[-1]), notes=tuple(notes))


def query_texts(fingerprint: str, store: Store) -> dict[str, str]:
    """Text of each query of the data set of a fingerprint; empty: none is known."""
    texts = find(fingerprint, store)
    return {} if texts is None else dict(texts.queries["text"])


def forget(fingerprint: str, store: Store) -> None:
    """Remove the side texts of the data set of a fingerprint, if any."""
    for artefact in _all_of(fingerprint, store):
        store.remove(artefact.key)


def _all_of(fingerprint: str, store: Store) -> list[Artefact]:
    """The stored texts of a data set, the newest last."""
    every = (one for one in store.artefacts(KIND) if one.recipe.get("of") == fingerprint)
    return sorted(every, key=lambda artefact: artefact.created)


def _open_texts(artefact: Artefact) -> dict[str, pd.DataFrame]:
    """Stored texts by kind; earlier versions stored tables, and an archive may hold anything."""
    old = {kind: artefact.path / f"{kind}.parquet" for kind in SHAPES}
    if not (artefact.path / STORED).exists():
        return {
            kind: _frame(tables.read_table(old[kind], str(old[kind])), shape)
            for kind, shape in SHAPES.items()
        }
    arrays, _ = mapped_file.open_mapped(artefact.path / STORED, FORMAT)

    def column(name: str) -> list[str]:
        ends = arrays[f"{name}.ends"]
        return [*TextColumn(arrays[f"{name}.blob"], np.append(0, ends)[:-1], ends)]

    return {
        kind: _frame({name: column(f"{kind}.{name}") for name in shape.columns}, shape)
        for kind, shape in SHAPES.items()
    }


def _frame(columns: Mapping[str, Any], shape: Shape) -> pd.DataFrame:
    """Texts by id."""
    frame = pd.DataFrame(columns, columns=[*shape.columns], dtype="str")
    return frame.set_index(shape.columns[0])


def _table(path: Path, shape: Shape) -> pd.DataFrame:
    """Requested columns as texts, with the numbers of the nonempty rows."""
    names = _names(path, tables.names_of(path, str(path)), shape)
    columns = tables.read_table(path, str(path), [*names], [*names], MOST_BYTES)
    frame = pd.DataFrame(
        {mine: [*map(_text_of, columns.get(name, ()))] for name, mine in names.items()}, dtype="str"
    )
    filled = (frame != "").any(axis=1)
    return frame.assign(row=range(1, len(frame) + 1))[filled]


def _text_of(value: Any) -> str:
    """A cell of a table as text; half of a pair of UTF-16 is escaped."""
    empty = value is None or value != value  # noqa: PLR0124 (NaN)
    return "" if empty else str(value).encode(errors="backslashreplace").decode()


def _names(path: Path, columns: Sequence[str], shape: Shape) -> dict[str, str]:
    """The columns of a file that are read, and what they are called here."""
    by_other_name = ((name, mine) for name, mine in shape.others.items() if mine not in columns)
    names = {name: name for name in shape.columns if name in columns}
    names |= {name: mine for name, mine in by_other_name if name in columns}
    identifier, read = shape.columns[0], set(names.values())
    missing = [identifier] if identifier not in read else []
    if not read - {identifier}:
        missing = missing or list(shape.columns[1:])
    if missing:
        listed = ", ".join(map(quoted, columns[:MOST_TOLD])) or "none"
        finding = f"no column {' nor '.join(missing)}; its columns are {listed}"
        names_due = f"{identifier}, and {', '.join(shape.columns[1:])} as far as known"
        raise DataError(str(path), finding, f"The first line names the columns: {names_due}.")
    return names


def _unique_rows(path: Path, rows: pd.DataFrame, shape: Shape) -> pd.DataFrame:
    """The rows, each id once; refused where one is missing or said twice otherwise."""
    identifier = shape.columns[0]
    distinct = rows.drop_duplicates([*shape.columns])
    wrong = distinct[(distinct[identifier] == "") | distinct[identifier].duplicated()]
    if len(wrong):
        name, row = wrong[identifier].iloc[0], wrong["row"].iloc[0]
        finding = f"is a second {shape.of} of {quoted(name)}" if name else f"has no {identifier}"
        raise DataError(str(path), f"row {row} {finding}", "Leave one row for each id.")
    return distinct


def _fitting_rows(side: SideFile, ids: set[str], data: str) -> tuple[pd.DataFrame, list[str]]:
    """Texts of the ids that a data set has, and notes on the others."""
    shape, rows, name = SHAPES[side.kind], side.rows, side.path.name
    identifier, of = shape.columns[0], shape.of
    if not ids:
        raise DataError(
            data,
            f"its {of}s have no ids, so the rows of {name} cannot be matched",
            "Name each document at the end of its line of LETOR text (`#docid = …`), read that in, "
            f"then {name}.",
        )
    inside = rows[identifier].isin(ids)
    if not inside.any():
        finding = f"it knows none of the {counted(len(ids), of)} of {data}"
        remedy = f"Write the ids as the data set has them: {', '.join(sorted(ids)[:3])} …"
        raise DataError(str(side.path), finding, remedy)
    notes = [f"{name}: {int(inside.sum()):,} of {counted(len(ids), of)} have a text."]
    if not inside.all():
        unknown = counted(int((~inside).sum()), "row")
        notes.append(
            f"{name}: {unknown} of ids that the data does not have, passed over: "
            f"{_first(rows[~inside])}. Remove them, or write their ids as the data has them."
        )
    fitting = rows[inside].set_index(identifier)
    if "url" in fitting:
        web = fitting["url"].map(is_web)
        if len(foreign := fitting[(fitting["url"] != "") & ~web]):
            notes.append(
                f"{name}: {counted(len(foreign), 'address')} not of http or https, left out: "
                f"{_first(foreign)}. Write them as https://…"
            )
        fitting = fitting.assign(url=fitting["url"].where(web, ""))
    return fitting.drop(columns="row"), notes


def _first(rows: pd.DataFrame) -> str:
    """The numbers of the first of some rows."""
    listed = ", ".join(f"row {row}" for row in rows["row"].head(MOST_TOLD))
    return listed + (" …" if len(rows) > MOST_TOLD else "")


def is_web(url: str) -> bool:
    """True if an address is one of http or https, and has a host.

    >>> is_web("https://example.org/a"), is_web("javascript:alert(1)"), is_web("//a")
    (True, False, False)
    """
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.netloc) and url.isprintable()


def with_texts(fold: Fold, path: Path) -> tuple[Fold, str]:
    """The fold with its documents' texts, and in words how many have one.

    Texts of other documents are passed over.

    Raises:
        DataError: no such file, one of another shape, one that knows none of the documents, or a
            second text of a document.
    """
    id_columns = [part.doc_ids for part in fold.parts.values() if part.doc_ids is not None]
    names = {name for column in id_columns for name in column if name}
    texts = _texts_by_document(path, names)
    named = counted(len(names), "named document")
    if not texts:
        raise DataError(str(path), f"it has a text of none of the {named}", TEXT_REMEDY)
    note = f"Texts of {len(texts):,} of {named} ({path.name})."
    with_columns = (
        replace(part, texts=_texts_of_rows(part, texts)) for part in fold.parts.values()
    )
    return Fold(*with_columns), note


def _texts_of_rows(part: RankingDataset, texts: dict[str, str]) -> TextColumn:
    """A text a row; rows of one document share its bytes, and what has none is empty."""
    names = list(part.doc_ids or [""] * part.documents)
    with_text = [name for name in dict.fromkeys(names) if name in texts]
    once = TextColumn.of(texts[name] for name in with_text)
    place = {name: at for at, name in enumerate(with_text)}
    rows = np.array([place.get(name, len(with_text)) for name in names], dtype=np.int64)
    starts, ends = (np.append(bounds, 0) for bounds in (once.starts, once.ends))
    return TextColumn(once.blob, starts[rows], ends[rows])


def _texts_by_document(path: Path, names: set[str]) -> dict[str, str]:
    """The text of each of these documents that the file has."""
    texts_by_name: dict[str, str] = {}
    row = 0
    columns = [DOCUMENT, TEXT]
    for batch, _ in tables.batches(path, str(path), columns, columns, MOST_TEXT):
        if not {DOCUMENT, TEXT} <= batch.keys():
            raise DataError(str(path), "no columns document and text", TEXT_REMEDY)
        for name, text in zip(batch[DOCUMENT], batch[TEXT], strict=True):
            row += 1
            if not (isinstance(name, str | None) and isinstance(text, str | None)):
                finding = f"row {row} holds a document or text that is no text"
                raise DataError(str(path), finding, TEXT_REMEDY)
            known = (name or "").strip()
            if known in names and texts_by_name.setdefault(known, text or "") != (text or ""):
                finding = f"row {row} is a second text of document {quoted(known)}"
                raise DataError(str(path), finding, "Leave one of them.")
    return texts_by_name
