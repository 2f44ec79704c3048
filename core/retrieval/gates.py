"""Is a learnt index sparse at all? Gates that are told before any effectiveness.

A share of zeros says little: an index whose queries read every document, through dimensions that
every document has, is a dense one whatever the share. Literature: Zamani et al., CIKM 2018 (SNRM),
whose collections' smallest document frequencies are not published; the bounds are ours.
"""

from dataclasses import dataclass

import numpy as np

from shuffleproof.core.retrieval.index import SparseIndex
from shuffleproof.core.retrieval.sparse import SparseVectors
from shuffleproof.core.words import percent

POSTINGS, FREQUENCY, MATCHED, EMPTY = 2.0, 0.5, 0.9, 0.01
"""What a sparse index keeps to: the most postings a query over the number of documents, the most
documents of a dimension, the most documents matched, and less than this share of empty texts."""


@dataclass(frozen=True)
class Gates:
    """What an index costs, and whether it is sparse.

    Attributes:
        postings_per_query_over_n: postings that a query reads, mean, over the number of documents.
        largest_document_frequency: the share of documents that the commonest dimension has.
        matched_share: the share of documents that a query finds, mean.
        empty_share: of documents or of queries without any dimension, whichever is larger.
        nonzeros_document: dimensions of a document, mean.
        nonzeros_query: dimensions of a query, mean.
    """

    postings_per_query_over_n: float
    largest_document_frequency: float
    matched_share: float
    empty_share: float
    nonzeros_document: float
    nonzeros_query: float

    @classmethod
    def of(cls, index: SparseIndex, queries: SparseVectors) -> "Gates":
        """The gates of an index under these queries.

        >>> rows = np.eye(4, dtype=np.float32)
        >>> gates = Gates.of(SparseIndex.of(SparseVectors.of(rows)), SparseVectors.of(rows[:2]))
        >>> gates.matched_share, gates.dense_in_disguise, gates.failures
        (0.25, False, ())
        """
        size = max(1, len(index.vectors))
        ranked = index.search(queries, size)
        empty = [_mean(vectors.nonzeros == 0) for vectors in (index.vectors, queries)]
        return cls(
            _mean(index.postings_read(queries)) / size,
            float(index.document_frequency.max(initial=0)) / size,
            _mean(np.diff(ranked.offsets)) / size,
            max(empty),
            _mean(index.vectors.nonzeros),
            _mean(queries.nonzeros),
        )

    @property
    def failures(self) -> tuple[str, ...]:
        """The gates that it does not pass, in words."""
        largest, empty = percent(self.largest_document_frequency), percent(self.empty_share, 1)
        verdicts = {
            f"a query reads {self.postings_per_query_over_n:.1f} postings a document": (
                self.postings_per_query_over_n > POSTINGS
            ),
            f"a dimension is in {largest} of the documents": (
                self.largest_document_frequency > FREQUENCY
            ),
            f"a query matches {percent(self.matched_share)} of the documents": (
                self.matched_share > MATCHED
            ),
            f"{empty} of the texts are empty, which lowers the other means": (
                self.empty_share >= EMPTY
            ),
        }
        return tuple(words for words, fails in verdicts.items() if fails)

    @property
    def dense_in_disguise(self) -> bool:
        """Whether it fails a gate."""
        return bool(self.failures)


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else 0.0
