"""Sections of a study of a growing collection: changes of recall and of measures."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import pandas as pd

from shuffleproof.core.studies.kinds.growth.study import BEFORE, NEW_WORDS, SEEN, UNSEEN, WITH
from shuffleproof.core.studies.listless import retrievers, varied
from shuffleproof.core.studies.listless.retrievers import names
from shuffleproof.core.studies.result import StudyResult, known_mean
from shuffleproof.core.studies.sections import Headline, Section, View
from shuffleproof.core.studies.table_text import records
from shuffleproof.core.words import percent

ALL = "all"
COLUMNS = varied.columns_of(
    "Documents", "Came later", "Relevant documents that were there, came later, or all.",
    "Share of the documents that came after training; baseline: learnt with them.",
)  # fmt: skip


def headline(result: StudyResult, _view: View) -> Headline:
    """The documents that lose most at the largest share, unless an index is not sparse."""
    if dense := _dense(result):
        return retrievers.dense_headline(dense)
    frame = changes(result)
    at_largest = frame[(frame["level"] == max(_shares(result))) & (frame["condition"] != ALL)]
    return varied.headline(
        at_largest,
        lambda row: f"for {row['condition']} documents where {percent(row['level'])} came later",
        "No retriever loses recall significantly (p ≤ .05, Holm).",
    )


def sections(result: StudyResult, _view: View) -> Iterator[Section]:
    """Picture, conventions, table."""
    yield from varied.sections(
        result, changes(result), COLUMNS, _recall(result), [new_words(result)]
    )


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """The command's answer in JSON."""
    return {"changes": records(changes(result))}


def _recall(result: StudyResult) -> str:
    """The name of recall.

    Not a measure of the whole list: its relevant documents are of a part of the collection.
    """
    return f"recall@{result.recipe['depth']}"


def _shares(result: StudyResult) -> list[float]:
    """The shares above 0, in the order asked for."""
    return list(dict.fromkeys(share for _, when, share in result.points if when == BEFORE))


def changes(result: StudyResult) -> pd.DataFrame:
    """Changes by learning before the later documents came, as `varied.changes`."""
    recall = _recall(result)
    stored = [(recall, SEEN, SEEN), (recall, UNSEEN, UNSEEN)]
    stored += [(measure, ALL, measure) for measure in result.measures]
    return varied.changes(
        (
            (name, documents, share, measure),
            result.draws(name, WITH, share, values),
            result.draws(name, BEFORE, share, values),
        )
        for name, share in product(names(result), _shares(result))
        for measure, documents, values in stored
    )


def new_words(result: StudyResult) -> str:
    """The share of words of later documents that no earlier one has, by share of documents."""
    name = names(result)[0]
    shares = [
        f"{percent(known_mean(result.per_query(name, BEFORE, share, NEW_WORDS)), 1)} where "
        f"{percent(share)} came later"
        for share in _shares(result)
    ]
    return f"Words of later documents that no earlier document has: {', '.join(shares)}."


def _dense(result: StudyResult) -> list[str]:
    """Learnt retrievers whose grown index fails a sparsity check."""
    rows = [
        {"retriever": name} | gates
        for name, share in product(names(result), _shares(result))
        if (gates := retrievers.gates_of(result, name, BEFORE, share))
    ]
    columns = ["retriever", "dense_in_disguise"]
    return retrievers.dense_retrievers(pd.DataFrame(rows, columns=columns))
