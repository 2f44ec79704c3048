"""Rankers from outside: a Python callable that scores one list at a time."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int64

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.errors import AnswerError, DataError
from shuffleproof.core.rankers.base import Input, one_line
from shuffleproof.core.rankers.outside import file_ranker
from shuffleproof.core.rankers.outside.callable_process import ARRAYS, FILES, INPUTS, OPTIONAL
from shuffleproof.core.rankers.outside.function_process import (
    FunctionProcess,
    FunctionProcesses,
    jobs_allowed,
    seconds_allowed,
)
from shuffleproof.core.rankers.outside.returned import USABLE, is_score
from shuffleproof.core.rankers.outside.signature import EXTRA
from shuffleproof.core.words import counted

TOGETHER = 64
"""Lists of one length that a function with a mask is given at once."""

PADDED = 3
"""Slots of padding behind the longest list of a call, where padding is looked at."""

LACKING = {
    "documents": "Name documents in the LETOR text (# docid = …), or give `documents` a default.",
    "texts": "Bring them (`ingest … --texts FILE`), or give `texts` a default.",
}
"""What to do where a function needs what the data set has not."""

EVERYTHING: frozenset[Input] = frozenset({"features", "order", "ranks", "neighbours"})


@dataclass(frozen=True)
class CallableRanker:
    """A function of one list or of several, documents in the order shown.

    It is given what its parameters name (`signature.INPUTS`), features f32[docs, features] and
    ranks i64[docs, rankings] above all, and returns f32[docs]. One that takes a mask bool[lists,
    docs] is called with up to TOGETHER lists of one length, f32[lists, docs, features] and so on.
    Nothing is known of what it reads, so it is taken to read everything that it takes. It runs in
    processes of its own: what it does there, to the end of it, is told in words and harms nothing
    here.

    Attributes:
        name: `module:function`.
        processes: that run it.
        inputs: what it takes.
        optional: those of them that may be lacking.
        rankings: initial rankings that the lists must carry at least.
        source: SHA-256 of the file (or files) that module and function come from, as they were
            when it was named; empty where there is none, as for what is built into Python. What
            the file imports or reads in its turn is not in it.
        padding: lists of any lengths are given together, the shorter ones and the longest padded.
        as_returned: scores stay in the type that the function returns; else they are float32 with
            the same order and ties.
    """

    name: str
    processes: FunctionProcesses = field(repr=False, compare=False)
    inputs: tuple[str, ...]
    optional: frozenset[str] = frozenset()
    rankings: int = 0
    source: str = ""
    padding: bool = False
    as_returned: bool = False

    __repr__ = one_line

    @classmethod
    def from_name(cls, target: str, seconds: float | None = None) -> "CallableRanker":
        """The ranker of a `module:function`, looked up from the current folder first.

        Args:
            target: the name.
            seconds: that a call may take; by default as `function_process.seconds_allowed` says.

        Raises:
            DataError: no such module or function, one that needs what no function is given, or its
                import failed.
        """
        if target.partition(":")[0] == "__main__":
            finding = "__main__ is the running program, which another process cannot import"
            raise DataError(target, finding, "Put the function into a file of its own.")
        limit = seconds_allowed() if seconds is None else seconds
        processes = FunctionProcesses(target, limit, jobs_allowed())
        about = processes.processes[0].start()
        inputs, optional = tuple(about[INPUTS]), frozenset(about[OPTIONAL])
        return cls(target, processes, inputs, optional, source=_source(about[FILES]))

    @property
    def masked(self) -> bool:
        """Whether it is given several lists at once, with a mask."""
        return "mask" in self.inputs

    @property
    def reads(self) -> frozenset[Input]:
        """Everything, and of what names documents and queries what it takes."""
        return EVERYTHING | frozenset(name for name in EXTRA if name in self.inputs)

    def fresh(self, threads: int | None = None) -> "CallableRanker":
        """The same function in other processes, which have seen nothing yet.

        Their temporary and home folders are their own, so that it finds there what it put there
        alone.

        Args:
            threads: numeric threads of those processes; by default as many as this one's.
        """
        process, *further = self.processes.processes
        processes = FunctionProcesses(
            self.name, process.seconds, 1 + len(further), threads, own_folders=True
        )
        processes.processes[0].start()
        return replace(self, processes=processes)

    @property
    def has_own_folders(self) -> bool:
        """Whether its processes had, up to now, temporary and home folders of their own."""
        return self.processes.own_folders

    def places(self) -> dict[str, list[str]]:
        """Places that its processes have touched, by `audit.KINDS`."""
        return self.processes.places()

    def padded(self) -> "CallableRanker | None":
        """The same function, given padded lists; None where it takes no mask, and so none."""
        return replace(self, padding=True) if self.masked else None

    def score(
        self, dataset: RankingDataset, lists: CandidateLists
    ) -> Float[np.ndarray, " candidates"]:
        """Scores by one call a list, or for lists of one length; float64 keeps order and ties.

        Raises:
            DataError: the function failed, crashed, hung, or returned something other than one
                score a document. −∞ means last.
        """
        scores, calls = np.empty(len(lists.rows), dtype=np.float64), list(self._calls(lists))

        def ask(process: FunctionProcess, at: int) -> None:
            indexes = calls[at]
            longest = int(lists.lengths[indexes].max()) + PADDED * self.padding
            places = np.arange(longest)
            mask = places < lists.lengths[indexes][:, None]
            slots = np.where(mask, lists.offsets[indexes][:, None] + places, 0)
            answers = self._answer(process, JudgedLists(dataset, lists), indexes, slots, mask)
            scores[slots[mask]] = answers[mask]

        first_queries = [dataset.query_ids[lists.queries[indexes[0]]] for indexes in calls]
        self.processes.map_calls(first_queries, ask)
        if self.as_returned:
            return scores
        return file_ranker.in_single_precision(lists.offsets, scores)

    def _calls(self, lists: CandidateLists) -> Iterator[Int64[np.ndarray, " chosen"]]:
        """The lists of each call: one after the other, or as many as may be of one length."""
        if not self.masked:
            yield from np.arange(len(lists))[:, None]
            return
        if self.padding:
            yield from (
                np.arange(start, min(start + TOGETHER, len(lists)))
                for start in range(0, len(lists), TOGETHER)
            )
            return
        for size in np.unique(lists.lengths):
            alike = np.flatnonzero(lists.lengths == size)
            for start in range(0, len(alike), TOGETHER):
                yield alike[start : start + TOGETHER]

    def _answer(
        self,
        process: FunctionProcess,
        judged: JudgedLists,
        indexes: Int64[np.ndarray, " chosen"],
        slots: Int64[np.ndarray, "chosen docs"],
        mask: Bool[np.ndarray, "chosen docs"],
    ) -> Any:
        """The function's scores of some lists, one where it takes no mask; checked."""
        dataset, lists = judged.dataset, judged.lists
        names = [dataset.query_ids[lists.queries[index]] for index in indexes]
        features, ranks = dataset.features[lists.rows[slots]], lists.ranks[slots].astype(np.int64)
        arguments = {"features": features, "ranks": ranks, "query": names}
        for name, column in (("documents", dataset.doc_ids), ("texts", dataset.texts)):
            if name in self.inputs and (column is not None or name not in self.optional):
                arguments[name] = self._texts(name, column, lists.rows[slots], mask)
        if self.padding:
            real = mask[:, :, None]
            padded = np.where(real, features, 0), np.where(real, ranks, 0)
            arguments |= {"features": padded[0], "ranks": padded[1], "mask": mask}
        inputs = {
            name: value for name, value in arguments.items() if name in {*self.inputs, *ARRAYS}
        }
        answer = process.scores(inputs, f"{self.name}, {_queries(names)}")
        answer = answer.reshape(slots.shape)
        wrong = np.argwhere(~is_score(answer) & mask)
        if len(wrong):
            (index, place), docs = wrong[0], slots.shape[1]
            finding = f"it returned {answer[index, place]} for document {place + 1} of {docs}"
            remedy = USABLE
            location = f"{self.name}, query {names[index]}"
            raise AnswerError(location, finding, remedy, "not-finite")
        return answer

    def _texts(
        self,
        name: str,
        column: TextColumn | None,
        rows: Int64[np.ndarray, "chosen docs"],
        mask: Bool[np.ndarray, "chosen docs"],
    ) -> list[list[str]]:
        """The texts of some lists' documents, empty where there is padding.

        Raises:
            DataError: the data set has none.
        """
        if column is None:
            finding = f"it takes {name}, and this data set has none"
            raise DataError(self.name, finding, LACKING[name])
        return [
            [column[row] if real else "" for row, real in zip(list_rows, list_mask, strict=True)]
            for list_rows, list_mask in zip(rows.tolist(), mask.tolist(), strict=True)
        ]

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


def digest_of_texts(reads: frozenset[Input], dataset: RankingDataset) -> tuple[str, ...]:
    """What the texts that a ranker reads are known by: data of the same documents may have others.

    Args:
        reads: of the ranker.
        dataset: whose texts they are.
    """
    if "texts" not in reads or dataset.texts is None:
        return ()
    digest = hashlib.sha256()
    for text in dataset.texts:
        digest.update(f"{len(text)} {text}".encode(errors="surrogatepass"))
    return (digest.hexdigest(),)


def _source(files: Sequence[str]) -> str:
    """The digest of the files that a callable comes from; empty where there are none."""
    digests = [hashlib.sha256(Path(file).read_bytes()).hexdigest() for file in files]
    return hashlib.sha256("".join(digests).encode()).hexdigest() if digests else ""


def _queries(names: Sequence[str]) -> str:
    """Queries in words, three of them at most.

    >>> _queries(["7"]), _queries(["7", "8"]), _queries(list("789ab"))
    ('query 7', 'queries 7, 8', 'queries 7, 8, 9 and 2 others')
    """
    remainder = f" and {counted(len(names) - 3, 'other')}" if len(names) > 3 else ""
    return f"{'query' if len(names) == 1 else 'queries'} {', '.join(names[:3])}{remainder}"
