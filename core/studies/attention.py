"""What every head looks at, over a whole test part: the study `attention`.

Each test list is asked for its weights once; kept are, for every query, each head's entropy and
effective neighbours, the mass that relevant documents get beside that of chance, how alike the
heads are, and which induced points next to nobody looks at. Work is stored in parts of CHUNK
lists, so that a killed study goes on where it was.
"""

import json
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float32
from scipy.stats import t as student

from core.data.lists import JudgedLists
from core.errors import ParameterError, UsageError
from core.progress import Progress
from core.rankers.attention_kinds import attends
from core.rankers.attention_summary import DEAD_BELOW, MEASURES, POINT, Row, summary
from core.rankers.base import Ranker
from core.store.keys import key_of
from core.store.manifest import Artefact
from core.studies import underway
from core.studies.result import SUMMARY_COLUMNS, StudyResult
from core.studies.run import TrialRecords, query_ids_of
from core.studies.workbench import Workbench

KIND = "attention"
CHUNK = 64
"""Lists that are stored together."""


@dataclass(frozen=True)
class Part:
    """Some consecutive lists of one ranker.

    Attributes:
        ranker: its label.
        first: the first list.
        last: one past the last.
    """

    ranker: str
    first: int
    last: int


@dataclass(frozen=True)
class Plan:
    """An attention study's full description.

    Attributes:
        rankers: (label, digest) of every ranker.
        lists: digest of the candidate lists.
        initial: the initial rankers' names, for people.
        queries: how many lists, from the first.
        dead_below: a point is dead where it gets less than this times its fair share.
    """

    rankers: tuple[tuple[str, str], ...]
    lists: str
    initial: tuple[str, ...]
    queries: int
    dead_below: float = DEAD_BELOW

    def recipe(self) -> dict[str, Any]:
        """The description as plain JSON values."""
        return {
            "kind": KIND,
            "rankers": [list(pair) for pair in self.rankers],
            "lists": self.lists,
            "initial": list(self.initial),
            "queries": self.queries,
            "dead_below": self.dead_below,
            "measures": list(MEASURES),
        }

    @classmethod
    def of(cls, recipe: Mapping[str, Any]) -> "Plan":
        """The study whose `recipe()` this is."""
        return cls(
            rankers=tuple((label, digest) for label, digest in recipe["rankers"]),
            lists=recipe["lists"],
            initial=tuple(recipe["initial"]),
            queries=recipe["queries"],
            dead_below=recipe["dead_below"],
        )

    def parts(self) -> tuple[Part, ...]:
        """All parts, in the order in which they are worked: every ranker's first lists early.

        >>> plan = Plan((("a", "1"), ("b", "2")), "lists", ("random",), 100)
        >>> [(part.ranker, part.first, part.last) for part in plan.parts()]
        [('a', 0, 64), ('b', 0, 64), ('a', 64, 100), ('b', 64, 100)]
        """
        return tuple(
            Part(label, first, min(first + CHUNK, self.queries))
            for first in range(0, self.queries, CHUNK)
            for label, _ in self.rankers
        )

    def digest_of(self, part: Part) -> str:
        """The key under which a part is stored; other rankers and parts do not enter it."""
        facts = {
            "kind": KIND,
            "ranker": dict(self.rankers)[part.ranker],
            "lists": self.lists,
            "part": [part.first, part.last],
            "dead_below": self.dead_below,
            "measures": list(MEASURES),
        }
        return key_of("trial", facts).digest


def run(
    bench: Workbench,
    names: Sequence[str],
    queries: int | None = None,
    dead_below: int | float = DEAD_BELOW,
) -> Generator[Progress, None, Artefact]:
    """Ask every ranker for the weights of every test list; yields progress, returns the result.

    Args:
        bench: the data and its lists.
        names: SetRanks and DLCMs, as `Workbench.trained` takes them.
        queries: only the first so many test queries; None: all.
        dead_below: a point that gets less than this times its fair share is dead in that head.

    Raises:
        UsageError: a ranker without weights, or none at all.
        ParameterError: a share outside [0, 1].
    """
    if not 0 <= dead_below <= 1:
        raise ParameterError("dead_below", dead_below, "between 0 and 1")
    if not names:
        raise UsageError("the study has no rankers; name at least one SetRank or DLCM")
    rankers: dict[str, Ranker] = {}
    digests = []
    for name in names:
        if not attends(name.partition("@")[0].partition("#")[0]):
            raise UsageError(f"{name} has no attention and no gates: choose a SetRank or a DLCM")
        kept = yield from bench.trained(name)
        rankers[name] = kept.ranker
        digests.append((name, kept.artefact.key.digest))
    base = bench.test_lists(queries)
    lists = key_of("lists", asdict(bench.recipe), (bench.fold.fingerprint,)).digest
    plan = Plan(tuple(digests), lists, bench.recipe.initial, len(base.lists), float(dead_below))
    return (yield from _run(bench, plan, rankers, base))


def _run(
    bench: Workbench, plan: Plan, rankers: Mapping[str, Ranker], base: JudgedLists
) -> Generator[Progress, None, Artefact]:
    key = key_of("study", plan.recipe())
    with bench.store.lock(key):
        found = bench.store.find(key)
        if found is not None:
            return found
        facts, ids = _facts(bench, rankers, base), query_ids_of(base)
        underway.announce(bench.store, key, plan, ids, facts)
        records: TrialRecords = bench.store.records
        parts = plan.parts()
        for done, part in enumerate(parts):
            yield Progress(done, len(parts), f"parts of {CHUNK} lists")
            if records.get(plan.digest_of(part)) is None:
                meta, values = _worked(plan, part, rankers[part.ranker], base)
                records.put(plan.digest_of(part), meta, {"values": values})
        result = from_records(plan.recipe(), records, ids, facts)
        if result is None:
            raise UsageError("the test part has no queries: choose another data set")
        return bench.store.add(key, plan.recipe(), lambda folder: save(result, folder), facts)


def from_records(
    recipe: Mapping[str, Any],
    records: TrialRecords,
    query_ids: Sequence[str],
    facts: Mapping[str, Any],
) -> StudyResult | None:
    """What a study has found so far; queries that are not worked yet are NaN."""
    plan = Plan.of(recipe)
    frames, cubes = [], []
    for label, _ in plan.rankers:
        rows: list[Row] = []
        seconds, cube = 0.0, np.zeros((0, 0, 0), np.float32)
        for part in plan.parts():
            record = records.get(plan.digest_of(part)) if part.ranker == label else None
            if record is None:
                continue
            meta, arrays = record
            if not rows:
                rows = [(name, block, head) for name, block, head in meta["rows"]]
                shape = (len(rows), len(MEASURES), len(query_ids))
                cube = np.full(shape, np.nan, dtype=np.float32)
            cube[:, :, part.first : part.last] = arrays["values"]
            seconds += meta["seconds"]
        if rows:
            frames.append(_trials(label, rows, seconds, float(facts["set_size"])))
            cubes.append(cube)
    if not frames:
        return None
    trials = pd.concat(frames, ignore_index=True)
    return StudyResult(recipe, trials, np.concatenate(cubes), tuple(query_ids), facts)


def save(result: StudyResult, directory: Path) -> None:
    """Write a result as `StudyResult.open` reads it, with a summary of this study's own."""
    np.savez_compressed(directory / "values.npz", values=result.values)
    result.trials.to_json(directory / "trials.json", orient="split", index=False)
    head = {"recipe": result.recipe, "query_ids": result.query_ids, "facts": result.facts}
    (directory / "study.json").write_text(json.dumps(head, indent=1))
    summarised(result).to_json(directory / "summary.json", orient="split", index=False)


def summarised(result: StudyResult) -> pd.DataFrame:
    """The tidy frame: one row a head or point and measure, mean over queries with a 95 % interval.

    The interval is Student's; columns are those of every study, then map, block and head.
    """
    rows = []
    for trial, cube in zip(result.trials.to_dict("records"), result.values, strict=True):
        for measure, values in zip(MEASURES, cube, strict=True):
            found = values[~np.isnan(values)].astype(np.float64)
            if len(found):
                mean, half = interval(found)
                estimate = {"mean": mean, "low": mean - half, "high": mean + half}
                rows.append(trial | {"measure": measure, "n": len(found)} | estimate)
    return pd.DataFrame(rows, columns=[*SUMMARY_COLUMNS, "map", "block", "head"])


def interval(values: np.ndarray) -> tuple[float, float]:
    """The mean and half the width of its 95 % interval by Student's t; 0 for one value.

    >>> mean, half = interval(np.array([1.0, 2.0, 3.0]))
    >>> mean, round(half, 3)
    (2.0, 2.484)
    """
    count = len(values)
    if count < 2:
        return float(values.mean()), 0.0
    half = student.ppf(0.975, count - 1) * values.std(ddof=1) / np.sqrt(count)
    return float(values.mean()), float(half)


def _worked(
    plan: Plan, part: Part, ranker: Ranker, base: JudgedLists
) -> tuple[dict[str, Any], Float32[np.ndarray, "rows measures queries"]]:
    maps, began = import_module("core.rankers.attention_maps"), time.perf_counter()
    found = []
    for at in range(part.first, part.last):
        lists = base.lists.select(np.array([at]))
        record = maps.recorded(ranker, JudgedLists(base.dataset, lists))
        found.append(summary(record, base.dataset.labels[lists.rows], plan.dead_below))
    values = np.stack([one.values for one in found], axis=-1).astype(np.float32)
    rows = [list(row) for row in found[0].rows]
    return {"rows": rows, "seconds": time.perf_counter() - began}, values


def _trials(label: str, rows: Sequence[Row], seconds: float, size: float) -> pd.DataFrame:
    """One row a head or point; the family is its name, as the common columns want it."""
    return pd.DataFrame(
        {
            "ranker": label,
            "family": [name_of(row) for row in rows],
            "level": 0.0,
            "draw": 0,
            "tau": 1.0,
            "set_size": size,
            "seconds": seconds / len(rows),
            "map": [row[0] for row in rows],
            "block": [row[1] for row in rows],
            "head": [row[2] for row in rows],
        }
    )


def name_of(row: Row) -> str:
    """A head or a point in words, counted from 1.

    >>> name_of(("through", 0, 2)), name_of((POINT, 1, 4))
    ('through block 1 head 3', 'point block 2 point 5')
    """
    kind, block, head = row
    return f"{kind} block {block + 1} {'point' if kind == POINT else 'head'} {head + 1}"


def _facts(bench: Workbench, rankers: Mapping[str, Ranker], base: JudgedLists) -> dict[str, Any]:
    return {
        "data": bench.name,
        "reads": {label: sorted(ranker.reads) for label, ranker in rankers.items()},
        "queries": len(base.lists),
        "candidates": int(base.lists.offsets[-1]),
        "set_size": float(base.lists.lengths.mean()) if len(base.lists) else 0.0,
        "lists": asdict(bench.recipe),
        "preset": bench.preset,
    }
