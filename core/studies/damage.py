"""Queries by what was done to them: one change a query and column, the most damaged first."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float32


def most_damaged(
    before: Float32[np.ndarray, " queries"],
    after: Mapping[Any, Float32[np.ndarray, " queries"]],
    query_ids: Sequence[str],
) -> pd.DataFrame:
    """The changes as a frame, rows by their mean, rising; rows without any value are left out.

    Args:
        before: what is compared with, by query.
        after: of every query, by column.
        query_ids: of the queries; the frame's index.

    >>> before, after = np.float32([0.5, 0.5, np.nan]), np.float32([0.75, 0.25, np.nan])
    >>> most_damaged(before, {240: after}, ["a", "b", "c"]).to_dict("index")
    {'b': {240: -0.25}, 'a': {240: 0.25}}
    """
    first = before.astype(np.float64)
    columns = {name: values.astype(np.float64) - first for name, values in after.items()}
    frame = pd.DataFrame(columns, index=pd.Index(list(query_ids), name="query"))
    counted = frame.dropna(how="all")
    return counted.iloc[np.argsort(counted.mean(axis=1).to_numpy(), kind="stable")]
