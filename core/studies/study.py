"""What a study is: a frozen description, and the pure plan of trials that follows from it."""

from dataclasses import dataclass
from typing import Any

from core.perturb.registry import PERTURBATIONS
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
        measures: measures as text, each parseable.
        draws: random draws a perturbation.
        seed: master seed of all draws.
    """

    kind: str
    rankers: tuple[tuple[str, str], ...]
    lists: str
    initial: tuple[str, ...]
    perturbations: tuple[tuple[str, float], ...]
    measures: tuple[str, ...]
    draws: int
    seed: int

    def recipe(self) -> dict[str, Any]:
        """The description as plain JSON values."""
        return {
            "kind": self.kind,
            "rankers": [list(ranker) for ranker in self.rankers],
            "lists": self.lists,
            "initial": list(self.initial),
            "perturbations": [list(pair) for pair in self.perturbations],
            "measures": list(self.measures),
            "draws": self.draws,
            "seed": self.seed,
        }

    def digest_of(self, trial: Trial) -> str:
        """The key under which a trial's values are stored; other trials do not enter it."""
        facts = {
            "kind": self.kind,
            "ranker": dict(self.rankers)[trial.ranker],
            "lists": self.lists,
            "perturbation": [trial.family, trial.level, trial.draw],
            "measures": list(self.measures),
            "seed": self.seed,
        }
        return key_of("trial", facts).digest


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
        for draw in range(1 if level == PERTURBATIONS[family].unchanged else study.draws)
    )
