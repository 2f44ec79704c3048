"""Collections in the store, with keys from the digests of their files and their format."""

from array import array
from collections.abc import Generator, Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np

from shuffleproof.core.data.ragged import offsets_of
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.errors import ArtefactError, DataError, LetorError
from shuffleproof.core.progress import Progress, run_to_end
from shuffleproof.core.retrieval import collection as table
from shuffleproof.core.retrieval import planted, reading
from shuffleproof.core.retrieval.collection import MISSING, Collection
from shuffleproof.core.retrieval.folder import File, open_files
from shuffleproof.core.retrieval.reading import Files, Text
from shuffleproof.core.retrieval.recipe import AUTO, Analysis, CollectionFormat
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import file_digest, key_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.words import counted

KIND = "collection"
EVERY = 4096


def ingest(
    folder: Path,
    name: str | None,
    store: Store,
    how: CollectionFormat | None = None,
    analysis: Analysis | None = None,
) -> Generator[Progress, None, Artefact]:
    """Import a collection into the store; yields progress in bytes.

    Args:
        folder: of its files, or one archive.
        name: name of the collection; None: only its key.
        store: the target.
        how: format of the files.
        analysis: conversion of its texts to terms, for every retriever.

    Raises:
        LetorError, DataError: malformed or missing files; nothing is stored.
    """
    how, analysis = how or CollectionFormat(), analysis or Analysis()
    with open_files(folder) as files:
        form = "" if how.format == AUTO else how.format
        chosen, notes = reading.find_files(files, str(folder), form)
        recipe = asdict(how) | {"format": chosen.format}
        if analysis != Analysis():  # the default adds nothing, so older keys stay valid
            recipe["analysis"] = asdict(analysis)
            notes = (*notes, analysis.in_words)
        key = key_of(KIND, recipe, _digests(chosen))
        with store.found_or_locked(key) as found:
            artefact = found
            if artefact is None:
                space = store.workspace(key) / "texts"
                with space.open("w+b") as spool:
                    read = yield from _read(chosen, how, spool)
                read = replace(read, name=name or folder.name, analysis=analysis)
                read = replace(read, notes=(*notes, *read.notes))
                read = replace(read, digest=table.digest_of(read))
                facts = {
                    "name": read.name, "documents": len(read), "queries": len(read.query_ids),
                    "judgments": len(read.judged), "digest": read.digest, "notes": list(read.notes),
                }  # fmt: skip
                artefact = store.add(key, recipe, lambda at: table.save(read, at), facts)
    if name is not None:
        store.set_name(name, artefact.key)
    return artefact


def find(text: str, store: Store) -> Collection:
    """Collection of a name, a key, or a folder of files; `sample`: the built-in one.

    Raises:
        ArtefactError: an unknown name, or a damaged stored collection.
        LetorError, DataError: malformed files.
    """
    if text == planted.NAME:
        return planted.planted_collection()
    path = Path(text)
    if text not in store.names() and path.exists():
        artefact = run_to_end(ingest(path, None, store))
    else:
        artefact = store.resolve(text, KIND)
    try:
        return table.open_(artefact.path)
    except DataError as error:
        raise ArtefactError(str(artefact.key), error.finding, error.remedy) from error


def _digests(files: Files) -> list[str]:
    """Digests of the files by content, each archive once."""
    digests = {}
    for role in ("documents", "queries", "judgments"):
        for file in getattr(files, role):
            if (role, file.path) not in digests:
                digests[role, file.path] = f"{role}:{file_digest(file.path)}"
    return list(digests.values())


def _read(
    files: Files, how: CollectionFormat, spool: BinaryIO
) -> Generator[Progress, None, Collection]:
    """Read all files; texts of documents go to the spool file, not to memory."""
    places: dict[str, int] = {}
    bounds = array("q", [0])
    total = sum({file.path: file.path.stat().st_size for file in files.documents}.values())
    written = 0
    for file in files.documents:
        for text in reading.texts(file, files.format):
            if len(places) % EVERY == 0:
                yield Progress(min(written, total), max(total, 1), "bytes")
            _new(text, places, file)
            for part in (text.id, text.title, text.text):
                raw = part.encode(errors="replace")
                spool.write(raw)
                written += len(raw)
                bounds.append(written)
    spool.flush()
    blob = np.memmap(spool, np.uint8, "r") if written else np.zeros(0, np.uint8)
    ends = np.frombuffer(bounds, np.int64)
    # Bounds are written per document as id, title, text: every third entry belongs to one part
    ids, titles, texts = (
        TextColumn(blob, ends[part:-1:3], ends[part + 1 :: 3]) for part in range(3)
    )
    queries: dict[str, str] = {}
    for file in files.queries:
        for query in reading.texts(file, files.format):
            _new(query, queries, file)
            queries[query.id] = " ".join(f"{query.title} {query.text}".split())
    judged, notes = _judged(files, how, tuple(queries))
    rows = [row for grades in judged for row in grades.items()]
    at = [places.get(document, MISSING) for document, _ in rows]
    empty = Collection(
        name="", doc_ids=ids, titles=titles, texts=texts,
        query_ids=tuple(queries), queries=tuple(queries.values()),
        judged_offsets=offsets_of(np.array([len(grades) for grades in judged], np.int64)),
        judged_ids=TextColumn.of([document for document, _ in rows]),
        judged=np.array(at, np.int32), grades=np.array([grade for _, grade in rows], np.int32),
        notes=notes,
    )  # fmt: skip
    yield Progress(max(total, 1), max(total, 1), "bytes")
    return empty


def _new(text: Text, known: dict[str, int] | dict[str, str], file: File) -> None:
    """Register an id."""
    if not text.id or text.id in known:
        finding = f"the id {text.id!r} a second time" if text.id else "an empty id"
        raise LetorError(str(file), text.line, text.id, finding, "Give each text an id of its own.")
    known[text.id] = len(known)  # type: ignore[assignment]


def _judged(
    files: Files, how: CollectionFormat, queries: Sequence[str]
) -> tuple[list[dict[str, int]], tuple[str, ...]]:
    """Grades by document for each query, and notes on decisions, in sentences."""
    plain = reading.number_of if files.format == "smart" else str
    grades: dict[tuple[str, str], int] = {}
    notes = []
    for file in files.judgments:
        for judgment in reading.judgments(file):
            pair = plain(judgment.query), plain(judgment.document)
            if grades.setdefault(pair, judgment.grade) != judgment.grade:
                finding = f"another grade than {grades[pair]} for this document"
                shown = f"{judgment.query} {judgment.document} {judgment.grade}"
                raise LetorError(str(file), judgment.line, shown, finding, "Keep one of the lines.")
    at, decisions = _places_of([query for query, _ in grades], queries, how.numbers)
    notes += decisions
    values = set(grades.values())
    small = how.grades == "small" or (how.grades == AUTO and values == {-1, 1, 2, 3, 4})
    most = max(values, default=0)
    if small:
        notes.append(f"Grade 1 is best: turned round, 1 became {most} and {most} became 1.")
    below = sum(grade < 0 for grade in grades.values())
    if below:
        notes.append(f"Below 0 means not relevant: {counted(below, 'judgment')} became 0.")
    judged: list[dict[str, int]] = [{} for _ in queries]
    lost = set()
    for (query, document), grade in grades.items():
        if query not in at:
            lost.add(query)
            continue
        # Reversal maps 1 … most to most … 1; grades of 0 and below stay not relevant
        value = most + 1 - grade if small and grade > 0 else max(grade, 0)
        judged[at[query]][document] = value
    if grades and len(lost) == len({query for query, _ in grades}):
        names = ", ".join(sorted(lost)[:5])
        remedy = "Say whether query numbers are ids or positions (--numbers)."
        place = ", ".join(map(str, files.judgments))
        raise DataError(place, f"judgments of no query that is there ({names} …)", remedy)
    if lost:
        notes.append(f"Judgments of {counted(len(lost), 'unknown query')} were left out.")
    return judged, tuple(notes)


def _places_of(
    judged: Iterable[str], queries: Sequence[str], numbers: str
) -> tuple[dict[str, int], list[str]]:
    """Index of the query for each name in the judgments, and notes on decisions."""
    ids = {query: place for place, query in enumerate(queries)}
    positions = {str(place): place - 1 for place in range(1, len(queries) + 1)}
    names = set(judged)
    if numbers == AUTO:
        fits = names <= positions.keys() and not names <= ids.keys()
        numbers = "positions" if fits else "ids"
        if fits:
            note = "Query numbers of the judgments are positions, not ids: they fit only so."
            return positions, [note]
    return (positions if numbers == "positions" else ids), []
