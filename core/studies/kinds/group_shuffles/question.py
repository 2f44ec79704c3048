"""Question of the study of GSF's shuffles."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from shuffleproof.core.parameters import parameter
from shuffleproof.core.studies.question import Question


@dataclass(frozen=True)
class GroupShuffles(Question):
    """Effect of the input order on a GSF, by its number of shuffles."""

    kind = "group-shuffles"
    title = "How much does the input order change a groupwise ranker, and do more shuffles help?"
    source = "GSF (Ai et al., ICTIR 2019): groups sampled by shuffles; expected error ∝ 1/√S"
    summary = "GSF's order dependence by its shuffles"
    doing = "Vary the shuffles of"
    sample: ClassVar[Mapping[str, Any]] = {"orders": 4, "queries": 50}
    printing = "table(result)"

    rankers: tuple[str, ...] = parameter(
        ("gsf",), "GSFs with groups of two or more documents", names="rankers"
    )
    shuffles: tuple[int, ...] = parameter(
        (1, 2, 4, 8, 16, 32, 64), "numbers of shuffles (S)", low=1, high=4096, label="Shuffles S"
    )
    orders: int = parameter(8, "random input orders per list", low=1, label="Input orders")
    queries: int | None = parameter(None, "number of test queries (default: all)", low=1)
    seed: int = parameter(0, "seed of the orders")
