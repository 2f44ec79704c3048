"""Registry entries of families of perturbations."""

from collections.abc import Callable
from dataclasses import dataclass

from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import ParameterError
from shuffleproof.core.perturb.base import Change, Perturbation
from shuffleproof.core.perturb.feasibility import Reach

INFINITE = float("inf")
MOST_LEVEL = 1e9
"""Of what has no bound of its own: more exchanges than any list has pairs."""

SHARES = (0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)


@dataclass(frozen=True)
class PerturbationEntry:
    """A family of perturbations: what its level means and which levels make sense.

    Attributes:
        family: its name.
        summary: what it does, one sentence.
        source: where it comes from.
        unit: what the level counts.
        low: least level.
        high: greatest level; infinite where there is none.
        default_levels: levels of a first study, the unchanged lists first where there are several.
        make: the perturbation of a level.
        brings: documents may enter the list.
        reach: the greatest level that each list can take; `feasibility.any_level` if
            every level fits.
        unchanged: the level at which the lists stay as they are.
        whole: the level is a whole number.
        random: the result depends on the seed.
        random_before: random at the unchanged level too, as a chain with another random part is.
        anew: rankers are trained again, on unchanged labels.
    """

    family: str
    summary: str
    source: str
    unit: str
    low: float
    high: float
    default_levels: tuple[float, ...]
    make: Callable[[float], Perturbation]
    brings: bool
    reach: Reach
    unchanged: float = 0.0
    whole: bool = False
    random: bool = True
    random_before: bool = False
    anew: bool = False

    @property
    def changes(self) -> frozenset[Change]:
        """Parts of the input that its perturbations change."""
        return self.make(self.default_levels[-1]).changes

    @property
    def retrains(self) -> bool:
        """True if it changes the training of rankers, so that they are trained again."""
        return self.anew or "labels" in self.changes

    @property
    def of_input(self) -> bool:
        """True if it changes the input of a ranker; else its training or computation."""
        return not self.changes & {"labels", "system"}

    def draws(self, level: int | float, wanted: int) -> int:
        """Number of different draws of a level: the wanted ones, or one."""
        # In a chain, earlier links may draw although the last one is at its unchanged level
        is_random = self.random_before if level == self.unchanged else self.random
        return wanted if is_random else 1

    def lists_reaching(self, judged: JudgedLists, level: int | float) -> int:
        """Number of lists that allow a level; lists that it does not change count."""
        if level == self.unchanged:
            return len(judged.lists)
        return int((self.reach(judged) >= level).sum())

    def at(self, level: int | float) -> Perturbation:
        """The perturbation of a level.

        Raises:
            ParameterError: a level out of its bounds, or broken where whole ones are due.
        """
        high = min(self.high, MOST_LEVEL)
        if not self.low <= level <= high or (self.whole and level != round(level)):
            bounds = f"at least {self.low:g}" if level <= high == MOST_LEVEL else ""
            bounds = bounds or f"between {self.low:g} and {high:g}"
            kind = "a whole number" if self.whole else "a number"
            raise ParameterError(f"{self.family} level", level, f"{kind} {bounds} ({self.unit})")
        return self.make(float(level))
