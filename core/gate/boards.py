"""Leaderboards as people publish them: scores of systems on tasks, games, or wins and losses."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int64

from shuffleproof.core.data.tables import read_table
from shuffleproof.core.errors import DataError
from shuffleproof.core.gate.leaderboard import means_by_query
from shuffleproof.core.words import counted

PLAYERS = (("a", "model_a", "player_a"), ("b", "model_b", "player_b"))
RESULTS = ("winner", "result", "preference")
OUTCOMES = {"a": 1.0, "model_a": 1.0, "b": 0.0, "model_b": 0.0, "tie": 0.5, "draw": 0.5}
"""Winners of a game in words; a name of one of the two, or a number from 0 to 1, is one too."""

ORDERED_BY = ("rank", "rating", "elo", "score")
"""Columns that order a table of wins and losses: `rank` upwards, the others downwards."""

FORM = (
    "Give systems × tasks with the names in the first column, games with columns model_a, model_b "
    "and winner, or columns system, wins and losses."
)


class Scores(NamedTuple):
    """Scores of systems on tasks (`unit`: task or query); more is better, NaN is missing."""

    systems: tuple[str, ...]
    tasks: tuple[str, ...]
    values: Float64[np.ndarray, "systems tasks"]
    unit: str = "task"

    @classmethod
    def by_query(cls, values: Mapping[str, np.ndarray], queries: Sequence[str]) -> "Scores":
        """Scores of every system; queries without a value are left out."""
        frame = pd.DataFrame(values, [*queries]).T.dropna(axis=1, how="all")
        return cls((*values,), (*frame.columns,), frame.to_numpy(np.float64), "query")


class Games(NamedTuple):
    """Games in the order played: both systems, and 1 where the first one wins, .5 at a tie."""

    systems: tuple[str, ...]
    pairs: Int64[np.ndarray, "games 2"]
    results: Float64[np.ndarray, " games"]


class Counts(NamedTuple):
    """Won and lost games of systems, in the order listed."""

    systems: tuple[str, ...]
    wins: Float64[np.ndarray, " systems"]
    losses: Float64[np.ndarray, " systems"]


def read_board(source: Path | pd.DataFrame) -> Scores | Games | Counts:
    """The leaderboard in a table, or that of the robustness cards in a folder.

    Args:
        source: CSV, Parquet, Arrow or JSON lines; a folder of card.json files, whose tasks are the
            queries, by their mean under all perturbations; or a data frame.

    Raises:
        DataError: the table is empty, has one system, a name twice, or text in a cell.
    """
    if isinstance(source, pd.DataFrame):
        return _of_frame(source, "the table")
    if source.is_dir():
        return Scores.by_query(*means_by_query(source))
    place = str(source)
    columns = read_table(source, place)
    return _of_frame(pd.DataFrame({name: list(cells) for name, cells in columns.items()}), place)


def _of_frame(frame: pd.DataFrame, place: str) -> Scores | Games | Counts:
    names = {str(name).strip().lower(): name for name in frame.columns}
    of_games = [next((names[one] for one in ones if one in names), None)
                for ones in (*PLAYERS, RESULTS)]  # fmt: skip
    if None not in of_games:
        return _games(frame[of_games], place)
    systems = _systems(frame.iloc[:, 0] if frame.shape[1] else (), place)
    if {"wins", "losses"} <= names.keys():
        return _counts(frame, names, systems, place)
    tasks = list(frame.columns[1:])
    if not tasks:
        raise DataError(place, "it has no column of scores", FORM)
    values = _numbers(frame, tasks, place)
    empty = np.isnan(values).all(axis=1)
    if empty.any():
        finding = f"{systems[int(empty.argmax())]} has no score"
        raise DataError(place, finding, "Leave out systems without scores.")
    return Scores(systems, tuple(map(str, tasks)), values)


def _systems(names: Iterable[Any], place: str) -> tuple[str, ...]:
    """At least two names, all different."""
    systems = tuple(str(name).strip() for name in names)
    if len(systems) < 2:
        raise DataError(place, f"it has {counted(len(systems), 'system')}", FORM)
    twice = pd.Index(systems).duplicated()
    if twice.any():
        row = int(twice.argmax())
        finding = f"{systems[row]} is there twice"
        raise DataError(f"{place}:{row + 2}", finding, "Give every system one row.")
    return systems


def _numbers(
    frame: pd.DataFrame, columns: Sequence[Any], place: str
) -> Float64[np.ndarray, "rows columns"]:
    """Cells as numbers, NaN where they are empty."""
    cells = frame[columns].mask(lambda cells: cells == "")
    numbers = cells.apply(pd.to_numeric, errors="coerce")
    values = np.ascontiguousarray(numbers, np.float64)  # sums depend on the layout
    wrong = (np.isnan(values) & cells.notna().to_numpy()) | np.isinf(values)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        cell = str(cells.iloc[row, column])[:40]
        finding = f"{cell!r} in column {columns[column]} is no number"
        raise DataError(f"{place}:{row + 2}", finding, "Write numbers, or leave cells empty.")
    return values


def _counts(
    frame: pd.DataFrame, names: Mapping[str, Any], systems: tuple[str, ...], place: str
) -> Counts:
    """Wins and losses; a column of ranks or ratings gives the order listed."""
    values = _numbers(frame, [names["wins"], names["losses"]], place)
    if not (values >= 0).all() or not values.sum(axis=1).all():
        finding = "a system has no game, or a negative number of them"
        raise DataError(place, finding, "Give wins and losses as counts.")
    order = np.arange(len(systems))
    if by := next((name for name in ORDERED_BY if name in names), None):
        (keys,) = _numbers(frame, [names[by]], place).T
        order = np.argsort(keys if by == "rank" else -keys, kind="stable")
    return Counts(tuple(systems[at] for at in order), *values[order].T)


def _games(frame: pd.DataFrame, place: str) -> Games:
    texts = frame.map(lambda cell: "" if pd.isna(cell) else str(cell).strip())
    codes, names = pd.factorize(texts.iloc[:, :2].to_numpy(object).ravel(), sort=True)
    systems, pairs = _systems(names, place), codes.reshape(-1, 2)
    first, second, words = (texts.iloc[:, at].str.lower() for at in range(3))
    shares = pd.to_numeric(words, errors="coerce")
    results = words.str.split(" ").str[0].map(OUTCOMES).fillna(shares.where(shares.between(0, 1)))
    results = results.mask(words == first, 1.0).mask(words == second, 0.0)
    wrong = results.isna() | (texts.iloc[:, :2] == "").any(axis=1) | (pairs[:, 0] == pairs[:, 1])
    if wrong.any():
        row = int(wrong.to_numpy().argmax())
        one, other, result = texts.iloc[row]
        finding = f"{result!r} is no winner of {one} and {other}"
        raise DataError(f"{place}:{row + 2}", finding, "Write model_a, model_b, tie or a name.")
    return Games(systems, pairs, results.to_numpy(np.float64))
