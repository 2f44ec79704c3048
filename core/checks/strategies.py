"""Ranking lists drawn by Hypothesis, with all that makes real ones awkward."""

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from shuffleproof.core.checks.list_forms import RankingList
from shuffleproof.core.data import ragged
from shuffleproof.core.errors import ParameterError


def ranking_lists(  # noqa: PLR0913 (a field each of what makes lists awkward)
    *,
    documents: tuple[int, int] = (1, 12),
    features: tuple[int, int] | int = (1, 4),
    grades: int = 2,
    rankings: int = 1,
    values: tuple[float, float] = (-100.0, 100.0),
    ties: bool = True,
    duplicates: bool = True,
    relevant: bool = False,
) -> st.SearchStrategy[RankingList]:
    """See `shuffleproof.testing.ranking_lists`."""
    widths = (features, features) if isinstance(features, int) else features
    for name, (low, high), least in (("documents", documents, 0), ("features", widths, 1)):
        if not least <= low <= high:
            raise ParameterError(name, f"{low} to {high}", f"from {least} on, the smaller first")
    if relevant and not (documents[0] and grades):
        raise ParameterError(
            "relevant", relevant, "False where a list may be empty or has no grade"
        )
    number = st.floats(*values, width=32, allow_nan=False, allow_subnormal=False)
    few = st.sampled_from(
        [value for value in (0.0, 1.0, -1.0, 0.5) if values[0] <= value <= values[1]]
    )
    cell = st.one_of(few, number) if ties else number

    @st.composite
    def drawn(draw: Callable[[Any], Any]) -> RankingList:
        docs, width = (draw(st.integers(*bounds)) for bounds in (documents, widths))
        matrix = draw(arrays(np.float32, (docs, width), elements=cell, unique=not ties))
        if duplicates and docs > 1:
            matrix = matrix[draw(arrays(np.int64, docs, elements=st.integers(0, docs - 1)))]
        labels = draw(arrays(np.float32, docs, elements=st.integers(0, grades)))
        if relevant and not labels.any():
            labels[draw(st.integers(0, docs - 1))] = 1
        bounds = np.array([0, docs])
        ranks = np.empty((docs, rankings), dtype=np.int32)
        for column in range(rankings):
            places = st.integers(0, max(docs - 1, 0))
            prior = draw(
                arrays(np.int64, docs, elements=places) if ties else st.permutations(range(docs))
            )
            ranks[:, column] = ragged.competition_ranks(bounds, np.asarray(prior, dtype=np.int64))
        return RankingList(matrix, labels, ranks)

    return drawn()
