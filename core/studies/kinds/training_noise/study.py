"""Trainings of the same ranker on the same data, with another order or another seed.

Each training changes one source: the order of documents within their queries, the order of queries,
the order of feature columns, or the seed. Rankers learn as their recipe says, so an order that a
recipe fixes has no effect. A permutation of columns applies to training, validation and scoring.
Rankers of these trainings are not stored: their values are.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float32

from shuffleproof.core.data import ragged
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.experiment.ranker_sets import expand
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate
from shuffleproof.core.perturb.system import columns_reordered, reordered
from shuffleproof.core.progress import Progress, with_words
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.base import Ranker, RankerSpec
from shuffleproof.core.rankers.canonical import CANONICAL
from shuffleproof.core.rankers.fit_cache import ALL_DOCUMENTS
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import conventions
from shuffleproof.core.studies.cells import Cell, CellPlan, by_cells, missing_cells
from shuffleproof.core.studies.kinds.perturbations.applicability import seed_of
from shuffleproof.core.studies.kinds.perturbations.system import STEP
from shuffleproof.core.studies.kinds.training_noise.question import TrainingNoise
from shuffleproof.core.studies.run import query_ids_of
from shuffleproof.core.studies.study import CellResult, Trial
from shuffleproof.core.studies.workbench import (
    OpenRankers,
    TrainingData,
    Workbench,
    digests_of,
)

AS_TRAINED, ROWS, QUERIES, COLUMNS, SEEDS = "as trained", "rows", "queries", "columns", "seeds"
SHARED = "shared-top-10"
"""Share of the first 10 documents that are also among the first 10 of AS_TRAINED."""


@dataclass(frozen=True)
class Plan(CellPlan):
    """Full description of the study.

    Attributes:
        rankers: (label, digest) of every ranker as trained.
        seeded: labels of those with a seed in their recipe.
        lists: digest of the candidate lists.
        initial: names of the initial rankers, for display.
        repeats: number of trainings for each source.
        seed: of the shuffles.
        measures: requested measures, as text.
        stored: measures stored for every query.
    """

    kind: str = field(default=TrainingNoise.kind, init=False)
    rankers: tuple[tuple[str, str], ...]
    seeded: tuple[str, ...]
    lists: str
    initial: tuple[str, ...]
    repeats: int
    seed: int
    measures: tuple[str, ...]
    stored: tuple[str, ...]

    def cells(self) -> list[Cell]:
        """Cells in order of work: one training of every source first.

        >>> plan = Plan((("mart", "1"),), (), "lists", (), 2, 0, ("RR",), ("RR",))
        >>> [(cell.row.family, cell.row.draw) for cell in plan.cells()][:4]
        [('as trained', 0), ('rows', 0), ('queries', 0), ('columns', 0)]
        """
        sources = [(AS_TRAINED, 0)]
        for draw in range(self.repeats):
            sources += [(source, draw) for source in (ROWS, QUERIES, COLUMNS, SEEDS)]
        return [
            Cell(Trial(label, source, 0.0, draw), 0, self._digest(digest, source, draw))
            for source, draw in sources
            for label, digest in self.rankers
            if source != SEEDS or label in self.seeded
        ]

    def _digest(self, ranker: str, source: str, draw: int) -> str:
        facts = {
            "kind": self.kind, "ranker": ranker, "lists": self.lists, "source": source,
            "draw": draw, "seed": self.seed, "measures": list(self.stored),
        }  # fmt: skip
        return key_of("trial", facts).digest


def run(workbench: Workbench, question: TrainingNoise) -> Generator[Progress, None, Artefact]:
    """Train the rankers, then train them again and measure what is not stored yet."""
    identified = yield from workbench.identified_all(question.rankers)
    specs = _specs(workbench, question)
    texts = tuple(str(Measure.parse(text)) for text in question.measures)
    plan = Plan(
        rankers=digests_of(identified),
        seeded=tuple(label for label, of_label in specs.items() if len(of_label) > 1),
        lists=workbench.lists_digest,
        initial=workbench.recipe.initial,
        repeats=question.repeats,
        seed=question.seed,
        measures=texts,
        stored=(*conventions.stored_measures(texts), SHARED),
    )
    rankers, test = OpenRankers(identified), workbench.prepared.test
    records, ids = workbench.store.records, query_ids_of(test)
    trainings = Trainings(workbench, plan, specs, rankers)
    trains = (
        workbench.fit(trainings.spec_of(cell.row), partial(trainings.training_data, cell.row))
        for cell in missing_cells(plan, records)
        if cell.row.family != AS_TRAINED
    )
    fixed = [
        label for label, (spec, *_) in specs.items() if getattr(spec, "row_order", "") == CANONICAL
    ]

    def facts() -> dict[str, Any]:
        return workbench.facts(test, rankers) | {"row_order_fixed": fixed}

    work = by_cells(plan, records, ids, trainings)
    return (yield from workbench.run(plan, ids, facts, work, trains=trains))


def _specs(workbench: Workbench, question: TrainingNoise) -> dict[str, list[RankerSpec]]:
    """Recipe of every ranker, followed by those with other seeds if it has one.

    All are read before the first training, so that a file that changes later mixes no recipes.
    """
    specs = {}
    for label, name in expand(question.rankers).items():
        spec = registry.spec_of(name, workbench.preset)
        first = seed_of(spec)
        specs[label] = [spec]
        if first is not None:
            first += 1 + STEP * question.seed
            specs[label] += [
                registry.spec_of(name, workbench.preset, seed=str(first + draw))
                for draw in range(question.repeats)
            ]
    return specs


Scores = Float32[np.ndarray, " candidates"]


@dataclass(frozen=True)
class Trainings:
    """Computes the cells: trains a ranker again, scores the test lists, compares.

    Attributes:
        workbench: source of all lists.
        plan: of the study.
        specs: by label, as `_specs` gives them.
        rankers: as trained.
    """

    workbench: Workbench
    plan: Plan
    specs: Mapping[str, Sequence[RankerSpec]]
    rankers: Mapping[str, Ranker]
    _before: dict[str, Scores] = field(default_factory=dict)

    def __call__(self, cell: Cell) -> Generator[Progress, None, CellResult]:
        """Facts and values of a cell."""
        test, row = self.workbench.prepared.test, cell.row
        before = self._scores_as_trained(row.ranker)
        after = before
        if row.family != AS_TRAINED:
            train, valid, _ = self.training_data(row)
            words = f"of {row.ranker}, {row.family} {row.draw + 1}"
            ranker = yield from with_words(self.spec_of(row).fit(train, valid), words)
            scored = self._changed(test, row)
            after = ranker.score(scored.dataset, scored.lists)
        measures = [Measure.parse(text) for text in self.plan.stored if text != SHARED]
        values = evaluate(measures, test.dataset, test.lists, after)
        shared = shared_top(test.lists.offsets, before, after)
        facts = {"queries": len(test.lists), "set_size": test.lists.mean_length}
        return facts, {"values": np.concatenate([values, shared[None]])}

    def spec_of(self, row: Trial) -> RankerSpec:
        """Recipe of a training."""
        return self.specs[row.ranker][row.draw + 1 if row.family == SEEDS else 0]

    def training_data(self, row: Trial) -> TrainingData:
        """Training and validation lists of a training, and how they are made."""
        prepared = self.workbench.prepared
        train, valid = prepared.train, prepared.valid
        learnt_lists: Any = self.workbench.recipe.learning_fields()
        if self.spec_of(row).fits_documents:
            train, valid, learnt_lists = _whole(train), _whole(valid), ALL_DOCUMENTS
        if row.family in {ROWS, QUERIES}:
            draws = self._draws(row)
            moves = {"rows_move": row.family == ROWS, "queries_move": row.family == QUERIES}
            return reordered(train, draws, **moves), valid, learnt_lists
        return self._changed(train, row), self._changed(valid, row), learnt_lists

    def _changed(self, judged: JudgedLists, row: Trial) -> JudgedLists:
        """Lists with the columns of a training; the same permutation for every part."""
        if row.family != COLUMNS:
            return judged
        order = self._draws(row).permutation(len(judged.dataset.feature_ids))
        return columns_reordered(judged, order)

    def _draws(self, row: Trial) -> np.random.Generator:
        return generator(self.plan.seed, self.plan.kind, row.family, row.draw)

    def _scores_as_trained(self, label: str) -> Scores:
        if label not in self._before:
            test = self.workbench.prepared.test
            self._before[label] = self.rankers[label].score(test.dataset, test.lists)
        return self._before[label]


def shared_top(offsets: ragged.Bounds, before: Scores, after: Scores, depth: int = 10) -> Scores:
    """Share of the first `depth` documents (all of a shorter list) that two rankings share.

    A document tied across the border counts by its share of random orders above it, so that a
    ranking shares everything with itself. NaN for empty lists.

    >>> scores = np.array([3, 1, 1, 0], np.float32)
    >>> bounds = np.array([0, 4])
    >>> shared_top(bounds, scores, scores, 2), shared_top(bounds, scores, -scores, 2)
    (array([1.], dtype=float32), array([0.5], dtype=float32))
    """
    lengths, owner = np.diff(offsets), ragged.segment_ids(offsets)
    inside = []
    for scores in (before, after):
        better = ragged.competition_ranks(offsets, scores)
        tied = lengths[owner] - better - ragged.competition_ranks(offsets, -scores)
        inside.append(np.clip((depth - better) / tied, 0, 1))
    common = np.bincount(owner, np.minimum(*inside), minlength=len(lengths))
    places = np.minimum(lengths, depth).astype(np.float64)
    return np.divide(common, places, out=np.full_like(common, np.nan), where=places > 0).astype(
        np.float32
    )


def _whole(judged: JudgedLists) -> JudgedLists:
    return JudgedLists(judged.dataset, CandidateLists.all_documents(judged.dataset))
