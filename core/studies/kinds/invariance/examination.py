"""A ranker examined under other orders: what changed in each list, and what else was noticed.

The unchanged order is scored several times, in the same and in other company, before and after
everything else; where a ranker can be had in a fresh process (`fresh`), some orders are scored
there by a process that has seen no other. Whatever changes without the order being changed is told
apart from what the order does.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64, Int64

from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.experiment import score_floor
from shuffleproof.core.experiment.score_floor import Floor, difference
from shuffleproof.core.metrics import rounding, segments
from shuffleproof.core.metrics.agreement import kendall_tau
from shuffleproof.core.metrics.passing import documents_passed, pairs_within, smallest_gap
from shuffleproof.core.metrics.significance import paired_t
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.studies.kinds.invariance.scoring import (
    Asked,
    Asking,
    as_in,
    summarised,
    systematic,
)

MEASURES = (
    "score-deviation", "documents-moved", "tau", "smallest-gap", "deviation-over-floor",
    "documents-in-doubt", "pairs-within-floor", "order-seen-first",
)  # fmt: skip
"""Per list and order: the largest change of a score; the documents that passed another beyond
doubt; Kendall τ of the two answers; the smallest gap of two scores; the largest change as a
multiple of the floor (above 1 it is an effect); the documents that passed another beyond rounding;
the share of pairs nearer than the floor; and 1 where the list was not shown in this order before.
"""

REPEATS = 4
FRESH = 3
"""Orders that processes of their own are asked about, one each; the last has a single thread."""

CLEARLY = 10.0
CONFIRMED = 3
"""Orders that are scored once more where they changed something."""

EXCUSED = 1e-4
"""Of a list's spread: the largest change that is looked at in float64 before it is an effect."""

ALONE = 4
"""Lists that are scored in an order without any other beside them."""

EXACT_LISTS, EXACT_SAMPLE = 64, 8
TINY = 1e-300
LARGEST = float(np.finfo(np.float32).max)
EXACT = 1e-8
"""Of a list's scores: what changes by no more in float64 has not changed."""


@dataclass(frozen=True)
class Examined:
    """What an examination saw.

    Attributes:
        values: one row of MEASURES a list, for each order.
        facts: of the whole, as plain values: see `examine`.
    """

    values: list[Float64[np.ndarray, "measures lists"]]
    facts: dict[str, Any]


def examine(
    ranker: Ranker,
    base: JudgedLists,
    variants: Sequence[CandidateLists],
    arranged: Callable[[np.ndarray], CandidateLists] | None = None,
) -> Examined:
    """Score the lists as they are and under other orders, and compare list by list.

    Args:
        ranker: anything that scores.
        base: the lists as they are.
        variants: the same documents in other orders (or under other initial rankings).
        arranged: how systematic orders are made: the candidate at each place → lists; by default
            they are shown in that order.

    Returns:
        The values, and these facts: `numeric_floor` (the largest of any score), `largest_score`,
        `unstable` (lists whose scores differ though nothing was changed), `company` (lists whose
        scores depend on the lists scored with them), `padding` (those whose scores depend on their
        padding; None where the ranker is never shown any), `state` (lists that a fresh process
        scores otherwise), `noise_p` (paired t over lists: do other orders change more than the same
        order does; None where nothing is unstable), `noise_more` (they change more), `noise_lists`
        (lists that they clearly change more), `exact_change`
        (what an order changes of float64 scores, as a share of the list's largest; None where there
        are none), `own_rounding` (lists whose changes the ranker's own rounding may explain),
        `systematic` (see `scoring.summarised`), `scorings` (of each list, here),
        `lists_scored` (in all), `fresh_processes`, `own_folders` (those had some), `ours` (one
        of our rankers), and what `_covered` tells.

    Raises:
        DataError: a score is NaN.
    """
    lists, asking = base.lists, Asking(ranker, base)
    usual, *repeats = (asking.here(lists) for _ in range(1 + REPEATS // 2))
    others = asking.all_here(variants)
    repeats += [asking.here(lists) for _ in range(REPEATS - len(repeats))]
    floor, company = score_floor.measured(ranker, base, usual.scores)
    same = [difference(usual.scores, one.scores) for one in repeats]
    unstable, state = _beyond(lists, same, floor), np.zeros(len(lists), dtype=bool)
    company |= _alone(asking, others, floor)
    padding = _padding(asking, usual, floor)
    before, asked = usual, list(others)
    if asking.afresh:
        before, few = asking.fresh(lists), variants[:FRESH]
        fresh = [asking.fresh(one, 1 if one is few[-1] else None) for one in few]
        pairs = zip((usual, *others), (before, *fresh), strict=False)
        if not unstable.any():
            state = _beyond(lists, [difference(a.scores, b.scores) for a, b in pairs], floor)
        asked[: len(fresh)] = fresh
    orders = systematic(lists, usual.scores)
    shown = [(arranged or lists.shown_as)(order) for order in orders.values()]
    rare = [asking.fresh(one) for one in shown] if asking.afresh else asking.all_here(shown)
    seen, apart = (
        _Comparison(asking, base, before.scores, one, floor).excused() for one in (asked, rare)
    )
    unstable |= seen.not_confirmed() | apart.not_confirmed()
    changed = [difference(usual.scores, one.scores) for one in others]
    noise = _noise(lists, floor, same, changed) if unstable.any() else {}
    company &= not unstable.any()
    kinds, own = kinds_of(base, ranker.reads), np.maximum(seen.own, apart.own)
    found = summarised(lists, list(zip(orders, shown, strict=True)), apart.values(), MEASURES)
    facts = {
        "numeric_floor": float(seen.floor.doubt.max(initial=0.0)),
        "largest_score": float(np.abs(before.scores[np.isfinite(before.scores)]).max(initial=0.0)),
        "unstable": int(unstable.sum()),
        "company": int(company.sum()),
        "padding": None if padding is None else int(padding.sum()),
        "state": int(state.sum()),
        "noise_p": None,
        "noise_more": False,
        "noise_lists": 0,
        "exact_change": seen.exact_change(),
        "own_rounding": int((segments.maxima(lists.offsets, own) > 0).sum()),
        "systematic": found,
        "scorings": 1 + REPEATS + len(variants),
        "lists_scored": asking.scored + len(lists),
        "fresh_processes": asking.processes,
        "ours": asking.ours,
        "own_folders": asking.processes > 0 and asking.folders,
    }
    covered = _covered(lists, kinds, before.scores)
    return Examined(seen.values(), facts | noise | covered)


def _alone(asking: Asking, others: Sequence[Asked], floor: Floor) -> Bool[np.ndarray, " lists"]:
    """The lists that score otherwise in another order when they are scored alone; of a few."""
    lists = asking.base.lists
    found = np.zeros(len(lists), dtype=bool)
    chosen = np.unique(np.linspace(0, len(lists) - 1, ALONE).astype(np.int64)) if len(lists) else ()
    for one in chosen if others else ():
        few, shown = (each.select(np.array([one])) for each in (lists, others[0].shown))
        scores = asking.ranker.score(asking.base.dataset, shown)
        inside = slice(lists.offsets[one], lists.offsets[one + 1])
        apart = np.zeros(len(lists.rows))
        apart[inside] = difference(others[0].scores[inside], as_in(few, shown, scores))
        found |= _beyond(lists, [apart], floor)
    asking.scored += len(chosen)
    return found


def _padding(asking: Asking, usual: Asked, floor: Floor) -> Bool[np.ndarray, " lists"] | None:
    """The lists whose scores change with their padding; None where the ranker sees none."""
    padded = getattr(asking.ranker, "padded", None)
    if padded is None:  # ours, which other company pads otherwise
        return np.zeros(len(usual.shown), dtype=bool)
    ranker = padded()
    if ranker is None or not len(usual.scores):
        return None
    asking.scored += len(usual.shown)
    try:
        scores = ranker.score(asking.base.dataset, usual.shown)
    except ShuffleproofError:  # it takes no padding, and is shown none
        return None
    return _beyond(usual.shown, [difference(usual.scores, scores)], floor)


@dataclass(frozen=True)
class _Comparison:
    """The scores of the lists as they are beside those of other orders, by document."""

    asking: Asking
    base: JudgedLists
    before: np.ndarray
    asked: Sequence[Asked]
    floor: Floor

    @property
    def _exactly(self) -> Any:
        """The ranker's scores in float64, where it has them."""
        return getattr(self.asking.ranker, "exact_scores", None)

    @cached_property
    def changed(self) -> list[Float64[np.ndarray, " candidates"]]:
        """How much each order changed each score."""
        return [difference(self.before, one.scores) for one in self.asked]

    @cached_property
    def largest(self) -> Float64[np.ndarray, "orders lists"]:
        """The largest change that each order made in each list."""
        offsets = self.base.lists.offsets
        found = [np.maximum(segments.maxima(offsets, one), 0.0) for one in self.changed]
        return np.array(found).reshape(len(found), len(self.base.lists))

    @cached_property
    def own(self) -> Float64[np.ndarray, " candidates"]:
        """What a function's own rounding may do to scores that changed; 0 where that is known."""
        changed = np.flatnonzero(_beyond(self.base.lists, self.changed, self.floor, doubt=True))
        if self.asking.ours or not len(changed) or self._exactly is not None:
            return np.zeros(len(self.before))
        self.asking.scored += score_floor.DRAWS * len(changed)
        return score_floor.own_rounding(self.asking.another(), self.base, changed, self.before)

    def values(self) -> list[Float64[np.ndarray, "measures lists"]]:
        """One row of MEASURES a list, for each order."""
        lists, floor = self.base.lists, self.floor
        kinds = kinds_of(self.base, self.asking.ranker.reads)
        gap = smallest_gap(lists.offsets, self.before)
        gap = np.where(np.isinf(gap), np.nan, gap)
        told, effect = (np.maximum(one, self.own) for one in (floor.doubt, floor.effect))
        near = pairs_within(lists.offsets, self.before, floor.doubt)
        found = []
        for changed, largest, asked, new in zip(
            self.changed, self.largest, self.asked, self._seen_first(), strict=True
        ):
            passed, doubted = (
                segments.sums(
                    lists.offsets,
                    documents_passed(lists.offsets, self.before, asked.scores, one, kinds).astype(
                        np.float64
                    ),
                )
                for one in (told, np.zeros(len(lists.rows)))
            )
            slight = segments.maxima(lists.offsets, changed - floor.doubt) > 0
            doubted = np.maximum(doubted, slight)
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.where(changed > 0, changed / effect, 0.0)
            over = np.clip(segments.maxima(lists.offsets, ratio), 0.0, LARGEST)
            tau = kendall_tau(lists.offsets, self.before, asked.scores)
            most = np.minimum(largest, LARGEST)
            found.append(np.stack([most, passed, tau, gap, over, doubted, near, new]))
        return found

    def excused(self) -> "_Comparison":
        """The same with a floor raised where float64 scores show that a change is rounding.

        A few float32 scores are further off than expected. Where a change is small and the scores
        in float64 do not change at all, the order has no part in it.
        """
        lists = self.base.lists
        if not self.asked or self._exactly is None:
            return self
        most = EXCUSED * rounding.scales(lists.offsets, self.before).spread
        doubted = _beyond(lists, self.changed, self.floor) & (self.largest.max(axis=0) <= most)
        least, worst = np.zeros(len(lists.rows)), self.largest.argmax(axis=0)
        for one in np.flatnonzero(doubted)[:EXACT_LISTS]:
            if self._in_float64(one[None], int(worst[one])) <= EXACT:
                inside = slice(lists.offsets[one], lists.offsets[one + 1])
                least[inside] = self.largest[worst[one], one]
        return replace(self, floor=self.floor.raised(least))

    def exact_change(self) -> float | None:
        """What an order changes in float64, as a share of the list's largest score; of a few."""
        lists = self.base.lists
        if self._exactly is None or not self.asked or not len(lists):
            return None
        chosen = np.unique(np.linspace(0, len(lists) - 1, EXACT_SAMPLE).astype(np.int64))
        return self._in_float64(chosen, 0)

    def _in_float64(self, chosen: Int64[np.ndarray, " chosen"], order: int) -> float:
        """What one order changes of these lists' float64 scores, as a share of a list's largest."""
        few, shown = (each.select(chosen) for each in (self.base.lists, self.asked[order].shown))
        before = self._exactly(self.base.dataset, few)
        after = as_in(few, shown, self._exactly(self.base.dataset, shown))
        size = np.maximum(segments.maxima(few.offsets, np.abs(before)), TINY)
        return float((segments.maxima(few.offsets, difference(before, after)) / size).max())

    def not_confirmed(self) -> Bool[np.ndarray, " lists"]:
        """The lists whose worst order scores otherwise when it is scored once more."""
        lists = self.base.lists
        found = np.zeros(len(lists), dtype=bool)
        over = _beyond(lists, self.changed, self.floor)
        if not over.any():
            return found
        orders, counts = np.unique(self.largest.argmax(axis=0)[over], return_counts=True)
        for at in orders[np.argsort(-counts, kind="stable")][:CONFIRMED]:
            again = self.asking.again(self.asked[at])
            found |= _beyond(lists, [difference(again.scores, self.asked[at].scores)], self.floor)
        return found

    def _seen_first(self) -> Float64[np.ndarray, "orders lists"]:
        """1 where an order of a list was not scored before, neither as it is nor in another."""
        lists = self.base.lists
        known = [{lists.rows[low:high].tobytes()} for low, high in pairwise(lists.offsets)]
        new = np.zeros((len(self.asked), len(lists)))
        for at, asked in enumerate(self.asked):
            for one, (low, high) in enumerate(pairwise(lists.offsets)):
                shown = asked.shown.rows[low:high].tobytes()
                new[at, one] = shown not in known[one]
                known[one].add(shown)
        return new


def _beyond(
    lists: CandidateLists, deviations: Sequence[np.ndarray], floor: Floor, *, doubt: bool = False
) -> Bool[np.ndarray, " lists"]:
    """The lists of two documents or more in which some deviation is an effect, or may be one."""
    found, least = np.zeros(len(lists), dtype=bool), floor.doubt if doubt else floor.effect
    for deviation in deviations:
        found |= segments.maxima(lists.offsets, deviation - least) > 0
    return found & (lists.lengths > 1)


def kinds_of(judged: JudgedLists, reads: frozenset[Any] = frozenset()) -> np.ndarray:
    """A number for each candidate, the same for those of one list that a ranker cannot tell apart.

    That are documents of equal features; to one that reads ids or texts, every document is another.
    """
    lists, features = judged.lists, judged.dataset.features
    if reads & {"documents", "texts"}:
        return np.arange(len(lists.rows), dtype=np.int64)
    kinds = np.arange(len(lists.rows), dtype=np.int64)
    for low, high in pairwise(lists.offsets):
        _, first, place = np.unique(
            features[lists.rows[low:high]], axis=0, return_index=True, return_inverse=True
        )
        kinds[low:high] = low + first[place.ravel()]
    return kinds


def _noise(
    lists: CandidateLists,
    floor: Floor,
    repeats: Sequence[np.ndarray],
    changed: Sequence[np.ndarray],
) -> dict[str, Any]:
    """Do other orders change the scores of a list by more than the same order does?

    Medians are compared, so that a rare accident on either side tells nothing. `noise_lists` are
    those in which the median order changes CLEARLY times what any repeat or arithmetic did.
    """
    doubt = np.maximum(segments.maxima(lists.offsets, floor.doubt), TINY)
    unit = np.where(lists.lengths > 0, doubt, 1.0)
    same, other = (
        np.array([np.minimum(segments.maxima(lists.offsets, one), LARGEST) for one in each]) / unit
        for each in (repeats, changed)
    )
    same, other = np.maximum(same, 0.0), np.maximum(other, 0.0)
    usual = np.median(other, axis=0)
    test = paired_t(np.log1p(usual), np.log1p(np.median(same, axis=0)))
    clear = (usual > CLEARLY * np.maximum(same.max(axis=0), 1.0)) & (lists.lengths > 1)
    p = None if np.isnan(test.p_value) else test.p_value
    more = bool(test.difference > 0)
    return {"noise_p": p, "noise_more": more, "noise_lists": int(clear.sum())}


def _covered(lists: CandidateLists, kinds: np.ndarray, scores: np.ndarray) -> dict[str, Any]:
    """What the lists hold that a certificate ought to have met."""
    lengths = lists.lengths
    tied = [_repeated(scores[low:high]) for low, high in pairwise(lists.offsets)]
    return {
        "longest": int(lengths.max(initial=0)),
        "middle_length": float(np.median(lengths)) if len(lengths) else 0.0,
        "singles": int((lengths < 2).sum()),
        "tied_documents": sum(tied),
        "equal_documents": _repeated(kinds),
    }


def _repeated(values: np.ndarray) -> int:
    """How many of these equal another one."""
    _, counts = np.unique(values, return_counts=True)
    return int(counts[counts > 1].sum())
