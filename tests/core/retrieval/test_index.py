"""The inverted index of learnt vectors against the dense product, and the gates of sparsity."""

from types import SimpleNamespace

import numpy as np
import pytest

from shuffleproof.core.errors import DataError
from shuffleproof.core.retrieval import postings as module
from shuffleproof.core.retrieval.gates import Gates
from shuffleproof.core.retrieval.postings import SparseIndex, sparse_rows
from shuffleproof.core.seeds import generator


def dense(seed, texts, width=50, share=0.15):
    """Rows with few entries; one in ten is empty, weights are eighths so that sums tie."""
    draw = generator(seed, "index")
    rows = draw.integers(1, 9, size=(texts, width)) / 8 * (draw.random((texts, width)) < share)
    rows[::10] = 0
    return rows.astype(np.float32)


@pytest.fixture(scope="module")
def documents():
    return dense(1, 300)


@pytest.fixture(scope="module")
def queries():
    return dense(2, 40, share=0.08)


@pytest.fixture(scope="module")
def index(documents):
    return SparseIndex.of(documents)


def gates_of(index, asked):
    """The gates of an index under queries that are vectors already."""
    retriever = SimpleNamespace(
        frequencies=index.document_frequency,
        document_terms=index.document_terms,
        dimensions=lambda _: np.split(asked.indices, asked.indptr[1:-1])[: asked.shape[0]],
        search=lambda _, k: index.search(asked, k),
    )
    return Gates.of(retriever, [""] * asked.shape[0], index.vectors.shape[0])


def by_definition(documents, queries, k):
    """(documents, scores) of each query: those with a score, the best first, ties by place."""
    found = []
    for scores in queries.astype(np.float64) @ documents.astype(np.float64).T:
        order = sorted(np.flatnonzero(scores), key=lambda place: (-scores[place], place))[:k]
        found.append((order, scores[order]))
    return found


@pytest.mark.parametrize("k", [1, 7, 1000])
def test_the_scores_are_those_of_the_dense_product(index, documents, queries, k):
    found = index.search(sparse_rows(queries), k)
    for query, (order, scores) in enumerate(by_definition(documents, queries, k)):
        own, own_scores = found.of(query)
        assert own.tolist() == list(order)
        assert own_scores == pytest.approx(scores, abs=1e-6)


def test_a_query_that_matches_nothing_is_counted_and_finds_nothing(index, queries):
    asked = sparse_rows(queries)
    found = index.search(asked, 5)
    empty = np.flatnonzero(np.diff(asked.indptr) == 0)
    assert set(range(0, 40, 10)) <= set(empty.tolist())
    assert [len(found.of(int(query))[0]) for query in empty] == [0] * len(empty)
    assert gates_of(index, asked).empty_share == len(empty) / 40


def test_why_a_document_has_its_score(index, queries):
    asked = sparse_rows(queries)
    found = index.search(asked, 3)
    for query in (1, 2, 3):
        own = sparse_rows(queries[[query]])
        documents, scores = found.of(query)
        for document, score in zip(documents, scores, strict=True):
            reasons = index.explain(own, int(document))
            added = [value for _, value in reasons]
            assert sum(added) == pytest.approx(score, abs=1e-6)
            assert added == sorted(added)[::-1]


def test_it_is_opened_where_it_lies_whole_or_not_at_all(index, queries, tmp_path):
    place = tmp_path / module.FILE
    index.save(place)
    again = SparseIndex.open(place)
    assert not again.postings.values.flags.writeable, "pages of the file"
    asked = sparse_rows(queries)
    assert again.search(asked, 9).scores.tobytes() == index.search(asked, 9).scores.tobytes()
    place.write_bytes(place.read_bytes()[:100])
    with pytest.raises(DataError, match=module.FILE):
        SparseIndex.open(place)


def test_no_documents_and_no_queries():
    none = sparse_rows(np.zeros((0, 4), np.float32))
    one = sparse_rows(np.ones((1, 4), np.float32))
    assert SparseIndex.of(none).search(one, 3).offsets.tolist() == [0, 0]
    assert SparseIndex.of(one).search(none, 3).offsets.tolist() == [0]
    assert gates_of(SparseIndex.of(none), none) == Gates(*[0.0] * 6)


def test_gates_by_their_definitions(index, documents, queries):
    gates = gates_of(index, sparse_rows(queries))
    frequency = (documents > 0).sum(axis=0)
    read = ((queries > 0) @ frequency).mean() / 300
    matched = ((queries @ documents.T) > 0).mean()
    assert gates.postings_per_query_over_n == pytest.approx(read)
    assert gates.largest_document_frequency == frequency.max() / 300
    assert gates.matched_share == pytest.approx(matched)
    assert gates.nonzeros_document == (documents > 0).sum(axis=1).mean()
    assert gates.nonzeros_query == (queries > 0).sum(axis=1).mean()
    assert len(gates.failures()) == 1, "empty texts"


def test_what_reads_everything_is_dense_in_disguise_however_many_zeros_it_has():
    rows = np.eye(100, 1000, dtype=np.float32)
    rows[:, 999] = 1  # 998 of 1,000 are zeros
    vectors = sparse_rows(rows)
    gates = gates_of(SparseIndex.of(vectors), vectors)
    assert gates.failures() == (
        "a dimension is in 100 % of the documents", "a query matches 100 % of the documents",
    )  # fmt: skip
