"""What studies of retrievers share in telling: what people call them, gates of their indexes."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.retrieval.name import parse_name
from shuffleproof.core.retrieval.registry import RETRIEVERS, retriever_entry
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.result import StudyResult, known_mean
from shuffleproof.core.studies.sections import Headline
from shuffleproof.core.studies.tables import Column
from shuffleproof.core.words import listed

RETRIEVER = Column("retriever", "Retriever")
MEASURE = Column("measure", "Measure")
MILLISECONDS = Column("milliseconds", "ms", ".3f", "A query, mean; searched one by one, here.")
GATES = (
    Column("postings_per_query_over_n", "Postings / N", ".2f", "Read per query; at most 2."),
    Column("largest_document_frequency", "Largest df", tables.SHARE, "Of N; at most 50 %."),
    Column("matched_share", "Matched", tables.SHARE, "Documents per query; at most 90 %."),
    Column("empty_share", "Empty", tables.SHARE, "Queries or documents, the larger; below 1 %."),
    Column("nonzeros_document", "Terms a document", ".1f", "Dimensions that are not zero."),
    Column("nonzeros_query", "Terms a query", ".1f", "Dimensions that are not zero."),
    Column("dense_in_disguise", "Dense in disguise", tables.FLAG, "It fails a gate."),
    Column("failed", "Why not sparse", tables.TEXT, "The gates that it does not pass."),
)
"""Of an index: `gates_of`."""

MEANS = (
    MEASURE,
    Column("mean", "Mean", tables.VALUE, "Over queries, after the mean over seeds."),
    *tables.bounds(),
    tables.QUERIES,
)
TESTED = (
    *tables.bounds(spec=tables.CHANGE, words="95 %, paired t, adjusted by Holm."),
    Column("p", "p", tables.P, tables.HOLM),
    tables.QUERIES,
)
"""What stands behind a change: `paired_differences.mean_differences`."""


def label(name: str) -> str:
    """What people call a retriever.

    >>> label("snrm@small"), label("gone")
    ('SNRM small', 'gone')
    """
    try:
        return retriever_entry(name).label
    except ShuffleproofError:
        return name  # of a program that knew another one


def sources(name: str) -> tuple[str, ...]:
    """Whom a retriever is from, and those that it is made of; nobody of an unknown one.

    >>> sources("interpolated:bm25+lsi")[0], sources("gone")
    ('Fox & Shaw, TREC 1994', ())
    """
    try:
        entry = retriever_entry(name)
    except ShuffleproofError:
        return ()
    return tuple(dict.fromkeys([entry.source, *(member.source for member in entry.members)]))


def with_display_names(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame with what people call the retrievers."""
    columns = [column for column in ("retriever", "first", "second") if column in frame]
    return frame.assign(**{column: frame[column].map(label) for column in columns})


def names(result: StudyResult) -> list[str]:
    """The retrievers that are there, in the order asked for."""
    return list(dict.fromkeys(ranker for ranker, *_ in result.points))


def compared_retrievers(recipe: Mapping[str, Any]) -> str:
    """The retrievers of a study, each with whom it is from."""
    sourced = [f"{label(name)} ({retriever_entry(name).source})" for name in recipe["retrievers"]]
    return "; ".join(sourced)


def gates_of(result: StudyResult, name: str, family: str, level: float) -> dict[str, Any]:
    """The gates of a point's index by what each query cost; none of what reads no postings."""
    from shuffleproof.core.retrieval.gates import Gates  # noqa: PLC0415 (loads Numba)

    def mean(cost: str) -> float:
        return known_mean(result.per_query(name, family, level, cost))

    documents = result.facts["documents"]
    if np.isnan(mean("postings")):
        return {}
    no_terms = result.per_query(name, family, level, "nonzeros") == 0
    gates = Gates(
        postings_per_query_over_n=mean("postings") / documents,
        largest_document_frequency=mean("largest") / documents,
        matched_share=mean("matched") / documents,
        empty_share=max(mean("empty"), float(no_terms.mean())),
        nonzeros_document=mean("nonzeros_document"),
        nonzeros_query=mean("nonzeros"),
    )
    verdict = {"dense_in_disguise": gates.dense_in_disguise, "failed": "; ".join(gates.failures)}
    return asdict(gates) | verdict


def failing(gates: pd.DataFrame) -> pd.DataFrame:
    """The indexes that do not pass a gate."""
    return gates[gates["dense_in_disguise"].astype(bool)]


def is_sparse(name: str) -> bool:
    """Whether a retriever searches learnt dimensions; none does that this program does not know."""
    base, _ = parse_name(name)
    return base in RETRIEVERS and RETRIEVERS[base].sparse


def dense_retrievers(gates: pd.DataFrame) -> list[str]:
    """The learnt sparse retrievers that fail a gate."""
    dense = dict.fromkeys(map(str, failing(gates)["retriever"]))
    return [name for name in dense if is_sparse(name)]


def dense_headline(dense: list[str]) -> Headline:
    """That retrievers only look sparse."""
    verb = "is" if len(dense) == 1 else "are"
    return Headline(f"{listed([label(name) for name in dense])} {verb} dense in disguise.")
