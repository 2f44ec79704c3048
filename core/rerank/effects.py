"""Effects of order, company and noise on the answers of a reranker.

A document's value in a call is its score, or where the answer is only an order its place: 1 for the
best document, 0 for the last one. Then

    value(document, call) = document + slot(order) + set(company) + noise

Order is the contrast of the first and the last slot, from random orders, with documents as fixed
effects. Company and noise are standard deviations: of the same document in the same slot of other
sets, and of the same input again. Intervals are over queries (95 %, Student's t).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float64
from scipy.special import stdtr

from shuffleproof.core.metrics.significance import holm, paired_t, student, t_interval
from shuffleproof.core.rerank.calls import Call
from shuffleproof.core.rerank.design import FIRST, RANDOM, SET_A, SET_B, Input

SCORE, PLACE = "score", "place in the list"
"""Units of values."""


NAN = float("nan")


@dataclass(frozen=True)
class Effect:
    """An effect with its interval.

    Attributes:
        value: estimate; NaN: the calls do not show it.
        low: of the 95 % interval.
        high: of the 95 % interval.
        p: that there is none; NaN for noise.
        n: queries.
        unit: SCORE or PLACE.
    """

    value: float = NAN
    low: float = NAN
    high: float = NAN
    p: float = NAN
    n: int = 0
    unit: str = SCORE


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


def effects(
    by_query: Sequence[Answers], unit: str, order: Effect | None = None
) -> dict[str, Effect]:
    """Effects by name: order, company, noise; p of order and company are adjusted by Holm.

    Args:
        by_query: of each query the answers by input.
        unit: of the values.
        order: the effect of order before this adjustment; None: that of random orders.
    """
    order = order or slots([random_orders(answers) for answers in by_query], unit)[0]
    company = _deviation([_company(answers, unit) for answers in by_query], unit)
    noise = _deviation([_noise(answers, unit) for answers in by_query], unit)
    p_order, p_company = holm(np.array([order.p, company.p])).tolist()
    return {
        "order": replace(order, p=p_order), "company": replace(company, p=p_company),
        "noise": replace(noise, p=NAN),
    }  # fmt: skip


def random_orders(answers: Answers) -> list[Call]:
    """Usable answers to random orders."""
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
        return NAN
    tables = [values_of(call, unit, among) for call in calls]
    common = set.intersection(*map(set, tables)) & set(among or tables[0])
    table = np.array([[values[name] for name in sorted(common)] for values in tables])
    return float(table.var(axis=0, ddof=1).mean()) if common else NAN


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
    return float(np.mean(excess)) if excess else NAN


def _deviation(variances: Sequence[float], unit: str) -> Effect:
    """Standard deviation of a mean variance, with its interval and p (one-sided) that it is 0."""
    known = np.array(variances)
    known = known[~np.isnan(known)]
    if len(known) < 2:
        return Effect(n=len(known), unit=unit)
    p = paired_t(known, np.zeros_like(known)).p_value / 2
    ends = (known.mean(), *t_interval(known))
    value, low, high = (float(np.sqrt(max(end, 0.0))) for end in ends)
    p = 1.0 if ends[0] == 0 else p if ends[0] > 0 else 1 - p
    return Effect(value, low, high, p, len(known), unit)


def slots(by_query: Sequence[Sequence[Call]], unit: str) -> tuple[Effect, list[float]]:
    """Value in the first slot minus value in the last one, and the value of each slot.

    Least squares with a fixed effect for each document; the interval is that of clusters (queries).
    Values of slots are less their mean; none: the calls do not show them.

    Args:
        by_query: calls that show the same documents in other slots; lists of the most frequent
            length count.
        unit: of the values.
    """
    shown = sum(any(call.answered for call in calls) for calls in by_query)
    lengths = [len(call.shown) for calls in by_query for call in calls]
    last = max(set(lengths), key=lengths.count) if lengths else 0
    of_queries = (
        _normal_equations([call for call in calls if len(call.shown) == last], last, unit)
        for calls in by_query
    )
    parts = [part for part in of_queries if part is not None]
    if last < 2 or len(parts) < 3:
        return Effect(n=shown, unit=unit), []
    matrix, right = (np.sum(side, axis=0) for side in zip(*parts, strict=True))
    if np.linalg.matrix_rank(matrix) < last - 1:  # a slot that no document left or reached
        return Effect(n=shown, unit=unit), []
    inverse = np.linalg.pinv(matrix)
    slopes, contrast = inverse @ right, inverse[0] - inverse[-1]
    influence = np.array([contrast @ (part[1] - part[0] @ slopes) for part in parts])
    value, count = float(slopes[0] - slopes[-1]), len(influence)
    error = float(np.sqrt((influence**2).sum() * count / (count - 1)))
    scale = max(float(np.abs(right).max()), abs(value), 1e-300)
    if error < 1e-9 * scale:  # rounding of sums
        error, value = 0.0, 0.0 if abs(value) < 1e-9 * scale else value
    p = float(2 * stdtr(count - 1, -abs(value) / error)) if error else float(value == 0)
    curve = (slopes - slopes.mean()).round(6).tolist()
    return Effect(value, *student(value, error, count - 1), p, shown, unit), curve


Equations = tuple[np.ndarray, np.ndarray]
"""Matrix and right side of least squares."""


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
        tables = [values_of(call, unit) for call in random_orders(answers)]
        common = sorted(set.intersection(*map(set, tables))) if len(tables) > 1 else []
        order, documents = NAN, NAN
        if common:
            table = np.array([[values[name] for name in common] for values in tables])
            order = max(float(table.var(axis=0, ddof=1).mean()) - np.nan_to_num(noise), 0.0)
            documents = float(table.mean(axis=0).var())
        company = max(company, 0.0)
        rows.append({"documents": documents, "order": order, "company": company, "noise": noise})
    return rows


def pair_agreement(calls: Iterable[Call]) -> dict[str, Any]:
    """Agreement of answers to a pair of documents that was shown again, over all pairs of calls.

    Shares that agree where the two were shown in the same or in the opposite order, and the number
    of pairs of answers, `n` and `n_opposite`. None: there is no such pair. Answers that give both
    documents the same score do not count.
    """
    by_query: dict[str, list[Call]] = {}
    for call in calls:
        if len(call.shown) > 1 and call.answered:
            by_query.setdefault(call.query, []).append(call)
    counts = np.zeros((2, 2), dtype=np.int64)  # same or opposite order × agreeing or not
    for of_query in by_query.values():
        counts += _agreeing(of_query)
    n, n_opposite = counts.sum(axis=1).tolist()
    return {
        "same_order_agreement": float(counts[0, 0] / n) if n else None,
        "opposite_order_agreement": float(counts[1, 0] / n_opposite) if n_opposite else None,
        "n": n, "n_opposite": n_opposite,
    }  # fmt: skip


def _agreeing(calls: Sequence[Call]) -> np.ndarray:
    """Pairs of answers of one query, from signs of places in all calls at once."""
    index = {name: at for at, name in enumerate(dict.fromkeys(n for c in calls for n in c.shown))}
    signs = np.zeros((2, len(calls), len(index), len(index)), dtype=np.int8)  # shown, answered
    for at, call in enumerate(calls):
        names = set(call.answered)
        known = [name for name in call.shown if name in names]
        for side, order in enumerate((known, call.answered)):
            places = np.array([index[name] for name in order if name in index])
            before = np.triu(np.ones((len(places), len(places)), dtype=np.int8), 1)
            if side and call.scores:
                scores = np.array(call.scores)[[name in index for name in order]]
                before[scores[:, None] == scores] = 0
            signs[side, at][np.ix_(places, places)] = before - before.T
    shown, answered = signs[:, :, *np.triu_indices(len(index), 1)]
    # Of each pair: the number of calls that showed it one way and answered it one way
    (up_up, up_down), (down_up, down_down) = (
        [((shown == way) & (answered == answer)).sum(axis=0) for answer in (1, -1)]
        for way in (1, -1)
    )
    twice = sum(count * (count - 1) // 2 for count in (up_up, up_down, down_up, down_down))
    pairs = [
        [twice, up_up * up_down + down_up * down_down],
        [up_up * down_up + up_down * down_down, up_up * down_down + up_down * down_up],
    ]
    return np.array([[int(np.sum(one)) for one in row] for row in pairs])


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
