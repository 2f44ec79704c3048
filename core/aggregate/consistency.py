"""Contradictions of preferences: between pairs, between directions, between repeats.

A cyclic triad is three items of which each beats the next by majority. Triads are those whose three
pairs have a majority; a pair that is missing or tied makes none.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64, Int64

from shuffleproof.core.aggregate import kernels, scores
from shuffleproof.core.aggregate.kemeny import kemeny
from shuffleproof.core.aggregate.preferences import NEAR, Pairs, Preferences

SHOWN = 10  # Number of reported worst cycles


@dataclass(frozen=True)
class Cycle:
    """Three items of a query of which each beats the next.

    Attributes:
        query: the query's id.
        items: the three, each preferred to the next and the last to the first.
        margin: the least of the three margins f(i, j) − f(j, i).
    """

    query: str
    items: tuple[str, str, str]
    margin: float


def triads(beaten: Bool[np.ndarray, "items items"]) -> tuple[int, int]:
    """Number of triads, and of cyclic ones: the traces of cubes.

    >>> triads(np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]], bool))
    (1, 1)
    """
    wins, decided = beaten.astype(float), (beaten | beaten.T).astype(float)
    count, cyclic = ((edges @ edges * edges.T).sum() for edges in (decided, wins))
    # tr E³ has each triangle 6 times, tr W³ each cycle 3 times
    return round(count / 6), round(cyclic / 3)


def _transitivity(values: Float64[np.ndarray, "items items"]) -> tuple[int, int, int]:
    """Chains f(i, j), f(j, k) ≥ ½ with a known f(i, k); those below the less, the more."""
    chains = moderate = strong = 0
    for j in range(len(values)):
        # i over j, j over k
        i, k = np.flatnonzero(values[:, j] >= 0.5), np.flatnonzero(values[j] >= 0.5)
        whole, first, second = values[np.ix_(i, k)], values[i, j][:, None], values[j, k]
        chains += int(np.isfinite(whole).sum())  # f(i, i) is not known
        moderate += int((whole < np.minimum(first, second) - NEAR).sum())  # f(i, k) ≥ min: moderate
        strong += int((whole < np.maximum(first, second) - NEAR).sum())  # f(i, k) ≥ max: strong
    return chains, moderate, strong


def _worst_triads(
    gaps: Float64[np.ndarray, "items items"], limit: int
) -> Float64[np.ndarray, "cycles 4"]:
    """The cycles of the largest least margin: three items and that margin."""
    worst = np.zeros((0, 4))
    for i in range(len(gaps)):
        rest = gaps[i + 1 :, i + 1 :]  # the first item of a cycle is its lowest
        least = np.minimum(np.minimum(gaps[i, i + 1 :, None], rest), gaps[i + 1 :, i])
        j, k = np.nonzero(least > (worst[-1, 3] if len(worst) == limit else 0.0))
        found = np.column_stack([np.full(len(j), i), i + 1 + j, i + 1 + k, least[j, k]])
        worst = np.concatenate([worst, found])
        # its last margin is the next bar
        worst = worst[np.argsort(-worst[:, 3], kind="stable")[:limit]]
    return worst


def answers_of(preferences: Preferences, query: int) -> dict[str, int]:
    """Agreement of one query's judgments on pairs with several judgments.

    Returns:
        `both`: pairs with answers in both orders, and `agree`: those with the same answer.
        `repeated`: questions with several answers of one judge in one order, and `contradicted`:
        those with different answers. `itself`: items that were compared with themselves, and
        `unlike`: those that were not tied.
    """
    rows = preferences.rows(query)
    columns = (
        getattr(preferences, name)[rows].tolist() for name in ("a", "b", "value", "judge", "first")
    )
    answers_by_question: dict[tuple[int, ...], list[float]] = defaultdict(list)
    ways: dict[tuple[int, int], list[float]] = defaultdict(list)
    itself = unlike = 0
    for a, b, value, judge, shown_first in zip(*columns, strict=True):
        if a == b:
            itself, unlike = itself + 1, unlike + (abs(value - 0.5) > NEAR)
            continue
        if shown_first == -1:
            as_shown = (a, b) if a < b else (b, a)  # no order is known: one question
        else:
            as_shown = (a, b) if shown_first == 0 else (b, a)
            ways[as_shown].append(value if shown_first == 0 else 1 - value)
        answers_by_question[*as_shown, judge, shown_first == -1].append(
            value if as_shown == (a, b) else 1 - value
        )
    repeated = [values for values in answers_by_question.values() if len(values) > 1]
    unalike = sum(len({_sign(value) for value in values}) > 1 for values in repeated)
    pairs_both_ways = [pair for pair in ways if pair[0] < pair[1] and pair[::-1] in ways]
    agree = sum(
        _sign(np.mean(ways[pair])) == -_sign(np.mean(ways[pair[::-1]])) for pair in pairs_both_ways
    )
    return {
        "both": len(pairs_both_ways), "agree": agree, "repeated": len(repeated),
        "contradicted": unalike, "itself": itself, "unlike": unlike,
    }  # fmt: skip


def _sign(value: Any) -> int:
    return int(value > 0.5 + NEAR) - int(value < 0.5 - NEAR)


def of_pairs(pairs: Pairs) -> dict[str, Any]:
    """Counts of contradictions in one query's matrix, which `consistency` adds up."""
    gaps = kernels.margins(pairs.weights)
    beaten = gaps > 0
    count, cyclic = triads(beaten)
    chains, moderate, strong = _transitivity(pairs.values)
    labels = scores.components(beaten)
    wins = scores.components(np.nan_to_num(pairs.values) > 0)
    sizes = np.bincount(labels) if len(labels) else np.zeros(1, int)
    return {
        "items": pairs.items,
        "pairs": pairs.count,
        "ties": pairs.count - int(beaten.sum()),
        "triads": count,
        "cyclic_triads": cyclic,
        "chains": chains,
        "moderate_violations": moderate,
        "strong_violations": strong,
        "asymmetric_pairs": int(pairs.is_asymmetric.sum()) // 2,
        "components": len(sizes),
        "largest_component": int(sizes.max()),
        "scoreable": bool(wins.max(initial=0) == 0),
        "win_components": int(wins.max(initial=-1)) + 1,
    }


def distances(pairs: Pairs) -> dict[str, Any]:
    """Contradictions of the best order found, in pairs (Slater) and in weights (Kemeny)."""
    gaps = kernels.margins(pairs.weights)
    # Slater counts contradicted pairs, whatever their margin
    majority = np.where(np.isnan(pairs.weights), np.nan, (gaps > 0).astype(float))
    slater, weighed = kemeny(majority), kemeny(pairs.means)
    return {
        "slater": round(slater.cost), "slater_bound": float(np.ceil(slater.bound - NEAR)),
        "kemeny": weighed.cost, "kemeny_bound": weighed.bound, "exact": weighed.exact,
    }  # fmt: skip


def cycles(preferences: Preferences, most: int = SHOWN) -> list[Cycle]:
    """The worst cyclic triads of all queries, with their items."""
    triads: list[Cycle] = []
    for query, name in enumerate(preferences.query_ids):
        triads += cycles_of(preferences.pairs(query), preferences.items[query], name, most)
    return sorted(triads, key=lambda cycle: -cycle.margin)[:most]


def cycles_of(pairs: Pairs, items: Sequence[str], query: str, most: int = SHOWN) -> list[Cycle]:
    """The worst cyclic triads of a query, the largest margin first."""
    rows = _worst_triads(kernels.margins(pairs.weights), most).tolist()
    return [
        Cycle(query, (items[int(i)], items[int(j)], items[int(k)]), round(margin, 9))
        for i, j, k, margin in rows
        if margin > 0
    ]


def by_judge(preferences: Preferences) -> list[dict[str, Any]]:
    """Share of answers of each judge, or ranker, that differ from the majority."""
    counts: dict[str, list[int]] = {name: [0, 0] for name in preferences.judges}
    for query in range(preferences.queries):
        gaps = kernels.margins(preferences.pairs(query).weights)
        if preferences.rankings:
            for name, scored in zip(preferences.judges, preferences.rankings[query], strict=True):
                _count_against(counts[name], scored[:, None] - scored[None, :], gaps, np.triu)
            continue
        query_rows = preferences.rows(query)
        a, b, value, judge = (
            getattr(preferences, name)[query_rows] for name in ("a", "b", "value", "judge")
        )
        for place in np.unique(judge[judge >= 0]).tolist():
            rows = judge == place
            sides = value[rows] - 0.5
            _count_against(counts[preferences.judges[place]], sides, gaps[a[rows], b[rows]])
    return [
        {
            "judge": name,
            "judgments": judgments,
            "against": against,
            "rate": against / max(judgments, 1),
        }
        for name, (judgments, against) in counts.items()
    ]


def _count_against(
    counts: list[int], sides: np.ndarray, gaps: np.ndarray, part: Any = lambda array: array
) -> None:
    """Count judgments that take a side where there is a majority, and those on the other side."""
    stated = part(np.isfinite(sides) & (np.abs(sides) > NEAR) & (gaps != 0))
    counts[0] += int(stated.sum())
    counts[1] += int((stated & (np.sign(np.nan_to_num(sides)) != np.sign(gaps))).sum())


def consistency(preferences: Preferences, *, best: bool = False) -> dict[str, Any]:
    """Everything above, over all queries and by query.

    Args:
        preferences: of one or more queries.
        best: whether the best orders are searched for as well, which takes seconds a query.
    """
    rows, total = [], Counter[str]()
    for query, name in enumerate(preferences.query_ids):
        pairs = preferences.pairs(query)
        row = {"query": name} | of_pairs(pairs)
        rows.append(row | (distances(pairs) if best else {}))
        total.update(answers_of(preferences, query))
    whole: dict[str, Any] = {"queries": preferences.queries}
    for name in (
        "items", "pairs", "ties", "triads", "cyclic_triads", "chains", "moderate_violations",
        "strong_violations", "asymmetric_pairs", "components",
    ):  # fmt: skip
        whole[name] = sum(row[name] for row in rows)
    return whole | {
        "cyclic_rate": _share(whole["cyclic_triads"], whole["triads"]),
        "largest_component": max((row["largest_component"] for row in rows), default=0),
        "scoreable_queries": sum(row["scoreable"] for row in rows),
        "position_pairs": total["both"],
        "position_consistency": _share(total["agree"], total["both"]),
        "repeated_pairs": total["repeated"],
        "repeated_contradictions": _share(total["contradicted"], total["repeated"]),
        "self_comparisons": total["itself"],
        "not_reflexive": total["unlike"],
        "judges": by_judge(preferences),
        "cycles": [vars(cycle) for cycle in cycles(preferences)],
        "per_query": rows,
        "notes": list(preferences.notes),
    }


def _share(part: int, whole: int) -> float | None:
    """A share; None of nothing."""
    return part / whole if whole else None


def agreement_of(pairs: Pairs, order: Int64[np.ndarray, " items"]) -> float | None:
    """The share of all weight that an order agrees with; None where there is none.

    A judged pair counts once, by the mean of its answers over both orders shown.
    """
    total = float(np.nansum(pairs.means))
    return float(kernels.agreement(pairs.means, order)) / total if total else None
