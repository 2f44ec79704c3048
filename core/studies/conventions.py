"""Values that a study stores so that a measure's conventions can change without new scores.

Scores are expensive, measures are cheap. A study of NDCG@10 therefore stores every query's NDCG
at four cutoffs, with both ideals, both treatments of ties and both discounts. Each is stored with
`empty=skip`, where NaN marks the queries without relevant documents. Other values of such queries
are filled in when a result is read.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np
from jaxtyping import Float32

from shuffleproof.core.errors import DataError
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import convert_empty

CUTOFFS = (1, 3, 5, 10)
SWITCHED: Mapping[str, tuple[str, ...]] = {
    "ideal": ("judged", "shown"), "ties": ("averaged", "row"), "discount": ("log2", "letor"),
}  # fmt: skip
"""Conventions that can be changed without scores, by field of the measure."""
KEPT = tuple(
    str(Measure("NDCG", cutoff, discount=discount, ideal=ideal, ties=ties, empty="skip"))
    for cutoff in CUTOFFS
    for ideal in SWITCHED["ideal"]
    for ties in SWITCHED["ties"]
    for discount in SWITCHED["discount"]
)
"""Measures that every study of relevance stores: 32, with 128 bytes per query and trial."""


def stored_measures(measures: Iterable[str], kept: Sequence[str] = KEPT) -> tuple[str, ...]:
    """Measures to store for a study with these measures.

    >>> len(stored_measures(["NDCG@10"])), stored_measures(["RR"])[-1]
    (32, 'RR(empty=skip)')
    """
    return tuple(dict.fromkeys([*kept, *map(_skipping_empty, measures)]))


def derivable(measure: str, stored: Sequence[str]) -> bool:
    """True if a measure's values follow from the stored measures.

    >>> derivable("NDCG(ideal=shown)@5", KEPT), derivable("NDCG@7", KEPT)
    (True, False)
    """
    return measure in stored or _skipping_empty(measure) in stored


def derive_values(
    measure: str,
    stored: Sequence[str],
    values: Float32[np.ndarray, "*trials measures queries"],
) -> Float32[np.ndarray, "*trials queries"]:
    """Values of a measure, from the stored values.

    Args:
        measure: as text.
        stored: the measures on the last axis but one of `values`.
        values: of the stored measures.

    Raises:
        DataError: the measure needs scores, which are not stored.

    >>> values = np.array([[0.5, np.nan]], np.float32)
    >>> derive_values("NDCG(empty=one)", ["NDCG(empty=skip)"], values).tolist()
    [0.5, 1.0]
    """
    at, empty = _source(measure, tuple(stored))
    column = np.asarray(values[..., at, :], dtype=np.float32)
    if empty is None:
        return column
    return convert_empty(column.ravel(), np.isnan(column.ravel()), empty).reshape(column.shape)


@lru_cache(maxsize=1024)  # a study's points are read one by one
def _source(measure: str, stored: tuple[str, ...]) -> tuple[int, str | None]:
    """Index of the stored measure to use, and the `empty` value that replaces its NaN, if any."""
    if measure in stored:
        return stored.index(measure), None
    if _skipping_empty(measure) not in stored:
        remedy = "Run the study again for this measure."
        raise DataError(measure, "it cannot be computed from the stored values", remedy)
    return stored.index(_skipping_empty(measure)), Measure.parse(measure).empty


def _skipping_empty(measure: str) -> str:
    return str(Measure.parse(measure).under(empty="skip"))
