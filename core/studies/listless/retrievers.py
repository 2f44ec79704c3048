"""What studies of retrievers share in telling: what people call them, gates of their indexes."""

from collections.abc import Sequence
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
OR = ", or as many as the index of words"
GATES = (
    Column("postings_per_query_over_n", "Postings / N", ".2f", f"Read per query; at most 2{OR}."),
    Column("largest_document_frequency", "Largest df", tables.SHARE, f"Of N; at most 50 %{OR}."),
    Column("matched_share", "Matched", tables.SHARE, f"Documents per query; at most 90 %{OR}."),
    Column("empty_share", "Empty", tables.SHARE, "Queries or documents, the larger; below 1 %."),
    Column("nonzeros_document", "Terms a document", ".1f", "Dimensions that are not zero."),
    Column("nonzeros_query", "Terms a query", ".1f", "Dimensions that are not zero."),
    Column("dense_in_disguise", "Not sparse", tables.FLAG, "It fails a sparsity check."),
    Column("failed", "Why not sparse", tables.TEXT, "The failed sparsity checks."),
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


UNPRUNED = ", before pruning"
"""The end of the name of a learnt index whose vectors are not pruned yet."""


def label(name: str) -> str:
    """What people call a retriever.

    >>> label("snrm@small"), label("gone"), label("snrm@small, before pruning")
    ('SNRM small', 'gone', 'SNRM small, before pruning')
    """
    if name.endswith(UNPRUNED):
        return label(name.removesuffix(UNPRUNED)) + UNPRUNED
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


def gates_of(result: StudyResult, name: str, family: str, level: float) -> dict[str, Any]:
    """The sparsity checks of a point's index by the costs of its queries; empty without an index.

    An index of words is the reference of the checks and fails none.
    """

    def mean(cost: str) -> float:
        return known_mean(result.per_query(name, family, level, cost))

    documents = result.facts["documents"]
    if np.isnan(mean("postings")):
        return {}
    no_terms = result.per_query(name, family, level, "nonzeros") == 0
    numbers = (
        mean("postings") / documents,
        mean("largest") / documents,
        mean("matched") / documents,
        max(mean("empty"), float(no_terms.mean())),
        mean("nonzeros_document"),
        mean("nonzeros"),
    )
    checks = sparsity_checks(result, numbers)
    is_reference = family == "retrieval" and not is_sparse(name)
    return checks | {"dense_in_disguise": False, "failed": ""} if is_reference else checks


def sparsity_checks(result: StudyResult, numbers: Sequence[float]) -> dict[str, Any]:
    """The numbers of the sparsity checks, in the order of `Gates`, with their verdict."""
    from shuffleproof.core.retrieval.gates import Gates  # noqa: PLC0415 (loads Numba)

    gates, words = Gates(*map(float, numbers)), result.facts.get("gates_of_words")
    failed = gates.failures(Gates(**words) if words else None)
    return asdict(gates) | {"dense_in_disguise": bool(failed), "failed": "; ".join(failed)}


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
    """Learnt retrievers that fail a sparsity check."""
    verb, fails = ("is", "it fails") if len(dense) == 1 else ("are", "they fail")
    names = listed([label(name) for name in dense])
    return Headline(f"{names} {verb} not sparse: {fails} the sparsity checks.")
