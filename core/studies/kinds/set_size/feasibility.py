"""Which sizes the lists of a set reach: what is proposed, what can be compared, and in how many.

Lists are never made longer than they are, so a size that no list reaches is no size at all: all
such sizes give the same whole lists, and nothing is claimed of them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Integer

from shuffleproof.core.data.catalogue import resolve
from shuffleproof.core.errors import ParameterError
from shuffleproof.core.store.artefacts import Store

SIZES = (40, 240, 500)
"""The paper's."""

CHEAP = 100
"""A second size to be trained on is proposed up to so many candidates a list."""


def proposed_sizes(lengths: Integer[np.ndarray, " queries"]) -> tuple[int, ...]:
    """The paper's sizes that some list reaches; below two of them, steps that double up to one.

    Steps end at 40, 80 or 160, whichever the longest list reaches; where it is shorter, at it.

    Args:
        lengths: documents of every list, uncut.

    >>> (proposed_sizes(np.array([30, 1000])), proposed_sizes(np.array([90, 121])),
    ...     proposed_sizes(np.array([12])))
    ((40, 240, 500), (20, 40, 80), (3, 6, 12))
    >>> proposed_sizes(np.array([], int))
    (40,)
    """
    longest = int(lengths.max(initial=0))
    reached = tuple(size for size in SIZES if size <= longest)
    if len(reached) > 1:
        return reached
    last = next((size for size in (160, 80, 40) if size <= longest), longest)
    steps = (last // 4, last // 2, last)
    return tuple(dict.fromkeys(size for size in steps if size)) or SIZES[:1]


def proposed_for(data: str, store: Store) -> tuple[int, ...]:
    """`proposed_sizes` for the test lists of a data set, by its name, key or folder."""
    return proposed_sizes(np.diff(resolve(data, store).test.offsets))


def train_sizes(sizes: Sequence[int]) -> tuple[int, ...]:
    """The sizes to train on: the smallest, and the next where another is left and it costs little.

    >>> train_sizes((40, 240, 500)), train_sizes((20, 40, 121)), train_sizes((20, 40))
    ((40,), (20, 40), (20,))
    """
    rising = tuple(sorted(set(sizes)))
    return rising[:2] if len(rising) > 2 and rising[1] <= CHEAP else rising[:1]


def checked_sizes(name: str, sizes: Sequence[int]) -> list[int]:
    """Sizes as they were asked for, each once, rising.

    Raises:
        ParameterError: there are none, or one is below 1.

    >>> checked_sizes("sizes", [40, 20, 40])
    [20, 40]
    """
    if not sizes or min(sizes) < 1:
        raise ParameterError(name, ",".join(map(str, sizes)), "whole numbers from 1 on")
    return sorted(set(sizes))


def lists_reaching(facts: Mapping[str, Any], size: int) -> int:
    """How many test lists have at least so many documents; all where a study noted nothing.

    >>> lists_reaching({"queries": 3, "shorter": {"40": 1}}, 40)
    2
    """
    return int(facts["queries"]) - int(facts.get("shorter", {}).get(str(size), 0))


def counts(lengths: Integer[np.ndarray, " queries"], sizes: Sequence[int]) -> dict[str, Any]:
    """What a study notes of its test lists.

    >>> counts(np.array([30, 40, 50]), (40, 240))
    {'shorter': {'40': 1, '240': 3}, 'longer': {'40': 1, '240': 0}}
    """
    return {
        "shorter": {str(size): int((lengths < size).sum()) for size in sizes},
        "longer": {str(size): int((lengths > size).sum()) for size in sizes},
    }
