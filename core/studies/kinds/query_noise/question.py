"""What the study of noisy queries is asked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from shuffleproof.core.errors import UnknownNameError, UsageError
from shuffleproof.core.parameters import parameter
from shuffleproof.core.studies.listless.question import RETRIEVER_NAMES, CollectionQuestion
from shuffleproof.core.studies.question import Scope

KINDS = ("typos", "drop", "repeat", "shuffle")
"""Names of `core.retrieval.query_noise.KINDS`, which asking needs without NumPy."""


@dataclass(frozen=True)
class QueryNoise(CollectionQuestion):
    """What do typing errors, words left out, repeated or shuffled cost a retriever?"""

    kind = "query-noise"
    page = "retrieval"
    title = "What do typing errors and lost, repeated or shuffled words cost?"
    source = "Retrievers under noisy queries, each paired with itself"
    summary = "retrievers of a text collection under noisy queries"
    doing = "Disturb queries"
    tested = True
    printing = "changes(result)"
    sample: ClassVar[Mapping[str, Any]] = {
        "retrievers": ("bm25", "lsi", "snrm@small"), "levels": (0.2, 0.5), "seeds": 2,
    }  # fmt: skip

    retrievers: tuple[str, ...] = parameter(
        ("ql", "bm25", "lsi", "sdm"), RETRIEVER_NAMES, names="retrievers"
    )
    noise: tuple[str, ...] = parameter(
        KINDS, "comma-separated: typos, drop, repeat, shuffle (words)"
    )
    levels: tuple[float, ...] = parameter(
        (0.1, 0.2, 0.4), "shares of a query's words that are changed, from 0 to 1", low=0.0,
        high=1.0,
    )  # fmt: skip
    seeds: int = parameter(
        4, "draws of the noise, splits of the queries, and seeds of what is learnt", low=1, high=100
    )
    queries: int | None = parameter(None, "only the first so many judged queries", low=2)
    measures: tuple[str, ...] = parameter(
        ("NDCG@20",), "comma-separated; of 1000 documents", names="measures"
    )

    def check(self, scope: Scope, *, from_outside: bool = False) -> None:
        """Refuse also a kind of noise that there is not, and no noise or level at all."""
        super().check(scope, from_outside=from_outside)
        for name in ("noise", "levels"):
            if not getattr(self, name):
                raise UsageError(f"--{name} is empty: name at least one")
        for kind in self.noise:
            if kind not in KINDS:
                raise UnknownNameError("noise", kind, KINDS)
