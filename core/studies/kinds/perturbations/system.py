"""Trials that no disturbed list tells: rankers trained again, or asked in another way.

Asked in bfloat16, in other batches or with other numbers of threads, only arithmetic moves. Trained
on other labels, in another order or from another seed, only the training part changes: what a
ranker is selected and tested on, and the candidate lists, stay what they were.
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
from shuffleproof.core.perturb.base import disturb
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
"""Kendall's τ-b of the two answers, the expected share of the first 1 and 10 that are still
there, and the largest change of a score."""


def measured_by(measures: Sequence[Measure]) -> MeasureTrial:
    """The study's step: measures of every variant, then what became of the answer (OWN).

    It remembers each ranker's scores of the base lists, so make a new one for every study.
    """
    carriers: dict[tuple[int, int], ScoreCache] = {}

    def measured(
        ranker: Ranker, base: JudgedLists, variants: Sequence[JudgedLists]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Values [measures, queries] of each variant, and whether its scores were carried over."""
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
    """What became of the answer to each list, over the documents that both have.

    Returns:
        One row for each of OWN; τ is NaN where an answer ties all documents of a list.
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
"""A study's own seed moves the seeds of its trainings by so many, more than a level has draws."""


@dataclass(frozen=True)
class Retraining:
    """Trains the rankers of a study again, trial by trial."""

    workbench: Workbench
    seed: int

    def train_lists(self, trial: Trial) -> JudgedLists:
        """The training lists with the labels of a trial, or from rows in its order."""
        draws = generator(self.seed, trial.family, float(trial.level), trial.draw)
        if trial.family == ORDER:
            return reordered(self.workbench.prepared.train, draws)
        change = perturbation(trial.family, trial.level)
        return disturb(change, self.workbench.prepared.train, draws)

    def train(self, trial: Trial) -> Generator[Progress, None, CachedRanker]:
        """The ranker of a trial, or what was found of it; its name says the recipe.

        Raises:
            UsageError: a callable, a file, a stored ranker or a combination: it has no recipe.
        """
        if reason := without_recipe(trial.ranker):
            raise UsageError(
                f"{trial.ranker} cannot be trained again ({reason}): name a ranker by its recipe, "
                "or leave the families that change labels, rows or the seed of the training out"
            )
        spec = self.spec_of(trial)
        return (yield from self.workbench.fit(spec, lambda: self.training_data(spec, trial)))

    def training_data(self, spec: RankerSpec, trial: Trial) -> TrainingData:
        """What the recipe of a trial learns from."""
        train, valid = self.train_lists(trial), self.workbench.prepared.valid
        if not spec.fits_documents:
            return train, valid, self.workbench.recipe.learning_fields()
        train = replace(train, lists=CandidateLists.all_documents(train.dataset))
        valid = replace(valid, lists=CandidateLists.all_documents(valid.dataset))
        return train, valid, ALL_DOCUMENTS

    def spec_of(self, trial: Trial) -> RankerSpec:
        """The recipe of a trial: with the next seeds after its own where the seed is changed.

        Where the order of the rows is changed, a recipe that fixes one learns them as they come.
        Draw d of a study with seed s has the recipe's seed + 1 + d + 1000 s, so that what was
        trained for another study with the next seeds is found.
        """
        spec = registry.spec(trial.ranker, self.workbench.preset)
        if trial.family == ORDER:
            return in_file_order(spec)
        recipe_seed = seed_of(spec)
        if trial.family != SEED or recipe_seed is None:
            return spec
        seed = str(recipe_seed + 1 + trial.draw + STEP * self.seed)
        return registry.spec(trial.ranker, self.workbench.preset, seed=seed)


def scores_under(
    ranker: Ranker,
    base: JudgedLists,
    family: str,
    level: int | float,
    draws: np.random.Generator,
) -> Float32[np.ndarray, " candidates"]:
    """The scores of the lists as they are, asked in another way."""
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
    """The scores when the lists are scored in this succession, so many at a time."""
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
    """Computes such trials."""

    training: Retraining
    rankers: Mapping[str, Ranker]
    measures: Sequence[Measure]
    _before: dict[str, Scores] = field(default_factory=dict)

    def __call__(self, cell: Cell) -> Generator[Progress, None, CellResult]:
        """A trial's facts and values; `artefact` is the ranker that was trained for it."""
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
        """A ranker's scores of the lists, as it is and as it is usually asked."""
        if label not in self._before:
            base = self.training.workbench.prepared.test
            self._before[label] = self.rankers[label].score(base.dataset, base.lists)
        return self._before[label]

    def _trial_scores(
        self, trial: Trial, before: Scores
    ) -> Generator[Progress, None, tuple[Scores, str]]:
        """The scores of a trial; an initial ranking has learnt nothing that could be changed."""
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
