"""Leaderboard of robustness cards: rankers of `card.json` files, compared query by query."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Float64

from shuffleproof.core.errors import DataError
from shuffleproof.core.gate.card_file import CardFile, Condition, read_card
from shuffleproof.core.rankers.name import INITIAL, RankerName, number_names
from shuffleproof.core.studies.paired_differences import mean_differences

LEVEL = 0.05
"""Largest p of two rankers that do not share a rank, adjusted by Holm."""

Queries = Float64[np.ndarray, " queries"]
Members = dict[str, tuple[str, CardFile, str]]
"""Place, card and name of each ranker, by its digest."""


def standings(folder: Path) -> pd.DataFrame:
    """Rankers of all cards in a folder and its subfolders, the best first within each group.

    Cards of the same lists, measure and perturbations are one group: their rankers are compared
    by paired t tests on the mean over all perturbations, each at its highest level. A ranker's
    ranks are those that the tests leave open.

    Args:
        folder: folder of card.json files.

    Returns:
        Columns group, card, ranker, unchanged, perturbed, kept (perturbed by unchanged), worst
        (perturbation of the lowest mean), worst_mean, first, last (ranks from 1) and queries.

    Raises:
        DataError: the folder has no card, or a file in it is none.
    """
    frames = [_ranked(key, members) for key, members in _groups(folder).items()]
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
    ((key, members),) = groups.items()
    names = number_names(RankerName.of(name).display for _, _, name in members.values())
    means = [
        np.mean([*_at_highest(*member, str(key[1])).values()], axis=0)
        for member in members.values()
    ]
    return dict(zip(names, means, strict=True)), next(iter(members.values()))[1].queries


def _groups(folder: Path) -> dict[tuple[object, ...], Members]:
    """Rankers of all cards, by what cards must share to be compared."""
    paths = sorted(folder.rglob("*.json"))
    if not paths:
        raise DataError(str(folder), "it has no card.json", "Put `study card --out` files there.")
    groups: dict[tuple[object, ...], Members] = {}
    for path in paths:
        card = read_card(path)
        for measure in card.measures:
            if not _highest(card, measure):
                remedy = "Write the card again with `study card --out`."
                raise DataError(str(path), f"it has no {measure} under a perturbation", remedy)
            members = groups.setdefault(_group(card, measure), {})
            for name, ranker in card.rankers.items():
                known = (str(path.relative_to(folder)), card, name)
                members.setdefault(INITIAL if name == INITIAL else ranker.digest, known)
    return groups


def _group(card: CardFile, measure: str) -> tuple[object, ...]:
    """Everything that two cards must share to be compared."""
    levels = tuple(sorted(_highest(card, measure).items()))
    return card.data["name"], measure, card.lists["digest"], card.queries, card.draws, levels


def _highest(card: CardFile, measure: str) -> Mapping[str, float]:
    """Highest level of every perturbation."""
    levels: dict[str, float] = {}
    for _, of, family, level in card.conditions:
        if of == measure and level > 0:
            levels[family] = max(level, levels.get(family, level))
    return levels


def _ranked(key: tuple[object, ...], members: Members) -> pd.DataFrame:
    """Rows of one group."""
    data, measure = str(key[0]), str(key[1])
    rows, values = [], []
    for place, card, name in members.values():
        by_family = _at_highest(place, card, name, measure)
        unchanged = _values(place, card, (name, measure, next(iter(by_family)), 0.0))
        perturbed = np.mean([*by_family.values()], axis=0)
        means = {family: float(np.nanmean(each)) for family, each in by_family.items()}
        worst = min(means, key=means.__getitem__)
        start, end = float(np.nanmean(unchanged)), float(np.nanmean(perturbed))
        values.append(perturbed)
        rows.append({
            "group": f"{data}, {measure}", "card": place, "ranker": RankerName.of(name).display,
            "unchanged": start, "perturbed": end, "kept": end / start if start else np.nan,
            "worst": worst, "worst_mean": means[worst], "queries": len(card.queries),
        })  # fmt: skip
    frame = pd.DataFrame(rows)
    frame["first"], frame["last"] = rank_intervals(np.array(values))
    return frame.sort_values("perturbed", ascending=False, ignore_index=True)


def _at_highest(place: str, card: CardFile, name: str, measure: str) -> dict[str, Queries]:
    """Values of a ranker under each perturbation at its highest level."""
    return {
        family: _values(place, card, (name, measure, family, level))
        for family, level in _highest(card, measure).items()
    }


def _values(place: str, card: CardFile, condition: Condition) -> Queries:
    """Values of a condition.

    Raises:
        DataError: the card in this place has no such condition.
    """
    if condition not in card.conditions:
        ranker, measure, family, level = condition
        finding = f"{ranker} has no {measure} under {family} at {level:g}"
        raise DataError(place, finding, "Write the card again with `study card --out`.")
    return card.conditions[condition].astype(np.float64)


def rank_intervals(
    values: Float64[np.ndarray, "rankers queries"],
) -> tuple[Sequence[int], Sequence[int]]:
    """First and last rank of each ranker that paired t tests leave open, adjusted by Holm.

    >>> clear = np.linspace(0, 1, 20)[None] * 0.01 + np.array([[0.9], [0.5], [0.5001]])
    >>> rank_intervals(clear + np.array([[0], [1], [-1]]) * np.tile([1e-3, -1e-3], 10))
    ([1, 2, 2], [1, 3, 3])
    """
    pairs = list(combinations(range(len(values)), 2))
    better, worse = np.zeros(len(values), int), np.zeros(len(values), int)
    if pairs:
        left, right = map(list, zip(*pairs, strict=True))
        tests = mean_differences(values[left] - values[right])
        for (one, other), mean, p in zip(pairs, tests["mean"], tests["p"], strict=True):
            if p <= LEVEL:
                winner, loser = (one, other) if mean > 0 else (other, one)
                better[loser] += 1
                worse[winner] += 1
    return (better + 1).tolist(), (len(values) - worse).tolist()
