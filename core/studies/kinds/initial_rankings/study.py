"""Table 4 of SetRank: no, one or many initial rankings, left out and exchanged at test time.

The lists have the initial rankings that the rankers are trained on, followed by their replacements
at test time. A condition (`initial_rankings.ranking_conditions`) states which of them a trained
network reads. All conditions are scored on the same candidates.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import UsageError
from shuffleproof.core.experiment.ranker_sets import expand
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate
from shuffleproof.core.progress import Progress, with_words
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import conventions
from shuffleproof.core.studies.cells import Cell, CellPlan, by_cells, missing_cells
from shuffleproof.core.studies.kinds.initial_rankings.question import InitialRankings
from shuffleproof.core.studies.kinds.initial_rankings.ranking_conditions import (
    TRAINED,
    conditions,
    extended_lists,
    scores_under,
)
from shuffleproof.core.studies.names import swaps_named
from shuffleproof.core.studies.resolved_rankers import resolve, train_row
from shuffleproof.core.studies.run import query_ids_of
from shuffleproof.core.studies.study import CellResult, Trial
from shuffleproof.core.studies.workbench import Workbench


@dataclass(frozen=True)
class Row:
    """Ranker under one condition.

    Attributes:
        label: `ranker` or `ranker@preset`; an initial ranking alone is `initial: mart`.
        ranker: its recipe, or the name of its initial ranking.
        condition: in words.
        columns: the lists' ranking to read for each of its own; None: absent.
        seeds: number of seeds that it is trained with.
    """

    label: str
    ranker: Mapping[str, Any]
    condition: str
    columns: tuple[int | None, ...]
    seeds: int


@dataclass(frozen=True)
class Plan(CellPlan):
    """Full description of the study.

    Attributes:
        rows: rankers under conditions.
        initial: the initial rankings of training, then those of test time.
        lists: digest of the candidate lists.
        measures: requested measures, as text.
        stored: measures stored for every query.
    """

    kind: str = field(default=InitialRankings.kind, init=False)
    rows: tuple[Row, ...]
    initial: tuple[str, ...]
    lists: str
    measures: tuple[str, ...]
    stored: tuple[str, ...]

    def cells(self) -> list[Cell]:
        """Cells in order of work: every ranker as trained, then the other conditions."""
        seeds = max((row.seeds for row in self.rows), default=0)
        return [
            Cell(Trial(row.label, row.condition, 0.0, seed), 0, self._digest(row, seed))
            for seed in range(seeds)
            for row in self.rows
            if seed < row.seeds
        ]

    def _digest(self, row: Row, seed: int) -> str:
        facts = {
            "kind": self.kind,
            "ranker": row.ranker,
            "columns": [None if column is None else self.initial[column] for column in row.columns],
            "seed": seed,
            "lists": self.lists,
            "measures": list(self.stored),
        }
        return key_of("trial", facts).digest


def plan_conditions(workbench: Workbench, question: InitialRankings) -> Plan:
    """Plan of the study: each initial ranking alone, then every ranker under every condition.

    Rankers that neither read nor follow an initial ranking have one condition. The replacements of
    the first initial ranking are those of `question.swaps`: artificial rankings, and rankers that
    could be initial ones (`ranksvm`, `feature:25`, `rrf:mart+ranksvm`).

    Raises:
        UsageError: a ranker that reads more initial rankings than the lists have, or a
            replacement that cannot be an initial ranking.
    """
    trained_on = workbench.recipe.initial
    swaps = swaps_named(question.swaps, workbench.preset)
    all_rankings = (*trained_on, *(swap for swap in swaps if swap not in trained_on))
    rows = [
        Row(f"initial: {name}", {"initial": name}, TRAINED, (index,), 1)
        for index, name in enumerate(all_rankings)
    ]
    changed: list[Row] = []
    for name in expand(question.rankers).values():
        ranker = resolve(name, workbench)
        if ranker.rankings > len(trained_on):
            raise UsageError(
                f"{name} reads {ranker.rankings} initial rankings, the lists carry "
                f"{len(trained_on)}: name more with --initial"
            )
        seeds = question.seeds if ranker.stochastic else 1
        ranker_rows = [
            Row(ranker.label, ranker.recipe, condition, columns, seeds)
            for condition, columns in conditions(
                ranker.rankings, all_rankings, fed=ranker.reads_order
            )
        ]
        rows, changed = [*rows, ranker_rows[0]], [*changed, *ranker_rows[1:]]
    texts = tuple(str(Measure.parse(text)) for text in question.measures)
    return Plan(
        (*rows, *changed),
        all_rankings,
        workbench.lists_digest,
        texts,
        conventions.stored_measures(texts),
    )


def run(workbench: Workbench, question: InitialRankings) -> Generator[Progress, None, Artefact]:
    """Train and measure the rows that are not stored yet."""
    plan = plan_conditions(workbench, question)
    ids, lists = query_ids_of(workbench.prepared.test), _Lists(workbench, plan.initial)
    records = workbench.store.records
    work = by_cells(plan, records, ids, partial(_compute, plan, lists))

    trains = (_compute(plan, lists, cell) for cell in missing_cells(plan, records))

    def facts() -> dict[str, Any]:
        return workbench.facts(workbench.prepared.test) | {"initial": list(plan.initial)}

    return (yield from workbench.run(plan, ids, facts, work, trains=trains))


class _Lists:
    """Test lists; the rankings of test time are added when a condition first reads one."""

    def __init__(self, workbench: Workbench, initial: Sequence[str]) -> None:
        self.workbench, self.initial = workbench, initial
        self.extended: JudgedLists | None = None

    def reading(self, columns: Sequence[int | None]) -> Generator[Progress, None, JudgedLists]:
        """Lists that have these rankings."""
        test: JudgedLists = self.workbench.prepared.test
        if all(column is None or column < test.lists.rankings for column in columns):
            return test
        if self.extended is None:
            self.extended = yield from extended_lists(self.workbench, self.initial)
        return self.extended


def _compute(plan: Plan, lists: _Lists, cell: Cell) -> Generator[Progress, None, CellResult]:
    row = next(
        row for row in plan.rows if (row.label, row.condition) == (cell.row.ranker, cell.row.family)
    )
    test = yield from lists.reading(row.columns)
    facts: dict[str, Any] = {"queries": len(test.lists), "set_size": test.lists.mean_length}
    if "initial" in row.ranker:
        scores = test.lists.prior[:, row.columns[0] or 0].copy()
    else:
        changes = {"seed": str(cell.row.draw)} if row.seeds > 1 else {}
        ranker, training_facts = yield from with_words(
            train_row(lists.workbench, cell.row.ranker_name, changes), f"of {row.label}"
        )
        facts |= training_facts
        if row.condition == TRAINED:
            scores = ranker.score(test.dataset, test.lists)
        else:
            scores = scores_under(ranker, row.columns, test)
    measures = [Measure.parse(text) for text in plan.stored]
    return facts, {"values": evaluate(measures, test.dataset, test.lists, scores)}
