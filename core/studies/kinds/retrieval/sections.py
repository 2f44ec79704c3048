"""Sections of a study of retrievers: sparsity checks first, then effectiveness, tests and cost."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from shuffleproof.core.metrics.significance import ALPHA, holm, paired_t
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.kinds.retrieval.study import (
    BEFORE_PRUNING,
    FREQUENCIES,
    TERMS,
    spread_of_terms,
)
from shuffleproof.core.studies.listless import retrievers
from shuffleproof.core.studies.listless.retrievers import (
    UNPRUNED,
    label,
    names,
    with_display_names,
)
from shuffleproof.core.studies.result import StudyResult, known_mean
from shuffleproof.core.studies.sections import Convention, Headline, Picture, Section, View
from shuffleproof.core.studies.table_text import records
from shuffleproof.core.studies.tables import Cell, Column, Table
from shuffleproof.core.words import number

LETTERS = "abcdefghijklmnopqrstuvwxyz"
GATES = (retrievers.RETRIEVER, *retrievers.GATES)
TERM_COLUMNS = (
    retrievers.RETRIEVER,
    Column("of", "Of a"),
    Column("mean", "Mean", ".1f", "Dimensions that are not zero."),
    Column("sd", "sd", ".1f", "Standard deviation."),
    Column("least", "Least", ".0f"),
    Column("low", "25 %", ".0f", "Quartile."),
    Column("median", "Median", ".0f"),
    Column("high", "75 %", ".0f", "Quartile."),
    Column("most", "Most", ".0f"),
)
COST_COLUMNS = (
    retrievers.RETRIEVER,
    retrievers.MILLISECONDS,
    Column("matched_share", "Matched", tables.SHARE, "Documents per query, mean."),
    Column("empty_queries", "Nothing found", tables.SHARE, "Queries that match no document."),
)
SUMMARY = (retrievers.RETRIEVER, *retrievers.MEANS)
COMPARISONS = (
    retrievers.MEASURE,
    Column("first", "Retriever"),
    Column("second", "Compared with"),
    Column("difference", "Difference", tables.CHANGE),
    Column("p", "p", tables.P, tables.HOLM),
    Column("effect", "d", tables.EFFECT, "Cohen's d of the differences."),
    tables.QUERIES,
)


def headline(result: StudyResult, view: View) -> Headline:
    """Best retriever by the first measure, unless a learnt index is not sparse."""
    if dense := retrievers.dense_retrievers(pruned(gates(result))):
        return retrievers.dense_headline(dense)
    measure, means = view.measure(result), summary(result)
    of_measure = means[means["measure"] == measure].set_index("retriever")["mean"]
    falling = of_measure.sort_values(ascending=False, kind="stable").head(2)
    best, *others = [(str(name), float(mean)) for name, mean in falling.items()]
    text = f"{label(best[0])} is best: {measure} {number(best[1])}"
    for name, mean in others:
        tested: Any = comparisons(result).set_index(["measure", "first", "second"])["p"]
        chance = "" if tested[measure, best[0], name] <= ALPHA else ", not significant"
        text += f", {label(name)} {number(mean)}{chance}"
    return Headline(f"{text}.")


def sections(result: StudyResult, _view: View) -> Iterator[Section]:
    """Sections of the result, in display order."""
    read, means = gates(result), with_display_names(summary(result))
    if len(read):
        title = "Sparsity of each index"
        yield Table(with_display_names(read), GATES, title)
        title = "Terms of documents and of queries"
        yield Table(with_display_names(terms(result)), TERM_COLUMNS, title)
    yield effectiveness(result)
    yield Picture("retrieval", (means, result.measures[0]))
    for measure in result.measures:
        yield Convention.of(measure, int(result.facts["queries"]))
    yield Table(with_display_names(costs(result)), COST_COLUMNS, "Cost of a query")
    spreads = frequencies(result)
    if len(spreads):
        yield Picture("postings", (with_display_names(spreads),))
    tested = comparisons(result)
    if len(tested):
        yield Table(
            with_display_names(tested),
            COMPARISONS,
            "Significance",
            folded=True,
        )
    yield Table(means, SUMMARY, "All numbers", folded=True)


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """Answer of the command in JSON."""
    return {
        "summary": records(summary(result)),
        "gates": records(gates(result)),
        "terms": records(terms(result)),
        "costs": records(costs(result)),
        "frequencies": records(frequencies(result)),
        "comparisons": records(comparisons(result)),
    }


def summary(result: StudyResult) -> pd.DataFrame:
    """Retriever, measure, mean, interval and number of queries."""
    frame = result.summary().rename(columns={"ranker": "retriever"})
    return frame[tables.keys(SUMMARY)]


def _mean_of(result: StudyResult, name: str, what: str) -> np.ndarray:
    """Mean over seeds, per query."""
    return np.asarray(result.per_query(name, "retrieval", 0.0, what), np.float64)


def costs(result: StudyResult) -> pd.DataFrame:
    """Milliseconds per query, share of matched documents, share of queries without any match."""
    rows = []
    for name in names(result):
        time, matched = (_mean_of(result, name, cost) for cost in ("milliseconds", "matched"))
        share = known_mean(matched) / result.facts["documents"]
        rows.append((name, known_mean(time), share, float((matched == 0).mean())))
    return pd.DataFrame(rows, columns=tables.keys(COST_COLUMNS))


def frequencies(result: StudyResult) -> pd.DataFrame:
    """Share of documents by rank of the dimension, the most frequent first, per inverted index.

    Words follow Zipf's law; an index with a flat, high curve reads many postings for every query.
    """
    rows = [
        {"retriever": name, "rank": int(rank), "share": count / result.facts["documents"]}
        for name, spread in result.facts.get(FREQUENCIES, {}).items()
        for rank, count in zip(*spread, strict=True)
    ]
    return pd.DataFrame(rows, columns=["retriever", "rank", "share"])


def gates(result: StudyResult) -> pd.DataFrame:
    """Sparsity checks of every retriever with an inverted index.

    A learnt retriever that prunes its vectors has a second row, before pruning.
    """
    rows = []
    for name in names(result):
        if of_index := retrievers.gates_of(result, name, "retrieval", 0.0):
            rows.append({"retriever": name} | of_index)
        if before := result.facts.get(BEFORE_PRUNING, {}).get(name):
            rows.append({"retriever": name + UNPRUNED} | retrievers.sparsity_checks(result, before))
    return pd.DataFrame(rows, columns=tables.keys(GATES))


def pruned(read: pd.DataFrame) -> pd.DataFrame:
    """Rows of `gates` for the searched index: without those before pruning."""
    return read[~read["retriever"].str.endswith(UNPRUNED)]


def terms(result: StudyResult) -> pd.DataFrame:
    """Number of dimensions of documents and queries, for every retriever with an index.

    Documents are left out if the study was stored without them.
    """
    rows = []
    for name in pruned(gates(result))["retriever"]:
        of_queries = spread_of_terms(_mean_of(result, name, "nonzeros"))
        spreads = {"document": result.facts.get(TERMS, {}).get(name), "query": of_queries}
        rows += [
            (name, text, *map(float, spread))
            for text, spread in spreads.items()
            if spread is not None
        ]
    return pd.DataFrame(rows, columns=tables.keys(TERM_COLUMNS))


def comparisons(result: StudyResult) -> pd.DataFrame:
    """Tests of every pair of retrievers in both directions, adjusted together per measure."""
    rows = []
    for measure in result.measures:
        values = {name: _mean_of(result, name, measure) for name in names(result)}
        pairs = list(combinations(values, 2))
        tests = [paired_t(values[first], values[second]) for first, second in pairs]
        adjusted = holm(np.array([test.p_value for test in tests]))
        for (first, second), test, p in zip(pairs, tests, adjusted.tolist(), strict=True):
            rows += [
                (measure, name, other, sign * test.difference, p, sign * test.effect_size, test.n)
                for name, other, sign in ((first, second, 1), (second, first, -1))
            ]
    return pd.DataFrame(rows, columns=tables.keys(COMPARISONS))


def effectiveness(result: StudyResult) -> Table:
    """Table of the paper: rows of retrievers, columns of measures, letters of those below."""
    tested, means = comparisons(result), summary(result)
    letter = dict(zip(names(result), LETTERS, strict=False))
    rows = []
    for name in names(result):
        row: dict[str, Any] = {"retriever": f"{letter[name]} {label(name)}"}
        for measure in result.measures:
            at = means[means["measure"] == measure].set_index("retriever")["mean"]
            above = tested[(tested["measure"] == measure) & (tested["first"] == name)
                           & (tested["difference"] > 0) & (tested["p"] <= ALPHA)]  # fmt: skip
            marks = "".join(letter[other] for other in above["second"])
            row[measure] = str(Cell(number(at[name]), bool(at[name] == at.max()), marks))
        rows.append(row)
    columns = (retrievers.RETRIEVER, *(Column(measure, measure) for measure in result.measures))
    notes = (
        "* best; letters: significantly better than these retrievers (paired t, Holm over all "
        "pairs of a column)."
    )
    frame = pd.DataFrame(rows, columns=tables.keys(columns))
    return Table(frame, columns, "Effectiveness", [notes])
