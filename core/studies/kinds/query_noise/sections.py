"""A study of noisy queries, told: what each noise costs each retriever, paired by query."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.significance import ALPHA
from shuffleproof.core.retrieval.query_noise import KINDS
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.kinds.query_noise.study import CLEAN
from shuffleproof.core.studies.listless import retrievers
from shuffleproof.core.studies.listless.collection_study import DEPTH
from shuffleproof.core.studies.listless.retrievers import label, names, with_display_names
from shuffleproof.core.studies.paired_differences import mean_differences
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import Convention, Finding, Headline, Picture, Section, View
from shuffleproof.core.studies.table_text import records
from shuffleproof.core.studies.tables import Column, Table
from shuffleproof.core.words import counted, interval, listed, p_value, percent, signed

NOISE = (
    Column("noise", "Noise", help="What happened to words of the query."),
    Column("level", "Level", ".0%", "Share of the query's words, as a probability."),
)
SUMMARY = (
    retrievers.RETRIEVER,
    *NOISE,
    retrievers.MEASURE,
    Column("mean", "Mean", tables.VALUE, "Over queries, after the mean over draws."),
    *retrievers.MEANS[2:],
)
CHANGES = (
    retrievers.RETRIEVER,
    *NOISE,
    retrievers.MEASURE,
    Column("change", "Change", tables.CHANGE, "Against the query as it is, mean over queries."),
    *retrievers.TESTED,
)
SHARES = ("changed", "empty")
TEXTS = (
    *NOISE,
    Column("changed", "Changed", tables.SHARE, "Queries whose text is another, over all draws."),
    Column("empty", "Left empty", tables.SHARE, "Queries without a word that the collection has."),
)


def headline(result: StudyResult, view: View) -> Headline:
    """Who loses most to what, and who least."""
    measure = view.measure(result)
    worst = _worst(result, measure)
    last = worst.iloc[0]
    if last["change"] >= 0 or not last["p"] <= ALPHA:
        return Headline("No noise lowers any retriever beyond chance.")
    text = (
        f"{label(last['retriever'])} loses most: {measure} {signed(last['change'])} "
        f"under {_noise(last)}"
    )
    if len(worst) > 1:
        least = worst.iloc[-1]
        text += f"; {label(least['retriever'])} at worst {signed(least['change'])}"
    return Headline(f"{text}.")


def sections(result: StudyResult, _view: View) -> Iterator[Section]:
    """What is said of a study, in order."""
    frame = changes(result)
    yield from map(Finding, findings(result))
    yield Picture("query noise", (with_display_names(frame), result.measures[0]))
    for measure in result.measures:
        yield Convention.of(measure, len(result.query_ids), f"{DEPTH:,} documents a query")
    yield Table(with_display_names(frame), CHANGES, "Change under noise")
    yield Table(texts(result), TEXTS, "What noise did to the queries")
    yield Table(with_display_names(summary(result)), SUMMARY, "Every number", folded=True)


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """What the command answers in JSON."""
    return {
        "summary": records(summary(result)),
        "changes": records(changes(result)),
        "texts": records(texts(result)),
        "findings": findings(result),
    }


def methods_text(recipe: Mapping[str, Any], _facts: Mapping[str, Any]) -> str:
    """What is done, as a paper would say it."""
    compared = retrievers.compared_retrievers(recipe)
    shares = ", ".join(f"{percent(level)}" for level in recipe["levels"])
    kinds = listed([KINDS[kind][1] for kind in recipe["noise"]])
    return (
        f"Retrievers are {compared}, each with its best {DEPTH:,} documents. "
        f"Their queries are disturbed at test time alone: {kinds}, each word with a probability of "
        f"{shares}, in {counted(recipe['seeds'], 'draw')}, the same for all retrievers. Queries "
        "are split into two folds; what a retriever fits to judgments it fits to the other fold's "
        "queries as they are. A query that finds nothing counts as an empty list."
    )


def summary(result: StudyResult) -> pd.DataFrame:
    """Retriever, noise, level, measure, mean, interval and number of queries."""
    frame = result.summary().rename(columns={"ranker": "retriever", "family": "noise"})
    return frame[tables.keys(SUMMARY)]


def _points(result: StudyResult) -> list[tuple[str, float]]:
    """Kinds of noise and levels, in the order asked for."""
    pairs = ((noise, level) for _, noise, level in result.points if noise != CLEAN)
    return list(dict.fromkeys(pairs))


def changes(result: StudyResult) -> pd.DataFrame:
    """The paired change of every retriever under every noise, tested together by measure."""
    frames = [pd.DataFrame(columns=tables.keys(CHANGES))]
    for measure in result.measures:
        rows, differences = [], []
        for name in names(result):
            plain = result.per_query(name, CLEAN, 0.0, measure).astype(np.float64)
            for point in _points(result):
                noisy = result.per_query(name, *point, measure)
                if len(noisy):
                    rows.append((name, *point, measure))
                    differences.append(noisy.astype(np.float64) - plain)
        if rows:
            tested = mean_differences(np.stack(differences)).rename(columns={"mean": "change"})
            points = pd.DataFrame(rows, columns=["retriever", "noise", "level", "measure"])
            frames.append(points.join(tested))
    return pd.concat(frames[1:] or frames, ignore_index=True)


def texts(result: StudyResult) -> pd.DataFrame:
    """Of every noise and level, the shares of queries that changed and that are left empty."""
    name = names(result)[0]
    rows = [
        (*point, *(float(np.mean(result.per_query(name, *point, fact))) for fact in SHARES))
        for point in _points(result)
    ]
    return pd.DataFrame(rows, columns=tables.keys(TEXTS))


def _worst(result: StudyResult, measure: str) -> pd.DataFrame:
    """Of every retriever the noise that costs it most, who loses most first."""
    frame = changes(result)
    of_measure = frame[frame["measure"] == measure].sort_values("change", kind="stable")
    return of_measure.drop_duplicates("retriever")


def _noise(row: Any) -> str:
    """A noise and its level in words."""
    return f"{row['noise']} {percent(row['level'])}"


def findings(result: StudyResult) -> list[str]:
    """What the numbers amount to."""
    sentences = []
    for measure in result.measures:
        for _, row in _worst(result, measure).iterrows():
            tested = (
                f"{Measure.parse(measure)} {signed(row['change'])} "
                f"{interval(row['low'], row['high'])} ({p_value(row['p'])}, N = {row['n']})"
            )
            costs = "costs most" if row["change"] < 0 else "costs nothing"
            sentences.append(f"{label(row['retriever'])}: {_noise(row)} {costs}, {tested}.")
        sentences += _of_order(result, measure)
    emptied = texts(result)
    emptied = emptied[emptied["empty"] > 0]
    sentences += [
        f"{percent(row['empty'], 1)} of the queries have no known word left under {_noise(row)}."
        for _, row in emptied.iterrows()
    ] or ["No noise leaves a query without a word that the collection knows."]
    return sentences


def _of_order(result: StudyResult, measure: str) -> list[str]:
    """Whom shuffled words move, and whom they do not: who reads words alone must stay."""
    frame = changes(result)
    shuffled = frame[(frame["measure"] == measure) & (frame["noise"] == "shuffle")]
    if not len(shuffled):
        return []
    unmoved = [name for name in names(result) if _is_unmoved(result, name, measure)]
    parts = []
    if unmoved:
        parts.append(f"change no query's value for {listed([label(name) for name in unmoved])}")
    for name in names(result):
        if name not in unmoved:
            greatest = (
                shuffled[shuffled["retriever"] == name].sort_values("change", key=abs).iloc[-1]
            )
            parts.append(
                f"change {label(name)} by {signed(greatest['change'])} at "
                f"{percent(greatest['level'])} ({p_value(greatest['p'])})"
            )
    return [f"{Measure.parse(measure)}: shuffled words {listed(parts)}."]


def _is_unmoved(result: StudyResult, name: str, measure: str) -> bool:
    """Whether no query's value changes under any shuffling of its words."""
    plain = result.draws(name, CLEAN, 0.0, measure)
    shuffled = [
        result.draws(name, noise, level, measure)
        for noise, level in _points(result)
        if noise == "shuffle"
    ]
    return all(np.array_equal(values, plain[: len(values)], equal_nan=True) for values in shuffled)
