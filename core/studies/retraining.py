"""Trials whose rankers are trained again, on labels that were disturbed.

Only the training part changes: what a ranker is selected and tested on keeps its labels, and the
candidate lists stay what they were.
"""

from collections.abc import Generator
from dataclasses import asdict, dataclass, replace

from core.data.lists import CandidateLists, JudgedLists
from core.errors import UsageError
from core.perturb.base import disturbed
from core.perturb.registry import perturbation
from core.progress import Progress
from core.rankers import registry
from core.rankers.foreign import is_callable
from core.rankers.kept import ALL_DOCUMENTS, Kept, kept
from core.seeds import generator
from core.studies.study import Trial
from core.studies.workbench import Workbench


@dataclass(frozen=True)
class Retraining:
    """Trains the rankers of a study again, trial by trial.

    Attributes:
        bench: the data and its lists.
        seed: master seed of the draws; the rankers' own seeds stay.
    """

    bench: Workbench
    seed: int

    def train_lists(self, trial: Trial) -> JudgedLists:
        """The training lists with the labels of a trial."""
        change = perturbation(trial.family, trial.level)
        draws = generator(self.seed, trial.family, float(trial.level), trial.draw)
        return disturbed(change, self.bench.prepared.train, draws)

    def trained(self, trial: Trial) -> Generator[Progress, None, Kept]:
        """The ranker of a trial, or what was found of it; its name says the recipe.

        Raises:
            UsageError: a callable or a stored ranker, which cannot be trained again.
        """
        check_trainable(trial.ranker)
        name, _, preset = trial.ranker.partition("@")
        spec = registry.spec(name, preset or self.bench.preset)
        train, valid = self.train_lists(trial), self.bench.prepared.valid
        if not spec.fits_documents:
            made = asdict(self.bench.recipe)
            return (yield from kept(spec, train, valid, made, self.bench.store))
        train = replace(train, lists=CandidateLists.everything(train.dataset))
        valid = replace(valid, lists=CandidateLists.everything(valid.dataset))
        return (yield from kept(spec, train, valid, ALL_DOCUMENTS, self.bench.store))


def check_trainable(name: str) -> None:
    """Refuse what has no recipe.

    Raises:
        UsageError: a callable or a stored ranker.
    """
    if "#" in name or is_callable(name):
        raise UsageError(
            f"{name} cannot be trained again on other labels: name a ranker by its recipe, "
            "or leave the families that change labels out"
        )
