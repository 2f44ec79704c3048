"""Table 3 of SetRank: train on lists of N0 candidates, test on lists of N1.

Lists are cut from the initial ranking; a list with fewer documents is not changed, but counted.
NDCG at another N1 mixes two effects: the available candidates, and the shift of the model. The
result therefore has three references: the initial ranker's own curve, the ceiling of a perfect
order of the same candidates, and the stability of the shared documents' order and scores.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float32

from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import MissingRankingError, UsageError
from shuffleproof.core.experiment.precomputed_scores import refuse
from shuffleproof.core.experiment.ranker_sets import expand
from shuffleproof.core.experiment.score_reuse import shared_scores
from shuffleproof.core.metrics.agreement import kendall_tau
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate
from shuffleproof.core.progress import Progress, with_words
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.rankers.initial import InitialRanker
from shuffleproof.core.rankers.name import INITIAL
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import conventions
from shuffleproof.core.studies.cells import Cell, CellPlan, by_cells, missing_cells
from shuffleproof.core.studies.kinds.set_size import feasibility
from shuffleproof.core.studies.kinds.set_size.question import SetSize
from shuffleproof.core.studies.question import Scope
from shuffleproof.core.studies.resolved_rankers import ResolvedRanker, resolve, train_row
from shuffleproof.core.studies.run import query_ids_of
from shuffleproof.core.studies.study import CellResult, Trial
from shuffleproof.core.studies.workbench import Workbench

CEILING = "ideal"
ANY = "any"
ORDER, SHIFT = "order-stability", "score-shift"
"""Further stored values: Kendall's τ-b of the shared documents' order between lists of N1 and of
N0, and the change of their scores relative to each other, in standard deviations."""


@dataclass(frozen=True)
class Row:
    """Ranker trained on lists of one size.

    Attributes:
        label: `ranker` or `ranker@preset`.
        ranker: its recipe.
        size: N0; None if its training does not depend on lists.
        seeds: number of seeds that it is trained with.
        largest: length of the longest list that it can score; None: any.
    """

    label: str
    ranker: Mapping[str, Any]
    size: int | None
    seeds: int
    largest: int | None

    @property
    def family(self) -> str:
        """Name in the result: `40`, or `any`."""
        return ANY if self.size is None else str(self.size)


@dataclass(frozen=True)
class Plan(CellPlan):
    """Full description of a set-size study.

    Attributes:
        rows: rankers with their training sizes.
        sizes: N1, in rising order.
        lists: digest of the candidate lists at each size.
        measures: requested measures, as text.
        stored: measures stored for every query.
    """

    kind: str = field(default=SetSize.kind, init=False)
    rows: tuple[Row, ...]
    sizes: tuple[int, ...]
    lists: Mapping[str, str]
    measures: tuple[str, ...]
    stored: tuple[str, ...]

    def cells(self) -> list[Cell]:
        """All cells, without the sizes that a ranker cannot score."""
        seeds = max((row.seeds for row in self.rows), default=0)
        return [
            Cell(Trial(row.label, row.family, float(size), seed), 0, self._digest(row, size, seed))
            for seed in range(seeds)
            for row in self.rows
            if seed < row.seeds
            for size in self.sizes
            if row.largest is None or size <= row.largest
        ]

    def _digest(self, row: Row, size: int, seed: int) -> str:
        facts = {
            "kind": self.kind,
            "ranker": row.ranker,
            "seed": seed,
            "trained": self.lists[str(row.size)] if row.size else None,
            "tested": self.lists[str(size)],
            "measures": list(self.stored),
        }
        return key_of("trial", facts).digest


def open_cells(
    sizes: Sequence[int], scope: Scope
) -> Generator[Progress, None, dict[int, Workbench]]:
    """Workbenches with lists of every size; the initial rankers are fitted once.

    Raises:
        ParameterError: no sizes, or a size below 1.
    """
    workbenches = {}
    for size in feasibility.checked_sizes("sizes", sizes):
        of_size = replace(scope, lists={**(scope.lists or {}), "depth": size})
        workbenches[size] = yield from of_size.open_workbench()
    return workbenches


def plan_sizes(workbenches: Mapping[int, Workbench], question: SetSize) -> Plan:
    """Plan of the study: the initial ranking and the ceiling, then every ranker at every N0.

    Args:
        workbenches: by size, as from `open_cells`; all sizes are tested.
        question: rankers, each N0 one of `workbenches`, measures and seeds.

    Raises:
        FixedScoresError: scores in a file, which cannot score cut lists.
        UsageError: N0, or the size of a stored ranker's training lists, is no size of the study.
        MissingRankingError: a ranker reads more initial rankings than the lists have.
    """
    refuse(question.rankers)
    trained_on = question.trained_on or feasibility.train_sizes(tuple(workbenches))
    missing = [size for size in trained_on if size not in workbenches]
    if missing:
        raise UsageError(f"{missing[0]} is a training length but no test length: add it to --sizes")
    smallest = next(iter(workbenches.values()))
    texts = tuple(str(Measure.parse(text)) for text in question.measures)
    rows = [Row(INITIAL, {"name": INITIAL}, None, 1, None)]
    for name in expand([CEILING, *question.rankers]).values():
        ranker = resolve(name, smallest)
        if ranker.rankings > len(smallest.recipe.initial):
            raise MissingRankingError(str(name), ranker.rankings, len(smallest.recipe.initial))
        rows += _rows(ranker, tuple(workbenches), trained_on, question.seeds)
    lists = {str(size): workbench.lists_digest for size, workbench in workbenches.items()}
    stored = (*conventions.stored_measures(texts), ORDER, SHIFT)
    return Plan(tuple(rows), tuple(workbenches), lists, texts, stored)


def _rows(
    ranker: ResolvedRanker, tested_on: Sequence[int], trained_on: Sequence[int], seeds: int
) -> list[Row]:
    """Rows of one ranker: one per size that it is trained on."""
    if ranker.depth is not None and ranker.depth not in tested_on:
        raise UsageError(
            f"{ranker.label} was trained on lists of {ranker.depth}, which are not tested on: "
            "add the size"
        )
    train_sizes = sorted(set(trained_on)) if ranker.depth is None else [ranker.depth]
    sizes: Sequence[int | None] = [None] if ranker.pointwise else train_sizes
    rows = [
        Row(ranker.label, ranker.recipe, size, seeds if ranker.stochastic else 1, ranker.max_length)
        for size in sizes
        if size is None or ranker.max_length is None or size <= ranker.max_length
    ]
    if not rows:
        raise UsageError(
            f"{ranker.label} reads ranks up to {ranker.max_length}: it cannot be trained on lists "
            f"of {train_sizes[0]}; leave it out, or name smaller sizes"
        )
    return rows


def run(
    workbenches: Mapping[int, Workbench], question: SetSize
) -> Generator[Progress, None, Artefact]:
    """Train and measure the rows that are not stored yet."""
    plan, smallest = plan_sizes(workbenches, question), next(iter(workbenches.values()))
    ids = query_ids_of(smallest.prepared.test)
    records = smallest.store.records
    work = by_cells(
        plan, records, ids, partial(_compute, workbenches, plan),
        together=lambda cell: (cell.row.ranker, cell.row.family, cell.row.draw),
    )  # fmt: skip
    facts = partial(_facts, workbenches, plan)
    trains = (_compute(workbenches, plan, cell) for cell in missing_cells(plan, records))
    return (yield from smallest.run(plan, ids, facts, work, trains=trains))


def _compute(
    workbenches: Mapping[int, Workbench], plan: Plan, cell: Cell
) -> Generator[Progress, None, CellResult]:
    size = int(cell.row.level)
    row = next(
        row for row in plan.rows if (row.label, row.family) == (cell.row.ranker, cell.row.family)
    )
    workbench = workbenches[row.size or size]
    facts: dict[str, Any] = {"artefact": "", "training_seconds": 0.0}
    if row.label == INITIAL:
        ranker: Ranker = InitialRanker()
    else:
        changes = {"seed": str(cell.row.draw)} if row.seeds > 1 else {}
        training = train_row(workbench, cell.row.ranker_name, changes)
        ranker, training_facts = yield from with_words(training, f"of {row.label} on {row.family}")
        facts |= training_facts
    test: JudgedLists = workbenches[size].prepared.test
    scores = ranker.score(test.dataset, test.lists)
    measures = [Measure.parse(text) for text in plan.stored if text not in (ORDER, SHIFT)]
    values = evaluate(measures, test.dataset, test.lists, scores)
    home = workbenches[row.size or min(workbenches)].prepared.test
    stability = stabilities(home, ranker.score(home.dataset, home.lists), test, scores)
    facts |= {"queries": len(test.lists), "set_size": test.lists.mean_length}
    return facts, {"values": np.concatenate([values, stability])}


def _facts(workbenches: Mapping[int, Workbench], plan: Plan) -> dict[str, Any]:
    smallest = next(iter(workbenches.values()))
    left_out = dict.fromkeys(
        f"{row.label} reads ranks up to {row.largest} and is not tested beyond"
        for row in plan.rows
        if row.largest is not None and row.largest < max(workbenches)
    )
    studied = smallest.prepared.test.lists.queries
    lengths = np.diff(smallest.fold.test.offsets)[studied]
    return {
        **smallest.facts(smallest.prepared.test),
        **feasibility.counts(lengths, tuple(workbenches)),
        "left_out": [*left_out],
    }


def stabilities(
    home: JudgedLists,
    of_home: Float32[np.ndarray, " home"],
    other: JudgedLists,
    of_other: Float32[np.ndarray, " other"],
) -> Float32[np.ndarray, "2 lists"]:
    """Stability of the documents that two lists of different size share.

    Args:
        home: lists of the size that the ranker was trained on.
        of_home: its scores there.
        other: lists of another size, of the same queries.
        of_other: its scores there.

    Returns:
        Two rows. The first is Kendall's τ-b between the two orders of the shared documents. The
        second is the root mean square change of their centred scores, over the standard deviation
        of the first scores. NaN with fewer than two shared documents, or if all scores are equal.
    """
    before, after, bounds = shared_scores(home, of_home, other, of_other)
    stability = np.full((2, len(home.lists)), np.nan, dtype=np.float32)
    if len(before):
        stability[0] = kendall_tau(bounds, before, after)
    for at, (start, stop) in enumerate(pairwise(bounds)):
        if stop - start < 2:
            stability[0, at] = np.nan
            continue
        home_scores = before[start:stop].astype(np.float64)
        other_scores = after[start:stop].astype(np.float64)
        spread = home_scores.std()
        if spread:
            # A common shift of all scores does not change a ranking, so it is removed
            change = (other_scores - other_scores.mean()) - (home_scores - home_scores.mean())
            stability[1, at] = np.sqrt((change**2).mean()) / spread
    return stability
