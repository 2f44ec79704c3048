"""Leaderboard of robustness cards: rankers of `card.json` files, compared query by query."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float64

from shuffleproof.core.errors import DataError
from shuffleproof.core.gate.card_file import CardFile, Condition, read_card
from shuffleproof.core.gate.ranks import rank_intervals, resampled_means
from shuffleproof.core.rankers.name import INITIAL, RankerName, number_names

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
    of the resamples, as in `differences.leaderboard`.

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
    rows = []
    for member in members:
        ends = {family: float(np.nanmean(each)) for family, each in member.by_family.items()}
        worst = min(ends, key=ends.__getitem__)
        start, end = float(np.nanmean(member.unchanged)), float(np.nanmean(member.mean))
        rows.append({
            "group": f"{group[0]}, {group[1]}", "card": member.card, "ranker": member.name,
            "unchanged": start, "perturbed": end, "kept": end / start if start else np.nan,
            "worst": worst, "worst_mean": ends[worst], "queries": len(member.queries),
        })  # fmt: skip
    frame = pd.DataFrame(rows)
    values = np.array([member.mean for member in members])
    means = np.nanmean(values, axis=1)
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
