"""Certified top documents: certificates against added documents, and attacks that test them.

Every ranker's lists are scored as they are. Certificates say which documents of the top k stay in
the top K whatever r documents are added; an attack adds documents and scores the lists again. So
the true share lies between the certified share and one minus the attacked share. Subset rankers of
all sets also have exact answers to removed and duplicated documents.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from jaxtyping import Float32, Float64, Int64

from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import UsageError
from shuffleproof.core.experiment.precomputed_scores import refuse
from shuffleproof.core.experiment.ranker_sets import expand
from shuffleproof.core.metrics.injection import ROUNDING, AllSets, Bounds, stays
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.base import Ranker, RankerSpec
from shuffleproof.core.rankers.boosting.box_search import Leaves
from shuffleproof.core.rankers.ensemble.subset import ScoredSets, SubsetRanker
from shuffleproof.core.rankers.linear.box_bounds import DenseLayers
from shuffleproof.core.rankers.name import Kind, RankerName
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.cells import Cell, CellPlan, by_cells
from shuffleproof.core.studies.kinds.certified_top_k.changed_lists import (
    Attack,
    ListOfOne,
    margins,
)
from shuffleproof.core.studies.kinds.certified_top_k.moved_documents import (
    MovedDocument,
    Row,
    bounds_of,
    units,
)
from shuffleproof.core.studies.kinds.certified_top_k.question import CertifiedTopK
from shuffleproof.core.studies.run import query_ids_of
from shuffleproof.core.studies.study import CellResult, Trial
from shuffleproof.core.studies.workbench import OpenRankers, Workbench, digests_of

INJECTED, REMOVED, DUPLICATED = "injected", "removed", "duplicated"
"""Changes of a list; the level is the number of documents."""

MOVED = "moved"
"""Change of one document's features; the level is its rank from 1, and 0 for the last."""

MEASURE = "NDCG@10"
MEASURES = ("certified", "attacked", MEASURE)
"""Values per list: shares of the top k that are certified to stay and that the attack pushed out
(not a number where every document must stay), and the measure of the unchanged list. For moved
documents the first two are moves: certified to keep it out of the top k, and of the attack."""

TopPlaces = Int64[np.ndarray, " top"]


@dataclass(frozen=True)
class Plan(CellPlan):
    """Full description of the study.

    Attributes:
        rankers: (label, digest) of every ranker.
        asked: labels of the rankers to certify; the others are compared with them.
        subsets: (label, label of the same ranker on whole lists) of the subset rankers.
        exact: labels of those that score all sets.
        alone: labels of the rankers of single documents to compare with.
        lists: digest of the candidate lists.
        initial: names of the initial rankers, for display.
        inject: numbers of added documents, in rising order.
        k: documents at the top.
        K: ranks in which they must stay.
        rounds: drawn sets of a document.
        tries: documents that the attack tries in each step.
        seed: of the attack.
        queries: number of test queries, from the first; None: all.
        boxes: most splits in the search over trees; 0: no moved documents.
        train: digest of the training documents, whose deviations are the units of moves.
    """

    kind: str = field(default=CertifiedTopK.kind, init=False)
    rankers: tuple[tuple[str, str], ...]
    asked: tuple[str, ...]
    subsets: tuple[tuple[str, str], ...]
    exact: tuple[str, ...]
    alone: tuple[str, ...]
    lists: str
    initial: tuple[str, ...]
    inject: tuple[int, ...]
    k: int
    K: int
    rounds: int
    tries: int
    seed: int
    queries: int | None
    boxes: int
    train: str
    measures: tuple[str, ...] = field(default=MEASURES, init=False)

    def cells(self) -> tuple[Cell, ...]:
        """Cells ranker by ranker."""
        return tuple(
            Cell(Trial(label, change, float(level), 0), 0, self._digest(digest, change, level))
            for label, digest in self.rankers
            for change, level in [
                *((INJECTED, count) for count in self.inject),
                *(((REMOVED, 1), (DUPLICATED, 1)) if label in self.exact else ()),
                *((MOVED, rank) for rank in self._moved(label)),
            ]
        )

    def _moved(self, label: str) -> tuple[int, ...]:
        """Ranks of the documents that move; none of subset rankers, which have no bound."""
        moves = self.boxes and label not in dict(self.subsets)
        return tuple(dict.fromkeys((self.k + 1, 2 * self.k, 0))) if moves else ()

    def _digest(self, ranker: str, change: str, level: int) -> str:
        facts = {
            "kind": self.kind, "ranker": ranker, "lists": self.lists, "change": [change, level],
            "k": self.k, "K": self.K, "queries": self.queries, "measures": list(MEASURES),
        }  # fmt: skip
        if change == INJECTED:
            facts |= {"rounds": self.rounds, "tries": self.tries, "seed": self.seed}
        if change == MOVED:
            facts |= {"boxes": self.boxes, "train": self.train}
        return key_of("trial", facts).digest


def run(workbench: Workbench, question: CertifiedTopK) -> Generator[Progress, None, Artefact]:
    """Train missing rankers, then certify and attack every list.

    Raises:
        FixedScoresError: scores in a file.
        UsageError: a ranker that reads more than features, order and ranks, or that normalises
            features within the query.
    """
    asked, alone = expand(question.rankers), expand(question.alone)
    names = asked | alone
    refuse(tuple(names))
    for name in alone.values():
        is_known = name.kind is Kind.REGISTERED
        if is_known and not is_alone(registry.spec_of(name, workbench.preset)):
            raise UsageError(f"{name} does not score documents one by one: leave it out of --alone")
    plain = {
        label: str(name.parts[0]) for label, name in names.items() if name.base.startswith("subset")
    }
    rankers = yield from workbench.identified_all((*names, *plain.values()))
    opened = OpenRankers(rankers)
    for ranker in opened.values():
        _check(ranker)
    plan = Plan(
        rankers=digests_of(rankers),
        asked=tuple(asked),
        subsets=tuple(plain.items()),
        exact=tuple(label for label in plain if _is_exact(names[label])),
        alone=tuple(alone),
        lists=workbench.lists_digest,
        initial=workbench.recipe.initial,
        inject=tuple(sorted(set(question.inject))),
        k=question.k,
        K=question.K,
        rounds=question.rounds,
        tries=question.tries,
        seed=question.seed,
        queries=question.queries,
        boxes=question.boxes,
        train=workbench.prepared.train.dataset.fingerprint,
    )
    base, records = workbench.test_lists(plan.queries), workbench.store.records
    ids = query_ids_of(base)
    examined: dict[str, Examination] = {}
    examine = partial(Examination.of, plan, base, units(workbench.prepared.train.dataset))
    compute = partial(_compute, plan, opened, examine, examined)

    def facts() -> dict[str, Any]:
        return workbench.facts(base, opened) | {"set_size": base.lists.mean_length}

    work = by_cells(plan, records, ids, compute)
    return (yield from workbench.run(plan, ids, facts, work))


def _is_exact(name: RankerName) -> bool:
    return bool(getattr(name.options, "is_exact", False))


def is_alone(ranker: Ranker | RankerSpec) -> bool:
    """True if a ranker scores documents one by one."""
    return not ranker.reads & {"neighbours", "order", "ranks"}


def _check(ranker: Ranker) -> None:
    """Refuse rankers whose scores of changed lists would not be known."""
    beyond = ranker.reads - {"features", "order", "ranks", "neighbours"}
    if beyond:
        raise UsageError(
            f"{ranker.name} reads {', '.join(sorted(beyond))}, which an added document lacks: "
            "choose rankers of features"
        )
    member = ranker.member if isinstance(ranker, SubsetRanker) else ranker
    normalisation = getattr(getattr(member, "normalisation", None), "kind", "")
    if normalisation.startswith("query-"):
        raise UsageError(
            f"{ranker.name} normalises features within the query, so that an added document "
            "changes all others: train with another normalisation"
        )


def _compute(
    plan: Plan,
    rankers: Mapping[str, Ranker],
    examine: Callable[[Ranker], "Examination"],
    known: dict[str, "Examination"],
    cell: Cell,
) -> Generator[Progress, None, CellResult]:
    label, work = cell.row.ranker, plan.cells()
    if label not in known:
        # One ranker's scores alone are held: they serve all of its cells
        known.clear()
        known[label] = examine(rankers[label])
    examined, base = known[label], known[label].base
    count = len(base.lists)
    values = np.empty((2, count))
    for at in range(count):
        values[:, at] = (
            examined.moves(int(cell.row.level), at)
            if cell.row.family == MOVED
            else examined.shares(cell.row, at)
        )
        yield Progress(work.index(cell), len(work), "cells", part=(at + 1) / (count + 1))
    quality = evaluate([Measure.parse(MEASURE)], base.dataset, base.lists, examined.scores)
    facts = {"queries": count, "set_size": base.lists.mean_length}
    return facts, {"values": np.concatenate([values, quality]).astype(np.float32)}


@dataclass(frozen=True, eq=False)
class Examination:
    """Certificates and attacks of one ranker.

    Attributes:
        plan: of the study.
        ranker: to examine.
        base: the lists.
        scores: of every candidate.
        sets: mean shares of every list over the certificate's sets; empty for other rankers.
        stay: share of the top of every list that stays after any removal, and any duplication.
        unit: of the moves of each feature.
        attacked: scores of a list with 1, 2, … added documents, by its number.
    """

    plan: Plan
    ranker: Ranker
    base: JudgedLists
    scores: Float32[np.ndarray, " candidates"]
    sets: tuple[Float64[np.ndarray, " _docs"], ...] = ()
    stay: tuple[tuple[float, float], ...] = ()
    unit: Row = field(default_factory=lambda: np.empty(0))
    attacked: dict[int, list[np.ndarray]] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan, base: JudgedLists, unit: Row, ranker: Ranker) -> "Examination":
        """Score the lists; sets of the certificate are those of the ranker if it scores all."""
        if not isinstance(ranker, SubsetRanker):
            return cls(plan, ranker, base, ranker.score(base.dataset, base.lists), unit=unit)
        exact = ranker.options.is_exact
        more = replace(ranker, options=replace(ranker.options, rounds=plan.rounds))
        sets, stay = [], []
        for at, scored in enumerate(more.sets(base.dataset, base.lists)):
            sets.append(scored.means(int(base.lists.lengths[at])))
            if exact and len(sets[-1]) > ranker.options.size:
                start, top = ListOfOne.of(base, at), _top(sets[-1], plan.k)
                stay.append(_staying(all_sets(ranker, start, scored), top, plan.K))
            else:
                stay.append((np.nan, np.nan))
        scores = np.concatenate([*sets, np.empty(0)]).astype(np.float32)
        if not exact:
            scores = ranker.score(base.dataset, base.lists)
        return cls(plan, ranker, base, scores, tuple(sets), tuple(stay))

    def shares(self, row: Trial, at: int) -> tuple[float, float]:
        """Certified and attacked share of the top k of one list."""
        lists, added = self.base.lists, int(row.level)
        inside = slice(int(lists.offsets[at]), int(lists.offsets[at + 1]))
        scores = self.scores[inside].astype(np.float64)
        top = _top(scores, self.plan.k)
        # Every document of a list of at most K stays
        if len(scores) + {INJECTED: added, REMOVED: -1, DUPLICATED: 1}[row.family] <= self.plan.K:
            return np.nan, np.nan
        if row.family != INJECTED:
            stay = self.stay[at][row.family == DUPLICATED]
            return stay, 1 - stay
        if at not in self.attacked:
            self.attacked[at] = self._attack(scores, top, at)
        left = margins(self.attacked[at][added - 1][None], top, self.plan.K) < -ROUNDING
        means = self.sets[at] if self.sets else scores
        return self._certified(means, top, added), float(left.mean())

    def moves(self, rank: int, at: int) -> tuple[float, float]:
        """Certified and attacked move of the document at a rank of one list."""
        inside = slice(*self.base.lists.offsets[at : at + 2])
        scores = self.scores[inside].astype(np.float64)
        if len(scores) < max(rank, self.plan.k + 1):
            return np.nan, np.nan
        place, start = int(_top(scores, len(scores))[rank - 1]), ListOfOne.of(self.base, at)
        moved = MovedDocument(
            self.ranker, is_alone(self.ranker), self.unit, self.plan.k, start, scores, place
        )
        return moved.radii(self._bounds, self.plan.boxes)

    @cached_property
    def _bounds(self) -> DenseLayers | Leaves | None:
        return bounds_of(self.ranker, self.base.dataset.feature_ids)

    def _certified(self, scores: Float64[np.ndarray, " docs"], top: TopPlaces, added: int) -> float:
        """Certified share of the top; not a number for set rankers on whole lists."""
        if isinstance(self.ranker, SubsetRanker):
            options = self.ranker.options
            bounds = (
                Bounds.exact(scores, options.size)
                if options.is_exact or len(scores) <= options.size
                else Bounds.of_sample(scores, options.size, self.plan.rounds)
            )
            return float(
                np.mean([bounds.is_certified(d, added, self.plan.K) for d in top.tolist()])
            )
        if not is_alone(self.ranker):
            return np.nan
        # The order of the others does not change: the added documents only take places
        reached = (scores[None] >= scores[top, None]).sum(axis=1)
        return float((reached + added <= self.plan.K).mean())

    def _attack(
        self, scores: Float64[np.ndarray, " docs"], top: TopPlaces, at: int
    ) -> list[np.ndarray]:
        """Scores of one list with harmful documents, as many as are ever added."""
        start = ListOfOne.of(self.base, at)
        attack = Attack(self.ranker, self.base.dataset.features, self.plan.K, self.plan.tries)
        draws = generator(self.plan.seed, CertifiedTopK.kind, start.dataset.query_ids[0])
        return attack.scores(start, scores, top, self.plan.inject[-1], draws)


def _top(scores: Float64[np.ndarray, " docs"], k: int) -> TopPlaces:
    return np.argsort(-scores, kind="stable")[:k]


def _staying(changed: AllSets, top: TopPlaces, kept: int) -> tuple[float, float]:
    """Share of the top that stays whichever one other document is removed, and is duplicated."""
    without, twice = changed.without(), changed.duplicated()
    # The copy has the score of its original
    twice = np.column_stack([twice, np.diag(twice)])
    every, places = range(len(without)), top.tolist()
    removed = [all(stays(without[one], d, kept) for one in every if one != d) for d in places]
    doubled = [all(stays(twice[one], d, kept) for one in every) for d in places]
    return float(np.mean(removed)), float(np.mean(doubled))


def all_sets(ranker: SubsetRanker, start: ListOfOne, scored: ScoredSets) -> AllSets:
    """Scored sets of a list, with those of a document and copies of another."""
    documents, size = len(start), ranker.options.size
    own, other = (grid.ravel() for grid in np.indices((documents, documents)))
    copies = np.column_stack([own, *[other] * (size - 1)])
    shares = ranker.shares(start.dataset, start.whole, start.candidates(copies))[:, 0]
    return AllSets(scored.members, scored.shares, shares.reshape(documents, documents))
