"""The resident process, orders as text, rankers found by data set, one list under many orders."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffleproof.core.answers import scoring
from shuffleproof.core.answers.shown_order import Documents, ShownOrder, move_document
from shuffleproof.core.answers.trained_rankers import (
    TrainedRanker,
    contrasting_pair,
    list_recipes,
    trained_on,
)
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import ParameterError, ScoringError
from shuffleproof.core.execution.resident import Resident
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.fit_cache import ALL_DOCUMENTS, fit_or_load
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.workbench import run_to_end
from tests import synthetic

DOCUMENTS = Documents(
    "q", ("d", "b", "a", "c"), (0.0, 2.0, 2.0, 1.0), (0, 1, 2, 3), {3: (1.0, 4.0, 2.0, 3.0)}
)


@pytest.fixture
def resident():
    made = Resident(limit=5.0)
    yield made
    made.close()


@pytest.fixture
def slow_module(tmp_path, monkeypatch):
    """Functions that a resident worker can be asked for, beside the program's own."""
    (tmp_path / "asked.py").write_text(
        "import os, time\n"
        "def sleep(seconds):\n    time.sleep(seconds)\n    return seconds\n"
        "def die(code):\n    os._exit(code)\n"
        "def own(item):\n    return os.getpid()\n"
        "def wrong(item):\n    raise ValueError('no such thing')\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


def test_it_stays_and_is_the_same_process(resident, slow_module):
    assert resident.ask("asked:own", None) == resident.ask("asked:own", None) != os.getpid()


def test_a_death_is_a_sentence_and_the_next_question_is_answered(resident, slow_module):
    with pytest.raises(ScoringError, match="exit status 3"):
        resident.ask("asked:die", 3)
    assert resident.ask("math:sqrt", 9) == 3


def test_a_death_between_questions_is_not_noticed(resident, slow_module):
    before = resident.ask("asked:own", None)
    os.kill(before, 9)
    time.sleep(0.2)
    assert resident.ask("asked:own", None) != before


def test_what_takes_too_long_is_killed(slow_module):
    hasty = Resident(limit=2.0)
    began = time.monotonic()
    with pytest.raises(ScoringError, match="no answer within 2 s"):
        hasty.ask("asked:sleep", 60)
    assert time.monotonic() - began < 6
    assert hasty._worker is None
    hasty.close()


def test_what_a_function_raises_is_a_sentence_and_the_process_lives(resident, slow_module):
    before = resident.ask("asked:own", None)
    with pytest.raises(ScoringError, match="no such thing") as raised:
        resident.ask("asked:wrong", None)
    assert "Traceback" in raised.value.details
    assert resident.ask("asked:own", None) == before


def test_many_threads_get_their_own_answers(resident):
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda n: resident.ask("math:sqrt", n * n), range(40)))
    assert answers == list(range(40))


def test_a_question_waits_for_the_start_and_not_for_a_long_answer(slow_module):
    patient = Resident(limit=1.0, starting=30.0, first="asked:sleep", item=2)
    patient.start()
    while not patient._starting:
        time.sleep(0.01)
    assert patient.ask("math:sqrt", 9) == 3
    assert not patient._starting
    patient.limit = 30.0
    with ThreadPoolExecutor(1) as threads:
        long_answer = threads.submit(patient.ask, "asked:sleep", 2)
        while not patient._turn.locked():
            time.sleep(0.01)
        patient.limit = 0.3
        with pytest.raises(ScoringError, match="busy"):
            patient.ask("math:sqrt", 9)
        assert long_answer.result() == 2
    patient.close()


def test_the_first_answer_of_a_function_may_take_as_long_as_the_start(slow_module):
    patient = Resident(limit=1.0, starting=20.0, first="asked:own")
    assert patient.ask("asked:sleep", 2) == 2
    with pytest.raises(ScoringError, match="no answer within 1 s"):
        patient.ask("asked:sleep", 10)
    assert patient.ask("asked:sleep", 2) == 2
    patient.close()


def test_closing_kills_whoever_is_asked(slow_module):
    asked = Resident(limit=30.0)
    failed = []

    def ask():
        with pytest.raises(ScoringError):
            asked.ask("asked:sleep", 30)
        failed.append(True)

    thread = threading.Thread(target=ask)
    thread.start()
    while asked._worker is None:
        time.sleep(0.01)
    time.sleep(0.3)
    asked.close()
    thread.join(5)
    assert failed == [True]


@pytest.mark.parametrize(
    ("text", "arranged"),
    [
        ("initial", [0, 1, 2, 3]),
        ("-initial", [3, 2, 1, 0]),
        ("label", [1, 2, 3, 0]),
        ("id", [2, 1, 3, 0]),
        ("feature:3", [1, 3, 2, 0]),
        ("-feature:3", [0, 2, 3, 1]),
        ("by-hand:3.0.2.1", [3, 0, 2, 1]),
    ],
)
def test_orders(text, arranged):
    order = ShownOrder.parse(text)
    assert str(order) == text
    assert order.arranged(DOCUMENTS) == arranged
    assert order.turned().arranged(DOCUMENTS) == arranged[::-1]
    assert order.turned().turned() == order
    assert order.words()


@given(st.integers(0, 10**9 - 1))
def test_a_shuffle_is_a_permutation_drawn_from_seed_and_query(seed):
    order = ShownOrder.parse(f"shuffled:{seed}")
    assert sorted(order.arranged(DOCUMENTS)) == [0, 1, 2, 3]
    assert order.arranged(DOCUMENTS) == ShownOrder.parse(str(order)).arranged(DOCUMENTS)


def test_seeds_and_queries_shuffle_differently():
    names = tuple(map(str, range(40)))
    lists = [Documents(query, names, (0.0,) * 40, tuple(range(40)), {}) for query in ("one", "two")]
    drawn = {
        tuple(ShownOrder.parse(f"shuffled:{seed}").arranged(documents))
        for seed in (1, 2)
        for documents in lists
    }
    assert len(drawn) == 4


@pytest.mark.parametrize(
    "text", ["", "best", "feature", "shuffled:x", "by-hand:1..2", "by-hand:", "initial:3", "--id"]
)
def test_other_texts_are_refused(text):
    with pytest.raises(ParameterError):
        ShownOrder.parse(text)


@pytest.mark.parametrize(
    "text", ["by-hand:0.1.2", "by-hand:0.1.2.2", "by-hand:0.1.2.9", "feature:4"]
)
def test_orders_of_other_documents_are_refused(text):
    with pytest.raises(ParameterError):
        ShownOrder.parse(text).arranged(DOCUMENTS)


@given(st.permutations(range(6)), st.integers(0, 5), st.integers(-3, 9))
def test_a_moved_document_lands_where_it_was_sent(arranged, at, to):
    after = move_document(arranged, at, to)
    assert after.index(arranged[at]) == min(max(to, 0), 5)
    rest = [place for place in after if place != arranged[at]]
    assert rest == [place for place in arranged if place != arranged[at]]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A store with a LambdaMART fitted on one data set, and one fitted on another."""
    store = Store(tmp_path_factory.mktemp("store"))
    folds = [synthetic.planted(queries=(12, 4, 4), seed=seed) for seed in (1, 2)]
    for fold in folds:
        parts = [
            JudgedLists(part, CandidateLists.all_documents(part))
            for part in (fold.train, fold.valid)
        ]
        run_to_end(fit_or_load(registry.spec("lambdamart", "small"), *parts, ALL_DOCUMENTS, store))
        part = {"without part": 0, "of": 5, "seed": 0}
        run_to_end(fit_or_load(registry.spec("lambdamart", "small", trees=5), *parts, part, store))
        cut = {"initial": ["file-order"], "depth": 9, "scores": "in-sample", "folds": 5, "seed": 0}
        run_to_end(fit_or_load(registry.spec("lambdamart", "small", trees=9), *parts, cut, store))
    return store, folds


def test_rankers_are_found_by_the_data_they_saw(small):
    store, (fold, other) = small
    mine = trained_on(store, fold.train.fingerprint, fold.valid.fingerprint)
    theirs = trained_on(store, other.train.fingerprint, other.valid.fingerprint)
    assert len(mine) == len(theirs) == 2
    assert {ranker.key for ranker in mine}.isdisjoint(ranker.key for ranker in theirs)
    assert trained_on(store, fold.train.fingerprint, other.valid.fingerprint) == []
    assert {ranker.name for ranker in mine} == {"lambdamart"}
    assert len({ranker.label for ranker in mine}) == 2, "labels tell them apart"
    prints = (fold.train.fingerprint, fold.valid.fingerprint)
    for usual, label in (("paper", "lambdamart@small"), ("small", "lambdamart")):
        assert label in {ranker.label for ranker in trained_on(store, *prints, usual)}, usual
    assert list_recipes(mine) == [ListRecipe(("file-order",), 9, "in-sample")]
    assert "NDCG@10" in mine[0].valid


class InOrder:
    """Scores by the place at which a document is shown."""

    name = "in-order"
    reads = frozenset({"order"})
    rankings = 0

    def score(self, dataset, lists):  # noqa: ARG002 (the protocol's signature)
        return -np.arange(len(lists.rows), dtype=np.float32)

    def save(self, directory):
        raise NotImplementedError


def test_scores_come_back_by_document():
    fold = synthetic.planted(queries=(2, 1, 1), seed=3)
    everything = CandidateLists.all_documents(fold.test).select(np.array([0]))
    order = np.random.default_rng(0).permutation(len(everything.rows))
    judged = JudgedLists(fold.test, everything)
    (found,) = scoring.scores_by_document(InOrder(), judged, [order])
    assert np.array_equal(np.argsort(-found), order), "the first shown has the highest score"


def test_the_contrast_is_one_that_follows_the_order_and_one_that_does_not():
    def named(name, label):
        return TrainedRanker(label, label, name, label, None, None, {}, "2026")

    rankers = [
        named("lambdamart", "lambdamart"),
        named("setrank-imsab", "setrank-imsab"),
        named("dlcm", "dlcm new"),
        named("dlcm", "dlcm old"),
        named("setrank-imsab-init", "setrank-imsab-init"),
    ]
    assert [one.label for one in contrasting_pair(rankers)] == ["dlcm new", "setrank-imsab-init"]
    assert [one.label for one in contrasting_pair(rankers[:2])] == ["setrank-imsab"]


def test_documents_of_a_list_have_the_ranks_of_its_first_ranking(monkeypatch):
    features, offsets = np.array([[3.0, 1.0], [1.0, 2.0], [2.0, 3.0]], np.float32), np.array([0, 3])
    labels = np.array([1, 0, 2], np.float32)
    dataset = RankingDataset(features, labels, offsets, ("q",), (4, 7))
    judged = JudgedLists(dataset, CandidateLists.ranked_by(dataset, features))
    monkeypatch.setattr(scoring, "list_for", lambda _item: judged)
    told = scoring.documents({"query": "q", "features": [7, 9]})
    assert told["ranks"] == [0, 1, 2]
    assert told["labels"] == [1.0, 2.0, 0.0]
    assert told["features"] == {"7": [1.0, 3.0, 2.0]}
