"""TREC runs and judgments in and out: columns apart by blanks or tabs, plain or compressed.

    run    topic Q0 document rank score tag      qrels    topic 0 document grade
           topic document rank (MS MARCO)                 topic document grade (below BEIR's header)

The scores of a run decide, as trec_eval has it; lines whose rank says otherwise are counted. Scores
are float64 from the file to the measure: what is written differently stays apart, or is counted as
a tie. Ids are UTF-8. Recorded rerankings are read where they name their documents: RankLLM's,
MTEB's predictions.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32, Float64

from shuffleproof.core.data import ragged
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.letor.stream import Limits, Source, text_lines
from shuffleproof.core.data.letor.write import whole_file
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.errors import DataError, LetorError, quoted
from shuffleproof.core.numerals import NUMBER, number, whole

RUN_FORM, QRELS_FORM = "topic Q0 document rank score tag", "topic 0 document grade"
MARCO_FORM = "topic document rank"
RUN_LIMITS = Limits(line_bytes=1 << 26)  # JSON may be one long line
TWICE = "a document that this topic has already"
BEIR_HEADER = ["query-id", "corpus-id", "score"]
WHOLE_AS_DECIMAL = re.compile(r"\.0+$")
HIGHEST_GRADE = 1 << 24  # Labels are float32, which holds whole numbers up to here


@dataclass(frozen=True)
class Run:
    """A run: for each topic the score of every document retrieved, in the order of the file."""

    tag: str  # what the run calls itself on its first line
    scores: Mapping[str, Mapping[str, float]]  # by topic and document
    # documents whose score, as written, differs from that of another document of their
    # topic, and in double precision does not
    merged: int = 0
    # documents whose rank and score order them differently against another document of
    # their topic
    contradicting: int = 0

    @property
    def lines(self) -> int:
        """Number of documents retrieved over all topics."""
        return sum(len(scores) for scores in self.scores.values())


def read_run(path: Path) -> Run:
    """Read a run; what stands behind the tag belongs to it.

    A file of three columns is MS MARCO's: topic, document, rank; its score is the negative rank.

    Raises:
        LetorError: a line with fewer columns, a rank or score that is no number, a score beyond
            1.8e308, an id with a blank, a document twice.
        DataError: a damaged or empty file, or a recorded reranking that names no documents.
    """
    file = _File(path, RUN_FORM, RUN_LIMITS)
    scores: dict[str, dict[str, float]] = {}
    ranks: dict[str, list[float]] = {}
    written: dict[str, dict[float, str]] = {}
    tag, merged, marco = "", 0, None
    for text in file.texts():
        if marco is None:
            if text.lstrip()[:1] in {"{", "["}:
                return _recorded(file, text)
            marco = len(text.split()) == 3 and text.split()[2].isdigit()
            file.form = MARCO_FORM if marco else RUN_FORM
        if marco:
            topic, document, rank = file.columns(text, 3)
            score, run = f"-{rank}", ""
        else:
            topic, _, document, rank, score, run = file.columns(text, 6)
            # one column more, with the score in the place of the tag
            shifted = len(words := run.split()) > 1 and NUMBER.fullmatch(words[0])
            if shifted or not NUMBER.fullmatch(rank):
                finding = f"{quoted(rank)} in the rank's place, {quoted(score)} in the score's"
                remedy = f"A line reads: {file.form}; no id holds a blank."
                raise file.error(f"malformed: {finding}", remedy)
        topic_scores = scores.setdefault(topic, {})
        if document in topic_scores:
            raise file.error(TWICE, "Keep one of the lines.")
        try:
            topic_scores[document] = number(score)
            ranks.setdefault(topic, []).append(number(rank))
        except ValueError as error:
            wrong = score if NUMBER.fullmatch(rank) else rank
            raise file.error(f"{quoted(wrong)} where a number is due") from error
        first_text = written.setdefault(topic, {}).setdefault(topic_scores[document], score)
        merged += first_text != score and Decimal(first_text) != Decimal(score)
        tag = tag or run
    contradicting = sum(
        _contradicting(np.array(ranks[topic]), np.array(list(of_topic.values())))
        for topic, of_topic in scores.items()
    )
    return Run(tag, scores, merged, contradicting)


def _contradicting(
    ranks: Float64[np.ndarray, " documents"], scores: Float64[np.ndarray, " documents"]
) -> int:
    """Documents with another one of a smaller rank and a smaller score, or the reverse of it.

    >>> _contradicting(np.array([1.0, 2.0, 3.0]), np.array([9.0, 7.0, 8.0]))
    2
    """
    order = np.lexsort((-scores, ranks))  # equal ranks contradict nothing
    falling = scores[order]
    above = np.minimum.accumulate(np.r_[np.inf, falling[:-1]])
    below = np.maximum.accumulate(np.r_[falling[1:], -np.inf][::-1])[::-1]
    return int(((falling > above) | (falling < below)).sum())


def _recorded(file: "_File", start: str) -> Run:
    """The run that a recorded reranking in JSON holds: MTEB's predictions, or RankLLM's results."""
    remedy = f"Write a line a document: {RUN_FORM}."
    texts = [start, *file.texts()]
    try:
        try:
            whole_file = json.loads("\n".join(texts))
        except ValueError:  # an object a line
            whole_file = [json.loads(text) for text in texts]
        entries = whole_file if isinstance(whole_file, list) else [whole_file]
        scores: dict[str, dict[str, float]] = {}
        for entry in entries:
            for what, keys in RECORDED.items():
                if isinstance(entry, dict) and keys & entry.keys():
                    raise DataError(file.name, what, remedy)
            found = _scores_in(entry)
            if found.keys() & scores.keys():
                raise DataError(file.name, "JSON with a topic twice", remedy)
            scores |= found
    except RecursionError as error:
        raise DataError(file.name, "JSON that is nested too deep", remedy) from error
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise DataError(file.name, "JSON that is no run", remedy) from error
    if not scores:
        raise DataError(file.name, "JSON without topics", remedy)
    return Run("", scores)


def _scores_in(entry: Any) -> dict[str, dict[str, float]]:
    """Score by topic and document of one result of RankLLM, or of MTEB's predictions.

    Raises:
        AttributeError, KeyError, OverflowError, TypeError, ValueError: it is neither.

    >>> _scores_in({"query": {"qid": 7}, "candidates": [{"docid": "a", "score": 2}]})
    {'7': {'a': 2.0}}
    """
    if "candidates" in entry:
        pairs = [(one["docid"], one["score"]) for one in entry["candidates"]]
        by_topic = {str(entry["query"]["qid"]): pairs}
    else:
        by_topic = {topic: list(of_topic.items()) for topic, of_topic in entry.items()}
    scores = {}
    for topic, pairs in by_topic.items():
        scores[topic] = {str(document): number(repr(score)) for document, score in pairs}
        if len(scores[topic]) < len(pairs):
            raise ValueError(topic)
    return scores


RECORDED: Mapping[str, frozenset[str]] = {
    "a reranking service's answers (Cohere), which number documents and name none": frozenset(
        {"request", "response", "results"}
    ),
    "spans of OpenInference": frozenset({"attributes", "resourceSpans"}),
}
"""Recorded rerankings that are not read, by keys that only they have."""


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Read judgments: grade by topic and document; `1.0` is the whole number 1.

    Raises:
        LetorError: a line with fewer columns, a grade that is no whole number or beyond 2^24,
            a document judged twice with unlike grades.
        DataError: a damaged or empty file.
    """
    grades: dict[str, dict[str, int]] = {}
    file = _File(path, QRELS_FORM, Limits())
    beir = False
    for text in file.texts():
        if file.number == 1 and text.split() == BEIR_HEADER:
            beir = True
            continue
        three = beir and len(text.split()) == 3
        columns = file.columns(text, 3 if three else 4)
        topic, document, said = columns[0], columns[-2], columns[-1]
        grade = None
        with suppress(ValueError):
            grade = whole(WHOLE_AS_DECIMAL.sub("", said))
        if grade is None or abs(grade) > HIGHEST_GRADE:
            remedy = f"A line reads: {QRELS_FORM}, grades up to {HIGHEST_GRADE:,}."
            raise file.error(f"{quoted(said)} where a whole number is due", remedy)
        if grades.setdefault(topic, {}).setdefault(document, grade) != grade:
            raise file.error(TWICE, "Keep one of the lines.")
    return grades


def form_of(source: Source, name: str) -> str:
    """RUN_FORM or QRELS_FORM, by a file's first line; empty for others and unreadable files.

    >>> import io
    >>> form_of(io.BytesIO(b"q1 0 d1 2"), "a"), form_of(io.BytesIO(b"2 qid:1 1:0.5"), "b")
    ('topic 0 document grade', '')
    """
    try:
        _, text = next(text_lines(source, name, Limits(), QRELS_FORM))
    except DataError:
        return ""
    words = text.split()
    if words == BEIR_HEADER or (len(words) == 4 and NUMBER.fullmatch(words[3])):
        return QRELS_FORM
    is_run = len(words) >= 6 and words[1].upper() == "Q0" and NUMBER.fullmatch(words[4])
    return RUN_FORM if is_run else ""


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
    rows_by_list = np.split(lists.rows, lists.offsets[1:-1])  # of no list: one empty array
    for query, rows in zip(lists.queries.tolist(), rows_by_list, strict=False):
        if len({names[row] for row in rows.tolist()}) < len(rows):
            finding = f"documents of the same name in list {query}"
            raise DataError("TREC output", finding, "Give documents distinct ids.")
    order = ragged.order_within(lists.offsets, -scores, lists.rows)
    ranks = ragged.places_of(lists.offsets) + 1
    queries = np.repeat(lists.queries, lists.lengths)[order].tolist()
    topics = (dataset.query_ids[query] for query in queries)
    documents = (names[row] for row in lists.rows[order].tolist())
    lines = zip(topics, documents, ranks.tolist(), scores[order].tolist(), strict=True)
    write_rows(path, lines, tag)


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
    _write(path, lines)


def write_qrels(path: Path, *parts: RankingDataset) -> None:
    """Write the labels of a data set's parts as judgments; gzipped where the name ends in .gz.

    Raises:
        DataError: labels that are not whole numbers, or a name with blanks.
    """
    if any((part.labels != np.rint(part.labels)).any() for part in parts):
        finding = "labels that are not whole numbers"
        raise DataError(str(path), finding, "TREC judgments are whole numbers.")
    _write(path, (line for part in parts for line in _judgments(part)))


def _judgments(dataset: RankingDataset) -> Iterator[str]:
    owners = ragged.segment_ids(dataset.offsets).tolist()
    labels = dataset.labels.astype(int).tolist()
    for query, name, label in zip(owners, document_names(dataset), labels, strict=True):
        yield f"{_word(dataset.query_ids[query])} 0 {_word(name)} {label}\n"


class _File:
    """A file of columns, and errors about the line read last."""

    def __init__(self, path: Path, form: str, limits: Limits) -> None:
        self.name, self.form, self.number, self._line = str(path), form, 0, ""
        self._lines = text_lines(path, self.name, limits, f"A line reads: {form}.")

    def texts(self) -> Iterator[str]:
        """The lines that are not blank, and were not read before."""
        for self.number, self._line in self._lines:  # noqa: B020 (errors name the line read last)
            yield self._line

    def columns(self, text: str, count: int) -> list[str]:
        """A number of columns of a line; the last one takes the rest.

        Raises:
            LetorError: there are fewer.
        """
        columns = [column.decode() for column in text.encode().split(maxsplit=count - 1)]
        if len(columns) < count:  # bytes are split at the blanks of ASCII alone
            raise self.error(f"{len(columns)} columns instead of {count}")
        columns[-1] = columns[-1].rstrip(" \t\r\v\f")
        return columns

    def error(self, finding: str, remedy: str = "") -> LetorError:
        """The error of the line read last."""
        remedy = remedy or f"A line reads: {self.form}."
        return LetorError(self.name, self.number, self._line, finding, remedy)


def _word(text: str) -> str:
    if not text or len(text.split()) != 1 or text != text.strip():
        raise DataError("TREC output", f"the name {text!r}", "TREC columns hold no blanks.")
    return text


def _write(path: Path, lines: Iterable[str]) -> None:
    with whole_file(path) as file:
        for line in lines:
            file.write(line.encode())
