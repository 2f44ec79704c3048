"""Perturbations: one named change of a ranker's input, at one level, drawn from a seed.

Most families need nothing but the lists and map lists to lists. Some need the data set too (its
labels, its features, documents of other queries) and map judged lists to judged lists; `perturb`
applies either kind.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int64

from shuffleproof.core.data import ragged
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import UsageError

Change = Literal["order", "ranking", "set", "features", "labels", "system"]


@runtime_checkable
class Perturbation(Protocol):
    """One named change of a ranker's input, at one level.

    It also works on lists of 0 and 1 documents, and keeps them unless `changes` holds "set".

    `family` is the registry's name, `level` its strength in the family's unit, `changes` the
    changed inputs. A ranking perturbation changes the ranks and with them the input order
    ({"ranking", "order"}), a presentation perturbation the order alone. A change of the set
    renumbers the ranks of the documents that stay and keeps their order.
    """

    @property
    def family(self) -> str:
        """The registry's name."""

    @property
    def level(self) -> float:
        """The strength, in the unit the registry entry names."""

    @property
    def changes(self) -> frozenset[Change]:
        """Parts of the input that change."""

    def __call__(self, lists: CandidateLists, generator: np.random.Generator) -> CandidateLists:
        """The perturbed lists; the lists given stay as they are.

        Raises:
            UsageError: the family needs the data set too; see `perturb`.
        """


@runtime_checkable
class DataPerturbation(Perturbation, Protocol):
    """A perturbation that reads or changes the data set behind the lists.

    New documents stand behind a query's own rows, so that a row's place in its query never
    changes (see `origins`).
    """

    def perturb(self, judged: JudgedLists, generator: np.random.Generator) -> JudgedLists:
        """Perturbed lists with their data set; the arguments do not change."""


def perturb(
    change: Perturbation, judged: JudgedLists, generator: np.random.Generator
) -> JudgedLists:
    """Judged lists under a perturbation of either kind."""
    if isinstance(change, DataPerturbation):
        return change.perturb(judged, generator)
    lists = change(judged.lists, generator)
    return judged if lists is judged.lists else replace(judged, lists=lists)


class PerturbationBase:
    """Base of all perturbations: they print as `registry.parse` reads them."""

    def __str__(self: Perturbation) -> str:
        """Family and level: `transpositions:5`, `cut:0.5+shuffle-shown:1`."""
        return f"{self.family}:{self.level:g}"


class NeedsData(PerturbationBase):
    """Base of the families that need the data set: they refuse lists alone."""

    def __call__(self, lists: CandidateLists, generator: np.random.Generator) -> CandidateLists:
        """Refuse lists without their data set.

        Raises:
            UsageError: always; see `perturb`.
        """
        del lists, generator
        raise UsageError(
            f"{self} needs the data set beside the lists: "
            "shuffleproof.core.perturb.base.perturb takes both, and so does `study perturbations`"
        )


@dataclass(frozen=True)
class Chain(PerturbationBase):
    """Perturbations one after the other, each on what the one before left.

    Its level is that of the last link; the others belong to its name, so that it prints, parses
    and is drawn as a curve like any family: `transpositions:5+shuffle-shown` at level 1.

    Attributes:
        links: two or more, in the order in which they are applied.
    """

    links: tuple[Perturbation, ...]

    @property
    def family(self) -> str:
        """The links joined by `+`, the last without its level."""
        return "+".join([*map(str, self.links[:-1]), self.links[-1].family])

    @property
    def level(self) -> float:
        """The level of the last link."""
        return self.links[-1].level

    @property
    def changes(self) -> frozenset[Change]:
        """Parts of the input that any link changes."""
        return frozenset[Change]().union(*(link.changes for link in self.links))

    def __call__(self, lists: CandidateLists, generator: np.random.Generator) -> CandidateLists:
        """The lists after all links.

        Raises:
            UsageError: a link needs the data set.
        """
        for link in self.links:
            lists = link(lists, generator)
        return lists

    def perturb(self, judged: JudgedLists, generator: np.random.Generator) -> JudgedLists:
        """The judged lists after all links."""
        for link in self.links:
            judged = perturb(link, judged, generator)
        return judged


MakePerturbation = Callable[[str, float], Perturbation]
"""(family, level) → perturbation."""


def origins(base: JudgedLists, after: JudgedLists) -> Int64[np.ndarray, " candidates"]:
    """For each candidate of `after` its row in the data set of `base`; −1: it is a new document.

    A data set that grew has its new documents behind each query's own.
    """
    # Same bounds: no document joined, so rows mean the same in both data sets
    if after.dataset.offsets is base.dataset.offsets:
        return after.lists.rows
    query = after.lists.queries[ragged.segment_ids(after.lists.offsets)]
    place = after.lists.rows - after.dataset.offsets[query]
    in_base = place < np.diff(base.dataset.offsets)[query]
    return np.where(in_base, base.dataset.offsets[query] + place, -1)


def sources(
    base: CandidateLists,
    offsets: Int64[np.ndarray, " bounds"],
    rows: Int64[np.ndarray, " candidates"],
) -> Int64[np.ndarray, " candidates"]:
    """For each candidate of as many lists, the index of the same document in the base lists.

    Args:
        base: no document twice in a list.
        offsets: bounds of the other lists.
        rows: their documents as rows of the base's data set, −1 for others (`origins`).

    Returns:
        Indexes; −1 where the base list lacks the document.
    """
    # One integer per (list, row) pair; + 2 leaves room for row −1 without a clash
    stride = max(int(base.rows.max(initial=0)), int(rows.max(initial=0))) + 2
    keys = ragged.segment_ids(base.offsets) * stride + base.rows
    candidate_keys = ragged.segment_ids(offsets) * stride + rows
    if not len(keys):
        return np.full(len(candidate_keys), -1, dtype=np.int64)
    order = np.argsort(keys, kind="stable")
    place = np.minimum(np.searchsorted(keys, candidate_keys, sorter=order), len(keys) - 1)
    # searchsorted gives an insertion place: only equal keys are the same document
    match = order[place]
    return np.where((keys[match] == candidate_keys) & (rows >= 0), match, -1)
