"""Which values a study keeps so that a measure's conventions can be changed without scoring again.

A score is dear, a measure of it is cheap: a study that is asked for NDCG@10 keeps every query's
NDCG at four cut-offs, with both ideals, both treatments of ties and both discounts. Each is kept
with `empty=skip`, where NaN marks the queries without relevant documents: any other value of such
queries is filled in when it is asked for.
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
"""Conventions that a study of relevance can be switched to without scores, by field."""
KEPT = tuple(
    str(Measure("NDCG", cutoff, discount=discount, ideal=ideal, ties=ties, empty="skip"))
    for cutoff in CUTOFFS
    for ideal in SWITCHED["ideal"]
    for ties in SWITCHED["ties"]
    for discount in SWITCHED["discount"]
)
"""What a study of relevance always keeps: 32 measures, 128 bytes a query and trial."""


def stored_measures(measures: Iterable[str], kept: Sequence[str] = KEPT) -> tuple[str, ...]:
    """The measures to keep for a study that is asked for these.

    >>> len(stored_measures(["NDCG@10"])), stored_measures(["RR"])[-1]
    (32, 'RR(empty=skip)')
    """
    return tuple(dict.fromkeys([*kept, *map(_skipping_empty, measures)]))


def derivable(measure: str, stored: Sequence[str]) -> bool:
    """Whether a measure's values follow from what is stored.

    >>> derivable("NDCG(ideal=shown)@5", KEPT), derivable("NDCG@7", KEPT)
    (True, False)
    """
    return measure in stored or _skipping_empty(measure) in stored


def derive_values(
    measure: str,
    stored: Sequence[str],
    values: Float32[np.ndarray, "*trials measures queries"],
) -> Float32[np.ndarray, "*trials queries"]:
    """The values of a measure, from those stored.

    Args:
        measure: as text.
        stored: the measures along the last but one axis of `values`.
        values: what is stored.

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
    """Where a measure's values are among those stored, and its `empty` where NaN is not it."""
    if measure in stored:
        return stored.index(measure), None
    if _skipping_empty(measure) not in stored:
        remedy = "Run the study again for this measure."
        raise DataError(measure, "it does not follow from the values stored", remedy)
    return stored.index(_skipping_empty(measure)), Measure.parse(measure).empty


def _skipping_empty(measure: str) -> str:
    return str(Measure.parse(measure).under(empty="skip"))
