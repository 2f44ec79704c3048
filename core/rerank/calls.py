"""Answers of rerankers, call by call, and where they are stored.

A call shows documents of one query in an order and gets an order back. A call may be a whole list
or one window of it. Files hold one call a line, as JSON.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeGuard

from shuffleproof.core.data.letor.write import whole_file
from shuffleproof.core.errors import ArtefactError, DataError

KIND = "reranks"
CALLS, ABOUT = "calls.jsonl", "about.json"

Ranking = tuple[str, ...]
"""Ids of documents, the first one shown or the best one first."""


@dataclass(frozen=True)
class Rating:
    """Answer of a reranker to one list. Nothing is repaired: what is wrong is counted.

    Attributes:
        order: places of the documents, in the order answered; each place at most once.
        scores: of `order`; empty if the answer is only an order.
        dropped: documents without an answer.
        repeated: documents that were named again.
        unknown: names of documents that were not shown.
        malformed: text of an answer without any usable part; empty for others.
        tokens: that the service counted; None: it does not say.
        calls: requests that it took, one a window.
    """

    order: tuple[int, ...] = ()
    scores: tuple[float, ...] = ()
    dropped: int = 0
    repeated: int = 0
    unknown: int = 0
    malformed: str = ""
    tokens: int | None = None
    calls: int = 1

    @classmethod
    def of(
        cls,
        places: Sequence[int | None],
        documents: int,
        scores: Sequence[float] = (),
        said: Any = "",
        tokens: int | None = None,
    ) -> "Rating":
        """Rating of an answer.

        Args:
            places: named, the best first; None: of no document.
            documents: that were shown.
            scores: of `places`, or none.
            said: the answer, for messages.
            tokens: as the attribute.

        >>> rating = Rating.of([1, 8, 1, 0], 3)
        >>> rating.order, rating.faults
        ((1, 0), {'dropped': 1, 'repeated': 1, 'unknown': 1})
        """
        inside = [
            at for at, place in enumerate(places) if place is not None and 0 <= place < documents
        ]
        first: dict[Any, int] = {places[at]: at for at in reversed(inside)}
        order: tuple[Any, ...] = tuple(places[at] for at in inside if first[places[at]] == at)
        if not order and documents:
            return cls(malformed=as_one_line(said), tokens=tokens)
        return cls(
            order, tuple(float(scores[first[place]]) for place in order if scores),
            documents - len(order), len(inside) - len(order), len(places) - len(inside),
            tokens=tokens,
        )  # fmt: skip

    @classmethod
    def of_results(cls, answer: Any, documents: int) -> "Rating":
        """Rating of a service's JSON answer, which has an index and a score for each document.

        Args:
            answer: results, or a mapping with them as `results` or `data`.
            documents: that were shown.
        """
        results = (
            answer.get("results", answer.get("data")) if isinstance(answer, Mapping) else answer
        )
        places: list[int | None] = []
        scores: list[float] = []
        for result in results if isinstance(results, list) else ():
            values = result if isinstance(result, Mapping) else {"score": 0.0}
            place, score = values.get("index"), values.get("relevance_score", values.get("score"))
            places.append(place if is_number(place) and isinstance(place, int) else None)
            scores.append(float(score) if is_number(score) else math.nan)
        rating = cls.of(places, documents, scores, answer, tokens_of(answer))
        if any(map(math.isnan, rating.scores)):
            said = as_one_line(f"scores that are no finite numbers: {answer}")
            return cls(malformed=said, tokens=rating.tokens)
        return rating

    @property
    def faults(self) -> dict[str, int]:
        """Faults by name, without those that did not occur."""
        counts = {
            "malformed": int(bool(self.malformed)), "dropped": self.dropped,
            "repeated": self.repeated, "unknown": self.unknown,
        }  # fmt: skip
        return {name: count for name, count in counts.items() if count}

    def values(self, documents: int) -> list[float]:
        """Scores by place; without scores minus the rank; −∞ for a document without an answer."""
        values = [-math.inf] * documents
        scores = self.scores or tuple(-float(rank) for rank in range(len(self.order)))
        for place, score in zip(self.order, scores, strict=True):
            values[place] = score
        return values


def is_number(value: Any) -> TypeGuard[int | float]:
    """True of a finite number of JSON."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def tokens_of(answer: Any) -> int | None:
    """Tokens that a service says it counted."""
    usage = answer.get("usage") if isinstance(answer, Mapping) else None
    total = usage.get("total_tokens") if isinstance(usage, Mapping) else None
    return int(total) if is_number(total) else None


def as_one_line(answer: Any) -> str:
    """Start of an answer that cannot be read."""
    return " ".join(str(answer).split())[:200] or "an empty answer"


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

    @classmethod
    def of_rating(
        cls, rating: Rating, query: str, shown: Ranking, reranker: str = "", **more: Any
    ) -> "Call":
        """Call with a rating of the list shown; `more` are further fields."""
        answered = tuple(shown[place] for place in rating.order)
        return cls(
            reranker, query, shown, answered, rating.scores, repeated=rating.repeated,
            unknown=rating.unknown, malformed=bool(rating.malformed),
            **{"tokens": rating.tokens, "calls": rating.calls} | more,
        )  # fmt: skip

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
        """Values for JSON, without defaults."""
        values = ((field, getattr(self, field.name)) for field in fields(self))
        return {field.name: value for field, value in values if value != field.default}

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Call":
        """Call of `plain`; unknown fields are ignored.

        Raises:
            KeyError, TypeError: a field is missing.
        """
        known = {field.name for field in fields(cls)}
        return cls(**of_json({name: one for name, one in values.items() if name in known}))


def of_json(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of JSON, with tuples for lists."""
    return {name: tuple(one) if isinstance(one, list) else one for name, one in values.items()}


@dataclass(frozen=True)
class Reranks:
    """Calls of rerankers with their first stages, judgments and texts.

    Attributes:
        calls: in the order read.
        first_stages: by name and query, the ranking.
        grades: by query and document; empty: there are no judgments.
        notes: on reading, in sentences.
        texts: of documents, as far as the files have them.
        query_texts: of queries, likewise.
    """

    calls: tuple[Call, ...]
    first_stages: Mapping[str, Mapping[str, Ranking]] = field(default_factory=dict)
    grades: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    query_texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def rerankers(self) -> tuple[str, ...]:
        """Names of the rerankers, in the order of their first calls."""
        return tuple(dict.fromkeys(call.reranker for call in self.calls))

    @property
    def queries(self) -> tuple[str, ...]:
        """Queries with a call, judged ones if there are judgments, in the order of their ids."""
        named = {call.query for call in self.calls}
        return tuple(sorted(named & self.grades.keys() if self.grades else named))

    def facts(self) -> dict[str, Any]:
        """Facts of the stored answers."""
        windows = sum(not call.is_list for call in self.calls)
        return {
            "queries": len(self.queries), "rerankers": list(self.rerankers),
            "lists": len(self.calls) - windows, "windows": windows, "judged": bool(self.grades),
            "notes": list(self.notes),
        }  # fmt: skip

    def save(self, directory: Path) -> None:
        """Write calls, and everything else, into an empty folder."""
        with whole_file(directory / CALLS) as file:
            for call in self.calls:
                file.write(f"{json.dumps(call.plain(), ensure_ascii=False)}\n".encode())
        about = {name: value for name, value in vars(self).items() if name != "calls"}
        with whole_file(directory / ABOUT) as file:
            file.write(json.dumps(about, ensure_ascii=False).encode())

    @classmethod
    def open(cls, directory: Path) -> "Reranks":
        """Open what `save` wrote.

        Raises:
            ArtefactError: it is damaged.
        """
        try:
            about = json.loads((directory / ABOUT).read_text(encoding="utf-8"))
            about["notes"] = tuple(about["notes"])
            for stage in about["first_stages"].values():
                stage.update({query: tuple(ranking) for query, ranking in stage.items()})
            with (directory / CALLS).open(encoding="utf-8") as lines:
                return cls(tuple(Call.of(json.loads(line)) for line in lines), **about)
        except (DataError, OSError, ValueError, LookupError, TypeError) as error:
            remedy = "Ingest its files again."
            raise ArtefactError(directory.name, f"is damaged ({error})", remedy) from error
