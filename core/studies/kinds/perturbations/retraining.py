"""Trials whose rankers are trained again: on other labels, in another order, from another seed.

Only the training part changes: what a ranker is selected and tested on keeps its labels, and the
candidate lists stay what they were.
"""

from collections.abc import Generator, Iterable
from dataclasses import asdict, dataclass, replace

from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import UsageError
from shuffleproof.core.perturb.base import disturbed
from shuffleproof.core.perturb.registry import perturbation
from shuffleproof.core.perturb.system import ORDER, SEED, reordered
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.base import RankerSpec
from shuffleproof.core.rankers.canonical import in_file_order
from shuffleproof.core.rankers.fit_cache import ALL_DOCUMENTS, CachedRanker, fit_or_load
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.seeds import generator
from shuffleproof.core.studies.study import Trial
from shuffleproof.core.studies.workbench import Workbench

STEP = 1000
"""A study's own seed moves the seeds of its trainings by so many, more than a level has draws."""


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
        """The training lists with the labels of a trial, or from rows in its order."""
        draws = generator(self.seed, trial.family, float(trial.level), trial.draw)
        if trial.family == ORDER:
            return reordered(self.bench.prepared.train, draws)
        change = perturbation(trial.family, trial.level)
        return disturbed(change, self.bench.prepared.train, draws)

    def trained(self, trial: Trial) -> Generator[Progress, None, CachedRanker]:
        """The ranker of a trial, or what was found of it; its name says the recipe.

        Raises:
            UsageError: what has no recipe, see `check_trainable`.
        """
        check_trainable(trial.ranker)
        spec = self.spec_of(trial)
        train, valid = self.train_lists(trial), self.bench.prepared.valid
        if not spec.fits_documents:
            made = asdict(self.bench.recipe)
            return (yield from fit_or_load(spec, train, valid, made, self.bench.store))
        train = replace(train, lists=CandidateLists.everything(train.dataset))
        valid = replace(valid, lists=CandidateLists.everything(valid.dataset))
        return (yield from fit_or_load(spec, train, valid, ALL_DOCUMENTS, self.bench.store))

    def spec_of(self, trial: Trial) -> RankerSpec:
        """The recipe of a trial: with the next seeds after its own where the seed is changed.

        Where the order of the rows is changed, a recipe that fixes one learns them as they come.
        Draw d of a study with seed s has the recipe's seed + 1 + d + 1000 s, so that what was
        trained for another study with the next seeds is found.
        """
        spec = registry.spec(trial.ranker, self.bench.preset)
        if trial.family == ORDER:
            return in_file_order(spec)
        own = seed_of(spec)
        if trial.family != SEED or own is None:
            return spec
        seed = str(own + 1 + trial.draw + STEP * self.seed)
        return registry.spec(trial.ranker, self.bench.preset, seed=seed)


def seed_of(spec: RankerSpec) -> int | None:
    """The seed in a ranker's recipe; None: nothing in it is drawn.

    >>> seed_of(registry.spec("random", "paper")), seed_of(registry.spec("feature:3", "paper"))
    (0, None)
    """
    recipe = spec.recipe()
    found: int | None = recipe.get("training", recipe).get("seed")
    return found


def untrainable(names: Iterable[str]) -> dict[str, str]:
    """The rankers that have no recipe to be trained by, and why.

    Args:
        names: as `Workbench.identified` takes them.

    >>> untrainable(["dlcm@small", "dlcm#01", "scores:mine.txt"])
    {'dlcm#01': 'named by its key, not by a recipe', 'scores:mine.txt': 'from outside'}
    >>> untrainable(["scores#01", "mine:score", "rrf:dlcm+mart"])["rrf:dlcm+mart"]
    'a combination'
    """
    reasons = {name: _no_recipe(name) for name in names}
    return {name: reason for name, reason in reasons.items() if reason}


def _no_recipe(text: str) -> str:
    name = RankerName.parse(text)
    if name.options is not None:
        return "a combination"
    if name.is_from_outside:
        return "from outside"
    return "named by its key, not by a recipe" if name.digits else ""


def check_trainable(name: str) -> None:
    """Refuse what has no recipe.

    Raises:
        UsageError: a callable, a file, a stored ranker or a combination of rankers.
    """
    for found, reason in untrainable([name]).items():
        raise UsageError(
            f"{found} cannot be trained again ({reason}): name a ranker by its recipe, or leave "
            "the families that change labels, rows or the seed of the training out"
        )
