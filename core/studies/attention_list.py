"""The weights of one list before and after a change, by JSON: what a resident process works.

The functions here are named in questions to `core.execution.resident` and use the data sets and
rankers that `core.studies.scoring` holds. Maps come back by document, in the order of the initial
ranking, whatever the order shown; arrays travel as base64 of their float32 bytes.
"""

import base64
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module
from typing import Any

import numpy as np
from jaxtyping import Float32, Int64

from core.data.lists import CandidateLists, JudgedLists
from core.errors import ParameterError
from core.perturb.base import disturbed
from core.perturb.registry import PERTURBATIONS, perturbation
from core.rankers.attention_kinds import AttentionRecord
from core.rankers.attention_order import binned, bounds, largest_change
from core.rankers.attention_summary import Summary, summary
from core.seeds import generator
from core.studies import scoring
from core.studies.shown_order import Documents, ShownOrder, document_names

THUMBNAIL = 16
"""Rows and columns of a head's small picture."""

NO_CHANGE = "initial"
ORDERS = ("initial", "shuffled", "label", "id")
MOST_FEATURES = 8
ALLOWED = "an order shown (shuffled:7, -initial, label, id) or a ranking ({{family}}:level:seed)"


@dataclass(frozen=True)
class Change:
    """What happens to a list between two looks at a ranker's weights, as a text that reads back.

    Attributes:
        order: another order shown, prior ranks as they are; None: a family says it.
        family: a perturbation of the initial ranking, or of the order shown.
        level: its strength.
        seed: of the draw.

    >>> str(Change.parse("transpositions:5:2")), Change.parse("shuffled:7").shows_only
    ('transpositions:5:2', True)
    """

    order: ShownOrder | None = None
    family: str = ""
    level: float = 0.0
    seed: int = 0

    @classmethod
    def parse(cls, text: str) -> "Change":
        """The change that a text means.

        Raises:
            ParameterError: the text has another form.
        """
        family, _, rest = text.partition(":")
        if family not in PERTURBATIONS:
            order = ShownOrder.parse(text)
            if order.kind not in ORDERS:
                raise ParameterError("change", text, ALLOWED)
            return cls(order)
        level, _, seed = rest.partition(":")
        try:
            found = cls(None, family, float(level), int(seed or 0))
        except ValueError:
            raise ParameterError("change", text, ALLOWED) from None
        if not perturbation(family, found.level).changes <= {"order", "ranking"}:
            raise ParameterError("change", text, ALLOWED)
        return found

    @property
    def shows_only(self) -> bool:
        """Whether nothing but the order shown changes."""
        if self.order is not None:
            return True
        return "ranking" not in perturbation(self.family, self.level).changes

    def __str__(self) -> str:
        """As `parse` reads it."""
        return str(self.order) if self.order else f"{self.family}:{self.level:g}:{self.seed}"

    def words(self) -> str:
        """The change in words, to follow “the list”.

        >>> Change.parse("transpositions:5").words()
        'under another initial ranking (transpositions, level 5)'
        """
        if self.order is not None:
            return f"shown {self.order.words()}"
        what = "order shown" if self.shows_only else "initial ranking"
        return f"under another {what} ({self.family}, level {self.level:g})"

    def of(self, judged: JudgedLists) -> CandidateLists:
        """The changed list."""
        dataset, lists = judged.dataset, judged.lists
        query = dataset.query_ids[int(lists.queries[0])]
        if self.order is None:
            drawn = generator(self.seed, "attention", query, self.family)
            return disturbed(perturbation(self.family, self.level), judged, drawn).lists
        names = tuple(document_names(dataset.doc_ids, lists.rows))
        labels = tuple(map(float, dataset.labels[lists.rows]))
        order = self.order.arranged(Documents(query, names, labels, (), {}))
        return lists.shown_as(np.array(order, dtype=np.int64))


def overview(item: Mapping[str, Any]) -> dict[str, Any]:
    """Everything about a list's weights but the maps themselves.

    Args:
        item: `store`, `data`, `recipe`, `query`, `ranker` (an artefact key) and `change`, a text
            of `Change`.

    Returns:
        `kinds` (name, blocks, heads), `documents` (names), `labels`, `ranks` (by the initial
        ranking, 0-based), `scores` and `shown` (the document at each position) before and after,
        `heads` (kind, block, head and then MEASURES, null where they mean nothing), `small` (a
        picture of each head of the first kind, by block), `changes` (largest change of a weight
        by kind and block), `reads` (what the ranker declares) and `seconds`.
    """
    began = time.perf_counter()
    judged, before, after, shown = _both(item)
    lists, record = judged.lists, before.record
    numbers = before.numbers
    return {
        "kinds": [[name, record.blocks(name), record.heads(name)] for name in record.kinds],
        "documents": document_names(judged.dataset.doc_ids, lists.rows),
        "labels": before.labels.tolist(),
        "ranks": [before.ranks.tolist(), after.ranks.tolist()],
        "scores": [before.record.scores.tolist(), after.record.scores.tolist()],
        "shown": [np.arange(len(lists.rows)).tolist(), shown.tolist()],
        "heads": [
            [*row, *map(_plain, values)]
            for row, values in zip(numbers.rows, numbers.values.tolist(), strict=True)
        ],
        "small": [packed(picture) for picture in before.small],
        "changes": [
            [kind, block, largest_change(left, right)]
            for (kind, block, left), (_, _, right) in zip(
                record.each(), after.record.each(), strict=True
            )
        ],
        "reads": sorted(scoring.ranker_for(item).reads),
        "seconds": time.perf_counter() - began,
    }


def chosen_map(item: Mapping[str, Any]) -> dict[str, Any]:
    """One map before and after the change, by document.

    Args:
        item: as for `overview`, and `kind`, `block`, `head` (null: the mean over the heads).
    """
    _, before, after, _ = _both(item)
    wanted = item["kind"], item["block"], item["head"]
    return {
        "before": packed(before.record.map_of(*wanted)),
        "after": packed(after.record.map_of(*wanted)),
    }


def pair(item: Mapping[str, Any]) -> dict[str, Any]:
    """Two documents' features, those that differ most first.

    Args:
        item: `store`, `data`, `recipe`, `query` and `documents`, two places in the list.

    Returns:
        `features`: (id, value of the first, value of the second, difference in standard
        deviations of the list), the largest differences first.
    """
    judged = scoring.list_for(item)
    first, second = (judged.lists.rows[place] for place in item["documents"])
    values = judged.dataset.features[judged.lists.rows].astype(np.float64)
    spread = values.std(axis=0)
    left, right = (judged.dataset.features[row].astype(np.float64) for row in (first, second))
    apart = np.divide(left - right, spread, out=np.zeros_like(spread), where=spread > 0)
    most = np.argsort(-np.abs(apart), kind="stable")[:MOST_FEATURES]
    return {
        "features": [
            [judged.dataset.feature_ids[at], float(left[at]), float(right[at]), float(apart[at])]
            for at in most
        ]
    }


def packed(array: Float32[np.ndarray, "*shape"]) -> dict[str, Any]:
    """An array as JSON can carry it at little cost."""
    plain = np.ascontiguousarray(array, dtype="<f4")
    return {"shape": list(plain.shape), "data": base64.b64encode(plain.tobytes()).decode()}


def unpacked(item: Mapping[str, Any]) -> Float32[np.ndarray, "*shape"]:
    """The array that `packed` packed.

    >>> unpacked(packed(np.float32([[1.5, 2.0]]))).tolist()
    [[1.5, 2.0]]
    """
    return np.frombuffer(base64.b64decode(item["data"]), "<f4").reshape(item["shape"])


@dataclass(frozen=True, eq=False)
class _Look:
    """A list as the ranker saw it: its weights by document, and the ranks that it read."""

    record: AttentionRecord
    ranks: Int64[np.ndarray, " docs"]
    labels: Float32[np.ndarray, " docs"]

    @cached_property
    def numbers(self) -> Summary:
        """Every head in numbers; they do not depend on what is compared with."""
        return summary(self.record, self.labels)

    @cached_property
    def small(self) -> list[Float32[np.ndarray, "heads rows columns"]]:
        """A picture of each head of the first kind, by block."""
        kind = self.record.kinds[0]
        return [_small(self.record.block(kind, at)) for at in range(self.record.blocks(kind))]


def _both(item: Mapping[str, Any]) -> tuple[JudgedLists, _Look, _Look, Int64[np.ndarray, " docs"]]:
    """The list, what is seen of it before and after the change, and the order shown after."""
    judged = scoring.list_for(item)
    question = json.dumps(
        {name: item[name] for name in ("store", "data", "recipe", "query", "ranker")},
        sort_keys=True,
    )
    before, _ = _looked(question, scoring.named(item), NO_CHANGE)
    after, shown = _looked(question, scoring.named(item), str(Change.parse(item["change"])))
    return judged, before, after, shown


@lru_cache(maxsize=3)
def _looked(question: str, named: str, change: str) -> tuple[_Look, Int64[np.ndarray, " docs"]]:
    del named  # part of the memory's key alone
    item = json.loads(question)
    judged, maps = scoring.list_for(item), import_module("core.rankers.attention_maps")
    changed = Change.parse(change).of(judged)
    order = maps.document_order(judged.lists, changed)
    seen = maps.recorded(scoring.ranker_for(item), JudgedLists(judged.dataset, changed))
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = changed.ranks[:, 0]
    labels = judged.dataset.labels[judged.lists.rows]
    return _Look(maps.by_document(seen, order), ranks, labels), order


def _small(
    weights: Float32[np.ndarray, "heads docs others"],
) -> Float32[np.ndarray, "heads rows columns"]:
    edges = [bounds(size, THUMBNAIL) for size in weights.shape[1:]]
    return np.stack([binned(head, *edges) for head in weights]).astype(np.float32)


def _plain(value: float) -> float | None:
    return value if np.isfinite(value) else None
