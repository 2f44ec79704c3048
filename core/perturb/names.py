"""The names of all families of perturbations, known before anything that perturbs is loaded."""

from collections.abc import Iterable

from shuffleproof.core import user_code
from shuffleproof.core.errors import UnknownNameError

FAMILIES = (
    "transpositions", "adjacent-inversions", "shuffle", "reverse", "mallows", "score-noise",
    "plackett-luce", "top-swaps", "tail-swaps", "reversed-pairs", "promote", "demote-best",
    "tie-storm", "shuffle-shown", "reverse-shown", "blocks-shown", "rotate-shown",
    "label-shown", "id-shown", "cut", "sample", "remove-top", "singleton", "distractors",
    "hard-distractors", "duplicates", "near-duplicates", "feature-noise", "feature-scale",
    "feature-quantised", "feature-clipped", "missing-mean", "missing-zero", "group-out",
    "unit-error", "column-shuffled", "gradient-sign", "label-flips", "label-noise",
    "label-censored", "clicks-position", "clicks-cascade", "train-seed", "train-order",
    "bfloat16", "batches", "threads",
)  # fmt: skip
"""In the order of the registry."""


def refuse_unknown(families: Iterable[str]) -> None:
    """Refuse a family, or a chain of them, that names what there is not.

    Levels, the ranker under attack, and digits of user code are checked where the family is made
    (`registry.entry_of`).

    Raises:
        UnknownNameError: no such family.

    >>> refuse_unknown(["transpositions:5+cut", "gradient-sign@dlcm"])
    """
    for family in families:
        for link in user_code.full_family(family).partition("@")[0].split("+"):
            name = link.partition(":")[0]
            known_names = [*FAMILIES, *user_code.names("perturbation")]
            if name not in known_names and user_code.MARK not in name:
                raise UnknownNameError("perturbation", name, known_names)
