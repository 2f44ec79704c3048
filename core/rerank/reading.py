"""Files of recorded rerankings: runs, window histories, logs of services, spans, JSON lines.

| file | read as |
|---|---|
| TREC run, MTEB predictions | one answer a query |
| RankLLM results | one answer a query, and its windows |
| RankLLM windows (`prompt`, `response`) | windows |
| Cohere log (`request`, `response`) | one answer a line; documents are named by their texts |
| OpenInference RERANKER spans | one answer a span |
| `{"query": …, "shown": […], "answered": […]}` | one answer a line |
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shuffleproof.core.data import trec
from shuffleproof.core.data.letor.stream import Limits, text_lines
from shuffleproof.core.errors import DataError, ParameterError, UnknownNameError, UsageError, quoted
from shuffleproof.core.rerank.calls import Call, Ranking, Reranks
from shuffleproof.core.rerank.design import FIRST, IDEAL, RANDOM, REVERSED, SET_A, SET_B, TOP, Input
from shuffleproof.core.words import counted

FORMS = (
    'a TREC run, RankLLM results or windows, a log of {"request": …, "response": …}, OpenInference '
    'spans, or lines of {"query": …, "shown": […], "answered": […]}'
)
LIMITS = Limits(line_bytes=1 << 28)
FIRST_STAGE = "first_stage"
"""Folder of the files that are first stages."""

OTHERS = {".md", ".py", ".pdf", ".html"}
"""Endings of files in a folder that hold no answers."""

OTHER_INPUTS = {REVERSED, IDEAL, RANDOM, SET_A, SET_B, TOP}
"""Inputs of a design that are not the order of a first stage."""

GROUPS = ("first_stage", "reranker", "depth", "repeat")
PASSAGE = re.compile(r"^\[(\d+)\]\s?(.*)$", re.MULTILINE)
QUERY = re.compile(r"[Ss]earch [Qq]uery: (.+?)\.?\s*\n")
NUMBERED = re.compile(
    r"(?:depth|top|k)[-_]?(?P<depth>\d+)|(?:repeat|rep|run|seed)[-_]?(?P<repeat>\d+)"
)
"""Parts of file names that are a depth or the number of a repetition."""

WINDOW, STRIDE = 20, 10
"""RankLLM's defaults, where the file does not show others."""

SAME, MOST_DIFFERING = 40, 0.05
"""Letters in which two prompts of a document agree, and the share of documents that may not."""


@dataclass(frozen=True)
class Group:
    """Content of a file.

    Attributes:
        path: of the file.
        first_stage: ranking that was reranked.
        reranker: empty: the file is the first stage itself.
        depth: documents that were reranked; 0: not known.
        repeat: number of the repetition.
    """

    path: Path
    first_stage: str
    reranker: str
    depth: int = 0
    repeat: int = 1

    def plain(self) -> dict[str, Any]:
        """Row of a table."""
        return {
            "file": self.path.name, "first_stage": self.first_stage, "reranker": self.reranker,
            "depth": self.depth, "repeat": self.repeat,
        }  # fmt: skip


def files_in(paths: Sequence[Path]) -> list[Path]:
    """Files of some paths; those of folders in the order of their names.

    Raises:
        DataError: a path that is not there, or no file.
    """
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(one for one in path.rglob("*") if one.is_file())
            files += [
                one for one in inside
                if not one.name.startswith((".", "qrels", "README")) and one.suffix not in OTHERS
            ]  # fmt: skip
        elif path.is_file():
            files.append(path)
        else:
            raise DataError(str(path), "no such file", "Check the path.")
    if not files:
        raise DataError(", ".join(map(str, paths)), "no files", f"Expected {FORMS}.")
    return files


def groups_of(files: Sequence[Path], given: Mapping[str, str]) -> list[Group]:
    """Groups of files, from their names and from what the user gave.

    Args:
        files: such as `bm25.rank-vicuna.depth100.repeat2.dl19.txt.gz`.
        given: by field a value for all files, or the number of the part of their names.

    Raises:
        UsageError: an unknown field, or a file whose name has no such part.

    >>> files = [Path("first_stage/bm25.x.gz"), Path("bm25.gpt.depth20.x.gz")]
    >>> [(group.first_stage, group.reranker, group.depth) for group in groups_of(files, {})]
    [('bm25', '', 0), ('bm25', 'gpt', 20)]
    """
    if unknown := sorted(given.keys() - set(GROUPS)):
        raise UnknownNameError("group", unknown[0], GROUPS)
    parts = [_parts(path) for path in files]
    # The end that most names share is the data set, if two other parts of some name are left
    (shared, count), *_ = Counter(names[-1] for names in parts).most_common(1)
    ending = [names for names in parts if names[-1] == shared]
    most = max(sum(not NUMBERED.fullmatch(name) for name in names) for names in ending)
    shared = shared if count > len(files) / 2 and count > 1 and most > 2 else ""
    groups = [_group(path, names, shared, given) for path, names in zip(files, parts, strict=True)]
    stages = {group.first_stage for group in groups if group.reranker}
    # A single name that others begin with is their first stage
    return [
        replace(group, first_stage=group.reranker, reranker="")
        if not group.first_stage and group.reranker in stages
        else group
        for group in groups
    ]


def _parts(path: Path) -> list[str]:
    """Parts of a file's name without its endings."""
    name = re.sub(r"(\.(gz|bz2|xz|zst|txt|trec|run|tsv|jsonl?|ndjson))+$", "", path.name)
    return [part for part in re.split(r"[.]|__", name) if part]


def _group(path: Path, names: list[str], shared: str, given: Mapping[str, str]) -> Group:
    depth, repeat, others = 0, 1, []
    for name in names:
        match = NUMBERED.fullmatch(name)
        if match is None:
            others.append(name)
        elif match["depth"]:
            depth = int(match["depth"])
        else:
            repeat = int(match["repeat"])
    is_first = path.parent.name == FIRST_STAGE
    if others[-1:] == [shared] and len(others) > 1:
        others.pop()
    others = others or names
    if is_first or len(others) > 1:
        first, reranker = others[0], "" if is_first else ".".join(others[1:])
    else:  # one name says only who answered
        first, reranker = "", others[0]
    values: dict[str, Any] = {
        "first_stage": first, "reranker": reranker, "depth": depth, "repeat": repeat,
    }  # fmt: skip
    values |= _given(path, names, given)
    if is_first:
        values["reranker"] = ""
    return Group(path, **values)


def _given(path: Path, names: Sequence[str], given: Mapping[str, str]) -> dict[str, Any]:
    """Groups that the user gave: a value, or the number of the part of the file's name.

    Raises:
        ParameterError: a depth or repetition that is no number.
        UsageError: the name has no such part.
    """
    values: dict[str, Any] = {}
    for field, text in given.items():
        if field in {"depth", "repeat"}:
            if not text.isdecimal():
                raise ParameterError(f"--groups {field}", text, "a whole number")
            values[field] = int(text)
        elif text.isdecimal():
            if not 1 <= int(text) <= len(names):
                raise UsageError(
                    f"{path.name}: its name has {len(names)} parts; give {field} one of them"
                )
            values[field] = names[int(text) - 1]
        else:
            values[field] = text
    return values


def read(
    files: Sequence[Path], qrels: Path | None = None, given: Mapping[str, str] | None = None
) -> Reranks:
    """Calls of recorded files.

    Args:
        files: see `files_in`.
        qrels: judgments.
        given: see `groups_of`.

    Raises:
        LetorError, DataError: a file of another format, or without an answer.
        UsageError: groups that the files do not have.
    """
    groups = groups_of(files, given or {})
    grades = {} if qrels is None else trec.read_qrels(qrels)
    stages = {
        group.first_stage: {call.query: call.answered for call in _calls(group, {}, {})}
        for group in groups
        if not group.reranker
    }
    calls: list[Call] = []
    texts: dict[str, str] = {}
    for group in groups:
        if group.reranker:
            calls += _calls(group, stages.get(group.first_stage, {}), texts)
    calls = [call if call.first_stage else replace(call, first_stage=FIRST) for call in calls]
    for call in calls:  # lists without a file of their first stage are known from what was shown
        if call.is_list and call.shown and Input(call.first_stage).kind not in OTHER_INPUTS:
            stages.setdefault(call.first_stage, {}).setdefault(call.query, call.shown)
    if not calls:
        remedy = "Add files of rerankings, or name their groups (--groups)."
        raise DataError(", ".join(path.name for path in files), "only first stages", remedy)
    if grades and not any(call.query in grades for call in calls):
        finding = f"no query of the rerankings is judged (their first is {calls[0].query})"
        raise DataError(str(qrels), finding, "Use the judgments of these queries.")
    return Reranks(tuple(calls), stages, grades, tuple(_notes(calls, grades)))


def _notes(calls: Iterable[Call], grades: Mapping[str, Any]) -> Iterator[str]:
    """Sentences on faults and on queries that were left out."""
    every = list(calls)
    faulty = sum(call.is_faulty for call in every if not call.is_list)
    windows = sum(not call.is_list for call in every)
    if windows:
        yield f"{faulty:,} of {counted(windows, 'window')} malformed."
    if grades:
        unjudged = {call.query for call in every} - grades.keys()
        if unjudged:
            yield f"{counted(len(unjudged), 'query')} without judgments left out."


def _calls(group: Group, stage: Mapping[str, Ranking], texts: dict[str, str]) -> list[Call]:
    """Calls of a file.

    Args:
        group: of the file.
        stage: its first stage by query, if it is there.
        texts: texts of queries by their id, which grow; windows name queries by their texts.
    """
    start = next(_lines(group.path))
    if start.lstrip()[:1] not in {"{", "["}:
        return [_of_run(group, *pair, stage) for pair in trec.read_run(group.path).scores.items()]
    entries = list(_entries(group.path))
    try:
        return list(_of_entries(group, entries, stage, texts))
    except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
        finding = f"JSON that is no reranking ({type(error).__name__}: {quoted(str(error)[:80])})"
        raise DataError(str(group.path), finding, f"Expected {FORMS}.") from error


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


def _of_entries(
    group: Group, entries: Sequence[Any], stage: Mapping[str, Ranking], texts: dict[str, str]
) -> Iterator[Call]:
    """Calls of the JSON values of a file, by the keys of the first one."""
    keys = set(entries[0]) if entries and isinstance(entries[0], Mapping) else set()
    if {"prompt", "response"} <= keys:
        yield from _of_windows(group, entries, stage, texts)
    elif {"request", "response"} <= keys:
        yield from (_of_service(group, entry) for entry in entries)
    elif "attributes" in keys:
        spans = [entry["attributes"] for entry in entries]
        yield from (_of_span(group, span) for span in spans if "reranker.query" in span)
    elif "candidates" in keys:
        for entry in entries:
            yield from _of_rankllm(group, entry, stage, texts)
    elif "query" in keys and keys & {"answered", "shown"}:
        # Unanswered lines of a file of missing calls are skipped
        yield from (_of_line(group, entry) for entry in entries if "answered" in entry)
    else:
        for entry in entries:
            for query, scores in entry.items():
                yield _of_run(group, query, scores, stage)


def _of_run(
    group: Group, query: str, scores: Mapping[str, float], stage: Mapping[str, Ranking]
) -> Call:
    """Answer of a run; without a reranker the first stage itself."""
    ranked = sorted(scores, key=lambda document: -scores[document])
    depth = group.depth or len(ranked)
    shown = stage.get(query, ())[:depth] if group.reranker else ()
    return Call(
        group.reranker, str(query), shown, tuple(ranked), (), group.first_stage, group.depth,
        group.repeat,
    )  # fmt: skip


def _of_rankllm(
    group: Group, entry: Mapping[str, Any], stage: Mapping[str, Ranking], texts: dict[str, str]
) -> Iterator[Call]:
    """Answer of RankLLM with its windows; passages of prompts are found by their texts."""
    query = str(entry["query"]["qid"])
    texts[str(entry["query"].get("text", ""))] = query
    ranked = tuple(str(one["docid"]) for one in entry["candidates"])
    shown = stage.get(query, ())[: group.depth or len(ranked)]
    yield Call(
        group.reranker, query, shown, ranked, (), group.first_stage, group.depth, group.repeat
    )
    named = {
        _plain(str(next(iter(one["doc"].values()), ""))): str(one["docid"])
        for one in entry["candidates"]
        if isinstance(one.get("doc"), Mapping)
    }
    for at, call in enumerate(entry.get("invocations_history", ())):
        passages = [_plain(text) for _, text in PASSAGE.findall(call["prompt"])]
        ids = tuple(_named(passage, named) for passage in passages)
        window = max(len(ranked) - WINDOW - at * STRIDE, 0)
        tokens = sum(int(call.get(f"{way}_token_count") or 0) for way in ("input", "output"))
        made = _window(group, query, ids, str(call["response"]), window)
        yield replace(made, tokens=tokens or None)


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


def _window(group: Group, query: str, ids: Ranking, response: str, window: int) -> Call:
    """Call of one window from the text of its answer: `[2] > [1]`."""
    numbers = [int(number) - 1 for number in re.findall(r"\d{1,6}", response)]
    known = [place for place in numbers if 0 <= place < len(ids)]
    order = tuple(ids[place] for place in dict.fromkeys(known))
    return Call(
        group.reranker, query, ids, order, (), group.first_stage, group.depth, group.repeat,
        window, len(known) - len(order), len(numbers) - len(known), not order,
    )  # fmt: skip


def _of_windows(
    group: Group, entries: Sequence[Any], stage: Mapping[str, Ranking], texts: dict[str, str]
) -> Iterator[Call]:
    """Windows that name passages by number alone.

    Their documents are found by repeating the sliding of the first stage: windows of a query come
    one after the other, from its end to its start, and queries in the order of the first stage.
    Without one, documents and queries are named by their texts.
    """
    prompts = [
        ([_plain(text) for _, text in PASSAGE.findall(entry["prompt"])], str(entry["response"]))
        for entry in entries
        if isinstance(entry, Mapping)
    ]
    queries = [QUERY.search(str(entry["prompt"])) for entry in entries]
    said = [match[1].strip() if match else "" for match in queries]
    order = list(dict.fromkeys(said))
    ids = dict(zip(order, stage, strict=False)) if len(order) == len(stage) else {}
    texts.update(ids)
    names: dict[str, list[str]] = {}
    seen = Counter[str]()
    known_starts: dict[str, str] = {}
    differing = 0
    for text, (passages, response) in zip(said, prompts, strict=True):
        query = texts.get(text, text)
        if query not in names:
            names[query] = list(stage.get(query, ()))[: group.depth or None]
        listed = names[query]
        start = max(len(listed) - len(passages) - seen[query] * STRIDE, 0)
        seen[query] += 1
        shown = listed[start : start + len(passages)]
        if len(shown) < len(passages):
            shown, start = [_digest(passage) for passage in passages], 0
        for name, passage in zip(shown, passages, strict=True):
            known = known_starts.setdefault(name, passage[:SAME])
            differing += not (known.startswith(passage[:SAME]) or passage.startswith(known))
        if differing > MOST_DIFFERING * len(known_starts):
            finding = f"its passages are not the first {group.depth} of {group.first_stage}"
            raise DataError(str(group.path), finding, "Correct first_stage and depth (--groups).")
        call = _window(group, query, tuple(shown), response, start)
        if listed:
            rest = [name for name in shown if name not in set(call.answered)]
            listed[start : start + len(shown)] = [*call.answered, *rest]
        yield call


def _of_service(group: Group, entry: Mapping[str, Any]) -> Call:
    """Line of a log of a reranking service; documents are named by their texts."""
    request, response = entry["request"], entry["response"]
    documents = request.get("documents") or request.get("texts") or request.get("input")
    shown = tuple(
        str(document.get("id") or _digest(_plain(str(document.get("text", document)))))
        if isinstance(document, Mapping)
        else _digest(_plain(str(document)))
        for document in documents
    )
    results = (
        response.get("results", response.get("data"))
        if isinstance(response, Mapping)
        else (response)
    )
    places = [int(result["index"]) for result in results]
    known = [place for place in places if 0 <= place < len(shown)]
    scores = {
        int(result["index"]): float(result.get("relevance_score", result.get("score", 0.0)))
        for result in results
    }
    order = tuple(dict.fromkeys(known))
    return Call(
        group.reranker, str(request["query"]), shown, tuple(shown[place] for place in order),
        tuple(scores[place] for place in order), group.first_stage, group.depth, group.repeat, -1,
        len(known) - len(order), len(places) - len(known), not order,
        tokens=(response.get("usage") or {}).get("total_tokens")
        if isinstance(response, Mapping) else None,
    )  # fmt: skip


def _of_span(group: Group, span: Mapping[str, Any]) -> Call:
    """OpenInference's span of a reranker: `reranker.input_documents.0.document.id`."""

    def documents(side: str, what: str) -> dict[int, Any]:
        pattern = re.compile(rf"reranker\.{side}_documents\.(\d+)\.document\.{what}")
        found = ((pattern.fullmatch(name), value) for name, value in span.items())
        return {int(match[1]): value for match, value in found if match}

    shown, answered = (
        [str(name) for _, name in sorted(documents(side, "id").items())]
        for side in ("input", "output")
    )
    scores = [float(score) for _, score in sorted(documents("output", "score").items())]
    known = [name for name in answered if name in set(shown)]
    order = tuple(dict.fromkeys(known))
    return Call(
        group.reranker, str(span["reranker.query"]), tuple(shown), order,
        tuple(scores) if len(scores) == len(order) == len(answered) else (), group.first_stage,
        group.depth, group.repeat, -1, len(known) - len(order), len(answered) - len(known),
        not order,
    )  # fmt: skip


def _of_line(group: Group, entry: Mapping[str, Any]) -> Call:
    """Line of our own format; `answered` may be a list of ids, or scores by id."""
    answered, scores = entry["answered"], tuple(entry.get("scores", ()))
    if isinstance(answered, Mapping):
        ranked = sorted(answered, key=lambda name: -answered[name])
        answered, scores = ranked, tuple(float(answered[name]) for name in ranked)
    shown = tuple(map(str, entry.get("shown", ())))
    names = [str(name) for name in answered]
    known = [name for name in names if not shown or name in set(shown)]
    order = tuple(dict.fromkeys(known))
    whole = Call.of({
        "reranker": group.reranker, "first_stage": group.first_stage, "depth": group.depth,
        "repeat": group.repeat, **entry, "shown": list(shown), "answered": list(order),
        "scores": list(scores) if len(scores) == len(order) else [],
    })  # fmt: skip
    return replace(
        whole, query=str(entry["query"]),
        repeated=whole.repeated + len(known) - len(order),
        unknown=whole.unknown + len(names) - len(known), malformed=whole.malformed or not order,
    )  # fmt: skip
