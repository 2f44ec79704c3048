"""Questions of studies of retrievers: unchanged, or with one thing varied (`--vary`)."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from shuffleproof.core.errors import ParameterError, UsageError
from shuffleproof.core.parameters import parameter
from shuffleproof.core.progress import Progress
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.listless.question import ListlessQuestion
from shuffleproof.core.studies.question import Scope

RETRIEVERS = "retrievers"
"""Kind of the names in a field of retrievers."""

RETRIEVER_NAMES = (
    "retrievers, comma-separated; also fusions by reciprocal ranks "
    "(rrf:bm25+snrm) or by scores (interpolated-70:bm25+lsi: 70 percent BM25)"
)

NOISE = ("typos", "drop", "repeat", "shuffle")
"""Names of `core.retrieval.query_noise.KINDS`, repeated here to avoid loading NumPy."""

PENALTIES = ("l1", "flops", "df-flops")
"""Penalties of `core.retrieval.snrm.SNRMTraining`, repeated here to avoid loading torch."""

PRESETS = ("tuned", "small", "paper", "released")


@dataclass(frozen=True)
class CollectionQuestion(ListlessQuestion):
    """Question of a text collection."""

    of_what = "a text collection has"
    stored_as = ("collection",)
    needed = (RETRIEVERS, "measures")
    page = "retrieval"

    vary: ClassVar[str] = ""
    """Name in `study retrieval --vary`, and of the module with its plan and sections."""

    @classmethod
    def command_words(cls) -> tuple[str, ...]:
        """`retrieval`, and the varied part."""
        return (cls.page, "--vary", cls.vary) if cls.vary else (cls.page,)

    @classmethod
    def place(cls, name: str) -> str:
        """Full name of that module."""
        return super().place(cls.vary or name)

    def study(self, scope: Scope) -> Generator[Progress, None, Artefact]:
        """Open the collection, compute the cells of the plan; returns the stored result."""
        from shuffleproof.core.retrieval.ingest import find  # noqa: PLC0415 (only who works pays for it)
        from shuffleproof.core.retrieval.registry import IndexedCollection  # noqa: PLC0415 (likewise)
        from shuffleproof.core.studies.listless.collection_study import run  # noqa: PLC0415 (likewise)

        indexed = IndexedCollection(find(scope.pinned or scope.data, scope.store), scope.store)
        return (yield from run(self, indexed, scope.data))

    def refuse(self, _scope: Scope, /) -> None:
        """Refuse unknown retrievers and measures.

        Raises:
            UnknownNameError: an unknown name.
        """
        from shuffleproof.core.metrics.measure import Measure  # noqa: PLC0415 (only who asks pays for it)
        from shuffleproof.core.retrieval.registry import retriever_entry  # noqa: PLC0415 (likewise)

        for name in self.names_of(RETRIEVERS):
            retriever_entry(name)
        for text in self.names_of("measures"):
            Measure.parse(text)


@dataclass(frozen=True)
class RetrieverQuestion(CollectionQuestion):
    """Question of several retrievers."""

    retrievers: tuple[str, ...] = parameter(
        ("ql", "bm25", "lsi", "sdm", "rm3"), RETRIEVER_NAMES, names=RETRIEVERS
    )
    seeds: int = parameter(4, "seeds of draws, splits and trainings", low=1, high=100)
    queries: int | None = parameter(None, "number of judged queries (default: all)", low=2)
    measures: tuple[str, ...] = parameter(
        ("NDCG@20",), "list of measures; of 1000 documents", names="measures"
    )


@dataclass(frozen=True)
class Retrieval(RetrieverQuestion):
    """Effectiveness of retrievers, and the postings that they read."""

    kind = "retrieval"
    title = "Which retriever is most effective, and what does it cost?"
    source = "SNRM (Zamani et al., CIKM 2018), table of effectiveness: two-fold cross-validation"
    summary = "retrievers of a text collection: effectiveness, sparsity, cost"
    doing = "Compare retrievers"
    tested = True
    sample: ClassVar[Mapping[str, Any]] = {
        "retrievers": ("ql", "bm25", "lsi", "snrm@small"), "seeds": 2,
    }  # fmt: skip

    measures: tuple[str, ...] = parameter(
        ("AP", "P@20", "NDCG@20", "R@1000"),
        "list of measures; of 1000 documents",
        names="measures",
    )


@dataclass(frozen=True)
class Growth(RetrieverQuestion):
    """Recall of documents that were added after a retriever's training."""

    kind = "growth"
    vary = "documents"
    title = "Are documents that were added after training found?"
    source = "Documents withheld from training and vocabulary, added to the index"
    summary = "retrievers of a text collection with later documents"
    doing = "Add documents"
    tested = True
    printing = "changes(result)"
    sample: ClassVar[Mapping[str, Any]] = {
        "retrievers": ("bm25", "lsi", "snrm@small"), "withheld": (0.0, 0.1, 0.3), "seeds": 2,
        "depth": 20,
    }  # fmt: skip

    retrievers: tuple[str, ...] = parameter(
        ("bm25", "ql", "lsi"), RETRIEVER_NAMES, names=RETRIEVERS
    )
    withheld: tuple[float, ...] = parameter(
        (0.0, 0.01, 0.05, 0.1, 0.3), "shares of documents added after training, below 1",
        low=0.0, high=0.99,
    )  # fmt: skip
    depth: int = parameter(100, "cutoff of recall", low=1, high=1000)

    def refuse(self, scope: Scope, /) -> None:
        """Refuse also invalid shares, and rerankers."""
        super().refuse(scope)
        from shuffleproof.core.retrieval.growth import refuse_rerankers  # noqa: PLC0415 (only who asks pays for it)
        from shuffleproof.core.retrieval.registry import retriever_entry  # noqa: PLC0415 (likewise)

        if not any(self.withheld):
            raise UsageError("--withheld has none above 0: name at least one")
        if len(set(self.withheld)) < len(self.withheld):
            raise ParameterError("withheld", self.withheld, "each share once")
        for name in self.retrievers:
            refuse_rerankers(retriever_entry(name))


@dataclass(frozen=True)
class QueryNoise(RetrieverQuestion):
    """Losses of retrievers by typing errors, and by omitted, repeated or shuffled words."""

    kind = "query-noise"
    vary = "queries"
    title = "What do typing errors and dropped, repeated or shuffled words cost?"
    source = "Retrievers under noisy queries, each paired with itself"
    summary = "retrievers of a text collection under noisy queries"
    doing = "Perturb queries"
    tested = True
    printing = "changes(result)"
    sample: ClassVar[Mapping[str, Any]] = {
        "retrievers": ("bm25", "lsi", "snrm@small"), "levels": (0.2, 0.5), "seeds": 2,
    }  # fmt: skip

    retrievers: tuple[str, ...] = parameter(
        ("ql", "bm25", "lsi", "sdm"), RETRIEVER_NAMES, names=RETRIEVERS
    )
    noise: tuple[str, ...] = parameter(
        NOISE, "kinds of noise: typos, drop, repeat, shuffle (words)", choices=NOISE
    )
    levels: tuple[float, ...] = parameter(
        (0.1, 0.2, 0.4), "shares of a query's words that are changed, from 0 to 1", low=0.0,
        high=1.0,
    )  # fmt: skip

    def refuse(self, scope: Scope, /) -> None:
        """Refuse also empty noise or levels."""
        super().refuse(scope)
        for name in ("noise", "levels"):
            if not getattr(self, name):
                raise UsageError(f"--{name} is empty: name at least one")


@dataclass(frozen=True)
class Sparsity(CollectionQuestion):
    """Sparsity of learnt indexes, and its cost in effectiveness."""

    kind = "sparsity"
    vary = "sparsity"
    title = "What makes a learnt index sparse, and what does that cost?"
    source = "SNRM (Zamani et al., CIKM 2018), figure of sparsity: L1 weight"
    summary = "SNRM of a text collection: penalties and pruning against sparsity"
    doing = "Train sparser networks"
    printing = "points(result)"
    sample: ClassVar[Mapping[str, Any]] = {
        "preset": "small", "strengths": (1e-3, 1e-1), "keep": (10, 40), "seeds": 1,
    }  # fmt: skip

    preset: str = parameter(
        "tuned", "preset of snrm, for everything but the penalty", choices=PRESETS
    )
    penalties: tuple[str, ...] = parameter(
        PENALTIES, "penalties: l1, flops, df-flops", choices=PENALTIES
    )
    strengths: tuple[float, ...] = parameter(
        (1e-3, 1e-2, 1e-1, 1.0), "weights λ of each penalty, the same for queries and documents",
        low=0.0,
    )  # fmt: skip
    keep: tuple[int, ...] = parameter(
        (20, 60, 200), "dimensions after pruning, per document (a third per query), for "
        "training without a penalty", low=1,
    )  # fmt: skip
    seeds: int = parameter(4, "seeds of draws, splits and trainings", low=1, high=100)
    queries: int | None = parameter(None, "number of judged queries (default: all)", low=2)
    measures: tuple[str, ...] = parameter(
        ("NDCG@20",), "list of measures; of 1000 documents", names="measures"
    )

    def refuse(self, scope: Scope, /) -> None:
        """Refuse also penalties without a weight."""
        super().refuse(scope)
        if self.penalties and not self.strengths:
            raise UsageError("--strengths is empty: name at least one weight of the penalties")
