"""What the study of attention is asked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from shuffleproof.core.parameters import parameter
from shuffleproof.core.studies.question import Question


@dataclass(frozen=True)
class Attention(Question):
    """Which documents does every head of a ranker look at?"""

    kind: ClassVar[str] = "attention"
    doing: ClassVar[str] = "Measure the attention of"
    title: ClassVar[str] = (
        "Which documents does a ranker look at, and does the order shown change that?"
    )
    source: ClassVar[str] = (
        "SetRank (SIGIR 2020), Equations 3 to 7; attention rollout, Abnar & Zuidema (ACL 2020)"
    )
    summary: ClassVar[str] = "what every head looks at, over all test queries"
    sample: ClassVar[Mapping[str, Any]] = {
        "rankers": ("setrank-msab", "setrank-msab-init", "setrank-imsab-init", "dlcm"),
        "queries": 150,
    }
    answers: ClassVar[Mapping[str, str]] = {
        "table": "a row a head",
        "findings": "a sentence a ranker",
        "rows": "with --query, instead of these: a ranker's heads, changes and map each",
    }
    printing: ClassVar[str] = "finding(result, {rankers[0]!r})"

    rankers: tuple[str, ...] = parameter(
        help="SetRanks and DLCMs, comma-separated, each with @preset", names="rankers"
    )
    queries: int | None = parameter(None, "only the first so many test queries", low=1)
    dead_below: int | float = parameter(
        0.1,
        "an induced point is dead below so many times its fair share",
        low=0,
        high=1,
    )
