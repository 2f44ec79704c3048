"""Shared sections of studies of retrievers: display names and sparsity checks."""

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
    Column("dense_in_disguise", "Not sparse", tables.FLAG, "Fails a sparsity check."),
    Column("failed", "Why not sparse", tables.TEXT, "The failed sparsity checks."),
)
"""Columns of `gates_of`."""

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
"""Columns of a tested change: `paired_differences.mean_differences`."""


UNPRUNED = ", before pruning"
"""Suffix of the name of a learnt index before its vectors are pruned."""


def label(name: str) -> str:
    """Display name of a retriever.

    >>> label("snrm@small"), label("gone"), label("snrm@small, before pruning")
    ('SNRM small', 'gone', 'SNRM small, before pruning')
    """
    if name.endswith(UNPRUNED):
        return label(name.removesuffix(UNPRUNED)) + UNPRUNED
    try:
        return retriever_entry(name).label
    except ShuffleproofError:
        return name  # stored by a version that knew other retrievers


def sources(name: str) -> tuple[str, ...]:
    """Sources of a retriever and its members; empty for an unknown one.

    >>> sources("interpolated:bm25+lsi")[0], sources("gone")
    ('Fox & Shaw, TREC 1994', ())
    """
    try:
        entry = retriever_entry(name)
    except ShuffleproofError:
        return ()
    return tuple(dict.fromkeys([entry.source, *(member.source for member in entry.members)]))


def with_display_names(frame: pd.DataFrame) -> pd.DataFrame:
    """Frame with the display names of retrievers."""
    columns = [column for column in ("retriever", "first", "second") if column in frame]
    return frame.assign(**{column: frame[column].map(label) for column in columns})


def names(result: StudyResult) -> list[str]:
    """Retrievers of the result, in the requested order."""
    return list(dict.fromkeys(ranker for ranker, *_ in result.points))


def gates_of(result: StudyResult, name: str, family: str, level: float) -> dict[str, Any]:
    """Sparsity checks of a point's index by the costs of its queries; empty without an index.

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
    """Numbers of the sparsity checks, in the order of `Gates`, with their verdict."""
    from shuffleproof.core.retrieval.gates import Gates  # noqa: PLC0415 (loads Numba)

    gates, words = Gates(*map(float, numbers)), result.facts.get("gates_of_words")
    failed = gates.failures(Gates(**words) if words else None)
    return asdict(gates) | {"dense_in_disguise": bool(failed), "failed": "; ".join(failed)}


def failing(gates: pd.DataFrame) -> pd.DataFrame:
    """Indexes that fail a sparsity check."""
    return gates[gates["dense_in_disguise"].astype(bool)]


def is_sparse(name: str) -> bool:
    """True if a retriever searches learnt dimensions; False for unknown ones."""
    base, _ = parse_name(name)
    return base in RETRIEVERS and RETRIEVERS[base].sparse


def dense_retrievers(gates: pd.DataFrame) -> list[str]:
    """Learnt sparse retrievers that fail a sparsity check."""
    dense = dict.fromkeys(map(str, failing(gates)["retriever"]))
    return [name for name in dense if is_sparse(name)]


def dense_headline(dense: list[str]) -> Headline:
    """Learnt retrievers that fail a sparsity check."""
    verb, fails = ("is", "it fails") if len(dense) == 1 else ("are", "they fail")
    names = listed([label(name) for name in dense])
    return Headline(f"{names} {verb} not sparse: {fails} the sparsity checks.")
