"""Measures of users' own: a function of the labels in ranked order, beside those of the registry.

What a list is worth where scores tie is the expected value over the orders of the tied documents:
exact, by going through all distinct orders of their labels with their chances, where these are at
most EXACT; else the mean over SAMPLED orders from one fixed seed, so that neither the order of a
file nor the order shown has a say. Only positions that the function is shown count.
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
"""Distinct orders of a list's tied labels that are all gone through."""

SAMPLED = 256
"""Orders that are drawn where there are more."""

NAMED = ("cutoff", "judged")
"""What a function is given beside the labels, where it has a parameter of that name."""

_ROW = np.uint64(0xFFFFFFFF)
_SCORE = np.uint64(32)


@dataclass(frozen=True)
class UserMeasure:
    """A registered function.

    Attributes:
        function: of the labels in ranked order, best first.
        summary: what it is, in a sentence.
        given: which of NAMED it takes.
    """

    function: Callable[..., Any]
    summary: str
    given: tuple[str, ...]


@user_code.decorating
def measure(
    name: str, function: Callable[..., Any], *, summary: str = "", version: str = "1"
) -> Any:
    """Register a measure of one's own, so that every study takes it by its name.

    The function gets the labels of a list in ranked order (read-only float32, the best document
    first) and returns a number; NaN leaves the query out of means. With `@10` behind the name it
    gets the first 10 labels, or all of them if it has a parameter `cutoff` (None without `@`). A
    parameter `judged` gets the labels of all documents of the query, the highest first. A grade
    below 0 counts as 0, as in every measure.

    Its key follows from its source text, its default and closure values, and `version`: a study
    that measures it is another study once one of them changes. Registered again under the same
    name, it is replaced. Only this process knows it; stored results can be read everywhere.

    Args:
        name: letters, digits and `_`; by default the function's own name.
        function: the measure; left out where `measure` is written above a function.
        summary: a sentence; by default the first line of the function's docstring.
        version: to be changed with what the source only names: helpers and globals of its module.

    Returns:
        The function as it is, or a decorator.

    Raises:
        UsageError: a built-in name or one that cannot be written, or a function that needs other
            values.

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
    words = summary or (getattr(function, "__doc__", None) or "").strip().partition("\n")[0]
    user_measure = UserMeasure(function, words or "a function of labels in ranked order", extras)
    full = f"{name}{user_code.MARK}{digest[: user_code.DIGITS]}"
    user_code.register("measure", name, full, user_measure, dict.fromkeys([*MEASURES, *ALIASES]))
    return function


class EvaluatedMeasure:
    """Values of a measure that is a function; the same labels in the same blocks are measured once.

    Args:
        measure: of user code, or of `list_functions`.

    Raises:
        UsageError: it is not registered in this process, or in another version.
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
        """One value a list; arguments as those of `blocks.measure_blocks`, and the queries' ids.

        Raises:
            DataError: the function failed, or returned no finite number; the query is named.
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
            for low, high in pairwise(bounds):
                ranked[low:high] = np.sort(ranked[low:high])
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
            array.flags.writeable = False
        place = f"{self.measure}, query {query}"
        try:
            answer = self._of.function(labels, **{name: extras[name] for name in self._of.given})
            value = float(answer)
        except Exception as error:  # whatever somebody's function does
            finding = f"the function failed: {user_code.failure(error)}"
            raise DataError(place, finding, "Mend it; it returns one number a list.") from error
        if np.isinf(value):
            raise DataError(place, f"it returned {value}", "Return a finite number, or NaN.")
        return value


def orders_of(
    ranked: np.ndarray, bounds: np.ndarray, shown: int
) -> Iterator[tuple[np.ndarray, float]]:
    """The labels of the first positions in the orders that ties leave open, and their chances.

    Args:
        ranked: labels in ranked order, sorted within each block of ties.
        bounds: of the blocks.
        shown: how many positions count.

    >>> [(order.tolist(), chance) for order, chance in orders_of(
    ...     np.array([0.0, 0.0, 1.0]), np.array([0, 3]), 2)]
    [([0.0, 0.0], 0.3333333333333333), ([0.0, 1.0], 0.3333333333333333), \
([1.0, 0.0], 0.3333333333333333)]
    """
    orders: list[tuple[tuple[float, ...], float]] = [((), 1.0)]
    for low, high in pairwise(bounds.tolist()):
        if low >= shown:
            break
        places = min(high, shown) - low
        counts = Counter(ranked[low:high].tolist())
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
    """The distinct labels of the first places of a block in random order, with their chances."""
    if not places:
        yield (), 1.0
        return
    for label, count in counts.items():
        if count:
            remaining = {**counts, label: count - 1}
            for tail, chance in _prefixes(remaining, places - 1, size - 1):
                yield (label, *tail), chance * count / size


def _sampled_orders(
    ranked: np.ndarray, bounds: np.ndarray, depth: int
) -> Iterator[tuple[np.ndarray, float]]:
    """Orders from one fixed seed: of equal labels in equal blocks they are the same."""
    draws = generator(0, "ties of a measure of user code")
    blocks = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    for _ in range(SAMPLED):
        order = np.lexsort((draws.random(len(ranked)), blocks))
        yield ranked[order][:depth].astype(np.float32), 1.0 / SAMPLED
