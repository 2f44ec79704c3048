"""A ranker examined under other orders: what changed in each list, and what else was noticed.

The unchanged order is scored several times, in the same and in other company, before and after
everything else; where a ranker can be had in a fresh process (`fresh`), some orders are scored
there by a process that has seen no other. Whatever changes without the order being changed is told
apart from what the order does.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float64

from core.data.lists import CandidateLists, JudgedLists
from core.metrics import rounding, segments
from core.metrics.agreement import kendall_tau
from core.metrics.passing import documents_passed, pairs_within, smallest_gap
from core.metrics.significance import paired_t
from core.rankers.base import Ranker
from core.studies import score_floor
from core.studies.carrying import scores_of_all, source_of
from core.studies.score_floor import Floor, checked, difference

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

EXACT_LISTS, EXACT_SAMPLE = 64, 8
TINY = 1e-300
LARGEST = float(np.finfo(np.float32).max)
EXACT = 1e-8
"""Of a list's scores: what changes by no more in float64 has not changed."""


Anew = Callable[[int | None], Ranker]
"""(numeric threads, or None) → the same ranker without what it may remember."""


@runtime_checkable
class Fresh(Protocol):
    """A ranker that can be had anew, without what it may remember."""

    def fresh(self, threads: int | None = None) -> Ranker:
        """The same ranker in a process of its own."""


@dataclass(frozen=True)
class Examined:
    """What an examination saw.

    Attributes:
        values: one row of MEASURES a list, for each order.
        facts: of the whole, as plain values: see `examine`.
    """

    values: list[Float64[np.ndarray, "measures lists"]]
    facts: dict[str, Any]


def examine(ranker: Ranker, base: JudgedLists, variants: Sequence[CandidateLists]) -> Examined:
    """Score the lists as they are and under other orders, and compare list by list.

    Args:
        ranker: anything that scores.
        base: the lists as they are.
        variants: the same documents in other orders (or under other initial rankings).

    Returns:
        The values, and these facts: `numeric_floor` (the largest of any score), `largest_score`,
        `unstable` (lists whose scores differ though nothing was changed), `company` (lists whose
        scores depend on the lists scored with them), `state` (lists that a fresh process scores
        otherwise), `noise_p` (paired t over lists: do other orders change more than the same
        order does; None where nothing is unstable), `noise_more` (they change more), `noise_lists`
        (lists that they clearly change more), `exact_change`
        (what an order changes of float64 scores, as a share of the list's largest; None where there
        are none), `scorings`,
        `fresh_processes`, `longest`, `middle_length`, `singles` (lists of fewer than two),
        `tied_documents`, `equal_documents` (features equal another's of the list).

    Raises:
        DataError: a score is NaN.
    """
    anew = _anew(ranker)
    lists, first = base.lists, _Answers.given(ranker, base, variants)
    floor, company = score_floor.measured(ranker, base, first.before)
    repeats = [difference(first.before, one) for one in first.repeats]
    unstable, state = _beyond(lists, repeats, floor), np.zeros(len(lists), dtype=bool)
    before, after = first.before, first.after
    if anew is not None:
        fresh = _Answers.fresh(anew, base, variants)
        pairs = list(zip((fresh.before, *fresh.after), (before, *after), strict=False))
        if not unstable.any():
            state = _beyond(lists, [difference(*pair) for pair in pairs], floor)
        before, after = fresh.before, [*fresh.after, *after[len(fresh.after) :]]
    seen = _Comparison((ranker, anew), base, variants, before, after, floor)
    seen = replace(seen, floor=seen.floor_with_exact())
    unstable |= seen.not_confirmed()
    orders = [difference(first.before, one) for one in first.after]
    noise = _noise(lists, floor, repeats, orders) if unstable.any() else {}
    company &= not unstable.any()
    facts = {
        "numeric_floor": float(seen.floor.doubt.max(initial=0.0)),
        "largest_score": float(np.abs(before[np.isfinite(before)]).max(initial=0.0)),
        "unstable": int(unstable.sum()),
        "company": int(company.sum()),
        "state": int(state.sum()),
        "noise_p": None,
        "noise_more": False,
        "noise_lists": 0,
        "exact_change": seen.exact_change(),
        "scorings": 1 + REPEATS + len(variants),
        "fresh_processes": 0 if anew is None else 1 + min(FRESH, len(variants)),
    }
    return Examined(seen.values(), facts | noise | _covered(base, before))


@dataclass(frozen=True)
class _Answers:
    """Scores as the lists have them: of the lists as they are, again, and of the other orders."""

    before: np.ndarray
    repeats: list[np.ndarray]
    after: list[np.ndarray]

    @classmethod
    def given(
        cls, ranker: Ranker, base: JudgedLists, variants: Sequence[CandidateLists]
    ) -> "_Answers":
        """Everything by one ranker, half of the repeats at the end."""
        lists = base.lists

        def scored() -> np.ndarray:
            return checked(ranker, lists, ranker.score(base.dataset, lists))

        before, repeats = scored(), [scored() for _ in range(REPEATS // 2)]
        after = [
            _as_in(lists, variant, checked(ranker, variant, scores))
            for variant, scores in zip(variants, scores_of_all(ranker, base, variants), strict=True)
        ]
        return cls(before, [*repeats, *(scored() for _ in range(REPEATS - len(repeats)))], after)

    @classmethod
    def fresh(cls, anew: Anew, base: JudgedLists, variants: Sequence[CandidateLists]) -> "_Answers":
        """The answers of processes that saw one order each, the last of them with one thread."""

        def scored(shown: CandidateLists, threads: int | None = None) -> np.ndarray:
            ranker = anew(threads)
            return checked(ranker, shown, ranker.score(base.dataset, shown))

        asked = variants[:FRESH]
        after = [
            _as_in(base.lists, one, scored(one, 1 if one is asked[-1] else None)) for one in asked
        ]
        return cls(scored(base.lists), [], after)


@dataclass(frozen=True)
class _Comparison:
    """The scores of the lists as they are beside those of other orders, by document."""

    rankers: tuple[Ranker, Anew | None]
    base: JudgedLists
    variants: Sequence[CandidateLists]
    before: np.ndarray
    after: list[np.ndarray]
    floor: Floor

    @property
    def ranker(self) -> Ranker:
        """Who is examined."""
        return self.rankers[0]

    @cached_property
    def changed(self) -> list[Float64[np.ndarray, " candidates"]]:
        """How much each order changed each score."""
        return [difference(self.before, one) for one in self.after]

    @cached_property
    def largest(self) -> Float64[np.ndarray, "orders lists"]:
        """The largest change that each order made in each list."""
        offsets = self.base.lists.offsets
        found = [np.maximum(segments.maxima(offsets, one), 0.0) for one in self.changed]
        return np.array(found).reshape(len(found), len(self.base.lists))

    def values(self) -> list[Float64[np.ndarray, "measures lists"]]:
        """One row of MEASURES a list, for each order."""
        lists, floor, kinds = self.base.lists, self.floor, kinds_of(self.base)
        gap = smallest_gap(lists.offsets, self.before)
        gap = np.where(np.isinf(gap), np.nan, gap)
        nothing = np.zeros(len(lists.rows))
        near = pairs_within(lists.offsets, self.before, floor.doubt)
        found = []
        for changed, largest, scores, new in zip(
            self.changed, self.largest, self.after, _seen_first(lists, self.variants), strict=True
        ):
            passed, doubted = (
                segments.sums(
                    lists.offsets,
                    documents_passed(lists.offsets, self.before, scores, one, kinds).astype(
                        np.float64
                    ),
                )
                for one in (floor.doubt, nothing)
            )
            slight = segments.maxima(lists.offsets, changed - floor.doubt) > 0
            doubted = np.maximum(doubted, slight)
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.where(changed > 0, changed / floor.effect, 0.0)
            over = np.clip(segments.maxima(lists.offsets, ratio), 0.0, LARGEST)
            tau = kendall_tau(lists.offsets, self.before, scores)
            most = np.minimum(largest, LARGEST)
            found.append(np.stack([most, passed, tau, gap, over, doubted, near, new]))
        return found

    def floor_with_exact(self) -> Floor:
        """The floor, raised where float64 scores of the same order show that a change is rounding.

        A few float32 scores are further off than expected. Where a change is small and the scores
        in float64 do not change at all, the order has no part in it.
        """
        exactly, lists = getattr(self.ranker, "exact_scores", None), self.base.lists
        if exactly is None or not self.changed:
            return self.floor
        most = EXCUSED * rounding.scales(lists.offsets, self.before).spread
        doubted = _beyond(lists, self.changed, self.floor) & (self.largest.max(axis=0) <= most)
        least, worst = np.zeros(len(lists.rows)), self.largest.argmax(axis=0)
        for one in np.flatnonzero(doubted)[:EXACT_LISTS]:
            few, shown = (each.select(one[None]) for each in (lists, self.variants[worst[one]]))
            before = exactly(self.base.dataset, few)
            after = _as_in(few, shown, exactly(self.base.dataset, shown))
            if difference(before, after).max() <= EXACT * np.abs(before).max():
                inside = slice(lists.offsets[one], lists.offsets[one + 1])
                least[inside] = self.largest[worst[one], one]
        return self.floor.raised(least)

    def exact_change(self) -> float | None:
        """What an order changes in float64, as a share of the list's largest score; of a few."""
        exactly, lists = getattr(self.ranker, "exact_scores", None), self.base.lists
        if exactly is None or not self.variants or not len(lists):
            return None
        chosen = np.unique(np.linspace(0, len(lists) - 1, EXACT_SAMPLE).astype(np.int64))
        few, shown = (each.select(chosen) for each in (lists, self.variants[0]))
        before = exactly(self.base.dataset, few)
        after = _as_in(few, shown, exactly(self.base.dataset, shown))
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
            ranker, anew = self.rankers
            if anew is not None and at < FRESH:
                ranker = anew(1 if at == min(FRESH, len(self.variants)) - 1 else None)
            again = checked(
                ranker, self.variants[at], ranker.score(self.base.dataset, self.variants[at])
            )
            again = _as_in(lists, self.variants[at], again)
            found |= _beyond(lists, [difference(again, self.after[at])], self.floor)
        return found


def _as_in(lists: CandidateLists, variant: CandidateLists, scores: np.ndarray) -> np.ndarray:
    """A variant's scores in the order of the lists."""
    placed = np.empty_like(scores)
    placed[source_of(lists, variant)] = scores
    return placed


def _beyond(
    lists: CandidateLists, deviations: Sequence[np.ndarray], floor: Floor
) -> Bool[np.ndarray, " lists"]:
    """The lists of two documents or more in which some deviation is beyond doubt."""
    found = np.zeros(len(lists), dtype=bool)
    for deviation in deviations:
        found |= segments.maxima(lists.offsets, deviation - floor.effect) > 0
    return found & (lists.lengths > 1)


def _seen_first(
    lists: CandidateLists, variants: Sequence[CandidateLists]
) -> Float64[np.ndarray, "orders lists"]:
    """1 where an order of a list was not scored before, neither as it is nor in another variant."""
    known = [{lists.rows[low:high].tobytes()} for low, high in pairwise(lists.offsets)]
    new = np.zeros((len(variants), len(lists)))
    for at, variant in enumerate(variants):
        for one, (low, high) in enumerate(pairwise(variant.offsets)):
            shown = variant.rows[low:high].tobytes()
            new[at, one] = shown not in known[one]
            known[one].add(shown)
    return new


def _anew(ranker: Ranker) -> Anew | None:
    """How a ranker can be had without memory; None: ours, which have none, or it cannot be copied.

    What is not ours and runs in this process is copied before it scores anything.
    """
    if isinstance(ranker, Fresh):
        return ranker.fresh
    if type(ranker).__module__.startswith("core."):
        return None
    try:
        untouched = copy.deepcopy(ranker)
    except (TypeError, ValueError, AttributeError):  # it holds a file, a lock, a connection
        return None
    return lambda threads: copy.deepcopy(untouched)  # noqa: ARG005 (it has no process of its own)


def kinds_of(judged: JudgedLists) -> np.ndarray:
    """A number for each candidate, the same for documents of equal features in one list."""
    lists, features = judged.lists, judged.dataset.features
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


def _covered(base: JudgedLists, scores: np.ndarray) -> dict[str, Any]:
    """What the lists hold that a certificate ought to have met."""
    lists, features = base.lists, base.dataset.features
    lengths = lists.lengths
    tied = equal = 0
    for low, high in pairwise(lists.offsets):
        tied += _repeated(scores[low:high])
        equal += _repeated(features[lists.rows[low:high]])
    return {
        "longest": int(lengths.max(initial=0)),
        "middle_length": float(np.median(lengths)) if len(lengths) else 0.0,
        "singles": int((lengths < 2).sum()),
        "tied_documents": tied,
        "equal_documents": equal,
    }


def _repeated(rows: np.ndarray) -> int:
    """How many of these equal another one."""
    _, counts = np.unique(rows, axis=0, return_counts=True)
    return int(counts[counts > 1].sum())
