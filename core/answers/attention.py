"""The attention weights of one list before and after a change, as the resident process gives them.

`core.execution.resident` calls the functions here by name. They use the data sets and rankers that
`answers.scoring` holds. Maps are by document, in the order of the initial ranking, whatever the
input order; arrays travel as base64 of their float32 bytes.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float32, Int64

from shuffleproof.core.answers import scoring
from shuffleproof.core.answers.document_changes import DocumentChanges
from shuffleproof.core.answers.list_edit import ListEdit
from shuffleproof.core.answers.shown_order import document_names
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.numerals import finite
from shuffleproof.core.perturb.base import origins, sources
from shuffleproof.core.rankers.attention import measures
from shuffleproof.core.rankers.attention.kinds import AttentionRecord, attends
from shuffleproof.core.rankers.attention.order import bin_means, bounds, largest_change
from shuffleproof.core.rankers.attention.summary import Summary, summary
from shuffleproof.core.rankers.base import Ranker

NO_CHANGE = "initial"
MOST_FEATURES = 8
MOST_ATTENDED = 5
THUMBNAIL = 16
"""Rows and columns of a head's small picture."""


@dataclass(frozen=True, eq=False)
class AttendedList:
    """The attention weights of a ranker for one list.

    Attributes:
        record: the weights; NaN of a document that is not there.
        ranks: under the initial ranking that it read; −1 of a document that is not there.
        labels: of the documents.
        shown: the document at each position, those that are not there last.
        came: number of documents it saw that are not in the original list.
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
    """Means of cells; an axis of induced points is not pooled."""
    edges = [
        bounds(size, size if axis == of_points else THUMBNAIL)
        for axis, size in zip((-2, -1), weights.shape[1:], strict=True)
    ]
    return np.stack([bin_means(head, *edges) for head in weights]).astype(np.float32)


def overview(item: Mapping[str, Any]) -> dict[str, Any]:
    """Kinds of maps, documents, scores and the effect of the change, without the maps.

    Args:
        item: `store`, `data`, `recipe`, `query`, `ranker` (a key) and `change`, a text of `Change`.

    Returns:
        `kinds` (name, blocks, heads), `documents` (names), `labels`; before and after: `ranks`
        (initial ranking, 0-based), `scores`, `shown` (document at each position); `changes`
        (largest change of a weight by kind and block); `reads` of the ranker; `came` (added
        documents). A removed document has rank −1 and score NaN afterwards, and is shown last.
    """
    judged, (before, after) = scoring.list_for(item), _looks(item)
    lists, record = judged.lists, before.record
    return {
        "kinds": [[name, record.blocks(name), record.heads(name)] for name in record.kinds],
        "documents": document_names(judged.dataset.doc_ids, lists.rows),
        "labels": before.labels.tolist(),
        "ranks": [before.ranks.tolist(), after.ranks.tolist()],
        "scores": [before.record.scores.tolist(), after.record.scores.tolist()],
        "shown": [before.shown.tolist(), after.shown.tolist()],
        "changes": before.changes(after),
        "reads": sorted(scoring.ranker_for(item).reads),
        "came": after.came,
    }


def heads(item: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers and small pictures of every head, before a change.

    Args:
        item: as for `overview`; there is no change.

    Returns:
        `numbers` (kind, block, head and then MEASURES, null where they mean nothing) and `small`
        (a picture of each head of the first kind, by block).
    """
    look = _look(item, NO_CHANGE)
    rows = zip(look.numbers.rows, look.numbers.values.tolist(), strict=True)
    return {
        "numbers": [[*row, *finite(values)] for row, values in rows],
        "small": [pack_array(picture) for picture in look.small],
    }


def chosen_map(item: Mapping[str, Any]) -> dict[str, Any]:
    """One map before and after the change, by document.

    Args:
        item: as for `overview`, and `kind`, `block`, `head` (null: the mean over the heads).
    """
    place = item["kind"], item["block"], item["head"]
    sides = zip(("before", "after"), _looks(item), strict=True)
    return {side: pack_array(look.record.map_of(*place)) for side, look in sides}


def attended(item: Mapping[str, Any]) -> dict[str, list[list[list[float]]]]:
    """The documents that each document attends to most, under one input order.

    Args:
        item: `store`, `data`, `recipe`, `query`, `rankers` (keys), `order`, the document shown at
            each position of the unchanged list, and `changes`, texts of `DocumentChanges`.

    Returns:
        By ranker with weights: for each document up to MOST_ATTENDED pairs of another document and
        its weight, the largest first. Weights are of the ranker's first map: first block, mean of
        the heads.
    """
    from shuffleproof.core.rankers.attention.maps import by_document, record_maps  # noqa: PLC0415 (torch)

    judged, changes = scoring.list_for(item), DocumentChanges.parse(item["changes"])
    count = len(judged.lists.rows)
    order = np.array(changes.arranged(item["order"], count), dtype=np.int64)
    shown = changes.of(judged, item["order"])
    found = {}
    for key in item["rankers"]:
        ranker = scoring.ranker_for(item, key)
        if not attends(ranker.name):
            continue
        record = by_document(record_maps(ranker, shown), order, count + len(changes.copied))
        found[key] = most_attended(record.map_of(record.kinds[0], 0, None))
    return found


def most_attended(weights: Float32[np.ndarray, "docs docs"]) -> list[list[list[float]]]:
    """For each document up to MOST_ATTENDED pairs of another document and its weight.

    >>> most_attended(np.float32([[0.5, 0.25, 0.0], [0.0, 1.0, 0.0], [0.25, 0.5, 0.25]]))
    [[[1, 0.25]], [], [[1, 0.5], [0, 0.25]]]
    """
    others = np.nan_to_num(weights)
    np.fill_diagonal(others, 0.0)
    most = np.argsort(-others, axis=1, kind="stable")[:, :MOST_ATTENDED]
    return [
        [[int(at), float(row[at])] for at in places if row[at] > 0]
        for row, places in zip(others, most, strict=True)
    ]


def pair(item: Mapping[str, Any]) -> dict[str, Any]:
    """Two documents' features, those that differ most first.

    Args:
        item: `store`, `data`, `recipe`, `query` and `documents`, two places in the list. Where
            they are the same, the document is compared with the mean of the list.

    Returns:
        `features`: (id, value of the first, value of the second, difference in standard
        deviations of the list), the largest differences first.
    """
    judged = scoring.list_for(item)
    values = judged.dataset.features[judged.lists.rows].astype(np.float64)
    first, second = item["documents"]
    former, latter = values[first], values.mean(axis=0) if first == second else values[second]
    spread = values.std(axis=0)
    differences = np.divide(former - latter, spread, out=np.zeros_like(spread), where=spread > 0)
    largest_first = np.argsort(-np.abs(differences), kind="stable")[:MOST_FEATURES]
    return {
        "features": [
            [
                judged.dataset.feature_ids[at],
                float(former[at]),
                float(latter[at]),
                float(differences[at]),
            ]
            for at in largest_first
        ]
    }


def pack_array(array: Float32[np.ndarray, "*shape"]) -> dict[str, Any]:
    """An array as JSON can carry it at little cost."""
    plain = np.ascontiguousarray(array, dtype="<f4")
    return {"shape": list(plain.shape), "data": base64.b64encode(plain.tobytes()).decode()}


def unpack_array(item: Mapping[str, Any]) -> Float32[np.ndarray, "*shape"]:
    """The array that `pack_array` packed.

    >>> unpack_array(pack_array(np.float32([[1.5, 2.0]]))).tolist()
    [[1.5, 2.0]]
    """
    return np.frombuffer(base64.b64decode(item["data"]), "<f4").reshape(item["shape"])


def _looks(item: Mapping[str, Any]) -> tuple[AttendedList, AttendedList]:
    """The weights of a list before and after the change."""
    return _look(item, NO_CHANGE), _look(item, str(ListEdit.parse(item["change"])))


def _look(item: Mapping[str, Any], change: str) -> AttendedList:
    names = ("store", "data", "recipe", "query", "ranker")
    question = json.dumps({name: item[name] for name in names}, sort_keys=True)
    return _cached_look(question, scoring.digest_of_name(item), change)


@lru_cache(maxsize=3)
def _cached_look(question: str, digest: str, change: str) -> AttendedList:
    del digest  # part of the memory's key alone
    item = json.loads(question)
    return attention_after(scoring.ranker_for(item), scoring.list_for(item), ListEdit.parse(change))
