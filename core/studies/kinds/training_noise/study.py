"""Trainings of the same ranker on the same data, with another order or another seed.

Each training changes one source: the order of documents within their queries, the order of queries,
the order of feature columns, or the seed. Rankers learn as their recipe says, so an order that a
recipe fixes has no effect. A permutation of columns applies to training, validation and scoring.
Rankers of these trainings are not stored: their values are.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from jaxtyping import Float32

from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.experiment.ranker_sets import expand
from shuffleproof.core.metrics.agreement import overlap
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate
from shuffleproof.core.perturb.system import columns_reordered, reordered
from shuffleproof.core.progress import Progress, with_words
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.base import Ranker, RankerSpec
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import conventions
from shuffleproof.core.studies.cells import Cell, CellPlan, by_cells
from shuffleproof.core.studies.kinds.perturbations.applicability import seed_of
from shuffleproof.core.studies.kinds.perturbations.system import STEP
from shuffleproof.core.studies.kinds.training_noise.question import TrainingNoise
from shuffleproof.core.studies.run import query_ids_of
from shuffleproof.core.studies.study import CellResult, Trial
from shuffleproof.core.studies.workbench import OpenRankers, Workbench, digests_of

AS_TRAINED, ROWS, QUERIES, COLUMNS, SEEDS = "as trained", "rows", "queries", "columns", "seeds"
CHANGED = "changed-top-10"
"""Expected share of the first 10 documents that leave them, beyond what ties alone change."""


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
    rankers, specs = OpenRankers(identified), _specs(workbench, question)
    texts = tuple(str(Measure.parse(text)) for text in question.measures)
    plan = Plan(
        rankers=digests_of(identified),
        seeded=tuple(label for label, of_label in specs.items() if len(of_label) > 1),
        lists=workbench.lists_digest,
        initial=workbench.recipe.initial,
        repeats=question.repeats,
        seed=question.seed,
        measures=texts,
        stored=(*conventions.stored_measures(texts), CHANGED),
    )
    test = workbench.prepared.test
    ids, compute = query_ids_of(test), partial(_compute, workbench, plan, rankers, specs)
    work = by_cells(plan, workbench.store.records, ids, compute)
    return (yield from workbench.run(plan, ids, lambda: workbench.facts(test, rankers), work))


def _specs(workbench: Workbench, question: TrainingNoise) -> Mapping[str, Sequence[RankerSpec]]:
    """Recipe of every ranker, followed by those with other seeds if it has one.

    All are read before the first training, so that a file that changes later mixes no recipes.
    """
    specs = {}
    for label, name in expand(question.rankers).items():
        specs[label] = [registry.spec_of(name, workbench.preset)]
        if (first := seed_of(specs[label][0])) is not None:
            seeds = range(first + 1 + STEP * question.seed, 2**31)[: question.repeats]
            specs[label] += [
                registry.spec_of(name, workbench.preset, seed=str(seed)) for seed in seeds
            ]
    return specs


def _compute(
    workbench: Workbench,
    plan: Plan,
    rankers: Mapping[str, Ranker],
    specs: Mapping[str, Sequence[RankerSpec]],
    cell: Cell,
) -> Generator[Progress, None, CellResult]:
    test, row = workbench.prepared.test, cell.row
    before = scores = rankers[row.ranker].score(test.dataset, test.lists)
    if row.family != AS_TRAINED:
        spec = specs[row.ranker][row.draw + 1 if row.family == SEEDS else 0]
        draws = generator(plan.seed, plan.kind, row.family, row.draw)
        words = f"of {row.ranker}, {row.family} {row.draw + 1}"
        scores = yield from with_words(_scores(workbench, spec, row.family, draws), words)
    measures = [Measure.parse(text) for text in plan.stored[:-1]]
    values = evaluate(measures, test.dataset, test.lists, scores)
    # A ranking with ties at the border shares less than everything with itself
    own, kept = (overlap(test.lists.offsets, before, one, depth=10) for one in (before, scores))
    facts = {"queries": len(test.lists), "set_size": test.lists.mean_length}
    return facts, {"values": np.vstack([values, own - kept]).astype(np.float32)}


def _scores(
    workbench: Workbench, spec: RankerSpec, source: str, draws: np.random.Generator
) -> Generator[Progress, None, Float32[np.ndarray, " candidates"]]:
    """Scores of the test lists by a ranker that is trained with this source changed."""
    prepared = workbench.prepared
    train, valid, test = prepared.train, prepared.valid, prepared.test
    if spec.fits_documents:
        train, valid = (
            JudgedLists(part.dataset, CandidateLists.all_documents(part.dataset))
            for part in (train, valid)
        )
    if source in {ROWS, QUERIES}:
        train = reordered(train, draws, rows_move=source == ROWS, queries_move=source == QUERIES)
    if source == COLUMNS:
        order = draws.permutation(len(test.dataset.feature_ids))
        train, valid, test = (columns_reordered(part, order) for part in (train, valid, test))
    ranker = yield from spec.fit(train, valid)
    return ranker.score(test.dataset, test.lists)
