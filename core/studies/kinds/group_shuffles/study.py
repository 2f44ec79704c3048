"""Equivariance error of GSF: effect of other input orders, by the number of shuffles.

GSF's groups come from shuffles of the list, a sample of all groups. The change of a score under
another input order should therefore fall like 1/√S. Nothing is trained here: the weights of one
network score with groups of S = 1, 2, 4, … shuffles. With m = 2 they also score with all pairs,
which are exactly equivariant up to rounding. Each list is really scored in every order.
"""

from collections import deque
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float32, Float64

from shuffleproof.core.data import ragged
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import ParameterError, UsageError
from shuffleproof.core.experiment.ranker_sets import expand
from shuffleproof.core.metrics import segments
from shuffleproof.core.metrics.agreement import kendall_tau
from shuffleproof.core.models.config_groups import GroupConfig
from shuffleproof.core.progress import Progress, with_reports
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.rankers.neural.recipes import NeuralSpec
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.cells import Cell, CellPlan, by_cells
from shuffleproof.core.studies.kinds.group_shuffles.question import GroupShuffles
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.run import query_ids_of
from shuffleproof.core.studies.study import CellResult, Trial
from shuffleproof.core.studies.workbench import IdentifiedRanker, OpenRankers, Workbench, digests_of

if TYPE_CHECKING:
    from shuffleproof.core.rankers.neural.ranker import NeuralRanker

SAMPLED, PAIRS = "sampled", "exhaustive"
REFERENCE = 64
"""Number of shuffles for the deviation of a list's scores, by which changes are divided."""

MEASURES = ("change", f"deviation under {REFERENCE}", "tau")
"""Values per list: root mean square change of score, deviation of its scores, Kendall τ-b."""

Spreads = Mapping[str, Float32[np.ndarray, " lists"]]


@dataclass(frozen=True)
class Plan(CellPlan):
    """Full description of the study.

    Attributes:
        rankers: (label, digest) of every ranker.
        pairs: labels of the rankers with groups of two, which also score with all pairs.
        lists: digest of the candidate lists.
        initial: names of the initial rankers, for display.
        shuffles: numbers S, in rising order.
        orders: number of random input orders per list.
        seed: of the orders.
        queries: number of test queries, from the first; None: all.
    """

    kind: str = field(default=GroupShuffles.kind, init=False)
    rankers: tuple[tuple[str, str], ...]
    pairs: tuple[str, ...]
    lists: str
    initial: tuple[str, ...]
    shuffles: tuple[int, ...]
    orders: int
    seed: int
    queries: int | None
    measures: tuple[str, ...] = field(default=MEASURES, init=False)

    def cells(self) -> tuple[Cell, ...]:
        """Cells in order of work: few shuffles first, so that every ranker has points early.

        >>> plan = Plan((("gsf", "1"),), ("gsf",), "lists", (), (1, 2), 8, 0, None)
        >>> [(cell.row.family, cell.row.level) for cell in plan.cells()]
        [('sampled', 1.0), ('sampled', 2.0), ('exhaustive', 0.0)]
        """
        ways = [(SAMPLED, count) for count in self.shuffles] + [(PAIRS, 0)]
        return tuple(
            Cell(Trial(label, family, float(count), 0), 0, self._digest(digest, count))
            for family, count in ways
            for label, digest in self.rankers
            if family == SAMPLED or label in self.pairs
        )

    def _digest(self, ranker: str, count: int) -> str:
        """Key of a cell; it does not depend on other rankers and numbers of shuffles."""
        facts = {
            "kind": self.kind, "ranker": ranker, "lists": self.lists, "shuffles": count,
            "orders": self.orders, "seed": self.seed, "queries": self.queries,
            "measures": list(MEASURES),
        }  # fmt: skip
        return key_of("trial", facts).digest


def run(workbench: Workbench, question: GroupShuffles) -> Generator[Progress, None, Artefact]:
    """Train missing rankers, then score every GSF with groups of S shuffles.

    Raises:
        UsageError: a ranker that is not a GSF, or no ranker.
        ParameterError: a GSF of groups of one document.
    """
    trained, ways = dict[str, IdentifiedRanker](), {}
    for label, name in expand(question.rankers).items():
        if name.base != "gsf":
            raise UsageError(f"{name} forms no groups of documents: choose a gsf")
        cached = yield from workbench.train(name)
        trained[label] = IdentifiedRanker(cached, cached.artefact.key.digest)
        ways[label] = _groups(NeuralSpec.of_recipe(cached.artefact.recipe["ranker"]).model, label)
    rankers = OpenRankers(trained)
    plan = Plan(
        rankers=digests_of(trained),
        pairs=tuple(name for name, way in ways.items() if way.group == 2),
        lists=workbench.lists_digest,
        initial=workbench.recipe.initial,
        shuffles=tuple(sorted(set(question.shuffles))),
        orders=question.orders,
        seed=question.seed,
        queries=question.queries,
    )
    base, records = workbench.test_lists(plan.queries), workbench.store.records
    ids = query_ids_of(base)

    def work(facts: dict[str, Any]) -> Generator[Progress, None, StudyResult | None]:
        scored = base, _spreads(plan.cells(), workbench, rankers, base)
        computation = by_cells(plan, records, ids, partial(_compute, plan, rankers, scored))
        result = yield from computation(facts)
        return result if ids else None

    def facts() -> dict[str, Any]:
        return workbench.facts(base, rankers) | {"set_size": base.lists.mean_length}

    return (yield from workbench.run(plan, ids, facts, work))


def _spreads(
    work: Sequence[Cell], workbench: Workbench, rankers: Mapping[str, Ranker], base: JudgedLists
) -> Spreads:
    """Deviations by which the changes of each ranker with missing cells are divided.

    Each ranker also runs once, so that the time of the first cell excludes library start-up.
    """
    missing = (cell for cell in work if workbench.store.records.get(cell.digest) is None)
    names = list(dict.fromkeys(cell.row.ranker for cell in missing))
    for name in names:
        deque(changes(rankers[name], base, 1, 1), maxlen=0)
    return {name: score_deviation(rankers[name], base, REFERENCE) for name in names}


def _compute(
    plan: Plan, rankers: Mapping[str, Ranker], scored: tuple[JudgedLists, Spreads], cell: Cell
) -> Generator[Progress, None, CellResult]:
    work, (base, spreads), name = plan.cells(), scored, cell.row.ranker
    steps = changes(rankers[name], base, int(cell.row.level), plan.orders, plan.seed)

    def report(count: int) -> Progress:
        return Progress(work.index(cell), len(work), "cells", part=count / (plan.orders + 1))

    change, tau = yield from with_reports(steps, report)
    values = np.stack([change, spreads[name], tau])
    return {"queries": len(base.lists), "set_size": base.lists.mean_length}, {"values": values}


def _groups(model: object, ranker: str) -> GroupConfig:
    """Group settings of a model; refuses models other than a GSF with groups of two or more."""
    if not isinstance(model, GroupConfig) or model.group < 2:
        raise ParameterError("ranker", ranker, "a gsf of groups of two or more")
    return model


def score_deviation(
    ranker: Ranker, base: JudgedLists, shuffles: int
) -> Float32[np.ndarray, " lists"]:
    """Deviation of every list's scores in its own order, with groups of `shuffles` shuffles.

    It depends only on the weights and the lists.
    """
    lists = base.lists
    scores = with_groups(ranker, shuffles).score(base.dataset, lists).astype(np.float64)
    centred = scores - _means(lists, scores)[ragged.segment_ids(lists.offsets)]
    return np.sqrt(_means(lists, centred**2)).astype(np.float32)


def changes(
    ranker: Ranker, base: JudgedLists, shuffles: int, orders: int, seed: int = 0
) -> Generator[int, None, Float32[np.ndarray, "measures lists"]]:
    """Changes under other input orders, list by list; yields the number of orders scored.

    Args:
        ranker: a trained GSF with any way to form groups.
        base: lists to score.
        shuffles: number S of shuffles for its groups; 0: all pairs (only for m = 2).
        orders: number of random input orders per list, in addition to its own.
        seed: of the orders; they are the same for every ranker and S.

    Returns:
        Two values per list. The first is the root mean square change of a document's score, over
        documents and orders (its expected square is 2σ²/S). The second is Kendall τ-b of the
        rankings before and after, mean over the orders.

    Raises:
        ParameterError: not a GSF that reads its neighbours, or all pairs of other groups.
    """
    model, lists = with_groups(ranker, shuffles), base.lists
    before = model.score(base.dataset, lists).astype(np.float64)
    squares, taus = np.zeros(len(lists)), np.zeros(len(lists))
    for at in range(orders):
        yield at
        draws = generator(seed, "group-shuffles", "order", at)
        order = ragged.order_within(lists.offsets, draws.random(len(before)))
        after = np.empty_like(before)
        # Back to the original order, so that `after` and `before` match by document
        after[order] = model.score(base.dataset, lists.shown_as(order))
        squares += _means(lists, (after - before) ** 2)
        taus += kendall_tau(lists.offsets, before, after)
    return np.stack([np.sqrt(squares / orders), taus / orders]).astype(np.float32)


def with_groups(ranker: Ranker, shuffles: int) -> "NeuralRanker":
    """Copy of the ranker with groups from S shuffles, or (0) all pairs.

    Raises:
        ParameterError: not a GSF that reads its neighbours, or all pairs of other groups.
    """
    from shuffleproof.core.rankers.neural.ranker import NeuralRanker  # noqa: PLC0415 (torch)

    _groups(getattr(getattr(ranker, "spec", None), "model", None), ranker.name)
    assert isinstance(ranker, NeuralRanker)  # noqa: S101 (all others are refused)
    sampled = {"grouping": "sampled", "shuffles": str(shuffles)}
    spec = ranker.spec.with_fields(sampled if shuffles else {"grouping": "exhaustive"})
    model = NeuralRanker.untrained(spec, ranker.normalisation, ranker.feature_ids, ranker.device)
    model.network.load_state_dict(ranker.network.state_dict())
    return replace(model, facts=ranker.facts)


def _means(
    lists: CandidateLists, values: Float64[np.ndarray, " candidates"]
) -> Float64[np.ndarray, " lists"]:
    """Mean of every list; 0 for an empty list."""
    return segments.sums(lists.offsets, values) / np.maximum(lists.lengths, 1)
