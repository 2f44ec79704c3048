"""What a benchmark's rows answered, query by query, from the scores that it stored.

Under any measure that is stored or follows from what is; decoded once for as long as somebody
holds the result, since a page asks for the same values many times.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd
from jaxtyping import Float, Float32, Float64, Int64
from safetensors import safe_open

from shuffleproof.core.answers.shown_order import document_names
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.errors import DataError
from shuffleproof.core.studies.conventions import derive_values
from shuffleproof.core.studies.kinds.benchmark.rows import GROUPS, groups_of
from shuffleproof.core.studies.kinds.benchmark.study import RUNS
from shuffleproof.core.studies.result import StudyResult


@dataclass(frozen=True)
class Place:
    """Which fold a query is of, and which of the fold's lists is its own; both from 0."""

    fold: int
    query: int


def place_of(result: StudyResult, query: str, fold: str) -> Place:
    """The place of a query.

    Raises:
        DataError: the fold has no such query.
    """
    for index, part in enumerate(result.facts["folds"]):
        queries = list(result.query_ids[part["start"] : part["stop"]])
        if part["name"] == fold and query in queries:
            return Place(index, queries.index(query))
    raise DataError(f"query {query!r}", f"not in the test part of {fold}", "Choose another.")


@dataclass(frozen=True)
class QueryRequest:
    """What of a query is to be shown."""

    place: Place
    rankers: Sequence[str]
    seed: int = 0
    features: Sequence[int] = ()


def answers(study: Path, part: RankingDataset, asked: QueryRequest) -> pd.DataFrame:
    """The documents of a query, in the order of the initial ranking, and where rankers put them.

    Args:
        study: the stored benchmark's directory.
        part: the test part of the query's fold.
        asked: which query and rankers.

    Returns:
        Columns document, label, initial (position from 1); for every ranker its name with the
        position that it gave and `score of` its name; `feature` and its id for every feature.
        Equal scores stand in the order of the data set's rows.
    """
    place = asked.place
    with safe_open(study / RUNS, framework="np") as file:
        offsets = file.get_slice(f"offsets/{place.fold}")
        start, stop = (int(bound) for bound in offsets[place.query : place.query + 2])
        rows = np.asarray(file.get_slice(f"rows/{place.fold}")[start:stop])
        positions, scores, names = {}, {}, set(file.keys())
        for ranker in asked.rankers:
            name = f"scores/{ranker}/{asked.seed}/{place.fold}"
            name = name if name in names else f"scores/{ranker}/0/{place.fold}"
            ranker_scores = scores[f"score of {ranker}"] = np.asarray(
                file.get_slice(name)[start:stop]
            )
            positions[ranker] = positions_of(ranker_scores, rows)
    documents = {
        "document": document_names(part.doc_ids, rows),
        "label": part.labels[rows],
        "initial": np.arange(1, len(rows) + 1),
    }
    columns = {f"feature {feature}": part.feature(feature)[rows] for feature in asked.features}
    return pd.DataFrame(documents | positions | scores | columns)


def positions_of(
    scores: Float[np.ndarray, " docs"], rows: Int64[np.ndarray, " docs"]
) -> Int64[np.ndarray, " docs"]:
    """Places from 1 by falling score, equal scores by row.

    >>> positions_of(np.float32([0.5, 0.9, 0.5]), np.array([7, 8, 2])).tolist()
    [3, 1, 2]
    """
    positions = np.empty(len(rows), dtype=np.int64)
    positions[np.lexsort((rows, -scores))] = np.arange(1, len(rows) + 1)
    return positions


DECODED = 24
"""Measures of a result whose values are remembered: a switch back and forth decodes nothing."""


_Seeds: TypeAlias = Mapping[str, Float32[np.ndarray, "seeds queries"]]
_Means: TypeAlias = Mapping[str, Float64[np.ndarray, " queries"]]

_REMEMBERED: WeakKeyDictionary[StudyResult, dict[str, tuple[_Seeds, _Means]]] = WeakKeyDictionary()
"""What was decoded of each result, for as long as somebody holds the result."""


def rankers_of(result: StudyResult) -> list[str]:
    """The rows that are there, group by group, as they were asked for within each."""
    present, groups = dict.fromkeys(result.trials.ranker), groups_of(result.facts)
    return sorted(present, key=lambda label: GROUPS.index(groups[label]))


def values_of(result: StudyResult, measure: str) -> _Seeds:
    """What every row scored on every query under each seed, in the table's order.

    A row whose seeds all gave the same values was one run, and has one.
    """
    return _decoded_values(result, measure)[0]


def per_query(result: StudyResult, measure: str) -> _Means:
    """Every row's value for every query: the mean over its seeds."""
    return _decoded_values(result, measure)[1]


def _decoded_values(result: StudyResult, measure: str) -> tuple[_Seeds, _Means]:
    remembered = _REMEMBERED.setdefault(result, {})
    if measure not in remembered:
        values = derive_values(measure, result.stored_measures, result.values)
        rows = result.trials.groupby("ranker", sort=False).indices
        seeds = {
            label: values[_distinct_trials(result, np.asarray(rows[label]))]
            for label in rankers_of(result)
        }
        means = {
            label: runs.mean(axis=0, dtype=np.float64).astype(np.float32).astype(np.float64)
            for label, runs in seeds.items()
        }
        if len(remembered) >= DECODED:
            remembered.clear()
        remembered[measure] = seeds, means
    return remembered[measure]


def _distinct_trials(result: StudyResult, rows: Int64[np.ndarray, " seeds"]) -> np.ndarray:
    """The trials of a row; the first alone where nothing that is stored tells them apart."""
    first, *later = rows
    values = result.values[first]
    equal = all(np.array_equal(values, result.values[row], equal_nan=True) for row in later)
    return rows[:1] if equal else rows
