"""Precomputed scores: the perturbations that they cannot answer.

A file of scores holds one answer, for the original lists. The inputs of its ranker are unknown, so
a perturbed input has no answer: looking up the old score would be a false assurance.
"""

from collections.abc import Sequence

from shuffleproof.core.errors import FixedScoresError
from shuffleproof.core.experiment.ranker_sets import expand
from shuffleproof.core.perturb.registry import entry_of

REASON = "cannot be re-scored, its scores are in a file"
NOT_SCORED = "not asked"
INPUT = frozenset({"order", "ranking", "set", "features"})


def is_as_is(family: str, level: int | float) -> bool:
    """True if a level of a family leaves the lists unchanged, so that scores in a file are valid.

    >>> is_as_is("cut", 0), is_as_is("cut", 0.5), is_as_is("cut:0.5+shuffle-shown", 0)
    (True, False, False)
    """
    entry = entry_of(family)
    return level == entry.unchanged and "+" not in family and entry.of_input


def refuse(labels: Sequence[str]) -> None:
    """Refuse rankers that would have to be scored again, and combinations of such.

    Raises:
        FixedScoresError: scores in a file.
    """
    for label, name in expand(labels).items():
        for leaf in name.leaves:
            if leaf.is_scores:
                raise FixedScoresError(str(leaf), label)
