"""Families of perturbations with the requested levels, or their default ones."""

from collections.abc import Iterable

from shuffleproof.core.errors import ParameterError
from shuffleproof.core.numerals import number
from shuffleproof.core.parameters import parts_of
from shuffleproof.core.perturb.names import stored_family
from shuffleproof.core.perturb.registry import entry_of


def levels_of(family: str, wanted: str | None = None) -> list[float]:
    """The levels of a family, those given or its own; the unchanged level first, then outwards.

    >>> levels_of("mallows", "0.2,0.9")
    [1.0, 0.9, 0.2]
    """
    entry = entry_of(family)
    try:
        levels = [number(level) for level in parts_of(wanted)] if wanted else entry.default_levels
    except ValueError:
        raise ParameterError("levels", wanted, "numbers, comma-separated") from None
    for level in levels:
        entry.at(level)
    return sorted(
        {entry.unchanged, *levels}, key=lambda level: (abs(level - entry.unchanged), level)
    )


def pairs_of(families: Iterable[str], levels: str | None = None) -> tuple[tuple[str, float], ...]:
    """Families at their own levels, or at those given; a family may be a chain or an attack.

    Args:
        families: names of the registry, chains (`transpositions:5+cut`), `gradient-sign@RANKER`.
        levels: comma-separated; taken for every family.

    >>> pairs_of(["singleton", "cut:0.5+shuffle-shown"])[1:]
    (('singleton', 1.0), ('cut:0.5+shuffle-shown', 0.0), ('cut:0.5+shuffle-shown', 1.0))
    """
    full_names = map(stored_family, families)
    return tuple((family, level) for family in full_names for level in levels_of(family, levels))
