"""What the page Attention asks the scoring process for; answers are remembered by the question."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from shuffleproof.app import scoring, services
from shuffleproof.app.scoring import List
from shuffleproof.core.rankers.attention.kinds import KINDS, MapKind
from shuffleproof.core.studies.kinds.attention.one_list import unpacked

WORK = "shuffleproof.core.studies.kinds.attention.one_list"


@dataclass(frozen=True, eq=False)
class Overview:
    """A list's weights before and after a change, but the maps themselves.

    Attributes:
        kinds: (name, blocks, heads) of every map that there is.
        documents: names, in the order of the initial ranking; so is everything by document.
        labels: grades.
        ranks: under the initial ranking before and after, from 0; −1: taken out.
        scores: before and after; NaN: taken out.
        shown: the document at each position, before and after.
        changes: (kind, block, largest change).
        reads: what the ranker declares to read.
        came: how many documents the change added.
        seconds: what the answer took.
    """

    kinds: tuple[tuple[str, int, int], ...]
    documents: tuple[str, ...]
    labels: np.ndarray
    ranks: np.ndarray
    scores: np.ndarray
    shown: np.ndarray
    changes: tuple[tuple[str, int, float], ...]
    reads: tuple[str, ...]
    came: int
    seconds: float

    @property
    def gone(self) -> int:
        """How many documents the change took out."""
        return int((self.ranks[1] < 0).sum())

    def size(self, kind: str) -> tuple[int, int]:
        """Blocks and heads of a kind."""
        return next((blocks, heads) for name, blocks, heads in self.kinds if name == kind)


def overview(one: List, ranker: str, change: str) -> Overview:
    """What there is to see of a list.

    Args:
        one: the list.
        ranker: an artefact key.
        change: a text of `core.studies.kinds.attention.one_list.Change`.

    Raises:
        ScoringError: the process has no answer.
    """
    return _overview(repr(one), str(services.store().root), ranker, change, one)


@st.cache_resource(max_entries=64, show_spinner=False)
def _overview(asked: str, root: str, ranker: str, change: str, _one: List) -> Overview:
    del asked, root  # parts of the memory's key alone
    question = _one.question() | {"ranker": ranker, "change": change}
    found = scoring.resident().ask(f"{WORK}:overview", question)
    return Overview(
        kinds=tuple((name, blocks, heads) for name, blocks, heads in found["kinds"]),
        documents=tuple(found["documents"]),
        labels=np.array(found["labels"], dtype=np.float32),
        ranks=np.array(found["ranks"], dtype=np.int64),
        scores=np.array(found["scores"], dtype=np.float32),
        shown=np.array(found["shown"], dtype=np.int64),
        changes=tuple((kind, block, change) for kind, block, change in found["changes"]),
        reads=tuple(found["reads"]),
        came=int(found["came"]),
        seconds=float(found["seconds"]),
    )


@dataclass(frozen=True, eq=False)
class Heads:
    """Every head of a list at a glance.

    Attributes:
        numbers: kind, block, head and then the numbers of `core.rankers.attention.summary`.
        small: a picture of each head of the first kind, by block.
    """

    numbers: tuple[tuple[Any, ...], ...]
    small: tuple[np.ndarray, ...]


def heads(one: List, ranker: str) -> Heads:
    """Every head of a list as it is.

    Raises:
        ScoringError: the process has no answer.
    """
    return _heads(repr(one), str(services.store().root), ranker, one)


@st.cache_resource(max_entries=64, show_spinner=False)
def _heads(asked: str, root: str, ranker: str, _one: List) -> Heads:
    del asked, root  # parts of the memory's key alone
    found = scoring.resident().ask(f"{WORK}:heads", _one.question() | {"ranker": ranker})
    return Heads(tuple(map(tuple, found["numbers"])), tuple(map(unpacked, found["small"])))


@dataclass(frozen=True)
class Wanted:
    """Which map: kind, block and head (None: the mean over the heads), from 0."""

    kind: str
    block: int
    head: int | None

    @property
    def of(self) -> MapKind:
        """What the kind is."""
        return KINDS[self.kind]

    def words(self, blocks: int, heads: int) -> str:
        """The map in words, as far as there is a choice."""
        parts = [self.of.words]
        parts += [f"block {self.block + 1}"] if blocks > 1 else []
        if heads > 1:
            parts.append("mean of the heads" if self.head is None else f"head {self.head + 1}")
        return ", ".join(parts)


def maps(one: List, ranker: str, change: str, wanted: Wanted) -> tuple[np.ndarray, np.ndarray]:
    """One map before and after the change, by document.

    Raises:
        ScoringError: the process has no answer.
    """
    return _maps(repr(one), str(services.store().root), ranker, change, repr(wanted), one, wanted)


@st.cache_resource(max_entries=16, show_spinner=False)
def _maps(
    asked: str, root: str, ranker: str, change: str, which: str, _one: List, _wanted: Wanted
) -> tuple[np.ndarray, np.ndarray]:
    del asked, root, which  # parts of the memory's key alone
    question = _one.question() | {
        "ranker": ranker, "change": change,
        "kind": _wanted.kind, "block": _wanted.block, "head": _wanted.head,
    }  # fmt: skip
    found = scoring.resident().ask(f"{WORK}:chosen_map", question)
    return unpacked(found["before"]), unpacked(found["after"])


def differing_features(one: List, first: int, second: int) -> list[list[float]]:
    """Features of two documents: id, both values, difference in standard deviations of the list.

    One document twice is compared with the mean of the list.

    Raises:
        ScoringError: the process has no answer.
    """
    return _features(repr(one), str(services.store().root), first, second, one)


@st.cache_data(max_entries=256, show_spinner=False)
def _features(asked: str, root: str, first: int, second: int, _one: List) -> list[list[float]]:
    del asked, root  # parts of the memory's key alone
    question = _one.question() | {"documents": [first, second]}
    found: list[list[float]] = scoring.resident().ask(f"{WORK}:pair", question)["features"]
    return found
