"""Which families of perturbations have nothing to say of which rankers, and why.

A family that means nothing for a ranker, or cannot be put to it, has no values and a reason; the
other families of a study go on. A 0 is always a measured one.
"""

from collections.abc import Iterable, Mapping, Sequence

from shuffleproof.core.errors import DataError, ShuffleproofError, UsageError
from shuffleproof.core.experiment.precomputed_scores import beyond
from shuffleproof.core.perturb.registry import ATTACK, entry_of
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.name import INITIAL, RankerName
from shuffleproof.core.studies.kinds.perturbations.system import in_words, meaningless, untrainable

InapplicableRankers = dict[str, dict[str, str]]
"""By family, the rankers without values under it and the reason of each."""


def inapplicable_rankers(
    families: Iterable[str], labels: Sequence[str], rankings: int = 1
) -> InapplicableRankers:
    """What is known before anything is computed; families without a reason are there, empty.

    Args:
        families: of perturbations.
        labels: of the rankers, the initial ranking among them.
        rankings: how many initial rankings the lists carry.

    Raises:
        UnknownNameError: no such family.

    >>> found = inapplicable_rankers(["label-noise", "cut"], ["dlcm", "feature:2", "dlcm#01"])
    >>> found["label-noise"]["feature:2"], found["cut"]
    ('learns from no label', {})
    """
    return {family: _reasons(family, labels, rankings) for family in dict.fromkeys(families)}


def _reasons(family: str, labels: Sequence[str], rankings: int) -> dict[str, str]:
    entry = entry_of(family)
    if family == ATTACK:
        return dict.fromkeys(labels, "no network among the rankers to be attacked")
    if "ranking" in entry.changes and not rankings:
        return dict.fromkeys(labels, "the lists carry no initial ranking")
    unable = {}
    if entry.retrains:
        reasons = untrainable(labels)
        unable = {name: f"cannot be trained again, {reason}" for name, reason in reasons.items()}
    able = [label for label in labels if label not in unable]
    learns = _learning_nothing(able) if "labels" in entry.changes else {}
    return meaningless(family, able) | learns | unable | beyond(family, labels)


def _learning_nothing(labels: Iterable[str]) -> dict[str, str]:
    """The rankers to which labels to learn from are all the same, and why."""
    reasons = {}
    for label in labels:
        if label == INITIAL:
            reasons[label] = "given, not trained again"
        elif not registry.entry(RankerName.parse(label).base).learns:
            reasons[label] = "learns from no label"
    return reasons


def failure_reason(error: ShuffleproofError, *, trains: bool) -> str:
    """The reason of a family that turned out to be impossible for a ranker."""
    verb = "cannot be trained on it" if trains else "cannot be asked"
    reason = error.finding if isinstance(error, DataError) else str(error).rstrip(".")
    return f"{verb}, {reason}"


def check(found: Mapping[str, Mapping[str, str]], labels: Sequence[str]) -> None:
    """Refuse a study of which nothing would be left.

    Raises:
        UsageError: every family is left out for every ranker.
    """
    if not found or any(set(labels) - set(reasons) for reasons in found.values()):
        return
    sentences = [
        f"{family} means nothing for {in_words(reasons)}" for family, reasons in found.items()
    ]
    raise UsageError(f"nothing is left to study: {'. '.join(sentences)}; name others")
