"""What the study of growing collections is asked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from shuffleproof.core.errors import ParameterError, UsageError
from shuffleproof.core.parameters import parameter
from shuffleproof.core.studies.listless.question import RETRIEVER_NAMES, CollectionQuestion
from shuffleproof.core.studies.question import Scope


@dataclass(frozen=True)
class Growth(CollectionQuestion):
    """Are documents found that came after a retriever had learnt?"""

    kind = "growth"
    page = "retrieval"
    title = "Are documents found that came after training?"
    source = "Documents withheld from training and vocabulary, added to the index"
    summary = "retrievers of a text collection that grows after training"
    doing = "Let the collection grow"
    tested = True
    printing = "changes(result)"
    sample: ClassVar[Mapping[str, Any]] = {
        "retrievers": ("bm25", "lsi", "snrm@small"), "withheld": (0.0, 0.1, 0.3), "seeds": 2,
        "depth": 20,
    }  # fmt: skip

    retrievers: tuple[str, ...] = parameter(
        ("bm25", "ql", "lsi"), RETRIEVER_NAMES, names="retrievers"
    )
    withheld: tuple[float, ...] = parameter(
        (0.0, 0.01, 0.05, 0.1, 0.3), "shares of the documents that come after training, below 1",
        low=0.0, high=0.99,
    )  # fmt: skip
    depth: int = parameter(100, "recall is told of so many documents", low=1, high=1000)
    seeds: int = parameter(4, "draws of the documents, and of what is learnt", low=1, high=100)
    queries: int | None = parameter(None, "only the first so many judged queries", low=2)
    measures: tuple[str, ...] = parameter(
        ("NDCG@20",), "comma-separated; of 1000 documents", names="measures"
    )

    def check(self, scope: Scope, *, from_outside: bool = False) -> None:
        """Refuse also shares that are none, and what only reorders."""
        super().check(scope, from_outside=from_outside)
        from shuffleproof.core.retrieval.growth import refuse_rerankers  # noqa: PLC0415 (only who asks pays for it)
        from shuffleproof.core.retrieval.registry import retriever_entry  # noqa: PLC0415 (likewise)

        if not any(self.withheld):
            raise UsageError("--withheld has none above 0: name at least one")
        if len(set(self.withheld)) < len(self.withheld):
            raise ParameterError("withheld", self.withheld, "each share once")
        for name in self.retrievers:
            refuse_rerankers(retriever_entry(name))
