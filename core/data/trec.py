"""TREC runs and judgments in and out: columns apart by blanks or tabs, plain or compressed.

    run    topic Q0 document rank score tag      qrels    topic 0 document grade

In a run the scores decide and the rank column is not read, as trec_eval has it. Scores are float64
from the file to the measure: what is written differently stays apart, or is counted as a tie.
"""

import gzip
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import numpy as np
from jaxtyping import Float32

from shuffleproof.core.data import ragged
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.letor.stream import LONE_RETURN, Limits, Source, blocks
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.errors import DataError, LetorError, quoted
from shuffleproof.core.numerals import number, whole

RUN_COLUMNS, QRELS_COLUMNS = 6, 4
BEIR_HEADER = [b"query-id", b"corpus-id", b"score"]
HIGHEST_GRADE = 1 << 24
"""Labels are float32, which holds whole numbers up to here."""


@dataclass(frozen=True)
class Run:
    """A run: for each topic the score of every document retrieved, in the order of the file.

    Attributes:
        tag: what the run calls itself on its first line.
        scores: by topic and document.
        merged: documents whose score, as written, differs from that of another document of their
            topic, and in double precision does not.
    """

    tag: str
    scores: Mapping[str, Mapping[str, float]]
    merged: int = 0

    @property
    def lines(self) -> int:
        """How many documents were retrieved over all topics."""
        return sum(len(scores) for scores in self.scores.values())


def read_run(source: Source | str, limits: Limits | None = None) -> Run:
    """Read a run; more than six columns belong to the tag.

    Raises:
        LetorError: a line with fewer columns, a score that is no number or beyond 1.8e308, a
            document twice.
        DataError: a damaged or empty file.
    """
    scores: dict[str, dict[str, float]] = {}
    written: dict[str, dict[float, str]] = {}
    tag, merged = "", 0
    reader = _Reader(source, RUN_COLUMNS, "topic Q0 document rank score tag", limits)
    for topic, _, document, _, score, run in reader:
        topic_scores = scores.setdefault(topic, {})
        if document in topic_scores:
            raise reader.twice()
        try:
            topic_scores[document] = number(score)
        except ValueError as error:
            raise reader.no_number(score) from error
        first_text = written.setdefault(topic, {}).setdefault(topic_scores[document], score)
        merged += first_text != score and Decimal(first_text) != Decimal(score)
        tag = tag or run
    return Run(tag, scores, merged)


def read_qrels(source: Source | str, limits: Limits | None = None) -> dict[str, dict[str, int]]:
    """Read judgments: grade by topic and document.

    Raises:
        LetorError: a line with fewer columns, a grade that is no whole number or beyond 2^24,
            a document judged twice with unlike grades.
        DataError: a damaged or empty file.
    """
    grades: dict[str, dict[str, int]] = {}
    reader = _Reader(source, QRELS_COLUMNS, "topic 0 document grade", limits)
    for topic, _, document, text in reader:
        try:
            grade = whole(text)
        except ValueError as error:
            raise reader.no_number(text) from error
        if abs(grade) > HIGHEST_GRADE:
            raise reader.no_number(text)
        if grades.setdefault(topic, {}).setdefault(document, grade) != grade:
            raise reader.twice()
    return grades


def document_names(dataset: RankingDataset) -> list[str]:
    """A name for every document: its id, or query id and 1-based place where there is none."""
    places = (ragged.places_of(dataset.offsets) + 1).tolist()
    owners = ragged.segment_ids(dataset.offsets).tolist()
    names = [
        f"{dataset.query_ids[query]}.{place}" for query, place in zip(owners, places, strict=True)
    ]
    if dataset.doc_ids is None:
        return names
    return [identifier or name for identifier, name in zip(dataset.doc_ids, names, strict=True)]


def write_run(
    path: Path,
    dataset: RankingDataset,
    lists: CandidateLists,
    scores: Float32[np.ndarray, " candidates"],
    tag: str = "shuffleproof",
) -> None:
    """Write scored lists, best first, ties by data set row; gzipped where the name ends in .gz.

    Scores are printed so that they read back to the same float32.

    Raises:
        DataError: a document that occurs twice in a list, or a name with blanks.
    """
    names = document_names(dataset)
    order = ragged.order_within(lists.offsets, -scores, lists.rows)
    ranks = ragged.places_of(lists.offsets) + 1
    topics = np.repeat(lists.queries, lists.lengths)

    def rows() -> Iterator[tuple[str, str, int, float]]:
        for place, candidate in enumerate(order.tolist()):
            topic, document = dataset.query_ids[topics[candidate]], names[lists.rows[candidate]]
            yield topic, document, int(ranks[place]), float(scores[candidate])

    _check_distinct(lists, names)
    write_rows(path, rows(), tag)


def write_rows(
    path: Path, rows: Iterable[tuple[str, str, int, float]], tag: str = "shuffleproof"
) -> None:
    """Write (topic, document, rank from 1, score) as a run; gzipped where the name ends in .gz.

    Raises:
        DataError: a name with blanks.
    """
    _word(tag)
    lines = (
        f"{_word(topic)} Q0 {_word(document)} {rank} {score:.9g} {tag}\n"
        for topic, document, rank, score in rows
    )
    write_text(path, lines)


def write_qrels(path: Path, *parts: RankingDataset) -> None:
    """Write the labels of a data set's parts as judgments; gzipped where the name ends in .gz.

    Raises:
        DataError: labels that are not whole numbers, or a name with blanks.
    """
    if any((part.labels != np.rint(part.labels)).any() for part in parts):
        finding = "labels that are not whole numbers"
        raise DataError(str(path), finding, "TREC judgments are whole numbers.")
    write_text(path, (line for part in parts for line in _judgments(part)))


def _judgments(dataset: RankingDataset) -> Iterator[str]:
    owners = ragged.segment_ids(dataset.offsets).tolist()
    labels = dataset.labels.astype(int).tolist()
    for query, name, label in zip(owners, document_names(dataset), labels, strict=True):
        yield f"{_word(dataset.query_ids[query])} 0 {_word(name)} {label}\n"


class _Reader:
    """The columns of each line of a file, and the error of the line read last."""

    def __init__(self, source: Source | str, least: int, form: str, limits: Limits | None) -> None:
        self._source = Path(source) if isinstance(source, str) else source
        has_path = isinstance(self._source, Path)
        self._name = str(self._source if has_path else getattr(source, "name", source))
        self._least, self._form, self._limits = least, form, limits or Limits()
        self._number, self._line = 0, ""

    def __iter__(self) -> Iterator[list[str]]:
        """The columns of every line that is not blank; the last one takes what is left.

        Judgments under BEIR's header have three columns; they get the second one, which says 0.
        """
        empty, three = True, False
        for block in blocks(self._source, self._name, self._limits):
            lines = block.buffer[: block.end].tobytes().split(b"\n")[:-1]
            for self._number, line in enumerate(lines, block.first_line):
                self._line = line.decode(errors="backslashreplace")
                if b"\r" in line.removesuffix(b"\r"):
                    raise self._error(*LONE_RETURN)
                columns = line.rstrip().split(maxsplit=self._least - 1)  # at ASCII blanks alone
                if self._number == 1 and columns == BEIR_HEADER and self._least == QRELS_COLUMNS:
                    three = True
                    continue
                if three and len(columns) == QRELS_COLUMNS - 1:
                    columns.insert(1, b"0")
                if len(columns) == self._least:
                    empty = False
                    yield [column.decode(errors="backslashreplace") for column in columns]
                elif columns:
                    finding = f"{len(columns)} columns instead of {self._least}"
                    raise self._error(finding, f"A line reads: {self._form}.")
        if empty:
            raise DataError(self._name, "no lines", f"A line reads: {self._form}.")

    def twice(self) -> LetorError:
        """The error of the line read last, whose document its topic has already."""
        return self._error("a document that this topic has already", "Keep one of the lines.")

    def no_number(self, text: str) -> LetorError:
        """The error of the line read last, whose score or grade is this text."""
        kind = "number" if self._least == RUN_COLUMNS else "whole number"
        finding = f"{quoted(text)} where a {kind} is due"
        bound = "" if self._least == RUN_COLUMNS else f", grades up to {HIGHEST_GRADE:,}"
        return self._error(finding, f"A line reads: {self._form}{bound}.")

    def _error(self, finding: str, remedy: str) -> LetorError:
        return LetorError(self._name, self._number, self._line, finding, remedy)


def _word(text: str) -> str:
    if not text or len(text.split()) != 1 or text != text.strip():
        raise DataError("TREC output", f"the name {text!r}", "TREC columns hold no blanks.")
    return text


def _check_distinct(lists: CandidateLists, names: list[str]) -> None:
    for query, start, stop in zip(
        lists.queries.tolist(), lists.offsets[:-1].tolist(), lists.offsets[1:].tolist(), strict=True
    ):
        shown_names = [names[row] for row in lists.rows[start:stop].tolist()]
        if len(set(shown_names)) < len(shown_names):
            finding = f"documents of the same name in list {query}"
            raise DataError("TREC output", finding, "Give documents distinct ids.")


def write_text(path: Path, lines: Iterable[str]) -> None:
    """Write lines to a file, whole or not at all; gzipped where the name ends in .gz."""
    partial = path.with_name(path.name + ".partial")
    packed = path.suffix == ".gz"
    try:
        with gzip.open(partial, "wb", 6) if packed else partial.open("wb") as file:
            for line in lines:
                file.write(line.encode())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
