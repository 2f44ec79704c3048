"""A study of a growing collection, told: what being unseen costs documents, paired by query."""

import warnings
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.significance import ALPHA
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.kinds.growth.study import BEFORE, NEW_WORDS, SEEN, UNSEEN, WITH
from shuffleproof.core.studies.listless import retrievers
from shuffleproof.core.studies.listless.collection_study import DEPTH
from shuffleproof.core.studies.listless.retrievers import label, names, with_display_names
from shuffleproof.core.studies.paired_differences import mean_differences
from shuffleproof.core.studies.result import StudyResult, known_mean
from shuffleproof.core.studies.sections import Convention, Finding, Headline, Picture, Section, View
from shuffleproof.core.studies.table_text import records
from shuffleproof.core.studies.tables import Column, Table
from shuffleproof.core.words import counted, interval, number, p_value, percent, signed

ALL = "all"
SHARE = Column("share", "Came later", ".0%", "Share of the documents that came after training.")
SUMMARY = (
    retrievers.RETRIEVER,
    Column("learnt", "Learnt", help="Before the later documents came, or with them."),
    SHARE,
    *retrievers.MEANS,
)
CHANGES = (
    retrievers.RETRIEVER,
    Column("documents", "Documents", help="Whose recall: those that were there, or came later."),
    SHARE,
    retrievers.MEASURE,
    Column("known", "Learnt with them", tables.VALUE, "Mean, what is learnt of all documents."),
    Column("mean", "Learnt before", tables.VALUE, "Mean, what is learnt before they came."),
    Column("change", "Change", tables.CHANGE, "Mean over queries."),
    *retrievers.TESTED,
)
WORDS = (
    SHARE,
    Column("unknown", "New words", tables.SHARE, "Of the words of later documents, mean."),
)
GATES = (retrievers.RETRIEVER, SHARE, *retrievers.GATES)


def headline(result: StudyResult, _view: View) -> Headline:
    """The documents that lose most, seen or unseen, unless an index is not sparse."""
    if dense := retrievers.dense_retrievers(gates(result)):
        return retrievers.dense_headline(dense)
    worst = _recall_at_largest_share(result).sort_values("change", kind="stable")
    last = worst.iloc[0]
    if last["change"] >= 0 or not last["p"] <= ALPHA:
        return Headline("No retriever finds seen or unseen documents worse beyond chance.")
    return Headline(
        f"{label(last['retriever'])} loses most: {last['measure']} of {last['documents']} "
        f"documents {signed(last['change'])} where {percent(last['share'])} came later."
    )


def sections(result: StudyResult, _view: View) -> Iterator[Section]:
    """What is said of a study, in order."""
    frame = with_display_names(changes(result))
    yield from map(Finding, findings(result))
    yield Picture("growth", (frame[frame["measure"] == _recall(result)], _recall(result)))
    for measure in result.measures:
        yield Convention.of(measure, len(result.query_ids), f"{DEPTH:,} documents a query")
    yield Table(frame, CHANGES, "What being unseen costs")
    yield Table(words(result), WORDS, "Words that no earlier document has")
    yield Table(
        with_display_names(gates(result)),
        GATES,
        "What the grown index reads and matches",
    )
    yield Table(with_display_names(summary(result)), SUMMARY, "Every number", folded=True)


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """What the command answers in JSON."""
    return {
        "summary": records(summary(result)),
        "changes": records(changes(result)),
        "gates": records(gates(result)),
        "words": records(words(result)),
        "findings": findings(result),
    }


def methods_text(recipe: Mapping[str, Any], _facts: Mapping[str, Any]) -> str:
    """What is done, as a paper would say it."""
    compared = retrievers.compared_retrievers(recipe)
    shares = ", ".join(f"{percent(share)}" for share in recipe["withheld"])
    return (
        f"Retrievers are {compared}. Of the documents {shares}, drawn anew in "
        f"{counted(recipe['seeds'], 'seed')}, are withheld from training and vocabulary and then "
        "added to the index; learnt vectors of them are computed by what was learnt before, and "
        "words that no earlier document has stay unknown. Each is compared with the same "
        "retriever at the same seed that learnt all documents: both search all of them. Recall of "
        f"the first {recipe['depth']} documents is told apart for relevant documents that were "
        "there and for those that came later. Nothing is fitted to judgments."
    )


def summary(result: StudyResult) -> pd.DataFrame:
    """Retriever, when it learnt, share, measure, mean, interval and number of queries."""
    names_ = {"ranker": "retriever", "family": "learnt", "level": "share"}
    return result.summary().rename(columns=names_)[tables.keys(SUMMARY)]


def _recall(result: StudyResult) -> str:
    """What recall is called.

    Not a measure of the whole list: its relevant documents are of a part of the collection.
    """
    return f"recall@{result.recipe['depth']}"


def _shares(result: StudyResult) -> list[float]:
    """The shares above 0, in the order asked for."""
    return list(dict.fromkeys(share for _, when, share in result.points if when == BEFORE))


def changes(result: StudyResult) -> pd.DataFrame:
    """What learning before the later documents came changes, tested together by measure."""
    recall = _recall(result)
    stored_as = [(recall, SEEN, SEEN), (recall, UNSEEN, UNSEEN)]
    stored_as += [(measure, ALL, measure) for measure in result.measures]
    frames = []
    for measure in dict.fromkeys(measure for measure, _, _ in stored_as):
        rows, differences = [], []
        for name, share in product(names(result), _shares(result)):
            for of_measure, documents, stored in stored_as:
                if of_measure == measure:
                    known, before = _pair(result, name, share, stored)
                    means = (known_mean(_over_seeds(values)) for values in (known, before))
                    rows.append((name, documents, share, measure, *means))
                    differences.append(_over_seeds(before - known))
        columns = ["retriever", "documents", "share", "measure", "known", "mean"]
        tested = mean_differences(np.stack(differences)).rename(columns={"mean": "change"})
        frames.append(pd.DataFrame(rows, columns=columns).join(tested))
    return pd.concat(frames, ignore_index=True)


def _pair(
    result: StudyResult, name: str, share: float, stored: str
) -> tuple[np.ndarray, np.ndarray]:
    """The values of a share learnt with all documents and before, a row a seed that both have."""
    known, before = (
        result.draws(name, when, share, stored).astype(np.float64) for when in (WITH, BEFORE)
    )
    seeds = min(len(known), len(before))
    return known[:seeds], before[:seeds]


def _over_seeds(values: np.ndarray) -> np.ndarray:
    """The mean of every query over the seeds that know it; NaN where none does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of a query that no seed knows
        return np.asarray(np.nanmean(values, axis=0))


def words(result: StudyResult) -> pd.DataFrame:
    """Of every share, how many words of the later documents are new."""
    name = names(result)[0]
    rows = [
        {"share": share, "unknown": known_mean(result.per_query(name, BEFORE, share, NEW_WORDS))}
        for share in _shares(result)
    ]
    return pd.DataFrame(rows, columns=tables.keys(WORDS))


def gates(result: StudyResult) -> pd.DataFrame:
    """The gates of every grown index that reads postings."""
    rows = [
        {"retriever": name, "share": share} | index_gates
        for name, share in product(names(result), _shares(result))
        if (index_gates := retrievers.gates_of(result, name, BEFORE, share))
    ]
    return pd.DataFrame(rows, columns=tables.keys(GATES))


def _recall_at_largest_share(result: StudyResult) -> pd.DataFrame:
    """Of every retriever, recall of seen and of unseen documents at the largest share."""
    frame = changes(result)
    at_largest = frame["share"] == max(_shares(result))
    return frame[at_largest & (frame["documents"] != ALL) & (frame["n"] > 0)]


def findings(result: StudyResult) -> list[str]:
    """The findings in words; failed sparsity checks first."""
    dense, frame = retrievers.dense_retrievers(gates(result)), changes(result)
    sentences = [f"{label(name)} is not sparse." for name in dense]
    for name in names(result):
        at_largest = (frame["retriever"] == name) & (frame["share"] == max(_shares(result)))
        for _, row in frame[at_largest & (frame["n"] > 0)].iterrows():
            test = f"{interval(row['low'], row['high'])} ({p_value(row['p'])}, N = {row['n']})"
            if row["documents"] == UNSEEN or (row["documents"] == SEEN and row["p"] <= ALPHA):
                sentences.append(
                    f"{label(name)}, where {percent(row['share'])} came later: {row['measure']} of "
                    f"{row['documents']} documents {number(row['mean'])} against "
                    f"{number(row['known'])} had it learnt all, {signed(row['change'])} {test}."
                )
            elif row["documents"] == ALL:
                measure = Measure.parse(str(row["measure"]))
                sentences.append(
                    f"{label(name)}: {measure} of all documents changes by "
                    f"{signed(row['change'])} {test}."
                )
    last = words(result).sort_values("share").iloc[-1]
    sentences.append(
        f"{percent(last['unknown'], 1)} of the words of later documents are new where "
        f"{percent(last['share'])} came later."
    )
    return sentences
