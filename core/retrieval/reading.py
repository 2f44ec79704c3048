"""Readers of documents, queries and judgments in the published formats of collections.

    smart    `.I 1`, `.T`, `.W` … (Cranfield, CACM, CISI); NPL's numbered texts that end in `/`
    trec     <DOC><DOCNO>, one or many a file, or an HTML page a document; <top><num><title>
    beir     corpus.jsonl (_id, title, text), queries.jsonl (_id, text), qrels/test.tsv; the same
             as Parquet or Arrow in folders corpus, queries and qrels or data (MTEB)
    jsonl    JSON lines or tables (id, text) or (id, title, text), and judgments of any kind

Judgments: `query document grade`, TREC's `query 0 document grade`, BEIR's table, the same as JSON
lines, Parquet or Arrow, or lists of documents after each query. Text files may be compressed or in
a tar archive.
"""

import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

from shuffleproof.core.data.trec import HIGHEST_GRADE, WHOLE_AS_DECIMAL
from shuffleproof.core.errors import DataError, LetorError, quoted
from shuffleproof.core.numerals import whole
from shuffleproof.core.retrieval.folder import File
from shuffleproof.core.retrieval.recipe import FORMATS
from shuffleproof.core.words import counted

LONG_ENTITY = re.compile(r"&#[0-9]{8,};?")
"""References to invalid characters, with more digits than Python can parse."""

TAG = re.compile(r"<[^<>]{0,200}>")
CITATIONS = re.compile(r"\d+\t\d+\t\d+$")
ID_NAMES = ("_id", "id", "docid", "doc_id", "docno", "qid", "query_id")
TEXT_NAMES = ("text", "contents", "body", "abstract", "query", "segment", "passage")
QUERY_NAMES = ("query-id", "query_id", "qid", "query")
DOCUMENT_NAMES = ("corpus-id", "corpus_id", "docid", "doc_id", "document")
GRADE_NAMES = ("score", "relevance", "grade", "label")
JUDGED = "A line reads: query 0 document grade, or query document grade; a grade is a whole number."
DIGITS = re.compile(r"[0-9]+")


class Text(NamedTuple):
    """Document or query, and the number of its first line in the file."""

    id: str
    title: str
    text: str
    line: int


class Judgment(NamedTuple):
    """Grade of a document for a query, as written."""

    query: str
    document: str
    grade: int
    line: int


@dataclass(frozen=True)
class Files:
    """Files of one format, by role."""

    format: str
    documents: Sequence[File]
    queries: Sequence[File]
    judgments: Sequence[File]


def find_files(files: Sequence[File], place: str, form: str = "") -> tuple[Files, tuple[str, ...]]:
    """Files of a collection in a folder, and notes on decisions, in sentences.

    `form` is one of FORMATS; empty: the first one with documents and queries. Errors call the
    folder `place`.

    Raises:
        DataError: no collection of that format, or a file of it is not text.
    """
    kinds: dict[str, list[File]] = {name: [] for name in ("", *FORMATS)}
    for file in files:
        if file.role in {"documents", "queries"}:
            kinds[_form_of(file)].append(file)
    roles = {name: {file.role for file in kinds[name]} for name in FORMATS}
    complete = [name for name in ([form] if form else FORMATS) if len(roles[name]) == 2]
    if not complete:
        _refuse_unknown(files, kinds[""], set().union(*roles.values()))
        seen = ", ".join(sorted(file.name for file in files)[:8]) or "nothing"
        remedy = (
            "Wanted: a file of documents and one of queries (its name holds `quer`, `qry` or "
            "`topic`), best with one of judgments (`qrel`, `.rel`)."
        )
        raise DataError(place, f"no {form or 'text'} collection ({seen})", remedy)
    chosen, notes = complete[0], []
    if complete[1:]:
        others = ", ".join(complete[1:])
        notes.append(f"Read as {chosen}; files of {others} are there too (--format).")
    judged = _judgments_beside(
        [file for file in files if file.role == "judgments"], kinds[chosen], chosen
    )
    if len(judged) > 1:
        names = ", ".join(file.name for file in judged)
        test = [file for file in judged if "test" in file.name] or judged
        notes.append(f"Several files of judgments ({names}); read: {test[0].name}.")
        judged = test[:1]
    documents, queries = (
        [file for file in kinds[chosen] if file.role == role] for role in ("documents", "queries")
    )
    return Files(chosen, documents, queries, judged), tuple(notes)


def _refuse_unknown(files: Sequence[File], unknown: Sequence[File], known: set[str]) -> None:
    """Refuse a file of unknown format, if documents or queries are missing."""
    named = any(file.role == "queries" for file in files)
    for file in unknown:
        if file.role in known or not (named or not file.first_line()):
            continue
        for number, line in file.lines():
            if line.strip():
                wanted = "`.I 1`, `<DOC>` or `<top>`, a JSON object, or an id, a tab and a text"
                finding = "neither documents nor queries of a format that is known"
                raise LetorError(str(file), number, line, finding, f"Begin it with {wanted}.")
        remedy = "Put documents or queries into it, or remove it."
        raise DataError(str(file), "an empty file", remedy)


def _judgments_beside(judged: list[File], text_files: list[File], form: str) -> list[File]:
    """Judgments in the same archive or folder as the documents, else those of TREC for TREC."""
    if len(judged) < 2:
        return judged
    beside = [file for file in judged if file.archive and file.archive is text_files[0].archive]
    loose = [file for file in judged if not file.archive]
    nearer = beside or (loose if form == "trec" else judged)
    named = [file for file in nearer if "trec" in file.name] if form == "trec" else []
    return named or nearer


def _form_of(file: File) -> str:
    """Format of a file of documents or queries, by its first line; empty: unknown."""
    if file.is_table:
        return "beir"
    line = file.first_line()
    if _mark(line)[0] == "I":
        return "smart"
    if line.startswith("<"):
        return "trec"
    if line.startswith("{"):
        return "beir" if file.name in {"corpus.jsonl", "queries.jsonl"} else "jsonl"
    if DIGITS.fullmatch(line) and file.role:
        return "smart"
    return "jsonl" if "\t" in line or file.name.endswith(".csv") else ""


def texts(file: File, form: str) -> Iterator[Text]:
    """Documents or queries of a file, in its order.

    Raises:
        LetorError: a malformed line.
        DataError: no document or query in the file.
    """
    read = {"smart": _smart, "trec": _trec}.get(form, _records)
    text = None
    for text in read(file):
        yield Text(_encodable(text.id), _encodable(text.title), _encodable(text.text), text.line)
    if text is None:
        raise DataError(str(file), f"no document or query of format {form}", "Name another format.")


def _encodable(text: str) -> str:
    """Text with lone surrogates escaped, since UTF-8 cannot encode them."""
    return text.encode(errors="backslashreplace").decode()


def _mark(line: str) -> tuple[str, str]:
    """Letter of a mark such as `.W`, and the text after it; empty: no mark.

    >>> _mark(".I 12 "), _mark(".W"), _mark(".45 of it")
    (('I', '12'), ('W', ''), ('', ''))
    """
    letter, rest = line[1:2], line[2:]
    is_mark = line[:1] == "." and "A" <= letter <= "Z" and (not rest or rest[0].isspace())
    return (letter, rest.strip()) if is_mark else ("", "")


def _smart(file: File) -> Iterator[Text]:
    """Texts of SMART files: `.I id`, `.T` title, `.W` and `.K` text; other fields are skipped."""
    if not file.first_line().startswith("."):
        for name, start, lines in _numbered(file, file.lines()):
            yield Text(name, "", "\n".join(lines), start)
        return
    name, start, field, parts = "", 0, "", dict[str, list[str]]()
    for number, line in chain(file.lines(), [(0, ".I 0")]):  # the mark of a next text ends the last
        mark, behind = _mark(line)
        if not line.strip():
            continue
        if line.startswith(".I") or not name:
            if name:
                title = " ".join(" ".join(parts.get("T", ())).split())
                body = "\n".join([*parts.get("W", ()), *parts.get("K", ())])
                yield Text(name, title, body, start)
            if mark != "I" or not behind:
                raise LetorError(str(file), number, line, "no number behind .I", "Write `.I 1`.")
            name, start, field, parts = number_of(behind), number, "", {}
        elif mark and not behind:
            field = mark
        elif field:
            parts.setdefault(field, []).append(line)
        else:
            remedy = "Behind `.I 1` stands a mark as `.W`."
            raise LetorError(str(file), number, line, "text of no field", remedy)


def _numbered(file: File, rows: Iterable[tuple[int, str]]) -> Iterator[tuple[str, int, list[str]]]:
    """(number, line of it, lines) of NPL's format: a number, lines, and a line with `/`."""
    name, start, lines = "", 0, list[str]()
    for number, line in rows:
        content = line.strip()
        if content == "/":
            yield name, start, lines
            name, lines = "", []
        elif not name and content:
            if not DIGITS.fullmatch(content):
                remedy = "A text is a line with its number, its lines, and a line with `/`."
                raise LetorError(str(file), number, line, "no number of a text", remedy)
            name, start = number_of(content), number
        elif content:
            lines.append(line)
    if name:
        remedy = "End every text with a line `/`."
        raise LetorError(str(file), start, name, "a text without end", remedy)


def number_of(text: str) -> str:
    """Number without leading zeros; other ids do not change."""
    return (text.lstrip("0") or "0") if DIGITS.fullmatch(text) else text


def _trec(file: File) -> Iterator[Text]:
    """<DOC> or <top> blocks; an HTML page without any is one document with the file's name."""
    if file.name.endswith((".html", ".htm")):
        lines = [line for _, line in file.lines()]
        yield _page(file.name.rpartition(".")[0], lines)
        return
    start, kind, lines = 0, "", list[str]()
    for number, line in file.lines():
        mark = line.strip()[:5].lower()
        begins = mark in {"<doc>", "<top>"}
        if kind and begins:
            break
        if begins:
            start, kind, lines = number, mark, []
        elif kind:
            end = line.lower().find(kind.replace("<", "</"))
            lines.append(line if end < 0 else line[:end])
            if end >= 0:
                yield _block("\n".join(lines), kind, file, start)
                kind = ""
    if kind:
        remedy = f"End it with {kind.replace('<', '</')}."
        raise LetorError(str(file), start, kind, "a block that does not end", remedy)


def _block(text: str, kind: str, file: File, start: int) -> Text:
    """Document or topic between its tags."""
    tag = "<num>" if kind == "<top>" else "<docno>"
    place = re.search(rf"{tag}\s*(?:number:\s*)?(?!number:)([^\s<]+)", text, re.IGNORECASE)
    if place is None:
        shown = tag if kind == "<top>" else tag.upper()
        raise LetorError(str(file), start, kind, f"no {shown} in the block", f"Write {shown} 1.")
    if kind == "<top>":
        return Text(place[1], "", _between(text, "title", "desc"), start)
    title = _between(text, "title", "headline", "ti")
    rest = re.sub(r"<docno>[^<]*</docno>", " ", text, flags=re.IGNORECASE)
    return Text(place[1], " ".join(title.split()), _between(text, "text") or _plain(rest), start)


def _between(text: str, *tags: str) -> str:
    """Content of the first tag that has any, up to its end or to the next tag of a topic."""
    for tag in tags:
        shape = rf"<{tag}>(.*?)(?:</{tag}>|<(?:num|title|desc|narr)>|\Z)"
        place = re.search(shape, text, re.IGNORECASE | re.DOTALL)
        words = r"^\s*(?:topic|description|narrative):"
        if place and (content := _plain(re.sub(words, "", place[1], flags=re.IGNORECASE))):
            return content
    return ""


def _plain(text: str) -> str:
    """Text without tags and entities, with trimmed ends."""
    return html.unescape(LONG_ENTITY.sub("\ufffd", TAG.sub(" ", text))).strip()


def _page(name: str, lines: Sequence[str]) -> Text:
    """Document of an HTML page: the first paragraph is the title, citation tables are skipped."""
    prose = [line for line in lines if not CITATIONS.match(line.strip())]
    text = _plain("\n".join(prose))
    title, _, rest = text.partition("\n\n")
    return Text(name, " ".join(title.split()), rest.strip(), 1)


def _records(file: File) -> Iterator[Text]:
    """Texts of JSON lines with an id, or of a table of (id, text) or (id, title, text)."""
    if _has_names(file):
        for number, line, names in _objects(file, (*ID_NAMES, *TEXT_NAMES, "title"), RECORD_FORM):
            yield _record(file, number, line, names)
        return
    for number, line in file.lines():
        if not line.strip():
            continue
        cells = line.split("\t")
        if len(cells) not in {2, 3}:
            finding = f"{counted(len(cells), 'column')} where 2 or 3 are due"
            remedy = "A line reads: id, tab, text, or id, tab, title, tab, text."
            raise LetorError(str(file), number, line, finding, remedy)
        if number == 1 and cells[0].strip().lower() in ID_NAMES:
            continue
        title = cells[1].strip() if len(cells) == 3 else ""
        yield Text(cells[0].strip(), title, cells[-1], number)


RECORD_FORM = 'A line reads: {"_id": "1", "title": "…", "text": "…"}.'
JUDGMENT_FORM = 'A line reads: {"query-id": "1", "corpus-id": "2", "score": 1}.'


def _has_names(file: File) -> bool:
    """True for tables and JSON lines, whose values have names."""
    return file.is_table or file.first_line().startswith("{")


def _objects(
    file: File, wanted: Sequence[str], form: str
) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    """(number, line, values by name) of every row or line; no values for JSON without names."""
    if file.is_table:
        for number, row in file.rows(wanted):
            yield number, str(row)[:200], row
        return
    for number, line in file.lines():
        if not line.strip():
            continue
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError) as error:
            why = "nested too deep" if isinstance(error, RecursionError) else error
            raise LetorError(str(file), number, line, f"no JSON ({why})", form) from error
        yield number, line, fields if isinstance(fields, dict) else {}


def _first_of(names: Sequence[str], fields: Mapping[str, Any]) -> str | None:
    """The first of some names that a record has."""
    return next((name for name in names if name in fields), None)


def _record(file: File, number: int, line: str, names: Mapping[str, Any]) -> Text:
    """Text of a JSON object or a row; a missing title is empty."""
    id_name, text_name = _first_of(ID_NAMES, names), _first_of(TEXT_NAMES, names)
    if id_name is None or text_name is None:
        remedy = f"Name the id {' or '.join(ID_NAMES[:2])} and the text {' or '.join(TEXT_NAMES)}."
        raise LetorError(str(file), number, line, "no id or no text", remedy)
    title = names.get("title")
    known = {id_name: names[id_name], text_name: names[text_name]}
    known["title"] = "" if title is None or title != title else title  # noqa: PLR0124 (NaN)
    for name, value in known.items():
        if not isinstance(value, str | int):
            finding = f"{name} is {quoted(str(value))}"
            raise LetorError(str(file), number, line, finding, "Write ids and texts as text.")
    identifier, text, title = map(str, known.values())
    return Text(identifier, title, text, number)


def judgments(file: File) -> Iterator[Judgment]:
    """Judgments of a file, as written.

    Raises:
        LetorError: a malformed line, or a grade that is not a whole number.
        DataError: no judgment in the file.
    """
    judgment = None
    for judgment in _judgments_in(file):
        yield judgment
    if judgment is None:
        raise DataError(str(file), "no judgments", JUDGED)


def _judgments_in(file: File) -> Iterator[Judgment]:
    if _has_names(file):
        wanted = (*QUERY_NAMES, *DOCUMENT_NAMES, *GRADE_NAMES)
        for number, line, names in _objects(file, wanted, JUDGMENT_FORM):
            yield _judgment_of(file, number, line, names)
        return
    rows = [(number, line) for number, line in file.lines() if line.strip()]
    if any(line.strip() == "/" for _, line in rows):
        # A list may end with `/` in its last line
        parts = ((number, part) for number, line in rows for part in re.split("(/)", line))
        for query, start, lines in _numbered(file, parts):
            for document in " ".join(lines).split():
                yield Judgment(query, number_of(document), 1, start)
        return
    for place, (number, line) in enumerate(rows):
        columns = _columns(line)
        if place or columns[0].lower() not in {"query-id", "query_id", "qid"}:
            yield _judgment(file, number, line, columns)


def _columns(line: str) -> list[str]:
    r"""Columns of judgments: by tabs, or by blanks, as between the ids of CISI.

    >>> _columns("     1     28\t0\t0.000000"), _columns("q 1\td\t1")
    (['1', '28', '0', '0.000000'], ['q 1', 'd', '1'])
    """
    by_tabs = [column.strip() for column in line.split("\t")]
    words = line.split()
    two_ids = all(map(DIGITS.fullmatch, by_tabs[0].split())) and len(by_tabs[0].split()) == 2
    return by_tabs if len(by_tabs) in {3, 4} and not (two_ids and len(words) == 4) else words


def _judgment_of(file: File, number: int, line: str, fields: Mapping[str, Any]) -> Judgment:
    """Judgment of a JSON object or a row."""
    found = []
    for names in (QUERY_NAMES, DOCUMENT_NAMES, GRADE_NAMES):
        name = _first_of(names, fields)
        value = None if name is None else fields[name]
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            finding = f"no {names[0]}" if name is None else f"{name} is {quoted(str(value))}"
            raise LetorError(str(file), number, line, finding, JUDGMENT_FORM)
        found.append(str(value))
    return _judgment(file, number, line, found)


def _judgment(file: File, number: int, line: str, columns: list[str]) -> Judgment:
    if len(columns) == 3:
        query, document, grade = columns
    elif len(columns) == 4 and columns[1] in {"0", "Q0"}:
        query, _, document, grade = columns
    elif len(columns) == 4:  # CACM's and CISI's: the last two columns have no meaning
        query, document, grade = *columns[:2], "1"
    else:
        finding = f"{counted(len(columns), 'column')} where 3 or 4 are due"
        raise LetorError(str(file), number, line, finding, JUDGED)
    value = None
    with suppress(ValueError):
        value = whole(WHOLE_AS_DECIMAL.sub("", grade))
    if value is None or abs(value) > HIGHEST_GRADE:
        finding = f"{quoted(grade)} where a whole number up to {HIGHEST_GRADE:,} is due"
        raise LetorError(str(file), number, line, finding, JUDGED)
    return Judgment(_encodable(query), _encodable(document), value, number)
