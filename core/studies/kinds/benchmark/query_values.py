"""What a benchmark's rows scored, query by query, under any measure that is or follows from stored.

Decoded once for as long as somebody holds the result: a page asks for the same values many times.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from jaxtyping import Float32, Float64, Int64

from shuffleproof.core.studies.conventions import derived
from shuffleproof.core.studies.kinds.benchmark.rows import GROUPS, groups_of
from shuffleproof.core.studies.result import StudyResult

DECODED = 24
"""Measures of a result whose values are remembered: a switch back and forth decodes nothing."""


@dataclass(frozen=True)
class _Decoded:
    """The values of a result under one measure, by row.

    Attributes:
        seeds: of every query under each seed; a row whose seeds all gave the same has one.
        queries: the mean over the seeds.
    """

    seeds: Mapping[str, Float32[np.ndarray, "seeds queries"]]
    queries: Mapping[str, Float64[np.ndarray, " queries"]]


_REMEMBERED: WeakKeyDictionary[StudyResult, dict[str, _Decoded]] = WeakKeyDictionary()
"""What was decoded of each result, for as long as somebody holds the result."""


def rankers_of(result: StudyResult) -> list[str]:
    """The rows that are there, group by group, as they were asked for within each."""
    found, groups = dict.fromkeys(result.trials.ranker), groups_of(result.facts)
    return sorted(found, key=lambda label: GROUPS.index(groups[label]))


def values_of(
    result: StudyResult, measure: str
) -> Mapping[str, Float32[np.ndarray, "seeds queries"]]:
    """What every row scored on every query under each seed, in the table's order.

    A row whose seeds all gave the same values was one run, and has one.

    Args:
        result: a benchmark.
        measure: one that follows from what is stored.
    """
    return _decoded(result, measure).seeds


def per_query(result: StudyResult, measure: str) -> Mapping[str, Float64[np.ndarray, " queries"]]:
    """Every row's value for every query: the mean over its seeds."""
    return _decoded(result, measure).queries


def _decoded(result: StudyResult, measure: str) -> _Decoded:
    known = _REMEMBERED.setdefault(result, {})
    remembered = known.get(measure)
    if remembered is not None:
        return remembered
    values = derived(measure, result.stored, result.values)
    of_ranker = result.trials.groupby("ranker", sort=False).indices
    seeds = {
        label: values[_distinct(result, np.asarray(of_ranker[label]))]
        for label in rankers_of(result)
    }
    queries = {
        label: own.mean(axis=0, dtype=np.float64).astype(np.float32).astype(np.float64)
        for label, own in seeds.items()
    }
    if len(known) >= DECODED:
        known.clear()
    found = known[measure] = _Decoded(seeds, queries)
    return found


def _distinct(result: StudyResult, rows: Int64[np.ndarray, " seeds"]) -> np.ndarray:
    """The trials of a row; the first alone where nothing that is stored tells them apart."""
    first, *others = rows
    own = result.values[first]
    same = all(np.array_equal(own, result.values[other], equal_nan=True) for other in others)
    return rows[:1] if same else rows
