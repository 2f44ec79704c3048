"""Mean losses of rankers, paired by query, with the intervals of the tests that the tables hold.

An interval over queries of each mean says little about their difference: queries differ far more
from each other than one query does from itself. What is tested is the loss of every query, and so
that is what is drawn.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from jaxtyping import Float

from shuffleproof.core.metrics.significance import adjusted_tests

Queries = Float[np.ndarray, " queries"]


def loss_in(measure: str) -> str:
    """What the axis of a paired loss is called.

    >>> loss_in("NDCG@10")
    'NDCG@10 lost'
    """
    return f"{measure} lost"


def paired_rows(frame: pd.DataFrame, pairs: Mapping[int, tuple[Queries, Queries]]) -> pd.DataFrame:
    """Rows of means as rows of paired losses.

    Args:
        frame: mean, low, high and n, and what tells its rows apart.
        pairs: of every tested row, by its number, the values it started from and its own; NaN
            where the measure leaves a query out. All are tested together.

    Returns:
        The frame with mean (start minus own: above 0 is a loss), low and high (95 %, paired t),
        p (adjusted by Holm, as the intervals) and n; what is not tested lost nothing: 0.

    >>> means = pd.DataFrame({"ranker": ["a", "a"], "mean": [0.6, 0.4]})
    >>> before = np.array([0.5, 0.6, 0.7])
    >>> after = np.array([0.3, 0.4, 0.5]) + [0.01, 0, -0.01]
    >>> paired_rows(means, {1: (before, after)})["mean"].round(3).tolist()
    [0.0, 0.2]
    """
    rows = [*pairs]
    result = frame.assign(mean=0.0, low=0.0, high=0.0, p=np.nan)
    if not rows:
        return result
    losses = np.stack([np.subtract(*pairs[row], dtype=np.float64) for row in rows])
    p, low, high = adjusted_tests(losses)
    counts = (~np.isnan(losses)).sum(axis=1)
    means = np.full(len(rows), np.nan)
    means[counts > 0] = np.nanmean(losses[counts > 0], axis=1)
    at = result.index[rows]
    for column, values in {"mean": means, "low": low, "high": high, "p": p, "n": counts}.items():
        result.loc[at, column] = values
    return result
