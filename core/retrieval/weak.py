"""Weak supervision: queries from a collection's own texts, labelled by query likelihood.

Literature: Dehghani et al., SIGIR 2017; Zamani et al., CIKM 2018, section 3.5. A training triple
has a document of the labeller's list, one of the collection, and the sign of the difference of
their likelihoods. The papers take queries from a log. A collection has none, so queries are spans,
titles and weighted bags of words of its documents. Its own queries and judgments are never read.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Int32, Int64
from scipy.sparse import csc_array, csr_array

from shuffleproof.core.errors import DataError, ParameterError
from shuffleproof.core.parameters import CheckedParameters, parameter
from shuffleproof.core.retrieval.lsi import leading_vectors
from shuffleproof.core.retrieval.registry import IndexedCollection, RankedDocuments
from shuffleproof.core.retrieval.text import EncodedTexts, TokenisedCollection
from shuffleproof.core.retrieval.words import QueryLikelihood, likelihood
from shuffleproof.core.seeds import generator


@dataclass(frozen=True)
class WeakRecipe(CheckedParameters):
    """Options of weak queries and of their documents."""

    queries: int = parameter(20_000, "weak queries", low=1)
    spans: float = parameter(0.5, "share of them: runs of words of a text", low=0.0, high=1.0)
    titles: float = parameter(
        0.2, "share: titles; the rest are bags of a document's words drawn by tf · idf",
        low=0.0, high=1.0,
    )  # fmt: skip
    shortest: int = parameter(2, "fewest words of a query", low=1, high=1000)
    longest: int = parameter(10, "most words of a query", low=1, high=1000)
    depth: int = parameter(100, "documents of the labeller's list of a query", low=1)
    negatives: str = parameter(
        "collection",
        "where a triple's second document is from: the whole collection, or the list too",
        choices=("collection", "list"),
    )

    def __post_init__(self) -> None:
        """Check the bounds, and that shares and lengths do not contradict each other."""
        super().__post_init__()
        if self.spans + self.titles > 1:
            raise ParameterError("titles", self.titles, "with `spans` at most 1 together")
        if self.longest < self.shortest:
            raise ParameterError("longest", self.longest, f"at least shortest ({self.shortest})")


class Labeller:
    """Query likelihood of any query and any document, matching or not, as one table."""

    def __init__(self, words: QueryLikelihood) -> None:
        """Store the contribution of each term to each document."""
        index = words.index
        shape = (len(index.lengths), len(index.starts) - 1)
        self._words = words
        self._added = csc_array((words.values, index.documents, index.starts), shape=shape).tocsr()
        self._prior = np.log(words.mu * index.probability)
        self.documents = shape[0]

    def search(self, queries: EncodedTexts, k: int) -> RankedDocuments:
        """Ranked documents of the labeller for each query."""
        return self._words.search_terms(queries, k)

    def scores(
        self, queries: EncodedTexts, documents: Int32[np.ndarray, " documents"]
    ) -> Float32[np.ndarray, "queries documents"]:
        """Logarithm of p(query | document) for every query and every document."""
        shape = (len(queries), self._added.shape[1])
        ones = np.ones(len(queries.tokens))
        counts = csr_array((ones, queries.tokens.copy(), queries.offsets.copy()), shape=shape)
        # ln((tf + μp)/(length + μ)) = ln(1 + tf/μp) + ln(μp) − ln(length + μ), summed over terms
        constant = counts @ self._prior
        bias = np.outer(queries.lengths, self._words.biases[documents])  # − n ln(length + μ)
        added = (counts @ self._added[documents].T).toarray()
        return (added + bias + constant[:, None]).astype(np.float32)


@dataclass(frozen=True, eq=False)
class WeakSupervision:
    """Weak queries of a collection, their ranked documents, and the labeller's scores."""

    recipe: WeakRecipe  # options of the queries
    seed: int  # of all draws
    queries: EncodedTexts  # terms of the queries
    lists: RankedDocuments  # the labeller's ranked documents of each query; never empty
    labeller: Labeller  # scores any query and any document

    def __len__(self) -> int:
        """Number of weak queries."""
        return len(self.queries)

    def triples(
        self, step: int, batch: int
    ) -> tuple[
        Int64[np.ndarray, " batch"], Int32[np.ndarray, " batch"], Int32[np.ndarray, " batch"]
    ]:
        """Queries of a step, a document of each list, and another one; drawn by (seed, step)."""
        draw = generator(self.seed, "weak", "triples", step)
        queries = draw.integers(0, len(self), batch)
        first_documents = self._listed(queries, draw)
        if self.recipe.negatives == "list":
            return queries, first_documents, self._listed(queries, draw)
        others = draw.integers(0, self.labeller.documents, batch)
        return queries, first_documents, others.astype(np.int32)

    def _listed(
        self, queries: Int64[np.ndarray, " batch"], draw: np.random.Generator
    ) -> Int32[np.ndarray, " batch"]:
        """Random document of the list of each query."""
        lengths = np.diff(self.lists.offsets)[queries]
        return self.lists.documents[self.lists.offsets[queries] + draw.integers(0, lengths)]


def weak_supervision(
    indexed: IndexedCollection, recipe: WeakRecipe | None = None, seed: int = 0
) -> WeakSupervision:
    """Weak queries of a collection and their labeller.

    Raises:
        DataError: no document is as long as the shortest query.
    """
    recipe = recipe or WeakRecipe()
    queries = _drawn(indexed, recipe, generator(seed, "weak", "queries"))
    labeller = Labeller(likelihood(indexed))
    return WeakSupervision(recipe, seed, queries, labeller.search(queries, recipe.depth), labeller)


def _drawn(
    indexed: IndexedCollection, recipe: WeakRecipe, draw: np.random.Generator
) -> EncodedTexts:
    """Weak queries, each from one document that is long enough."""
    tokens, collection = indexed.tokens, indexed.collection
    long = np.flatnonzero(tokens.documents.lengths >= recipe.shortest)
    if not len(long):
        raise DataError(
            collection.name, f"no document has {recipe.shortest} known words",
            "Weak queries are made of documents: ingest texts, or lower `shortest`.",
        )  # fmt: skip
    sources = long[draw.integers(0, len(long), recipe.queries)]
    kinds = draw.random(recipe.queries)
    titles = tokens.encode(collection.titles)
    idf = np.log1p(len(tokens.documents) / np.maximum(tokens.document_frequency, 1))
    queries = []
    for source, kind in zip(sources.tolist(), kinds.tolist(), strict=True):
        length = int(draw.integers(recipe.shortest, recipe.longest + 1))
        terms = tokens.documents.of(source)
        title = titles.of(source)[: recipe.longest]
        if kind >= recipe.spans + recipe.titles:
            queries.append(_bag(terms, idf, length, draw))
        elif kind >= recipe.spans and len(title) >= recipe.shortest:
            queries.append(title)
        else:
            start = int(draw.integers(0, max(1, len(terms) - length + 1)))
            queries.append(terms[start : start + length])
    return EncodedTexts.of_tokens(queries)


def _bag(
    words: Int32[np.ndarray, " words"],
    idf: np.ndarray,
    length: int,
    draw: np.random.Generator,
) -> Int32[np.ndarray, " chosen"]:
    """Different words of a document, drawn by tf · idf."""
    terms, counts = np.unique(words, return_counts=True)
    weights = counts * idf[terms]  # tf · idf
    keys = draw.exponential(size=len(terms)) / weights  # the smallest: drawn without replacement
    return terms[np.argsort(keys, kind="stable")[:length]]


def ppmi_embeddings(
    tokens: TokenisedCollection, width: int, reach: int = 10
) -> Float32[np.ndarray, "terms width"]:
    """Embeddings of the collection's terms: singular vectors of positive mutual information.

    The table is the positive pointwise mutual information of terms at most `reach` words apart in a
    document. Vectors are weighted by the root of the singular values; rows have length 1. Source:
    Levy & Goldberg, NIPS 2014.

    Args:
        tokens: the collection as terms.
        width: of an embedding; dimensions beyond the rank of a small vocabulary are zero.
        reach: maximum distance of two terms that count as neighbours.
    """
    terms, encoded = len(tokens.terms), tokens.documents
    owners = np.repeat(np.arange(len(encoded)), encoded.lengths)
    counts = csr_array((terms, terms), dtype=np.float64)
    for away in range(1, reach + 1):
        near = owners[away:] == owners[:-away]
        left, right = encoded.tokens[:-away][near], encoded.tokens[away:][near]
        # Near terms count more: the weight falls linearly with the distance
        weight = np.full(len(left), 1 - (away - 1) / reach)
        counts = counts + csr_array((weight, (left, right)), shape=(terms, terms))
    both = (counts + counts.T).tocoo()  # neighbours on either side
    left, right = both.coords
    sums: np.ndarray = np.bincount(left, both.data, minlength=terms)
    # PMI = ln p(a, b) / (p(a) p(b)), with probabilities from weighted counts
    information = np.log(both.data * sums.sum() / (sums[left] * sums[right]))
    positive = information > 0  # PPMI: what is rarer together than by chance counts as 0
    table = csr_array(
        (information[positive], (left[positive], right[positive])), shape=(terms, terms)
    )
    embeddings = np.zeros((terms, width), np.float32)
    rank = min(width, terms - 1)
    if rank >= 1 and table.nnz:
        vectors, values, _ = leading_vectors(table, rank)
        order = np.argsort(-values, kind="stable")
        # The sign of a singular vector is arbitrary; a fixed one makes runs reproducible
        signs = np.where(vectors.sum(axis=0) < 0, -1.0, 1.0)
        embeddings[:, :rank] = (vectors * signs * np.sqrt(values))[:, order]  # U √Σ
    norms = np.linalg.norm(embeddings, axis=1, keepdims=True)
    return (embeddings / np.where(norms > 0, norms, 1)).astype(np.float32)
