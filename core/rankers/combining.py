"""Options of ranker combinations, as the name of a combination states them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

from shuffleproof.core.parameters import CheckedParameters, parameter

AGGREGATES: Mapping[str, str] = {
    "mean": "the mean of the scores",
    "borda": "the mean number of documents beaten",
    "kemeny": "the order that disagrees least with the answers, by local search",
}
"""How several answers become one, and what the score then is."""

ORDERS = (
    "goa", "gain", "sop", "quicksort", "multi-quicksort", "fuzzy-merge", "borda", "copeland",
    "kemeny", "mc4", "bradley-terry", "rrf", "scc-greedy", "heap-top-k",
    "sliding-window",
)  # fmt: skip
"""Names of `core.aggregate.registry.AGGREGATORS`, which names of rankers hold without NumPy."""


@dataclass(frozen=True)
class Fusion(CheckedParameters):
    """Fusion of the ranks of several rankers into one score."""

    kind: ClassVar[str] = "fusion"

    method: str = parameter(
        "rrf",
        "reciprocal rank fusion, Σ 1/(k + rank), or the mean of the ranks",
        choices=("rrf", "mean-rank"),
    )
    k: int = parameter(60, "k of reciprocal rank fusion (Cormack et al., SIGIR 2009)", low=0)

    @property
    def prefix(self) -> str:
        """Beginning of its name."""
        # The default is not written, so that one fusion has one name
        return f"rrf-{self.k}" if self.method == "rrf" and self.k != Fusion.k else self.method

    def at(self, seed: int) -> "Fusion":
        """The same at any seed: a fusion draws nothing itself."""
        del seed
        return self


@dataclass(frozen=True)
class ShuffleOptions(CheckedParameters):
    """Number of shuffles of a ranker's input, and the aggregation of their scores."""

    kind: ClassVar[str] = "shuffled"

    shuffles: int = parameter(16, "orders in which every list is shown", low=1, high=10_000)
    aggregate: str = parameter("mean", "how the answers are made one", choices=tuple(AGGREGATES))
    seed: int = parameter(0, "seed of the shuffles", low=0)

    @property
    def prefix(self) -> str:
        """Beginning of its name."""
        way = "" if self.aggregate == ShuffleOptions.aggregate else f"-{self.aggregate}"
        times = "" if self.shuffles == ShuffleOptions.shuffles else f"-{self.shuffles}"
        return f"shuffled{way}{times}"

    def at(self, seed: int) -> "ShuffleOptions":
        """The same with its shuffles drawn from this seed."""
        return replace(self, seed=seed)


@dataclass(frozen=True)
class Pairwise(CheckedParameters):
    """Aggregator that turns pairwise preferences of a list into an order."""

    kind: ClassVar[str] = "pairwise"

    aggregator: str = parameter(
        "goa", "what makes an order of preferences that may contradict each other", choices=ORDERS
    )
    seed: int = parameter(0, "seed of pivots and of what else is drawn", low=0)

    @property
    def prefix(self) -> str:
        """Beginning of its name."""
        return f"{self.kind}-{self.aggregator}" + (f"-{self.seed}" if self.seed else "")

    def at(self, seed: int) -> "Pairwise":
        """The same with its pivots drawn from this seed."""
        return replace(self, seed=seed)


@dataclass(frozen=True)
class SubsetOptions(CheckedParameters):
    """Size of the sets of documents that a ranker sees, and the number of drawn ones."""

    kind: ClassVar[str] = "subset"

    size: int = parameter(3, "documents of a set (M)", low=2, high=10)
    rounds: int = parameter(
        400, "drawn sets that count for a document, for sets of more than 3", low=2, high=100_000
    )
    temperature: float = parameter(
        0.05, "T of the softmax in a set; the lower, the more the best document gets", low=1e-3
    )
    seed: int = parameter(0, "seed of the drawn sets", low=0)

    @property
    def prefix(self) -> str:
        """Beginning of its name."""
        return f"{self.kind}-{self.size}"

    @property
    def is_exact(self) -> bool:
        """True if all sets are scored."""
        return self.size <= 3

    def at(self, seed: int) -> "SubsetOptions":
        """The same with its sets drawn from this seed."""
        return replace(self, seed=seed)


Combining: TypeAlias = Fusion | ShuffleOptions | Pairwise | SubsetOptions
"""How rankers are made one."""

KINDS: Mapping[str, type[Combining]] = {
    kind.kind: kind for kind in (Fusion, ShuffleOptions, Pairwise, SubsetOptions)
}
BEGINNINGS = ("rrf", "mean-rank", ShuffleOptions.kind, Pairwise.kind, SubsetOptions.kind)
"""What names of rankers made of rankers begin with."""
