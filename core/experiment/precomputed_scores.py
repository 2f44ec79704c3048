"""Precomputed scores: the perturbations that they cannot answer.

A file of scores holds one answer, for the original lists. The inputs of its ranker are unknown, so
a perturbed input has no answer: looking up the old score would be a false assurance.
"""

from collections.abc import Iterable

from shuffleproof.core.errors import FixedScoresError
from shuffleproof.core.perturb.registry import entry_of
from shuffleproof.core.rankers.name import RankerName

REASON = "cannot be re-scored, its scores are in a file"
NOT_ASKED = "not asked"
INPUT = frozenset({"order", "ranking", "set", "features"})


def is_precomputed(label: str) -> bool:
    """True if a ranker name of a study means scores in a file.

    >>> [is_precomputed(label) for label in ("scores#0123", "scores:mine.txt", "dlcm@small")]
    [True, True, False]
    """
    return RankerName.of(label).is_scores


def is_as_is(family: str, level: int | float) -> bool:
    """True if a level of a family leaves the lists unchanged, so that scores in a file are valid.

    >>> is_as_is("cut", 0), is_as_is("cut", 0.5), is_as_is("cut:0.5+shuffle-shown", 0)
    (True, False, False)
    """
    entry = entry_of(family)
    return level == entry.unchanged and "+" not in family and entry.of_input


def beyond(family: str, labels: Iterable[str]) -> dict[str, str]:
    """Why a family cannot be put to some of a study's rankers.

    >>> beyond("feature-noise", ["dlcm", "scores#0123"])
    {'scores#0123': 'cannot be re-scored, its scores are in a file'}
    """
    if not entry_of(family).changes & INPUT:
        return {}
    return {label: REASON for label in labels if is_precomputed(label)}


def refuse(labels: Iterable[str]) -> None:
    """Refuse rankers that would have to be scored again, and combinations of such.

    Raises:
        FixedScoresError: scores in a file.
    """
    for label in labels:
        for leaf in RankerName.parse(label).leaves:
            if leaf.is_scores:
                raise FixedScoresError(str(leaf), label)
