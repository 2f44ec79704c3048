"""Retrievers of words against their formulas, written out, and BM25 against another library."""

from dataclasses import replace
from itertools import pairwise
from math import log

import numpy as np
import pytest

from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.retrieval import lsi
from shuffleproof.core.retrieval.collection import Collection
from shuffleproof.core.retrieval.recipe import Analysis
from shuffleproof.core.retrieval.registry import (
    RETRIEVERS,
    IndexedCollection,
    InvertedRetriever,
    Retriever,
)
from shuffleproof.core.retrieval.words import likelihood
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.artefacts import Store

WORDS = [f"w{number}" for number in range(40)]
QUERIES = ("w1 w2 w3", "w0 w0 w9", "nothing known", "", "w2 w1 w30", "w39")
PLAIN = Analysis("blanks", "none", "none")


@pytest.fixture(scope="module")
def indexed(tmp_path_factory):
    """120 documents of words by Zipf, one of them empty, and one a copy."""
    draw = generator(3, "words")
    share = 1 / np.arange(1, 41)
    texts = [
        " ".join(draw.choice(WORDS, size=draw.integers(1, 30), p=share / share.sum()))
        for _ in range(118)
    ]
    texts = ["", *texts, texts[4]]
    ids = [str(place) for place in range(len(texts))]
    judged = [place for place, text in enumerate(texts) if "w1 w2" in text][:5]
    collection = Collection(
        "generated", TextColumn.of(ids), TextColumn.of([""] * len(ids)), TextColumn.of(texts),
        tuple(map(str, range(len(QUERIES)))), QUERIES,
        np.array([0, *[len(judged)] * len(QUERIES)]), TextColumn.of(map(str, judged)),
        np.array(judged, np.int32), np.ones(len(judged), np.int32), (), "generated",
    )  # fmt: skip
    return IndexedCollection(
        replace(collection, analysis=PLAIN), Store(tmp_path_factory.mktemp("words"))
    )


def texts_of(indexed):
    return [indexed.collection.document(place).split() for place in range(120)]


def expected(indexed, weights, k=1000):
    """(documents, scores) of a score by document, None where it does not match; ties by place."""
    scored = [(place, weights(text)) for place, text in enumerate(texts_of(indexed))]
    kept = sorted(((-score, place) for place, score in scored if score is not None))[:k]
    return [place for _, place in kept], [-score for score, _ in kept]


def likelihood_of(indexed, mu, terms):
    """Σ weight · ln((tf + μ p) / (length + μ)) of (weight, pattern) where one of them matches."""
    texts = texts_of(indexed)
    total = sum(map(len, texts))
    prior = {one: sum(count(text, one) for text in texts) / total for _, one in terms}
    known = [(weight, one) for weight, one in terms if prior[one] > 0]

    def score(text):
        if not any(count(text, one) for _, one in known):
            return None
        return sum(
            weight * log((count(text, one) + mu * prior[one]) / (len(text) + mu))
            for weight, one in known
        )

    return score


def count(text, what):
    """How often a word, two in order, or two within 8 words occur."""
    if isinstance(what, str):
        return text.count(what)
    (one, other), width = what
    near = range(1, 2) if width == 2 else [*range(-7, 0), *range(1, 8)]
    return sum(
        any(0 <= place + away < len(text) and text[place + away] == other for away in near)
        for place, word in enumerate(text)
        if word == one
    )


def formula(indexed, name, query):
    words = [word for word in query.split() if word.startswith("w")]
    texts = texts_of(indexed)
    mean = sum(map(len, texts)) / len(texts)
    if name == "bm25":

        def score(text):
            if not set(words) & set(text):
                return None
            k = 1.2 * (0.25 + 0.75 * len(text) / mean)
            df = {word: sum(word in one for one in texts) for word in words}
            return sum(
                log(1 + (120 - df[w] + 0.5) / (df[w] + 0.5)) * text.count(w) / (text.count(w) + k)
                for w in words
            )

        return score
    terms = [(1.0, word) for word in words]
    pairs = list(pairwise(words))
    if name == "sdm":
        terms = [(0.85, word) for word in words]
        terms += [(0.10, (pair, 2)) for pair in pairs]
        terms += [(0.05, (pair, 8)) for pair in pairs]
    if name == "rm3":
        terms = feedback_of(indexed, mean, words)
    return likelihood_of(indexed, mean, terms)


def feedback_of(indexed, mu, words):
    """RM3's weights: half the query, half the 20 best of Σ p(d|q) tf / length of the first ten."""
    texts = texts_of(indexed)
    first, scores = expected(indexed, likelihood_of(indexed, mu, [(1.0, w) for w in words]), 10)
    if not first:
        return [(1.0, word) for word in words]
    likely = np.exp(np.array(scores) - scores[0])
    likely /= likely.sum()
    new = dict.fromkeys(WORDS, 0.0)
    for place, probability in zip(first, likely, strict=True):
        for word in texts[place]:
            new[word] += probability / len(texts[place])
    known = [word for word in indexed.tokens.terms if new[word]]  # ties: the first to occur
    chosen = sorted(known, key=lambda word: -round(new[word], 9))[:20]
    total = sum(new[word] for word in chosen)
    weights = {word: 0.5 * words.count(word) / len(words) for word in words}
    for word in chosen:
        weights[word] = weights.get(word, 0) + 0.5 * new[word] / total
    return [(weight, word) for word, weight in weights.items()]


@pytest.mark.parametrize("name", ["ql", "bm25", "sdm", "rm3"])
def test_scores_are_those_of_the_formula(indexed, name):
    found = RETRIEVERS[name].build(indexed).search(QUERIES, 1000)
    for query, text in enumerate(QUERIES):
        documents, scores = expected(indexed, formula(indexed, name, text))
        own, theirs = found.of(query)
        assert len(own) == len(documents), text
        by_place = dict(zip(own.tolist(), theirs.tolist(), strict=True))
        wanted = [by_place[document] for document in documents]
        assert wanted == pytest.approx(scores, rel=1e-5, abs=1e-5)
        assert own.tolist() == sorted(own.tolist(), key=lambda one: (-by_place[one], one))


@pytest.mark.parametrize("name", ["ql", "bm25", "sdm", "rm3"])
def test_postings_are_counted_as_often_as_they_are_read(indexed, name):
    """SDM reads those of neighbours again for two windows, RM3 first those of the query alone."""
    retriever = RETRIEVERS[name].build(indexed)
    assert isinstance(retriever, InvertedRetriever)
    mean = indexed.tokens.documents.lengths.mean()
    read = [[indexed.tokens.terms[term] for term in own] for own in retriever.dimensions(QUERIES)]
    for text, own in zip(QUERIES, read, strict=True):
        words = [word for word in text.split() if word in indexed.tokens.terms]
        twice = [word for pair in pairwise(words) for word in pair] * 2 if name == "sdm" else []
        mixed = [word for _, word in feedback_of(indexed, mean, words)] if name == "rm3" else []
        assert sorted(own) == sorted([*words, *twice, *dict.fromkeys(mixed)])
    frequency = [sum(word in text for text in texts_of(indexed)) for word in indexed.tokens.terms]
    assert retriever.frequencies.tolist() == frequency
    assert retriever.document_terms.tolist() == [len(set(text)) for text in texts_of(indexed)]


@pytest.mark.parametrize("name", [one.name for one in RETRIEVERS.values() if not one.presets])
def test_every_retriever_keeps_the_best_and_finds_nothing_where_nothing_matches(indexed, name):
    retriever = RETRIEVERS[name].build(indexed)
    assert isinstance(retriever, Retriever)
    whole, few = (retriever.search(QUERIES, k) for k in (120, 7))
    assert len(whole.offsets) == len(QUERIES) + 1
    for query in range(len(QUERIES)):
        documents, scores = whole.of(query)
        assert few.of(query)[0].tolist() == documents.tolist()[:7]
        assert (np.diff(scores) <= 1e-6).all()
        assert len(set(documents.tolist())) == len(documents)
    assert [len(whole.of(query)[0]) for query in (2, 3)] == [0, 0], "no known word: no document"
    again = RETRIEVERS[name].build(indexed).search(QUERIES, 120)
    assert again.scores.tobytes() == whole.scores.tobytes()


def test_smoothing_is_fitted_on_training_queries_alone(indexed):
    mean = np.mean([len(text) for text in texts_of(indexed)])
    assert likelihood(indexed).mu == pytest.approx(mean)
    fitted = IndexedCollection(indexed.collection, indexed.store, training=(0,))
    wanted = max((0.25, 0.5, 1, 2, 4, 8), key=lambda one: precision(indexed, one * mean))
    assert likelihood(fitted).mu == pytest.approx(wanted * mean)


def precision(indexed, mu):
    terms = [(1.0, word) for word in QUERIES[0].split()]
    documents, _ = expected(indexed, likelihood_of(indexed, mu, terms))
    grades = indexed.collection.judgments(0)
    hits = [rank for rank, one in enumerate(documents, 1) if one in grades]
    return sum(n / rank for n, rank in enumerate(hits, 1))


def test_latent_scores_are_cosines_in_the_leading_singular_vectors(indexed, monkeypatch):
    """Literally, by a dense decomposition; documents in several blocks."""
    monkeypatch.setattr(lsi, "DIMENSIONS", 12)
    monkeypatch.setattr(lsi, "BLOCK", 7 * 12)
    count = len(indexed.collection)
    table = np.zeros((count + len(QUERIES), len(indexed.tokens.terms)))
    texts = [*indexed.collection.texts, *QUERIES]
    for row, text in enumerate(texts):
        for column, term in enumerate(indexed.tokens.terms):
            times = text.split().count(term)
            table[row, column] = 1 + log(times) if times else 0.0
    table *= np.log(count / (table[:count] > 0).sum(axis=0))
    lengths = np.linalg.norm(table[:count], axis=1, keepdims=True)
    _, _, directions = np.linalg.svd(table[:count] / np.where(lengths > 0, lengths, 1))
    places = table @ directions[:12].T
    places /= np.maximum(np.linalg.norm(places, axis=1, keepdims=True), 1e-300)
    found = lsi.lsi(indexed).search(QUERIES, count)
    for query in range(len(QUERIES)):
        documents, scores = found.of(query)
        wanted = places[:count] @ places[count + query]
        if not table[count + query].any():
            assert not len(documents)
            continue
        assert len(documents) == count
        np.testing.assert_allclose(scores, wanted[documents], atol=1e-5)
        assert (np.diff(scores) <= 0).all()
