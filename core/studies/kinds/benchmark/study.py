"""Table 2 of SetRank: every ranker on the same unperturbed lists, over seeds and folds.

A cell is one ranker, seed and fold. The ranker is trained (or loaded) and scores the fold's test
lists. The cell stores every query's measures and the scores. A row of the result is one ranker
and seed, with the queries of all folds in turn. A row that fails (its training diverges) is left
out whole; the facts contain the reason.

A row that reads more initial rankings than the lists have (setrank-imsab-multi-init: four) has its
own lists. They have the same candidates in the same order, with LambdaMART, MART, RankSVM and
RankBoost as further columns, as in the paper's Table 4. All other rows use the common lists.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import ShuffleproofError, UsageError
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate
from shuffleproof.core.metrics.tied import tied_share
from shuffleproof.core.progress import Progress, with_words
from shuffleproof.core.rankers import named_presets
from shuffleproof.core.rankers.initial import InitialRanker
from shuffleproof.core.rankers.name import INITIAL, REFERENCES, Kind, RankerName
from shuffleproof.core.rankers.preset_digests import with_digest
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import cells, conventions
from shuffleproof.core.studies.cells import Cell
from shuffleproof.core.studies.engine import FAILED
from shuffleproof.core.studies.kinds.benchmark.question import Benchmark
from shuffleproof.core.studies.kinds.benchmark.rows import (
    TRIALS,
    Row,
    pin_content,
    rows_of,
    trained_at,
)
from shuffleproof.core.studies.kinds.initial_rankings.question import InitialRankings
from shuffleproof.core.studies.resolved_rankers import is_given
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.run import query_ids_of
from shuffleproof.core.studies.study import CellResult, Trial
from shuffleproof.core.studies.workbench import Workbench
from shuffleproof.core.words import counted

KIND = Benchmark.kind
RUNS = "runs.safetensors"


@dataclass(frozen=True)
class Plan(cells.CellPlan):
    """Full description of a benchmark; equal descriptions give equal results.

    Attributes:
        rows: of the table.
        folds: (name, digest of its candidate lists), in their order.
        measures: requested measures, as text.
        stored: measures stored for every query; see `core.studies.conventions`.
    """

    kind: str = field(default=KIND, init=False)
    rows: tuple[Row, ...]
    folds: tuple[tuple[str, str], ...]
    measures: tuple[str, ...]
    stored: tuple[str, ...]

    @cached_property
    def stored_measures(self) -> tuple[Measure, ...]:
        """Parsed measures of `stored`."""
        return tuple(map(Measure.parse, self.stored))

    def cells(self) -> list[Cell]:
        """Cells in order of work: every ranker with its first seed on every fold, then the next."""
        seeds = max((row.seeds for row in self.rows), default=0)
        return [
            Cell(Trial(row.label, KIND, 0.0, seed), fold, self._digest(row, seed, fold))
            for seed in range(seeds)
            for row in self.rows
            if seed < row.seeds
            for fold in range(len(self.folds))
        ]

    def _digest(self, row: Row, seed: int, fold: int) -> str:
        facts = {
            "kind": KIND,
            "ranker": row.ranker,
            "seed": seed,
            "lists": self.folds[fold][1],
            "measures": list(self.stored),
        }
        return key_of("trial", facts).digest


def plan_benchmark(workbenches: Sequence[Workbench], question: Benchmark) -> Plan:
    """Plan of a benchmark on these folds, one workbench each, with lists of the same recipe.

    Raises:
        UsageError: no ranker, or a ranker that cannot read these lists.
    """
    texts = tuple(str(Measure.parse(text)) for text in question.measures)
    folds = tuple((workbench.name, workbench.lists_digest) for workbench in workbenches)
    rows = pin_content(
        rows_of(question.rankers, workbenches[0].preset, question.seeds), workbenches
    )
    return Plan(
        with_initial_rankings(rows, workbenches), folds, texts, conventions.stored_measures(texts)
    )


def run(
    workbenches: Sequence[Workbench], question: Benchmark, data: str
) -> Generator[Progress, None, Artefact]:
    """Train and measure the cells that are not stored yet."""
    plan, first = plan_benchmark(workbenches, question), workbenches[0]
    records = first.store.records
    ids = [query for workbench in workbenches for query in query_ids_of(workbench.prepared.test)]

    def work(facts: dict[str, Any]) -> Generator[Progress, None, StudyResult | None]:
        failed: dict[str, ShuffleproofError] = {}
        computed = yield from cells.run_cells(
            plan.cells(), records, partial(_compute, workbenches, plan), failed
        )
        order = [cell for cell in plan.cells() if cell.row.ranker not in failed]
        if failed:
            # A table of only references answers nothing, so the first error is reported
            if {cell.row.ranker for cell in order} <= set(REFERENCES):
                raise next(iter(failed.values()))
            facts |= {FAILED: {label: str(error) for label, error in failed.items()}}
        facts |= {"tied": _tied_shares(workbenches, order, computed)}
        result = cells.assemble(plan.recipe(), order, computed, ids, facts)
        return result and replace(result, files={RUNS: _runs(workbenches, order, computed)})

    missing = cells.missing_cells(plan, records)
    trains = (_compute(workbenches, plan, cell) for cell in missing)
    facts = {"data": data} | _facts(workbenches, plan)
    return (yield from first.run(plan, ids, lambda: facts, work, trains=trains))


def _compute(
    workbenches: Sequence[Workbench], plan: Plan, cell: Cell
) -> Generator[Progress, None, CellResult]:
    workbench, label = workbenches[cell.part], cell.row.ranker
    row = next(row for row in plan.rows if row.label == label)
    wide = yield from workbench_of_row(workbench, row)
    test: JudgedLists = workbench.prepared.test
    facts: dict[str, Any] = {"queries": len(test.lists), "artefact": ""}
    facts["set_size"] = test.lists.mean_length
    if label == INITIAL:
        scores = InitialRanker().score(test.dataset, test.lists)
    elif is_given(row.name):
        identified = yield from workbench.identified(row.name)
        scores = identified.ranker.score(test.dataset, test.lists)
    else:
        training = trained_at(workbench, row.name, cell.row.draw, wide)
        trained = yield from with_words(
            training, f"of {label}, seed {cell.row.draw}, {workbench.name}"
        )
        facts["artefact"] = str(trained.artefact.key)
        facts["training_seconds"] = float(trained.artefact.facts["seconds"])
        scores = trained.ranker.score(test.dataset, wide.prepared.test.lists)
    values = evaluate(plan.stored_measures, test.dataset, test.lists, scores)
    return facts, {"values": values, "scores": scores}


def _facts(workbenches: Sequence[Workbench], plan: Plan) -> dict[str, Any]:
    first, lists = workbenches[0], [workbench.prepared.test.lists for workbench in workbenches]
    bounds = [0, *accumulate(map(len, lists))]
    all_queries = sum(workbench.fold.test.queries for workbench in workbenches)
    return {
        "folds": [
            {"name": workbench.name, "start": start, "stop": stop}
            for workbench, (start, stop) in zip(workbenches, pairwise(bounds), strict=True)
        ],
        "fingerprints": [workbench.fold.fingerprint for workbench in workbenches],
        "queries": bounds[-1],
        "candidates": sum(len(of_fold.rows) for of_fold in lists),
        "lists": first.recipe.plain(),
        "preset": first.preset,
        **({} if bounds[-1] == all_queries else {"of_queries": all_queries}),
        "groups": {row.label: row.group for row in plan.rows},
        "wider": {row.label: row.ranker[WIDER] for row in plan.rows if WIDER in row.ranker},
        "sizes": [_sizes(workbench) for workbench in workbenches],
        **_tuning_trials(plan),
    }


def _tuning_trials(plan: Plan) -> dict[str, dict[str, int]]:
    """Number of trials behind the recipes that were tuned in this store, by label."""
    trials = {}
    for row in plan.rows:
        if (preset := named_presets.of(row.name.base).get(row.name.preset)) is not None:
            trials[row.label] = preset.trials
    return {TRIALS: trials} if trials else {}


def _sizes(workbench: Workbench) -> dict[str, int | float]:
    """Sizes of a fold."""
    parts = (workbench.fold.train, workbench.fold.valid, workbench.fold.test)
    return {
        "queries": sum(part.queries for part in parts),
        "documents": sum(part.documents for part in parts),
        "features": len(workbench.fold.train.feature_ids),
        "top_label": max((float(part.labels.max()) for part in parts if part.documents), default=0),
    }


def _runs(
    workbenches: Sequence[Workbench], order: Sequence[Cell], computed: Mapping[str, CellResult]
) -> dict[str, np.ndarray]:
    """Scores of every row and their lists, so that runs can be written without a ranker."""
    arrays: dict[str, np.ndarray] = {}
    for index, workbench in enumerate(workbenches):
        lists = workbench.prepared.test.lists
        arrays[f"rows/{index}"], arrays[f"offsets/{index}"] = lists.rows, lists.offsets
    for cell in order:
        name = f"scores/{cell.row.ranker}/{cell.row.draw}/{cell.part}"
        arrays[name] = computed[cell.digest][1]["scores"]
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def _tied_shares(
    workbenches: Sequence[Workbench], order: Sequence[Cell], computed: Mapping[str, CellResult]
) -> dict[str, float]:
    """Share of tied pairs of every row, mean over its seeds and folds; without the ideal."""
    shares: dict[str, list[float]] = {}
    for cell in order:
        if cell.row.ranker != REFERENCES[0]:
            offsets = workbenches[cell.part].prepared.test.lists.offsets
            share = tied_share(offsets, computed[cell.digest][1]["scores"])
            shares.setdefault(cell.row.ranker, []).append(share)
    return {label: float(np.mean(row_shares)) for label, row_shares in shares.items()}


WIDER = "initial"
"""Field of a row's recipe: initial rankings of its lists, if it needs more than the others."""


def with_initial_rankings(rows: Sequence[Row], workbenches: Sequence[Workbench]) -> tuple[Row, ...]:
    """Rows with the initial rankings that their lists must have beyond the common ones.

    Raises:
        UsageError: lists longer than a row's ordinals, or a feature that the data lacks.
    """
    longest = 0
    for workbench in workbenches:
        parts = (workbench.prepared.train, workbench.prepared.valid, workbench.prepared.test)
        longest = max(longest, *(int(part.lists.lengths.max(initial=0)) for part in parts))
        check_features(rows, workbench.fold.test.feature_ids)
    check_lengths(rows, longest)
    first = workbenches[0]
    return tuple(wider(row, first.recipe.rankers, first.preset) for row in rows)


def wider(row: Row, initial: Sequence[RankerName], preset: str) -> Row:
    """A row with the initial rankings of its lists, if these are not enough for it."""
    needed, _ = limits(row.ranker)
    if needed <= len(initial):
        return row
    return replace(row, ranker={**row.ranker, WIDER: extend_initial(initial, needed, preset)})


def extend_initial(initial: Sequence[RankerName], needed: int, preset: str) -> list[str]:
    """The first `needed` initial rankings: the present ones, then the missing ones of the paper.

    >>> extend_initial([RankerName.of("lambdamart@tuned")], 4, "small")
    ['lambdamart@tuned', 'mart@small', 'ranksvm@small', 'rankboost@small']

    Raises:
        UsageError: there are not enough.
    """
    present = {name.base for name in initial}
    additional = [
        with_digest(RankerName(Kind.REGISTERED, name, preset))
        for name in InitialRankings.initial
        if name not in present
    ]
    rankings = [*map(str, (*initial, *additional))][:needed]
    if len(rankings) < needed:
        raise UsageError(f"a row reads {needed} initial rankings: name them with --initial")
    return rankings


def workbench_of_row(workbench: Workbench, row: Row) -> Generator[Progress, None, Workbench]:
    """Workbench with the lists on which a row is trained and scored; their scores are stored."""
    initial = row.ranker.get(WIDER)
    if not initial:
        return workbench
    recipe = replace(workbench.recipe, initial=tuple(initial))
    return (yield from with_words(workbench.relisted(recipe), f"for {row.label}"))


def limits(recipe: Mapping[str, Any]) -> tuple[int, int | None]:
    """Number of initial rankings that a row reads, and its longest list (None: any length).

    >>> limits({"members": [{"model": {"rankings": 4, "ordinals": 256}}, {"name": "mart"}]})
    (4, 256)
    """
    model = recipe.get("model", {})
    rankings = int(model.get("rankings", 0))
    pairs = [(rankings, int(model["ordinals"]) if rankings else None)]
    pairs += [limits(member) for member in recipe.get("members", ())]
    longest = [ordinals for _, ordinals in pairs if ordinals is not None]
    return max(rankings for rankings, _ in pairs), min(longest, default=None)


def check_lengths(rows: Iterable[Row], longest: int) -> None:
    """Refuse lists that are longer than a row's table of ordinals.

    Raises:
        UsageError: a list is longer than a row's table of ordinals.
    """
    ordinals = {row.label: limits(row.ranker)[1] for row in rows}
    short = {
        label: ranks for label, ranks in ordinals.items() if ranks is not None and ranks < longest
    }
    if short:
        verb, pronoun = ("reads", "it") if len(short) == 1 else ("read", "them")
        depth = min(short.values())
        raise UsageError(
            f"{', '.join(short)} {verb} ranks up to {depth}, and there are lists of "
            f"{counted(longest, 'candidate')}: cut them (--depth {depth}), or leave {pronoun} out"
        )


def check_features(rows: Iterable[Row], known: Sequence[int]) -> None:
    """Refuse `feature:<id>` of a feature that the data lacks.

    Raises:
        UsageError: there is no such feature.
    """
    for row in rows:
        for leaf in row.name.leaves:
            if leaf.feature is not None and leaf.feature not in known:
                bounds = f"{min(known)} … {max(known)}" if known else "none"
                raise UsageError(
                    f"{leaf}: the data has no such feature; name one of its ids, {bounds}"
                )
