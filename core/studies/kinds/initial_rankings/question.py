"""Question of the study of several initial rankings."""

from collections.abc import Generator
from dataclasses import dataclass

from shuffleproof.core.experiment.ranker_sets import named_rankers, seeds_of
from shuffleproof.core.parameters import parameter
from shuffleproof.core.progress import Progress
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.question import NAMED_RANKERS, Facts, Question, Scope


@dataclass(frozen=True)
class InitialRankings(Question):
    """Gain by several initial rankings, and loss if one is missing or wrong."""

    kind = "initial-rankings"
    doing = "Vary the initial rankings of"
    title = "What do several initial rankings add, and what if one is missing or wrong?"
    source = "SetRank (SIGIR 2020), Table 4"
    summary = "Table 4: none, one or many of them"
    tested = True
    initial = ("lambdamart", "mart", "ranksvm", "rankboost")
    printing = "table(result, {measures[0]!r})"

    rankers: tuple[str, ...] = parameter(
        ("setrank-imsab", "setrank-imsab-init", "setrank-imsab-multi-init"),
        NAMED_RANKERS,
        names="rankers",
    )
    swaps: tuple[str, ...] = parameter(
        ("oracle", "anti-oracle", "random"), "replacement initial rankings", names="swaps"
    )
    seeds: int = parameter(1, "seeds of each ranker", low=1)
    measures: tuple[str, ...] = parameter(("NDCG@10",), "list of measures", names="measures")

    @classmethod
    def of(cls, recipe: Facts, facts: Facts) -> "InitialRankings":
        """Question of a stored study."""
        rows = recipe["rows"]
        swaps = tuple(recipe["initial"][len(facts["lists"]["initial"]) :])
        measures = tuple(recipe["measures"])
        return cls(tuple(named_rankers(rows)), swaps, seeds_of(rows), measures)

    def study(self, scope: Scope) -> Generator[Progress, None, Artefact]:
        """Open the lists with all initial rankings; train, exchange and measure."""
        workbench = yield from scope.open_workbench(scope.recipe(self.initial))
        return (yield from self.run(workbench))
