"""Leaderboards as people publish them: scores of systems on tasks, games, or wins and losses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int64

from shuffleproof.core.data.tables import read_table
from shuffleproof.core.errors import DataError
from shuffleproof.core.gate.leaderboard import means_by_query
from shuffleproof.core.rankers.name import REFERENCES
from shuffleproof.core.studies.kinds.benchmark.table import per_query
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.words import counted

PLAYERS = (("a", "model_a", "player_a"), ("b", "model_b", "player_b"))
RESULTS = ("winner", "result", "preference")
OUTCOMES = {"a": 1.0, "model_a": 1.0, "b": 0.0, "model_b": 0.0, "tie": 0.5, "draw": 0.5}
"""Winners of a game in words; a name of one of the two, or a number from 0 to 1, is one too."""

LISTED = ("rating", "elo", "score")
"""Columns that order a table of wins and losses, the largest first; `rank` does so upwards."""

FORM = (
    "Give systems × tasks with the names in the first column, games with columns model_a, model_b "
    "and winner, or columns system, wins and losses."
)


@dataclass(frozen=True)
class Scores:
    """Scores of systems on tasks or queries; more is better.

    Attributes:
        systems: their names.
        tasks: names of the columns.
        values: NaN where a cell is missing.
        unit: word for a task: `task` or `query`.
    """

    systems: tuple[str, ...]
    tasks: tuple[str, ...]
    values: Float64[np.ndarray, "systems tasks"]
    unit: str = "task"


@dataclass(frozen=True)
class Games:
    """Games of two systems each, in the order played.

    Attributes:
        systems: their names.
        pairs: both systems of each game.
        results: 1 where the first one wins, .5 at a tie.
    """

    systems: tuple[str, ...]
    pairs: Int64[np.ndarray, "games 2"]
    results: Float64[np.ndarray, " games"]


@dataclass(frozen=True)
class Counts:
    """Wins and losses of systems, in the order listed.

    Attributes:
        systems: their names, the first listed first.
        wins: won games of each.
        losses: lost games of each.
    """

    systems: tuple[str, ...]
    wins: Float64[np.ndarray, " systems"]
    losses: Float64[np.ndarray, " systems"]


Board = Scores | Games | Counts


def read_board(source: Path | pd.DataFrame) -> Board:
    """The leaderboard in a table, or that of the robustness cards in a folder.

    Args:
        source: CSV, Parquet, Arrow or JSON lines; a folder of card.json files, whose tasks are the
            queries, by their mean under all perturbations; or a data frame.

    Raises:
        DataError: the table is empty, has one system, a name twice, or text in a cell.
    """
    if isinstance(source, Path) and source.is_dir():
        means = means_by_query(source)
        names = tuple(map(str, means.index)), tuple(map(str, means.columns))
        return Scores(*names, means.to_numpy(np.float64), "query")
    if isinstance(source, pd.DataFrame):
        return _of_frame(source, "the table")
    place = str(source)
    columns = read_table(source, place)
    return _of_frame(pd.DataFrame({name: list(cells) for name, cells in columns.items()}), place)


def board_of_benchmark(result: StudyResult, measure: str) -> Scores:
    """Rankers of a stored benchmark by query; references such as the ideal ranking are left out.

    Queries without a value are left out.
    """
    values = {
        label: of_label
        for label, of_label in per_query(result, measure).items()
        if label not in REFERENCES
    }
    board = np.stack([*values.values()])
    known = ~np.isnan(board).all(axis=0)
    queries = tuple(result.query_ids[at] for at in np.flatnonzero(known))
    return Scores(tuple(values), queries, board[:, known], "query")


def _of_frame(frame: pd.DataFrame, place: str) -> Board:
    names = {str(name).strip().lower(): name for name in frame.columns}
    players = [next((names[one] for one in ones if one in names), None) for ones in PLAYERS]
    result = next((names[one] for one in RESULTS if one in names), None)
    if None not in {*players, result}:
        return _games(frame[[*players, result]], place)
    systems = _systems(frame, place)
    if {"wins", "losses"} <= names.keys():
        return _counts(frame, names, systems, place)
    values = _numbers(frame, list(frame.columns[1:]), place)
    if not values.size:
        raise DataError(place, "it has no column of scores", FORM)
    empty = np.isnan(values).all(axis=1)
    if empty.any():
        finding = f"{systems[int(empty.argmax())]} has no score"
        raise DataError(place, finding, "Leave out systems without scores.")
    return Scores(systems, tuple(map(str, frame.columns[1:])), values)


def _systems(frame: pd.DataFrame, place: str) -> tuple[str, ...]:
    """Names in the first column, all different."""
    systems = tuple(str(name).strip() for name in frame.iloc[:, 0]) if frame.shape[1] else ()
    if len(systems) < 2:
        raise DataError(place, f"it has {counted(len(systems), 'system')}", FORM)
    twice = pd.Series(systems).duplicated()
    if twice.any():
        row = int(twice.to_numpy().argmax())
        finding = f"{systems[row]} is there twice"
        raise DataError(f"{place}:{row + 2}", finding, "Give every system one row.")
    return systems


def _numbers(
    frame: pd.DataFrame, columns: Sequence[Any], place: str
) -> Float64[np.ndarray, "rows columns"]:
    """Cells as numbers, NaN where they are empty."""
    values = np.empty((len(frame), len(columns)))
    for at, name in enumerate(columns):
        texts = frame[name].map(lambda cell: None if cell in {"", None} else cell)
        numbers = pd.to_numeric(texts, errors="coerce").to_numpy(np.float64)
        wrong = (np.isnan(numbers) & texts.notna().to_numpy()) | np.isinf(numbers)
        if wrong.any():
            row = int(wrong.argmax())
            finding = f"{str(frame[name].iloc[row])[:40]!r} in column {name} is no number"
            raise DataError(f"{place}:{row + 2}", finding, "Write numbers, or leave cells empty.")
        values[:, at] = numbers
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
    by = next((names[name] for name in LISTED if name in names), None)
    if "rank" in names:
        order = np.argsort(_numbers(frame, [names["rank"]], place)[:, 0], kind="stable")
    elif by is not None:
        order = np.argsort(-_numbers(frame, [by], place)[:, 0], kind="stable")
    return Counts(tuple(systems[at] for at in order), values[order, 0], values[order, 1])


def _games(frame: pd.DataFrame, place: str) -> Games:
    texts = frame.astype(str).apply(lambda column: column.str.strip())
    systems = tuple(sorted({*texts.iloc[:, 0], *texts.iloc[:, 1]}))
    if len(systems) < 2:
        raise DataError(place, f"it has {counted(len(systems), 'system')}", FORM)
    number = {name: at for at, name in enumerate(systems)}
    results = np.empty(len(texts))
    for row, (first, second, said) in enumerate(texts.itertuples(index=False)):
        outcome = {first.lower(): 1.0, second.lower(): 0.0}.get(said.lower())
        outcome = OUTCOMES.get(said.lower().split(" ")[0]) if outcome is None else outcome
        if outcome is None:
            outcome = _share(said)
        if outcome is None or first == second:
            finding = f"{said!r} is no winner of {first} and {second}"
            raise DataError(f"{place}:{row + 2}", finding, "Write model_a, model_b, tie or a name.")
        results[row] = outcome
    pairs = texts.iloc[:, :2].map(number.__getitem__).to_numpy(np.int64)
    return Games(systems, pairs, results)


def _share(text: str) -> float | None:
    """A result as a number from 0 to 1; None: it is none."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number <= 1 else None
