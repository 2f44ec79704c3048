"""Question of the study of certified top documents."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from shuffleproof.core.errors import UsageError
from shuffleproof.core.parameters import parameter
from shuffleproof.core.studies.question import NAMED_RANKERS, Facts, Question, Scope


@dataclass(frozen=True)
class CertifiedTopK(Question):
    """Documents of the top k that stay in the top K whatever documents are added to the list."""

    kind = "certified-top-k"
    title = "Can added documents push a document out of the top?"
    source = "certificate of subset-M rankers, next to an attack; docs/certificates.md"
    summary = "documents that stay in the top K whatever is added to the list"
    doing = "Certify the top documents of"
    sample: ClassVar[Mapping[str, Any]] = {
        "alone": ("lambdamart",), "tries": 8, "queries": 50
    }  # fmt: skip
    printing = "table(result)"

    rankers: tuple[str, ...] = parameter(
        ("subset-3:setrank-imsab",), NAMED_RANKERS, names="rankers"
    )
    alone: tuple[str, ...] = parameter(
        ("lambdamart", "mlp"),
        "rankers of single documents, to compare with",
        names="rankers",
        label="Rankers of single documents",
    )
    inject: tuple[int, ...] = parameter(
        (1, 3), "numbers of added documents", low=1, high=10, label="Added documents"
    )
    k: int = parameter(5, "documents at the top that must stay", low=1)
    K: int = parameter(10, "ranks in which they must stay", low=1)
    rounds: int = parameter(
        4000, "drawn sets of a document, for certificates of sets of more than 3", low=2, high=10**5
    )
    tries: int = parameter(16, "documents that the attack tries in each step", low=2)
    queries: int | None = parameter(None, "number of test queries (default: all)", low=1)
    seed: int = parameter(0, "seed of the attack")
    boxes: int = parameter(
        100,
        "most splits of a feature box in the search over trees; 0: no feature boxes",
        low=0,
        high=10**5,
        label="Splits of a box",
    )

    @classmethod
    def of(cls, recipe: Facts, facts: Facts) -> Question:
        """Question of a stored study."""
        return super().of({**recipe, "rankers": [[label, ""] for label in recipe["asked"]]}, facts)

    def refuse(self, _scope: Scope) -> None:
        """Refuse a top K that is shorter than the top k."""
        if self.k > self.K:
            raise UsageError(f"k is {self.k}, K is {self.K}: choose K of at least k")
