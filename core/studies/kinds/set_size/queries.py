"""What other sizes of the lists did to every query of a study of set size."""

import numpy as np
import pandas as pd

from shuffleproof.core.numerals import is_count
from shuffleproof.core.studies.kinds.set_size.study import ORDER, SHIFT
from shuffleproof.core.studies.query_changes import by_query, most_damaged
from shuffleproof.core.studies.result import StudyResult


def queries(
    result: StudyResult,
    point: tuple[str, str, int],
    measure: str,
    against: tuple[str, int] | None = None,
) -> tuple[tuple[str, int], pd.DataFrame]:
    """What another size of the list did to every query, the most damaged first.

    Args:
        result: a set-size study.
        point: ranker, N0 as text, N1.
        measure: one that follows from what is stored.
        against: N0 as text and N1 of the same ranker to compare with; by default `home_of`.

    Returns:
        What is compared with, and columns query, home (the measure there), here, change; against
        its home also order_stability and score_shift. Queries that the measure leaves out are
        left out.
    """
    ranker, trained_on, size = point
    home = home_of(result, ranker, trained_on)
    at = against or home
    before, here = (
        result.per_query(ranker, one, float(level), measure).astype(np.float64)
        for one, level in (at, (trained_on, size))
    )
    more = {}
    if at == home:
        more = {
            name: result.per_query(ranker, trained_on, float(size), kept)
            for name, kept in (("order_stability", ORDER), ("score_shift", SHIFT))
        }
    return at, by_query(result.query_ids, ("home", before), ("here", here), more=more)


def home_of(result: StudyResult, ranker: str, trained_on: str) -> tuple[str, int]:
    """N0 and the N1 that its others are compared with: N0 itself; where it has none, the least."""
    own = result.trials[(result.trials.ranker == ranker) & (result.trials.family == trained_on)]
    sizes = sorted(int(level) for level in own.level)
    at = int(trained_on) if is_count(trained_on) and int(trained_on) in sizes else sizes[0]
    return trained_on, at


def by_size(result: StudyResult, ranker: str, trained_on: str, measure: str) -> pd.DataFrame:
    """The change of every query at every N1 from the ranker's home, the most damaged first.

    Returns:
        A column a size, a row a query (its id is the index), by their means; queries that the
        measure leaves out are left out.
    """
    own = result.trials[(result.trials.ranker == ranker) & (result.trials.family == trained_on)]
    home = float(home_of(result, ranker, trained_on)[1])
    before = result.per_query(ranker, trained_on, home, measure)
    after = {
        int(size): result.per_query(ranker, trained_on, size, measure)
        for size in sorted(set(own.level))
    }
    return most_damaged(before, after, result.query_ids)
