"""Sparsity checks of a learnt index, calibrated on the collection's inverted index of words.

A share of zeros says little: an index whose queries read every document, through dimensions that
every document has, is a dense one whatever the share. An index of words is the reference: what it
costs on a collection fails no check there. Literature: Zamani et al., CIKM 2018 (SNRM), whose
collections' smallest document frequencies are not published; the bounds are ours.
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
"""Bounds of a sparse index: postings a query over the number of documents, share of documents with
the commonest dimension, share of documents matched, and share of empty texts. Where the index of
words costs more, its cost is the bound."""


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
    def of(
        cls, retriever: InvertedRetriever, query_texts: Sequence[str], documents: int
    ) -> "Gates":
        """The gates of a retriever's index under these queries.

        Args:
            retriever: of all documents.
            query_texts: the queries.
            documents: how many documents there are.
        """
        searched: Any = retriever
        frequencies, terms = searched.frequencies, searched.document_terms
        read, size = searched.dimensions(query_texts), max(1, documents)
        ranked = searched.search(query_texts, size)
        counts = np.array([len(np.unique(dimensions)) for dimensions in read])
        return cls(
            _mean(np.array([frequencies[one].sum(dtype=np.int64) for one in read])) / size,
            float(frequencies.max(initial=0)) / size,
            _mean(np.diff(ranked.offsets)) / size,
            max(_mean(terms == 0), _mean(counts == 0)),
            _mean(terms),
            _mean(counts),
        )

    @classmethod
    def of_words(cls, indexed: IndexedCollection, query_texts: Sequence[str]) -> "Gates":
        """The same of the collection's inverted index of words, the reference."""
        words: Any = retriever_entry("bm25").build(indexed)
        return cls.of(words, query_texts, len(indexed.collection))

    def failures(self, words: "Gates | None" = None) -> tuple[str, ...]:
        """The failed checks, in words.

        Args:
            words: the same of the collection's index of words; None: not known.

        >>> gates = Gates(3.0, 0.6, 0.5, 0.0, 10.0, 4.0)
        >>> gates.failures()
        ('a query reads 3.0 postings a document', 'a dimension is in 60 % of the documents')
        >>> gates.failures(Gates(1.0, 0.7, 0.5, 0.0, 20.0, 3.0))
        ('a query reads 3.0 postings a document',)
        """
        largest, empty = percent(self.largest_document_frequency), percent(self.empty_share, 1)
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
