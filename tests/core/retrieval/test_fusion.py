"""Retrievers made one: sums by their formulas, names, refusals, in commands and studies."""

from types import SimpleNamespace

import numpy as np
import pytest

from shuffleproof.core.errors import UnknownNameError, UsageError
from shuffleproof.core.retrieval import planted
from shuffleproof.core.retrieval.name import parse_fusion
from shuffleproof.core.retrieval.registry import (
    FusedRetriever,
    IndexedCollection,
    RankedDocuments,
    retriever_entry,
)
from shuffleproof.core.store.artefacts import Store

COLLECTION = planted.planted_collection()


def finds(*lists):
    """A retriever that finds these (document, score) for its queries."""
    own = [(np.array([d for d, _ in one], np.int32), np.array([s for _, s in one], np.float32))
           for one in lists]  # fmt: skip
    return SimpleNamespace(search=lambda _texts, _k: RankedDocuments.of_queries(own))


FIRST = finds([(4, 9.0), (2, 5.0), (7, 1.0)], [], [(1, 3.0)])
SECOND = finds([(7, 0.9), (4, 0.5), (3, 0.1)], [], [])


def told(ranked, query):
    documents, scores = ranked.of(query)
    return dict(zip(documents.tolist(), scores.tolist(), strict=True))


def test_reciprocal_ranks_are_summed_over_who_finds_a_document():
    found = FusedRetriever(parse_fusion("rrf-10:a+b"), [FIRST, SECOND]).search(["x"] * 3, 9)
    expected = {4: 1 / 11 + 1 / 12, 7: 1 / 13 + 1 / 11, 2: 1 / 12, 3: 1 / 13}
    assert told(found, 0) == pytest.approx(expected, abs=1e-7)
    assert list(told(found, 0)) == [4, 7, 2, 3]
    assert told(found, 1) == {}, "nobody finds anything"
    assert told(found, 2) == pytest.approx({1: 1 / 11}, abs=1e-7)
    few = FusedRetriever(parse_fusion("rrf-10:a+b"), [FIRST, SECOND]).search(["x"] * 3, 2)
    assert list(told(few, 0)) == [4, 7]


def test_scores_between_0_and_1_are_weighed():
    found = FusedRetriever(parse_fusion("interpolated-75:a+b"), [FIRST, SECOND]).search(
        ["x"] * 3, 9
    )
    expected = {4: 0.75 * 1 + 0.25 * 0.5, 2: 0.75 * 0.5, 7: 0.25 * 1, 3: 0.0}
    assert told(found, 0) == pytest.approx(expected, abs=1e-6)
    assert list(told(found, 0)) == [4, 2, 7, 3]
    assert told(found, 2) == pytest.approx({1: 0.75})


def test_names_print_back_and_find_the_networks_of_their_members(tmp_path):
    for text in ("rrf:bm25+snrm@small", "rrf-10:bm25+lsi+ql", "interpolated-70:bm25+lsi"):
        assert str(parse_fusion(text)) == text
        assert retriever_entry(text).name == text
    assert retriever_entry("rrf-10:bm25+lsi").label == "RRF-10(BM25, LSI)"
    assert retriever_entry("interpolated:bm25+lsi").label == "Interpolated(BM25, LSI)"
    indexed = IndexedCollection(COLLECTION, Store(tmp_path))
    assert retriever_entry("rrf:bm25+lsi").network(indexed) == ""
    assert retriever_entry("rrf:bm25+snrm@small").network(indexed) == retriever_entry(
        "snrm@small"
    ).network(indexed)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("rrf:bm25", UsageError), ("rrf:bm25+BM25", UsageError),
        ("rrf:bm25+bm52", UnknownNameError),
        ("interpolated-101:bm25+lsi", UsageError), ("interpolated:bm25+lsi+ql", UsageError),
        ("mean:bm25+lsi", UnknownNameError),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(name, error):
    with pytest.raises(error):
        retriever_entry(name)
