"""Functions that score lists: one list at a time, or several with a mask."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Float64, Int64

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.data.ragged import in_single_precision
from shuffleproof.core.errors import DataError, ShuffleproofError
from shuffleproof.core.rankers.base import Input, one_line
from shuffleproof.core.rankers.outside.audit import join_places
from shuffleproof.core.rankers.outside.function_process import (
    Caller,
    FunctionProcess,
    jobs_allowed,
    map_calls,
    seconds_allowed,
)
from shuffleproof.core.rankers.outside.signature import EXTRA, CallSignature
from shuffleproof.core.words import counted

TOGETHER = 64
"""Lists of one length that a function with a mask is given at once."""

PADDED = 3
"""Slots of padding behind the longest list of a call, where padding is looked at."""

LACKING = {
    "query_text": "Bring them: `ingest … --query-texts FILE`.",
    "documents": "Name documents in the LETOR text: # docid = …",
    "texts": "Bring them: `ingest … --texts FILE`.",
}
"""What to do where a function needs what the data set has not."""

MOST_SLOTS = 1 << 14
"""Documents of the calls that are made by one request."""

EVERYTHING: frozenset[Input] = frozenset({"features", "order", "ranks", "neighbours"})


def reads_of(inputs: Sequence[str]) -> frozenset[Input]:
    """Everything, and of what names documents and queries what a function takes."""
    return EVERYTHING | frozenset(name for name in EXTRA if name in inputs)


def score_lists(  # noqa: PLR0913, PLR0917 (the lists, the function, and how it is called)
    name: str,
    signature: CallSignature,
    dataset: RankingDataset,
    lists: CandidateLists,
    callers: Sequence[Caller],
    features: Callable[[np.ndarray], np.ndarray],
    *,
    padding: bool = False,
    stop: Callable[[], None] = lambda: None,
) -> Float64[np.ndarray, " candidates"]:
    """The scores of a function, by one call a list, or for lists of one length where it has a mask.

    Args:
        name: of the ranker.
        signature: what the function takes.
        dataset: of the lists.
        lists: to be scored.
        callers: of the function.
        features: of rows.
        padding: lists of any lengths are given together, the shorter ones and the longest padded.
        stop: ends the calls that are under way.

    Raises:
        DataError: the function failed, or did not return one score a document (−∞: last).
    """
    scores = np.empty(len(lists.rows), dtype=np.float64)
    columns = text_columns(name, signature, dataset)
    query_texts = columns.pop("query_text", None)
    masked = "mask" in signature.inputs
    groups = [*_groups(lists, masked=masked, padding=padding)]
    taken = {"features", *signature.inputs}

    def inputs_of(at: int) -> tuple[dict[str, Any], str, np.ndarray, np.ndarray]:
        """Inputs of a call, its lists in words, its candidates, and where they are documents."""
        chosen = groups[at]
        lengths, queries = lists.lengths[chosen, None], lists.queries[chosen].tolist()
        places = np.arange(lengths.max() + PADDED * padding)
        mask = places < lengths
        # Padding points to candidate 0, a valid index; its values are cleared
        slots = np.where(mask, lists.offsets[chosen, None] + places, 0)
        rows, names = lists.rows[slots], [dataset.query_ids[query] for query in queries]
        inputs: dict[str, Any] = {"mask": mask, "query": names, "features": features(rows)}
        inputs["ranks"] = lists.ranks[slots].astype(np.int64)
        if padding:
            for one in ("features", "ranks"):
                # Zeros, so that padding says nothing about the document at index 0
                inputs[one] = np.where(mask[..., None], inputs[one], 0)
        if query_texts is not None:
            inputs["query_text"] = [query_texts[query] for query in queries]
        for extra, column in columns.items():
            inputs[extra] = [
                [column[row] if real else "" for row, real in zip(*one, strict=True)]
                for one in zip(rows.tolist(), mask.tolist(), strict=True)
            ]
        values = {one: inputs[one] if masked else inputs[one][0] for one in inputs.keys() & taken}
        return values, f"{name}, {_queries(names)}", slots, mask

    def make(caller: Caller, calls: Sequence[int]) -> tuple[int, ShuffleproofError | None]:
        # Few long lists in a request, or many short ones
        sizes = np.cumsum([lists.lengths[groups[at]].sum() for at in calls])
        first = calls[: max(1, int(np.searchsorted(sizes, MOST_SLOTS)))]
        inputs, where, slots, masks = zip(*map(inputs_of, first), strict=True)
        answers, done, error = caller(inputs, where)
        for answer, places, mask in zip(answers, slots, masks, strict=False):
            scores[places[mask]] = answer[mask.ravel()]
        return done, error

    map_calls(callers, len(groups), make, stop)
    return scores


def text_columns(name: str, signature: CallSignature, dataset: RankingDataset) -> dict[str, Any]:
    """Names and texts that a function takes.

    Raises:
        DataError: the data set lacks one that it needs.
    """
    known = {
        "query_text": dataset.query_texts, "documents": dataset.doc_ids, "texts": dataset.texts,
    }  # fmt: skip
    wanted = {extra: column for extra, column in known.items() if extra in signature.inputs}
    for extra, column in wanted.items():
        if column is None and extra not in signature.optional:
            finding = f"it takes {extra}, and this data set has none"
            raise DataError(name, finding, LACKING[extra])
    return {extra: column for extra, column in wanted.items() if column is not None}


def _groups(
    lists: CandidateLists, *, masked: bool, padding: bool
) -> Iterator[Int64[np.ndarray, " chosen"]]:
    """The lists of each call: one after the other, or as many as may be of one length."""
    filled = np.flatnonzero(lists.lengths)
    if not masked:
        yield from filled[:, None]
        return
    # With padding all lists count as one length
    lengths = np.zeros_like(filled) if padding else lists.lengths[filled]
    for length in np.unique(lengths):
        alike = filled[lengths == length]
        yield from np.split(alike, range(TOGETHER, len(alike), TOGETHER))


@dataclass(frozen=True)
class CallableRanker:
    """A function by name, in processes of its own; assumed to read all its inputs.

    It is given what its parameters name (`signature.INPUTS`), features f32[docs, features] and
    ranks i64[docs, rankings] above all, and returns f32[docs]. One that takes a mask bool[lists,
    docs] is called with up to TOGETHER lists of one length, f32[lists, docs, features] and so on.

    Attributes:
        name: `module:function`.
        processes: that run it, one or more.
        signature: what it takes.
        source: SHA-256 of the file (or files) that module and function come from, as they were
            when it was named; empty where there is none, as for what is built into Python.
        padding: lists of any lengths are given together, padded.
        as_returned: scores stay in the type that the function returns; else they are float32 with
            the same order and ties.
    """

    name: str
    processes: tuple[FunctionProcess, ...] = field(repr=False, compare=False)
    signature: CallSignature
    source: str = ""
    padding: bool = False
    as_returned: bool = False
    rankings: ClassVar[int] = 0

    __repr__ = one_line

    @classmethod
    def from_name(
        cls,
        target: str,
        seconds: float | None = None,
        threads: int | None = None,
        *,
        forked: bool = True,
    ) -> "CallableRanker":
        """The ranker of a `module:function`, looked up from the current folder first.

        Args:
            target: the name.
            seconds: that a call may take; by default as `function_process.seconds_allowed` says.
            threads: numeric threads of its processes; by default as many as this one's.
            forked: its processes need not start by themselves.

        Raises:
            DataError: no such module or function, one that needs what no function is given, or its
                import failed.
        """
        if target.partition(":")[0] == "__main__":
            finding = "__main__ is the running program, which another process cannot import"
            raise DataError(target, finding, "Put the function into a file of its own.")
        limit = seconds_allowed() if seconds is None else seconds
        processes = tuple(
            FunctionProcess(target, limit, threads, forked=forked) for _ in range(jobs_allowed())
        )
        about = processes[0].start()
        signature = CallSignature((), tuple(about["inputs"]), frozenset(about["optional"]))
        return cls(target, processes, signature, about["source"])

    @property
    def reads(self) -> frozenset[Input]:
        """Everything, and of what names documents and queries what it takes."""
        return reads_of(self.signature.inputs)

    def fresh(self, threads: int | None = None) -> "CallableRanker":
        """The same function in other processes, which have seen nothing yet."""
        first = self.processes[0]
        # The first copy starts by itself: strings have other hashes there than in forked ones
        again = self.from_name(self.name, first.seconds, threads, forked=first.copied)
        first.copied = True
        return replace(self, processes=again.processes)

    def places(self) -> dict[str, list[str]]:
        """Places that its processes have touched, by `audit.KINDS`."""
        return join_places(process.places() for process in self.processes)

    def padded(self) -> "CallableRanker | None":
        """The same function, given padded lists; None where it takes no mask, and so none."""
        return replace(self, padding=True) if "mask" in self.signature.inputs else None

    def score(
        self, dataset: RankingDataset, lists: CandidateLists
    ) -> Float[np.ndarray, " candidates"]:
        """Scores by one call a list, or for lists of one length; float64 keeps order and ties.

        Raises:
            DataError: the function failed, crashed, hung, or returned something other than one
                score a document. −∞ means last.
        """
        callers = [process.scores for process in self.processes]
        scores = score_lists(
            self.name, self.signature, dataset, lists, callers, dataset.features.__getitem__,
            padding=self.padding, stop=self._stop,
        )  # fmt: skip
        return scores if self.as_returned else in_single_precision(lists.offsets, scores)

    def _stop(self) -> None:
        for process in self.processes:
            process.end()

    def save(self, directory: Path) -> None:
        """A callable cannot be stored; it is named again each time.

        Raises:
            DataError: always.
        """
        raise not_stored(directory, f"{self.name} is a function")


def not_stored(directory: Path, finding: str) -> DataError:
    """The error for a ranker that cannot be stored."""
    return DataError(str(directory), finding, "Name it again each time: it is not stored.")


def digest_of_texts(reads: frozenset[Input], dataset: RankingDataset) -> tuple[str, ...]:
    """Digest of the texts that a ranker reads; other data may have others of its documents."""
    columns = {"texts": dataset.texts, "query_text": dataset.query_texts}
    read = [column for name, column in columns.items() if name in reads and column is not None]
    if not read:
        return ()
    digest = hashlib.sha256()
    for text in chain.from_iterable(read):
        # Lengths in front: ("ab", "c") and ("a", "bc") must differ
        digest.update(f"{len(text)} {text}".encode(errors="surrogatepass"))
    return (digest.hexdigest(),)


def _queries(names: Sequence[str]) -> str:
    """Queries in words, three of them at most.

    >>> _queries(["7"]), _queries(["7", "8"]), _queries(list("789ab"))
    ('query 7', 'queries 7, 8', 'queries 7, 8, 9 and 2 others')
    """
    remainder = f" and {counted(len(names) - 3, 'other')}" if len(names) > 3 else ""
    return f"{'query' if len(names) == 1 else 'queries'} {', '.join(names[:3])}{remainder}"
