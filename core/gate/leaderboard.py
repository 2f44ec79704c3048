"""Ranks with intervals, by paired bootstrap over tasks or queries; the leaderboard of cards.

Rankers of `card.json` files are compared query by query.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int64
from scipy.stats import rankdata

from shuffleproof.core.errors import DataError
from shuffleproof.core.gate.card_file import CardFile, Condition, read_card
from shuffleproof.core.rankers.name import INITIAL, RankerName, number_names
from shuffleproof.core.seeds import generator

RESAMPLES = 1000
LEVEL = 0.975
"""Share of resamples above which one system is separated from another (two-sided 95 %)."""

Ranks = Int64[np.ndarray, " systems"]
REMEDY = "Write the card again with `study card --out`."
Queries = Float64[np.ndarray, " queries"]


class Member(NamedTuple):
    """Ranker of a card: its values on unchanged lists, and under each perturbation at its most."""

    card: str
    name: str
    queries: tuple[str, ...]
    unchanged: Queries
    by_family: dict[str, Queries]

    @property
    def mean(self) -> Queries:
        """Mean over all perturbations."""
        return np.mean([*self.by_family.values()], axis=0)


Group = tuple[Any, ...]
"""Data set, measure and everything else that two cards must share to be compared."""


def standings(folder: Path) -> pd.DataFrame:
    """Rankers of all cards in a folder and its subfolders, the best first within each group.

    Cards of the same lists, measure and perturbations are one group: their rankers are compared
    by their means over all perturbations, each at its highest level. The ranks are those of 95 %
    of the resamples, as in `boards.leaderboard`.

    Args:
        folder: folder of card.json files.

    Returns:
        Columns group, card, ranker, unchanged, perturbed, kept (perturbed by unchanged), worst
        (perturbation of the lowest mean), worst_mean, first, last (ranks from 1) and queries.

    Raises:
        DataError: the folder has no card, or a file in it is none.
    """
    frames = [_ranked(group, members) for group, members in _groups(folder).items()]
    return pd.concat(frames, ignore_index=True)


def means_by_query(folder: Path) -> tuple[dict[str, Queries], tuple[str, ...]]:
    """Mean of each ranker over all perturbations, each at its highest level, and the queries.

    Raises:
        DataError: as `standings`, or cards that cannot be compared with each other.
    """
    groups = _groups(folder)
    if len(groups) > 1:
        finding = f"its cards have {len(groups)} kinds of lists, measures or perturbations"
        raise DataError(str(folder), finding, "Give a folder with cards of one kind.")
    (members,) = groups.values()
    names = number_names(member.name for member in members)
    means = {name: member.mean for name, member in zip(names, members, strict=True)}
    return means, members[0].queries


def _groups(folder: Path) -> dict[Group, list[Member]]:
    """Rankers of all cards, each once, by what cards must share to be compared."""
    paths = sorted(folder.rglob("*.json"))
    if not paths:
        raise DataError(str(folder), "it has no card.json", "Put `study card --out` files there.")
    groups: dict[Group, dict[str, Member]] = {}
    for path in paths:
        card, place = read_card(path), str(path.relative_to(folder))
        for measure in card.measures:
            highest: dict[str, float] = {}
            for _, of, family, level in card.conditions:
                if of == measure and level > 0:
                    highest[family] = max(level, highest.get(family, level))
            if not highest:
                raise DataError(place, f"it has no {measure} under a perturbation", REMEDY)
            group = (
                card.data["name"], measure, card.lists["digest"], card.queries, card.draws,
                *sorted(highest.items()),
            )  # fmt: skip
            members = groups.setdefault(group, {})
            for name, ranker in card.rankers.items():
                values = {
                    family: _values(place, card, (name, measure, family, level))
                    for family, level in highest.items()
                }
                unchanged = _values(place, card, (name, measure, next(iter(highest)), 0.0))
                member = Member(place, RankerName.of(name).display, card.queries, unchanged, values)
                members.setdefault(INITIAL if name == INITIAL else ranker.digest, member)
    return {group: [*members.values()] for group, members in groups.items()}


def _ranked(group: Group, members: Sequence[Member]) -> pd.DataFrame:
    """Rows of one group."""
    values = np.array([member.mean for member in members])
    means = np.nanmean(values, axis=1)
    ends = pd.DataFrame([member.by_family for member in members]).map(np.nanmean)
    frame = pd.DataFrame({
        "group": f"{group[0]}, {group[1]}", "card": [member.card for member in members],
        "ranker": [member.name for member in members],
        "unchanged": [np.nanmean(member.unchanged) for member in members], "perturbed": means,
        "worst": ends.idxmin(axis=1), "worst_mean": ends.min(axis=1), "queries": values.shape[1],
    })  # fmt: skip
    frame["kept"] = means / frame["unchanged"].where(frame["unchanged"] != 0)
    _, frame["first"], frame["last"] = rank_intervals(means, resampled_means(values))
    return frame.sort_values("perturbed", ascending=False, ignore_index=True)


def _values(place: str, card: CardFile, condition: Condition) -> Queries:
    """Values of a condition.

    Raises:
        DataError: the card in this place has no such condition.
    """
    if condition not in card.conditions:
        ranker, measure, family, level = condition
        finding = f"{ranker} has no {measure} under {family} at {level:g}"
        raise DataError(place, finding, REMEDY)
    return card.conditions[condition].astype(np.float64)


def resampled_means(
    values: Float64[np.ndarray, "systems tasks"],
) -> Float64[np.ndarray, "resamples systems"]:
    """Means of each system over tasks drawn with replacement: the same tasks for all systems.

    A system without any task in a resample has its mean over all tasks there.
    """
    there = ~np.isnan(values)
    tasks = values.shape[1]
    draws = generator(0, "leaderboard").multinomial(tasks, np.full(tasks, 1 / tasks), RESAMPLES)
    weights = draws.astype(np.float64)
    sums, counts = weights @ np.nan_to_num(values).T, weights @ there.T.astype(np.float64)
    return rounded(np.where(counts > 0, sums / np.maximum(counts, 1), np.nanmean(values, axis=1)))


def rounded(means: Float64[np.ndarray, "*any"]) -> Float64[np.ndarray, "*any"]:
    """Means to 10 digits of the largest: sums of the same decimals differ in the last bits."""
    largest = np.nanmax(np.abs(means), initial=0.0)
    return np.round(means, 10 - int(np.ceil(np.log10(largest)))) if largest else means


def rank_intervals(
    means: Float64[np.ndarray, " systems"], resampled: Float64[np.ndarray, "resamples systems"]
) -> tuple[Ranks, Ranks, Ranks]:
    """Rank of each system, and its first and last one in the middle 95 % of the resamples.

    Systems with equal means share all their ranks.

    >>> for ranks in rank_intervals(np.array([3.0, 2.0, 2.0]), np.array([[3.0, 2.0, 2.0]] * 40)):
    ...     print(ranks.tolist())
    [1, 2, 2]
    [1, 2, 2]
    [1, 3, 3]
    """
    first = last = np.argsort(np.argsort(-resampled, axis=1), axis=1) + 1
    if (np.diff(np.sort(resampled, axis=1), axis=1) == 0).any():  # ties are rare, and slow
        first, last = (
            rankdata(-resampled, method=method, axis=1).astype(np.int64)
            for method in ("min", "max")
        )
    cut = int((1 - LEVEL) * len(resampled))
    low = np.partition(first, cut, axis=0)[cut]
    high = np.partition(last, -1 - cut, axis=0)[-1 - cut]
    rank = rankdata(-rounded(means), method="min").astype(np.int64)
    return rank, np.minimum(low, rank), np.maximum(high, rank)
