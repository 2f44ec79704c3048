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
    answers: ClassVar[Mapping[str, str]] = {
        "summary": "a row a retriever and measure: mean over queries and seeds, 95 % bootstrap "
        "interval (low, high), queries (n)",
        "terms": "dimensions of documents and of queries: retriever, of, mean, sd, least, low, "
        "median, high, most",
        "gates": "a row a retriever with an inverted index, empty for others: what it reads and "
        "matches, whether it fails a sparsity check; learnt ones also before pruning",
        "frequencies": "a row a retriever with an inverted index and rank: the share of documents "
        "that its dimension or word of that rank has, the commonest first",
        "costs": "a row a retriever: milliseconds a query, share of documents matched, share of "
        "queries that find nothing",
        "comparisons": "a row a measure and pair of retrievers: difference, Holm's p, effect, n",
    }
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
