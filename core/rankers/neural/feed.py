"""Input of a network: normalised features of the candidates, in reading order."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float32, Int64

from shuffleproof.core.data import ragged
from shuffleproof.core.data.batches import HeldLists
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.features import Normalisation
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.models.config import DLCMConfig
from shuffleproof.core.models.config_groups import GroupConfig
from shuffleproof.core.rankers.neural.recipes import NeuralSpec
from shuffleproof.core.seeds import derived_seed, mix_bits

GROUP = 1 << 18  # candidates whose features are held at once


def groups_of(lists: CandidateLists) -> Iterator[tuple[CandidateLists, slice]]:
    """Consecutive lists, as many as fit, and where their candidates are among all."""
    first = 0
    while first < len(lists):
        # At least one list, also where it is longer than the limit alone
        fitting = int(np.searchsorted(lists.offsets, lists.offsets[first] + GROUP, "right")) - 1
        last = min(max(fitting, first + 1), len(lists))
        inside = slice(int(lists.offsets[first]), int(lists.offsets[last]))
        whole = first == 0 and last == len(lists)
        yield (lists if whole else lists.select(np.arange(first, last))), inside
        first = last


def document_features(
    normalisation: Normalisation, dataset: RankingDataset, rows: Int64[np.ndarray, " rows"]
) -> Float32[np.ndarray, "rows features"]:
    """The normalised features of these documents; per-query kinds see the whole query."""
    return normalisation.of_documents(dataset, rows)


def feed_order(
    spec: NeuralSpec, dataset: RankingDataset, lists: CandidateLists
) -> Int64[np.ndarray, " candidates"] | None:
    """The order in which a network is fed the candidates; None: as they are shown.

    A shuffled feed permutes the places of a list, as drawn from (seed, query id, length): what is
    shown first comes anywhere, and the same list is always fed alike.
    """
    match spec.model:
        case DLCMConfig(feed="shuffled") | GroupConfig(shuffled=True):
            pass
        case _:
            return None
    seeds = np.array(
        [
            derived_seed(spec.training.seed, "feed", dataset.query_ids[query], int(length))
            for query, length in zip(lists.queries, lists.lengths, strict=True)
        ],
        dtype=np.uint64,
    )
    # One random key a place, from the list alone: independent of other lists and batches
    keys = mix_bits(
        np.repeat(seeds, lists.lengths) + ragged.places_of(lists.offsets).view(np.uint64)
    )
    return ragged.order_within(lists.offsets, keys)


def read_rankings(lists: HeldLists, columns: tuple[int | None, ...]) -> HeldLists:
    """Lists whose j-th ranking is the one at `columns[j]` of these; None: it is absent (−1)."""
    # −1 marks an absent ranking, which adds no ordinal embedding
    ranks = torch.full((len(lists.ranks), len(columns)), -1, device=lists.ranks.device)
    tied = torch.ones_like(ranks)
    ties = np.zeros((len(lists.lengths), len(columns)), dtype=np.bool_)
    read = {at: column for at, column in enumerate(columns) if column is not None}
    for at, column in read.items():
        ranks[:, at], tied[:, at] = lists.ranks[:, column], lists.tied[:, column]
        ties[:, at] = lists.ties[:, column]
    return replace(lists, ranks=ranks, tied=tied, ties=ties, present=tuple(read))
