"""Certified top documents: certificates against added documents, and attacks that test them.

Every ranker's lists are scored as they are. Certificates say which documents of the top k stay in
the top K whatever r documents are added; an attack adds documents and scores the lists again. So
the true share lies between the certified share and one minus the attacked share. Subset rankers of
all sets also have exact answers to removed and duplicated documents.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64

from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import UsageError
from shuffleproof.core.experiment.precomputed_scores import refuse
from shuffleproof.core.experiment.ranker_sets import expand
from shuffleproof.core.metrics.certified import ROUNDING, AllSets, Bounds, stays
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.base import Ranker, RankerSpec
from shuffleproof.core.rankers.ensemble.subset import SubsetRanker
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
from shuffleproof.core.studies.kinds.certified_top_k.question import CertifiedTopK
from shuffleproof.core.studies.run import query_ids_of
from shuffleproof.core.studies.study import CellResult, Trial
from shuffleproof.core.studies.workbench import OpenRankers, Workbench, digests_of

INJECTED, REMOVED, DUPLICATED = "injected", "removed", "duplicated"
"""Changes of a list; the level is the number of documents."""

MEASURE = "NDCG@10"
MEASURES = ("certified", "attacked", MEASURE)
"""Values per list: shares of the top k that are certified to stay and that the attack pushed out
(not a number where every document must stay), and the measure of the unchanged list."""

SMALLEST = 3
"""Documents of a list whose sets of 3 are no longer whole after a removal."""

Top = Int64[np.ndarray, " top"]


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
    measures: tuple[str, ...] = field(default=MEASURES, init=False)

    def cells(self) -> tuple[Cell, ...]:
        """Cells ranker by ranker."""
        return tuple(
            Cell(Trial(label, change, float(level), 0), 0, self._digest(digest, change, level))
            for label, digest in self.rankers
            for change, level in [
                *((INJECTED, count) for count in self.inject),
                *(((REMOVED, 1), (DUPLICATED, 1)) if label in self.exact else ()),
            ]
        )

    def _digest(self, ranker: str, change: str, level: int) -> str:
        facts = {
            "kind": self.kind, "ranker": ranker, "lists": self.lists, "change": [change, level],
            "k": self.k, "K": self.K, "queries": self.queries, "measures": list(MEASURES),
        }  # fmt: skip
        if change == INJECTED:
            facts |= {"rounds": self.rounds, "tries": self.tries, "seed": self.seed}
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
    )
    base, records = workbench.test_lists(plan.queries), workbench.store.records
    ids = query_ids_of(base)
    scored: dict[str, Scored] = {}
    compute = partial(_compute, plan, opened, base, scored)

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
    base: JudgedLists,
    known: dict[str, "Scored"],
    cell: Cell,
) -> Generator[Progress, None, CellResult]:
    label, work = cell.row.ranker, plan.cells()
    examined = Examination(plan, rankers[label], base)
    if label not in known:
        # The scores of the last ranker alone are kept: they serve all of its cells
        known.clear()
        known[label] = Scored.of(rankers[label], base, plan.rounds)
    count, values = len(base.lists), np.empty((2, len(base.lists)))
    for at in range(count):
        values[:, at] = examined.shares(known[label], cell.row, at)
        yield Progress(work.index(cell), len(work), "cells", part=(at + 1) / (count + 1))
    quality = evaluate([Measure.parse(MEASURE)], base.dataset, base.lists, known[label].scores)
    facts = {"queries": count, "set_size": base.lists.mean_length}
    return facts, {"values": np.concatenate([values, quality]).astype(np.float32)}


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores of all lists, and what certificates need of a subset ranker.

    Attributes:
        scores: of every candidate.
        sets: mean shares of every list over the certificate's sets; empty for other rankers.
        added: harmful documents that the attack found for a list, in their order.
    """

    scores: np.ndarray
    sets: tuple[Float64[np.ndarray, " docs"], ...]
    added: dict[int, np.ndarray] = field(default_factory=dict)

    @classmethod
    def of(cls, ranker: Ranker, base: JudgedLists, rounds: int) -> "Scored":
        """Score the lists; drawn sets of the certificate are of the same kind, but more."""
        scores = ranker.score(base.dataset, base.lists)
        if not isinstance(ranker, SubsetRanker):
            return cls(scores, ())
        more = replace(ranker, options=replace(ranker.options, rounds=rounds))
        means = (
            scored.means(length)
            for scored, length in zip(
                more.sets(base.dataset, base.lists), base.lists.lengths.tolist(), strict=True
            )
        )
        return cls(scores, tuple(means))


@dataclass(frozen=True, eq=False)
class Examination:
    """Certificates and attacks of one ranker.

    Attributes:
        plan: of the study.
        ranker: to examine.
        base: the lists.
    """

    plan: Plan
    ranker: Ranker
    base: JudgedLists

    def shares(self, scored: Scored, row: Trial, at: int) -> tuple[float, float]:
        """Certified and attacked share of the top k of one list."""
        lists = self.base.lists
        inside = slice(int(lists.offsets[at]), int(lists.offsets[at + 1]))
        scores = scored.scores[inside].astype(np.float64)
        top, added = np.argsort(-scores, kind="stable")[: self.plan.k], int(row.level)
        change = {INJECTED: added, REMOVED: -1, DUPLICATED: 1}[row.family]
        # Every document of a list of at most K stays
        if len(scores) + change <= self.plan.K or (change < 0 and len(scores) <= SMALLEST):
            return np.nan, np.nan
        if row.family == INJECTED:
            means = scored.sets[at] if scored.sets else scores
            if at not in scored.added:
                scored.added[at] = self._attack(scores, top, at)
            after = ListOfOne.of(self.base, at).added(scored.added[at][:added]).scores(self.ranker)
            left = margins(after[None], top, self.plan.K) < -ROUNDING
            return self._certified(means, top, added), float(left.mean())
        stay = self._after_change(row.family, top, at)
        return stay, 1 - stay

    def _certified(self, scores: Float64[np.ndarray, " docs"], top: Top, added: int) -> float:
        """Certified share of the top; not a number for set rankers on whole lists."""
        if isinstance(self.ranker, SubsetRanker):
            options = self.ranker.options
            bounds = (
                Bounds.exact(scores, options.size)
                if options.is_exact or len(scores) <= options.size
                else Bounds.drawn(scores, options.size, self.plan.rounds)
            )
            return float(np.mean([bounds.certified(d, added, self.plan.K) for d in top]))
        if not is_alone(self.ranker):
            return np.nan
        # The order of the others does not change: the added documents only take places
        reached = (scores[None] >= scores[top, None]).sum(axis=1)
        return float((reached + added <= self.plan.K).mean())

    def _attack(self, scores: Float64[np.ndarray, " docs"], top: Top, at: int) -> np.ndarray:
        """Harmful documents for one list, as many as are ever added."""
        start = ListOfOne.of(self.base, at)
        attack = Attack(self.ranker, self.base.dataset.features, self.plan.K, self.plan.tries)
        draws = generator(self.plan.seed, CertifiedTopK.kind, start.dataset.query_ids[0])
        return attack.documents(start, scores, top, self.plan.inject[-1], draws)

    def _after_change(self, change: str, top: Top, at: int) -> float:
        """Share of the top that stays whichever one other document is removed, or duplicated."""
        assert isinstance(self.ranker, SubsetRanker)  # noqa: S101 (others have no such cells)
        start, kept = ListOfOne.of(self.base, at), self.plan.K
        changed = all_sets(self.ranker, start)
        if change == REMOVED:
            after = changed.without()
        else:
            after = changed.duplicated()
            # The copy has the score of its original
            after = np.column_stack([after, np.diag(after)])
        others = range(len(start))
        stay = [
            all(stays(after[other], d, kept) for other in others if change != REMOVED or other != d)
            for d in top.tolist()
        ]
        return float(np.mean(stay))


def all_sets(ranker: SubsetRanker, start: ListOfOne) -> AllSets:
    """Scored sets of a list, also those with two copies of a document."""
    documents, size = len(start), ranker.options.size
    (scored,) = ranker.sets(start.dataset, start.whole)
    members = start.whole.rows[scored.members]
    own, other = (grid.ravel() for grid in np.indices((documents, documents)))
    copies = np.column_stack([own, *[other] * (size - 1)])
    shares = ranker.shares(start.dataset, start.whole, start.candidates(copies))[:, 0]
    return AllSets(members, scored.shares, shares.reshape(documents, documents))
