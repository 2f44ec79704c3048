"""Feasible list sizes of a data set: proposed sizes, and the number of lists that reach a size.

Lists are never extended. Sizes that no list reaches give the same lists, so they are not compared.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Integer

from shuffleproof.core.data.catalogue import resolve
from shuffleproof.core.errors import ParameterError
from shuffleproof.core.store.artefacts import Store

SIZES = (40, 240, 500)
"""Sizes of the paper."""

CHEAP = 100
"""Maximum candidates per list for a proposal to train on a second size."""


def proposed_sizes(lengths: Integer[np.ndarray, " queries"]) -> tuple[int, ...]:
    """The paper's sizes that some list reaches; if fewer than two, steps that double up to one.

    The steps end at the largest of 40, 80 and 160 that some list reaches, else at the longest list.

    Args:
        lengths: number of documents of every list, uncut.

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
    """Sizes to train on: the smallest; the next too if it is cheap and not the largest.

    >>> train_sizes((40, 240, 500)), train_sizes((20, 40, 121)), train_sizes((20, 40))
    ((40,), (20, 40), (20,))
    """
    rising = tuple(sorted(set(sizes)))
    return rising[:2] if len(rising) > 2 and rising[1] <= CHEAP else rising[:1]


def checked_sizes(name: str, sizes: Sequence[int]) -> list[int]:
    """Requested sizes, without repetition, in rising order.

    Raises:
        ParameterError: no size, or a size below 1.

    >>> checked_sizes("sizes", [40, 20, 40])
    [20, 40]
    """
    if not sizes or min(sizes) < 1:
        raise ParameterError(name, ",".join(map(str, sizes)), "whole numbers from 1 on")
    return sorted(set(sizes))


def lists_reaching(facts: Mapping[str, Any], size: int) -> int:
    """Number of test lists with at least `size` documents; all if the study did not count them.

    >>> lists_reaching({"queries": 3, "shorter": {"40": 1}}, 40)
    2
    """
    return int(facts["queries"]) - int(facts.get("shorter", {}).get(str(size), 0))


def counts(lengths: Integer[np.ndarray, " queries"], sizes: Sequence[int]) -> dict[str, Any]:
    """Facts of the test lists: numbers of shorter and longer lists by size.

    >>> counts(np.array([30, 40, 50]), (40, 240))
    {'shorter': {'40': 1, '240': 3}, 'longer': {'40': 1, '240': 0}}
    """
    return {
        "shorter": {str(size): int((lengths < size).sum()) for size in sizes},
        "longer": {str(size): int((lengths > size).sum()) for size in sizes},
    }
