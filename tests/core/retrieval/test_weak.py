"""Weak queries and their labels: drawn alike, from the documents, scored as the formula says."""

from dataclasses import replace
from math import log

import numpy as np
import pytest

from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.errors import DataError, ParameterError
from shuffleproof.core.retrieval.collection import Collection
from shuffleproof.core.retrieval.recipe import Analysis
from shuffleproof.core.retrieval.registry import IndexedCollection
from shuffleproof.core.retrieval.weak import WeakRecipe, ppmi_embeddings, weak_supervision
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.artefacts import Store

PLAIN = Analysis("blanks", "none", "none")
RECIPE = WeakRecipe(queries=300, shortest=2, longest=4, depth=10)


def indexed_of(folder, texts, titles=None):
    ids = [str(place) for place in range(len(texts))]
    collection = Collection(
        "generated", TextColumn.of(ids), TextColumn.of(titles or [""] * len(texts)),
        TextColumn.of(texts), ("1",), ("w1 w2",), np.array([0, 0]), TextColumn.of([]),
        np.zeros(0, np.int32), np.zeros(0, np.int32), (), "weak" + str(len(texts)),
    )  # fmt: skip
    return IndexedCollection(replace(collection, analysis=PLAIN), Store(folder))


@pytest.fixture(scope="module")
def indexed(tmp_path_factory):
    """50 documents of five words of ten of their own topic, one of them empty."""
    draw = generator(5, "weak texts")
    texts = [
        " ".join(f"t{place % 5}w{word}" for word in draw.integers(0, 10, 12)) for place in range(50)
    ]
    return indexed_of(tmp_path_factory.mktemp("weak"), ["", *texts[1:]], ["", *["a title"] * 49])


def test_queries_are_of_the_declared_kinds_and_of_one_document(indexed):
    documents = [indexed.tokens.documents.of(place).tolist() for place in range(50)]
    told = {"spans": WeakRecipe(**vars(RECIPE) | {"spans": 1.0, "titles": 0.0}),
            "titles": WeakRecipe(**vars(RECIPE) | {"spans": 0.0, "titles": 1.0}),
            "bags": WeakRecipe(**vars(RECIPE) | {"spans": 0.0, "titles": 0.0})}  # fmt: skip
    made = {kind: weak_supervision(indexed, recipe).queries for kind, recipe in told.items()}
    texts = {kind: [one.of(place).tolist() for place in range(300)] for kind, one in made.items()}
    for one in texts["spans"]:
        assert any(
            one == own[start : start + len(one)] for own in documents for start in range(len(own))
        )
    title = indexed.tokens.encode(["a title"]).tokens.tolist()
    assert all(one == title for one in texts["titles"])
    for one in texts["bags"]:
        assert len(set(one)) == len(one)
        assert any(set(one) <= set(own) for own in documents)
    assert {len(one) for one in texts["spans"]} == {2, 3, 4}


def test_labels_are_query_likelihood(indexed):
    weak = weak_supervision(indexed, RECIPE)
    queries, *both = weak.triples(3, 40)
    documents = [indexed.tokens.documents.of(place).tolist() for place in range(50)]
    total = sum(map(len, documents))
    mu = total / 50

    def likelihood(query, document):
        own = documents[document]
        return sum(
            log((own.count(term) + mu * sum(one.count(term) for one in documents) / total)
                / (len(own) + mu))
            for term in weak.queries.of(query).tolist()
        )  # fmt: skip

    labels = weak.labeller.scores(weak.queries.take(queries), np.concatenate(both))
    for place, query in enumerate(queries.tolist()):
        for half, documents_of in enumerate(both):
            due = likelihood(query, int(documents_of[place]))
            assert labels[place, 40 * half + place] == pytest.approx(due, rel=1e-5)
        assert both[0][place] in weak.lists.of(query)[0]


def test_the_same_seed_and_step_draw_alike_and_others_differently(indexed):
    one, other = weak_supervision(indexed, RECIPE, 1), weak_supervision(indexed, RECIPE, 1)
    assert one.queries.tokens.tobytes() == other.queries.tokens.tobytes()
    drawn = [made.triples(step, 20)[1].tobytes() for made, step in ((one, 7), (other, 7), (one, 8))]
    assert drawn[0] == drawn[1] != drawn[2]
    third = weak_supervision(indexed, RECIPE, 2)
    assert one.queries.tokens.tobytes() != third.queries.tokens.tobytes()


def test_negatives_of_the_list_are_in_the_list(indexed):
    weak = weak_supervision(indexed, WeakRecipe(**vars(RECIPE) | {"negatives": "list"}))
    queries, _, second_documents = weak.triples(0, 100)
    for query, second in zip(queries.tolist(), second_documents.tolist(), strict=True):
        assert second in weak.lists.of(query)[0]


def test_a_collection_without_words_is_refused(tmp_path):
    with pytest.raises(DataError, match="no document has 2 known words"):
        weak_supervision(indexed_of(tmp_path, ["", "one"]), RECIPE)


def test_shares_and_lengths_that_contradict_are_refused():
    with pytest.raises(ParameterError):
        WeakRecipe(spans=0.7, titles=0.4)
    with pytest.raises(ParameterError):
        WeakRecipe(shortest=5, longest=4)


def test_terms_of_one_topic_are_near_each_other(indexed):
    vectors = ppmi_embeddings(indexed.tokens, 16)
    topics = np.array([term[:2] for term in indexed.tokens.terms])
    kept = np.array([at for at, term in enumerate(indexed.tokens.terms) if "w" in term])
    near = vectors[kept] @ vectors[kept].T
    same = topics[kept][:, None] == topics[kept][None]
    off = ~np.eye(len(kept), dtype=bool)
    assert near[same & off].mean() > 0.3 + near[~same].mean()
    assert np.allclose(np.linalg.norm(vectors[kept], axis=1), 1, atol=1e-5)
