"""A study of retrievers, told: gates of sparsity first, then effectiveness, tests and cost."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.significance import holm, paired_t
from shuffleproof.core.retrieval.gates import Gates
from shuffleproof.core.retrieval.name import parse_name
from shuffleproof.core.retrieval.registry import RETRIEVERS, retriever_entry
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.collection_study import DEPTH
from shuffleproof.core.studies.kinds.retrieval.study import (
    COSTS,
    FREQUENCIES,
    TERMS,
    spread_of_terms,
)
from shuffleproof.core.studies.result import StudyResult, known_mean
from shuffleproof.core.studies.retriever_names import RETRIEVER, label, names, with_display_names
from shuffleproof.core.studies.sections import (
    Convention,
    Finding,
    Headline,
    Picture,
    Section,
    View,
)
from shuffleproof.core.studies.table_text import records
from shuffleproof.core.studies.tables import Cell, Column, Table
from shuffleproof.core.words import counted, listed, number, p_value, percent, signed

ALPHA = 0.05
LETTERS = "abcdefghijklmnopqrstuvwxyz"
MILLISECONDS = Column("milliseconds", "ms", ".3f", "A query, mean; searched one by one, here.")
GATES = (
    RETRIEVER,
    Column("postings_per_query_over_n", "Postings / N", ".2f", "Read per query; at most 2."),
    Column("largest_document_frequency", "Largest df", tables.SHARE, "Of N; at most 50 %."),
    Column("matched_share", "Matched", tables.SHARE, "Documents per query; at most 90 %."),
    Column("empty_share", "Empty", tables.SHARE, "Queries or documents, the larger; below 1 %."),
    Column("nonzeros_document", "Terms a document", ".1f", "Dimensions that are not zero."),
    Column("nonzeros_query", "Terms a query", ".1f", "Dimensions that are not zero."),
    Column("dense_in_disguise", "Dense in disguise", tables.FLAG, "It fails a gate."),
    Column("failed", "Why not sparse", tables.TEXT, "The gates that it does not pass."),
)
TERM_COLUMNS = (
    RETRIEVER,
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
    RETRIEVER,
    MILLISECONDS,
    Column("matched_share", "Matched", tables.SHARE, "Documents per query, mean."),
    Column("empty_queries", "Nothing found", tables.SHARE, "Queries that match no document."),
)
SUMMARY = (
    RETRIEVER,
    Column("measure", "Measure"),
    Column("mean", "Mean", tables.VALUE, "Over queries, after the mean over seeds."),
    *tables.bounds(),
    tables.QUERIES,
)
COMPARISONS = (
    Column("measure", "Measure"),
    Column("first", "Retriever"),
    Column("second", "Compared with"),
    Column("difference", "Difference", tables.CHANGE),
    Column("p", "p", tables.P, tables.HOLM),
    Column("effect", "d", tables.EFFECT, "Cohen's d of the differences."),
    tables.QUERIES,
)


def headline(result: StudyResult, view: View) -> Headline:
    """The best retriever by the first measure, unless a sparse one is dense in disguise."""
    dense = dense_retrievers(result)
    if dense:
        verb = "is" if len(dense) == 1 else "are"
        return Headline(f"{listed([label(name) for name in dense])} {verb} dense in disguise.")
    measure = view.measure(result)
    found = summary(result)
    found = found[found["measure"] == measure].sort_values("mean", ascending=False, kind="stable")
    first = found.iloc[0]
    text = f"{label(first['retriever'])} is best: {measure} {number(first['mean'])}"
    if len(found) > 1:
        second = found.iloc[1]
        tested = comparisons(result)
        pair = tested[(tested["measure"] == measure) & (tested["first"] == first["retriever"])
                      & (tested["second"] == second["retriever"])]  # fmt: skip
        chance = "" if (pair["p"] <= ALPHA).all() else ", which may be chance"
        text += f", {label(second['retriever'])} {number(second['mean'])}{chance}"
    return Headline(f"{text}.")


def sections(result: StudyResult, _view: View) -> Iterator[Section]:
    """What is said of a study, in order."""
    read = gates(result)
    found = summary(result)
    yield from map(Finding, findings(result))
    if len(read):
        yield Table(
            with_display_names(read), GATES, "What an index reads and matches", notes_on(read)
        )
        yield Table(
            with_display_names(terms(result)), TERM_COLUMNS, "Terms of documents and of queries"
        )
    yield effectiveness(result)
    yield Picture("retrieval", (with_display_names(found), result.measures[0]))
    for measure in result.measures:
        yield Convention.of(measure, int(result.facts["queries"]))
    yield Table(with_display_names(costs(result)), COST_COLUMNS, "What a query costs")
    spreads = frequencies(result)
    if len(spreads):
        yield Picture("postings", (with_display_names(spreads),))
    tested = comparisons(result)
    if len(tested):
        yield Table(with_display_names(tested), COMPARISONS, "Is it more than chance?", folded=True)
    yield Table(with_display_names(found), SUMMARY, "Every number", folded=True)


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """What the command answers in JSON."""
    return {
        "summary": records(summary(result)),
        "gates": records(gates(result)),
        "terms": records(terms(result)),
        "costs": records(costs(result)),
        "frequencies": records(frequencies(result)),
        "comparisons": records(comparisons(result)),
        "findings": findings(result),
    }


def methods_text(recipe: Mapping[str, Any], _facts: Mapping[str, Any]) -> str:
    """What is done, as a paper would say it."""
    told = [f"{label(name)} ({retriever_entry(name).source})" for name in recipe["retrievers"]]
    return (
        f"Compared are {'; '.join(told)}, each with its best {DEPTH:,} documents. Queries are "
        f"split into two folds, by {counted(recipe['seeds'], 'seed')}; what a retriever fits to "
        "judgments it fits to the other fold alone. Unjudged documents are not relevant, and a "
        "query that matches nothing counts as an empty list."
    )


def summary(result: StudyResult) -> pd.DataFrame:
    """Retriever, measure, mean, interval and number of queries."""
    frame = result.summary().rename(columns={"ranker": "retriever"})
    return frame[tables.keys(SUMMARY)]


def _mean_of(result: StudyResult, name: str, what: str) -> np.ndarray:
    """Of every query, the mean over seeds."""
    return np.asarray(result.per_query(name, "retrieval", 0.0, what), np.float64)


def costs(result: StudyResult) -> pd.DataFrame:
    """Milliseconds a query, share of documents matched, share of queries that find nothing."""
    rows = []
    for name in names(result):
        matched = _mean_of(result, name, "matched")
        rows.append(
            {"retriever": name, "milliseconds": known_mean(_mean_of(result, name, "milliseconds")),
             "matched_share": known_mean(matched) / result.facts["documents"],
             "empty_queries": float((matched == 0).mean())}
        )  # fmt: skip
    return pd.DataFrame(rows, columns=tables.keys(COST_COLUMNS))


def frequencies(result: StudyResult) -> pd.DataFrame:
    """Of every inverted index the share of documents by rank of the dimension, the commonest first.

    Words follow Zipf's law; an index whose line is flat and high reads much for every query.
    """
    rows = [
        {"retriever": name, "rank": int(rank), "share": count / result.facts["documents"]}
        for name, spread in result.facts.get(FREQUENCIES, {}).items()
        for rank, count in zip(*spread, strict=True)
    ]
    return pd.DataFrame(rows, columns=["retriever", "rank", "share"])


def gates(result: StudyResult) -> pd.DataFrame:
    """The gates of every retriever that reads an inverted index."""
    rows = []
    for name in names(result):
        values = {one: _mean_of(result, name, one) for one in COSTS}
        if not np.isnan(known_mean(values["postings"])):
            rows.append({"retriever": name} | gates_of(values, result.facts["documents"]))
    return pd.DataFrame(rows, columns=tables.keys(GATES))


def notes_on(read: pd.DataFrame) -> list[str]:
    """What the gates are for, where an index of words does not pass them."""
    failed = read[read["dense_in_disguise"].astype(bool)]["retriever"]
    words = [label(name) for name in map(str, failed) if not is_sparse(name)]
    if not words:
        return []
    verb = "does" if len(words) == 1 else "do"
    why = "some words are in many documents of this collection, which costs time and hides nothing"
    return [f"The gates judge learnt indexes. {listed(words)} {verb} not pass them: {why}."]


def terms(result: StudyResult) -> pd.DataFrame:
    """How many dimensions documents and queries have under every retriever with an index.

    Documents are left out where a study was stored without them.
    """
    rows = []
    for name in gates(result)["retriever"]:
        asked = _mean_of(result, name, "nonzeros")
        own = {"document": result.facts.get(TERMS, {}).get(name), "query": spread_of_terms(asked)}
        rows += [
            dict(zip(tables.keys(TERM_COLUMNS), (name, of, *map(float, told)), strict=True))
            for of, told in own.items()
            if told is not None
        ]
    return pd.DataFrame(rows, columns=tables.keys(TERM_COLUMNS))


def gates_of(values: Mapping[str, np.ndarray], documents: int) -> dict[str, Any]:
    """The gates of an index by what each query cost: fields of `Gates`, and whether they are kept.

    Args:
        values: `COSTS` of every query.
        documents: of the collection.
    """
    of = {one: known_mean(own) for one, own in values.items()}
    found = Gates(
        postings_per_query_over_n=of["postings"] / documents,
        largest_document_frequency=of["largest"] / documents,
        matched_share=of["matched"] / documents,
        empty_share=max(of["empty"], float((values["nonzeros"] == 0).mean())),
        nonzeros_document=of["nonzeros_document"],
        nonzeros_query=of["nonzeros"],
    )
    kept = {"dense_in_disguise": found.dense_in_disguise, "failed": "; ".join(found.failures)}
    return asdict(found) | kept


def dense_retrievers(result: StudyResult) -> list[str]:
    """The learnt sparse retrievers that fail a gate."""
    found = gates(result)
    dense = found[found["dense_in_disguise"].astype(bool)]["retriever"]
    return [name for name in map(str, dense) if is_sparse(name)]


def is_sparse(name: str) -> bool:
    """Whether a retriever searches learnt dimensions; none does that this program does not know."""
    base, _ = parse_name(name)
    return base in RETRIEVERS and RETRIEVERS[base].sparse


def comparisons(result: StudyResult) -> pd.DataFrame:
    """Every pair of retrievers under every measure, both ways round, tested together by measure."""
    rows = []
    for measure in result.measures:
        values = {name: _mean_of(result, name, measure) for name in names(result)}
        pairs = list(combinations(values, 2))
        tests = [paired_t(values[first], values[second]) for first, second in pairs]
        adjusted = holm(np.array([one.p_value for one in tests]))
        for (first, second), test, p in zip(pairs, tests, adjusted.tolist(), strict=True):
            both = ((first, second, 1), (second, first, -1))
            rows += [
                {"measure": measure, "first": one, "second": other, "p": p, "n": test.n,
                 "difference": sign * test.difference, "effect": sign * test.effect_size}
                for one, other, sign in both
            ]  # fmt: skip
    return pd.DataFrame(rows, columns=tables.keys(COMPARISONS))


def effectiveness(result: StudyResult) -> Table:
    """The paper's table: a row a retriever, a column a measure, letters of those surely below."""
    tested, found = comparisons(result), summary(result)
    own = names(result)
    letter = dict(zip(own, LETTERS, strict=False))
    rows = []
    for name in own:
        row: dict[str, Any] = {"retriever": f"{letter[name]} {label(name)}"}
        for measure in result.measures:
            at = found[found["measure"] == measure].set_index("retriever")["mean"]
            above = tested[(tested["measure"] == measure) & (tested["first"] == name)
                           & (tested["difference"] > 0) & (tested["p"] <= ALPHA)]  # fmt: skip
            marks = "".join(letter[other] for other in above["second"])
            row[measure] = str(Cell(number(at[name]), bool(at[name] == at.max()), marks))
        rows.append(row)
    columns = (RETRIEVER, *(Column(measure, measure) for measure in result.measures))
    notes = (
        "* best; letters: better than these retrievers beyond chance (paired t, Holm over all "
        "pairs of a column)."
    )
    frame = pd.DataFrame(rows, columns=tables.keys(columns))
    return Table(frame, columns, "Effectiveness", [notes])


def findings(result: StudyResult) -> list[str]:
    """What the numbers amount to; the gates of learnt indexes first."""
    told, dense = gates(result), dense_retrievers(result)
    failed = dict(zip(told["retriever"], told["failed"], strict=True))
    said = [f"{label(name)} is dense in disguise: {failed[name]}." for name in dense]
    said += [
        f"{label(row['retriever'])} is sparse by all gates: a query reads "
        f"{row['postings_per_query_over_n']:.2f} postings a document and matches "
        f"{percent(row['matched_share'])} of the documents; the commonest dimension is in "
        f"{percent(row['largest_document_frequency'])}, and {percent(row['empty_share'], 1)} of "
        "the texts are empty."
        for row in told.to_dict("records")
        if is_sparse(row["retriever"]) and row["retriever"] not in dense
    ]
    tested = comparisons(result)
    for measure in result.measures:
        found = summary(result)
        found = found[found["measure"] == measure].sort_values(
            "mean", ascending=False, kind="stable"
        )
        best = found.iloc[0]
        text = f"{Measure.parse(measure)}: {label(best['retriever'])} {number(best['mean'])}"
        if len(found) > 1:
            second = found.iloc[1]
            pair = tested[(tested["measure"] == measure) & (tested["first"] == best["retriever"])
                          & (tested["second"] == second["retriever"])].iloc[0]  # fmt: skip
            text += (
                f", before {label(second['retriever'])} by {signed(pair['difference'])} "
                f"({p_value(pair['p'])}, N = {pair['n']}, paired t, Holm)"
            )
        said.append(f"{text}.")
    fast = costs(result).sort_values("milliseconds", kind="stable").iloc[0]
    said.append(f"{label(fast['retriever'])} is fastest: {fast['milliseconds']:.3f} ms a query.")
    return said
