"""Result of a study: a cube of per-query values, and a frame that describes its slices."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, overload

import numpy as np
import pandas as pd
from jaxtyping import Float, Float32
from safetensors.numpy import save_file

from shuffleproof.core.metrics.measure import Measure, is_measure, is_share, over_queries
from shuffleproof.core.metrics.relevance import LEAST_OF_GEOMETRIC, mean_of
from shuffleproof.core.metrics.significance import bootstrap_interval
from shuffleproof.core.rankers.name import FILES, remember_file_name
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.keys import SHOWN_DIGITS
from shuffleproof.core.store.manifest import MANIFEST
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.conventions import derive_values
from shuffleproof.core.words import counted

CONFIDENCE = 0.95
RESAMPLES = 2000
SUMMARY = (
    tables.RANKER,
    tables.Column("family", "Family"),
    tables.Column("level", "Level", tables.LEVEL),
    tables.Column("tau", "τ to original", tables.TAU, "Mean Kendall τ-b to the original order."),
    tables.Column("set_size", "Documents", ".1f", "Of a list, mean."),
    tables.Column("measure", "Measure"),
    tables.Column("mean", "Mean", tables.VALUE, "Over queries, after the mean over draws."),
    *tables.bounds(),
    tables.QUERIES,
)
"""Columns of a summary."""


TIMES = "times.json"
"""File of measured times. Only this file differs when the same study is run again."""
CLOCKED = ("seconds", "training_seconds")
OWN_PROCESS = "milliseconds_in_own_process"
"""Fact with the times of rankers that score in processes of their own."""

CALL_SECONDS = "call_seconds"
"""Fact with the seconds of all calls of each reranker."""

CLOCKED_FACTS = (
    "training_seconds", "effort", "milliseconds_a_list", OWN_PROCESS, CALL_SECONDS,
)  # fmt: skip

STORED_FILE = re.compile(rf"\b(?:{'|'.join(FILES)})#(?P<digits>[0-9a-f]+)")
"""Label of a ranker imported from a file."""

AnyResult = TypeVar("AnyResult", bound="StudyResult")


@dataclass(frozen=True, eq=False)
class StudyResult:
    """Stored result of a study.

    Attributes:
        recipe: description of the study.
        trials: one row per trial: ranker, family, level, draw, tau, set_size, seconds.
        values: per-query values; NaN where the measure's convention drops the query.
        query_ids: one id per query.
        facts: further facts (proofs, seconds, data set name).
        files: arrays to save with it, by name of a safetensors file; `open` does not load them.
        directory: where it was opened, if it was.
    """

    recipe: Mapping[str, Any]
    trials: pd.DataFrame
    values: Float32[np.ndarray, "trials measures queries"]
    query_ids: tuple[str, ...]
    facts: Mapping[str, Any]
    files: Mapping[str, Mapping[str, np.ndarray]] = field(default_factory=dict)
    directory: Path | None = None

    @classmethod
    def of_rows(
        cls,
        recipe: Mapping[str, Any],
        rows: Sequence[tuple[Mapping[str, Any], np.ndarray]],
        query_ids: Sequence[str],
        facts: Mapping[str, Any],
    ) -> "StudyResult | None":
        """Result of rows, each its trial and its values [measures, queries]; None without rows."""
        if not rows:
            return None
        trials, values = zip(*rows, strict=True)
        cube = np.stack(values).astype(np.float32)
        return cls(recipe, pd.DataFrame([*trials]), cube, tuple(query_ids), facts)

    @property
    def measures(self) -> tuple[str, ...]:
        """Requested measures of the study, as text."""
        return tuple(self.recipe["measures"])

    @property
    def stored_measures(self) -> tuple[str, ...]:
        """Measures along the second axis of `values`."""
        return tuple(self.recipe.get("stored", self.recipe["measures"]))

    @property
    def points(self) -> list[tuple[str, str, float]]:
        """Rankers, families and levels with trials, in their order."""
        names = (self.trials[column].map(str) for column in ("ranker", "family"))
        levels = self.trials["level"].map(float)
        return list(dict.fromkeys(zip(*names, levels, strict=True)))

    def rankers_at(self, family: str, level: int | float) -> list[str]:
        """Rankers with trials of a family at a level, in their order."""
        return [ranker for ranker, *point in self.points if point == [family, level]]

    def __repr__(self) -> str:
        """Kind, data, sizes and stored name."""
        place = "" if self.directory is None else f", {self.directory.name}"
        data = f" of {self.facts['data']}" if "data" in self.facts else ""
        sizes = f"{counted(len(self.query_ids), 'query')}, {counted(len(self.trials), 'trial')}"
        return f"{type(self).__name__}({self.recipe.get('kind', 'study')}{data}: {sizes}{place})"

    @overload
    def per_query(self) -> pd.DataFrame: ...

    @overload
    def per_query(
        self, ranker: str, family: str, level: int | float, measure: str
    ) -> Float32[np.ndarray, " queries"]: ...

    def per_query(
        self,
        ranker: str | None = None,
        family: str = "",
        level: int | float = 0.0,
        measure: str = "",
    ) -> Any:
        """Value of a point per query, mean over the draws; without a point, all values.

        Args:
            ranker: its label; None: return the frame of `every_value`.
            family: of the point.
            level: of the point.
            measure: one that is stored, or follows from stored ones.
        """
        if ranker is None:
            return self.every_value()
        return self._over_draws(self._rows(ranker, family, level), measure)

    def draws(
        self, ranker: str, family: str, level: float, measure: str
    ) -> Float32[np.ndarray, "draws queries"]:
        """Values of a point per draw and query."""
        return self._values(self._rows(ranker, family, level), measure)

    def summary(self, measures: Sequence[str] | None = None) -> pd.DataFrame:
        """Tidy frame: one row per ranker, family, level and measure, with a 95 % interval.

        Args:
            measures: by default the requested ones; others if they follow from stored values
                (`core.studies.conventions`).

        The mean is over queries, after the mean over draws. The interval is a bootstrap over
        queries (BCa), with fixed draws. `tau` is the actual mean Kendall τ-b.
        """
        points = self.trials.groupby(["ranker", "family", "level"], sort=False)
        rows = []
        for (ranker, family, level), group in points:
            rows_of_point = group.index.to_numpy()
            facts = {
                "ranker": ranker, "family": family, "level": level,
                "tau": group["tau"].mean(), "set_size": group["set_size"].mean(),
            }  # fmt: skip
            rows += [
                facts | _estimate(measure, self._over_draws(rows_of_point, measure))
                for measure in measures or self.measures
            ]
        return pd.DataFrame(rows, columns=tables.keys(SUMMARY))

    def save(self, directory: Path, summary: pd.DataFrame | None = None) -> None:
        """Write values.npz (compressed), trials, facts, times and files into an empty directory.

        Args:
            directory: the target.
            summary: to write instead of `summary()`.
        """
        np.savez_compressed(directory / "values.npz", values=self.values)
        facts = dict(self.facts)
        times = {
            "trials": {name: self.trials[name].tolist() for name in CLOCKED if name in self.trials},
            "facts": {name: facts.pop(name) for name in CLOCKED_FACTS if name in facts},
        }
        (directory / TIMES).write_text(json.dumps(times))
        trials = self.trials.drop(columns=[*times["trials"]])
        trials.to_json(directory / "trials.json", orient="split", index=False)
        head = {"recipe": self.recipe, "query_ids": self.query_ids, "facts": facts}
        (directory / "study.json").write_text(json.dumps(head, indent=1))
        summary = self.summary() if summary is None else summary
        summary.to_json(directory / "summary.json", orient="split", index=False)
        for name, arrays in self.files.items():
            save_file(dict(arrays), directory / name)

    @classmethod
    def open(cls: type[AnyResult], directory: Path) -> AnyResult:  # noqa: PYI019 (checked at run time, where Self means nothing)
        """Open a stored result."""
        text = (directory / "study.json").read_text()
        head, times = json.loads(text), _times(directory)
        _learn_file_names(text, directory.parent)
        return cls(
            recipe=head["recipe"],
            trials=_frame(directory / "trials.json").assign(**times["trials"]),
            values=np.load(directory / "values.npz")["values"],
            query_ids=tuple(head["query_ids"]),
            facts=head["facts"] | times["facts"],
            directory=directory,
        )

    def summary_under(self, measures: Sequence[str] = ()) -> pd.DataFrame:
        """Summary of these measures; by default the stored summary, if there is one."""
        if measures or self.directory is None:
            return self.summary(measures or None)
        return stored_summary(self.directory)

    def every_value(self, measures: Sequence[str] = ()) -> pd.DataFrame:
        """Values of all queries under all draws, for statistics outside this program.

        Args:
            measures: by default the requested ones.

        Returns:
            Columns ranker, family, level, draw, query, measure and value, one row each; NaN where
            the measure leaves the query out.
        """
        trials = self.trials[["ranker", "family", "level", "draw"]]
        keys = trials.loc[trials.index.repeat(len(self.query_ids))].reset_index(drop=True)
        keys["query"] = list(self.query_ids) * len(trials)
        all_rows = np.arange(len(trials))
        return pd.concat(
            [
                keys.assign(measure=measure, value=self._values(all_rows, measure).ravel())
                for measure in measures or self.measures
            ],
            ignore_index=True,
        )

    def _rows(self, ranker: str, family: str, level: int | float) -> Any:
        return self._places.get((ranker, family, level), np.arange(0))

    @cached_property
    def _places(self) -> dict[Any, Any]:
        """Rows of every point."""
        return self.trials.groupby(["ranker", "family", "level"], sort=False).indices

    def _values(self, rows: Any, measure: str) -> Float32[np.ndarray, "draws queries"]:
        return derive_values(measure, self.stored_measures, np.asarray(self.values[rows]))

    def _over_draws(self, rows: Any, measure: str) -> Float32[np.ndarray, " queries"]:
        return self._values(rows, measure).mean(axis=0, dtype=np.float64).astype(np.float32)


def stored_summary(directory: Path) -> pd.DataFrame:
    """Summary that was stored with a result; nothing is recomputed."""
    frame = _frame(directory / "summary.json")
    numbers = ["level", "tau", "set_size", "mean", "low", "high"]
    return frame.astype(dict.fromkeys(numbers, float))  # an undefined mean is null in JSON


def _times(directory: Path) -> dict[str, dict[str, Any]]:
    """Measured times; empty for old results, which store them with the other facts."""
    try:
        return json.loads((directory / TIMES).read_text())
    except FileNotFoundError:
        return {"trials": {}, "facts": {}}


def _frame(path: Path) -> pd.DataFrame:
    parts = json.loads(path.read_text())
    return pd.DataFrame(parts["data"], columns=parts["columns"])


def _estimate(measure: str, values: Float32[np.ndarray, " queries"]) -> dict[str, Any]:
    defined = values[~np.isnan(values)].astype(np.float64)
    mean = mean_of(Measure.parse(measure), values) if is_measure(measure) else known_mean(values)
    low = high = mean
    shares = is_share(measure)
    if len(defined) > 1 and (shares or np.ptp(defined) > 0):
        over = over_queries(measure)
        scaled = np.log(np.maximum(defined, LEAST_OF_GEOMETRIC)) if over == "geometric" else defined
        low, high = bootstrap_interval(
            scaled, generator(0, "summary"), CONFIDENCE, RESAMPLES,
            shares=shares and over == "mean",
        )  # fmt: skip
        # An interval of the mean of logarithms, or of a mean, becomes that of the measure
        if over == "geometric":
            low, high = np.exp(low), np.exp(high)
        elif over == "sum":
            low, high = low * len(defined), high * len(defined)
    numbers = {"mean": float(mean), "low": float(low), "high": float(high)}
    return {"measure": measure, "n": len(defined)} | numbers


Values = Float[np.ndarray, " queries"]


def known_mean(values: Values) -> float:
    """Mean over the queries with a value; NaN without any."""
    defined = values[~np.isnan(values)]
    return float(defined.mean(dtype=np.float64)) if len(defined) else float("nan")


def by_query(  # noqa: PLR0913 (each argument is one fact of the columns)
    query_ids: Sequence[str],
    before: tuple[str, Values],
    after: tuple[str, Values],
    change: str = "change",
    *,
    more: Mapping[str, Any] | None = None,
    gains_first: bool = False,
) -> pd.DataFrame:
    """Changes of every query, the largest loss first; queries without a value are left out.

    Args:
        query_ids: of the queries.
        before: name and values of a column.
        after: name and values of a column.
        change: name of the column of `after` minus `before`.
        more: other columns.
        gains_first: True to sort by the greatest gain.

    Returns:
        Columns query, before, after, change and more.

    >>> before, after = np.array([0.5, 0.5, 0.5]), np.array([0.75, 0.25, np.nan])
    >>> by_query(["a", "b", "c"], ("was", before), ("is", after)).to_dict("list")
    {'query': ['b', 'a'], 'was': [0.5, 0.5], 'is': [0.25, 0.75], 'change': [-0.25, 0.25]}
    """
    columns = {name: values.astype(np.float64) for name, values in (before, after)}
    columns[change] = columns[after[0]] - columns[before[0]]
    frame = pd.DataFrame({"query": query_ids, **columns, **(more or {})})
    defined = frame[frame[change].notna()]
    return defined.sort_values(change, ascending=not gains_first, kind="stable", ignore_index=True)


def change_by_query(
    query_ids: Sequence[str], before: Values, draws: Float[np.ndarray, "draws queries"]
) -> pd.DataFrame:
    """Changes of every query by the draws of a perturbation, the largest loss first.

    Returns:
        Columns query, unchanged, perturbed (the mean over the draws), change, worst_draw (the
        draw with the lowest value); queries without a value are left out.
    """
    # `nanargmin` would fail for queries without any value
    worst = np.where(np.isnan(draws), np.inf, draws).argmin(axis=0)
    mean = draws.mean(axis=0, dtype=np.float64)
    return by_query(
        query_ids, ("unchanged", before), ("perturbed", mean), more={"worst_draw": worst}
    )


def most_damaged(
    before: Values,
    after: Mapping[Any, Values],
    query_ids: Sequence[str],
    *,
    every: bool = False,
) -> pd.DataFrame:
    """Changes as a frame, rows sorted by their mean, rising; rows without values are left out.

    Args:
        before: values to compare with, by query.
        after: values by column and query.
        query_ids: of the queries; the frame's index.
        every: True to include rows without values, last.

    >>> before, after = np.float32([0.5, 0.5, np.nan]), np.float32([0.75, 0.25, np.nan])
    >>> most_damaged(before, {240: after}, ["a", "b", "c"]).to_dict("index")
    {'b': {240: -0.25}, 'a': {240: 0.25}}
    """
    start = before.astype(np.float64)
    columns = {name: values.astype(np.float64) - start for name, values in after.items()}
    frame = pd.DataFrame(columns, index=pd.Index(list(query_ids), name="query"))
    rows = frame if every else frame.dropna(how="all")
    return rows.iloc[np.argsort(rows.mean(axis=1).to_numpy(), kind="stable")]


def _learn_file_names(study: str, artefacts: Path) -> None:
    """Register the file names of imported rankers that a study names by digits.

    Args:
        study: its description, as text.
        artefacts: folder of the study and its rankers; a missing ranker remains as digits.
    """
    for digits in set(STORED_FILE.findall(study)):
        for manifest in artefacts.glob(f"ranker-{digits[:SHOWN_DIGITS]}*/{MANIFEST}"):
            head = json.loads(manifest.read_text(encoding="utf-8"))
            remember_file_name(head["digest"], head["recipe"]["ranker"]["file"])
