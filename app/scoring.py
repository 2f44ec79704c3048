"""Access to the resident scoring process: one per server, started with it and disposable.

Torch and LightGBM load only in that process. Answers are cached by their arguments.
"""

import atexit
import logging
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import services
from shuffleproof.core.answers.document_changes import UNCHANGED, DocumentChanges
from shuffleproof.core.answers.margin import Margin
from shuffleproof.core.answers.one_list import Answer, features_wanted
from shuffleproof.core.answers.shown_order import Documents, ShownOrder
from shuffleproof.core.answers.trained_rankers import TrainedRanker, contrast, list_recipes
from shuffleproof.core.data.layout import SAMPLE, SAMPLE_TEXTS
from shuffleproof.core.execution.resident import Resident
from shuffleproof.core.rankers.attention.kinds import attends
from shuffleproof.core.rankers.initial import ListRecipe

WORK = "shuffleproof.core.answers.scoring"
WORST = "shuffleproof.core.studies.kinds.worst_case.query:worst_input_order"
MARGIN = "shuffleproof.core.answers.margin:explain_pair"
EXAMPLES = {SAMPLE: "599", SAMPLE_TEXTS: "45"}
"""Query shown first of a data set: here the first shuffle costs DLCM most of its NDCG@10."""

log = logging.getLogger("shuffleproof")


@dataclass(frozen=True)
class DataDescription:
    """Facts of a data set for pages that score.

    Attributes:
        data: name of the data set.
        train: fingerprint of the training part.
        valid: fingerprint of the validation part.
        test: fingerprint of the test part.
        queries: ids of the test queries.
        relevant: number of relevant documents of each test query.
        features: ids of the features.
    """

    data: str
    train: str
    valid: str
    test: str
    queries: tuple[str, ...]
    relevant: tuple[int, ...]
    features: tuple[int, ...]

    @property
    def example_query(self) -> str:
        """Query shown first: the example, or the first query with a relevant document."""
        relevant = (
            query for query, count in zip(self.queries, self.relevant, strict=True) if count
        )
        return EXAMPLES.get(self.data) or next(relevant, self.queries[0])


@dataclass(frozen=True)
class List:
    """Identity of one query's list, for calls of the scoring process.

    Attributes:
        data: name of the data set.
        test: fingerprint of its test part, with the query.
        recipe: recipe of the lists.
        query: id of the query.
    """

    data: str
    test: str
    recipe: ListRecipe
    query: str

    def question(self) -> dict[str, Any]:
        """Arguments of a call that identify the list."""
        return _data(self.data) | {"recipe": self.recipe.plain(), "query": self.query}


_ENDING = threading.Event()
"""Set when the server ends."""


@lru_cache(maxsize=1)
def resident() -> Resident:
    """Scoring process of the server."""
    process = Resident(first=f"{WORK}:libraries_loaded")
    atexit.register(process.close)
    atexit.register(_ENDING.set)  # runs before process.close: handlers run in reverse order
    return process


def start() -> None:
    """Start the process and warm it up on the sample, in the background."""
    threading.Thread(target=_warm, daemon=True).start()


def _warm() -> None:
    try:
        resident().start().join()
        data = describe(SAMPLE)
        rankers = rankers_of(data)
        pair = contrast(rankers)
        rankers = [*pair, *(ranker for ranker in rankers if ranker not in pair)]
        recipes = list_recipes(rankers)
        if recipes:
            query_list = List(data.data, data.test, recipes[0], data.example_query)
            for ranker in rankers:  # one call each, so that calls of pages get in between
                # other rankers read rankings that these lists lack
                if ranker.lists in {None, query_list.recipe}:
                    answers(query_list, (ranker,), "initial", "-initial")
    except Exception as error:  # noqa: BLE001 (a page's own call shows the error)
        if _ENDING.is_set():
            return
        log.warning("the scoring process did not warm up: %s", error)


def describe(data: str) -> DataDescription:
    """Facts of a data set for the pages that score.

    Raises:
        ScoringError: the process has no answer, or there is no such data set.
    """
    named = services.store().names().get(data)
    return _described(data, str(services.store().root), str(named))


@st.cache_data(max_entries=64, show_spinner="Opening the data set …")
def _described(data: str, root: str, named: str) -> DataDescription:
    del root, named  # only part of the cache's key
    answer = resident().ask(f"{WORK}:describe_data", _data(data))
    return DataDescription(data, **{name: _tuple(value) for name, value in answer.items()})


def rankers_of(data: DataDescription) -> list[TrainedRanker]:
    """Rankers trained on a data set, newest first."""
    return services.trained_rankers(data.data, data.train, data.valid)


def documents(query_list: List, orders: tuple[str, ...]) -> Documents:
    """Documents of a list, with the features that these orders sort by."""
    return _documents(query_list, tuple(features_wanted(orders)))


@st.cache_data(max_entries=256, show_spinner=False)
def _documents(query_list: List, features: tuple[int, ...]) -> Documents:
    answer = resident().ask(
        f"{WORK}:documents", query_list.question() | {"features": list(features)}
    )
    return Documents(
        query=answer["query"],
        ids=tuple(answer["ids"]),
        labels=tuple(map(float, answer["labels"])),
        ranks=tuple(answer["ranks"]),
        features={int(name): tuple(column) for name, column in answer["features"].items()},
        unusual=tuple(answer["unusual"]),
    )


def answers(
    query_list: List,
    rankers: tuple[TrainedRanker, ...],
    before: str,
    shown: str,
    changes: DocumentChanges = UNCHANGED,
) -> list[Answer]:
    """Answers of rankers to a list in two input orders, given as texts of `ShownOrder`.

    The list in the second order has these changes of its documents.

    Raises:
        ScoringError: the process has no answer.
        ParameterError: an order or a change of other documents.
    """
    listed = documents(query_list, (before, shown))
    orders = [tuple(ShownOrder.parse(text).arranged(listed)) for text in (before, shown)]
    keys = tuple(ranker.key for ranker in rankers)
    scored = _scored(query_list, keys, tuple(orders), changes.texts())
    return [
        Answer(
            ranker=ranker.label,
            reads=tuple(scored[ranker.key]["reads"]),
            before=_numbers(scored[ranker.key]["scores"][0]),
            after=_numbers(scored[ranker.key]["scores"][1]),
            floor=tuple(scored[ranker.key]["floor"]),
            quality=tuple(scored[ranker.key]["quality"]),
            best=scored[ranker.key]["best"],
        )
        for ranker in rankers
    ]


@st.cache_data(max_entries=256, show_spinner=False)
def _scored(
    query_list: List,
    rankers: tuple[str, ...],
    orders: tuple[tuple[int, ...], ...],
    changes: tuple[str, ...],
) -> dict[str, Any]:
    added = {"rankers": list(rankers), "orders": [*map(list, orders)], "changes": list(changes)}
    answer: dict[str, Any] = resident().ask(f"{WORK}:score_query", query_list.question() | added)
    return answer


def _numbers(scores: Sequence[float | None]) -> tuple[float, ...]:
    """Scores, with NaN of documents that are not in the list."""
    return tuple(math.nan if score is None else score for score in scores)


@st.cache_data(max_entries=64, show_spinner="Searching the worst order …")
def worst_order(query_list: List, ranker: str) -> list[int]:
    """Worst input order found for the ranker with this key: the document at each position.

    Raises:
        ScoringError: the process has no answer.
    """
    question = query_list.question() | {"ranker": ranker}
    order: list[int] = resident().ask(WORST, question)
    return order


def attended(
    query_list: List, rankers: Sequence[TrainedRanker], shown: str, changes: DocumentChanges
) -> dict[str, list[list[list[float]]]]:
    """Documents that each document attends to most, by label of the rankers with weights.

    Args:
        query_list: the list.
        rankers: rankers, with or without weights.
        shown: input order, a text of `ShownOrder`.
        changes: changes of documents of the list.

    Raises:
        ScoringError: the process has no answer.
        ParameterError: an order of other documents.
    """
    order = ShownOrder.parse(shown).arranged(documents(query_list, (shown,)))
    labels = {ranker.key: ranker.label for ranker in rankers if attends(ranker.name)}
    keys = tuple(labels)
    found = _attended(query_list, keys, tuple(order), changes.texts()) if labels else {}
    return {labels[key]: pairs for key, pairs in found.items()}


@st.cache_data(max_entries=256, show_spinner=False)
def _attended(
    query_list: List, rankers: tuple[str, ...], order: tuple[int, ...], changes: tuple[str, ...]
) -> dict[str, Any]:
    added = {"rankers": list(rankers), "order": list(order), "changes": list(changes)}
    question = query_list.question() | added
    answer: dict[str, Any] = resident().ask(
        "shuffleproof.core.answers.attention:attended", question
    )
    return answer


@st.cache_data(max_entries=256, show_spinner="Scoring the list without each document …")
def margin(
    query_list: List, ranker: TrainedRanker, shown: str, changes: DocumentChanges,
    pair: Sequence[int],
) -> Margin:  # fmt: skip
    """Why a ranker puts one document above another; see `core.answers.margin.explain`.

    Raises:
        ScoringError: the process has no answer.
    """
    listed = documents(query_list, (shown,))
    question = query_list.question() | {"ranker": ranker.key, "changes": changes.texts()}
    question["order"] = ShownOrder.parse(shown).arranged(listed)
    question |= {"pair": pair, "names": changes.documents(listed).ids}
    found = resident().ask(MARGIN, question)
    tables = {name: pd.DataFrame(found[name]) for name in ("features", "documents")}
    return Margin(**{**found, **tables, "ranker": ranker.label})


def _data(data: str) -> dict[str, Any]:
    return {"store": str(services.store().root), "data": data}


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
