import numpy as np
import pytest

from shuffleproof.core.data import browse
from shuffleproof.core.data.text import TextColumn
from tests.core.data.test_doctor import make


def made(lengths, labels=None, documents=None, names=None):
    docs = int(np.sum(lengths))
    labels = np.zeros(docs) if labels is None else labels
    names = tuple(names or (f"q{query}" for query in range(len(lengths))))
    return make(np.zeros((docs, 2)), labels, lengths, query_ids=names, doc_ids=documents)


def test_the_table_is_what_a_loop_counts():
    generator = np.random.default_rng(3)
    lengths = generator.integers(0, 9, 50)
    dataset = made(lengths, generator.integers(-1, 4, lengths.sum()))
    table = browse.query_table(dataset)
    for query in range(50):
        labels = dataset.labels[slice(*dataset.offsets[query : query + 2])].tolist()
        counts = (len(labels), sum(label > 0 for label in labels), max(labels, default=-np.inf))
        assert (table.documents[query], table.relevant[query], table["best label"][query]) == counts


def test_queries_are_found_by_part_of_their_id_exact_ones_first():
    dataset = made([1] * 5, names=["10", "Topic 1", "1", "<b>1</b>", "x"])
    assert browse.matching_queries(dataset, " 1 ").tolist() == [2, 0, 1, 3]
    assert browse.matching_queries(dataset, "TOPIC").tolist() == [1]
    assert browse.matching_queries(dataset, "<B>").tolist() == [3]
    assert browse.matching_queries(dataset, "nothing").tolist() == []


DOCUMENTS = ["GX01", "gx01-02", "", "über", "a.c", "abc", "GX01GX01"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("gx01", [0, 1, 6]),
        ("GX01-", [1]),
        ("über", [3]),
        (".", [4]),  # a text, no pattern
        ("1g", [6]),
        ("02ü", []),
        ("", list(range(7))),
    ],
)
def test_documents_are_found_by_part_of_their_id(text, found):
    dataset = made([3, 4], documents=TextColumn.of(DOCUMENTS))
    assert browse.matching_documents(dataset, text).tolist() == found


def test_documents_are_found_in_any_order_of_their_bytes_and_at_most_so_many(monkeypatch):
    column = TextColumn.of(DOCUMENTS).take(np.array([6, 5, 4, 3, 2, 1, 0]))
    dataset = made([3, 4], documents=column)
    assert browse.matching_documents(dataset, "gx").tolist() == [0, 5, 6]
    monkeypatch.setattr(browse, "MOST_FOUND", 2)
    assert browse.matching_documents(dataset, "gx").tolist() == [0, 5]
    assert browse.matching_documents(made([3]), "gx").tolist() == []


def test_documents_are_found_by_part_of_their_id_or_by_another_whole_id():
    dataset = made([3, 4], documents=TextColumn.of(DOCUMENTS))
    others = {DOCUMENTS[4], DOCUMENTS[5][:-1]}
    assert browse.matching_documents(dataset, "über", others).tolist() == [3, 4]
