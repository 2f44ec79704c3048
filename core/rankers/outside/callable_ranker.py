"""Rankers from outside: a Python callable that scores one list at a time."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float32, Int64

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.errors import DataError
from shuffleproof.core.rankers.base import Input
from shuffleproof.core.rankers.outside import file_ranker
from shuffleproof.core.rankers.outside.callable_calls import FunctionProcess, seconds_allowed
from shuffleproof.core.rankers.outside.callable_process import ABSENT, FAILED, FILES, MASKED
from shuffleproof.core.rankers.outside.file_ranker import LARGEST
from shuffleproof.core.words import counted

TOGETHER = 64
"""Lists of one length that a function with a mask is given at once."""

PADDED = 3
"""Slots of padding behind the longest list of a call, where padding is looked at."""

EVERYTHING: frozenset[Input] = frozenset({"features", "order", "ranks", "neighbours"})


@dataclass(frozen=True)
class CallableRanker:
    """A function of one list or of several, documents in the order shown.

    (features f32[docs, features], ranks i32[docs, rankings]) → f32[docs] is called once a list;
    (features f32[lists, docs, features], mask bool[lists, docs], ranks i32[lists, docs, rankings])
    → f32[lists, docs], a function of three, with up to TOGETHER lists of one length. Nothing is
    known of what it reads, so it is taken to read everything. It runs in a process of its own:
    what it does there, to the end of it, is told in words and harms nothing here.

    Attributes:
        name: `module:function`.
        process: that runs it.
        masked: it is one of (features, mask, ranks).
        reads: everything.
        rankings: initial rankings that the lists must carry at least.
        source: SHA-256 of the file (or files) that module and function come from, as they were
            when it was named; empty where there is none, as for what is built into Python. What
            the file imports or reads in its turn is not in it.
        padding: lists of any lengths are given together, the shorter ones and the longest padded.
    """

    name: str
    process: FunctionProcess = field(repr=False, compare=False)
    masked: bool
    reads: frozenset[Input] = EVERYTHING
    rankings: int = 0
    source: str = ""
    padding: bool = False

    @classmethod
    def named(cls, target: str, seconds: float | None = None) -> "CallableRanker":
        """The ranker of a `module:function`, looked up from the current folder first.

        Args:
            target: the name.
            seconds: that a call may take; by default as `foreign_asked.seconds_allowed` says.

        Raises:
            DataError: no such module or function, or its import failed.
        """
        module, _, function = target.partition(":")
        if module == "__main__":
            found = "__main__ is the running program, which another process cannot import"
            raise DataError(target, found, "Put the function into a file of its own.")
        process = FunctionProcess(target, seconds_allowed() if seconds is None else seconds)
        about = process.start()
        if FAILED in about:
            raise DataError(target, f"{module} cannot be imported: {about[FAILED]}", "Mend it.")
        if about.get(ABSENT):
            found = f"cannot import {module}: {about[ABSENT]}"
            raise DataError(target, found, "Run from the folder that holds it.")
        if ABSENT in about:
            raise DataError(target, f"{module} has no function {function}", "Name module:function.")
        return cls(target, process, about[MASKED], source=_source(about[FILES]))

    def fresh(self, threads: int | None = None) -> "CallableRanker":
        """The same function in another process, which has seen nothing yet.

        Its temporary and home folders are its own, so that it finds there what it put there alone.

        Args:
            threads: numeric threads of that process; by default as many as this one's.
        """
        process = FunctionProcess(self.name, self.process.seconds, threads, own_folders=True)
        process.start()
        return replace(self, process=process)

    @property
    def has_own_folders(self) -> bool:
        """Whether its process had, up to now, temporary and home folders of its own."""
        return self.process.own_folders

    def padded(self) -> "CallableRanker | None":
        """The same function, given padded lists; None where it takes no mask, and so none."""
        return replace(self, padding=True) if self.masked else None

    def score(
        self, dataset: RankingDataset, lists: CandidateLists
    ) -> Float32[np.ndarray, " candidates"]:
        """Scores by one call a list, or for lists of one length; float64 keeps order and ties.

        Raises:
            DataError: the function failed, crashed, hung, or returned something other than one
                finite score a document.
        """
        scores = np.empty(len(lists.rows), dtype=np.float64)
        for chosen in self._called(lists):
            longest = int(lists.lengths[chosen].max()) + PADDED * self.padding
            places = np.arange(longest)
            mask = places < lists.lengths[chosen][:, None]
            slots = np.where(mask, lists.offsets[chosen][:, None] + places, 0)
            scores[slots[mask]] = self._answer(dataset, lists, chosen, slots, mask)[mask]
        return file_ranker.in_single_precision(lists.offsets, scores)

    def _called(self, lists: CandidateLists) -> Iterator[Int64[np.ndarray, " chosen"]]:
        """The lists of each call: one after the other, or as many as may be of one length."""
        if not self.masked:
            yield from np.arange(len(lists))[:, None]
            return
        if self.padding:
            yield from (
                np.arange(first, min(first + TOGETHER, len(lists)))
                for first in range(0, len(lists), TOGETHER)
            )
            return
        for size in np.unique(lists.lengths):
            alike = np.flatnonzero(lists.lengths == size)
            for first in range(0, len(alike), TOGETHER):
                yield alike[first : first + TOGETHER]

    def _answer(
        self,
        dataset: RankingDataset,
        lists: CandidateLists,
        chosen: Int64[np.ndarray, " chosen"],
        slots: Int64[np.ndarray, "chosen docs"],
        mask: Bool[np.ndarray, "chosen docs"],
    ) -> Any:
        """The function's scores of some lists, one where it takes no mask; checked."""
        names = [dataset.query_ids[lists.queries[one]] for one in chosen]
        features, ranks = dataset.features[lists.rows[slots]], lists.ranks[slots]
        given = None
        if self.padding:
            real, given = mask[:, :, None], mask
            features, ranks = np.where(real, features, 0), np.where(real, ranks, 0)
        answer = self.process.scores(features, ranks, f"{self.name}, {_queries(names)}", given)
        answer = answer.reshape(slots.shape)
        wrong = np.argwhere(~(np.abs(answer.astype(np.float64)) <= LARGEST) & mask)
        if len(wrong):
            (one, place), docs = wrong[0], slots.shape[1]
            found = f"it returned {answer[one, place]} for document {place + 1} of {docs}"
            remedy = "Expected finite numbers of single precision."
            raise DataError(f"{self.name}, query {names[one]}", found, remedy)
        return answer

    def save(self, directory: Path) -> None:
        """A callable cannot be stored; it is named again each time.

        Raises:
            DataError: always.
        """
        raise DataError(
            str(directory),
            f"{self.name} is a function",
            "Name it anew each time: it is not stored.",
        )


def _source(files: Sequence[str]) -> str:
    """The digest of the files that a callable comes from; empty where there are none."""
    digests = [hashlib.sha256(Path(file).read_bytes()).hexdigest() for file in files]
    return hashlib.sha256("".join(digests).encode()).hexdigest() if digests else ""


def _queries(names: Sequence[str]) -> str:
    """Queries in words, three of them at most.

    >>> _queries(["7"]), _queries(["7", "8"]), _queries(list("789ab"))
    ('query 7', 'queries 7, 8', 'queries 7, 8, 9 and 2 others')
    """
    more = f" and {counted(len(names) - 3, 'other')}" if len(names) > 3 else ""
    return f"{'query' if len(names) == 1 else 'queries'} {', '.join(names[:3])}{more}"
