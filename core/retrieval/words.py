"""Retrieval by words: query likelihood, BM25, sequential dependence, relevance feedback.

Literature: Zhai & Lafferty, SIGIR 2001 (Dirichlet); Robertson & Zaragoza, 2009, in the form of
Lucene (BM25); Metzler & Croft, SIGIR 2005 (SDM); Abdul-Jaleel et al., TREC 2004 (RM3).
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from jaxtyping import Float32, Float64, Int32, Int64

from shuffleproof.core.retrieval.postings import Postings, WordIndex
from shuffleproof.core.retrieval.registry import IndexedCollection, RankedDocuments
from shuffleproof.core.retrieval.text import EncodedTexts

DEPTH = 1000
MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Multiples of the mean document length: the candidates for μ on the training queries."""

K1, B = 1.2, 0.75  # Parameters of BM25: saturation of term frequency, and penalty of long documents
TERMS, ORDERED, UNORDERED, WINDOW = 0.85, 0.10, 0.05, 8
"""Parameters of sequential dependence: weights of single terms, of ordered neighbours and of
neighbours within a window, and the number of words in that window."""

FEEDBACK_DOCUMENTS, FEEDBACK_TERMS, ORIGINAL = 10, 20, 0.5
"""Parameters of relevance feedback: number of feedback documents, number of new terms, and weight
of the original query."""


class _OverWords:
    """Base class of retrievers that search an index of words, and so read postings."""

    index: WordIndex  # of words

    @property
    def frequencies(self) -> Int32[np.ndarray, " terms"]:
        """Number of documents with each term."""
        return self.index.tokens.document_frequency

    @property
    def document_terms(self) -> Int64[np.ndarray, " documents"]:
        """Number of different terms of each document."""
        return self.index.document_terms

    def dimensions(self, query_texts: Sequence[str]) -> list[Int32[np.ndarray, " read"]]:
        """Terms of each query."""
        encoded = self.index.tokens.encode(query_texts)
        return [encoded.of(query) for query in range(len(encoded))]


class Bm25(_OverWords):
    """Σ idf(t) · tf / (tf + k1 (1 − b + b · length / mean length)), idf = ln(1 + (N − df + ½)/(df + ½))."""  # noqa: E501 (a formula)

    def __init__(self, indexed: IndexedCollection) -> None:
        """Compute the value of every posting."""
        index = indexed.words
        df = index.tokens.document_frequency.astype(np.float64)
        lengths = index.lengths
        # Lucene's form: 1 + … inside the logarithm keeps idf positive for very frequent terms
        idf = np.log1p((len(lengths) - df + 0.5) / (df + 0.5))
        of_length = 1 - B + B * lengths / max(float(lengths.mean()), 1e-12)
        tf = index.counts.astype(np.float64)
        # tf → ∞ gives 1: more repeats add less
        saturated = tf / (tf + K1 * of_length[index.documents])
        self.index = index
        self._postings = index.postings((idf[index.terms] * saturated).astype(np.float32))

    def search(self, query_texts: Sequence[str], k: int) -> RankedDocuments:
        """At most k documents for each query that have a word of it."""
        encoded = self.index.tokens.encode(query_texts).in_order
        ones = np.ones(len(encoded.tokens))
        return self._postings.search(encoded.tokens, encoded.offsets, ones, k)


class QueryLikelihood(_OverWords):
    """Σ ln((tf + μ p(t)) / (length + μ)), with p(t) the term's share of the collection.

    Words that the collection lacks are ignored.
    """

    def __init__(self, index: WordIndex, mu: float) -> None:
        """Compute the value of every posting: the gain over a document without the term."""
        self.index, self.mu = index, mu
        # ln((tf + μp)/(length + μ)) = ln(1 + tf/μp) + ln μp − ln(length + μ): only the first
        # part depends on term and document, so only matching documents have postings
        self._prior = mu * index.probability
        self.values: Float32[np.ndarray, " postings"] = np.log1p(
            index.counts / self._prior[index.terms]
        ).astype(np.float32)
        self.biases: Float64[np.ndarray, " documents"] = -np.log(index.lengths + mu)  # once a term

    def search(self, query_texts: Sequence[str], k: int) -> RankedDocuments:
        """At most k documents for each query that have a word of it."""
        return self.search_terms(self.index.tokens.encode(query_texts).in_order, k)

    def search_terms(self, queries: EncodedTexts, k: int) -> RankedDocuments:
        """Search by the terms of queries."""
        ones = np.ones(len(queries.tokens))
        return self.search_weighted(queries.tokens, queries.offsets, ones, k)

    def search_weighted(
        self, tokens: np.ndarray, bounds: np.ndarray, weights: Float64[np.ndarray, " total"], k: int
    ) -> RankedDocuments:
        """Search with weighted terms."""
        sums = np.zeros(len(bounds) - 1)
        constant = np.zeros(len(bounds) - 1)
        for query, (start, end) in enumerate(pairwise(bounds.tolist())):
            query_weights = weights[start:end]
            sums[query] = query_weights.sum()
            constant[query] = float(query_weights @ np.log(self._prior[tokens[start:end]]))
        postings = self.index.postings(self.values)
        ranked = postings.search(tokens, bounds, weights, k, self.biases, sums)
        # Σ ln μp is the same for all documents: adding it last gives the exact likelihood
        shift = np.repeat(constant, np.diff(ranked.offsets))
        return replace(ranked, scores=(ranked.scores + shift).astype(np.float32))


class SequentialDependence(_OverWords):
    """Query likelihood of terms, of ordered neighbours, and of neighbours within a window."""

    def __init__(self, indexed: IndexedCollection) -> None:
        """Store the likelihood of a collection's words."""
        self._words, self.index = likelihood(indexed), indexed.words

    def search(self, query_texts: Sequence[str], k: int) -> RankedDocuments:
        """At most k documents for each query that have a word of it."""
        encoded = self.index.tokens.encode(query_texts)
        return RankedDocuments.of_queries(
            [self._search_one(encoded.of(query), k) for query in range(len(encoded))]
        )

    def dimensions(self, query_texts: Sequence[str]) -> list[Int32[np.ndarray, " read"]]:
        """Terms of each query, and those of each neighbouring pair again for each window."""
        every = super().dimensions(query_texts)
        # Twice: for ordered and for unordered pairs
        return [np.concatenate([terms, *2 * [terms[:-1], terms[1:]]]) for terms in every]

    def _search_one(self, terms: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        index, mu = self.index, self._words.mu
        documents, values, weights, constant = [], [], [], 0.0
        for term in terms.tolist():
            span = slice(index.starts[term], index.starts[term + 1])
            documents.append(index.documents[span])
            values.append(self._words.values[span])
            weights.append(TERMS)
            constant += TERMS * float(np.log(mu * index.probability[term]))
        for left, right in pairwise(terms.tolist()):
            for width, ordered, weight in ((2, True, ORDERED), (WINDOW, False, UNORDERED)):
                matches, counts = index.pair(left, right, width, ordered=ordered)
                if len(matches):
                    # p of a pair is its share of all positions in the collection
                    prior = mu * counts.sum() / len(index.places)
                    documents.append(matches)
                    values.append(np.log1p(counts / prior).astype(np.float32))
                    weights.append(weight)
                    constant += weight * float(np.log(prior))
        if not documents:
            return np.zeros(0, np.int32), np.zeros(0, np.float32)
        bounds = np.cumsum([0, *map(len, documents)])
        ranked = Postings(
            bounds, np.concatenate(documents), np.concatenate(values), len(index.lengths)
        ).search(
            np.arange(len(documents), dtype=np.int32), np.array([0, len(documents)]),
            np.array(weights), k, self._words.biases, np.array([np.sum(weights)]),
        )  # fmt: skip
        return ranked.documents, (ranked.scores + constant).astype(np.float32)


class RelevanceFeedback(_OverWords):
    """RM3: the query mixed with the terms of its top documents under query likelihood."""

    def __init__(self, indexed: IndexedCollection) -> None:
        """Store the likelihood of a collection's words."""
        self._words, self.index = likelihood(indexed), indexed.words

    def search(self, query_texts: Sequence[str], k: int) -> RankedDocuments:
        """At most k documents for each query that have a word of it or of its new terms."""
        weights = self._mixed(query_texts)
        tokens = np.array([term for query_weights in weights for term in query_weights], np.int32)
        bounds = np.cumsum([0, *map(len, weights)]).astype(np.int64)
        every = np.array(
            [weight for query_weights in weights for weight in query_weights.values()], np.float64
        )
        return self._words.search_weighted(tokens, bounds, every, k)

    def dimensions(self, query_texts: Sequence[str]) -> list[Int32[np.ndarray, " read"]]:
        """Terms of each query's first search, and those of the expanded query."""
        query_terms, weights = super().dimensions(query_texts), self._mixed(query_texts)
        return [
            np.append(terms, np.array(list(query_weights), np.int32))
            for terms, query_weights in zip(query_terms, weights, strict=True)
        ]

    def _mixed(self, query_texts: Sequence[str]) -> list[dict[int, float]]:
        """Weights of the terms of each expanded query."""
        ranked = self._words.search(query_texts, FEEDBACK_DOCUMENTS)
        encoded = self.index.tokens.encode(query_texts).in_order
        return [
            self._expanded(encoded.of(query), *ranked.of(query)) for query in range(len(encoded))
        ]

    def _expanded(
        self, terms: np.ndarray, documents: np.ndarray, scores: np.ndarray
    ) -> dict[int, float]:
        """Weights of the terms of a query and of its feedback documents."""
        share = ORIGINAL if len(documents) else 1.0  # nothing found: the query alone
        weight: dict[int, float] = {}
        for term in terms.tolist():
            weight[term] = weight.get(term, 0.0) + share / len(terms)
        if not len(documents):
            return weight
        # p(query | document) up to a factor; subtracting the maximum avoids underflow
        likely = np.exp(scores - scores.max(), dtype=np.float64)
        likely /= likely.sum()
        encoded = self.index.tokens.documents
        new: dict[int, float] = {}
        for document, probability in zip(documents.tolist(), likely.tolist(), strict=True):
            document_terms, counts = np.unique(encoded.of(document), return_counts=True)
            for term, count in zip(document_terms.tolist(), counts.tolist(), strict=True):
                new[term] = new.get(term, 0.0) + probability * count / counts.sum()
        # Rounding makes ties deterministic, which are then broken by term
        chosen = sorted(new, key=lambda term: (-round(new[term], 9), term))[:FEEDBACK_TERMS]
        total = sum(new[term] for term in chosen)
        for term in chosen:
            # RM3: α · p(t | query) + (1 − α) · p(t | feedback), with the second renormalised
            weight[term] = weight.get(term, 0.0) + (1 - share) * new[term] / total
        return weight


def likelihood(indexed: IndexedCollection) -> QueryLikelihood:
    """Query likelihood, with μ fitted to the training queries in multiples of the mean length.

    Without training queries, μ is the mean document length.
    """
    index = indexed.words
    mean = max(float(index.lengths.mean()), 1.0)
    if not indexed.training:
        return QueryLikelihood(index, mean)
    texts = [indexed.collection.queries[query] for query in indexed.training]

    def precision(multiple: float) -> float:
        """Sum of the training queries' average precision."""
        ranked = QueryLikelihood(index, multiple * mean).search(texts, DEPTH)
        total = 0.0
        for at, query in enumerate(indexed.training or ()):
            grades = indexed.collection.judgments(query)
            documents, _ = ranked.of(at)
            ranks = [
                rank
                for rank, document in enumerate(documents.tolist(), 1)
                if grades.get(document, 0) > 0
            ]
            precisions = sum(hits / rank for hits, rank in enumerate(ranks, 1))
            total += precisions / max(indexed.collection.relevant(query), 1)
        return total

    return QueryLikelihood(index, mean * max(MULTIPLES, key=precision))
