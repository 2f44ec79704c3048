"""Scores that are known for given documents alone: which disturbances they can be asked about.

A file of scores answers for the documents of one part as they are. Another order, another initial
ranking or fewer documents leave those answers as they are; other features or documents do not.
"""

from collections.abc import Iterable

from core.perturb.registry import entry_of
from core.rankers.outside import SCORES

FEWER = frozenset({"cut", "sample", "remove-top", "singleton"})
"""Families that change the set by leaving documents out, and bring none."""

REASON = "cannot be re-scored, its scores are in a file"


def is_frozen(label: str) -> bool:
    """Whether a ranker, as a study names it, is scores in a file.

    >>> [is_frozen(label) for label in ("scores#0123", "scores:mine.txt", "dlcm@small")]
    [True, True, False]
    """
    return label.partition("#")[0].partition(":")[0] == SCORES


def beyond(family: str, labels: Iterable[str]) -> dict[str, str]:
    """Why a family cannot be put to some of a study's rankers.

    >>> beyond("feature-noise", ["dlcm", "scores#0123"])
    {'scores#0123': 'cannot be re-scored, its scores are in a file'}
    >>> beyond("cut", ["scores#0123"]), beyond("cut:0.5+duplicates", ["scores#0123"])
    ({}, {'scores#0123': 'cannot be re-scored, its scores are in a file'})
    """
    changes = entry_of(family).changes
    names = {part.partition(":")[0].partition("@")[0] for part in family.split("+")}
    brings = "set" in changes and any(
        "set" in entry_of(name).changes and name not in FEWER for name in names
    )
    if not ("features" in changes or brings):
        return {}
    return {label: REASON for label in labels if is_frozen(label)}
