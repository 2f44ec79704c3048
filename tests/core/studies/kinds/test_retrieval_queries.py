"""Noisy queries: what each noise does to words, who may not be moved, changes paired by query."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from shuffleproof.core.cli.arguments import main
from shuffleproof.core.metrics.significance import adjusted_tests
from shuffleproof.core.retrieval import planted
from shuffleproof.core.retrieval.query_noise import KINDS, noisy
from shuffleproof.core.retrieval.registry import RETRIEVERS, IndexedCollection, retriever_entry
from shuffleproof.core.store.artefacts import Store, default_store
from shuffleproof.core.studies.kinds.retrieval import queries as sections
from shuffleproof.core.studies.kinds.retrieval import question
from shuffleproof.core.studies.result import StudyResult

COLLECTION = planted.planted_collection()
TEXT = "what is the effect of heat transfer on a slender body in supersonic flow"
WORDS = TEXT.split()
LEVELS = (0.0, 0.2, 0.6, 1.0)
ASKED = (
    "study retrieval --vary queries --retrievers bm25,ql,lsi,snrm@small --levels .5,1 --seeds 2 "
    "--queries 24"
)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Store(tmp_path_factory.mktemp("noise"))


@pytest.fixture(scope="module")
def result(store):
    assert main([*ASKED.split(), "--store", str(store.root)]) == 0
    (artefact,) = store.artefacts("study")
    return StudyResult.open(artefact.path)


def test_asking_names_the_kinds_that_there_are():
    assert tuple(KINDS) == question.NOISE


@pytest.mark.parametrize("kind", KINDS)
def test_the_level_is_a_share_of_words_and_a_higher_one_changes_the_same_words(kind):
    assert noisy(TEXT, kind, 0.0, 0) == TEXT
    texts = [noisy(TEXT, kind, level, 3) for level in LEVELS]
    assert texts == [noisy(TEXT, kind, level, 3) for level in LEVELS]
    assert len({noisy(TEXT, kind, 0.6, seed) for seed in range(8)}) > 1
    if kind == "shuffle":
        return
    hits = []
    for text in texts:
        left = Counter(text.split())
        same = {place for place, word in enumerate(WORDS) if left[word] == 1}
        hits.append(set(range(len(WORDS))) - same)
    assert all(low <= high for low, high in pairwise(hits))
    drawn = [len(noisy(TEXT, "drop", 0.3, seed).split()) for seed in range(400)]
    assert np.mean(drawn) == pytest.approx(0.7 * len(WORDS), abs=0.3)


def distance(one, other):
    """Edits between two words, neighbours exchanged being one (optimal string alignment)."""
    table = np.zeros((len(one) + 1, len(other) + 1), int)
    table[:, 0], table[0] = np.arange(len(one) + 1), np.arange(len(other) + 1)
    for a in range(1, len(one) + 1):
        for b in range(1, len(other) + 1):
            ways = [table[a - 1, b] + 1, table[a, b - 1] + 1]
            ways.append(table[a - 1, b - 1] + (one[a - 1] != other[b - 1]))
            if a > 1 and b > 1 and one[a - 2 : a] == other[b - 2 : b][::-1]:
                ways.append(table[a - 2, b - 2] + 1)
            table[a, b] = min(ways)
    return table[-1, -1]


def test_typos_are_one_edit_and_short_words_stay():
    edits = []
    for seed in range(60):
        words = noisy(TEXT, "typos", 1.0, seed).split()
        assert len(words) == len(WORDS)
        assert words[WORDS.index("a")] == "a"
        edits += [distance(old, new) for old, new in zip(WORDS, words, strict=True)]
    assert set(edits) <= {0, 1}
    assert np.mean(edits) > 0.8


def test_dropping_repeating_and_shuffling_keep_what_they_should():
    for seed in range(20):
        dropped, repeated = noisy(TEXT, "drop", 0.5, seed), noisy(TEXT, "repeat", 0.5, seed)
        assert [word for word in WORDS if word in dropped.split()] == dropped.split()
        assert list(dict.fromkeys(repeated.split())) == WORDS
        assert set(Counter(repeated.split()).values()) <= {1, 2}
        shuffled = noisy(TEXT, "shuffle", 0.7, seed).split()
        assert Counter(shuffled) == Counter(WORDS)
    assert noisy(TEXT, "drop", 1.0, 0) == ""


@pytest.mark.parametrize("name", ["bm25", "ql", "rm3", "lsi"])
def test_shuffled_words_move_nobody_who_reads_words_alone(store, name):
    retriever = RETRIEVERS[name].build(IndexedCollection(COLLECTION, store))
    long = [" ".join(COLLECTION.queries[at : at + 4]) for at in range(12)]
    found = retriever.search(long, 480)
    for seed in range(5):
        again = retriever.search([noisy(one, "shuffle", 1.0, seed) for one in long], 480)
        for part in ("documents", "scores", "offsets"):
            assert np.array_equal(getattr(again, part), getattr(found, part)), part


def test_shuffled_words_move_neighbours_and_windows(store, result):
    for name in ("sdm", "snrm@small"):
        with_shipped = Store(store.root, default_store().bundled)
        retriever = retriever_entry(name).build(IndexedCollection(COLLECTION, with_shipped))
        found = retriever.search(COLLECTION.queries, 480)
        texts = [noisy(one, "shuffle", 1.0, 0) for one in COLLECTION.queries]
        assert not np.array_equal(retriever.search(texts, 480).scores, found.scores), name
    shuffled = sections.changes(result).query("condition == 'shuffle'")
    for name in ("bm25", "ql", "lsi"):
        own = shuffled[shuffled["retriever"] == name]
        assert (own[["change", "low", "high"]] == 0).all(axis=None), name
    assert (shuffled[shuffled["retriever"] == "snrm@small"]["change"] != 0).any()


def test_changes_are_paired_by_query_and_tested_together(result):
    found = sections.changes(result)
    at = list(result.stored_measures).index("NDCG@20")

    def mean_of(name, noise, level):
        own = result.trials
        rows = (own.ranker == name) & (own.family == noise) & (own.level == level)
        assert rows.sum() == 2
        return result.values[np.flatnonzero(rows), at].astype(float).mean(axis=0)

    assert len(found) == 4 * 4 * 2
    differences = []
    for row in found.itertuples():
        change = mean_of(row.retriever, row.condition, row.level) - mean_of(
            row.retriever, "none", 0.0
        )
        differences.append(change)
        assert row.change == pytest.approx(change.mean(), abs=1e-6)
        assert row.n == 24
    p, low, high = adjusted_tests(np.stack(differences))
    for column, expected in {"p": p, "low": low, "high": high}.items():
        assert found[column].to_numpy() == pytest.approx(expected, abs=1e-5)
    all_dropped = found[(found.condition == "drop") & (found.level == 1.0)]
    plain = {name: mean_of(name, "none", 0.0).mean() for name in set(all_dropped.retriever)}
    for row in all_dropped.itertuples():
        assert row.change == pytest.approx(-plain[row.retriever], abs=1e-6), "nothing is found"


def test_queries_left_empty_are_counted_and_count(result, store):
    said = sections.empty_queries(result)
    assert "100.0 % under drop 100 %" in said
    assert "repeat" not in said
    repeated = result.trials["family"].eq("repeat") & result.trials["level"].eq(1.0)
    changed = list(result.stored_measures).index("changed")
    assert (result.values[np.flatnonzero(repeated), changed] == 1).all()
    tokens = IndexedCollection(COLLECTION, store).tokens
    queries = [q for at, q in enumerate(COLLECTION.queries) if COLLECTION.relevant(at)][:24]
    empty = [
        len(tokens.encode([noisy(" ".join(q.split()), "typos", 1.0, seed)]).of(0)) == 0
        for seed in (0, 1) for q in queries
    ]  # fmt: skip
    typos = result.per_query("bm25", "typos", 1.0, "empty")
    assert np.mean(typos) == pytest.approx(np.mean(empty))


@pytest.mark.parametrize(
    ("flags", "said"), [("--noise typo", "one of typos, drop"), ("--noise ,", "name at least one")]
)
def test_wrong_questions_are_refused(store, capsys, flags, said):
    assert main(["study", "query-noise", *flags.split(), "--store", str(store.root)]) in {1, 2}
    assert said in capsys.readouterr().err
