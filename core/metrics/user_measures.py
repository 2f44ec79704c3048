"""User measures: functions of the labels in ranked order, in addition to the registry.

Tied documents give the expected value over their orders. It is exact, over all distinct orders of
labels, if these are at most EXACT. Else it is the mean over SAMPLED orders from one fixed seed, so
that the input order plays no part. Only positions that the function reads count.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

import numpy as np
from jaxtyping import Float64

from shuffleproof.core import user_code
from shuffleproof.core.errors import DataError, UsageError
from shuffleproof.core.metrics.list_functions import FUNCTIONS, OF_SETS, positions_read
from shuffleproof.core.metrics.measure import ALIASES, EMPTY_VALUES, MEASURES, Measure
from shuffleproof.core.seeds import generator

EXACT = 1024
"""Most distinct orders of a list's tied labels for an exact value."""

SAMPLED = 256
"""Number of sampled orders if there are more."""

NAMED = ("cutoff", "judged")
"""Optional arguments of a function, passed if it has a parameter of that name."""

_ROW = np.uint64(0xFFFFFFFF)
_SCORE = np.uint64(32)


@dataclass(frozen=True)
class UserMeasure:
    """A registered function.

    Attributes:
        function: function of the labels in ranked order, best first.
        summary: description in a sentence.
        given: names of NAMED that it takes.
    """

    function: Callable[..., Any]
    summary: str
    given: tuple[str, ...]


@user_code.decorating
def measure(
    name: str, function: Callable[..., Any], *, summary: str = "", version: str = "1"
) -> Any:
    """Register a user measure, so that every study accepts its name.

    The function gets the labels of a list in ranked order (read-only float32, the best document
    first) and returns a number; NaN leaves the query out of means. With `@10` behind the name it
    gets the first 10 labels, or all of them if it has a parameter `cutoff` (None without `@`). A
    parameter `judged` gets the labels of all documents of the query, the highest first. A grade
    below 0 counts as 0, as in every measure.

    Its key follows from its source text, its default and closure values, and `version`; a change
    of one of them makes another study. A second registration under the same name replaces the
    first. Only this process knows the function; stored results can be read everywhere.

    Args:
        name: letters, digits and `_`; by default the function's own name.
        function: the measure; omitted if `measure` is used as a decorator.
        summary: a sentence; by default the first line of the function's docstring.
        version: change it with helpers and globals of the module, which the key does not include.

    Returns:
        The unchanged function, or a decorator.

    Raises:
        UsageError: a built-in or invalid name, or a function that needs other arguments.

    >>> @measure
    ... def good_at_top(labels, cutoff=None):
    ...     "Share of grades 2 and more among the first documents."
    ...     return float((labels[: cutoff or 5] >= 2).mean())
    >>> Measure.parse("good_at_top@3").entry.summary
    'Share of grades 2 and more among the first documents.'
    >>> good_at_top(np.array([2.0, 0.0]))
    0.5
    """
    name = name or function.__name__
    needed, names = user_code.parameters_of(function)
    extras = tuple(parameter for parameter in NAMED if parameter in names)
    if not callable(function) or needed - len(extras) > 1:
        raise UsageError(
            f"measure {name}: it must be a function of the labels in ranked order, as in "
            "`def hits(labels): …`; it may also take `cutoff` and `judged`"
        )
    if not name.isidentifier() or name.rpartition("_")[2].isdigit():
        raise UsageError(
            f"measure {name}: choose letters, digits and _ for its name, and no digits behind the "
            "last _, which are read as a cut-off"
        )
    digest = user_code.digest_of(name, function, version)
    text = summary or (getattr(function, "__doc__", None) or "").strip().partition("\n")[0]
    user_measure = UserMeasure(function, text or "a function of labels in ranked order", extras)
    full = f"{name}{user_code.MARK}{digest[: user_code.DIGITS]}"
    user_code.register("measure", name, full, user_measure, dict.fromkeys([*MEASURES, *ALIASES]))
    return function


class EvaluatedMeasure:
    """Values of a measure that is a function; equal labels in equal blocks are measured once.

    Args:
        measure: measure of user code, or of `list_functions`.

    Raises:
        UsageError: it is not registered in this process, or only in another version.
    """

    def __init__(self, measure: Measure) -> None:
        self.measure = measure
        self._of_set = measure.name in OF_SETS and measure.cutoff is None
        self._known: dict[tuple[bytes, bytes, bytes], float] = {}
        if not measure.is_user_code:
            of_list = FUNCTIONS[measure.name]
            self._of = UserMeasure(
                lambda labels, judged: of_list(measure, labels, judged), "", ("judged",)
            )
            return
        registration = user_code.registered_code("measure", measure.name)
        if registration is None:
            raise user_code.missing_code("measure", measure.name)
        self._of = registration.thing

    def values(
        self,
        lists: tuple[np.ndarray, np.ndarray],
        judged: tuple[np.ndarray, np.ndarray, np.ndarray],
        names: Sequence[str],
    ) -> Float64[np.ndarray, " lists"]:
        """One value per list; arguments as in `blocks.measure_blocks`, and the queries' ids.

        Raises:
            DataError: the function failed for a query, or returned ±inf or no number.
        """
        (offsets, keys), (labels, starts, stops) = lists, judged
        results = np.empty(len(names))
        for index, name in enumerate(names):
            inside = keys[offsets[index] : offsets[index + 1]]
            of_query = labels[starts[index] : stops[index]]
            if self.measure.is_user_code:
                of_query = np.maximum(of_query, 0)
            ranked = of_query[(inside & _ROW).astype(np.int64)].astype(np.float32)
            scores = inside >> _SCORE
            bounds = np.arange(len(scores) + 1)
            if self.measure.ties == "averaged" and not self._of_set and len(scores):
                bounds = np.flatnonzero(np.r_[True, scores[1:] != scores[:-1], True])
            for block in np.flatnonzero(np.diff(bounds) > 1):
                # Sorted within ties: the value must not depend on the order of rows
                ranked[bounds[block] : bounds[block + 1]].sort()
            all_labels = -np.sort(-of_query.astype(np.float32))
            key = (ranked.tobytes(), bounds.tobytes(), all_labels.tobytes())
            if key not in self._known:
                self._known[key] = self._expected_value(ranked, bounds, all_labels, name)
            results[index] = self._known[key]
        return results

    def _expected_value(
        self, ranked: np.ndarray, bounds: np.ndarray, judged: np.ndarray, query: str
    ) -> float:
        if not self.measure.is_user_code and "empty" in self.measure.entry.conventions:
            relevant = self.measure.relevant if "relevant" in self.measure.entry.conventions else 1
            if not (judged >= relevant).any():
                return EMPTY_VALUES[self.measure.empty]
        depth = len(ranked)
        if not self.measure.is_user_code:
            depth = min(depth, positions_read(self.measure, judged) or depth)
        elif self.measure.cutoff is not None and "cutoff" not in self._of.given:
            depth = min(depth, self.measure.cutoff)
        total = 0.0
        for labels, chance in orders_of(ranked, bounds, depth):
            total += chance * self._value(labels, judged, query)
        return total

    def _value(self, labels: np.ndarray, judged: np.ndarray, query: str) -> float:
        extras = {"cutoff": self.measure.cutoff, "judged": judged}
        for array in (labels, judged):
            # A function that changes its input would change later orders too
            array.flags.writeable = False
        place = f"{self.measure}, query {query}"
        try:
            answer = self._of.function(labels, **{name: extras[name] for name in self._of.given})
            value = float(answer)
        except Exception as error:  # user code may raise anything
            finding = f"the function failed: {user_code.failure(error)}"
            raise DataError(place, finding, "Correct it; it returns one number a list.") from error
        if np.isinf(value):
            raise DataError(place, f"it returned {value}", "Return a finite number, or NaN.")
        return value


def orders_of(
    ranked: np.ndarray, bounds: np.ndarray, shown: int
) -> Iterator[tuple[np.ndarray, float]]:
    """Labels of the first positions in all orders of ties, with their probabilities.

    Args:
        ranked: labels in ranked order, sorted within each block of ties.
        bounds: bounds of the blocks.
        shown: number of positions that count.

    >>> [(order.tolist(), chance) for order, chance in orders_of(
    ...     np.array([0.0, 0.0, 1.0]), np.array([0, 3]), 2)]
    [([0.0, 0.0], 0.3333333333333333), ([0.0, 1.0], 0.3333333333333333), \
([1.0, 0.0], 0.3333333333333333)]
    """
    if len(bounds) == len(ranked) + 1:  # no ties
        yield ranked[:shown].astype(np.float32), 1.0
        return
    orders: list[tuple[tuple[float, ...], float]] = [((), 1.0)]
    for low, high in pairwise(bounds.tolist()):
        if low >= shown:
            break
        places = min(high, shown) - low
        counts = Counter(ranked[low:high].tolist())
        # The product over blocks is limited, not each block by itself
        most = EXACT // len(orders)
        tails = list(islice(_prefixes(counts, places, high - low), most + 1))
        if not 0 < len(tails) <= most:
            yield from _sampled_orders(ranked, bounds, shown)
            return
        orders = [(head + tail, p * q) for head, p in orders for tail, q in tails]
    for labels, chance in orders:
        yield np.array(labels, dtype=np.float32), chance


Prefix = tuple[tuple[float, ...], float]


def _prefixes(counts: Mapping[float, int], places: int, size: int) -> Iterator[Prefix]:
    """Distinct labels of a block's first places in random order, with their probabilities."""
    if not places:
        yield (), 1.0
        return
    for label, count in counts.items():
        if count:
            # By distinct label: documents with equal labels make one order, not several
            remaining = {**counts, label: count - 1}
            for tail, chance in _prefixes(remaining, places - 1, size - 1):
                yield (label, *tail), chance * count / size


def _sampled_orders(
    ranked: np.ndarray, bounds: np.ndarray, depth: int
) -> Iterator[tuple[np.ndarray, float]]:
    """Random orders from one fixed seed; equal labels in equal blocks give equal orders."""
    draws = generator(0, "ties of a measure of user code")
    blocks = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    for _ in range(SAMPLED):
        order = np.lexsort((draws.random(len(ranked)), blocks))
        yield ranked[order][:depth].astype(np.float32), 1.0 / SAMPLED
