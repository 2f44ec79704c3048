"""Perturbations that add documents to the lists: distractors of other queries, and copies.

New documents are new rows after their query's own in a new data set, at the position in each list
that their prior score gives them. Distractors are judged not relevant; copies as their originals.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float32, Float64, Int64, UInt8

from shuffleproof.core.data import ragged
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.perturb.base import Change, NeedsData
from shuffleproof.core.perturb.features import moments
from shuffleproof.core.perturb.sets import SET, assemble, best_first, by_chance

POOL = 256
"""Documents of other queries among which hard distractors are looked for."""

NEAR = 0.01
"""Standard deviations of a column by which near duplicates differ."""


@dataclass(frozen=True, eq=False)
class AddedDocuments:
    """Documents to be added.

    Attributes:
        lists: the list that each goes into, rising.
        candidates: the candidate (of any list) that each is made from, with its prior scores.
        features: of each.
        labels: of each.
    """

    lists: Int64[np.ndarray, " added"]
    candidates: Int64[np.ndarray, " added"]
    features: Float32[np.ndarray, "added features"]
    labels: Float32[np.ndarray, " added"]


Source = Callable[[JudgedLists, int, np.random.Generator], AddedDocuments]
"""(judged lists, documents a list, generator) → what is added."""


@dataclass(frozen=True)
class GrowthPerturbation(NeedsData):
    """Adds `level` documents to every list.

    Attributes:
        family: the registry's name.
        level: documents a list; 0 leaves the lists as they are.
        source: which documents.
    """

    family: str
    level: float
    source: Source = field(repr=False)
    changes: frozenset[Change] = SET

    def perturb(self, judged: JudgedLists, generator: np.random.Generator) -> JudgedLists:
        """The longer lists and the data set that holds the new documents."""
        if self.level == 0:
            return judged
        return add_documents(judged, self.source(judged, round(self.level), generator))


def random_distractors(
    judged: JudgedLists, count: int, generator: np.random.Generator
) -> AddedDocuments:
    """Candidates of other queries, drawn evenly; fewer where there are fewer."""
    drawn = _other_candidates(judged.lists, count, generator)
    return _distractors(judged, drawn)


def hard_distractors(
    judged: JudgedLists, count: int, generator: np.random.Generator
) -> AddedDocuments:
    """Of 256 random candidates of other queries, those most like the list's best ranked document.

    Alike: least Euclidean distance of features in standard deviations of the column.
    """
    lists = judged.lists
    # A pool, because distances to all candidates would cost lists × candidates
    pools = _other_candidates(lists, max(POOL, count), generator)
    scaled = _standardised_features(judged.dataset.features[lists.rows])
    best = np.flatnonzero(best_first(lists) == 0)
    owner = ragged.segment_ids(lists.offsets)[best]
    nearest = [np.zeros(0, dtype=np.int64) for _ in pools]
    for index, candidate in zip(owner.tolist(), best.tolist(), strict=True):
        # Squares are enough: the root does not change the order
        distances = ((scaled[pools[index]] - scaled[candidate]) ** 2).sum(axis=1)
        nearest[index] = pools[index][np.argsort(distances, kind="stable")[:count]]
    return _distractors(judged, nearest)


def duplicates(judged: JudgedLists, count: int, generator: np.random.Generator) -> AddedDocuments:
    """Exact copies of `count` documents of the list (of all of a shorter one), drawn evenly."""
    lists = judged.lists
    dataset, in_file = judged.dataset, ragged.order_within(lists.offsets, lists.rows)
    # In data set order, so that copies do not depend on the input order
    copied = in_file[by_chance(lists, generator)[in_file] < count]
    rows, owner = lists.rows[copied], ragged.segment_ids(lists.offsets)[copied]
    return AddedDocuments(owner, copied, dataset.features[rows], dataset.labels[rows])


def near_duplicates(
    judged: JudgedLists, count: int, generator: np.random.Generator
) -> AddedDocuments:
    """Copies whose features differ by Gaussian noise of 1 % of each column's deviation."""
    exact = duplicates(judged, count, generator)
    cells = exact.features.astype(np.float64)
    # Deviations of all candidates: those of a few copies would be too uncertain
    deviation = moments(judged.dataset.features[judged.lists.rows].astype(np.float64))[1]
    noise = generator.standard_normal(cells.shape) * deviation * NEAR
    return replace(
        exact, features=np.where(np.isfinite(cells), cells + noise, cells).astype(np.float32)
    )


def add_documents(judged: JudgedLists, added: AddedDocuments) -> JudgedLists:
    """The judged lists with these documents added."""
    lists, dataset = judged.lists, judged.dataset
    queries = lists.queries[added.lists]
    by_query = np.argsort(queries, kind="stable")
    counts = np.bincount(queries, minlength=dataset.queries)
    lengths = np.diff(dataset.offsets)
    offsets = ragged.offsets_of(lengths + counts)
    # Old rows move down by the documents added to earlier queries
    shift = np.repeat(offsets[:-1] - dataset.offsets[:-1], lengths)
    old = np.arange(dataset.documents) + shift
    new = np.empty(len(queries), dtype=np.int64)
    places = ragged.places_of(ragged.offsets_of(counts))
    # New rows follow the old rows of their query, in the order of `added`
    new[by_query] = (offsets[:-1] + lengths)[queries[by_query]] + places
    source = np.empty(int(offsets[-1]), dtype=np.int64)
    source[old], source[new] = np.arange(dataset.documents), lists.rows[added.candidates]
    larger = RankingDataset(
        features=_interleaved_rows(dataset.features, old, added.features, new),
        labels=_interleaved_rows(dataset.labels, old, added.labels, new),
        offsets=offsets,
        query_ids=dataset.query_ids,
        feature_ids=dataset.feature_ids,
        doc_ids=None if dataset.doc_ids is None else dataset.doc_ids.take(source),
        comments=None if dataset.comments is None else dataset.comments.take(source),
        texts=None if dataset.texts is None else dataset.texts.take(source),
        feature_names=dataset.feature_names,
        absent=_absent_cells(dataset, added, source, new),
        missing=dataset.missing,
        query_texts=dataset.query_texts,
    )
    return JudgedLists(larger, _with_added(lists, old[lists.rows], added, new))


def _absent_cells(
    dataset: RankingDataset,
    added: AddedDocuments,
    source: Int64[np.ndarray, " docs"],
    new: Int64[np.ndarray, " added"],
) -> UInt8[np.ndarray, "docs bytes"] | None:
    """The absent cells of all rows: those of the originals that have the same value in copies."""
    if dataset.absent is None:
        return None
    absent, rows = dataset.absent[source], source[new]
    # Noise turns an absent cell into a present value, so equality is required
    unchanged = np.asarray(dataset.absent_cells(rows)) & (added.features == dataset.features[rows])
    absent[new] = np.packbits(unchanged, axis=1)
    return absent


def _with_added(
    lists: CandidateLists,
    rows: Int64[np.ndarray, " candidates"],
    added: AddedDocuments,
    new: Int64[np.ndarray, " added"],
) -> CandidateLists:
    """The lists with the new rows where their prior puts them: before what is shown below it."""
    owner = np.concatenate([ragged.segment_ids(lists.offsets), added.lists])
    place = np.concatenate([ragged.places_of(lists.offsets) + 0.0, np.zeros(len(new))])
    prior = np.concatenate([lists.prior, lists.prior[added.candidates]])
    for index, at in enumerate(added.lists.tolist(), start=len(rows)):
        span = slice(lists.offsets[at], lists.offsets[at + 1])
        if lists.rankings:
            below = lists.prior[span, 0] < prior[index, 0]
            # Half a place before the first lower score, or behind the last document
            place[index] = (int(np.argmax(below)) if below.any() else len(below)) - 0.5
        else:
            place[index] = lists.lengths[at]
    everything = np.concatenate([rows, new])
    falling = -prior[:, 0] if lists.rankings else np.zeros(len(everything))
    # NumPy reads sort keys from the last: list, place, falling prior score, row
    order = np.lexsort((everything, falling, place, owner))
    lengths = np.bincount(owner, minlength=len(lists))
    return assemble(lists.queries, lengths, everything[order], prior[order])


def _other_candidates(
    lists: CandidateLists, count: int, generator: np.random.Generator
) -> list[Int64[np.ndarray, " drawn"]]:
    """For each list up to `count` candidates of other queries, drawn without replacement."""
    query = lists.queries[ragged.segment_ids(lists.offsets)]
    # By query, then row: draws do not depend on the input order
    order = np.lexsort((lists.rows, query))
    starts = np.searchsorted(query[order], lists.queries, side="left")
    stops = np.searchsorted(query[order], lists.queries, side="right")
    drawn = []
    for start, stop, length in zip(
        starts.tolist(), stops.tolist(), lists.lengths.tolist(), strict=True
    ):
        available = len(order) - (stop - start)
        size = min(count, available) if length else 0
        picked = generator.choice(available, size=size, replace=False) if size else np.zeros(0, int)
        # The query's own candidates lie at start … stop: places from there on skip them
        drawn.append(order[np.where(picked < start, picked, picked + stop - start)])
    return drawn


def _distractors(judged: JudgedLists, by_list: list[Int64[np.ndarray, " _"]]) -> AddedDocuments:
    counts = [len(part) for part in by_list]
    candidates = np.concatenate([*by_list, np.zeros(0, dtype=np.int64)])
    return AddedDocuments(
        lists=np.repeat(np.arange(len(counts), dtype=np.int64), counts),
        candidates=candidates,
        features=judged.dataset.features[judged.lists.rows[candidates]],
        labels=np.zeros(len(candidates), dtype=np.float32),
    )


def _interleaved_rows(
    existing: np.ndarray, old: np.ndarray, added: np.ndarray, new: np.ndarray
) -> np.ndarray:
    joined = np.empty((len(old) + len(new), *existing.shape[1:]), dtype=existing.dtype)
    joined[old], joined[new] = existing, added
    return joined


def _standardised_features(
    features: Float32[np.ndarray, "docs features"],
) -> Float64[np.ndarray, "docs features"]:
    cells = features.astype(np.float64)
    mean, deviation = moments(cells)
    # The mean makes a missing value neutral in distances
    cells = np.where(np.isfinite(cells), cells, mean)
    # Division by ∞: constant columns become 0 and add nothing to a distance
    return (cells - mean) / np.where(deviation > 0, deviation, np.inf)
