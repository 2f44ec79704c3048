"""The only place where ragged lists become padded tensors, and where it is decided how.

Lists are grouped by length under a budget of documents, so that little of a batch is padding:
padded / real documents stay within 1.05 when scoring and 1.4 in training. A whole set is held as
ragged tensors on its device, and a batch is one gather from there. What decides a batch's shape is
known on the host: no batch asks the device for anything.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int64, Shaped
from torch import Tensor

from shuffleproof.core.data.lists import CandidateLists

Lengths: TypeAlias = Int64[np.ndarray, " lists"]
ListPlaces: TypeAlias = Int64[np.ndarray, " chosen"]
Features: TypeAlias = Float[Tensor, "sources features"]
Slots: TypeAlias = Int64[Tensor, " slots"]

SCORING_WASTE = 1.05
TRAINING_WASTE = 1.4
LENGTH_JITTER = 1.2  # training lists share a batch with lists up to about this much longer


@dataclass(frozen=True, eq=False)
class ListBatch:
    """Some lists padded to the longest of them; padding is never read.

    Ranks and labels are gathered when they are first read: many networks never do.
    """

    held: "HeldLists"  # the lists that these are some of
    # feature vectors (or anything computed from them); zeros where padded
    features: Float[Tensor, "lists docs features"]
    mask: Bool[Tensor, "lists docs"]  # True = a real document
    full: bool  # every document is real, so that no mask is needed
    # slot of each document in the held lists; the last slot where padded
    rows: Int64[Tensor, "lists docs"]
    lengths: Lengths  # documents of each list, on the host
    # for each initial ranking, whether documents of these lists share a rank in it
    ties: tuple[bool, ...]

    @cached_property
    def ranks(self) -> Int64[Tensor, "lists docs rankings"]:
        """Best rank of each document's tied block under each initial ranking."""
        return _gathered_rows(self.held.ranks, self.rows)

    @cached_property
    def tied(self) -> Int64[Tensor, "lists docs rankings"]:
        """Size of that block (1 = no tie, and where padded)."""
        return _gathered_rows(self.held.tied, self.rows)

    @cached_property
    def labels(self) -> Float32[Tensor, "lists docs"]:
        """Graded relevance; 0 where padded."""
        return self.held.labels[self.rows]


@dataclass(frozen=True, eq=False)
class HeldLists:
    """Candidate lists as ragged tensors on one device; slot i = candidate i, the last one zeros."""

    # what the network reads of a document, by source slot
    features: Features
    # for each slot the row of `features` that it shows (several lists can share rows)
    source: Slots
    labels: Float32[Tensor, " slots"]  # graded relevance
    ranks: Int64[Tensor, "slots rankings"]  # best rank of the tied block
    tied: Int64[Tensor, "slots rankings"]  # size of the tied block
    starts: Int64[Tensor, " lists"]  # first slot of each list
    counts: Int64[Tensor, " lists"]  # candidates of each list
    lengths: Lengths  # the same on the host
    present: tuple[int, ...]  # initial rankings that are there (−1 everywhere: it is absent)
    # whether documents of a list share a rank, on the host
    ties: Bool[np.ndarray, "lists rankings"]

    def batches(self, plan: Sequence[Int64[np.ndarray, " _chosen"]]) -> Iterator[ListBatch]:
        """The batches of a plan in turn; the plan goes to the device once, at first."""
        if plan:
            placed = torch.from_numpy(np.concatenate(plan)).to(self.starts.device)
            for chosen, on_device in zip(
                plan, torch.split(placed, [len(chosen) for chosen in plan]), strict=True
            ):
                yield self.batch(chosen, on_device)

    def batch(
        self, chosen: ListPlaces, placed: Int64[Tensor, " chosen"] | None = None
    ) -> ListBatch:
        """These lists padded to the longest of them.

        `chosen` are on the host; `placed` are the same where they are on the device already.
        """
        if placed is None:
            placed = torch.from_numpy(chosen).to(self.starts.device)
        lengths = self.lengths[chosen]
        longest = int(lengths.max(initial=0))
        places = torch.arange(longest, device=self.starts.device)
        mask = places < self.counts[placed][:, None]
        rows = torch.where(mask, self.starts[placed][:, None] + places, len(self.source) - 1)
        return ListBatch(
            held=self,
            features=_gathered_rows(self.features, self.source[rows]),
            mask=mask,
            full=bool((lengths == longest).all()),
            rows=rows,
            lengths=lengths,
            ties=tuple(self.ties[chosen].any(0).tolist()),
        )


def on_device(
    lists: CandidateLists,
    features: Float32[np.ndarray, "candidates features"],
    labels: Float32[np.ndarray, " candidates"],
    device: str = "cpu",
) -> HeldLists:
    """Lists with the features and labels of their candidates, put on a device.

    Both have a row for each of `lists.rows`; of `lists` only bounds and ranks count.
    """
    source = torch.arange(len(lists.rows) + 1, device=device)
    return _held(lists, with_slot(features).to(device), source, with_slot(labels).to(device))


def reheld(
    lists: CandidateLists, features: Features, source: Int64[np.ndarray, " candidates"]
) -> HeldLists:
    """Lists whose candidates show rows of a tensor, the last one padding; labels are zeros.

    `source` has the row of `features` for each candidate; of `lists`, only bounds and ranks count.
    """
    slots = np.append(source, len(features) - 1)
    labels = torch.zeros(len(slots), device=features.device)
    return _held(lists, features, torch.from_numpy(slots).to(features.device), labels)


def _held(
    lists: CandidateLists, features: Features, source: Slots, labels: Float32[Tensor, " slots"]
) -> HeldLists:
    device, tied = features.device, tied_blocks(lists)
    shared = np.zeros((len(lists), lists.rankings), dtype=np.bool_)
    filled = np.flatnonzero(lists.lengths)
    if len(filled):
        shared[filled] = np.maximum.reduceat(tied, lists.offsets[filled], axis=0) > 1
    return HeldLists(
        features=features,
        source=source,
        labels=labels,
        ranks=with_slot(lists.ranks.astype(np.int64)).to(device),
        tied=with_slot(tied, fill=1).to(device),
        starts=torch.from_numpy(lists.offsets[:-1].copy()).to(device),
        counts=torch.from_numpy(lists.lengths.copy()).to(device),
        lengths=lists.lengths,
        present=tuple(range(lists.rankings)),
        ties=shared,
    )


def with_slot(
    values: Shaped[np.ndarray, "candidates *columns"], fill: int = 0
) -> Shaped[Tensor, "slots *columns"]:
    """The values as a tensor with one more row, which padding shows."""
    padded = np.full((len(values) + 1, *values.shape[1:]), fill, dtype=values.dtype)
    padded[:-1] = values
    return torch.from_numpy(padded)


def drawn_sets(
    lists: HeldLists, plan: Sequence[ListPlaces], size: int, generator: np.random.Generator
) -> tuple[HeldLists, list[Int64[np.ndarray, " batch"]]]:
    """Lists of a training plan cut into random sets of one size, and the plan of these sets.

    A list that occurs twice is cut twice. Documents that fill no set are left out, so a list
    shorter than `size` gives none. Ranks count the documents of the set alone.
    """
    ends = np.cumsum(lists.lengths)
    drawn = [
        ends[at] - lists.lengths[at] + generator.permutation(lists.lengths[at])[: count * size]
        for chosen in plan
        for at, count in zip(chosen, lists.lengths[chosen] // size, strict=True)
    ]
    slots = np.append(np.concatenate(drawn), len(lists.source) - 1)
    placed = torch.from_numpy(slots).to(lists.starts.device)
    sets = len(slots) // size
    ranks = lists.ranks[placed[:-1]].view(sets, size, -1)
    # Rank in a set: the number of its documents with a better rank in the whole list
    better = (ranks[:, None] < ranks[:, :, None]).sum(2).flatten(0, 1)
    equal = (ranks[:, None] == ranks[:, :, None]).sum(2).flatten(0, 1)
    counts = torch.full((sets,), size, device=placed.device)
    held = replace(
        lists,
        source=lists.source[placed],
        labels=lists.labels[placed],
        ranks=torch.cat([better, lists.ranks[-1:]]),
        tied=torch.cat([equal, lists.tied[-1:]]),
        starts=torch.arange(sets, device=placed.device) * size,
        counts=counts,
        lengths=np.full(sets, size),
        ties=(equal > 1).view(sets, size, -1).any(1).cpu().numpy(),
    )
    sizes = np.cumsum([int((lists.lengths[chosen] // size).sum()) for chosen in plan])
    return held, np.split(np.arange(sets), sizes[:-1])


def tied_blocks(lists: CandidateLists) -> Int64[np.ndarray, "candidates rankings"]:
    """The number of candidates that share each candidate's rank, per initial ranking.

    >>> ranks = np.array([[0], [1], [1], [0]], dtype=np.int32)
    >>> lists = CandidateLists(np.array([0, 3, 4]), np.array([0, 1]), np.arange(4), ranks,
    ...                        -ranks.astype(np.float32))
    >>> tied_blocks(lists)[:, 0].tolist()
    [1, 2, 2, 1]
    """
    list_start = np.repeat(lists.offsets[:-1], lists.lengths)
    sizes = np.empty(lists.ranks.shape, dtype=np.int64)
    for column in range(lists.rankings):
        place = list_start + lists.ranks[:, column]
        sizes[:, column] = np.bincount(place, minlength=len(place))[place]
    return sizes


def scoring_plan(lengths: Lengths, budget: int) -> Iterator[ListPlaces]:
    """Groups of lists to be scored together, longest first; lists without documents are left out.

    A batch has at most `budget` padded documents; a longer list is a batch of its own.

    >>> [group.tolist() for group in scoring_plan(np.array([2, 40, 0, 40, 3]), 80)]
    [[1, 3], [4, 0]]
    """
    order = np.argsort(-lengths, kind="stable")
    return _cut_into_batches(
        order[lengths[order] > 0], lengths, (len(lengths), budget), SCORING_WASTE
    )


def training_plan(
    lengths: Lengths, chosen: ListPlaces, limits: tuple[int, int], generator: np.random.Generator
) -> list[Int64[np.ndarray, " batch"]]:
    """An epoch's batches: lists of similar length together, drawn and ordered at random.

    Lists of one length are shuffled; others are sorted by their length times a random factor in
    [1, 1.2) before they are cut into batches, and the batches are shuffled.

    Args:
        lengths: candidates of each list.
        chosen: the epoch's lists; one that occurs twice is seen twice.
        limits: largest numbers of lists and of padded documents per batch.
        generator: decides the shuffle.
    """
    chosen = chosen[lengths[chosen] > 0]
    keys = lengths[chosen] * generator.uniform(1.0, LENGTH_JITTER, len(chosen))
    batches = list(_cut_into_batches(chosen[np.argsort(-keys)], lengths, limits, TRAINING_WASTE))
    return [batches[index] for index in generator.permutation(len(batches))]


def _cut_into_batches(
    order: Int64[np.ndarray, " ordered"], lengths: Lengths, limits: tuple[int, int], waste: float
) -> Iterator[ListPlaces]:
    """Cut an order of lists into runs, each as long as the limits and the total waste allow."""
    most_lists, budget = limits
    start = padded_before = real_before = 0
    while start < len(order):
        fitting_lists = max(1, min(most_lists, budget // int(lengths[order[start]])))
        window = lengths[order[start : start + fitting_lists]]
        padded = np.maximum.accumulate(window) * np.arange(1, len(window) + 1)
        real = np.cumsum(window)
        fits = (padded <= budget) & (padded_before + padded <= waste * (real_before + real))
        fits[0] = True
        count = int(np.flatnonzero(fits)[-1]) + 1
        padded_before += int(padded[count - 1])
        real_before += int(real[count - 1])
        yield order[start : start + count]
        start += count


def _gathered_rows(
    values: Shaped[Tensor, "sources columns"], rows: Int64[Tensor, "lists docs"]
) -> Shaped[Tensor, "lists docs columns"]:
    return values.index_select(0, rows.flatten()).view(*rows.shape, values.shape[1])
