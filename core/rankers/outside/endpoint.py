"""Rerankers behind HTTP: one call a list, or a call a window of a chat."""

import json
import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import ClassVar

import numpy as np
from jaxtyping import Float32

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.data.ragged import in_single_precision
from shuffleproof.core.errors import AnswerError, DataError
from shuffleproof.core.execution.http_client import post, with_retries
from shuffleproof.core.rankers.base import Input, one_line
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.rankers.outside.apis import Target, slide
from shuffleproof.core.rankers.outside.callable_ranker import not_stored, text_columns
from shuffleproof.core.rankers.outside.function_process import count_allowed, jobs_allowed
from shuffleproof.core.rankers.outside.signature import CallSignature
from shuffleproof.core.rerank.calls import Rating
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.words import counted

CALLS = "SHUFFLEPROOF_CALLS"
"""Environment variable with the number of calls that this process may make."""

RETRIES, WAIT = 3, 0.5
"""Repetitions of a failed call, and the seconds before the first of them."""

PROBES = 3
"""Lists whose answers tell one version of a reranker from another."""

FAULTS = {
    "malformed": "answered nothing usable",
    "dropped": "left documents out",
    "repeated": "named documents twice",
    "unknown": "named documents that were not shown",
}
"""Faults of answers, as sentences about a reranker."""


def calls_allowed() -> int | None:
    """Number of calls that the environment allows this process; None: no limit."""
    return count_allowed(CALLS)


class Budget:
    """Calls that were made by this process, and the limit of the environment."""

    def __init__(self) -> None:
        self.made = 0
        self._lock = threading.Lock()

    def spend(self) -> None:
        """Count a call.

        Raises:
            DataError: the limit is reached.
            ParameterError: the limit is no whole number from 1 on.
        """
        allowed = calls_allowed()
        with self._lock:
            if allowed is not None and self.made >= allowed:
                remedy = "Allow more (--calls), or take fewer queries, draws or rankers."
                raise DataError("the reranker", f"all {allowed:,} calls are made", remedy)
            self.made += 1


BUDGET, COUNTING = Budget(), threading.Lock()


@dataclass(frozen=True)
class EndpointRanker:
    """A reranker behind HTTP, which reads the texts of the query and of the documents.

    Attributes:
        name: service, address and options: `cohere:http://127.0.0.1:8000/rerank;model=…`.
        target: the same, parsed.
        faults: number of answers with each fault so far, and of all `answers`.
    """

    name: str
    target: Target
    faults: Counter[str] = field(default_factory=Counter, repr=False, compare=False)
    rankings: ClassVar[int] = 0
    reads: ClassVar[frozenset[Input]] = frozenset({"order", "neighbours", "query_text", "texts"})

    __repr__ = one_line

    @classmethod
    def from_name(cls, name: RankerName) -> "EndpointRanker":
        """Ranker of a name.

        Raises:
            UsageError: an address or option that cannot be used.
        """
        return cls(str(name), Target.parse(name.head, name.path))

    def ask(self, query: str, texts: Sequence[str], retries: int = RETRIES) -> Rating:
        """Rating of one call: a list, or a window of a chat.

        Raises:
            DataError: no answer, or no calls are left.
        """

        def call() -> Rating:
            BUDGET.spend()
            answer = post(
                self.target.address, self.target.request(query, texts), self.target.timeout,
                self.target.headers,
            )  # fmt: skip
            return self.target.rating(answer, len(texts))

        return with_retries(call, self.name, retries, WAIT, "")

    def rate(self, query: str, texts: Sequence[str]) -> Rating:
        """Rating of a list, by windows if it is longer than one.

        Raises:
            DataError: no answer, or no calls are left.
        """
        if self.target.api.documents:
            rating = self.ask(query, texts)
        else:
            rating = slide(self.target, query, texts, self.ask)
        with COUNTING:  # calls run in several threads
            self.faults.update(["answers", *rating.faults])
        return rating

    @property
    def fault_notes(self) -> list[str]:
        """Clauses on faults of the answers so far: `left documents out in 3 of 9 answers`."""
        every = counted(self.faults["answers"], "answer")
        return [
            f"{words} in {self.faults[name]:,} of {every}"
            for name, words in FAULTS.items()
            if self.faults[name]
        ]

    def windows(self, lengths: Sequence[int]) -> list[int]:
        """Documents of each call for lists of these lengths."""
        if self.target.api.documents:
            return list(lengths)
        size = self.target.window
        return [min(size, length) for length in lengths for _ in self.target.starts(length)]

    def letters(self, query: str, texts: Sequence[str], lengths: Sequence[int]) -> int:
        """Letters of the requests, about, for lists of these lengths of some texts."""
        size = len(json.dumps(self.target.request(query, texts))) / max(len(texts), 1)
        return sum(round(size * shown) for shown in self.windows(lengths))

    def inputs(self, dataset: RankingDataset, lists: CandidateLists) -> list[tuple[str, list[str]]]:
        """Query text and document texts of each list, in the order shown.

        Raises:
            DataError: the data set has no texts.
        """
        columns = text_columns(self.name, CallSignature(("query_text", "texts")), dataset)
        queries, documents = columns["query_text"], columns["texts"]
        rows = np.split(lists.rows, lists.offsets[1:-1])
        return [
            (queries[query], [documents[row] for row in of_list.tolist()])
            for query, of_list in zip(lists.queries.tolist(), rows, strict=True)
        ]

    def score(
        self, dataset: RankingDataset, lists: CandidateLists
    ) -> Float32[np.ndarray, " candidates"]:
        """Scores by one call a list; without scores in the answer minus the answered rank.

        A document without an answer gets −∞, which means last; `faults` counts such answers.

        Raises:
            DataError: no answer, no texts, or no calls are left.
            AnswerError: an answer without any usable part.
        """
        inputs = self.inputs(dataset, lists)
        ratings = self._rate_all(inputs)
        for query, rating in zip(lists.queries.tolist(), ratings, strict=True):
            if rating.malformed and not rating.order:
                raise AnswerError(
                    f"{self.name}, query {dataset.query_ids[query]}",
                    f"it answered {rating.malformed}",
                    f"Expected an answer of the {self.target.api.name} service; name another with "
                    "--api.",
                    "no-scores",
                )
        values = map(Rating.values, ratings, lists.lengths.tolist())
        scores = np.array([*chain.from_iterable(values)], np.float64)
        return in_single_precision(lists.offsets, scores)

    def version(self, dataset: RankingDataset, lists: CandidateLists) -> str:
        """Digest of its orders of the first lists: another model behind the address changes it."""
        ratings = self._rate_all(self.inputs(dataset, lists)[:PROBES])
        return key_of("reranker", {"orders": [list(rating.order) for rating in ratings]}).digest

    def _rate_all(self, inputs: Sequence[tuple[str, Sequence[str]]]) -> list[Rating]:
        """Ratings in order, as many at a time as `--jobs` allows; stops at an error."""
        with ThreadPoolExecutor(jobs_allowed()) as pool:
            try:
                return list(pool.map(lambda item: self.rate(*item), inputs))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def save(self, directory: Path) -> None:
        """An endpoint cannot be stored; it is named again each time.

        Raises:
            DataError: always.
        """
        raise not_stored(directory, f"{self.name} is an endpoint")
