"""Conversion of users' rankers and lists, in any supported form, to rankers and judged lists."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from shuffleproof.core.data import ragged
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.errors import ShapeError, UsageError
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.rankers.outside.user_rankers import UserRanker, scoring_form, with_copy
from shuffleproof.core.words import counted

TAKEN = (
    "(features, labels, offsets) with ranks as a fourth if there are some, a frame of pandas with "
    "a column `query`, (dataset, lists), a data set, or the name `sample`"
)
QUERY, LABEL, DOCUMENT = (
    ("query", "qid", "query_id"), ("label", "relevance", "rel", "grade", "y"),
    ("document", "doc", "doc_id", "docno", "docid"),
)  # fmt: skip
"""What columns of a frame are called; columns `rank`, `rank_1`, … are ranks from 0."""


def ranker_of(thing: Any) -> Ranker:
    """Ranker of an object: a built-in one, or anything that `sp.ranker` accepts.

    Raises:
        UsageError: it cannot be a ranker.

    >>> ranker_of(lambda features: features[:, 0]).name
    '<lambda>'
    """
    if isinstance(thing, Ranker):
        return thing
    scoring_form(thing)
    return with_copy(UserRanker(getattr(thing, "__name__", "") or type(thing).__name__, thing))


def as_judged_lists(lists: Any) -> JudgedLists:
    """Lists in any of the forms TAKEN as judged lists, shown in the order given.

    Raises:
        UsageError: none of these.
        ShapeError: arrays that do not belong together.

    >>> lists = as_judged_lists((np.eye(3), [1, 0, 2], [0, 1, 3]))
    >>> lists.lists.lengths.tolist(), lists.dataset.query_ids
    ([1, 2], ('1', '2'))
    """
    if isinstance(lists, JudgedLists):
        return lists
    if isinstance(lists, RankingDataset):
        return JudgedLists(lists, CandidateLists.all_documents(lists))
    if isinstance(lists, str) and lists == "sample":
        return sample()
    if hasattr(lists, "columns") and hasattr(lists, "to_numpy"):
        return _of_frame(lists)
    several = list(lists) if isinstance(lists, Iterable) and not isinstance(lists, str) else []
    if [type(item) for item in several] == [RankingDataset, CandidateLists]:
        return JudgedLists(*several)
    if len(several) in {3, 4}:
        return _of_arrays(*several)
    raise UsageError(f"a {type(lists).__name__} holds no ranking lists: give {TAKEN}")


def sample(depth: int = 40) -> JudgedLists:
    """The test part of the shipped sample: the top of every query by feature 3, in that order."""
    from shuffleproof.core.data.catalogue import SAMPLE, resolve  # noqa: PLC0415 (only who asks pays)
    from shuffleproof.core.store.artefacts import default_store  # noqa: PLC0415 (likewise)

    dataset = resolve(SAMPLE, default_store()).test
    scores = dataset.feature(3)[:, None]
    return JudgedLists(dataset, CandidateLists.ranked_by(dataset, scores, depth))


def _of_arrays(  # noqa: PLR0913 (what a frame knows besides)
    features: Any,
    labels: Any,
    offsets: Any,
    ranks: Any = None,
    *,
    query_ids: Sequence[str] | None = None,
    documents: Sequence[str] | None = None,
    feature_names: Sequence[str] | None = None,
) -> JudgedLists:
    rows = np.array(features, dtype=np.float32)
    rows = rows[:, None] if rows.ndim == 1 else rows
    bounds = np.array(offsets, dtype=np.int64)
    if bounds.ndim != 1 or not len(bounds):
        raise ShapeError("offsets", f"an array of shape {bounds.shape}", "0, …, documents")
    grades = np.array(labels, dtype=np.float32)
    if rows.ndim != 2 or grades.shape != rows.shape[:1]:
        problem = f"{grades.shape} beside features {rows.shape}"
        raise ShapeError("labels", problem, "one a document, a row of features each")
    names = tuple(query_ids or map(str, range(1, len(bounds))))
    dataset = RankingDataset(
        rows, grades, bounds, names,
        tuple(range(1, rows.shape[1] + 1)),
        None if documents is None else TextColumn.of(list(documents)),
        feature_names=tuple(feature_names) if feature_names else None,
    )  # fmt: skip
    every = CandidateLists.all_documents(dataset)
    if ranks is None:
        return JudgedLists(dataset, every)
    given = np.array(ranks, dtype=np.int32)
    given = given[:, None] if given.ndim == 1 else given
    if len(given) != len(rows):
        raise ShapeError("ranks", counted(len(given), "row"), f"{len(rows)}, one a document")
    lists = CandidateLists(bounds, every.queries, every.rows, given, -given.astype(np.float32))
    return JudgedLists(dataset, lists)


def _of_frame(frame: Any) -> JudgedLists:
    """The lists of a frame: its rows are gathered by query, each query's in their own order."""
    query, label = (_column(frame, names) for names in (QUERY, LABEL))
    document = _column(frame, DOCUMENT, needed=False)
    ranks = [name for name in frame.columns if re.fullmatch(r"ranks?(_\d+)?", str(name))]
    left = [name for name in frame.columns if name not in {query, label, document, *ranks}]
    numeric = frame[left].select_dtypes("number")
    codes, names = frame[query].factorize()
    order = np.argsort(codes, kind="stable")
    counts = np.bincount(codes, minlength=len(names))
    return _of_arrays(
        numeric.to_numpy()[order], frame[label].to_numpy()[order], ragged.offsets_of(counts),
        frame[ranks].to_numpy()[order] if ranks else None,
        query_ids=[str(name) for name in names],
        documents=None if document is None else [str(frame[document].iloc[at]) for at in order],
        feature_names=[str(name) for name in numeric.columns],
    )  # fmt: skip


def _column(frame: Any, names: Sequence[str], *, needed: bool = True) -> Any:
    matching = [name for name in frame.columns if str(name).casefold() in names]
    if not matching and needed:
        known = ", ".join(map(str, frame.columns))
        raise UsageError(
            f"the frame has no column {' or '.join(names)}; it has {known}: give it that name"
        )
    return matching[0] if matching else None
