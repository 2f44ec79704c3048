"""Table 4 of SetRank: zero, one or many initial rankings, left out and exchanged at test time.

The lists carry the initial rankings that the rankers are trained on; behind them, at test time
only, stand the ones that are put in their place. What a trained network reads instead is a
condition; a condition is scored on the same lists in the same order shown.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float32

from core.data.dataset import RankingDataset
from core.data.lists import CandidateLists, JudgedLists
from core.errors import UsageError
from core.metrics.measure import Measure
from core.metrics.relevance import evaluate
from core.progress import Progress, saying
from core.rankers import registry
from core.rankers.base import Ranker
from core.store.artefacts import Store
from core.store.keys import key_of
from core.store.manifest import Artefact
from core.studies import cells, conventions, underway
from core.studies.cells import Cell, Found
from core.studies.ranker_sets import expanded
from core.studies.result import StudyResult
from core.studies.run import TrialRecords, query_ids_of
from core.studies.study import Trial
from core.studies.workbench import Workbench

KIND = "initial-rankings"
TABLE4 = ("setrank-imsab", "setrank-imsab-init", "setrank-imsab-multi-init")
FOUR = ("lambdamart", "mart", "ranksvm", "rankboost")
TRAINED, NONE = "as trained", "without any"
ORACLE, ANTI, RANDOM = "oracle", "anti-oracle", "random"
SWAPS = (ORACLE, ANTI, RANDOM)
"""What can always be put in an initial ranking's place: the judgments, upside down, and chance."""

NOISE = 1e-3  # breaks the ties of grades in the oracle, so that its ranks are a ranking


@runtime_checkable
class Exchangeable(Protocol):
    """A ranker whose initial rankings can be exchanged or left out: the neural ones."""

    def reading(self, columns: Sequence[int | None]) -> Ranker:
        """The same ranker reading these of the lists' rankings; None: that one is absent."""


@dataclass(frozen=True)
class Row:
    """A ranker under one condition.

    Attributes:
        label: `ranker` or `ranker@preset`; an initial ranking for itself is `initial: mart`.
        ranker: its recipe, or which of the lists' rankings it is.
        condition: in words.
        columns: which of the lists' rankings each of its own is read from; None: absent.
        seeds: how many seeds it is trained with.
    """

    label: str
    ranker: Mapping[str, Any]
    condition: str
    columns: tuple[int | None, ...]
    seeds: int


@dataclass(frozen=True)
class Plan:
    """The study's full description.

    Attributes:
        rows: rankers under conditions.
        initial: the initial rankings of training, then those of test time.
        lists: digest of the candidate lists.
        measures: what it is asked for, as text.
        stored: what is kept for every query.
    """

    rows: tuple[Row, ...]
    initial: tuple[str, ...]
    lists: str
    measures: tuple[str, ...]
    stored: tuple[str, ...]

    def recipe(self) -> dict[str, Any]:
        """The description as plain JSON values."""
        return {
            "kind": KIND,
            "rows": [asdict(row) | {"columns": list(row.columns)} for row in self.rows],
            "initial": list(self.initial),
            "lists": self.lists,
            "measures": list(self.measures),
            "stored": list(self.stored),
        }

    @classmethod
    def of(cls, recipe: Mapping[str, Any]) -> "Plan":
        """The study whose `recipe()` this is."""
        rows = tuple(Row(**(row | {"columns": tuple(row["columns"])})) for row in recipe["rows"])
        return cls(
            rows=rows,
            initial=tuple(recipe["initial"]),
            lists=recipe["lists"],
            measures=tuple(recipe["measures"]),
            stored=tuple(recipe["stored"]),
        )

    def cells(self) -> list[Cell]:
        """All cells: every ranker as trained first, then the other conditions."""
        most = max((row.seeds for row in self.rows), default=0)
        return [
            Cell(Trial(row.label, row.condition, 0.0, seed), 0, self._digest(row, seed))
            for seed in range(most)
            for row in self.rows
            if seed < row.seeds
        ]

    def _digest(self, row: Row, seed: int) -> str:
        facts = {
            "kind": KIND,
            "ranker": row.ranker,
            "columns": [None if one is None else self.initial[one] for one in row.columns],
            "seed": seed,
            "lists": self.lists,
            "measures": list(self.stored),
        }
        return key_of("trial", facts).digest


def planned(
    bench: Workbench,
    names: Sequence[str] = TABLE4,
    swaps: Sequence[str] = SWAPS,
    measures: Sequence[str] = ("NDCG@10",),
    seeds: int = 1,
) -> Plan:
    """The plan: each initial ranking for itself, then every ranker under every condition.

    Args:
        bench: its lists carry the initial rankings of training.
        names: rankers; those that read no initial ranking have one condition.
        swaps: what is put in the first initial ranking's place: SWAPS, and rankers that could
            be initial ones (`ranksvm`, `feature:25`).
        measures: as text.
        seeds: how many each ranker is trained with.

    Raises:
        UsageError: a ranker that reads more initial rankings than the lists carry.
    """
    trained_on = bench.recipe.initial
    every = (*trained_on, *(swap for swap in swaps if swap not in trained_on))
    rows = [
        Row(f"initial: {name}", {"initial": name}, TRAINED, (index,), 1)
        for index, name in enumerate(every)
    ]
    changed: list[Row] = []
    for label in expanded(names):
        name, _, preset = label.partition("@")
        spec = registry.spec(name, preset or bench.preset)
        if spec.rankings > len(trained_on):
            raise UsageError(
                f"{label} reads {spec.rankings} initial rankings, the lists carry "
                f"{len(trained_on)}: name more with --initial"
            )
        recipe = spec.recipe()
        drawn = seeds if "seed" in recipe or "seed" in recipe.get("training", {}) else 1
        own = [
            Row(label, recipe, condition, columns, drawn)
            for condition, columns in conditions(spec.rankings, every)
        ]
        rows, changed = [*rows, own[0]], [*changed, *own[1:]]
    texts = tuple(str(Measure.parse(text)) for text in measures)
    lists = key_of("lists", asdict(bench.recipe), (bench.fold.fingerprint,)).digest
    return Plan((*rows, *changed), every, lists, texts, conventions.kept(texts))


def conditions(rankings: int, initial: Sequence[str]) -> list[tuple[str, tuple[int | None, ...]]]:
    """What a ranker of so many initial rankings is asked to read, in words and as columns.

    >>> conditions(1, ("mart", "random"))
    [('as trained', (0,)), ('without any', (None,)), ('random for mart', (1,))]
    """
    whole: tuple[int | None, ...] = tuple(range(rankings))
    found = [(TRAINED, whole)]
    if not rankings:
        return found
    for index in range(rankings) if rankings > 1 else ():
        left = tuple(None if one == index else one for one in whole)
        found.append((f"without {initial[index]}", left))
    found.append((NONE, (None,) * rankings))
    found += [
        (f"{initial[other]} for {initial[0]}", (other, *whole[1:]))
        for other in range(rankings, len(initial))
    ]
    return found


def run(bench: Workbench, plan: Plan) -> Generator[Progress, None, Artefact]:
    """Train and measure what is not stored yet; yields progress, returns the stored result."""
    store: Store = bench.store
    key = key_of("study", plan.recipe())
    with store.lock(key):
        found = store.find(key)
        if found is not None:
            return found
        test = yield from extended(bench, plan.initial)
        facts = _facts(bench, plan)
        ids = query_ids_of(test)
        underway.announce(store, key, plan, ids, facts)
        order = plan.cells()
        done = yield from cells.run_cells(
            order, store.records, lambda cell: _compute(bench, plan, test, cell)
        )
        result = cells.assembled(plan.recipe(), order, done, ids, facts)
        if result is None:
            raise UsageError("the study has no rankers; name at least one")
        return store.add(key, plan.recipe(), result.save, facts)


def from_records(
    recipe: Mapping[str, Any],
    records: TrialRecords,
    query_ids: Sequence[str],
    facts: Mapping[str, Any],
) -> StudyResult | None:
    """What a study has found so far; None before its first cell."""
    return cells.so_far(recipe, Plan.of(recipe).cells(), records, query_ids, facts)


def extended(bench: Workbench, initial: Sequence[str]) -> Generator[Progress, None, JudgedLists]:
    """The test lists with a ranking for each name: those of training, then those that replace.

    Candidates and the order shown stay those of the first.
    """
    test: JudgedLists = bench.prepared.test
    lists, dataset = test.lists, test.dataset
    columns = [lists.prior]
    for name in initial[lists.rankings :]:
        if name == ORACLE:
            scores = oracle(dataset)
        elif name == ANTI:
            scores = -oracle(dataset)
        else:
            kept = yield from saying(bench.trained(name), f"of {name}")
            scores = kept.ranker.score(dataset, CandidateLists.everything(dataset))
        columns.append(scores[lists.rows, None])
    prior = np.concatenate(columns, axis=1)
    # `reranked` orders by the first ranking, which is the one that these lists are shown by
    return JudgedLists(dataset, lists.reranked(prior))


def oracle(dataset: RankingDataset) -> Float32[np.ndarray, " docs"]:
    """The grades, ties broken by row: the best initial ranking that there can be."""
    places = np.arange(dataset.documents, dtype=np.float64)
    return (dataset.labels - NOISE * places / max(1, dataset.documents)).astype(np.float32)


def _compute(
    bench: Workbench, plan: Plan, test: JudgedLists, cell: Cell
) -> Generator[Progress, None, Found]:
    row = next(
        row for row in plan.rows if (row.label, row.condition) == (cell.row.ranker, cell.row.family)
    )
    facts: dict[str, Any] = {
        "queries": len(test.lists),
        "set_size": float(test.lists.lengths.mean()) if len(test.lists) else 0.0,
    }
    if "initial" in row.ranker:
        scores = test.lists.prior[:, row.columns[0] or 0].copy()
    else:
        changes = {"seed": str(cell.row.draw)} if row.seeds > 1 else {}
        kept = yield from saying(bench.trained(row.label, changes), f"of {row.label}")
        facts["artefact"] = str(kept.artefact.key)
        facts["training_seconds"] = float(kept.artefact.facts["seconds"])
        scores = _reading(kept.ranker, row).score(test.dataset, test.lists)
    measures = [Measure.parse(text) for text in plan.stored]
    return facts, {"values": evaluate(measures, test.dataset, test.lists, scores)}


def _reading(ranker: Ranker, row: Row) -> Ranker:
    """The ranker with the condition's initial rankings before it."""
    if row.condition == TRAINED:
        return ranker
    if not isinstance(ranker, Exchangeable):
        raise UsageError(f"{row.label} cannot read other initial rankings than its own")
    return ranker.reading(row.columns)


def _facts(bench: Workbench, plan: Plan) -> dict[str, Any]:
    return {
        "data": bench.name,
        "queries": len(bench.prepared.test.lists),
        "lists": asdict(bench.recipe),
        "preset": bench.preset,
        "initial": list(plan.initial),
    }
