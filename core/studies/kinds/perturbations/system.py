"""Rankers asked in another way: in bfloat16, in other batches, with other numbers of threads.

The input stays as it is; what moves all the same is arithmetic. Not every ranker has something to
be changed: a tree has no bfloat16, an initial ranking is not computed at all. Those are named with
the reason, and have no values; a 0 is always a measured one.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from jaxtyping import Float32, Int64

from shuffleproof.core.data import ragged
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.perturb.registry import entry_of
from shuffleproof.core.perturb.system import BATCHES, BFLOAT16, ORDER, SEED, THREADS
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.rankers.neural.recipes import FIXED
from shuffleproof.core.studies.kinds.perturbations.retraining import seed_of
from shuffleproof.core.studies.kinds.ranking_degradation.study import INITIAL

NETWORKS = frozenset({BFLOAT16, THREADS})


def meaningless(family: str, labels: Iterable[str]) -> dict[str, str]:
    """Why a family means nothing for some of a study's rankers; empty for those of the input.

    Args:
        family: of perturbations.
        labels: of the rankers, as a study names them; of those that can be trained again if the
            family asks for it.

    >>> meaningless("bfloat16", ["dlcm#0123", "feature:3"])
    {'feature:3': 'no bfloat16 in it'}
    """
    if "system" not in entry_of(family).changes:
        return {}
    reasons = {label: _reason(family, label) for label in labels}
    return {label: reason for label, reason in reasons.items() if reason}


def in_words(reasons: Mapping[str, str]) -> str:
    """Labels and their reasons in words, each reason once.

    >>> in_words({"initial ranking": "given", "mart": "no net", "ranksvm": "no net"})
    'initial ranking (given); mart, ranksvm (no net)'
    """
    labels: dict[str, list[str]] = {}
    for label, reason in reasons.items():
        labels.setdefault(reason, []).append(label)
    return "; ".join(f"{', '.join(own)} ({reason})" for reason, own in labels.items())


def _reason(family: str, label: str) -> str:
    name = RankerName.parse(label).base
    if label == INITIAL:
        return "given, not computed"
    if family in NETWORKS and name not in FIXED:
        return "no bfloat16 in it" if family == BFLOAT16 else "nothing added up in parallel"
    if family == SEED and seed_of(registry.spec(name)) is None:
        return "nothing drawn in training"
    if family == ORDER and not registry.entry(name).fitted:
        return "learns from no row"
    return ""


def answered(
    ranker: Ranker,
    base: JudgedLists,
    family: str,
    level: int | float,
    draws: np.random.Generator,
) -> Float32[np.ndarray, " candidates"]:
    """The scores of the lists as they are, asked in another way.

    Args:
        ranker: one for which the family means something.
        base: the lists.
        family: of those that ask in another way.
        level: in the family's unit; at 0 nothing is changed.
        draws: of the succession of the lists.
    """
    if level == 0:
        return ranker.score(base.dataset, base.lists)
    if family == BATCHES:
        return _in_parts(ranker, base, round(level), draws.permutation(len(base.lists)))
    if family == THREADS:
        return _threaded(ranker, base, round(level))
    network: Any = ranker
    found: Float32[np.ndarray, " candidates"] = network.score_variants(
        base.dataset, [base.lists], precision="bf16"
    )[0]
    return found


def _in_parts(
    ranker: Ranker, base: JudgedLists, size: int, order: Int64[np.ndarray, " lists"]
) -> Float32[np.ndarray, " candidates"]:
    """The scores when the lists are scored in this succession, so many at a time."""
    scores = np.empty(len(base.lists.rows), dtype=np.float32)
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        places = ragged.elements_of(base.lists.offsets, chosen)
        scores[places] = ranker.score(base.dataset, base.lists.select(chosen))
    return scores


def _threaded(ranker: Ranker, base: JudgedLists, count: int) -> Float32[np.ndarray, " candidates"]:
    import torch  # noqa: PLC0415 (only networks are scored with other numbers of threads)

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        return ranker.score(base.dataset, base.lists)
    finally:
        torch.set_num_threads(before)
