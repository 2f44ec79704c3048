"""Scores that are known for given documents alone: what cannot be asked of them.

A file of scores holds one answer, to the lists as they were. Nobody knows what the ranker behind it
reads, so no disturbed input has an answer: looking the old one up would be a false assurance.
"""

from collections.abc import Iterable

from shuffleproof.core.errors import FixedScoresError
from shuffleproof.core.perturb.registry import entry_of
from shuffleproof.core.rankers.name import RankerName

REASON = "cannot be re-scored, its scores are in a file"
NOT_ASKED = "not asked"
INPUT = frozenset({"order", "ranking", "set", "features"})


def is_precomputed(label: str) -> bool:
    """Whether a ranker, as a study names it, is scores in a file.

    >>> [is_precomputed(label) for label in ("scores#0123", "scores:mine.txt", "dlcm@small")]
    [True, True, False]
    """
    return RankerName.of(label).is_scores


def is_as_is(family: str, level: int | float) -> bool:
    """Whether a level of a family of input leaves the lists as they are: scores in a file hold.

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
