"""Answers of rerankers, call by call, and where they are stored.

A call shows documents of one query in an order and gets an order back. A call may be a whole list
or one window of it. Files hold one call a line, as JSON.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from shuffleproof.core.data.letor.write import whole_file
from shuffleproof.core.errors import ArtefactError, DataError
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import ArtefactKey
from shuffleproof.core.store.manifest import Artefact

KIND = "reranks"
CALLS, ABOUT = "calls.jsonl", "about.json"

Ranking = tuple[str, ...]
"""Ids of documents, the first one shown or the best one first."""


@dataclass(frozen=True)
class Call:
    """One list, or one window of it, that a reranker was shown, and its answer.

    Attributes:
        reranker: its name.
        query: id of the query.
        shown: documents in the order shown; empty: not known.
        answered: documents of the answer, the best first; none of them twice.
        scores: of `answered`; empty: the answer was an order.
        first_stage: ranking that the list came from, or another input's name.
        depth: number of documents that were to be reranked; 0: not known.
        repeat: number of this call among calls with the same input, from 1.
        window: place of its first document in the whole list; −1: it is the whole list.
        repeated: documents that the answer named again.
        unknown: names in the answer that were not shown.
        malformed: the answer had no usable part.
        seconds: of the call; None: not known.
        tokens: of the call; None: not known.
        calls: requests that it took: windows of a list.
    """

    reranker: str
    query: str
    shown: Ranking
    answered: Ranking
    scores: tuple[float, ...] = ()
    first_stage: str = ""
    depth: int = 0
    repeat: int = 1
    window: int = -1
    repeated: int = 0
    unknown: int = 0
    malformed: bool = False
    seconds: float | None = None
    tokens: int | None = None
    calls: int = 1

    @property
    def dropped(self) -> int:
        """Documents that were shown and not answered."""
        return len(set(self.shown) - set(self.answered)) if self.shown else 0

    @property
    def is_list(self) -> bool:
        """True for a whole list."""
        return self.window < 0

    @property
    def is_faulty(self) -> bool:
        """True if the answer is not an order of exactly the documents shown."""
        return bool(self.malformed or self.dropped or self.repeated or self.unknown)

    def plain(self) -> dict[str, Any]:
        """JSON values, without defaults."""
        defaults = {field.name: field.default for field in fields(self)}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
            if value != defaults[name]
        }

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Call":
        """Call of `plain`; unknown fields are ignored.

        Raises:
            KeyError, TypeError: a field is missing.
        """
        known = {field.name for field in fields(cls)}
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in values.items()
            if name in known
        }
        return cls(**given)


@dataclass(frozen=True)
class Reranks:
    """Calls of rerankers with their first stages and judgments.

    Attributes:
        calls: in the order read.
        first_stages: by name and query, the ranking.
        grades: by query and document; empty: there are no judgments.
        notes: on reading, in sentences.
    """

    calls: tuple[Call, ...]
    first_stages: Mapping[str, Mapping[str, Ranking]] = field(default_factory=dict)
    grades: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def rerankers(self) -> tuple[str, ...]:
        """Names of the rerankers, in the order of their first calls."""
        return tuple(dict.fromkeys(call.reranker for call in self.calls))

    @property
    def queries(self) -> tuple[str, ...]:
        """Queries with a call, judged ones if there are judgments, in the order of their ids."""
        named = {call.query for call in self.calls}
        return tuple(sorted(named & self.grades.keys() if self.grades else named))


def save(reranks: Reranks, directory: Path) -> None:
    """Write calls, first stages and judgments into an empty folder."""
    with whole_file(directory / CALLS) as file:
        for call in reranks.calls:
            file.write(f"{json.dumps(call.plain(), ensure_ascii=False)}\n".encode())
    about = {
        "first_stages": {
            name: {query: list(ranking) for query, ranking in stage.items()}
            for name, stage in reranks.first_stages.items()
        },
        "grades": reranks.grades,
        "notes": list(reranks.notes),
    }
    with whole_file(directory / ABOUT) as file:
        file.write(json.dumps(about, ensure_ascii=False).encode())


def open_(directory: Path) -> Reranks:
    """Open what `save` wrote.

    Raises:
        ArtefactError: it is damaged.
    """
    try:
        about = json.loads((directory / ABOUT).read_text(encoding="utf-8"))
        first_stages = {
            name: {query: tuple(ranking) for query, ranking in stage.items()}
            for name, stage in about["first_stages"].items()
        }
        return Reranks(
            tuple(read_lines(directory / CALLS)), first_stages, about["grades"],
            tuple(about["notes"]),
        )  # fmt: skip
    except (DataError, OSError, ValueError, LookupError, TypeError) as error:
        remedy = "Ingest its files again."
        raise ArtefactError(directory.name, f"is damaged ({error})", remedy) from error


def read_lines(path: Path) -> Iterator[Call]:
    """Calls of a file of JSON lines.

    Raises:
        OSError, ValueError, KeyError, TypeError: it is no such file.
    """
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield Call.of(json.loads(line))


def add(reranks: Reranks, key: ArtefactKey, recipe: Mapping[str, Any], store: Store) -> Artefact:
    """Store calls under a key."""
    facts = {
        "queries": len(reranks.queries),
        "rerankers": list(reranks.rerankers),
        "lists": sum(call.is_list for call in reranks.calls),
        "windows": sum(not call.is_list for call in reranks.calls),
        "judged": bool(reranks.grades),
        "notes": list(reranks.notes),
    }
    return store.add(key, recipe, lambda target: save(reranks, target), facts)


def find(name: str, store: Store) -> Reranks:
    """Calls that a name or a key means.

    Raises:
        ArtefactError: nothing of that name, or it is damaged.
    """
    return open_(store.resolve(name, KIND).path)


def by_input(calls: Sequence[Call]) -> dict[tuple[str, str, Ranking], list[Call]]:
    """Calls by reranker, query and order shown."""
    found: dict[tuple[str, str, Ranking], list[Call]] = {}
    for call in calls:
        found.setdefault((call.reranker, call.query, call.shown), []).append(call)
    return found
