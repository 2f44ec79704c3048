"""Many orders and rankings of the same lists, scored without doing anything twice.

A document is embedded once (SetRank's input layer; DLCM's input net and GRU input products) and
gathered in the order of every variant; lists that repeat are scored once; the rest is batched
across the variants.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Int64, UInt64
from torch import Tensor

from shuffleproof.core.data import ragged
from shuffleproof.core.data.batches import reheld
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.errors import ShapeError
from shuffleproof.core.rankers.neural.feed import fed, mixed, read_rankings
from shuffleproof.core.rankers.neural.recipes import NeuralSpec
from shuffleproof.core.training.network import Network, Precision, held_embeddings, held_scores

GROUP = 1 << 13  # documents embedded at once
STACK = 1 << 21  # candidates of all variants stacked at once


@dataclass(frozen=True, eq=False)
class FittedNetwork:
    """A network with all that scoring needs.

    Attributes:
        spec: what it was made from.
        network: on its device.
        features_of: normalised features of data set rows, there, with the padding's row last.
        precision: fp32, bf16 or auto.
        columns: which ranking of the lists each of the network's own is read from; None: absent.
    """

    spec: NeuralSpec
    network: Network
    features_of: Callable[[Int64[np.ndarray, " _rows"]], Float32[Tensor, "_slots _features"]]
    precision: Precision
    columns: tuple[int | None, ...]


def variant_scores(
    fitted: FittedNetwork, dataset: RankingDataset, variants: Sequence[CandidateLists]
) -> list[Float32[np.ndarray, " _candidates"]]:
    """One array of scores a variant, each in its variant's order shown.

    Raises:
        ShapeError: the variants do not have as many lists each.
    """
    for variant in variants:
        if len(variant) != len(variants[0]):
            raise ShapeError("variants", f"{len(variant)} lists", f"{len(variants[0])}")
    results = [np.empty(len(variant.rows), dtype=np.float32) for variant in variants]
    for first, last in _groups(variants):
        stack = _stacked([variant.select(np.arange(first, last)) for variant in variants])
        scores = _stack_scores(fitted, dataset, stack)
        start = 0
        for result, variant in zip(results, variants, strict=True):
            inside = slice(int(variant.offsets[first]), int(variant.offsets[last]))
            end = start + inside.stop - inside.start
            result[inside] = scores[start:end]
            start = end
    return results


def _groups(variants: Sequence[CandidateLists]) -> Iterator[tuple[int, int]]:
    """Runs of lists [first, last) that are small enough to be held under all variants."""
    if not variants:
        return
    offsets, first = variants[0].offsets, 0
    most = min(GROUP, STACK // len(variants))
    while first < len(variants[0]):
        fitting = int(np.searchsorted(offsets, offsets[first] + most, "right")) - 1
        last = min(max(fitting, first + 1), len(variants[0]))
        yield first, last
        first = last


def _stacked(parts: Sequence[CandidateLists]) -> CandidateLists:
    return CandidateLists(
        offsets=ragged.offsets_of(np.concatenate([part.lengths for part in parts])),
        queries=np.concatenate([part.queries for part in parts]),
        rows=np.concatenate([part.rows for part in parts]),
        ranks=np.concatenate([part.ranks for part in parts]),
        prior=np.concatenate([part.prior for part in parts]),
    )


def _stack_scores(
    fitted: FittedNetwork, dataset: RankingDataset, stack: CandidateLists
) -> Float32[np.ndarray, " candidates"]:
    _, kept, same = np.unique(
        _digests(stack, fitted.columns), return_index=True, return_inverse=True
    )
    lists = stack.select(kept)
    order = fed(fitted.spec, dataset, lists)
    shown = lists if order is None else lists.shown_as(order)
    rows, source = np.unique(shown.rows, return_inverse=True)
    embedded = held_embeddings(fitted.network, fitted.features_of(rows), fitted.precision)
    lists_of_embedded = read_rankings(reheld(shown, embedded, source), fitted.columns)
    found = held_scores(fitted.network, lists_of_embedded, fitted.precision, embedded=True)
    if order is not None:
        found[order] = found.copy()
    return found[ragged.elements_of(lists.offsets, same)]


def _digests(lists: CandidateLists, columns: Sequence[int | None]) -> UInt64[np.ndarray, " lists"]:
    """64 bits that tell lists apart by rows, their order and the ranks read."""
    digests = mixed(lists.rows.view(np.uint64))
    read = [lists.ranks[:, column] for column in columns if column is not None]
    for column in (ragged.places_of(lists.offsets), *read):
        digests = mixed(digests + column.astype(np.uint64))
    running = np.zeros(len(digests) + 1, dtype=np.uint64)
    np.cumsum(digests, out=running[1:])
    return np.diff(running[lists.offsets])
