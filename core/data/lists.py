"""Candidate lists: which documents a ranker is shown, in which order, with which prior ranks.

The input order and the prior rank are different things and live in different fields: `rows` is
in the input order; column j of `ranks` is the rank under initial ranking j, wherever it is shown.
"""

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from jaxtyping import Float32, Int32, Int64

from shuffleproof.core.data import ragged
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.ragged import falling_order
from shuffleproof.core.errors import ShapeError
from shuffleproof.core.words import counted

Bounds: TypeAlias = Int64[np.ndarray, " bounds"]
Rows: TypeAlias = Int64[np.ndarray, " candidates"]
Ranks: TypeAlias = Int32[np.ndarray, "candidates rankings"]
Prior: TypeAlias = Float32[np.ndarray, "candidates rankings"]


@dataclass(frozen=True, eq=False)
class CandidateLists:
    """Ragged lists of candidate documents of a data set; every array is read-only.

    Attributes:
        offsets: candidates of list i are `offsets[i] … offsets[i + 1] − 1`.
        queries: the query (index into the data set) that each list answers.
        rows: data set row of each candidate, in the input order.
        ranks: 0-based rank in the list under each initial ranking (none, one or many columns);
            documents tied under a ranking share the best rank of their block (0, 1, 1, 3).
        prior: score under each initial ranking; `ranks` is the competition rank of `prior`.
    """

    offsets: Bounds
    queries: Int64[np.ndarray, " lists"]
    rows: Rows
    ranks: Ranks
    prior: Prior

    def __post_init__(self) -> None:
        """Check that the arrays belong together and make them read-only."""
        if len(self.queries) != len(self.offsets) - 1:
            raise ShapeError("queries", f"{len(self.queries)}", f"{len(self.offsets) - 1}")
        if self.offsets[-1] != len(self.rows) or self.ranks.shape != self.prior.shape:
            raise ShapeError("lists", f"{len(self.rows)} rows, ranks {self.ranks.shape}", "equals")
        for array in (self.offsets, self.queries, self.rows, self.ranks, self.prior):
            array.flags.writeable = False

    def __repr__(self) -> str:
        """Its sizes, in one line."""
        sizes = f"{counted(len(self), 'list')} of {self.mean_length:.1f} documents on average"
        return f"CandidateLists({sizes}, {counted(self.rankings, 'initial ranking')})"

    def __len__(self) -> int:
        """The number of lists."""
        return len(self.queries)

    @property
    def lengths(self) -> Int64[np.ndarray, " lists"]:
        """The number of candidates of each list."""
        return np.diff(self.offsets)

    @property
    def mean_length(self) -> float:
        """Candidates a list on average; 0 without lists."""
        return float(self.lengths.mean()) if len(self) else 0.0

    @property
    def rankings(self) -> int:
        """The number of initial rankings."""
        return self.ranks.shape[1]

    @classmethod
    def all_documents(cls, dataset: RankingDataset) -> "CandidateLists":
        """All documents of every query in file order, without initial rankings."""
        return cls.unranked(dataset.offsets, np.arange(dataset.documents, dtype=np.int64))

    @classmethod
    def unranked(cls, offsets: Bounds, rows: Rows) -> "CandidateLists":
        """One list for each query in turn, without initial rankings."""
        queries = np.arange(len(offsets) - 1, dtype=np.int64)
        ranks, prior = (np.zeros((len(rows), 0), dtype) for dtype in (np.int32, np.float32))
        return cls(offsets, queries, rows, ranks, prior)

    @classmethod
    def ranked_by(
        cls,
        dataset: RankingDataset,
        scores: Float32[np.ndarray, "docs rankings"],
        depth: int | None = None,
    ) -> "CandidateLists":
        """Lists cut from initial rankings: the top `depth` by the first, shown in its order.

        Ties are cut and shown by data set row; ranks count the documents kept, ties sharing one.
        """
        order = falling_order(dataset.offsets, scores[:, 0])
        lengths = np.diff(dataset.offsets)
        if depth is not None:
            order = order[ragged.places_of(dataset.offsets) < depth]
            lengths = np.minimum(lengths, depth)
        offsets = ragged.offsets_of(lengths)
        prior = scores[order]
        return cls(
            offsets=offsets,
            queries=np.arange(dataset.queries, dtype=np.int64),
            rows=order,
            ranks=_ranks_of(offsets, prior),
            prior=prior,
        )

    def shown_as(self, order: Rows) -> "CandidateLists":
        """The same candidates and prior ranks shown in another order.

        `order` has the old candidate index for each new one; candidates stay within their list.
        """
        return replace(
            self, rows=self.rows[order], ranks=self.ranks[order], prior=self.prior[order]
        )

    def reranked(self, prior: Prior) -> "CandidateLists":
        """The same candidates under other initial rankings, shown by the first of them.

        Ties are shown by data set row. What a perturbation of the initial ranking returns.
        """
        changed = replace(self, prior=prior, ranks=_ranks_of(self.offsets, prior))
        return changed.shown_as(falling_order(self.offsets, prior[:, 0], self.rows))

    def select(self, lists: Int64[np.ndarray, " chosen"]) -> "CandidateLists":
        """These lists, in the order given."""
        elements = ragged.elements_of(self.offsets, lists)
        return CandidateLists(
            offsets=ragged.offsets_of(self.lengths[lists]),
            queries=self.queries[lists],
            rows=self.rows[elements],
            ranks=self.ranks[elements],
            prior=self.prior[elements],
        )

    def subsets(self, members: Int64[np.ndarray, "subsets docs"]) -> "CandidateLists":
        """Lists of some candidates each; a document's ranks count its subset alone.

        `members` has the candidate indexes of each subset, all of one list.
        """
        elements = members.ravel()
        offsets = np.arange(len(members) + 1) * members.shape[1]
        lists = np.searchsorted(self.offsets, members[:, 0], side="right") - 1
        prior = self.prior[elements]
        return CandidateLists(
            offsets, self.queries[lists], self.rows[elements], _ranks_of(offsets, prior), prior
        )


@dataclass(frozen=True)
class JudgedLists:
    """Candidate lists together with the data set that holds their features and labels."""

    dataset: RankingDataset
    lists: CandidateLists


def _ranks_of(offsets: Bounds, prior: Prior) -> Ranks:
    ranks = np.empty(prior.shape, dtype=np.int32)
    for column in range(prior.shape[1]):
        ranks[:, column] = ragged.competition_ranks(offsets, prior[:, column])
    return ranks
