"""Orders made of a matrix of preferences; those that go step by step are compiled.

A matrix holds weights w(i, j) ≥ 0 of i above j, NaN where there is no preference. Kernels that read
pairs step by step mark each in `read`, the lower row first, and count it in `pairs`. They stop
where a pair was not `asked` yet. A tie or a pair without an answer is settled by the row of the
items. Potentials are sums of multiples of 2⁻⁴⁰, which float64 adds exactly up to n = 8,000: no
order of summation breaks a tie.
"""

from typing import no_type_check

import numpy as np
from jaxtyping import Float64, Int64

from shuffleproof.core.compiled import compiled

Weights = Float64[np.ndarray, "items items"]

GRID = 2.0**40
TIED = 1e-9  # Potentials that are apart less are tied: thirds and tenths are no multiples


def margins(weights: Weights) -> Weights:
    """w(i, j) − w(j, i) on the grid, whose multiples add up exactly; 0 without a preference."""
    return np.nan_to_num(np.rint((weights - weights.T) * GRID) / GRID)


def won(
    weights: Weights,
) -> tuple[Float64[np.ndarray, " items"], Float64[np.ndarray, " items"]]:
    """Σ_j w(i, j) / (w(i, j) + w(j, i)), each on the grid, ½ of 0 / 0, and how many j there are."""
    both = weights + weights.T
    np.fill_diagonal(both, np.nan)
    compared = np.isfinite(both)
    with np.errstate(invalid="ignore"):
        share = np.where(both > 0.0, np.rint(weights / both * GRID) / GRID, 0.5)  # 0 / 0: a tie
    share = np.where(np.tri(len(weights), dtype=bool), 1.0 - share.T, share)  # of one pair add up
    return np.where(compared, share, 0.0).sum(axis=1), compared.sum(axis=1).astype(float)


def agreement(weights: Weights, order: Int64[np.ndarray, " items"]) -> float:
    """Σ w(i, j) over the pairs that the order puts i above j in."""
    return float(np.nansum(np.triu(weights[np.ix_(order, order)], 1)))


@compiled()
@no_type_check
def goa(gaps: np.ndarray) -> np.ndarray:
    """The item of the largest potential Σ w(i, j) − w(j, i) first, then of those left."""
    items = len(gaps)
    order, potential = np.empty(items, np.int64), np.empty(items)
    for item in range(items):
        potential[item] = gaps[item].sum()
    best = 0
    for item in range(items):
        if potential[item] > potential[best] + TIED:
            best = item
    for place in range(items):
        order[place] = best
        potential[best] = -np.inf
        row, best, highest = gaps[best], 0, -np.inf
        for item in range(items):
            # The margin against the item just placed goes: − gap(item, best) = gap(best, item)
            potential[item] += row[item]
            if potential[item] > highest + TIED:
                best, highest = item, potential[item]
    return order


@compiled()
@no_type_check
def note(read: np.ndarray, pairs: np.ndarray, item: int, other: int) -> None:
    """Mark a pair as read, and count it where it was not."""
    low, high = min(item, other), max(item, other)
    if not read[low, high]:
        read[low, high] = True
        pairs[0] += 1


@compiled()
@no_type_check
def goes_before(weights: np.ndarray, item: int, other: int) -> bool:
    """True if an item goes before another; the row decides ties."""
    weight, reverse = weights[item, other], weights[other, item]
    if weight > reverse:
        return True
    if weight < reverse:
        return False
    return item < other


@compiled()
@no_type_check
def quicksort(  # noqa: PLR0913, PLR0917 (arrays that Numba takes one by one)
    weights: np.ndarray, paid: np.ndarray, read: np.ndarray,
    pairs: np.ndarray, start: np.ndarray, top: int,
) -> np.ndarray:  # fmt: skip
    """Quicksort whose pivot is the first of its segment in the order given, down to rank `top`.

    In a random order this is a fresh random pivot in each segment.
    """
    items = len(start)
    order, behind = start.copy(), np.empty(items, np.int64)
    stack = np.empty((items + 1, 2), np.int64)
    stack[0, 0], stack[0, 1], depth = 0, items, 1
    while depth:
        depth -= 1
        first, last = stack[depth, 0], stack[depth, 1]
        if last - first < 2 or first >= top:  # the order of ranks from `top` on is free
            continue
        pivot, all_paid = order[first], True
        for at in range(first + 1, last):
            note(read, pairs, order[at], pivot)
            all_paid &= paid[pivot, order[at]]
        if not all_paid:  # the segment waits for its answers, others go on
            continue
        before, after = first, 0
        for at in range(first + 1, last):
            item = order[at]
            if goes_before(weights, item, pivot):
                order[before] = item
                before += 1
            else:
                behind[after] = item
                after += 1
        order[before] = pivot
        for at in range(after):
            order[before + 1 + at] = behind[at]
        # both sides of the pivot, the front one last
        stack[depth, 0], stack[depth, 1] = first, before
        stack[depth + 1, 0], stack[depth + 1, 1] = before + 1, last
        depth += 2
    return order


@compiled()
@no_type_check
def fuzzy_merge(  # noqa: C901, PLR0913, PLR0917 (one loop that Numba compiles, of arrays)
    weights: np.ndarray, paid: np.ndarray, read: np.ndarray,
    pairs: np.ndarray, start: np.ndarray, window: int,
) -> np.ndarray:  # fmt: skip
    """Merge sort whose next item wins the potential among the `window` heads of both runs."""
    items = len(start)
    order = start.copy()
    size, all_paid = 1, True
    heads = np.empty(2 * window, np.int64)
    while size < items and all_paid:
        merged = order.copy()
        for first in range(0, items - size, 2 * size):
            middle, last = first + size, min(first + 2 * size, items)
            left, right = order[first:middle].copy(), order[middle:last].copy()
            lefts, rights, place = len(left), len(right), first
            while lefts + rights > 0 and all_paid:
                left_heads, right_heads = min(window, lefts), min(window, rights)
                heads[:left_heads] = left[:left_heads]
                heads[left_heads : left_heads + right_heads] = right[:right_heads]
                # the potential counts pairs among these heads alone
                count = left_heads + right_heads
                for head in range(count):
                    for opponent in range(head):
                        note(read, pairs, heads[head], heads[opponent])
                        all_paid &= paid[heads[head], heads[opponent]]
                if not all_paid:
                    break
                best, highest = 0, -np.inf
                for head in range(count):
                    potential = 0.0
                    for opponent in range(count):
                        gap = (
                            weights[heads[head], heads[opponent]]
                            - weights[heads[opponent], heads[head]]
                        )
                        if head != opponent and not np.isnan(gap):
                            potential += np.rint(gap * GRID) / GRID
                    tied = abs(potential - highest) <= TIED
                    if potential > highest + TIED or (tied and heads[head] < heads[best]):
                        best, highest = head, potential
                merged[place] = heads[best]
                place += 1
                if best < left_heads:
                    # the winner leaves its run
                    left[best : lefts - 1] = left[best + 1 : lefts].copy()
                    lefts -= 1
                else:
                    best -= left_heads
                    right[best : rights - 1] = right[best + 1 : rights].copy()
                    rights -= 1
            merged[place : place + lefts] = left[:lefts]
            merged[place + lefts : place + lefts + rights] = right[:rights]
        order = merged
        size *= 2
    return order


@compiled()
@no_type_check
def _sift(  # noqa: PLR0913, PLR0917 (arrays that Numba takes one by one)
    weights: np.ndarray, paid: np.ndarray, read: np.ndarray,
    pairs: np.ndarray, heap: np.ndarray, at: int, size: int,
) -> bool:  # fmt: skip
    """Let the item at a place of the heap sink; False where a pair was not asked yet."""
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size:
            note(read, pairs, heap[child], heap[child + 1])
            if not paid[heap[child], heap[child + 1]]:
                return False
            if goes_before(weights, heap[child + 1], heap[child]):
                child += 1
        note(read, pairs, heap[child], heap[at])
        if not paid[heap[child], heap[at]]:
            return False
        if not goes_before(weights, heap[child], heap[at]):
            return True
        heap[at], heap[child] = heap[child], heap[at]
        at = child
    return True


@compiled()
@no_type_check
def heap_top(  # noqa: PLR0913, PLR0917 (arrays that Numba takes one by one)
    weights: np.ndarray, paid: np.ndarray, read: np.ndarray,
    pairs: np.ndarray, start: np.ndarray, top: int,
) -> np.ndarray:  # fmt: skip
    """The first `top` items by a heap; those left keep the order given."""
    items = len(start)
    heap, size = start.copy(), items
    order, count = np.empty(items, np.int64), 0
    for at in range(items // 2 - 1, -1, -1):  # Floyd: a heap in at most 2n comparisons
        if not _sift(weights, paid, read, pairs, heap, at, size):
            return start.copy()
    while count < min(top, items):
        order[count] = heap[0]
        count += 1
        size -= 1
        heap[0] = heap[size]  # the last leaf takes the root, and sinks
        if count < top and not _sift(weights, paid, read, pairs, heap, 0, size):
            break
    in_top = np.zeros(items, np.bool_)
    for at in range(count):
        in_top[order[at]] = True
    for at in range(items):
        if not in_top[start[at]]:
            order[count] = start[at]
            count += 1
    return order


@compiled()
@no_type_check
def sliding_windows(  # noqa: PLR0913, PLR0917 (arrays that Numba takes one by one)
    weights: np.ndarray, paid: np.ndarray, read: np.ndarray,
    pairs: np.ndarray, start: np.ndarray, top: int,
) -> np.ndarray:  # fmt: skip
    """Passes from the bottom up that exchange neighbours; pass p settles rank p."""
    items = len(start)
    order = start.copy()
    for settled in range(min(top, items - 1)):
        exchanged = False
        for at in range(items - 2, settled - 1, -1):  # ranks above are settled
            upper, lower = order[at], order[at + 1]
            note(read, pairs, upper, lower)
            if not paid[upper, lower]:
                return order
            if weights[lower, upper] > weights[upper, lower]:
                order[at], order[at + 1] = lower, upper
                exchanged = True
        if not exchanged:  # all neighbours are in order
            break
    return order
