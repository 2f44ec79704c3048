"""Leaderboards as people publish them: scores of systems on tasks, games, or wins and losses."""

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64

from shuffleproof.core.data.tables import read_table
from shuffleproof.core.errors import DataError
from shuffleproof.core.gate import differences
from shuffleproof.core.gate.differences import Leaderboard
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


def leaderboard(source: str | PathLike[str] | pd.DataFrame) -> Leaderboard:
    """Examine a leaderboard: which of its systems are different?

    Args:
        source: a table (CSV, Parquet, Arrow, JSON lines) or data frame of systems × tasks with the
            names in the first column, of games (`model_a`, `model_b`, `winner`) or of `wins` and
            `losses`; or a folder of card.json files, whose tasks are the queries, by their mean
            under all perturbations.

    Raises:
        DataError: the table is empty, has one system, a name twice, or text in a cell.

    >>> board = leaderboard(pd.DataFrame({
    ...     "system": ["bm25", "dense"], "web": [0.50, 0.61], "news": [0.42, 0.39],
    ...     "law": [0.31, 0.32], "bio": [0.44, 0.40], "code": [0.20, 0.21]}))
    >>> board.rows[["system", "rank", "low", "high"]].values.tolist()
    [['dense', 1, 1, 2], ['bm25', 2, 1, 2]]
    >>> for sentence in board.sentences:
    ...     print(sentence)
    dense is first; 1 other cannot be separated from it (95 %).
    dense wins by every rule: mean, Borda, Bradley–Terry, Kemeny and pairwise wins.
    Without 1 task (web), bm25 wins by mean.
    """
    if isinstance(source, pd.DataFrame):
        return _of_frame(source, "the table")
    place, path = str(source), Path(source)
    if path.is_dir():
        return differences.of_queries(*means_by_query(path))
    columns = read_table(path, place)
    return _of_frame(pd.DataFrame({name: list(cells) for name, cells in columns.items()}), place)


def _of_frame(frame: pd.DataFrame, place: str) -> Leaderboard:
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
    return differences.of_scores(systems, [*map(str, tasks)], values)


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
) -> Leaderboard:
    """Wins and losses; a column of ranks or ratings gives the order listed."""
    values = _numbers(frame, [names["wins"], names["losses"]], place)
    if not (values >= 0).all() or not values.sum(axis=1).all():
        finding = "a system has no game, or a negative number of them"
        raise DataError(place, finding, "Give wins and losses as counts.")
    order = np.arange(len(systems))
    if by := next((name for name in ORDERED_BY if name in names), None):
        (keys,) = _numbers(frame, [names[by]], place).T
        order = np.argsort(keys if by == "rank" else -keys, kind="stable")
    return differences.of_counts([systems[at] for at in order], *values[order].T)


def _games(frame: pd.DataFrame, place: str) -> Leaderboard:
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
    return differences.of_games(systems, pairs, results.to_numpy(np.float64))
