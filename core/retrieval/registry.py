"""Registry of retrievers: names, descriptions, and builders."""

import importlib
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float32, Float64, Int32, Int64

from shuffleproof.core.errors import UnknownNameError, UsageError
from shuffleproof.core.progress import Progress
from shuffleproof.core.retrieval import text
from shuffleproof.core.retrieval.collection import Collection
from shuffleproof.core.retrieval.name import FusedName, parse_fusion, parse_name
from shuffleproof.core.retrieval.text import TokenisedCollection
from shuffleproof.core.store.artefacts import Store

if TYPE_CHECKING:
    from shuffleproof.core.retrieval.postings import WordIndex
    from shuffleproof.core.retrieval.weak_training import Learner

DEPTH = 1000  # Minimum number of documents per retriever in a fusion


@dataclass(frozen=True, eq=False)
class RankedDocuments:
    """Ranked documents of several queries, best first."""

    documents: Int32[np.ndarray, " ranked"]  # their indices in the collection; ties by index
    scores: Float32[np.ndarray, " ranked"]  # higher is better
    # documents of query q are `offsets[q] … offsets[q + 1] − 1`; empty without matches
    offsets: Int64[np.ndarray, " bounds"]

    @classmethod
    def of_queries(cls, rankings: Sequence[tuple[np.ndarray, np.ndarray]]) -> "RankedDocuments":
        """Concatenate (documents, scores) of each query."""
        offsets = np.cumsum([0, *(len(documents) for documents, _ in rankings)]).astype(np.int64)
        documents = np.concatenate(
            [np.zeros(0, np.int32), *(documents for documents, _ in rankings)]
        )
        scores = np.concatenate([np.zeros(0, np.float32), *(scores for _, scores in rankings)])
        return cls(documents.astype(np.int32), scores.astype(np.float32), offsets)

    def of(self, query: int) -> tuple[Int32[np.ndarray, " ranked"], Float32[np.ndarray, " ranked"]]:
        """(documents, scores) of one query."""
        span = slice(self.offsets[query], self.offsets[query + 1])
        return self.documents[span], self.scores[span]


@runtime_checkable
class Retriever(Protocol):
    """Protocol: finds documents of one collection."""

    def search(self, query_texts: Sequence[str], k: int) -> RankedDocuments:
        """At most k documents for each query, only matching ones."""
        ...


@runtime_checkable
class InvertedRetriever(Protocol):
    """Retriever that reads the postings of a query's dimensions: words, or learnt ones."""

    @property
    def frequencies(self) -> Int32[np.ndarray, " dimensions"] | Int64[np.ndarray, " dimensions"]:
        """Number of documents in which each dimension is not zero."""
        ...

    @property
    def document_terms(self) -> Int64[np.ndarray, " documents"]:
        """Number of different dimensions of each document."""
        ...

    def dimensions(self, query_texts: Sequence[str]) -> Sequence[Int32[np.ndarray, " read"]]:
        """Dimensions whose postings each query reads; repeated if they are read twice."""
        ...


@dataclass(frozen=True, eq=False)
class IndexedCollection:
    """Collection, its terms, and the store of derived data."""

    collection: Collection  # documents, queries, judgments
    store: Store  # of indexes and trained networks
    # queries whose judgments may be used to fit a retriever; None: none. They never
    # include the queries that measure it
    training: tuple[int, ...] | None = None
    seed: int = 0  # of a retriever's training

    def __getstate__(self) -> dict[str, Any]:
        """State to pickle: without the terms, which are opened from the store when needed."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def tokens(self) -> TokenisedCollection:
        """Terms of the collection."""
        return text.stored_tokens(self.collection, self.store)

    @cached_property
    def words(self) -> "WordIndex":
        """Inverted index of the terms."""
        from shuffleproof.core.retrieval.postings import WordIndex  # noqa: PLC0415 (names a cycle)

        return WordIndex.of(self.tokens)


@dataclass(frozen=True)
class RetrieverEntry:
    """Description of a retriever that is available without loading it."""

    name: str  # in commands
    label: str  # for display
    summary: str  # its method, in a sentence
    source: str  # its publication
    # `module:function` below `core.retrieval` that builds it from its training, or from
    # an `IndexedCollection` if it learns nothing; empty: the training is the retriever
    place: str
    sparse: bool = False  # True if it searches learnt dimensions, so that the sparsity checks apply
    reranks: bool = False  # True if it only reorders another retriever's documents
    learns: str = ""  # `module:value` of its `Learner`; empty: it learns nothing
    # of its training, as in `name@preset`; `name` alone means the first one
    presets: tuple[str, ...] = ()
    preset: str = ""  # the selected preset; empty: the first one
    fusion: FusedName | None = None  # options of a combination; None: a single retriever

    def build(self, indexed: IndexedCollection) -> Retriever:
        """Build the retriever of a collection."""
        if self.fusion:
            return FusedRetriever(self.fusion, [one.build(indexed) for one in self.members])
        if not self.learns:
            return self.made_of(indexed)
        return self.made_of(self.learner.at(indexed, self.trained_preset))

    def made_of(self, source: Any) -> Retriever:
        """Retriever built from its training, or else from an indexed collection."""
        retriever: Retriever = _resolve(self.place)(source) if self.place else source
        return retriever

    @property
    def trained_preset(self) -> str:
        """Selected preset, by default the first one."""
        return self.preset or self.presets[0]

    @property
    def learner(self) -> "Learner[Any, Any]":
        """Learner of its training.

        Raises:
            UsageError: it learns nothing.
        """
        if not self.learns:
            raise UsageError(f"{self.name} learns nothing: leave it out")
        learner: Learner[Any, Any] = _resolve(self.learns)
        return learner

    def learning(self, indexed: IndexedCollection) -> Generator[Progress]:
        """Train the members that learn, or load their trainings."""
        for one in self.members:
            if one.learns:
                yield from one.learner.learning(indexed, one.trained_preset)

    def network(self, indexed: IndexedCollection) -> str:
        """Digests of the members' trainings on a collection; empty if none learns anything."""
        learning = (one for one in self.members if one.learns)
        return "+".join(one.learner.network(indexed, one.trained_preset) for one in learning)

    @property
    def members(self) -> "tuple[RetrieverEntry, ...]":
        """Retrievers of a combination; otherwise the retriever itself."""
        return tuple(map(retriever_entry, self.fusion.parts)) if self.fusion else (self,)


def _resolve(place: str) -> Any:
    """Value of `module:name` below `core.retrieval`."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(f"shuffleproof.core.retrieval.{module}"), name)


class FusedRetriever:
    """Σ 1 / (k + rank), or a weighted mean of scores scaled to 0 … 1, over the retrievers.

    A document that a retriever does not find gets 0 from it. Literature: Cormack, Clarke &
    Büttcher, SIGIR 2009 (reciprocal rank fusion); Fox & Shaw, TREC 1994 (scaled sums).
    """

    def __init__(self, name: FusedName, parts: Sequence[Retriever]) -> None:
        """Store the retrievers."""
        self._name, self._parts = name, parts

    def search(self, query_texts: Sequence[str], k: int) -> RankedDocuments:
        """At most k documents for each query, found by any of the retrievers; ties by index."""
        rankings = [part.search(query_texts, max(k, DEPTH)) for part in self._parts]
        return RankedDocuments.of_queries(
            [
                self._fuse([ranking.of(query) for ranking in rankings], k)
                for query in range(len(query_texts))
            ]
        )

    def _fuse(
        self, rankings: Sequence[tuple[np.ndarray, np.ndarray]], k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        documents = np.unique(np.concatenate([documents for documents, _ in rankings]))
        total = np.zeros(len(documents))
        for part, (ranked, scores) in enumerate(rankings):
            # `documents` is sorted, so a binary search finds the place of each ranked document
            total[np.searchsorted(documents, ranked)] += self._values(part, scores)
        best = np.argsort(-total, kind="stable")[:k]
        return documents[best], total[best]

    def _values(self, part: int, scores: np.ndarray) -> Float64[np.ndarray, " ranked"]:
        """Contribution of one retriever to each document of its list, best first."""
        if self._name.method == "rrf":
            return 1.0 / (self._name.number + np.arange(1, len(scores) + 1))  # 1 / (k + rank)
        share = self._name.number / 100
        return _unit(scores) * (1 - share if part else share)  # the first retriever has the share


def _unit(scores: np.ndarray) -> Float64[np.ndarray, " ranked"]:
    """Scores scaled to 0 (the list's lowest) … 1 (its highest); all 1 if they are equal.

    >>> _unit(np.array([3.0, 2.0, 1.0])).tolist(), _unit(np.array([5.0])).tolist()
    ([1.0, 0.5, 0.0], [1.0])
    """
    low = float(scores.min(initial=np.inf))
    spread = float(scores.max(initial=-np.inf)) - low
    return (scores.astype(np.float64) - low) / spread if spread > 0 else np.ones(len(scores))


def _fused_entry(fusion: FusedName) -> RetrieverEntry:
    """Entry of a combination."""
    labels = ", ".join(retriever_entry(part).label for part in fusion.parts)
    rrf = fusion.method == "rrf"
    prefix = fusion.prefix.replace("rrf", "RRF").replace("interp", "Interp")
    return RetrieverEntry(
        str(fusion), f"{prefix}({labels})",
        "Sums of reciprocal ranks." if rrf else "A weighted mean of scores between 0 and 1.",
        "Cormack, Clarke & Büttcher, SIGIR 2009" if rrf else "Fox & Shaw, TREC 1994",
        "", fusion=fusion,
    )  # fmt: skip


SNRM_PRESETS = ("tuned", "small", "paper", "released")
RERANKER_PRESETS = ("tuned", "small", "paper")
_ENTRIES: tuple[RetrieverEntry, ...] = (
    RetrieverEntry(
        "ql", "Query likelihood",
        "How likely a document's words, smoothed by the collection's, are to make the query.",
        "Zhai & Lafferty, SIGIR 2001", "words:likelihood",
    ),
    RetrieverEntry(
        "bm25", "BM25", "Matching words, rare ones more, repeated ones and long documents less.",
        "Robertson & Zaragoza, 2009 (Lucene's form)", "words:Bm25",
    ),
    RetrieverEntry(
        "lsi", "LSI", "Cosines in the 200 leading singular vectors of the documents' words.",
        "Deerwester et al., JASIS 1990", "lsi:lsi",
    ),
    RetrieverEntry(
        "sdm", "SDM", "Query likelihood of words, of neighbours in order, and within a window.",
        "Metzler & Croft, SIGIR 2005", "words:SequentialDependence",
    ),
    RetrieverEntry(
        "rm3", "RM3", "Query likelihood with the words of the documents first found.",
        "Abdul-Jaleel et al., TREC 2004", "words:RelevanceFeedback",
    ),
    RetrieverEntry(
        "fnrm", "FNRM",
        "Reorders what query likelihood finds first, by weighted bags of embeddings "
        "(`train fnrm`).",
        "Dehghani et al., SIGIR 2017", "", reranks=True, learns="rerankers:FNRM",
        presets=RERANKER_PRESETS,
    ),
    RetrieverEntry(
        "cnrm", "CNRM",
        "Reorders what query likelihood finds first, by convolved n-grams (`train cnrm`).",
        "Zamani et al., CIKM 2018", "", reranks=True, learns="rerankers:CNRM",
        presets=RERANKER_PRESETS,
    ),
    RetrieverEntry(
        "snrm", "SNRM",
        "Sparse latent dimensions that a network learnt from query likelihood (`train snrm`).",
        "Zamani et al., CIKM 2018", "", sparse=True, learns="snrm:LEARNER",
        presets=SNRM_PRESETS,
    ),
    RetrieverEntry(
        "snrm-prf", "SNRM with feedback",
        "SNRM with the latent dimensions of the documents first found.",
        "Zamani et al., CIKM 2018", "snrm:LatentFeedback", sparse=True, learns="snrm:LEARNER",
        presets=SNRM_PRESETS,
    ),
)  # fmt: skip

RETRIEVERS: Mapping[str, RetrieverEntry] = {entry.name: entry for entry in _ENTRIES}


def retriever_entry(name: str) -> RetrieverEntry:
    """Entry of a name, optionally with a preset, or of a combination.

    >>> (retriever_entry("snrm@small").name, retriever_entry("snrm@small").preset,
    ...     retriever_entry("bm25").preset)
    ('snrm@small', 'small', '')
    >>> retriever_entry("rrf:bm25+snrm@small").label
    'RRF(BM25, SNRM small)'

    Raises:
        UnknownNameError: an unknown retriever or preset.
        UsageError: an invalid combination.
    """
    combination = parse_fusion(name)
    if combination is not None:
        return _fused_entry(combination)
    base, preset = parse_name(name)
    if base not in RETRIEVERS:
        raise UnknownNameError("retriever", base, RETRIEVERS)
    entry = RETRIEVERS[base]
    if not preset:
        return entry
    if preset not in entry.presets:
        raise UnknownNameError(f"preset of {base}", preset, entry.presets)
    label = f"{entry.label} {preset}"
    return replace(entry, name=f"{base}@{preset}", preset=preset, label=label)
