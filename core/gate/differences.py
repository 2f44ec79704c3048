"""Are the systems of a leaderboard different? Rank intervals, winners by rule, fragile winners."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, no_type_check

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int64
from scipy.stats import rankdata

from shuffleproof.core import words
from shuffleproof.core.aggregate import kernels, scores
from shuffleproof.core.aggregate.kemeny import best_order
from shuffleproof.core.compiled import compiled
from shuffleproof.core.gate.leaderboard import (
    LEVEL,
    RESAMPLES,
    rank_intervals,
    resampled_means,
    rounded,
)
from shuffleproof.core.rankers.name import REFERENCES
from shuffleproof.core.seeds import generator
from shuffleproof.core.studies.kinds.benchmark.table import LEAST_QUERIES, per_query
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.words import counted, listed

GAME_RESAMPLES = 200
"""Fewer than of tasks: every resample fits Bradley–Terry strengths."""

ORDERS = 100
LISTED = 5
"""Largest number of tasks that a sentence names."""

K_FACTOR, SCALE = 32.0, 400.0
"""Elo's step after a game, and the difference of ratings at which odds are 10 : 1."""

RULES = ("mean", "Borda", "Bradley–Terry", "Kemeny", "pairwise wins")


@dataclass(frozen=True)
class Leaderboard:
    """Facts about a leaderboard.

    Attributes:
        rows: columns system, score, rank, low, high (ranks of 95 % of the resamples), group
            (systems that are not separated from its first) and badge; the best first.
        winners: winner by each rule.
        removal: the smallest set of tasks whose removal changes the winner, and the new winner.
        missing: number of missing cells, and the winner by each way to count them.
        elo: of games: first and last Elo rank of each system over orders of the same games.
        sentences: its facts, a sentence each.
    """

    rows: pd.DataFrame
    winners: Mapping[str, str]
    removal: Mapping[str, Any] | None = None
    missing: Mapping[str, Any] | None = None
    elo: Mapping[str, tuple[int, int]] | None = None
    sentences: tuple[str, ...] = ()


def of_benchmark(result: StudyResult, measure: str) -> Leaderboard:
    """Rankers of a stored benchmark by query, without references such as the ideal ranking."""
    values = per_query(result, measure)
    values = {label: values[label] for label in values if label not in REFERENCES}
    return of_queries(values, result.query_ids)


def of_queries(values: Mapping[str, np.ndarray], queries: Sequence[str]) -> Leaderboard:
    """Examine values of systems by query; queries without a value are left out."""
    frame = pd.DataFrame(values, [*queries]).T.dropna(axis=1, how="all")
    return of_scores((*values,), (*frame.columns,), frame.to_numpy(np.float64), "query")


# ------------------------------------------------------------------ scores on tasks


def of_scores(
    systems: Sequence[str],
    tasks: Sequence[str],
    values: Float64[np.ndarray, "systems tasks"],
    unit: str = "task",
) -> Leaderboard:
    """Examine scores of systems on tasks (`unit`: task or query); NaN is missing."""
    means = _means(values)
    rows, separation = _ranked(systems, means, resampled_means(values), (len(tasks), unit))
    winners = _winners(systems, means, wins_over_tasks(values))
    removed, winner = smallest_removal(values)
    removal, without = None, f"{winners['mean']} wins by mean whatever is left out."
    if winner is not None:
        named = [tasks[task] for task in removed]
        removal = {"tasks": named, "winner": systems[winner]}
        left_out = counted(len(named), unit)
        left_out += f" ({listed(named)})" if len(named) <= LISTED else ""
        without = f"Without {left_out}, {removal['winner']} wins by mean."
    missing, by_ways = _missing(systems, values)
    sentences = [separation, _by_rules(winners), without, by_ways]
    return Leaderboard(rows, winners, removal, missing, sentences=(*filter(None, sentences),))


def _means(values: Float64[np.ndarray, "systems tasks"]) -> Float64[np.ndarray, " systems"]:
    """Mean of each system over its tasks."""
    return rounded(pd.DataFrame(values).mean(axis=1).to_numpy())


def _ranked(
    systems: Sequence[str],
    values: Float64[np.ndarray, " systems"],
    resampled: Float64[np.ndarray, "resamples systems"],
    size: tuple[int, str],
) -> tuple[pd.DataFrame, str]:
    """Rows, the best first, and a sentence on separation; `size`: tasks or games, and their noun.

    Resamples of few tasks or games that one system wins never show another winner.
    """
    few = size[0] < LEAST_QUERIES
    resampled = np.zeros((1, len(values))) if few else resampled  # every rank is possible
    order = scores.by_falling_score(values)
    rank, low, high = rank_intervals(values, resampled)
    groups, leader = [1], order[0]
    for at in order[1:]:
        is_separated = bool((resampled[:, leader] > resampled[:, at]).mean() > LEVEL)
        groups.append(groups[-1] + is_separated)
        leader = at if is_separated else leader
    columns = {"score": values, "rank": rank, "low": low, "high": high}
    rows = pd.DataFrame(columns, pd.Index(systems, name="system")).iloc[order].reset_index()
    ranks = zip(rows["rank"], rows["low"], rows["high"], strict=True)
    rows = rows.assign(group=groups, badge=[f"rank {own} ({a}–{b})" for own, a, b in ranks])
    if few:
        return rows, f"{counted(*size)} cannot separate systems; {LEAST_QUERIES} may."
    tied = counted(groups.count(1) - 1, "other")
    first, alone = f"{systems[order[0]]} is first", groups.count(1) == 1
    return rows, (
        f"{first}, and separated from all others (95 %)." if alone
        else f"{first}; {tied} cannot be separated from it (95 %)."
    )  # fmt: skip


def wins_over_tasks(
    values: Float64[np.ndarray, "systems tasks"],
) -> Float64[np.ndarray, "systems systems"]:
    """Tasks that the row's system wins against the column's, ties half; NaN without common ones."""
    wins = np.zeros((len(values), len(values)))
    for column in values.T:  # NaN is neither above nor equal
        wins += (column[:, None] > column) + 0.5 * (column[:, None] == column)
    np.fill_diagonal(wins, 0)
    return np.where(wins + wins.T > 0, wins, np.nan)


def _winners(
    systems: Sequence[str],
    means: Float64[np.ndarray, " systems"],
    wins: Float64[np.ndarray, "systems systems"],
) -> dict[str, str]:
    """Winner by each rule; of ties the first in the table."""
    # No majority leads back into the first component, so the best order begins with its own
    top = scores.ordered_components(wins)[0]
    best = top[best_order(kernels.margins(wins[np.ix_(top, top)]))[0]]
    by_rule = (
        means, scores.borda(wins), scores.bradley_terry(wins), np.arange(len(means)) == best,
        scores.copeland(wins),
    )  # fmt: skip
    winners = [systems[int(np.argmax(rounded(np.asarray(one, np.float64))))] for one in by_rule]
    return dict(zip(RULES, winners, strict=True))


def smallest_removal(
    values: Float64[np.ndarray, "systems tasks"],
) -> tuple[list[int], int | None]:
    """The smallest set of tasks without which another system has the highest mean.

    Exact. Tasks are of three kinds: of both systems, of the winner alone, of the challenger alone.
    In every split of the size over these kinds, the most harmful tasks of each kind are removed.

    Returns:
        The tasks and the new winner; no tasks and None if no removal changes the winner.

    >>> smallest_removal(np.array([[0.9, 0.2, 0.5], [0.1, 0.3, 0.6]]))
    ([0], 1)
    """
    winner = int(np.argmax(_means(values)))
    # What is left of the winner's lead without the `size` most harmful tasks; of systems that have
    # other tasks than the winner this says nothing
    leads = np.sort(np.nan_to_num(values[winner] - values), axis=1)
    left = np.cumsum(leads, axis=1)
    comparable = (np.isnan(values) == np.isnan(values[winner])).all(axis=1)
    challengers = [at for at in range(len(values)) if at != winner]
    for size in range(1, values.shape[1]):
        for challenger in challengers:
            if comparable[challenger] and left[challenger, -1 - size] >= 0:
                continue
            tasks = _removal(values[winner], values[challenger], size)
            if tasks is None:
                continue
            return tasks, int(np.nanargmax(_means(np.delete(values, tasks, axis=1))))
    return [], None


def _removal(
    own: Float64[np.ndarray, " tasks"], other: Float64[np.ndarray, " tasks"], size: int
) -> list[int] | None:
    """Tasks of this number without which `other` has the higher mean, if there are such."""
    has_own, has_other = ~np.isnan(own), ~np.isnan(other)
    alone = sorted(np.flatnonzero(has_own & ~has_other), key=lambda task: -own[task])
    others = sorted(np.flatnonzero(has_other & ~has_own), key=lambda task: other[task])
    both = np.flatnonzero(has_own & has_other)
    own_tasks, other_tasks = has_own.sum(), has_other.sum()
    for of_alone, of_others in product(range(len(alone) + 1), range(len(others) + 1)):
        shared = size - of_alone - of_others
        left_own, left_other = own_tasks - shared - of_alone, other_tasks - shared - of_others
        if not 0 <= shared <= len(both) or not left_own or not left_other:
            continue
        harm = own[both] / left_own - other[both] / left_other
        tasks = [*alone[:of_alone], *others[:of_others], *both[np.argsort(-harm)[:shared]]]
        left = np.delete(np.stack([own, other]), tasks, axis=1)
        lead, behind = rounded(np.nanmean(left, axis=1))
        if behind > lead:
            return sorted(map(int, tasks))
    return None


def _missing(
    systems: Sequence[str], values: Float64[np.ndarray, "systems tasks"]
) -> tuple[dict[str, Any] | None, str]:
    """Number of missing cells with the winner by each way to count them, and a sentence on it."""
    frame = pd.DataFrame(values, [*systems])
    cells = int(frame.isna().sum().sum())
    if not cells:
        return None, ""
    ways = {
        "missing cells are left out": frame,
        "they count as 0": frame.fillna(0.0),
        "they count as the task's lowest score": frame.fillna(frame.min()).fillna(0.0),
        "only complete tasks count": frame.dropna(axis=1),
    }
    winners = {
        way: systems[int(np.nanargmax(_means(left.to_numpy())))]
        for way, left in ways.items() if left.size
    }  # fmt: skip
    parts = [f"{one} wins if {' or '.join(by)}" for one, by in _by_winner(winners).items()]
    if len(parts) == 1:
        parts = [f"{winners['they count as 0']} wins however they count"]
    sentence = f"{cells} of {counted(frame.size, 'cell')} missing: {'; '.join(parts)}."
    return {"cells": cells, "of": frame.size, "winners": winners}, sentence


# ------------------------------------------------------------------ games, wins and losses


def of_games(
    systems: Sequence[str],
    pairs: Int64[np.ndarray, "games 2"],
    results: Float64[np.ndarray, " games"],
) -> Leaderboard:
    """Examine games in the order played: 1 where the first of a pair wins, 0.5 at a tie."""
    count, games = len(systems), len(results)
    wins = _wins(pairs, results, count)
    random = generator(0, "leaderboard")
    resampled = np.empty((GAME_RESAMPLES, count))
    for row in resampled:
        drawn = random.integers(games, size=games)
        row[:] = scores.bradley_terry(_wins(pairs[drawn], results[drawn], count))
    points = SCALE / np.log(10)
    strengths = scores.bradley_terry(wins) * points
    rows, separation = _ranked(systems, strengths, resampled * points, (games, "game"))
    won, lost = np.nansum(wins, axis=1), np.nansum(wins, axis=0)
    winners = _winners(systems, won / (won + lost), wins)
    orders = np.stack([random.permutation(games) for _ in range(ORDERS)])
    ranks = rankdata(-_elo(pairs, results, orders, count), method="min", axis=1).astype(np.int64)
    spans = zip(ranks.min(axis=0).tolist(), ranks.max(axis=0).tolist(), strict=True)
    elo = dict(zip(systems, spans, strict=True))
    sentences = (separation, _by_rules(winners), _elo_in_words(elo))
    return Leaderboard(rows, winners, elo=elo, sentences=sentences)


def _wins(
    pairs: Int64[np.ndarray, "games 2"], results: Float64[np.ndarray, " games"], systems: int
) -> Float64[np.ndarray, "systems systems"]:
    """Games that the row's system won against the column's, ties half; NaN without any."""
    wins = np.zeros((systems, systems))
    np.add.at(wins, (pairs[:, 0], pairs[:, 1]), results)
    np.add.at(wins, (pairs[:, 1], pairs[:, 0]), 1 - results)
    return np.where(wins + wins.T > 0, wins, np.nan)


@compiled()
@no_type_check
def _elo(pairs: np.ndarray, results: np.ndarray, orders: np.ndarray, systems: int) -> np.ndarray:
    """Elo ratings after the games, a row an order."""
    ratings = np.zeros((len(orders), systems))
    for at in range(len(orders)):
        own = ratings[at]
        for game in orders[at]:
            first, second = pairs[game]
            expected = 1.0 / (1.0 + 10.0 ** ((own[second] - own[first]) / SCALE))
            step = K_FACTOR * (results[game] - expected)
            own[first] += step
            own[second] -= step
    return ratings


def of_counts(
    systems: Sequence[str],
    wins: Float64[np.ndarray, " systems"],
    losses: Float64[np.ndarray, " systems"],
) -> Leaderboard:
    """Examine numbers of won and lost games, in the order listed."""
    games = wins + losses
    # Uniform prior: a system without a loss may still lose
    resampled = generator(0, "leaderboard").beta(wins + 1, losses + 1, (RESAMPLES, len(games)))
    shares = pd.Series(wins / games, [*systems])
    rows, separation = _ranked(systems, shares.to_numpy(), resampled, (int(games.sum()), "game"))
    sentences = filter(None, (separation, _contradiction(shares, games, resampled)))
    return Leaderboard(rows, {"win share": str(shares.idxmax())}, sentences=(*sentences,))


def _contradiction(
    shares: "pd.Series[float]",
    games: Float64[np.ndarray, " systems"],
    resampled: Float64[np.ndarray, "resamples systems"],
) -> str:
    """The worst pair that is listed against its win shares, in a sentence; empty without any."""
    # Of the column's system over the row's, which is listed above
    gaps = np.triu(shares.to_numpy() - shares.to_numpy()[:, None], 1)
    above, below = map(int, np.unravel_index(int(np.argmax(gaps)), gaps.shape))
    if (resampled[:, below] > resampled[:, above]).mean() <= LEVEL:
        return ""
    better, worse = (
        f"{shares.index[at]} ({words.percent(shares.iloc[at], 1)} of {games[at]:,.0f} games)"
        for at in (below, above)
    )
    return (
        f"{better} is listed below {worse}: a rating weighs the opponents, which win shares leave "
        "out, so only the games can tell who is better."
    )


# ------------------------------------------------------------------ sentences


def _by_winner(winners: Mapping[str, str]) -> dict[str, list[str]]:
    """Rules by the winner that they agree on."""
    return {one: [rule for rule in winners if winners[rule] == one] for one in winners.values()}


def _by_rules(winners: Mapping[str, str]) -> str:
    rules = _by_winner(winners)
    if len(rules) == 1:
        return f"{winners['mean']} wins by every rule: {listed(RULES)}."
    return "; ".join(f"{winner} wins by {listed(by)}" for winner, by in rules.items()) + "."


def _elo_in_words(elo: Mapping[str, tuple[int, int]]) -> str:
    moved = {name: span for name, span in elo.items() if span[0] != span[1]}
    if not moved:
        return f"Elo ranks are the same in {ORDERS} orders of these games."
    name, (low, high) = max(moved.items(), key=lambda item: item[1][1] - item[1][0])
    return (
        f"Elo depends on the order of the games: in {ORDERS} orders, {name} has ranks {low} to "
        f"{high}."
    )
