"""Files of recorded rerankings: runs, window histories, logs of services, spans, JSON lines.

| file | read as |
|---|---|
| TREC run, MTEB predictions | one answer a query |
| RankLLM results | one answer a query, and its windows |
| RankLLM windows (`prompt`, `response`), also by query (`invocations_history`) | windows |
| Cohere log (`request`, `response`) | one answer a line; documents are named by their texts |
| OpenInference RERANKER spans | one answer a span |
| `{"query": …, "shown": […], "answered": […]}` | one answer a line |
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shuffleproof.core.data import trec
from shuffleproof.core.data.letor.stream import Limits, text_lines
from shuffleproof.core.errors import DataError, quoted
from shuffleproof.core.rerank.calls import KIND, Call, Ranking, Rating, Reranks
from shuffleproof.core.rerank.design import FIRST, KINDS, RANDOM, REVERSED, Input
from shuffleproof.core.rerank.groups import Group, files_in, groups_of
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import file_digest, key_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.words import counted

READER = 3
"""Version of the reader, for the key: raise it when files are read in another way."""

FORMS = (
    'a TREC run, RankLLM results or windows, a log of {"request": …, "response": …}, OpenInference '
    'spans, or lines of {"query": …, "shown": […], "answered": […]}'
)
LIMITS = Limits(line_bytes=1 << 28)
PASSAGE = re.compile(r"^\[\d+\]\s?(.*)$", re.MULTILINE)
QUERY = re.compile(r"[Ss]earch [Qq]uery: (.+?)\.?\s*\n")
SPAN = re.compile(r"reranker\.(input|output)_documents\.(\d+)\.document\.(id|score|content)")
WINDOW, STRIDE = 20, 10
"""RankLLM's defaults, where the file does not show others."""

SAME, MOST_DIFFERING = 40, 0.05
"""Letters in which two prompts of a document agree, and the share of documents that may not."""


def ingest(
    paths: Sequence[Path],
    name: str,
    store: Store,
    qrels: Path | None = None,
    given: Mapping[str, Any] | None = None,
) -> Artefact:
    """Read files of rerankings into the store, and name them; its fact `groups` has their groups.

    Args:
        paths: files or folders.
        name: of the answers.
        store: destination.
        qrels: judgments.
        given: corrected groups; see `groups_of`.

    Raises:
        LetorError, DataError: a file that cannot be read; nothing is stored.
        UsageError: an unknown group.
    """
    files = files_in(paths)
    digests = [file_digest(path) for path in (*files, *([qrels] if qrels else []))]
    recipe = {
        "files": [path.name for path in files], "qrels": qrels is not None,
        "groups": dict(given or {}), "reader": READER,
    }  # fmt: skip
    key = key_of(KIND, recipe, digests)
    with store.found_or_locked(key) as found:
        artefact = found
        if artefact is None:
            reranks, rows = read(groups_of(files, given), qrels)
            artefact = store.add(key, recipe, reranks.save, reranks.facts() | {"groups": rows})
    store.set_name(name, key)
    return artefact


def read(groups: Sequence[Group], qrels: Path | None = None) -> tuple[Reranks, list[Any]]:
    """Calls of recorded files, and a row for each file.

    Raises:
        LetorError, DataError: a file of another format, or without an answer.
    """
    reader = Reader()
    grades = {} if qrels is None else trec.read_qrels(qrels)
    rows, calls = [], list[Call]()
    for group in sorted(groups, key=lambda group: bool(group.reranker)):  # first stages first
        found = [call if call.first_stage else replace(call, first_stage=FIRST)
                 for call in reader.calls(group)]  # fmt: skip
        if group.reranker:
            calls += found
        else:
            reader.stages[group.first_stage] = {call.query: call.answered for call in found}
        # Lines may name their own reranker
        names = dict.fromkeys(call.reranker for call in found)
        rows.append(group.plain() | {"reranker": ", ".join(names)})
    for call in calls:  # lists without a file of their first stage are known from what was shown
        if call.is_list and call.shown and Input(call.first_stage).kind not in KINDS - {FIRST}:
            reader.stages.setdefault(call.first_stage, {}).setdefault(call.query, call.shown)
    if not calls:
        remedy = "Add files of rerankings, or name their groups (--groups)."
        raise DataError(", ".join(row["file"] for row in rows), "only first stages", remedy)
    if grades and not any(call.query in grades for call in calls):
        finding = f"no query of the rerankings is judged (their first is {calls[0].query})"
        raise DataError(str(qrels), finding, "Use the judgments of these queries.")
    named = [(call.query, name) for call in calls for name in call.shown or call.answered]
    if grades and not any(name in grades.get(query, ()) for query, name in named):
        finding = f"no document of the rerankings is judged (their first is {named[0][1]})"
        remedy = "Add the runs of their first stages, or name documents by their ids."
        raise DataError(str(qrels), finding, remedy)
    calls = list(_inputs(calls, reader.stages.get(FIRST, {})))
    notes = tuple(_notes(calls, grades))
    made = Reranks(tuple(calls), reader.stages, grades, notes, reader.texts, reader.query_texts)
    return made, rows


def _inputs(calls: Iterable[Call], listed: Mapping[str, Ranking]) -> Iterator[Call]:
    """Calls named by the order in which they show a list; the same input again gets a number.

    Args:
        calls: of all files.
        listed: documents of each query in the order of its first stage, if that has no name.
    """
    orders: dict[tuple[str, str], dict[Ranking, int]] = {}
    seen = set[Any]()
    for call in calls:
        stage, name, repeat = listed.get(call.query, ()), call.first_stage, call.repeat
        if not call.is_list:
            yield call
            continue
        if name == FIRST and call.shown != stage and sorted(call.shown) == sorted(stage):
            known = orders.setdefault((call.reranker, call.query), {})
            is_reversed = call.shown == stage[::-1]
            number = 0 if is_reversed else known.setdefault(call.shown, len(known) + 1)
            name = f"{RANDOM} {number}" if number else REVERSED
        while (key := (call.reranker, call.query, name, call.depth, repeat)) in seen:
            repeat += 1
        seen.add(key)
        yield replace(call, first_stage=name, repeat=repeat)


def _notes(calls: Iterable[Call], grades: Mapping[str, Any]) -> Iterator[str]:
    """Sentences on faults and on queries that were left out."""
    windows = [call for call in calls if not call.is_list]
    if windows:
        faulty = sum(call.is_faulty for call in windows)
        yield f"{faulty:,} of {counted(len(windows), 'window')} malformed."
    unjudged = {call.query for call in calls} - grades.keys()
    if grades and unjudged:
        yield f"{counted(len(unjudged), 'query')} without judgments left out."


@dataclass(frozen=True)
class Reader:
    """Reader of several files, which learns names and texts from each for the next.

    Attributes:
        stages: rankings of first stages by name and query.
        texts: of documents by id, the longest one seen; prompts cut them.
        query_texts: of queries by id.
        queries: ids by text, for prompts that name queries by their texts alone.
    """

    stages: dict[str, dict[str, Ranking]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    query_texts: dict[str, str] = field(default_factory=dict)
    queries: dict[str, str] = field(default_factory=dict)

    def calls(self, group: Group) -> list[Call]:
        """Calls of a file."""
        start = next(_lines(group.path))
        if start.lstrip()[:1] not in {"{", "["}:
            scores = trec.read_run(group.path).scores
            return [self._run(group, query, of_query) for query, of_query in scores.items()]
        entries = list(_entries(group.path))
        try:
            return list(self._of_entries(group, entries))
        except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
            finding = (
                f"JSON that is no reranking ({type(error).__name__}: {quoted(str(error)[:80])})"
            )
            raise DataError(str(group.path), finding, f"Expected {FORMS}.") from error

    def _of_entries(self, group: Group, entries: Sequence[Any]) -> Iterator[Call]:
        """Calls of the JSON values of a file, by the keys of the first one."""
        keys = set(entries[0]) if entries and isinstance(entries[0], Mapping) else set()
        if {"prompt", "response"} <= keys:
            yield from self._windows(group, entries)
        elif {"request", "response"} <= keys:
            yield from (self._service(group, entry) for entry in entries)
        elif "attributes" in keys:
            spans = [entry["attributes"] for entry in entries]
            yield from (self._span(group, span) for span in spans if "reranker.query" in span)
        elif "candidates" in keys:
            for entry in entries:
                yield from self._rankllm(group, entry)
        elif "invocations_history" in keys:
            entries = [
                {**call, "query": entry["query"]}
                for entry in entries for call in entry["invocations_history"]
            ]  # fmt: skip
            yield from self._windows(group, entries)
        elif "query" in keys and keys & {"answered", "shown"}:
            # Unanswered lines of a file of missing calls are skipped
            yield from (self._line(group, entry) for entry in entries if "answered" in entry)
        else:
            for entry in entries:
                for query, scores in _scores_by_query(entry):
                    yield self._run(group, query, scores)

    def _listed(self, group: Group, query: str, depth: int | None = None) -> Ranking:
        """Documents that were to be reranked, in the order of the first stage."""
        return self.stages.get(group.first_stage, {}).get(query, ())[: group.depth or depth]

    def _learn(self, name: str, text: str) -> str:
        """Name of a document whose text was seen."""
        self.texts[name] = max(self.texts.get(name, ""), text, key=len)
        return name

    def _run(self, group: Group, query: str, scores: Mapping[str, float]) -> Call:
        """Answer of a run; without a reranker the first stage itself."""
        ranked = tuple(sorted(scores, key=lambda document: -scores[document]))
        shown = self._listed(group, str(query), len(ranked)) if group.reranker else ()
        return Call(query=str(query), shown=shown, answered=ranked, **group.fields)

    def _rankllm(self, group: Group, entry: Mapping[str, Any]) -> Iterator[Call]:
        """Answer of RankLLM with its windows; passages of prompts are found by their texts."""
        query = str(entry["query"]["qid"])
        if text := str(entry["query"].get("text", "")):
            self.queries[text], self.query_texts[query] = query, text
        ranked = tuple(str(one["docid"]) for one in entry["candidates"])
        shown = self._listed(group, query, len(ranked))
        yield Call(query=query, shown=shown, answered=ranked, **group.fields)
        named = {
            (text := _plain(str(next(iter(one["doc"].values()), "")))):
            self._learn(str(one["docid"]), text)
            for one in entry["candidates"] if isinstance(one.get("doc"), Mapping)
        }  # fmt: skip
        for at, call in enumerate(entry.get("invocations_history", ())):
            passages = map(_plain, PASSAGE.findall(_prompt(call)))
            ids = tuple(_named(passage, named) for passage in passages)
            window = max(len(ranked) - WINDOW - at * STRIDE, 0)
            tokens = sum(int(call.get(f"{way}_token_count") or 0) for way in ("input", "output"))
            made = _window(group, query, ids, str(call["response"]), window)
            yield replace(made, tokens=tokens or None)

    def _windows(self, group: Group, entries: Sequence[Any]) -> Iterator[Call]:
        """Windows that name passages by number alone.

        Their documents are found by repeating the sliding of the first stage: windows of a query
        come one after the other, from its end to its start, and queries in the order of the first
        stage. Without one, documents and queries are named by their texts.
        """
        prompts = [_prompt(entry) for entry in entries]
        matches = map(QUERY.search, prompts)
        said = [match[1].strip() if match else "" for match in matches]
        for text, entry in zip(said, entries, strict=True):
            if query := entry.get("query"):
                self.queries[text] = str(query["qid"])
        order, stage = list(dict.fromkeys(said)), self.stages.get(group.first_stage, {})
        if len(order) == len(stage) and "query" not in entries[0]:
            self.queries.update(zip(order, stage, strict=True))
        names, seen = dict[str, list[str]](), Counter[str]()
        checked, differing = set[str](), 0
        for text, prompt, entry in zip(said, prompts, entries, strict=True):
            passages = [_plain(passage) for passage in PASSAGE.findall(prompt)]
            query = self.queries.get(text, text)
            self.query_texts[query] = text
            listed = names.setdefault(query, list(self._listed(group, query)))
            start = max(len(listed) - len(passages) - seen[query] * STRIDE, 0)
            seen[query] += 1
            shown = listed[start : start + len(passages)]
            if len(shown) < len(passages):
                shown, start = [_digest(passage) for passage in passages], 0
            for name, passage in zip(shown, passages, strict=True):
                known = self.texts.get(name, passage)[:SAME]
                differing += not (known.startswith(passage[:SAME]) or passage.startswith(known))
                checked.add(self._learn(name, passage))
            if differing > MOST_DIFFERING * len(checked):
                finding = f"its passages are not the first {group.depth} of {group.first_stage}"
                raise DataError(
                    str(group.path), finding, "Correct first_stage and depth (--groups)."
                )
            call = _window(group, query, tuple(shown), str(entry["response"]), start)
            if listed:
                rest = [name for name in shown if name not in set(call.answered)]
                listed[start : start + len(shown)] = [*call.answered, *rest]
            yield call

    def _service(self, group: Group, entry: Mapping[str, Any]) -> Call:
        """Line of a log of a reranking service; documents are named by their texts."""
        request, answer = entry["request"], entry["response"]
        documents = request.get("documents") or request.get("texts") or request.get("input")
        shown = tuple(map(self._document, documents))
        rating = Rating.of_results(answer, len(shown))
        return Call.of_rating(rating, query=str(request["query"]), shown=shown, **group.fields)

    def _document(self, document: Any) -> str:
        """Name of a document in a request."""
        given = document if isinstance(document, Mapping) else {}
        text = _plain(str(given.get("text", document)))
        return self._learn(str(given.get("id") or _digest(text)), text)

    def _span(self, group: Group, span: Mapping[str, Any]) -> Call:
        """OpenInference's span of a reranker: `reranker.input_documents.0.document.id`."""
        sides: dict[tuple[str, str], dict[int, Any]] = {}
        for name, value in span.items():
            if match := SPAN.fullmatch(name):
                sides.setdefault((match[1], match[3]), {})[int(match[2])] = value
        columns = {key: [value for _, value in sorted(side.items())] for key, side in sides.items()}
        shown = tuple(map(str, columns.get(("input", "id"), ())))
        for name, text in zip(shown, columns.get(("input", "content"), ()), strict=False):
            self._learn(name, str(text))
        answered = list(map(str, columns.get(("output", "id"), ())))
        rating = _rating(shown, answered, columns.get(("output", "score"), ()))
        return Call.of_rating(rating, query=str(span["reranker.query"]), shown=shown,
                              **group.fields)  # fmt: skip

    def _line(self, group: Group, entry: Mapping[str, Any]) -> Call:
        """Line of our own format; `answered` may be a list of ids, or scores by id."""
        answered, scores = entry["answered"], entry.get("scores", ())
        if isinstance(answered, Mapping):
            answered = sorted(answered, key=lambda name: -entry["answered"][name])
            scores = [entry["answered"][name] for name in answered]
        names = [str(name) for name in answered]
        shown = tuple(map(str, entry.get("shown", ())))
        for name, text in zip(shown, entry.get("texts", ()), strict=False):
            self._learn(name, str(text))
        if text := entry.get("query_text"):
            self.query_texts[str(entry["query"])] = str(text)
        listed = shown or tuple(dict.fromkeys(names))
        own = Call.of({"query": "", "answered": (), "shown": (), **group.fields, **entry})
        rating = _rating(listed, names, scores)
        made = Call.of_rating(rating, query=str(entry["query"]), shown=listed)
        return replace(
            own, query=made.query, shown=shown, answered=made.answered, scores=made.scores,
            repeated=own.repeated + made.repeated, unknown=own.unknown + made.unknown,
            malformed=own.malformed or made.malformed or not names,
        )  # fmt: skip


def _lines(path: Path) -> Iterator[str]:
    """Lines of a file, plain or compressed, without blank ones."""
    return (text for _, text in text_lines(path, str(path), LIMITS, f"Expected {FORMS}."))


def _entries(path: Path) -> Iterator[Any]:
    """JSON values of a file: one, a list of them, one a line, or with commas between them."""
    text = "\n".join(_lines(path))
    decoder, place = json.JSONDecoder(), 0
    between = re.compile(r"[\s,\[\]]*(?:\d+\s*$)?")
    place = between.match(text).end()  # type: ignore[union-attr]
    while place < len(text):
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            line = text.count("\n", 0, place) + 1
            remedy = f"Expected {FORMS}."
            raise DataError(f"{path}:{line}", "JSON that cannot be read", remedy) from error
        yield value
        place = between.match(text, place).end()  # type: ignore[union-attr]


def _prompt(call: Mapping[str, Any]) -> str:
    """Text of a prompt: a text, or the messages of a chat."""
    prompt = call["prompt"]
    if isinstance(prompt, str):
        return prompt
    return "\n".join(str(message["content"]) for message in prompt)


def _scores_by_query(entry: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, float]]]:
    """Scores of documents by query; newer MTEB has them below the names of subset and split."""
    for name, inner in entry.items():
        if name == "mteb_model_meta":
            continue
        if inner and all(isinstance(one, Mapping) for one in inner.values()):
            yield from _scores_by_query(inner)
        else:
            yield name, inner


def _rating(shown: Ranking, answered: Sequence[str], scores: Sequence[Any]) -> Rating:
    """Rating of an answer that names documents by their ids; incomplete scores do not count."""
    places = {name: place for place, name in enumerate(shown)}
    usable = scores if len(scores) == len(answered) else ()
    return Rating.of([places.get(name) for name in answered], len(shown), usable)


def _window(group: Group, query: str, shown: Ranking, response: str, window: int) -> Call:
    """Call of one window from the text of its answer: `[2] > [1]`."""
    places = [int(number) - 1 for number in re.findall(r"\d{1,6}", response)]
    rating = Rating.of(places, len(shown))
    return Call.of_rating(rating, query=query, shown=shown, window=window, **group.fields)


def _named(passage: str, named: Mapping[str, str]) -> str:
    """Id of a passage, which prompts may cut; else a digest of its text."""
    if passage in named:
        return named[passage]
    fitting = [name for text, name in named.items() if passage and text.startswith(passage)]
    return fitting[0] if len(fitting) == 1 else _digest(passage)


def _plain(text: str) -> str:
    return " ".join(text.split())


def _digest(text: str) -> str:
    return f"text-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
