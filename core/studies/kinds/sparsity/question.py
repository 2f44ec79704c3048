"""What the study of sparsity is asked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from shuffleproof.core.errors import UnknownNameError, UsageError
from shuffleproof.core.parameters import parameter
from shuffleproof.core.studies.listless.question import CollectionQuestion
from shuffleproof.core.studies.question import Scope

PENALTIES = ("l1", "flops", "df-flops")
"""Of `core.retrieval.snrm.SNRMTraining`, which asking needs without torch."""

PRESETS = ("tuned", "small", "paper", "released")


@dataclass(frozen=True)
class Sparsity(CollectionQuestion):
    """What makes a learnt index sparse, and what does that cost in effectiveness?"""

    kind = "sparsity"
    page = "retrieval"
    title = "What makes a learnt index sparse, and what does that cost?"
    source = "SNRM (Zamani et al., CIKM 2018), figure of sparsity: L1 weight"
    summary = "SNRM of a text collection: penalties and pruning against sparsity"
    doing = "Train sparser networks"
    printing = "points(result)"
    sample: ClassVar[Mapping[str, Any]] = {
        "preset": "small", "strengths": (1e-3, 1e-1), "keep": (10, 40), "seeds": 1,
    }  # fmt: skip

    preset: str = parameter("tuned", "of snrm: everything but the penalty", choices=PRESETS)
    penalties: tuple[str, ...] = parameter(PENALTIES, "comma-separated: l1, flops, df-flops")
    strengths: tuple[float, ...] = parameter(
        (1e-3, 1e-2, 1e-1, 1.0), "weights λ of each penalty, the same for queries and documents",
        low=0.0,
    )  # fmt: skip
    keep: tuple[int, ...] = parameter(
        (20, 60, 200), "dimensions that pruning keeps of a document (of a query a third), after "
        "training without a penalty", low=1,
    )  # fmt: skip
    seeds: int = parameter(4, "of what is learnt", low=1, high=100)
    queries: int | None = parameter(None, "only the first so many judged queries", low=2)
    measures: tuple[str, ...] = parameter(
        ("NDCG@20",), "comma-separated; of 1000 documents", names="measures"
    )

    def check(self, scope: Scope, *, from_outside: bool = False) -> None:
        """Refuse also a penalty that there is not, and one without a weight."""
        super().check(scope, from_outside=from_outside)
        for penalty in self.penalties:
            if penalty not in PENALTIES:
                raise UnknownNameError("penalty", penalty, PENALTIES)
        if self.penalties and not self.strengths:
            raise UsageError("--strengths is empty: name at least one weight of the penalties")
