"""Inverted index of words: documents, frequencies and positions of each term."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float32, Float64, Int32, Int64

from shuffleproof.core.data.ragged import offsets_of, segment_ids
from shuffleproof.core.retrieval.postings import Postings
from shuffleproof.core.retrieval.text import TokenisedCollection


@dataclass(frozen=True, eq=False)
class WordIndex:
    """Documents, frequencies and positions of each term.

    Attributes:
        tokens: the collection as terms.
        starts: postings of term t are `starts[t] … starts[t + 1] − 1`.
        documents: of each posting, rising within a term.
        counts: number of occurrences of the term in that document.
        places: position of every occurrence among all tokens, by term, then by position.
        first: index of the first occurrence of each posting, followed by their total number.
    """

    tokens: TokenisedCollection
    starts: Int64[np.ndarray, " bounds"]
    documents: Int32[np.ndarray, " postings"]
    counts: Int32[np.ndarray, " postings"]
    places: Int64[np.ndarray, " total"]
    first: Int64[np.ndarray, " postings_and_one"]

    @classmethod
    def of(cls, tokens: TokenisedCollection) -> "WordIndex":
        """Index of a collection's terms."""
        encoded = tokens.documents
        # A stable sort by term keeps positions, and so documents, in rising order per term
        places = np.argsort(encoded.tokens, kind="stable").astype(np.int64)
        terms = encoded.tokens[places]
        owners = segment_ids(encoded.offsets)[places].astype(np.int32)
        new = np.ones(len(places), dtype=bool)
        new[1:] = (terms[1:] != terms[:-1]) | (owners[1:] != owners[:-1])  # a posting begins
        first = np.append(np.flatnonzero(new), len(places)).astype(np.int64)
        starts = offsets_of(tokens.document_frequency.astype(np.int64))
        counts = np.diff(first).astype(np.int32)
        return cls(tokens, starts, owners[first[:-1]], counts, places, first)

    @cached_property
    def lengths(self) -> Int64[np.ndarray, " documents"]:
        """Number of terms of each document."""
        return self.tokens.documents.lengths

    @cached_property
    def document_terms(self) -> Int64[np.ndarray, " documents"]:
        """Number of different terms of each document."""
        return np.bincount(self.documents, minlength=len(self.lengths)).astype(np.int64)

    @cached_property
    def terms(self) -> Int64[np.ndarray, " postings"]:
        """Term of each posting."""
        return segment_ids(self.starts)

    @cached_property
    def probability(self) -> Float64[np.ndarray, " terms"]:
        """Probability of each term in the collection: its share of all occurrences."""
        return self.tokens.collection_frequency / max(1, len(self.places))

    def postings(self, values: Float32[np.ndarray, " postings"]) -> Postings:
        """Postings to search, with these contributions."""
        return Postings(self.starts, self.documents, values, len(self.lengths))

    def pair(
        self, term: int, other: int, width: int, *, ordered: bool
    ) -> tuple[Int32[np.ndarray, " shared"], Int32[np.ndarray, " shared"]]:
        """(documents, counts) of two terms near each other.

        Args:
            term: a term.
            other: the term after it, or near it.
            width: number of words in a window that contains both.
            ordered: True if `other` must follow `term`.
        """
        (places, owners), (others, owners_of_others) = map(self._occurrences, (term, other))
        near = np.zeros(len(places), dtype=bool)
        sides = [np.searchsorted(others, places, side="right")]  # the next occurrence
        sides += [] if ordered else [np.searchsorted(others, places) - 1]
        for side in sides:
            there = (side >= 0) & (side < len(others))
            at = side[there]
            same = owners_of_others[at] == owners[there]
            near[there] |= same & (np.abs(others[at] - places[there]) < width)  # both in one window
        documents, counts = np.unique(owners[near], return_counts=True)
        return documents, counts.astype(np.int32)

    def _occurrences(
        self, term: int
    ) -> tuple[Int64[np.ndarray, " occurrences"], Int32[np.ndarray, " occurrences"]]:
        """(place, document) of every occurrence of a term, in order."""
        low, high = int(self.starts[term]), int(self.starts[term + 1])
        owners = np.repeat(self.documents[low:high], self.counts[low:high])
        return self.places[self.first[low] : self.first[high]], owners
