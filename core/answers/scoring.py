"""One list scored under many orders shown, at once and by JSON: what a resident process works.

The functions here are named in questions to `core.execution.resident`; data sets, candidate lists
and rankers that were opened stay in the process. Scores come back document by document, in the
order of the initial ranking, whatever the input order.
"""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np
from jaxtyping import Bool, Float32, Float64, Int64

from shuffleproof.core.answers.document_changes import DocumentChanges
from shuffleproof.core.answers.shown_order import document_names
from shuffleproof.core.data.catalogue import resolve
from shuffleproof.core.data.dataset import Fold
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import DataError, ParameterError
from shuffleproof.core.experiment import list_sources, score_floor
from shuffleproof.core.experiment.score_reuse import scores_of_all
from shuffleproof.core.metrics import segments
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.passing import documents_passed
from shuffleproof.core.metrics.relevance import evaluate
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.rankers.initial import InitialRanker, ListRecipe, lists_digest
from shuffleproof.core.rankers.name import INITIAL
from shuffleproof.core.store.artefacts import store_at

UNUSUAL = 3
"""Number of a document's features that a card tells."""

FIRST_LOADED = ("neural.ranker", "boosting.trees", "univariate")


def libraries_loaded(item: Any) -> list[str]:
    """Load what scoring needs and answer its names; a fresh process does this first."""
    names = [f"shuffleproof.core.rankers.{name}" for name in FIRST_LOADED]
    for name in names:
        import_module(name)
    return [*names, *(item or [])]


def describe_data(item: Mapping[str, Any]) -> dict[str, Any]:
    """Facts of a data set for a page: its parts' fingerprints, test queries, features."""
    fold = _fold(item["store"], item["data"], digest_of_name(item))
    relevant = (fold.test.labels > 0).astype(np.float64)
    return {
        "train": fold.train.fingerprint,
        "valid": fold.valid.fingerprint,
        "test": fold.test.fingerprint,
        "queries": list(fold.test.query_ids),
        "relevant": segments.sums(fold.test.offsets, relevant).astype(int).tolist(),
        "features": list(fold.test.feature_ids),
    }


def documents(item: Mapping[str, Any]) -> dict[str, Any]:
    """The documents of a query's candidate list, in the order of the initial ranking.

    Args:
        item: `store`, `data`, `recipe` (of the lists), `query` (its id), and `features`, the ids
            of the columns wanted.

    Raises:
        DataError: the test part has no such query.
    """
    judged = list_for(item)
    dataset, lists = judged.dataset, judged.lists
    feature_ids = set(dataset.feature_ids)
    columns = {str(name): dataset.feature(name) for name in item["features"] if name in feature_ids}
    return {
        "query": item["query"],
        "ids": document_names(dataset.doc_ids, lists.rows),
        "labels": dataset.labels[lists.rows].tolist(),
        "ranks": lists.ranks[:, 0].tolist(),
        "features": {name: column[lists.rows].tolist() for name, column in columns.items()},
        "unusual": _unusual(dataset.features[lists.rows], dataset.names),
    }


def _unusual(values: Float32[np.ndarray, "docs features"], names: Sequence[str]) -> list[str]:
    """Of each document the features furthest from their mean in the list, in words.

    >>> _unusual(np.float32([[0, 1], [4, 1]]), ["length", "slash"])
    ['length 0 (mean 2)', 'length 4 (mean 2)']
    """
    mean, spread = values.mean(axis=0), values.std(axis=0)
    apart = np.divide(np.abs(values - mean), spread, out=np.zeros_like(values), where=spread > 0)
    furthest = np.argsort(-apart, axis=1, kind="stable")[:, :UNUSUAL]
    return [
        ", ".join(f"{names[at]} {row[at]:.3g} (mean {mean[at]:.3g})" for at in of if far[at] > 0)
        for row, far, of in zip(values, apart, furthest, strict=True)
    ]


def score_query(item: Mapping[str, Any]) -> dict[str, Any]:
    """The scores of a query's documents by several rankers, under several orders shown.

    Args:
        item: `store`, `data`, `recipe`, `query`, `rankers` (artefact keys), `orders`, each the
            documents (places in the initial ranking) from the first shown to the last, and
            `changes`, texts of `DocumentChanges`, which apply to the last order.

    Returns:
        By ranker: `scores` (one row an order, one value a document), `floor` (how far arithmetic
        carries each document's score), `reads`, `quality`, NDCG@10 of every order, and `best`, the
        highest NDCG@10 of any ranking of the last list. Documents have the order of the initial
        ranking, copies last; None where one is not in the list.

    Raises:
        DataError: the test part has no such query.
        ParameterError: an order that is none of these documents, or changes of others.
    """
    judged = list_for(item)
    orders = [_checked_order(order, len(judged.lists.rows)) for order in item["orders"]]
    changes = DocumentChanges.parse(item["changes"])
    changes.check(len(judged.lists.rows), judged.dataset.feature_ids)
    workbench, answers = _bench(item), {}
    for key in item["rankers"]:
        ranker = _ranker(item["store"], key)
        scores = scores_by_document(ranker, judged, orders)
        answers[key] = {
            "scores": [row.tolist() for row in scores],
            "floor": list(_floor(workbench, item["query"], key)),
            "reads": sorted(ranker.reads),
            "quality": [_quality(judged, of_order) for of_order in scores],
            "best": best_quality(judged),
        }
        if changes:
            answers[key] |= _of_changed(ranker, judged, orders[-1], changes, answers[key])
    return answers


def _of_changed(
    ranker: Ranker,
    judged: JudgedLists,
    order: Int64[np.ndarray, " docs"],
    changes: DocumentChanges,
    unchanged: Mapping[str, Any],
) -> dict[str, Any]:
    """Scores, floors and quality where the last order is that of a changed list."""
    changed = changes.of(judged, order.tolist())
    scores = ranker.score(changed.dataset, changed.lists)
    places = changes.arranged(order.tolist(), len(order))
    by_document = dict(zip(places, scores.tolist(), strict=True))
    count, copied = len(order), changes.copied
    return {
        "scores": [
            unchanged["scores"][0] + [None] * len(copied),
            [by_document.get(document) for document in range(count + len(copied))],
        ],
        "floor": unchanged["floor"] + [unchanged["floor"][document] for document in copied],
        "quality": [unchanged["quality"][0], _quality(changed, scores)],
        "best": best_quality(changed),
    }


QUALITY = Measure.parse("NDCG@10")


def _quality(judged: JudgedLists, scores: Float32[np.ndarray, " docs"]) -> float:
    """NDCG@10 of one list, its scores by document."""
    return float(evaluate([QUALITY], judged.dataset, judged.lists, scores)[0, 0])


def best_quality(judged: JudgedLists) -> float:
    """The highest NDCG@10 of any ranking; below 1 if a relevant document was removed."""
    return _quality(judged, judged.dataset.labels[judged.lists.rows].astype(np.float32))


def check_same_data(item: Mapping[str, Any]) -> None:
    """Refuse a data set whose lists are not those that a question's `lists` is the digest of.

    Raises:
        DataError: the name means another data set by now.
    """
    fold = _fold(item["store"], item["data"], digest_of_name(item))
    if lists_digest(item["recipe"], fold.fingerprint) != item["lists"]:
        finding = "not the data set that the study saw"
        raise DataError(item["data"], finding, "Run the study again on it.")


def checked_lists(item: Mapping[str, Any]) -> JudgedLists:
    """All test lists of a study, as `lists_for`, after `check_same_data`."""
    check_same_data(item)
    return lists_for(item)


def lists_for(item: Mapping[str, Any]) -> JudgedLists:
    """All test lists of a question's `store`, `data` and `recipe`."""
    return _lists(*_bench(item))


def list_for(item: Mapping[str, Any]) -> JudgedLists:
    """The list of a question's `store`, `data`, `recipe` and `query`.

    Raises:
        DataError: the test part has no such query.
    """
    return single_list(lists_for(item), place_of(item, lists_for(item)))


def place_of(item: Mapping[str, Any], judged: JudgedLists) -> int:
    """Index of the list of a question's `query`.

    Raises:
        DataError: none is.
    """
    ids = judged.dataset.query_ids
    for at, query in enumerate(judged.lists.queries):
        if ids[query] == item["query"]:
            return at
    finding = f"not in the test part of {item['data']}"
    raise DataError(f"query {item['query']!r}", finding, "Choose another.")


def single_list(judged: JudgedLists, at: int) -> JudgedLists:
    """One of the lists."""
    return JudgedLists(judged.dataset, judged.lists.select(np.array([at])))


def digest_of_name(item: Mapping[str, Any]) -> str:
    """Current key of the data set's name, so that a renamed one is not answered from memory."""
    return str(store_at(item["store"]).names().get(item["data"], ""))


def ranker_for(item: Mapping[str, Any], ranker: str | None = None) -> Ranker:
    """The ranker that a question names by a key, a digest or as the initial ranking; or another."""
    name = ranker or item["ranker"]
    return InitialRanker() if name == INITIAL else _ranker(item["store"], name)


def scores_by_document(
    ranker: Ranker, judged: JudgedLists, orders: Sequence[Int64[np.ndarray, " docs"]]
) -> list[Float32[np.ndarray, " docs"]]:
    """The scores of one list under each input order, by document as the list has them."""
    variants = [judged.lists.shown_as(order) for order in orders]
    answers = []
    for order, scores in zip(orders, scores_of_all(ranker, judged, variants), strict=True):
        by_document = np.empty_like(scores)
        by_document[order] = scores
        answers.append(by_document)
    return answers


def documents_moved(
    before: Float32[np.ndarray, " docs"],
    after: Float32[np.ndarray, " docs"],
    floor: Float64[np.ndarray, " docs"],
) -> Bool[np.ndarray, " docs"]:
    """Documents of one list that passed another by more than rounding explains.

    >>> documents_moved(
    ...     np.float32([2, 1, 9]), np.float32([1, 2, 9]), np.full(3, 0.1)
    ... ).tolist()
    [True, True, False]
    """
    return documents_passed(np.array([0, len(before)]), before, after, floor)


def _bench(item: Mapping[str, Any]) -> tuple[str, str, str, str]:
    """Key of remembered lists."""
    recipe = json.dumps(dict(item["recipe"]), sort_keys=True)
    return item["store"], item["data"], digest_of_name(item), recipe


def _checked_order(order: Sequence[int], count: int) -> Int64[np.ndarray, " docs"]:
    if sorted(order) != list(range(count)):
        raise ParameterError("order", f"{list(order)}", f"an order of the {count} documents")
    return np.array(order, dtype=np.int64)


@lru_cache(maxsize=2)
def _fold(store: str, data: str, digest: str) -> Fold:
    del digest  # part of the memory's key alone
    return resolve(data, store_at(store))


@lru_cache(maxsize=4)
def _lists(store: str, data: str, digest: str, recipe: str) -> JudgedLists:
    fields = json.loads(recipe)
    fields["initial"] = tuple(fields["initial"])
    fold = _fold(store, data, digest)
    return list_sources.prepare_lists(data, fold, ListRecipe(**fields), store_at(store)).test


@lru_cache(maxsize=32)
def _ranker(store: str, key: str) -> Ranker:
    return registry.load(store_at(store).resolve(key, "ranker").path)


@lru_cache(maxsize=1024)
def _floor(workbench: tuple[str, str, str, str], query: str, key: str) -> tuple[float, ...]:
    judged, ranker = _lists(*workbench), _ranker(workbench[0], key)
    base = single_list(judged, place_of({"data": workbench[1], "query": query}, judged))
    floor, _ = score_floor.measure_floor(ranker, base, ranker.score(base.dataset, base.lists))
    return tuple(floor.doubt.tolist())
