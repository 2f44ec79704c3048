"""Question of a benchmark."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from shuffleproof.core.experiment.ranker_sets import named_rankers, seeds_of
from shuffleproof.core.parameters import parameter
from shuffleproof.core.progress import Progress, in_turn
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.question import Facts, Question, Scope


@dataclass(frozen=True)
class Benchmark(Question):
    """Comparison of rankers on the same lists, over seeds and folds."""

    kind: ClassVar[str] = "benchmark"
    doing: ClassVar[str] = "Benchmark"
    title: ClassVar[str] = "Which ranker is best, by how much, and is the difference significant?"
    source: ClassVar[str] = "SetRank (SIGIR 2020), Table 2"
    summary: ClassVar[str] = "Table 2: every ranker over seeds and folds"
    tested: ClassVar[bool] = True
    over_folds: ClassVar[bool] = True
    sample: ClassVar[Mapping[str, Any]] = {
        "rankers": (
            *("feature:3", "ranksvm", "ranknet", "mart", "lambdamart"),
            *("dlcm", "setrank-msab", "setrank-msab-init"),
        ),
        "seeds": 2,
    }
    printing: ClassVar[str] = "markdown(result, {measures!r}, ['initial ranking'])"

    rankers: tuple[str, ...] = parameter(
        ("table2",),
        "rankers, comma-separated; sets: table2, pairwise, all. Combinations: rrf:dlcm+mart, "
        "shuffled:dlcm. Yours: module:function, scores#digits, or files (lightgbm:FILE; kinds: see "
        "`bring`)",
        names="rankers",
    )
    seeds: int = parameter(3, "seeds of each ranker", low=1)
    measures: tuple[str, ...] = parameter(
        ("NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10"), "list of measures", names="measures"
    )

    @classmethod
    def of(cls, recipe: Facts, facts: Facts) -> "Benchmark":
        """Question of a stored benchmark."""
        del facts
        measures = tuple(recipe["measures"])
        return cls(tuple(named_rankers(recipe["rows"])), seeds_of(recipe["rows"]), measures)

    def study(self, scope: Scope) -> Generator[Progress, None, Artefact]:
        """Open every fold; train and measure on each."""
        workbenches = yield from in_turn(fold.open_workbench() for fold in scope.folds())
        path, stored_names = Path(scope.data), scope.store.names()
        data_name = path.name if scope.data not in stored_names and path.is_dir() else scope.data
        return (yield from self.module("study").run(workbenches, self, data_name))
