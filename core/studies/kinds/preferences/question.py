"""Question of the study of preferences."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from shuffleproof.core.errors import ParameterError
from shuffleproof.core.parameters import parameter
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.listless.question import ListlessQuestion
from shuffleproof.core.studies.question import Scope


@dataclass(frozen=True)
class PreferenceAggregation(ListlessQuestion):
    """Quality of aggregated orders if preferences are cyclic, noisy or few."""

    of_what: ClassVar[str] = "preferences have"
    stored_as: ClassVar[tuple[str, ...]] = ("preferences", "data")
    needed: ClassVar[tuple[str, ...]] = ("aggregators",)
    kind: ClassVar[str] = "preferences"
    title: ClassVar[str] = "Which aggregator is robust to contradictions, noise and few calls?"
    source: ClassVar[str] = (
        "Cohen, Schapire & Singer (JAIR 1999): the greedy order; Ailon & Mohri (Machine Learning "
        "2010): QuickSort; their bounds"
    )
    summary: ClassVar[str] = "aggregators of preferences under noise, cycles and call budgets"
    doing: ClassVar[str] = "Aggregate preferences"
    sample: ClassVar[Mapping[str, Any]] = {
        "aggregators": ("goa", "sop", "quicksort", "multi-quicksort", "borda", "kemeny"),
        "draws": 4,
    }  # fmt: skip

    aggregators: tuple[str, ...] = parameter(
        (
            "goa", "gain", "sop", "quicksort", "multi-quicksort", "fuzzy-merge", "borda",
            "copeland", "kemeny",
        ),
        "aggregators, comma-separated", names="aggregators",
    )  # fmt: skip
    disturbances: tuple[str, ...] = parameter(
        ("noise", "missing", "cycles", "adversarial", "direction", "order", "calls", "runs"),
        "kinds: noise, missing, cycles, adversarial, direction, order, calls, runs",
        names="disturbances",
    )
    levels: tuple[float, ...] = parameter(
        (), "severity levels, comma-separated; by default those of each kind", low=0.0
    )
    function: str = parameter(
        "pair-trees@small", "preference function for a ranking data set, or a ranker",
    )  # fmt: skip
    draws: int = parameter(2, "random draws per level", low=1, high=1000)
    seed: int = parameter(0, "seed of the draws")
    queries: int | None = parameter(None, "number of queries (default: all)", low=1)
    sizes: tuple[int, ...] = parameter(
        (100, 300, 1000), "items of generated tournaments, for calls and seconds",
        low=2, high=5000,
    )  # fmt: skip

    @property
    def ranker(self) -> RankerName:
        """The parsed name of its function."""
        return RankerName.parse(self.function)

    def study(self, scope: Scope) -> Generator[Progress, None, Artefact]:
        """Open the preferences, or train the preference function; returns the stored result."""
        from shuffleproof.core.studies.kinds.preferences import study  # noqa: PLC0415 (only who works pays for it)

        material = yield from study.open_preferences(self, scope)
        return (yield from study.run(material, self, scope.store))

    def refuse(self, scope: Scope) -> None:
        """Refuse unknown names, and invalid levels.

        Raises:
            UnknownNameError: an unknown aggregator, disturbance or ranker.
            ParameterError: a level that its disturbance does not accept.
        """
        from shuffleproof.core.aggregate import disturbances, registry  # noqa: PLC0415 (loads Numba)
        from shuffleproof.core.studies import names  # noqa: PLC0415 (loads NumPy)

        for name in self.names_of("aggregators"):
            registry.aggregator_named(name)
        for name in self.names_of("disturbances"):
            disturbances.disturbance(name)
            for level in self.levels:
                takes_counts = name == "runs"
                if not (level >= 1 and level == int(level) if takes_counts else 0 <= level <= 1):
                    allowed = "whole numbers from 1 on" if takes_counts else "shares from 0 to 1"
                    raise ParameterError("levels", level, f"{allowed}, as {name} takes them")
        names.check(names.Names((self.function,)), "small", scope.store)
