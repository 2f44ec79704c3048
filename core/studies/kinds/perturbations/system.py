"""Trials with unchanged lists: rankers trained again, or scored with other arithmetic.

With bfloat16, other batches or other numbers of threads, only the arithmetic changes. With other
labels, another order or another seed, only the training part changes. The validation part, the
test part and the candidate lists stay the same.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Float32, Int64

from shuffleproof.core.data import ragged
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import UsageError
from shuffleproof.core.experiment.score_reuse import ScoreCache, shared_scores
from shuffleproof.core.metrics.agreement import kendall_tau, overlap
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate
from shuffleproof.core.metrics.segments import largest_deviations
from shuffleproof.core.perturb.base import perturb
from shuffleproof.core.perturb.registry import entry_of, perturbation
from shuffleproof.core.perturb.system import BATCHES, ORDER, SEED, THREADS, reordered
from shuffleproof.core.progress import Progress, with_words
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.base import Ranker, RankerSpec
from shuffleproof.core.rankers.canonical import in_file_order
from shuffleproof.core.rankers.fit_cache import ALL_DOCUMENTS, CachedRanker
from shuffleproof.core.rankers.name import INITIAL
from shuffleproof.core.seeds import generator
from shuffleproof.core.studies.cells import Cell
from shuffleproof.core.studies.kinds.perturbations.applicability import seed_of, without_recipe
from shuffleproof.core.studies.run import MeasureTrial, values_of, with_answers
from shuffleproof.core.studies.study import CellResult, Trial
from shuffleproof.core.studies.workbench import TrainingData, Workbench

OWN = ("answer-tau", "kept-top-1", "kept-top-10", "score-change")
"""Kendall's τ-b of the two rankings, the expected share of the first 1 and 10 documents that
remain there, and the largest change of a score."""


def measured_by(measures: Sequence[Measure]) -> MeasureTrial:
    """Step of the study: measures of every variant, then the changes of the ranking (OWN).

    It caches each ranker's scores of the base lists, so create a new one for every study.
    """
    carriers: dict[tuple[int, int], ScoreCache] = {}

    def measured(
        ranker: Ranker, base: JudgedLists, variants: Sequence[JudgedLists]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Values [measures, queries] of each variant, and facts on carried-over scores."""
        carrier = carriers.setdefault((id(ranker), id(base)), ScoreCache(ranker, base))
        if all(variant is base for variant in variants):
            scored, carried, deviation = [carrier.scores] * len(variants), True, 0.0
        else:
            rescored = carrier.score_judged(variants)
            scored, carried, deviation = rescored.scores, rescored.carried, rescored.deviation
        values = values_of(measures, base, variants, scored)
        with_facts = with_answers(values, answer_changes, (base, carrier.scores), variants, scored)
        return with_facts, {"carried": carried, "proof_deviation": deviation}

    return measured


def answer_changes(
    base: JudgedLists,
    before: Float32[np.ndarray, " candidates"],
    variant: JudgedLists,
    after: Float32[np.ndarray, " others"],
) -> Float32[np.ndarray, "facts lists"]:
    """Changes of the ranking of each list, over the documents of both lists.

    Returns:
        One row per measure of OWN; τ is NaN if a ranking ties all documents of a list.
    """
    old, new, offsets = shared_scores(base, before, variant, after)
    facts = [
        kendall_tau(offsets, old, new),
        overlap(offsets, old, new, depth=1),
        overlap(offsets, old, new, depth=10),
        largest_deviations(offsets, old, new),
    ]
    return np.stack(facts).astype(np.float32)


STEP = 1000
"""Offset of training seeds per study seed; larger than the number of draws of a level."""


@dataclass(frozen=True)
class Retraining:
    """Trains the rankers of a study again, trial by trial."""

    workbench: Workbench
    seed: int

    def train_lists(self, trial: Trial) -> JudgedLists:
        """Training lists with the labels, or the row order, of a trial."""
        draws = generator(self.seed, trial.family, float(trial.level), trial.draw)
        if trial.family == ORDER:
            return reordered(self.workbench.prepared.train, draws)
        change = perturbation(trial.family, trial.level)
        return perturb(change, self.workbench.prepared.train, draws)

    def train(self, trial: Trial) -> Generator[Progress, None, CachedRanker]:
        """Ranker of a trial, trained or stored; its name states the recipe.

        Raises:
            UsageError: a callable, a file, a stored ranker or a combination has no recipe.
        """
        if reason := without_recipe(trial.ranker_name):
            raise UsageError(
                f"{trial.ranker} cannot be trained again ({reason}): name a ranker by its recipe, "
                "or leave the families that change labels, rows or the seed of the training out"
            )
        spec = self.spec_of(trial)
        return (yield from self.workbench.fit(spec, lambda: self.training_data(spec, trial)))

    def training_data(self, spec: RankerSpec, trial: Trial) -> TrainingData:
        """Training data of a trial's recipe."""
        train, valid = self.train_lists(trial), self.workbench.prepared.valid
        if not spec.fits_documents:
            return train, valid, self.workbench.recipe.learning_fields()
        train = replace(train, lists=CandidateLists.all_documents(train.dataset))
        valid = replace(valid, lists=CandidateLists.all_documents(valid.dataset))
        return train, valid, ALL_DOCUMENTS

    def spec_of(self, trial: Trial) -> RankerSpec:
        """Recipe of a trial; for the family `seed` with the next seeds after its own.

        For the family of row orders, a recipe that fixes an order reads the rows as they come.
        Draw d of a study with seed s has the recipe's seed + 1 + d + 1000 s, so that rankers
        trained for another study with these seeds are reused.
        """
        spec = registry.spec_of(trial.ranker_name, self.workbench.preset)
        if trial.family == ORDER:
            return in_file_order(spec)
        recipe_seed = seed_of(spec)
        if trial.family != SEED or recipe_seed is None:
            return spec
        seed = str(recipe_seed + 1 + trial.draw + STEP * self.seed)
        return registry.spec_of(trial.ranker_name, self.workbench.preset, seed=seed)


def scores_under(
    ranker: Ranker,
    base: JudgedLists,
    family: str,
    level: int | float,
    draws: np.random.Generator,
) -> Float32[np.ndarray, " candidates"]:
    """Scores of the unchanged lists with other arithmetic."""
    if level == 0:
        return ranker.score(base.dataset, base.lists)
    if family == BATCHES:
        return _scores_in_parts(ranker, base, round(level), draws.permutation(len(base.lists)))
    if family == THREADS:
        return _scores_with_threads(ranker, base, round(level))
    network: Any = ranker
    scores: Float32[np.ndarray, " candidates"] = network.score_variants(
        base.dataset, [base.lists], precision="bf16"
    )[0]
    return scores


def _scores_in_parts(
    ranker: Ranker, base: JudgedLists, size: int, order: Int64[np.ndarray, " lists"]
) -> Float32[np.ndarray, " candidates"]:
    """Scores of the lists in this order, `size` lists per batch."""
    scores = np.empty(len(base.lists.rows), dtype=np.float32)
    for part in (order[start : start + size] for start in range(0, len(order), size)):
        places = ragged.elements_of(base.lists.offsets, part)
        scores[places] = ranker.score(base.dataset, base.lists.select(part))
    return scores


def _scores_with_threads(
    ranker: Ranker, base: JudgedLists, count: int
) -> Float32[np.ndarray, " candidates"]:
    import torch  # noqa: PLC0415 (only networks are scored with other numbers of threads)

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        return ranker.score(base.dataset, base.lists)
    finally:
        torch.set_num_threads(before)


Scores = Float32[np.ndarray, " candidates"]


@dataclass(frozen=True)
class SystemTrials:
    """Computes the trials of this module."""

    training: Retraining
    rankers: Mapping[str, Ranker]
    measures: Sequence[Measure]
    _before: dict[str, Scores] = field(default_factory=dict)

    def __call__(self, cell: Cell) -> Generator[Progress, None, CellResult]:
        """Facts and values of a trial; `artefact` is the ranker trained for it."""
        base, trial = self.training.workbench.prepared.test, cell.row
        before = self._scores(trial.ranker)
        after, artefact = yield from self._trial_scores(trial, before)
        values = [
            evaluate(self.measures, base.dataset, base.lists, after),
            answer_changes(base, before, base, after),
        ]
        facts = {"carried": False, "proof_deviation": 0.0, "tau": 1.0, "artefact": artefact}
        return facts | {"set_size": base.lists.mean_length}, {"values": np.concatenate(values)}

    def _scores(self, label: str) -> Scores:
        """Unperturbed scores of a ranker, cached."""
        if label not in self._before:
            base = self.training.workbench.prepared.test
            self._before[label] = self.rankers[label].score(base.dataset, base.lists)
        return self._before[label]

    def _trial_scores(
        self, trial: Trial, before: Scores
    ) -> Generator[Progress, None, tuple[Scores, str]]:
        """Scores of a trial; an initial ranking has no training to change."""
        entry, base = entry_of(trial.family), self.training.workbench.prepared.test
        if trial.level == entry.unchanged or (entry.retrains and trial.ranker == INITIAL):
            return before, ""
        if not entry.retrains:
            draws = generator(self.training.seed, trial.family, float(trial.level), trial.draw)
            ranker = self.rankers[trial.ranker]
            return scores_under(ranker, base, trial.family, trial.level, draws), ""
        words = f"of {trial.ranker}, {trial.family} {trial.level:g}, draw {trial.draw}"
        trained = yield from with_words(self.training.train(trial), words)
        return trained.ranker.score(base.dataset, base.lists), str(trained.artefact.key)
