"""What a study is: a frozen description, and the pure plan of trials that follows from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.errors import ParameterError
from core.numerals import number
from core.perturb.registry import ATTACK, entry_of
from core.store.keys import key_of


@dataclass(frozen=True)
class Trial:
    """One ranker, one perturbation at one level, one draw; its result depends on nothing else.

    Attributes:
        ranker: label of the ranker in the study.
        family: perturbation family.
        level: strength in the family's unit.
        draw: which random draw, from 0; rankers share the draws, so that they compare in pairs.
    """

    ranker: str
    family: str
    level: float
    draw: int


@dataclass(frozen=True)
class Study:
    """A study's full description; equal descriptions give equal results.

    Attributes:
        kind: the registry's name of the study ("initial-ranking", "invariance").
        rankers: (label, digest) of every ranker: the label names it on screen, the digest of its
            artefact decides what it computes.
        lists: digest of the candidate lists (data set, initial rankers, depth).
        initial: the initial rankers' names, for people.
        perturbations: (family, level) pairs, in the order to be run.
        measures: measures as text, each parseable: what the study is asked for.
        draws: random draws a perturbation.
        seed: master seed of all draws.
        stored: measures whose values are kept for every query, when they are more or others than
            `measures`; see `core.studies.conventions`.
    """

    kind: str
    rankers: tuple[tuple[str, str], ...]
    lists: str
    initial: tuple[str, ...]
    perturbations: tuple[tuple[str, float], ...]
    measures: tuple[str, ...]
    draws: int
    seed: int
    stored: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a study that draws nothing."""
        counted_draws(self.draws)

    @property
    def measured(self) -> tuple[str, ...]:
        """The measures along the second axis of the values."""
        return self.stored or self.measures

    def recipe(self) -> dict[str, Any]:
        """The description as plain JSON values."""
        recipe: dict[str, Any] = {
            "kind": self.kind,
            "rankers": [list(ranker) for ranker in self.rankers],
            "lists": self.lists,
            "initial": list(self.initial),
            "perturbations": [list(pair) for pair in self.perturbations],
            "measures": list(self.measures),
            "draws": self.draws,
            "seed": self.seed,
        }
        return recipe | ({"stored": list(self.stored)} if self.stored else {})

    @classmethod
    def of(cls, recipe: Mapping[str, Any]) -> "Study":
        """The study whose `recipe()` this is."""
        return cls(
            kind=recipe["kind"],
            rankers=tuple((label, digest) for label, digest in recipe["rankers"]),
            lists=recipe["lists"],
            initial=tuple(recipe["initial"]),
            perturbations=tuple(
                (family, float(level)) for family, level in recipe["perturbations"]
            ),
            measures=tuple(recipe["measures"]),
            draws=recipe["draws"],
            seed=recipe["seed"],
            stored=tuple(recipe.get("stored", ())),
        )

    def digest_of(self, trial: Trial) -> str:
        """The key under which a trial's values are stored; other trials do not enter it."""
        facts = {
            "kind": self.kind,
            "ranker": dict(self.rankers)[trial.ranker],
            "lists": self.lists,
            "perturbation": [trial.family, trial.level, trial.draw],
            "measures": list(self.measured),
            "seed": self.seed,
        }
        if trial.family.startswith(f"{ATTACK}@"):
            facts["attacked"] = dict(self.rankers)[trial.family.partition("@")[2]]
        return key_of("trial", facts).digest


def counted_draws(draws: int) -> None:
    """Refuse a number of random draws that is none.

    Raises:
        ParameterError: not a whole number of at least 1.
    """
    if not isinstance(draws, int) or isinstance(draws, bool) or draws < 1:
        raise ParameterError("number of draws (permutations)", draws, "a whole number from 1 on")


def plan(study: Study) -> tuple[Trial, ...]:
    """All trials, in the order in which they are run: first results of every ranker early.

    >>> study = Study("initial-ranking", (("a", "1"), ("b", "2")), "lists", ("random",),
    ...               (("transpositions", 0.0), ("transpositions", 5.0)), ("NDCG@10",), 2, 0)
    >>> [(trial.ranker, trial.level, trial.draw) for trial in plan(study)][:3]
    [('a', 0.0, 0), ('b', 0.0, 0), ('a', 5.0, 0)]
    """
    return tuple(
        Trial(label, family, level, draw)
        for family, level in study.perturbations
        for label, _ in study.rankers
        for draw in range(entry_of(family).draws(level, study.draws))
    )


def levels_of(family: str, given: str | None = None) -> list[float]:
    """The levels of a family, those given or its own; the unchanged level first, then outwards.

    >>> levels_of("mallows", "0.2,0.9")
    [1.0, 0.9, 0.2]
    """
    entry = entry_of(family)
    try:
        levels = [number(level) for level in given.split(",")] if given else entry.default_levels
    except ValueError:
        raise ParameterError("--levels", given, "numbers, comma-separated") from None
    for level in levels:
        entry.at(level)
    return sorted({entry.unchanged, *levels}, key=lambda one: (abs(one - entry.unchanged), one))
