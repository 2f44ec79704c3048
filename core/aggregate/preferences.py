"""Preferences between the items of a query, from judgments of pairs.

A judgment is the preference of `a` over `b`: 1 for `a`, ½ for a tie, 0 for `b`. An unjudged pair is
missing, which is not a tie. If the order of the two is known, f(a, b) and f(b, a) are two answers;
else one answer gives both.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import BadZipFile

import numpy as np
from jaxtyping import Bool, Float32, Float64, Int8, Int32, Int64

from shuffleproof.core.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

FILE = "preferences.npz"
ROWS = ("a", "b", "value", "votes", "judge", "first")
NEAR = 1e-9
UNKNOWN = -1  # No judge, or no first of the two, is known


@dataclass(frozen=True)
class Pairs:
    """The preferences among the items of one query, as a matrix.

    Attributes:
        values: f(i, j), the preference of i over j in [0, 1]; NaN without a judgment. The
            diagonal is NaN.
        votes: how many answers f(i, j) is the mean of.
        weigh: whether a pair counts by its votes (sets of rankings) or once (judged pairs).
    """

    values: Float64[np.ndarray, "items items"]
    votes: Float64[np.ndarray, "items items"]
    weigh: bool = False

    @property
    def items(self) -> int:
        """Number of items."""
        return len(self.values)

    @cached_property
    def weights(self) -> Float64[np.ndarray, "items items"]:
        """Gain of an order with i above j: f(i, j), times its votes' share of the most."""
        if not self.weigh or not self.votes.max():
            return self.values
        return self.values * (self.votes / self.votes.max())

    @cached_property
    def means(self) -> Float64[np.ndarray, "items items"]:
        """Weights of both directions of a pair together: the mean over both orders shown.

        A judged pair counts once, whichever item of it the judge favours for its position.

        >>> Pairs(np.array([[np.nan, 0.0], [0.0, np.nan]]), np.ones((2, 2))).means[0, 1]
        np.float64(0.5)
        """
        return self.weights if self.weigh else mean_of_orders(self.values)

    @cached_property
    def is_asymmetric(self) -> Bool[np.ndarray, "items items"]:
        """Pairs whose two directions do not add up to 1: answers depend on the input order."""
        return _asymmetric(self.values)

    @cached_property
    def count(self) -> int:
        """Number of pairs with a preference."""
        return int(np.isfinite(self.values).sum()) // 2


def mean_of_orders(values: Float64[np.ndarray, "items items"]) -> Float64[np.ndarray, "n n"]:
    """f(i, j) and 1 − f(j, i) averaged; where one direction alone is known it tells both."""
    whole = np.where(np.isnan(values), 1.0 - values.T, values)
    # symmetric ones keep all digits
    return np.where(_asymmetric(whole), (whole + 1.0 - whole.T) / 2, whole)


def _asymmetric(values: Float64[np.ndarray, "items items"]) -> Bool[np.ndarray, "n n"]:
    return np.abs(values + values.T - 1.0) > NEAR


@dataclass(frozen=True)
class Preferences:
    """Judgments, or whole rankings, of the items of several queries.

    Attributes:
        query_ids: by query.
        items: the names of the items, by query.
        bounds: judgments of query q are rows `bounds[q] … bounds[q + 1] − 1`.
        a: the one item of each judgment, as a place in its query's items.
        b: the other.
        value: how strongly a is preferred to b, in [0, 1].
        votes: how many answers the value is the mean of.
        judge: who answered, as a place in `judges`; −1: it is not known.
        first: which was shown first: 0 a, 1 b; −1: it is not known.
        judges: their names; of rankings, the names of the rankers.
        rankings: by query, the score that each ranker gives each item, higher is better, NaN where
            it says nothing; empty where judgments were read.
        labels: the grade of each item, by query, NaN where it is not known; empty: none is.
        notes: what reading left out or put together, in words.
    """

    query_ids: tuple[str, ...]
    items: tuple[tuple[str, ...], ...]
    bounds: Int64[np.ndarray, " bounds"]
    a: Int32[np.ndarray, " rows"]
    b: Int32[np.ndarray, " rows"]
    value: Float64[np.ndarray, " rows"]
    votes: Float64[np.ndarray, " rows"]
    judge: Int32[np.ndarray, " rows"]
    first: Int8[np.ndarray, " rows"]
    judges: tuple[str, ...] = ()
    rankings: tuple[Float32[np.ndarray, "rankers items"], ...] = ()
    labels: tuple[Float64[np.ndarray, " items"], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def queries(self) -> int:
        """Number of queries."""
        return len(self.query_ids)

    @property
    def documents(self) -> int:
        """Number of items over all queries."""
        return sum(map(len, self.items))

    def rows(self, query: int) -> slice:
        """The judgments of a query."""
        return slice(int(self.bounds[query]), int(self.bounds[query + 1]))

    def table(self) -> "pd.DataFrame":
        """The judgments by name: see `of_table`."""
        import pandas as pd  # noqa: PLC0415 (only who extends them pays for it)

        queries = np.repeat(np.arange(self.queries), np.diff(self.bounds)).tolist()
        names = ["", *self.judges]  # a judge that is not known has place −1
        return pd.DataFrame(
            {
                "query": [self.query_ids[query] for query in queries],
                "a": [self.items[query][at] for query, at in zip(queries, self.a, strict=True)],
                "b": [self.items[query][at] for query, at in zip(queries, self.b, strict=True)],
                "value": self.value,
                "votes": self.votes,
                "judge": [names[judge + 1] for judge in self.judge],
                "first": self.first,
            }
        )

    def pairs(self, query: int) -> Pairs:
        """The preferences of a query as a matrix: n² numbers for n items."""
        if self.rankings:
            return pairs_of_rankings(self.rankings[query])
        query_rows = self.rows(query)
        a, b, value, votes, shown_first = (
            getattr(self, name)[query_rows] for name in ("a", "b", "value", "votes", "first")
        )
        total, count = np.zeros((2, len(self.items[query]), len(self.items[query])))
        for excluded, item, opponent, answer in ((1, a, b, value), (0, b, a, 1.0 - value)):
            rows = (shown_first != excluded) & (
                a != b
            )  # who was shown second says nothing of its own order
            np.add.at(total, (item[rows], opponent[rows]), (votes * answer)[rows])
            np.add.at(count, (item[rows], opponent[rows]), votes[rows])
        with np.errstate(invalid="ignore"):
            values = np.where(count > 0, total / count, np.nan)
        return Pairs(np.where(np.isnan(values), 1.0 - values.T, values), count)


def of_table(
    table: "pd.DataFrame",
    items: Mapping[str, Sequence[str]],
    grades: Mapping[str, Mapping[str, float]],
    judges: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Preferences:
    """Preferences of a table of judgments.

    Args:
        table: query, a, b, value, votes, judge and first of each, by name; no judge is "".
        items: of each query.
        grades: of items, by query; empty: no grades.
        judges: those that come first.
        notes: what a person should know.
    """
    judges = list(filter(None, dict.fromkeys([*judges, *table["judge"]])))
    judge_at = {name: at for at, name in enumerate(judges)}
    query_at = {query: at for at, query in enumerate(items)}
    item_at = {(query, name): at for query in items for at, name in enumerate(items[query])}
    columns = ["query", "a", "b", "value", "votes", "judge", "first"]
    rows = [
        (query_at[q], item_at[q, a], item_at[q, b], value, votes, judge_at.get(by, UNKNOWN), first)
        for q, a, b, value, votes, by, first in table[columns].itertuples(index=False)
    ]
    return built(
        list(items), list(items.values()), rows, judges,
        labels=labels_of(items, grades), notes=tuple(notes),
    )  # fmt: skip


def labels_of(
    items: Mapping[str, Sequence[str]], grades: Mapping[str, Mapping[str, float]]
) -> tuple[Float64[np.ndarray, " items"], ...]:
    """Grades of every item, by query; empty without any."""
    if not grades:
        return ()
    return tuple(
        np.array([grades.get(query, {}).get(name, np.nan) for name in names], float)
        for query, names in items.items()
    )


def pairs_of_rankings(rankings: Float32[np.ndarray, "rankers items"]) -> Pairs:
    """Share of rankers with the row's item above the column's, over those that rank both.

    >>> pairs_of_rankings(np.array([[3, 2], [1, np.nan], [1, 1]], np.float32)).values[0, 1]
    np.float64(0.75)
    """
    known = (~np.isnan(rankings)).astype(float)
    votes = known.T @ known
    np.fill_diagonal(votes, 0.0)  # an item is not compared with itself
    wins = np.zeros_like(votes)
    for scores in rankings:
        wins += (scores[:, None] > scores) + 0.5 * (scores[:, None] == scores)  # NaN is neither
    with np.errstate(invalid="ignore", divide="ignore"):
        return Pairs(np.where(votes > 0, wins / votes, np.nan), votes, weigh=True)


def pairs_of_matrix(values: Float64[np.ndarray, "items items"]) -> Pairs:
    """A matrix as it stands; where one direction alone is known the other is 1 less it.

    >>> pairs_of_matrix(np.array([[0, 0.8], [np.nan, 0]])).values[1, 0].round(3)
    np.float64(0.2)
    """
    whole = np.where(np.isnan(values), 1 - values.T, values)
    np.fill_diagonal(whole, np.nan)
    return Pairs(whole, np.isfinite(whole).astype(float))


def save(preferences: Preferences, directory: Path) -> None:
    """Write `preferences.npz` into a directory."""
    about = {
        "query_ids": preferences.query_ids,
        "items": preferences.items,
        "judges": preferences.judges,
        "notes": preferences.notes,
    }
    text = np.frombuffer(json.dumps(about).encode(), np.uint8)
    arrays = {name: getattr(preferences, name) for name in ("bounds", *ROWS)}
    if preferences.rankings:
        arrays["rankings"] = np.concatenate(preferences.rankings, axis=1)
    if preferences.labels:
        arrays["labels"] = np.concatenate(preferences.labels)
    np.savez(directory / FILE, about=text, **arrays)


def open_(directory: Path) -> Preferences:
    """Read what `save` wrote.

    Raises:
        DataError: it is missing or damaged.
    """
    path = directory / FILE
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = dict(archive)
        about = json.loads(arrays.pop("about").tobytes())
        items = tuple(map(tuple, about["items"]))
        ends = np.cumsum([len(query_items) for query_items in items])[:-1]
        rankings, labels = arrays.pop("rankings", None), arrays.pop("labels", None)
        preferences = Preferences(
            query_ids=tuple(about["query_ids"]),
            items=items,
            judges=tuple(about["judges"]),
            notes=tuple(about["notes"]),
            rankings=() if rankings is None else tuple(np.split(rankings, ends, axis=1)),
            labels=() if labels is None else tuple(np.split(labels, ends)),
            **arrays,
        )
        _check(preferences)
    except (OSError, ValueError, KeyError, TypeError, BadZipFile) as error:
        damaged = f"not whole stored preferences ({error})"
        raise DataError(str(path), damaged, "Ingest the preferences again.") from error
    return preferences


def _check(preferences: Preferences) -> None:
    """Raise ValueError where the parts do not belong together."""
    sizes = np.array([len(query_items) for query_items in preferences.items], np.int64)
    row_sizes = np.repeat(sizes, np.diff(preferences.bounds))  # raises for unlike lengths
    inside = (
        all(((at >= 0) & (at < row_sizes)).all() for at in (preferences.a, preferences.b))
        and ((preferences.value >= 0) & (preferences.value <= 1)).all()
        and (preferences.judge < len(preferences.judges)).all()
    )
    rows = len(row_sizes) == len(preferences.value) == len(preferences.a) == len(preferences.b)
    queries = len(preferences.query_ids) == len(sizes) and preferences.bounds[0] == 0
    if not (inside and rows and queries):
        message = "places beyond their query"
        raise ValueError(message)


def built(
    queries: Sequence[str],
    items: Sequence[Sequence[str]],
    rows: Sequence[tuple[int, int, int, float, float, int, int]] = (),
    judges: Sequence[str] = (),
    **more: tuple[object, ...],
) -> Preferences:
    """Preferences of judgments (query, a, b, value, votes, judge, first), in any order of queries.

    >>> built(["q"], [["x", "y"]], [(0, 1, 0, 1.0, 1.0, -1, -1)]).pairs(0).values[1, 0]
    np.float64(1.0)
    """
    table = np.array(rows, dtype=float).reshape(-1, 7)
    table = table[np.argsort(table[:, 0], kind="stable")]  # queries together, rows as given
    counts = np.bincount(table[:, 0].astype(int), minlength=len(queries))
    a, b, value, votes, judge, shown_first = table[:, 1:].T
    return Preferences(
        query_ids=tuple(queries),
        items=tuple(map(tuple, items)),
        bounds=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        a=a.astype(np.int32),
        b=b.astype(np.int32),
        value=value.copy(),
        votes=votes.copy(),
        judge=judge.astype(np.int32),
        first=shown_first.astype(np.int8),
        judges=tuple(judges),
        **more,  # type: ignore[arg-type]
    )
