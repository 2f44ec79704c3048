"""The numeric floor of a list's scores: what arithmetic alone may do to each of them.

Every list is judged by its own scores: multiply them by a positive number and the floor follows;
another list's scores do not enter.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float64, Int64, Real

from shuffleproof.core.data import ragged
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import DataError, ShuffleproofError
from shuffleproof.core.metrics import rounding, segments
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.seeds import generator, mix_bits

RELATIVE, SLIGHT = 1e-5, 1e-3
"""Of a list's spread, where no float64 scores tell: how much of a change float32 may explain, and
how much it may where no document changed places."""

EXCUSED = 1e-4
"""Of a list's spread: the largest change that is looked at in float64 before it is an effect."""

EXACT = 1e-8
"""Of a list's scores: what changes by no more in float64 has not changed."""

ALONE = 64
"""Lists at most that are scored in float64 one by one."""

TINY = 1e-300

DRAWS, SHAKEN = 8, 4.0
"""How often features are changed in their last bits, and by what a change so seen is multiplied."""

Scores = Real[np.ndarray, " candidates"]


@dataclass(frozen=True)
class Floor:
    """Rounding error bound of each score.

    Attributes:
        rounding: what arithmetic was seen to do, or must do.
        doubt: documents that pass each other by more have moved; less may be either. Equal to
            `rounding` where float64 scores are known.
        effect: a larger change of a score is an effect though no document moved.
    """

    rounding: Float64[np.ndarray, " candidates"]
    doubt: Float64[np.ndarray, " candidates"]
    effect: Float64[np.ndarray, " candidates"]

    def raised(self, least: Float64[np.ndarray, " candidates"]) -> "Floor":
        """The same with another lower bound of what arithmetic does."""
        bound = np.maximum(self.rounding, least)
        return Floor(bound, np.maximum(self.doubt, bound), np.maximum(self.effect, bound))


def of_scores(offsets: Int64[np.ndarray, " bounds"], scores: Scores) -> Floor:
    """The floor of scores by themselves: four float32 steps at each of them.

    In doubt are as many at the list's median, and 1e-5 of its spread. Of scores on the grid of a
    half-precision type, which such a network computes, the steps are those of that type.

    >>> small = of_scores(np.array([0, 2]), np.array([1.0, 3.0]))
    >>> large = of_scores(np.array([0, 2]), np.array([1024.0, 3072.0]))
    >>> bool((large.doubt == 1024 * small.doubt).all())
    True
    """
    size, lengths = rounding.scales(offsets, scores), np.diff(offsets)
    steps, median_steps = (rounding.representable(each) for each in (scores, size.magnitude))
    if half := rounding.half_precision(scores):
        steps, median_steps = (
            rounding.STEPS * rounding.half_step(each, half) for each in (scores, size.magnitude)
        )
    at_median = np.maximum(steps, np.repeat(median_steps, lengths))
    spread = np.repeat(size.spread, lengths)
    return Floor(steps, at_median + RELATIVE * spread, at_median + SLIGHT * spread)


def measure_floor(ranker: Ranker, base: JudgedLists, scores: Scores) -> tuple[Floor, np.ndarray]:
    """Rounding floor of a ranker's scores, measured if possible, and the unsteady lists.

    Two measurements raise the floor of the scores alone. First, the change when the lists are
    scored in other company (every other list, reversed: other batches and padding), as far as
    arithmetic can explain it. Second, for a ranker that also computes in float64 (`exact_scores`),
    twice the largest distance e of the list's float32 scores from those. If every score is within e
    of the exact one, rounding can only swap pairs that are 2e apart or less. A short list may
    happen to be exact. So e is at least the median over lists, in proportion to the list's own
    scores, and at least its own change in other company if its float64 scores did not change.

    Args:
        ranker: anything that scores.
        base: the lists as they are.
        scores: its scores of them.

    Returns:
        The floor, and for each list whether its scores depend on the lists scored with it.
    """
    offsets = base.lists.offsets
    floor = of_scores(offsets, scores)
    company = difference(scores, in_other_company(ranker, base))
    floor = floor.raised(np.minimum(company, floor.doubt))
    exactly = getattr(ranker, "exact_scores", None)
    if exactly is not None and len(base.lists.rows):
        exact = exactly(base.dataset, base.lists)
        distances = _distance(offsets, scores, exact)
        error = np.maximum(floor.rounding, 2.0 * np.repeat(distances, np.diff(offsets)))
        floor = Floor(error, error, error)
        floor = floor.raised(_rounding_in_company(exactly, base, exact, company, floor))
    depends_on_company = segments.maxima(offsets, company - floor.doubt) > 0
    return floor, depends_on_company & (np.diff(offsets) > 1)


def _rounding_in_company(
    exactly: Callable[[RankingDataset, CandidateLists], Scores],
    base: JudgedLists,
    exact: Scores,
    company: Scores,
    floor: Floor,
) -> Float64[np.ndarray, " candidates"]:
    """Small changes in other company, beyond the floor, of lists whose float64 scores have none.

    They are scored in float64 one by one, which is other company for each; of many, none is.
    """
    offsets = base.lists.offsets
    largest = segments.maxima(offsets, company)
    beyond = segments.maxima(offsets, company - floor.doubt) > 0
    beyond &= largest <= EXCUSED * rounding.scales(offsets, exact).spread
    chosen, least = np.flatnonzero(beyond), np.zeros(len(exact))
    for place in chosen if len(chosen) <= ALONE else ():
        alone = base.lists.select(np.array([place]))
        inside = slice(offsets[place], offsets[place + 1])
        change = largest_changes(alone.offsets, exact[inside], exactly(base.dataset, alone))
        least[inside] = largest[place] if change.max() <= EXACT else 0.0
    return least


def largest_changes(
    offsets: Int64[np.ndarray, " bounds"], before: Scores, after: Scores
) -> Float64[np.ndarray, " lists"]:
    """The largest change of each list's scores, as a share of its largest score.

    >>> largest_changes(np.array([0, 2]), np.array([1.0, 4.0]), np.array([1.0, 5.0])).tolist()
    [0.25]
    """
    size = np.maximum(segments.maxima(offsets, np.abs(before)), TINY)
    return segments.maxima(offsets, difference(before, after)) / size


def own_rounding(
    ranker: Ranker, base: JudgedLists, chosen: Int64[np.ndarray, " chosen"], scores: Scores
) -> Float64[np.ndarray, " candidates"]:
    """Rounding error of a function's own arithmetic per list; 0 if it cannot be measured.

    The lists are scored, as shown, with every feature some float32 steps off. Rounding inside the
    function may change a score as much (stochastic arithmetic: Parker, Pierce & Eggert, 2000). The
    result excuses a change from being called an effect, and proves nothing.

    Args:
        ranker: anything that scores.
        base: the lists as they are.
        chosen: which of them.
        scores: of all of them.

    Returns:
        SHAKEN times the largest change seen in each document's list; 0 outside the chosen ones.
    """
    carried, lists = np.zeros(len(scores)), base.lists.select(chosen)
    inside = ragged.elements_of(base.lists.offsets, chosen)
    greatest = np.zeros(len(lists))
    for draw in range(DRAWS):
        dataset = shake_features(base.dataset, lists.rows, generator(draw, "own rounding"))
        try:
            rescored = ranker.score(dataset, lists)
        except ShuffleproofError:  # it takes no such features: nothing is excused
            return carried
        changes = difference(scores[inside], np.nan_to_num(rescored, nan=np.inf))
        greatest = np.maximum(greatest, segments.maxima(lists.offsets, changes))
    carried[inside] = np.repeat(
        np.where(np.isfinite(greatest), SHAKEN * greatest, 0.0), lists.lengths
    )
    return carried


def difference(first: Scores, second: Scores) -> Float64[np.ndarray, " candidates"]:
    """|first − second|, in float64; 0 where both are the same infinity."""
    first, second = first.astype(np.float64), second.astype(np.float64)
    with np.errstate(invalid="ignore"):
        return np.where(first == second, 0.0, np.abs(first - second))


def same_within_floor(offsets: Int64[np.ndarray, " bounds"], scores: Scores, again: Scores) -> bool:
    """True if rounding explains the difference of two scorings of the same documents.

    >>> one = np.array([1.0, 2.0])
    >>> (same_within_floor(np.array([0, 2]), one, one + 1e-7), same_within_floor(np.array([0, 2]),
    ...     one, one + 1e-3))
    (True, False)
    """
    return bool((difference(scores, again) <= of_scores(offsets, scores).doubt).all())


def numeric_scores(ranker: Ranker, lists: CandidateLists, scores: Scores) -> Scores:
    """A copy of the scores, if they are numbers (infinite ones are).

    Raises:
        DataError: one is not.
    """
    wrong = np.flatnonzero(np.isnan(scores))
    if len(wrong):
        at = int(np.searchsorted(lists.offsets, wrong[0], "right")) - 1
        finding = f"its score of document {int(wrong[0] - lists.offsets[at]) + 1} of list {at + 1} "
        raise DataError(ranker.name, f"{finding}is NaN", "A ranker gives every document a number.")
    return scores.copy()


def shake_features(
    dataset: RankingDataset, rows: Int64[np.ndarray, " rows"], chance: np.random.Generator
) -> RankingDataset:
    """A data set whose features in these rows are up to four float32 steps off.

    Equal values of a feature stay equal, in all rows: arithmetic rounds equal numbers alike, and a
    ranker that sorts by a feature keeps its ties.
    """
    features, steps = dataset.features.copy(), int(rounding.STEPS)
    values = features[rows]
    columns = chance.integers(2**63, size=values.shape[1], dtype=np.uint64)
    bits = np.ascontiguousarray(values).view(np.uint32).astype(np.uint64)
    drawn = mix_bits(bits ^ columns) % np.uint64(2 * steps + 1)  # by value and feature alone
    offset_steps = drawn.astype(np.int64) - steps
    features[rows] = np.where(
        values == 0, values, values + offset_steps * np.spacing(values)
    ).astype(np.float32)
    return replace(dataset, features=features, fingerprint="")


def in_other_company(ranker: Ranker, base: JudgedLists) -> Scores:
    """The scores when odd and even lists are scored apart, the last first."""
    lists = base.lists
    scores = np.empty(len(lists.rows), dtype=np.float64)
    for start in range(min(2, len(lists))):
        every_other = np.arange(start, len(lists), 2)[::-1].copy()
        scores[ragged.elements_of(lists.offsets, every_other)] = numeric_scores(
            ranker, lists.select(every_other), ranker.score(base.dataset, lists.select(every_other))
        )
    return scores


def _distance(
    offsets: Int64[np.ndarray, " bounds"], scores: Scores, exact: Scores
) -> Float64[np.ndarray, " lists"]:
    """Rounding error of each list's float32 scores, at least the usual one."""
    distances = np.maximum(segments.maxima(offsets, difference(scores, exact)), 0.0)
    size = rounding.scales(offsets, scores)
    scale = np.maximum(size.magnitude, size.spread)
    median = np.median((distances / np.where(scale > 0, scale, np.inf))[np.diff(offsets) > 0])
    return np.maximum(distances, median * scale)
