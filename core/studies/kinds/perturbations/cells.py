"""Trials that no disturbed list tells: rankers trained again, or asked in another way.

The lists are those of the study, before and after; what differs is who answers, or how.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float32

from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate
from shuffleproof.core.perturb.registry import entry_of
from shuffleproof.core.progress import Progress, saying
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.seeds import generator
from shuffleproof.core.studies.cells import Cell
from shuffleproof.core.studies.kinds.perturbations.answer_changes import answer_changes
from shuffleproof.core.studies.kinds.perturbations.retraining import Retraining
from shuffleproof.core.studies.kinds.perturbations.system import answered
from shuffleproof.core.studies.kinds.ranking_degradation.study import INITIAL
from shuffleproof.core.studies.study import Found, Trial

Scores = Float32[np.ndarray, " candidates"]


@dataclass(frozen=True)
class Otherwise:
    """Computes such trials.

    Attributes:
        training: trains the study's rankers again.
        rankers: of the study, by label.
        measures: that are stored.
    """

    training: Retraining
    rankers: Mapping[str, Ranker]
    measures: Sequence[Measure]
    _before: dict[str, Scores] = field(default_factory=dict)

    def __call__(self, cell: Cell) -> Generator[Progress, None, Found]:
        """A trial's facts and values; `artefact` is the ranker that was trained for it."""
        base, trial = self.training.bench.prepared.test, cell.row
        before = self._scores(trial.ranker)
        after, artefact = yield from self._after(trial, before)
        values = [
            evaluate(self.measures, base.dataset, base.lists, after),
            answer_changes(base, before, base, after),
        ]
        facts = {"carried": False, "proof_deviation": 0.0, "tau": 1.0, "artefact": artefact}
        return facts | {"set_size": base.lists.mean_length}, {"values": np.concatenate(values)}

    def _scores(self, label: str) -> Scores:
        """A ranker's scores of the lists, as it is and as it is usually asked."""
        if label not in self._before:
            base = self.training.bench.prepared.test
            self._before[label] = self.rankers[label].score(base.dataset, base.lists)
        return self._before[label]

    def _after(self, trial: Trial, before: Scores) -> Generator[Progress, None, tuple[Scores, str]]:
        """The scores of a trial; an initial ranking has learnt nothing that could be changed."""
        entry, base = entry_of(trial.family), self.training.bench.prepared.test
        if trial.level == entry.unchanged or (entry.retrains and trial.ranker == INITIAL):
            return before, ""
        if not entry.retrains:
            draws = generator(self.training.seed, trial.family, float(trial.level), trial.draw)
            ranker = self.rankers[trial.ranker]
            return answered(ranker, base, trial.family, trial.level, draws), ""
        named = f"of {trial.ranker}, {trial.family} {trial.level:g}, draw {trial.draw}"
        kept = yield from saying(self.training.trained(trial), named)
        return kept.ranker.score(base.dataset, base.lists), str(kept.artefact.key)
