"""What every head looks at, over a whole test part: the study `attention`.

Each test list is asked for its weights once; kept are, for every query, each head's entropy and
effective neighbours, the mass that relevant documents get beside that of chance, how alike the
heads are, and which induced points next to nobody looks at. Work is stored in parts of CHUNK
lists, so that a killed study goes on where it was.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float32, Int64

from shuffleproof.core.answers.shown_order import Documents, ShownOrder, document_names
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import ParameterError, UsageError
from shuffleproof.core.metrics.significance import t_interval
from shuffleproof.core.numerals import number, whole
from shuffleproof.core.perturb.base import Change as Touched
from shuffleproof.core.perturb.base import disturb, origins, sources
from shuffleproof.core.perturb.registry import ATTACK, PERTURBATIONS, perturbation
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.attention import measures
from shuffleproof.core.rankers.attention.kinds import AttentionRecord, attends
from shuffleproof.core.rankers.attention.order import bin_means, bounds, largest_change
from shuffleproof.core.rankers.attention.summary import (
    MEASURES,
    POINT,
    Row,
    Summary,
    summary,
)
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.cells import Cell, CellPlan, by_cells
from shuffleproof.core.studies.kinds.attention.question import Attention
from shuffleproof.core.studies.result import SUMMARY, StudyResult
from shuffleproof.core.studies.run import query_ids_of
from shuffleproof.core.studies.study import CellResult, Trial
from shuffleproof.core.studies.workbench import OpenRankers, Workbench, digests_of

NO_CHANGE = "initial"
ORDERS = ("initial", "shuffled", "label", "id")
ALLOWED = (
    "an order shown (shuffled:7, -initial, label, id) or a perturbation of ranking, order, set or "
    "features (as feature-noise:0.5:1, the last number the draw)"
)


WORDS: Mapping[Touched, str] = {
    "order": "order shown", "ranking": "initial ranking", "set": "set of documents",
    "features": "features",
}  # fmt: skip
"""What is touched, the strongest last: a change of the ranking changes the order shown too."""


@dataclass(frozen=True)
class ListEdit:
    """A change of one list.

    Attributes:
        order: another order shown, prior ranks as they are; None: a family says it.
        family: a perturbation of the order shown, the initial ranking, the set or the features.
        level: its strength.
        seed: of the draw.

    >>> str(ListEdit.parse("transpositions:5:2")), ListEdit.parse("shuffled:7").change_name
    ('transpositions:5:2', 'order shown')
    """

    order: ShownOrder | None = None
    family: str = ""
    level: float = 0.0
    seed: int = 0

    @classmethod
    def parse(cls, text: str) -> "ListEdit":
        """The change that a text means.

        Raises:
            ParameterError: the text has another form, or means labels or an attack.
        """
        before, plus, last = text.rpartition("+")
        name, _, parameters = last.partition(":")
        family = before + plus + name
        if name not in PERTURBATIONS:
            order = ShownOrder.parse(text)
            if order.kind not in ORDERS:
                raise ParameterError("change", text, ALLOWED)
            return cls(order)
        level, _, seed = parameters.partition(":")
        try:
            edit = cls(None, family, number(level), whole(seed or "0"))
        except ValueError:
            raise ParameterError("change", text, ALLOWED) from None
        if not edit.touches <= set(WORDS) or ATTACK in family:
            raise ParameterError("change", text, ALLOWED)
        return edit

    @property
    def touches(self) -> frozenset[Touched]:
        """What of the input changes."""
        if self.order is not None:
            return frozenset({"order"})
        return perturbation(self.family, self.level).changes

    @property
    def change_name(self) -> str:
        """The name of what changes, in words; of several the one that says most."""
        return [words for name, words in WORDS.items() if name in self.touches][-1]

    def __str__(self) -> str:
        """As `parse` reads it."""
        return str(self.order) if self.order else f"{self.family}:{self.level:g}:{self.seed}"

    def words(self) -> str:
        """The change in words, to follow “the list”.

        >>> ListEdit.parse("transpositions:5").words()
        'under another initial ranking (transpositions, level 5)'
        >>> ListEdit.parse("feature-noise:0.5").words()
        'with other features (feature-noise, level 0.5)'
        """
        if self.order is not None:
            return f"shown {self.order.words()}"
        detail = f"({self.family}, level {self.level:g})"
        if "set" in self.touches:
            and_features = " and features" if "features" in self.touches else ""
            return f"with another {WORDS['set']}{and_features} {detail}"
        if "features" in self.touches:
            return f"with other {WORDS['features']} {detail}"
        return f"under another {self.change_name} {detail}"

    def of(self, judged: JudgedLists) -> JudgedLists:
        """The changed list, with the data set that it is of."""
        dataset, lists = judged.dataset, judged.lists
        query = dataset.query_ids[int(lists.queries[0])]
        if self.order is None:
            randomness = generator(self.seed, "attention", query, self.family)
            return disturb(perturbation(self.family, self.level), judged, randomness)
        names = tuple(document_names(dataset.doc_ids, lists.rows))
        labels = tuple(map(float, dataset.labels[lists.rows]))
        order = self.order.arranged(Documents(query, names, labels, (), {}))
        return replace(judged, lists=lists.shown_as(np.array(order, dtype=np.int64)))


def offered_families() -> tuple[str, ...]:
    """Every single family that can be looked at, each at a level from the middle of its own.

    >>> [text for text in offered_families() if "noise" in text]
    ['score-noise:0.5:0', 'feature-noise:0.25:0']
    """
    changes = []
    for family, entry in PERTURBATIONS.items():
        levels = [level for level in entry.default_levels if level]
        text = f"{family}:{levels[len(levels) // 2 - (len(levels) % 2 == 0)]:g}:0"
        if entry.at(levels[0]).changes <= set(WORDS) and family != ATTACK:
            changes.append(text)
    return tuple(changes)


CHUNK = 64
"""Lists that are stored together."""


@dataclass(frozen=True)
class Plan(CellPlan):
    """An attention study's full description.

    Attributes:
        rankers: (label, digest) of every ranker.
        lists: digest of the candidate lists.
        initial: the initial rankers' names, for people.
        queries: how many lists, from the first.
        dead_below: a point is dead where it gets less than this times its fair share.
    """

    kind: str = field(default=Attention.kind, init=False)
    rankers: tuple[tuple[str, str], ...]
    lists: str
    initial: tuple[str, ...]
    queries: int
    dead_below: float
    measures: tuple[str, ...] = field(default=MEASURES, init=False)

    def cells(self) -> tuple[Cell, ...]:
        """All parts, in the order in which they are worked: every ranker's first lists early.

        >>> plan = Plan((("a", "1"), ("b", "2")), "lists", ("random",), 100, 0.1)
        >>> [(cell.row.ranker, plan.lists_of(cell.part)) for cell in plan.cells()]
        [('a', (0, 64)), ('b', (0, 64)), ('a', (64, 100)), ('b', (64, 100))]
        """
        return tuple(
            Cell(Trial(label, self.kind, 0.0, 0), part, self._digest(digest, part))
            for part in range(-(-self.queries // CHUNK))
            for label, digest in self.rankers
        )

    def lists_of(self, part: int) -> tuple[int, int]:
        """The first list of a part, and one past its last."""
        return part * CHUNK, min((part + 1) * CHUNK, self.queries)

    def assemble(
        self, found: Mapping[str, CellResult], query_ids: Sequence[str], facts: Mapping[str, Any]
    ) -> StudyResult | None:
        """What has been found so far; queries that are not worked yet are NaN."""
        frames, cubes = [], []
        for label, _ in self.rankers:
            parts = [
                (cell.part, *found[cell.digest])
                for cell in self.cells()
                if cell.row.ranker == label and cell.digest in found
            ]
            if not parts:
                continue
            rows: list[Row] = [tuple(row) for row in parts[0][1]["rows"]]
            cube = np.full((len(rows), len(MEASURES), len(query_ids)), np.nan, dtype=np.float32)
            for part, _, arrays in parts:
                cube[:, :, slice(*self.lists_of(part))] = arrays["values"]
            seconds = sum(facts_of_part["seconds"] for _, facts_of_part, _ in parts)
            frames.append(_trials(label, rows, seconds, float(facts["set_size"])))
            cubes.append(cube)
        if not frames:
            return None
        trials = pd.concat(frames, ignore_index=True)
        return StudyResult(self.recipe(), trials, np.concatenate(cubes), tuple(query_ids), facts)

    def _digest(self, ranker: str, part: int) -> str:
        """The key under which a part is stored; other rankers and parts do not enter it."""
        facts = {
            "kind": self.kind,
            "ranker": ranker,
            "lists": self.lists,
            "part": list(self.lists_of(part)),
            "dead_below": self.dead_below,
            "measures": list(MEASURES),
        }
        return key_of("trial", facts).digest


def run(workbench: Workbench, question: Attention) -> Generator[Progress, None, Artefact]:
    """Train what is missing, ask every ranker for the weights of every test list.

    Raises:
        UsageError: a ranker without weights, or none at all.
    """
    for name in question.rankers:
        if not attends(RankerName.parse(name).base):
            raise UsageError(f"{name} has no attention and no gates: choose a SetRank or a DLCM")
    identified = yield from workbench.identified_all(question.rankers)
    rankers = OpenRankers(identified)
    base = workbench.test_lists(question.queries)
    plan = Plan(
        rankers=digests_of(identified),
        lists=workbench.lists_digest,
        initial=workbench.recipe.initial,
        queries=len(base.lists),
        dead_below=float(question.dead_below),
    )
    ids = query_ids_of(base)
    work = by_cells(
        plan,
        workbench.store.records,
        ids,
        lambda cell: _compute(plan, cell, rankers[cell.row.ranker], base),
        unit=f"parts of {CHUNK} lists",
    )

    def save(result: StudyResult, directory: Path) -> None:
        result.save(directory, summary_frame(result))

    def facts() -> dict[str, Any]:
        return workbench.facts(base, rankers) | {"set_size": base.lists.mean_length}

    return (yield from workbench.run(plan, ids, facts, work, save=save))


def summary_frame(result: StudyResult) -> pd.DataFrame:
    """The tidy frame: one row a head or point and measure, mean over queries with a 95 % interval.

    The interval is Student's; columns are those of every study, then map, block and head.
    """
    rows = []
    for trial, cube in zip(result.trials.to_dict("records"), result.values, strict=True):
        for measure, values in zip(MEASURES, cube, strict=True):
            defined = values[~np.isnan(values)].astype(np.float64)
            if len(defined):
                mean = float(defined.mean())
                low, high = t_interval(defined) if len(defined) > 1 else (mean, mean)
                estimate = {"mean": mean, "low": low, "high": high}
                rows.append(trial | {"measure": measure, "n": len(defined)} | estimate)
    return pd.DataFrame(rows, columns=[*tables.keys(SUMMARY), "map", "block", "head"])


def _compute(
    plan: Plan, cell: Cell, ranker: Ranker, base: JudgedLists
) -> Generator[Progress, None, CellResult]:
    from shuffleproof.core.rankers.attention.maps import record_maps  # noqa: PLC0415 (torch, for who looks)

    summaries = []
    for at in range(*plan.lists_of(cell.part)):
        lists = base.lists.select(np.array([at]))
        record = record_maps(ranker, JudgedLists(base.dataset, lists))
        summaries.append(summary(record, base.dataset.labels[lists.rows], plan.dead_below))
    values = np.stack([list_summary.values for list_summary in summaries], axis=-1).astype(
        np.float32
    )
    yield from ()
    return {"rows": [list(row) for row in summaries[0].rows]}, {"values": values}


def _trials(label: str, rows: Sequence[Row], seconds: float, size: float) -> pd.DataFrame:
    """One row a head or point; the family is its name, as the common columns want it."""
    maps, blocks, heads = zip(*rows, strict=True)
    return pd.DataFrame(
        {
            "ranker": label, "family": [name_of(row) for row in rows], "level": 0.0, "draw": 0,
            "tau": 1.0, "set_size": size, "seconds": seconds / len(rows),
            "map": maps, "block": blocks, "head": heads,
        }
    )  # fmt: skip


def name_of(row: Row) -> str:
    """A head or a point in words, counted from 1.

    >>> name_of(("through", 0, 2)), name_of((POINT, 1, 4))
    ('through block 1 head 3', 'point block 2 point 5')
    """
    kind, block, head = row
    return f"{kind} block {block + 1} {'point' if kind == POINT else 'head'} {head + 1}"


THUMBNAIL = 16
"""Rows and columns of a head's small picture."""


@dataclass(frozen=True, eq=False)
class AttendedList:
    """What a ranker made of a list.

    Attributes:
        record: the weights; NaN of a document that is not there.
        ranks: under the initial ranking that it read; −1 of a document that is not there.
        labels: of the documents.
        shown: the document at each position, those that are not there last.
        came: how many documents it saw that the list as it is does not hold.
    """

    record: AttentionRecord
    ranks: Int64[np.ndarray, " docs"]
    labels: Float32[np.ndarray, " docs"]
    shown: Int64[np.ndarray, " docs"]
    came: int

    @cached_property
    def numbers(self) -> Summary:
        """Every head in numbers."""
        return summary(self.record, self.labels)

    @cached_property
    def small(self) -> list[Float32[np.ndarray, "heads rows columns"]]:
        """A picture of each head of the first kind, by block."""
        kind = self.record.kinds[0]
        if kind != "through":
            return [_thumbnails(weights) for weights in self.record.weights[kind]]
        spread, gather = (self.record.weights[step] for step in ("spread", "gather"))
        return [  # the mean of a product is the product of the means
            measures.through(
                _thumbnails(scattered, of_points=-1), _thumbnails(gathered, of_points=-2)
            )
            for scattered, gathered in zip(spread, gather, strict=True)
        ]

    def changes(self, after: "AttendedList") -> list[tuple[str, int, float]]:
        """(kind, block, largest change of a weight) of all that the ranker computed."""
        return [
            (kind, block, largest_change(left, right))
            for (kind, block, left), (_, _, right) in zip(
                self.record.network_maps(), after.record.network_maps(), strict=True
            )
        ]


def attention_after(ranker: Ranker, judged: JudgedLists, change: ListEdit) -> AttendedList:
    """Look at one list after a change.

    Raises:
        UsageError: the ranker has no weights to show.
    """
    from shuffleproof.core.rankers.attention.maps import by_document, record_maps  # noqa: PLC0415 (torch)

    changed = change.of(judged)
    places = sources(judged.lists, changed.lists.offsets, origins(judged, changed))
    remaining, docs = places[places >= 0], len(judged.lists.rows)
    ranks = np.full(docs, -1, dtype=np.int64)
    ranks[remaining] = changed.lists.ranks[places >= 0, 0]
    return AttendedList(
        by_document(record_maps(ranker, changed), places, docs),
        ranks,
        judged.dataset.labels[judged.lists.rows],
        np.concatenate([remaining, np.flatnonzero(ranks < 0)]),
        len(places) - len(remaining),
    )


def _thumbnails(
    weights: Float32[np.ndarray, "heads rows columns"], of_points: int | None = None
) -> Float32[np.ndarray, "heads _rows _columns"]:
    """Means of cells; an axis of induced points stays as it is."""
    edges = [
        bounds(size, size if axis == of_points else THUMBNAIL)
        for axis, size in zip((-2, -1), weights.shape[1:], strict=True)
    ]
    return np.stack([bin_means(head, *edges) for head in weights]).astype(np.float32)
