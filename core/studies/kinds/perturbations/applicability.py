"""Families of perturbations that do not apply to certain rankers, with reasons.

A family that does not apply to a ranker, or fails on it, has no values but a reason; the other
families of the study continue. A 0 is always a measured value.
"""

from collections.abc import Iterable, Mapping, Sequence

from shuffleproof.core.errors import DataError, ShuffleproofError, UsageError
from shuffleproof.core.experiment.precomputed_scores import INPUT, REASON
from shuffleproof.core.perturb.registry import ATTACK, entry_of
from shuffleproof.core.perturb.system import BFLOAT16, ORDER, SEED, THREADS
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.base import RankerSpec
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.rankers.neural.recipes import FIXED
from shuffleproof.core.studies.resolved_rankers import has_no_recipe

InapplicableRankers = dict[str, dict[str, str]]
"""By family, the rankers without values under it, each with its reason."""

NETWORKS = frozenset({BFLOAT16, THREADS})
"""Families that only change the arithmetic of networks."""


def inapplicable_rankers(
    families: Iterable[str], labels: Sequence[str], rankings: int = 1
) -> InapplicableRankers:
    """Families and rankers known to be inapplicable before any work; every family has an entry.

    Args:
        families: of perturbations.
        labels: of the rankers, including the initial ranking.
        rankings: number of initial rankings in the lists.

    Raises:
        UnknownNameError: no such family.

    >>> found = inapplicable_rankers(["label-noise", "cut"], ["dlcm", "feature:2", "dlcm#01"])
    >>> found["label-noise"]["feature:2"], found["cut"]
    ('learns from no label', {})
    >>> inapplicable_rankers(["bfloat16"], ["dlcm#0123", "feature:3"])["bfloat16"]
    {'feature:3': 'no bfloat16 arithmetic'}
    """
    return {family: _reasons(family, labels, rankings) for family in dict.fromkeys(families)}


def _reasons(family: str, labels: Sequence[str], rankings: int) -> dict[str, str]:
    if family == ATTACK:
        return dict.fromkeys(labels, "no network among the rankers to be attacked")
    if "ranking" in entry_of(family).changes and not rankings:
        return dict.fromkeys(labels, "the lists carry no initial ranking")
    reasons = {label: _reason(family, RankerName.of(label)) for label in labels}
    return {label: why for label, why in reasons.items() if why}


def _reason(family: str, name: RankerName) -> str:
    """Reason why a family does not apply to a ranker; empty if it applies."""
    entry = entry_of(family)
    if name.is_scores and entry.changes & INPUT:
        return REASON
    if entry.retrains and (untrainable := without_recipe(name)):
        return f"cannot be trained again, {untrainable}"
    if "labels" in entry.changes:
        if name.is_initial:
            return "it is not trained"
        return "" if registry.learns(name) else "learns from no label"
    return _reason_of_system(family, name) if "system" in entry.changes else ""


def _reason_of_system(family: str, name: RankerName) -> str:
    if name.is_initial:
        return "it is not computed"
    if family in NETWORKS and name.base not in FIXED:
        return "no bfloat16 arithmetic" if family == BFLOAT16 else "no parallel sums"
    if family == SEED and seed_of(registry.spec_of(name)) is None:
        return "no randomness in training"
    return "learns from no row" if family == ORDER and not registry.learns(name) else ""


def without_recipe(name: RankerName) -> str:
    """Reason why a ranker has no recipe for training; empty if it has one.

    >>> without_recipe(RankerName.of("dlcm#01")), without_recipe(RankerName.of("rrf:dlcm+mart"))
    ('named by its key, not by a recipe', 'a combination')
    """
    if name.options is not None:
        return "a combination"
    if has_no_recipe(name):
        return "imported"
    return "named by its key, not by a recipe" if name.digits else ""


def seed_of(spec: RankerSpec) -> int | None:
    """Seed in a ranker's recipe; None: its training is deterministic.

    >>> seed_of(registry.spec("random", "paper")), seed_of(registry.spec("feature:3", "paper"))
    (0, None)
    """
    recipe = spec.recipe()
    seed: int | None = recipe.get("training", recipe).get("seed")
    return seed


def in_words(reasons: Mapping[str, str]) -> str:
    """Labels and their reasons in words, each reason once.

    >>> in_words({"initial ranking": "given", "mart": "no net", "ranksvm": "no net"})
    'initial ranking (given); mart, ranksvm (no net)'
    """
    labels: dict[str, list[str]] = {}
    for label, reason in reasons.items():
        labels.setdefault(reason, []).append(label)
    return "; ".join(f"{', '.join(names)} ({reason})" for reason, names in labels.items())


FAILED = ("scoring failed", "training failed")
"""Beginnings of reasons that are failures of a ranker."""


def failure_reason(error: ShuffleproofError, *, trains: bool) -> str:
    """Reason of a family that failed for a ranker."""
    verb = FAILED[trains]
    reason = error.finding if isinstance(error, DataError) else str(error).rstrip(".")
    return f"{verb}, {reason}"


def check(found: Mapping[str, Mapping[str, str]], labels: Sequence[str]) -> None:
    """Refuse a study without any applicable family.

    Raises:
        UsageError: no family applies to any ranker.
    """
    if not found or any(set(labels) - set(reasons) for reasons in found.values()):
        return
    sentences = [
        f"{family} does not apply to {in_words(reasons)}" for family, reasons in found.items()
    ]
    raise UsageError(f"no family applies: {'. '.join(sentences)}; name others")
