"""Examination of a ranker under other input orders: changes per list, and their other causes.

The unchanged order is scored several times, alone and with other lists, before and after all other
orders. If the ranker can run in a fresh process (`fresh`), some orders are scored by a process that
has seen no other order. Changes without a change of the order are separated from the effect of the
order.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64, Int64, Real

from shuffleproof.core.data import ragged
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.experiment import score_floor
from shuffleproof.core.experiment.score_floor import (
    EXACT,
    EXCUSED,
    TINY,
    Floor,
    difference,
    largest_changes,
)
from shuffleproof.core.experiment.score_reuse import exact_changes
from shuffleproof.core.metrics import rounding, segments
from shuffleproof.core.metrics.agreement import kendall_tau
from shuffleproof.core.metrics.passing import documents_passed, pairs_within, smallest_gap
from shuffleproof.core.metrics.relevance import plain_ndcg
from shuffleproof.core.metrics.significance import paired_t
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.rankers.outside.callable_ranker import CallableRanker
from shuffleproof.core.studies.kinds.invariance.scoring import (
    NEIGHBOURS,
    SORTED,
    ScoredOrder,
    ScoringRequest,
    as_in,
    systematic,
    systematic_orders,
)

MEASURES = (
    "score-deviation", "documents-moved", "tau", "smallest-gap", "deviation-over-floor",
    "documents-in-doubt", "pairs-within-floor", "order-seen-first",
)  # fmt: skip
"""Measures per list and order: largest change of a score; documents that surely passed another;
Kendall τ of the two rankings; smallest gap of two scores. Then the largest change as a multiple of
the floor (above 1 it is an effect), and documents that passed another by more than rounding. Last,
the share of pairs closer than the floor, and 1 if the list was not shown in this order before.
"""

REPEATS = 4
FRESH, FRESH_OF_FAMILY = 3, 2
"""Numbers of random orders, and of orders of each further family, that fresh processes score, one
order each. The last random one uses a single thread."""

LOSS_CUTOFF = 10
"""Cutoff of the NDCG(empty=skip) whose mean loss over the random orders of a list is recorded."""

CLEARLY = 10.0
CONFIRMED = 3
"""Number of orders with changes that are scored once more."""

WITNESSED = 5
"""Number of documents of each order that a witness names."""

ALONE = 4
"""Number of lists that are scored alone in another order."""

EXACT_LISTS, EXACT_SAMPLE = 64, 8
LARGEST = float(np.finfo(np.float32).max)


def orders_scored(permutations: int) -> int:
    """Number of orders of each list that an examination with fresh processes scores.

    Changes are confirmed by a few more, and orders that equal the input order are left out.
    """
    here = 1 + REPEATS + permutations
    afresh = 1 + min(FRESH, permutations)
    floor = 1
    return here + afresh + floor + systematic_orders(-(-permutations // 2))


@dataclass(frozen=True)
class Examination:
    """Result of an examination.

    Attributes:
        values: MEASURES of each list, for each order.
        facts: of all lists together, as plain values: see `examine`.
    """

    values: list[Float64[np.ndarray, "measures lists"]]
    facts: dict[str, Any]


def examine(
    ranker: Ranker,
    base: JudgedLists,
    variants: Sequence[CandidateLists],
    arranged: Callable[[np.ndarray], CandidateLists] | None = None,
) -> Examination:
    """Score the lists in their own and in other orders, and compare list by list.

    Args:
        ranker: anything that scores.
        base: the lists in their own order.
        variants: the same documents in other orders (or under other initial rankings).
        arranged: makes the lists of a systematic order, from the candidate at each place; by
            default the lists in that order.

    Returns:
        The values, and these facts. Sizes: `numeric_floor` (largest floor of any score),
        `largest_score`, `precision` (smallest type that holds the scores).
        Changes: `half_steps` (the largest, in steps of a half-precision type), `exact_change`
        (of float64 scores, as a share of the list's largest score; None without such scores).
        Numbers of lists: `unstable` (scores differ without a change), `company` (scores depend on
        the lists scored with them), `padding` (scores depend on the padding; None without any).
        Also `state` (a fresh process scores differently), `own_rounding` (the ranker's own
        rounding may explain the changes), `noise_lists` (other orders clearly change more).
        Noise: `repeat_change` (largest difference of a document's scores in one order; 0 for our
        rankers), `noise_p` (paired t over lists: other orders change more than the same order; None
        if nothing is unstable), `noise_more` (they change more).
        Work: `scorings` (of each list, in this process), `lists_scored` (in all),
        `fresh_processes`, `systematic` (see `order_facts`).
        Ranker: `ours`, `no_memory` (reason why memory between calls was not examined; else empty),
        `places` (by `outside.audit.KINDS`; None without processes), `training_mode` (a torch module
        was in it), `witness`. Then those of `_place_signs`, `_loss` and `_coverage`.

    Raises:
        DataError: a score is NaN.
    """
    lists, request = base.lists, ScoringRequest(ranker, base)
    ranker = request.ranker
    # Half of the repeats come before the other orders, half after, to detect a changing state
    as_is, *repeats = (request.score_order(lists) for _ in range(1 + REPEATS // 2))
    permuted = request.all_here(variants)
    repeats += [request.score_order(lists) for _ in range(REPEATS - len(repeats))]
    floor, company = score_floor.measure_floor(ranker, base, as_is.scores)
    repeat_changes = [difference(as_is.scores, repeat.scores) for repeat in repeats]
    unstable, state = _lists_beyond(lists, repeat_changes, floor), np.zeros(len(lists), dtype=bool)
    company |= _changed_alone(request, permuted, floor)
    padding = _padding(request, as_is, floor)
    before, compared = as_is, list(permuted)
    if request.afresh:
        before, fresh_variants = request.fresh(lists), variants[:FRESH]
        fresh = [
            request.fresh(variant, 1 if variant is fresh_variants[-1] else None)
            for variant in fresh_variants
        ]
        pairs = zip((as_is, *permuted), (before, *fresh), strict=False)
        if not unstable.any():
            state = _lists_beyond(lists, [difference(a.scores, b.scores) for a, b in pairs], floor)
        compared[: len(fresh)] = fresh
    # Another process must give the same scores, else the function depends on its state
    if request.scores_here is not None and not unstable.any():
        state |= _lists_beyond(lists, [difference(request.scores_here, as_is.scores)], floor)
    several = -(-len(variants) // 2)
    orders = systematic(base, as_is.scores, several)
    names = [name for name, _ in orders]
    rare = _rare(request, names, [(arranged or lists.shown_as)(order) for _, order in orders])
    random_orders, systematic_orders = (
        _Comparison(request, base, before.scores, scored, floor).excused()
        for scored in (compared, rare)
    )
    unstable |= random_orders.not_confirmed() | systematic_orders.not_confirmed()
    changed = [difference(as_is.scores, scored.scores) for scored in permuted]
    noise = _noise(lists, floor, repeat_changes, changed) if unstable.any() else {}
    company &= not unstable.any()
    kinds = kinds_of(base, ranker.reads)
    random_values, systematic_values = random_orders.values(kinds), systematic_orders.values(kinds)
    ranker_rounding = np.maximum(random_orders.own, systematic_orders.own)
    facts = {
        "numeric_floor": float(random_orders.floor.doubt.max(initial=0.0)),
        "largest_score": float(np.abs(before.scores[np.isfinite(before.scores)]).max(initial=0.0)),
        "unstable": int(unstable.sum()),
        "repeat_change": 0.0 if request.ours else float(np.max(repeat_changes, initial=0.0)),
        "company": int(company.sum()),
        "padding": None if padding is None else int(padding.sum()),
        "state": int(state.sum()),
        "noise_p": None,
        "noise_more": False,
        "noise_lists": 0,
        "exact_change": random_orders.exact_change(),
        "own_rounding": int((segments.maxima(lists.offsets, ranker_rounding) > 0).sum()),
        "systematic": order_facts(
            lists, [*zip(names, (order.shown for order in rare), strict=True)],
            systematic_values,
        ),
        "scorings": 1 + REPEATS + len(variants),
        "lists_scored": request.scored + len(lists),
        "fresh_processes": request.processes,
        "ours": request.ours,
        "no_memory": request.no_memory,
        "places": request.places() if isinstance(request.ranker, CallableRanker) else None,
        "training_mode": bool(getattr(request.ranker, "training_mode", False)),
        "precision": _precision(before.scores),
        "half_steps": random_orders.half_steps(),
        "witness": _witness(
            base, before.scores, [*compared, *rare], [*random_values, *systematic_values]
        ),
    }  # fmt: skip
    facts |= _place_signs(lists, [before, *compared])
    facts |= _loss(base, before.scores, compared)
    covered = _coverage(lists, kinds, before.scores)
    return Examination(random_values, facts | noise | covered)


def _witness(
    base: JudgedLists,
    before: np.ndarray,
    orders: Sequence[ScoredOrder],
    values: Sequence[Float64[np.ndarray, "measures lists"]],
) -> dict[str, Any] | None:
    """Two input orders of one list that the ranker ranks most differently; None: no such list.

    `query`, `moved` (documents that passed another), and for the list's `own` order and the
    `other` one the first WITNESSED documents of the `order`, and those of the `ranking` from the
    first `rank` (1-based) that differs.
    """
    moved = np.array([block[MEASURES.index("documents-moved")] for block in values])
    if not moved.any():  # changes within rounding may follow the position
        moved = np.array([block[MEASURES.index("documents-in-doubt")] for block in values])
    at, place = divmod(int(moved.argmax()), moved.shape[1]) if moved.size else (0, 0)
    if not moved.any():
        return None
    lists, dataset = base.lists, base.dataset
    inside = slice(lists.offsets[place], lists.offsets[place + 1])
    rows = lists.rows[inside]
    start = dataset.offsets[lists.queries[place]]

    sides = {"own": (lists, before), "other": (orders[at].shown, orders[at].scores)}
    rankings = [rows[np.lexsort((rows, -scores[inside]))] for _, scores in sides.values()]
    differing = np.flatnonzero(rankings[0] != rankings[1])
    if not len(differing):
        return None

    def named(shown: np.ndarray) -> list[str]:
        """Ids, or 1-based places in the query where the data set has none."""
        ids = dataset.doc_ids
        rows = shown[:WITNESSED].tolist()
        return [str(row - start + 1) if ids is None else ids[row] for row in rows]

    return {
        "query": dataset.query_ids[lists.queries[place]],
        "moved": int(moved[at, place]),
        "rank": int(differing[0]) + 1,
        **{
            side: {"order": named(shown.rows[inside]), "ranking": named(ranking[differing[0] :])}
            for (side, (shown, _)), ranking in zip(sides.items(), rankings, strict=True)
        },
    }


def _rare(
    request: ScoringRequest, names: Sequence[str], shown: Sequence[CandidateLists]
) -> list[ScoredOrder]:
    """Score systematic orders; fresh processes score a few of each large family, all of others."""
    if not request.afresh:
        return request.all_here(shown)
    large, here = {NEIGHBOURS: FRESH_OF_FAMILY, SORTED: FRESH_OF_FAMILY}, list[ScoredOrder]()
    for name, variant in zip(names, shown, strict=True):
        left = large.get(name, 1)
        large |= {name: left - 1} if name in large else {}
        here.append(request.fresh(variant) if left > 0 else request.score_order(variant))
    return here


def _precision(scores: np.ndarray) -> str:
    """Name of the smallest type that holds all scores.

    >>> _precision(np.array([0.1, 3.0])), _precision(np.array([0.5, 3.0]))
    ('float64', 'float32')
    """
    with np.errstate(over="ignore"):
        is_single = (scores.astype(np.float32) == scores).all()
    return rounding.half_precision(scores) or ("float32" if is_single else "float64")


def _place_signs(lists: CandidateLists, orders: Sequence[ScoredOrder]) -> dict[str, int]:
    """Documents whose scores follow their position: `place_rises`, `place_falls`.

    From one order to the next, a document at a later position has a higher score (rises) or a lower
    one (falls). Each document counts once, by its more frequent direction. Rounding causes both
    equally often, so the two counts give a sign test for ties broken by the input order.
    """
    scores = np.array([order.scores for order in orders])
    places = np.array([
        as_in(lists, order.shown, ragged.places_of(order.shown.offsets)) for order in orders
    ])  # fmt: skip
    sign = (scores[1:] > scores[:-1]).astype(np.int64) - (scores[1:] < scores[:-1])
    prevailing = (sign * np.sign(np.diff(places, axis=0))).sum(axis=0)
    return {
        "place_rises": int((prevailing > 0).sum()), "place_falls": int((prevailing < 0).sum()),
    }  # fmt: skip


def _loss(
    base: JudgedLists, before: np.ndarray, orders: Sequence[ScoredOrder]
) -> dict[str, int | float]:
    """Loss of NDCG(empty=skip)@10 under random orders, as sums over the lists with a value.

    `loss_lists`, `loss_before` (sum of the values in the own order), `loss_sum` and `loss_squares`
    (of the mean losses). Sums of several blocks of lists can be added.
    """
    offsets = base.lists.offsets
    own, *others = (
        plain_ndcg(
            base.dataset, base.lists, ragged.in_single_precision(offsets, scores), LOSS_CUTOFF
        ).astype(np.float64)
        for scores in (one.astype(np.float64) for one in (before, *(o.scores for o in orders)))
    )
    counted = ~np.isnan(own)
    lost = own[counted] - np.mean(others, axis=0)[counted] if others else np.zeros(0)
    return {
        "loss_lists": len(lost), "loss_before": float(own[counted].sum()),
        "loss_sum": float(lost.sum()), "loss_squares": float((lost**2).sum()),
    }  # fmt: skip


def _changed_alone(
    request: ScoringRequest, permuted: Sequence[ScoredOrder], floor: Floor
) -> Bool[np.ndarray, " lists"]:
    """Mask of the lists, of a small sample, whose scores change when they are scored alone."""
    lists = request.base.lists
    differing = np.zeros(len(lists), dtype=bool)
    sample = np.unique(np.linspace(0, len(lists) - 1, ALONE).astype(np.int64)) if len(lists) else ()
    for place in sample if permuted else ():
        single, arranged = (side.select(np.array([place])) for side in (lists, permuted[0].shown))
        scores = request.ranker.score(request.base.dataset, arranged)
        inside = slice(lists.offsets[place], lists.offsets[place + 1])
        changes = np.zeros(len(lists.rows))
        changes[inside] = difference(permuted[0].scores[inside], as_in(single, arranged, scores))
        beyond = _lists_beyond(lists, [changes], floor)
        if beyond.any() and not _is_rounding_alone(request, permuted[0], place, changes.max()):
            differing |= beyond
    request.scored += len(sample)
    return differing


def _is_rounding_alone(
    request: ScoringRequest, order: ScoredOrder, place: np.int64, change: float
) -> bool:
    """True if a small change of a list scored alone is absent from its float64 scores."""
    exactly, lists = getattr(request.ranker, "exact_scores", None), request.base.lists
    spread = rounding.scales(lists.offsets, order.scores).spread[place]
    if exactly is None or change > EXCUSED * spread:
        return False
    chosen_lists = np.unique([0, place, len(lists) - 1])  # the list together with two others
    company, alone = (order.shown.select(chosen) for chosen in (chosen_lists, np.array([place])))
    first = company.offsets[np.searchsorted(chosen_lists, place)]
    in_company = exactly(request.base.dataset, company)[first : first + len(alone.rows)]
    by_itself = exactly(request.base.dataset, alone)
    return bool((largest_changes(alone.offsets, in_company, by_itself) <= EXACT).all())


def _padding(
    request: ScoringRequest, as_is: ScoredOrder, floor: Floor
) -> Bool[np.ndarray, " lists"] | None:
    """Mask of the lists whose scores change with their padding; None if the ranker sees none."""
    padded = getattr(request.ranker, "padded", None)
    if padded is None:  # one of our rankers: scoring with other lists has varied its padding
        return np.zeros(len(as_is.shown), dtype=bool)
    ranker = padded()
    if ranker is None or not len(as_is.scores):
        return None
    request.scored += len(as_is.shown)
    try:
        scores = ranker.score(request.base.dataset, as_is.shown)
    except ShuffleproofError:  # it takes no padding, so it never sees any
        return None
    return _lists_beyond(as_is.shown, [difference(as_is.scores, scores)], floor)


@dataclass(frozen=True)
class _Comparison:
    """Scores of the lists in their own order and in other orders, by document."""

    request: ScoringRequest
    base: JudgedLists
    before: np.ndarray
    orders: Sequence[ScoredOrder]
    floor: Floor

    @property
    def _exact_scores(self) -> Any:
        """Function for the ranker's scores in float64, if it has one."""
        return getattr(self.request.ranker, "exact_scores", None)

    @cached_property
    def changed(self) -> list[Float64[np.ndarray, " candidates"]]:
        """Changes of each score by each order."""
        return [difference(self.before, scored.scores) for scored in self.orders]

    @cached_property
    def largest(self) -> Float64[np.ndarray, "orders lists"]:
        """Largest change of each list by each order."""
        offsets = self.base.lists.offsets
        maxima = [np.maximum(segments.maxima(offsets, changes), 0.0) for changes in self.changed]
        return np.array(maxima).reshape(len(maxima), len(self.base.lists))

    @cached_property
    def own(self) -> Float64[np.ndarray, " candidates"]:
        """Bound of a function's own rounding for scores that changed; 0 where it is known."""
        changed = np.flatnonzero(
            _lists_beyond(self.base.lists, self.changed, self.floor, doubt=True)
        )
        if self.request.ours or not len(changed) or self._exact_scores is not None:
            return np.zeros(len(self.before))
        self.request.scored += score_floor.DRAWS * len(changed)
        return score_floor.own_rounding(self.request.another(), self.base, changed, self.before)

    def values(self, kinds: np.ndarray) -> list[Float64[np.ndarray, "measures lists"]]:
        """MEASURES of each list, for each order; `kinds` as from `kinds_of`."""
        lists, floor = self.base.lists, self.floor
        gap = smallest_gap(lists.offsets, self.before)
        gap = np.where(np.isinf(gap), np.nan, gap)
        doubt, effect = (np.maximum(bound, self.own) for bound in (floor.doubt, floor.effect))
        near = pairs_within(lists.offsets, self.before, floor.doubt)
        blocks = []
        for changed, maximum, order, new in zip(
            self.changed, self.largest, self.orders, self._seen_first(), strict=True
        ):
            passed, doubted = (
                segments.sums(
                    lists.offsets,
                    documents_passed(lists.offsets, self.before, order.scores, least, kinds).astype(
                        np.float64
                    ),
                )
                for least in (doubt, np.zeros(len(lists.rows)))
            )
            slight = segments.maxima(lists.offsets, changed - floor.doubt) > 0
            doubted = np.maximum(doubted, slight)
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.where(changed > 0, changed / effect, 0.0)
            over_floor = np.clip(segments.maxima(lists.offsets, ratio), 0.0, LARGEST)
            tau = kendall_tau(lists.offsets, self.before, order.scores)
            deviation = np.minimum(maximum, LARGEST)
            blocks.append(np.stack([deviation, passed, tau, gap, over_floor, doubted, near, new]))
        return blocks

    def half_steps(self) -> float:
        """Largest change in steps of the scores' half-precision type; 0 for other types."""
        half = rounding.half_precision(self.before)
        if not half:
            return 0.0
        changes = np.max(self.changed, axis=0, initial=0.0)
        step = np.maximum(
            rounding.half_step(self.before, half),
            np.repeat(
                rounding.half_step(
                    rounding.scales(self.base.lists.offsets, self.before).magnitude, half
                ),
                self.base.lists.lengths,
            ),
        )
        return float((changes[step > 0] / step[step > 0]).max(initial=0.0))

    def excused(self) -> "_Comparison":
        """Copy with a higher floor where float64 scores show that a change is rounding.

        A few float32 scores have larger errors than expected. If a change is small and the
        float64 scores do not change at all, the order is not its cause.
        """
        lists = self.base.lists
        if not self.orders or self._exact_scores is None:
            return self
        limit = EXCUSED * rounding.scales(lists.offsets, self.before).spread
        doubted = _lists_beyond(lists, self.changed, self.floor) & (
            self.largest.max(axis=0) <= limit
        )
        least, worst = np.zeros(len(lists.rows)), self.largest.argmax(axis=0)
        for place in np.flatnonzero(doubted)[:EXACT_LISTS]:
            if self._in_float64(place[None], int(worst[place])) <= EXACT:
                inside = slice(lists.offsets[place], lists.offsets[place + 1])
                least[inside] = self.largest[worst[place], place]
        return replace(self, floor=self.floor.raised(least))

    def exact_change(self) -> float | None:
        """Float64 change by an order for a few lists, as a share of the list's largest score."""
        lists = self.base.lists
        if self._exact_scores is None or not self.orders or not len(lists):
            return None
        sample = np.unique(np.linspace(0, len(lists) - 1, EXACT_SAMPLE).astype(np.int64))
        return self._in_float64(sample, 0)

    def _in_float64(self, sample: Int64[np.ndarray, " sample"], order: int) -> float:
        """Float64 change of these lists by one order, as a share of the list's largest score."""
        lists, arranged = (
            side.select(sample) for side in (self.base.lists, self.orders[order].shown)
        )
        pair = (JudgedLists(self.base.dataset, side) for side in (lists, arranged))
        return float(exact_changes(self.request.ranker, *pair).max())

    def not_confirmed(self) -> Bool[np.ndarray, " lists"]:
        """Mask of the lists whose worst order has other scores when it is scored once more."""
        lists = self.base.lists
        unconfirmed = np.zeros(len(lists), dtype=bool)
        over_floor = _lists_beyond(lists, self.changed, self.floor)
        if not over_floor.any():
            return unconfirmed
        orders, counts = np.unique(self.largest.argmax(axis=0)[over_floor], return_counts=True)
        for at in orders[np.argsort(-counts, kind="stable")][:CONFIRMED]:
            repeated = self.request.repeat(self.orders[at])
            unconfirmed |= _lists_beyond(
                lists, [difference(repeated.scores, self.orders[at].scores)], self.floor
            )
        return unconfirmed

    def _seen_first(self) -> Float64[np.ndarray, "orders lists"]:
        """1 where an order of a list is new: neither its own nor an earlier one."""
        lists = self.base.lists
        earlier = [{lists.rows[low:high].tobytes()} for low, high in pairwise(lists.offsets)]
        new = np.zeros((len(self.orders), len(lists)))
        for at, order in enumerate(self.orders):
            for place, (low, high) in enumerate(pairwise(lists.offsets)):
                arrangement = order.shown.rows[low:high].tobytes()
                new[at, place] = arrangement not in earlier[place]
                earlier[place].add(arrangement)
        return new


def _lists_beyond(
    lists: CandidateLists, deviations: Sequence[np.ndarray], floor: Floor, *, doubt: bool = False
) -> Bool[np.ndarray, " lists"]:
    """Mask of the lists of two documents or more with a certain or (`doubt`) possible effect."""
    exceeding, least = np.zeros(len(lists), dtype=bool), floor.doubt if doubt else floor.effect
    for deviation in deviations:
        exceeding |= segments.maxima(lists.offsets, deviation - least) > 0
    return exceeding & (lists.lengths > 1)


def kinds_of(judged: JudgedLists, reads: frozenset[Any] = frozenset()) -> np.ndarray:
    """Number for each candidate, equal for those of a list that a ranker cannot distinguish.

    These are documents with equal features. If the ranker reads ids or texts, all are different.
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
    """Test whether other orders change the scores of a list by more than the same order does.

    Medians are compared, so that rare outliers on either side have no effect. `noise_lists` are
    lists whose median change by an order is CLEARLY times that of any repeat or of rounding.
    """
    doubt = np.maximum(segments.maxima(lists.offsets, floor.doubt), TINY)
    unit = np.where(lists.lengths > 0, doubt, 1.0)
    of_repeats, of_orders = (
        np.array(
            [np.minimum(segments.maxima(lists.offsets, change), LARGEST) for change in changes]
        )
        / unit
        for changes in (repeats, changed)
    )
    of_repeats, of_orders = np.maximum(of_repeats, 0.0), np.maximum(of_orders, 0.0)
    median = np.median(of_orders, axis=0)
    # Logarithms, since changes of scores range over many orders of magnitude
    test = paired_t(np.log1p(median), np.log1p(np.median(of_repeats, axis=0)))
    clear = (median > CLEARLY * np.maximum(of_repeats.max(axis=0), 1.0)) & (lists.lengths > 1)
    p = None if np.isnan(test.p_value) else test.p_value
    larger = bool(test.difference > 0)
    return {"noise_p": p, "noise_more": larger, "noise_lists": int(clear.sum())}


def _coverage(lists: CandidateLists, kinds: np.ndarray, scores: np.ndarray) -> dict[str, Any]:
    """Coverage of the lists: lengths, ties and equal documents."""
    lengths = lists.lengths
    tied = [_count_repeated(scores[low:high]) for low, high in pairwise(lists.offsets)]
    return {
        "longest": int(lengths.max(initial=0)),
        "middle_length": float(np.median(lengths)) if len(lengths) else 0.0,
        "singles": int((lengths < 2).sum()),
        "tied_documents": sum(tied),
        "equal_documents": _count_repeated(kinds),
    }


def _count_repeated(values: np.ndarray) -> int:
    """Number of values that equal another one."""
    _, counts = np.unique(values, return_counts=True)
    return int(counts[counts > 1].sum())


def answer_changed(
    values: Real[np.ndarray, "measures *lists"],
) -> Bool[np.ndarray, "*lists"]:
    """True where an order moved a document, or changed a score, by more than rounding."""
    return (values[MEASURES.index("documents-moved")] > 0) | (
        values[MEASURES.index("deviation-over-floor")] > 1
    )


def order_facts(
    lists: CandidateLists,
    shown: Sequence[tuple[str, CandidateLists]],
    values: Sequence[Float64[np.ndarray, "measures lists"]],
) -> dict[str, Any]:
    """Effects of systematic orders, as plain values.

    Args:
        lists: in their own order.
        shown: name of each order, and the lists in it; several orders may have one name.
        values: MEASURES of each list, for each order.

    Returns:
        By name, the number of lists that an order rearranged (`shown`) and the number of rankings
        that it changed (`changed`); the lists with a change (`moved`), with a possible change
        (`doubtful`), and with any change of a score (`stirred`).
    """
    moved, doubtful, rescored = (np.zeros(len(lists), dtype=bool) for _ in range(3))
    orders: dict[str, dict[str, int]] = {}
    for (name, variant), block in zip(shown, values, strict=True):
        by_measure = dict(zip(MEASURES, block, strict=True))
        differing = (
            segments.sums(lists.offsets, (variant.rows != lists.rows).astype(np.float64)) > 0
        )
        changed = answer_changed(block) & differing
        moved |= changed
        doubtful |= (by_measure["documents-in-doubt"] > 0) & differing
        rescored |= (by_measure["score-deviation"] > 0) & differing
        counts = orders.setdefault(name, {"shown": 0, "changed": 0})
        counts["shown"] += int(differing.sum())
        counts["changed"] += int(changed.sum())
    return {
        "orders": orders,
        "moved": np.flatnonzero(moved).tolist(),
        "doubtful": np.flatnonzero(doubtful & ~moved).tolist(),
        "stirred": np.flatnonzero(rescored).tolist(),
    }


def join_facts(summaries: Sequence[tuple[Mapping[str, Any], int]]) -> dict[str, Any]:
    """Merge several summaries, each with its number of lists, into one for all lists in turn."""
    orders: dict[str, dict[str, int]] = {}
    merged: dict[str, Any] = {"orders": orders, "moved": [], "doubtful": [], "stirred": []}
    start = 0
    for summary, lists in summaries:
        for name, counts in summary["orders"].items():
            totals = orders.setdefault(name, {"shown": 0, "changed": 0})
            for count_name, count in counts.items():
                totals[count_name] += count
        for name in ("moved", "doubtful", "stirred"):
            merged[name] += [start + at for at in summary[name]]
        start += lists
    return merged
