"""What the study of retrievers is asked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from shuffleproof.core.parameters import parameter
from shuffleproof.core.studies.listless.question import RETRIEVER_NAMES, CollectionQuestion


@dataclass(frozen=True)
class Retrieval(CollectionQuestion):
    """Which retriever finds what answers a query, and what does it read for that?"""

    kind = "retrieval"
    title = "Which retriever finds what answers a query, and what does it read?"
    source = "SNRM (Zamani et al., CIKM 2018), table of effectiveness: two-fold cross-validation"
    summary = "retrievers of a text collection: effectiveness, sparsity, cost"
    doing = "Compare retrievers"
    tested = True
    sample: ClassVar[Mapping[str, Any]] = {
        "retrievers": ("ql", "bm25", "lsi", "snrm@small"), "seeds": 2,
    }  # fmt: skip

    retrievers: tuple[str, ...] = parameter(
        ("ql", "bm25", "lsi", "sdm", "rm3"), RETRIEVER_NAMES,
        names="retrievers",
    )  # fmt: skip
    seeds: int = parameter(
        4, "splits of the queries into two folds, and seeds of what is learnt", low=1, high=100
    )
    queries: int | None = parameter(None, "only the first so many judged queries", low=2)
    measures: tuple[str, ...] = parameter(
        ("AP", "P@20", "NDCG@20", "R@1000"), "comma-separated; of 1000 documents", names="measures"
    )
