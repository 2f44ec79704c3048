"""Sparsity checks of a learnt index, calibrated on the collection's inverted index of words.

A share of zeros means little: an index is dense if its queries read every document through
dimensions that all documents have. The index of words is the reference: at its own cost, no check
fails on a collection. Literature: Zamani et al., CIKM 2018 (SNRM), who do not publish the smallest
document frequencies of their collections; the bounds are ours.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shuffleproof.core.retrieval.registry import (
    IndexedCollection,
    InvertedRetriever,
    retriever_entry,
)
from shuffleproof.core.words import percent

POSTINGS, FREQUENCY, MATCHED, EMPTY = 2.0, 0.5, 0.9, 0.01
"""Bounds of a sparse index: postings per query over the number of documents, share of documents
with the most frequent dimension, share of matched documents, and share of empty texts. If the index
of words has a higher value, that value is the bound."""


@dataclass(frozen=True)
class Gates:
    """Costs of an index, for the sparsity checks."""

    postings_per_query_over_n: float  # mean postings read per query, over the number of documents
    largest_document_frequency: float  # share of documents with the most frequent dimension
    matched_share: float  # mean share of documents that match a query
    empty_share: float  # share of documents or queries without any dimension, the larger one
    nonzeros_document: float  # mean dimensions of a document
    nonzeros_query: float  # mean dimensions of a query

    @classmethod
    def of(
        cls, retriever: InvertedRetriever, query_texts: Sequence[str], documents: int
    ) -> "Gates":
        """Gates of a retriever's index, of that number of documents, under these queries."""
        searched: Any = retriever
        frequencies, terms = searched.frequencies, searched.document_terms
        read, size = searched.dimensions(query_texts), max(1, documents)
        # All documents, so that every match counts
        ranked = searched.search(query_texts, size)
        # Distinct dimensions: a repeated word is one nonzero of the query
        counts = np.array([len(np.unique(dimensions)) for dimensions in read])
        return cls(
            _mean(np.array([frequencies[one].sum(dtype=np.int64) for one in read])) / size,
            float(frequencies.max(initial=0)) / size,
            _mean(np.diff(ranked.offsets)) / size,
            # empty vectors cost nothing and find nothing
            max(_mean(terms == 0), _mean(counts == 0)),
            _mean(terms),
            _mean(counts),
        )

    @classmethod
    def of_words(cls, indexed: IndexedCollection, query_texts: Sequence[str]) -> "Gates":
        """Gates of the collection's inverted index of words, the reference."""
        words: Any = retriever_entry("bm25").build(indexed)
        return cls.of(words, query_texts, len(indexed.collection))

    def failures(self, words: "Gates | None" = None) -> tuple[str, ...]:
        """Failed checks, as phrases; the gates of the index of words, if known, may raise bounds.

        >>> gates = Gates(3.0, 0.6, 0.5, 0.0, 10.0, 4.0)
        >>> gates.failures()
        ('a query reads 3.0 postings a document', 'a dimension is in 60 % of the documents')
        >>> gates.failures(Gates(1.0, 0.7, 0.5, 0.0, 20.0, 3.0))
        ('a query reads 3.0 postings a document',)
        """
        largest, empty = percent(self.largest_document_frequency), percent(self.empty_share, 1)
        # A learnt index is sparse enough if it costs no more than the index of words
        reference = words or Gates(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        verdicts = {
            f"a query reads {self.postings_per_query_over_n:.1f} postings a document": (
                self.postings_per_query_over_n > max(POSTINGS, reference.postings_per_query_over_n)
            ),
            f"a dimension is in {largest} of the documents": (
                self.largest_document_frequency
                > max(FREQUENCY, reference.largest_document_frequency)
            ),
            f"a query matches {percent(self.matched_share)} of the documents": (
                self.matched_share > max(MATCHED, reference.matched_share)
            ),
            f"{empty} of the texts are empty, which lowers the other means": (
                self.empty_share >= EMPTY and self.empty_share > reference.empty_share
            ),
        }
        return tuple(words for words, fails in verdicts.items() if fails)


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else 0.0
