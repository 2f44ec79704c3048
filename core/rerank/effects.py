"""Effects of order, company and noise on the answers of a reranker.

A document's value in a call is its score, or where the answer is only an order its place: 1 for the
best document, 0 for the last one. Then

    value(document, call) = document + slot(order) + set(company) + noise

Order is the contrast of the first and the last slot, from random orders, with documents as fixed
effects. Company and noise are standard deviations: of the same document in the same slot of other
sets, and of the same input again. Intervals are over queries (95 %, Student's t).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float64
from scipy import stats

from shuffleproof.core.metrics.significance import holm
from shuffleproof.core.rerank.calls import Call
from shuffleproof.core.rerank.design import FIRST, RANDOM, SET_A, SET_B, Input

LEVEL = 0.95
SCORE, PLACE = "score", "place in the list"
"""Units of values."""


@dataclass(frozen=True)
class Effect:
    """An effect with its interval.

    Attributes:
        value: estimate; NaN: the calls do not show it.
        low: of the 95 % interval.
        high: of the 95 % interval.
        p: that there is none, adjusted by Holm over order and company; NaN for noise.
        n: queries.
        unit: SCORE or PLACE.
    """

    value: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    p: float = float("nan")
    n: int = 0
    unit: str = SCORE

    def plain(self) -> dict[str, Any]:
        """JSON values; null for what is not known."""
        return {
            name: None if isinstance(value, float) and np.isnan(value) else value
            for name, value in vars(self).items()
        }


Answers = Mapping[Input, Call]
"""Calls of one query by input."""


def unit_of(calls: Iterable[Call]) -> str:
    """SCORE if every answer has scores."""
    answers = [call for call in calls if call.answered]
    return SCORE if answers and all(call.scores for call in answers) else PLACE


def values_of(call: Call, unit: str, among: Sequence[str] | None = None) -> dict[str, float]:
    """Value of each answered document.

    Args:
        call: the answer.
        unit: SCORE or PLACE.
        among: places are counted among these documents; None: among all answered.

    >>> values_of(Call("r", "1", ("a", "b", "c"), ("c", "a", "b")), PLACE)
    {'c': 1.0, 'a': 0.5, 'b': 0.0}
    """
    if unit == SCORE:
        return dict(zip(call.answered, call.scores, strict=True))
    kept = [name for name in call.answered if among is None or name in set(among)]
    last = max(len(kept) - 1, 1)
    return {name: 1 - rank / last for rank, name in enumerate(kept)}


def effects(by_query: Sequence[Answers], unit: str) -> dict[str, Effect]:
    """Effects by name: order, company, noise.

    Args:
        by_query: of each query the answers by input.
        unit: of the values.
    """
    noise = np.array([_noise(answers, unit) for answers in by_query])
    company = np.array([_company(answers, unit) for answers in by_query])
    order, p_order = slot_contrast([_random(answers) for answers in by_query], unit)
    of_company, p_company = _deviation(company)
    adjusted = np.array([p_order, p_company])
    known = ~np.isnan(adjusted)
    if known.any():
        adjusted[known] = holm(adjusted[known])
    of_noise, _ = _deviation(noise)
    return {
        "order": Effect(*order, float(adjusted[0]), _count(by_query, RANDOM), unit),
        "company": Effect(*of_company, float(adjusted[1]), int((~np.isnan(company)).sum()), unit),
        "noise": Effect(*of_noise, float("nan"), int((~np.isnan(noise)).sum()), unit),
    }


def _count(by_query: Sequence[Answers], kind: str) -> int:
    return sum(any(given.kind == kind for given in answers) for answers in by_query)


def _random(answers: Answers) -> list[Call]:
    return [call for given, call in answers.items() if given.kind == RANDOM and call.answered]


def _noise(answers: Answers, unit: str, among: Sequence[str] | None = None) -> float:
    """Variance of a document's value in calls with the same input, mean over documents.

    Args:
        answers: of one query.
        unit: of the values.
        among: documents to compare, and among which places are counted; None: all.
    """
    calls = [call for given, call in answers.items() if given.kind == FIRST and call.answered]
    if len(calls) < 2:
        return float("nan")
    tables = [values_of(call, unit, among) for call in calls]
    common = set.intersection(*map(set, tables)) & set(among or tables[0])
    table = np.array([[values[name] for name in sorted(common)] for values in tables])
    return float(table.var(axis=0, ddof=1).mean()) if common else float("nan")


def _company(answers: Answers, unit: str) -> float:
    """Variance of a document's value between two sets, less its noise; mean over documents.

    The noise is that of the same documents in calls with the same input: places among few documents
    change more than among many.
    """
    excess: list[float] = []
    for given, call in answers.items():
        other = answers.get(Input(f"{SET_B} {given.number}"))
        if given.kind != SET_A or other is None or not (call.answered and other.answered):
            continue
        common = [name for name in call.answered if name in set(other.answered)]
        here, there = values_of(call, unit, common), values_of(other, unit, common)
        squares = [(here[name] - there[name]) ** 2 / 2 for name in common]
        if squares:
            excess.append(float(np.mean(squares)) - _noise(answers, unit, common))
    return float(np.mean(excess)) if excess else float("nan")


def _deviation(
    variances: Float64[np.ndarray, " queries"],
) -> tuple[tuple[float, float, float], float]:
    """Standard deviation of mean variances with its interval, and p that it is 0."""
    known = variances[~np.isnan(variances)]
    if len(known) < 2:
        return (float("nan"),) * 3, float("nan")
    mean, error = float(known.mean()), float(known.std(ddof=1)) / len(known) ** 0.5
    step = float(stats.t.ppf((1 + LEVEL) / 2, len(known) - 1)) * error
    ends = (mean, mean - step, mean + step)
    p = 1.0 if mean == 0 else 0.0 if not error else float(stats.t.sf(mean / error, len(known) - 1))
    value, low, high = (float(np.sqrt(max(end, 0.0))) for end in ends)
    return (value, low, high), p


def slot_contrast(
    by_query: Sequence[Sequence[Call]], unit: str
) -> tuple[tuple[float, float, float], float]:
    """Value in the first slot minus value in the last one, and p that they are equal.

    Least squares with a fixed effect for each document; the interval is that of clusters (queries).

    Args:
        by_query: calls that show the same documents in other slots; lists of the most frequent
            length count.
        unit: of the values.
    """
    solved = _solved_slots(by_query, unit)
    if solved is None:
        return (float("nan"),) * 3, float("nan")
    inverse, right, parts = solved
    slopes = inverse @ right
    contrast = inverse[0] - inverse[-1]
    influence = np.array([contrast @ (part[1] - part[0] @ slopes) for part in parts])
    value, count = float(slopes[0] - slopes[-1]), len(influence)
    error = float(np.sqrt((influence**2).sum() * count / (count - 1)))
    scale = max(float(np.abs(right).max()), abs(value), 1e-300)
    if error < 1e-9 * scale:  # rounding of sums
        error = 0.0
        value = 0.0 if abs(value) < 1e-9 * scale else value
    step = float(stats.t.ppf((1 + LEVEL) / 2, count - 1)) * error
    p = float(2 * stats.t.sf(abs(value) / error, count - 1)) if error else float(value == 0)
    return (value, value - step, value + step), p


def slot_curve(by_query: Sequence[Sequence[Call]], unit: str) -> list[float]:
    """Value of each slot minus the mean over slots, estimated as in `slot_contrast`.

    Empty: the calls do not show it.
    """
    solved = _solved_slots(by_query, unit)
    if solved is None:
        return []
    inverse, right, _ = solved
    slopes = inverse @ right
    return (slopes - slopes.mean()).round(6).tolist()


Equations = tuple[np.ndarray, np.ndarray]
"""Matrix and right side of least squares."""


def _solved_slots(
    by_query: Sequence[Sequence[Call]], unit: str
) -> tuple[np.ndarray, np.ndarray, list[Equations]] | None:
    """Inverse of the matrix, right side, and the equations of each query; None: too few calls."""
    lengths = [len(call.shown) for calls in by_query for call in calls]
    slots = max(set(lengths), key=lengths.count) if lengths else 0
    of_queries = (
        _normal_equations([call for call in calls if len(call.shown) == slots], slots, unit)
        for calls in by_query
    )
    parts = [part for part in of_queries if part is not None]
    if slots < 2 or len(parts) < 3:
        return None
    matrix, right = (np.sum(side, axis=0) for side in zip(*parts, strict=True))
    if np.linalg.matrix_rank(matrix) < slots - 1:  # a slot that no document left or reached
        return None
    return np.linalg.pinv(matrix), right, parts


def _normal_equations(calls: Sequence[Call], slots: int, unit: str) -> Equations | None:
    """Equations of one query's least squares, after the mean of each document.

    None: no document was shown twice.
    """
    observed: dict[str, list[tuple[int, float]]] = {}
    for call in calls:
        values = values_of(call, unit)
        for slot, name in enumerate(call.shown):
            if name in values:
                observed.setdefault(name, []).append((slot, values[name]))
    matrix, right = np.zeros((slots, slots)), np.zeros(slots)
    for pairs in observed.values():
        places = np.array([slot for slot, _ in pairs])
        centred = np.array([value for _, value in pairs])
        centred -= centred.mean()
        counts = np.bincount(places, minlength=slots)
        matrix += np.diag(counts) - np.outer(counts, counts) / len(places)
        np.add.at(right, places, centred)
    return (matrix, right) if matrix.any() else None


def variance_split(by_query: Sequence[Answers], unit: str) -> list[dict[str, float]]:
    """Variances per query: between documents, and of one by order, company and noise.

    Order and company are what exceeds the noise, and at least 0.
    """
    rows = []
    for answers in by_query:
        noise, company = _noise(answers, unit), _company(answers, unit)
        tables = [values_of(call, unit) for call in _random(answers)]
        common = sorted(set.intersection(*map(set, tables))) if len(tables) > 1 else []
        order, documents = float("nan"), float("nan")
        if common:
            table = np.array([[values[name] for name in common] for values in tables])
            order = max(float(table.var(axis=0, ddof=1).mean()) - np.nan_to_num(noise), 0.0)
            documents = float(table.mean(axis=0).var())
        company = max(company, 0.0)
        rows.append({"documents": documents, "order": order, "company": company, "noise": noise})
    return rows


@dataclass(frozen=True)
class PairAgreement:
    """Agreement of answers to a pair of documents that was shown again.

    Attributes:
        same: share that agrees where the two were shown in the same order.
        opposite: share that agrees where they were shown in the opposite one.
        n: pairs of answers in the same order.
        n_opposite: pairs of answers in the opposite one.
    """

    same: float
    opposite: float
    n: int
    n_opposite: int


def pair_agreement(calls: Iterable[Call]) -> PairAgreement:
    """Agreement over all pairs of calls of one query, and over all pairs in both of them."""
    by_query: dict[str, list[Call]] = {}
    for call in calls:
        if len(call.shown) > 1 and call.answered:
            by_query.setdefault(call.query, []).append(call)
    counts = np.zeros((2, 2), dtype=np.int64)  # same or opposite order × agreeing or not
    for of_query in by_query.values():
        counts += _agreeing(of_query)
    same, opposite = counts
    return PairAgreement(
        _share(same), _share(opposite), int(same.sum()), int(opposite.sum()),
    )  # fmt: skip


def _agreeing(calls: Sequence[Call]) -> np.ndarray:
    """Pairs of answers of one query, from signs of places in all calls at once."""
    names = sorted({name for call in calls for name in call.shown})
    index = {name: at for at, name in enumerate(names)}
    shown = np.zeros((len(calls), len(names), len(names)), dtype=np.int8)
    answered = np.zeros_like(shown)
    for at, call in enumerate(calls):
        answered_names = set(call.answered)
        known = [name for name in call.shown if name in answered_names]
        for target, order in ((shown[at], known), (answered[at], call.answered)):
            places = np.array([index[name] for name in order if name in index])
            before = np.triu(np.ones((len(places), len(places)), dtype=np.int8), 1)
            target[np.ix_(places, places)] = before - before.T
    upper = np.triu_indices(len(names), 1)
    flat_shown, flat_answered = shown[:, upper[0], upper[1]], answered[:, upper[0], upper[1]]
    # Of each pair: calls in this order and that order, and how many of them answered this or that
    counts = np.zeros((2, 2), dtype=np.int64)
    groups = {
        (way, answer): ((flat_shown == way) & (flat_answered == answer)).sum(axis=0)
        for way in (1, -1)
        for answer in (1, -1)
    }
    for way in (1, -1):
        up, down = groups[way, 1], groups[way, -1]
        counts[0] += [
            int((up * (up - 1) // 2 + down * (down - 1) // 2).sum()), int((up * down).sum()),
        ]  # fmt: skip
    counts[1] = [
        sum(int((groups[1, answer] * groups[-1, answer]).sum()) for answer in (1, -1)),
        sum(int((groups[1, answer] * groups[-1, -answer]).sum()) for answer in (1, -1)),
    ]  # fmt: skip
    return counts


def _share(counts: np.ndarray) -> float:
    return float(counts[0] / counts.sum()) if counts.sum() else float("nan")


def place_matrix(calls: Iterable[Call], most: int = 10) -> Float64[np.ndarray, "shown answered"]:
    """Share of the documents shown in one part of the list that were answered in another.

    Args:
        calls: whole lists or windows.
        most: number of equal parts of a list; shorter lists have a part for each position.
    """
    listed = [call for call in calls if call.shown]
    parts = min(max((len(call.shown) for call in listed), default=0), most)
    counts = np.zeros((parts, parts))
    for call in listed:
        size = len(call.shown)
        where = {name: rank for rank, name in enumerate(call.answered)}
        for slot, name in enumerate(call.shown):
            if where.get(name, size) < size:
                counts[slot * parts // size, where[name] * parts // size] += 1
    totals = counts.sum(axis=1, keepdims=True)
    return np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0)


def aggregated(calls: Sequence[Call]) -> tuple[str, ...]:
    """Order of a list by the mean place in several answers (permutation self-consistency).

    Documents without an answer count as last; ties keep the order of the first list shown.

    >>> a, b = (Call("r", "1", tuple("abc"), tuple(order)) for order in ("abc", "bac"))
    >>> aggregated([a, b, b])
    ('b', 'a', 'c')
    """
    names = calls[0].shown
    total = dict.fromkeys(names, 0.0)
    for call in calls:
        places = {name: rank for rank, name in enumerate(call.answered)}
        for name in names:
            total[name] += places.get(name, len(names))
    return tuple(sorted(names, key=lambda name: total[name]))


def repeat_agreement(calls: Sequence[Sequence[Call]], top: int = 10) -> dict[str, float]:
    """Agreement of repeated answers: overlap of the top documents, and the same first document.

    Args:
        calls: of each query the answers to the same input.
        top: documents compared.
    """
    overlaps, firsts = [], []
    for of_query in calls:
        for at, call in enumerate(of_query):
            for other in of_query[:at]:
                if call.answered and other.answered:
                    size = min(top, len(call.answered), len(other.answered))
                    shared = set(call.answered[:size]) & set(other.answered[:size])
                    overlaps.append(len(shared) / size)
                    firsts.append(call.answered[0] == other.answered[0])
    if not overlaps:
        return {}
    return {"overlap": float(np.mean(overlaps)), "same_first": float(np.mean(firsts))}
