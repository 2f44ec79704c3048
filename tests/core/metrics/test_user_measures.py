"""Measures of user code: right under ties, told by their text, and refused where they cannot be."""

from itertools import permutations

import numpy as np
import pytest

from shuffleproof.core import user_code
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.errors import DataError, UnknownNameError, UsageError
from shuffleproof.core.metrics.measure import Measure, is_measure
from shuffleproof.core.metrics.relevance import evaluate, mean_of
from shuffleproof.core.metrics.user_measures import SAMPLED, measure


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch):
    monkeypatch.setattr(user_code, "_REGISTERED", {})


def dataset_of(*labels):
    joined = np.concatenate([np.asarray(one, np.float32) for one in labels])
    offsets = np.cumsum([0, *map(len, labels)]).astype(np.int64)
    ids = tuple(f"q{number}" for number in range(len(labels)))
    return RankingDataset(np.zeros((len(joined), 0), np.float32), joined, offsets, ids, ())


def values(text, dataset, scores):
    lists = CandidateLists.all_documents(dataset)
    return evaluate([Measure.parse(text)], dataset, lists, np.asarray(scores, np.float32))[0]


def reciprocal(labels):
    found = np.flatnonzero(labels >= 1)
    return 1 / (found[0] + 1) if len(found) else 0.0


def precision(labels, cutoff=None):
    depth = cutoff or len(labels)
    return float((labels[:depth] >= 1).sum() / depth)


def discounted(labels, judged):
    def gain(ranked):
        return float(((2.0**ranked - 1) / np.log2(np.arange(2, len(ranked) + 2))).sum())

    return gain(labels) / gain(judged) if judged.max() > 0 else 0.0


def test_a_grade_below_0_counts_as_0():
    measure("total", lambda labels, judged: float(labels.sum() + 10 * judged.sum()))
    assert values("total@2", dataset_of([-1, 2, 1]), [3, 2, 1]).tolist() == [2.0 + 30.0]


@pytest.mark.parametrize(("ours", "function"), [
    ("RR", reciprocal), ("RR@3", reciprocal), ("P@2", precision), ("P", precision),
    ("NDCG", discounted), ("RR(ties=row)", reciprocal), ("P(ties=row)@3", precision),
])  # fmt: skip
def test_functions_of_our_own_measures_give_their_values_also_under_ties(ours, function):
    generator = np.random.default_rng(7)
    dataset = dataset_of(*(generator.integers(0, 3, size) for size in (1, 4, 6, 7, 5)))
    measure("same", function)
    name = Measure.parse(ours)
    own = f"same({'ties=row' if name.ties == 'row' else ''})" + (
        f"@{name.cutoff}" if name.cutoff else ""
    )
    for levels in (1, 2, 3, 100):
        scores = generator.integers(0, levels, dataset.documents)
        found, due = values(own, dataset, scores), values(ours, dataset, scores)
        np.testing.assert_allclose(found, due, atol=1e-6)


def test_the_expected_value_is_that_of_all_orders_written_out():
    labels, scores = [2.0, 0.0, 1.0, 0.0, 1.0], [1, 1, 0, 1, 0]
    measure("odd", lambda ranked: float(ranked @ 10.0 ** -(np.arange(len(ranked)) ** 2)))
    orders = [
        [labels[at] for at in (*first, *last)]
        for first in permutations((0, 1, 3)) for last in permutations((2, 4))
    ]  # fmt: skip
    due = np.mean([np.asarray(one) @ 10.0 ** -(np.arange(5) ** 2) for one in orders])
    assert values("odd", dataset_of(labels), scores)[0] == pytest.approx(due, rel=1e-6)


def test_many_ties_are_sampled_alike_whatever_the_order_of_the_rows():
    generator = np.random.default_rng(1)
    labels = generator.integers(0, 4, 60)
    calls = []
    measure("first", lambda ranked: calls.append(1) or float(ranked[0] + ranked[40]))
    one, other = (
        values("first", dataset_of(some), np.zeros(60))[0]
        for some in (labels, generator.permutation(labels))
    )
    assert one == other
    assert len(calls) == 2 * SAMPLED
    spread = labels.std() * np.sqrt(2 / SAMPLED)
    assert abs(one - 2 * labels.mean()) < 4 * spread
    assert values("first@41", dataset_of(labels), -np.arange(60.0))[0] == labels[0] + labels[40]


def test_a_query_without_a_value_is_left_out_of_means():
    measure("share", lambda labels: float(labels.mean()) if labels.any() else np.nan)
    found = values("share", dataset_of([1, 0], [0, 0], [1, 1]), np.arange(6.0))
    assert np.isnan(found[1])
    assert mean_of(Measure.parse("share"), found) == pytest.approx(0.75)


def test_values_of_the_program_beside_it_stay_and_come_in_the_order_asked_for():
    measure("depth", lambda labels: float(len(labels)))
    dataset = dataset_of([0, 1, 2], [1, 0])
    scores, lists = np.arange(5, dtype=np.float32), CandidateLists.all_documents(dataset)
    texts = ("RR", "depth", "NDCG@2", "depth@2")
    found = evaluate([Measure.parse(text) for text in texts], dataset, lists, scores)
    plain = evaluate([Measure.parse("RR"), Measure.parse("NDCG@2")], dataset, lists, scores)
    np.testing.assert_array_equal(found[[0, 2]], plain)
    assert found[[1, 3]].tolist() == [[3.0, 2.0], [2.0, 2.0]]


def test_its_text_holds_what_it_is_known_by_and_says_what_is_done_with_ties():
    def one(_):
        return 1.0

    measure("hits", one, summary="One.")
    first = str(Measure.parse("hits(ties=row)@5"))
    assert first.startswith("hits#")
    assert first.endswith("(ties=row)@5")
    assert str(Measure.parse(first)) == first
    assert is_measure(first)
    measure("hits", one)
    assert str(Measure.parse("hits(ties=row)@5")) == first, "the same code"
    measure("hits", lambda _: 2.0)
    assert str(Measure.parse("hits(ties=row)@5")) != first
    said = Measure.parse("hits@5").convention()
    assert "user code" in said
    assert "ties: averaged, exactly or over seeded orders" in said
    with pytest.raises(UsageError, match="not the hits that is registered here"):
        values(first, dataset_of([1.0]), [1.0])


def test_what_is_stored_of_a_measure_is_read_where_it_is_not_registered():
    gone = Measure.parse("gone#0123abcd@10")
    assert (str(gone), gone.cutoff, gone.entry.source) == ("gone#0123abcd@10", 10, "user code")
    assert gone.under(empty="skip", ties="row").ties == "row"
    assert mean_of(gone, np.array([1.0, np.nan], np.float32)) == 1.0
    with pytest.raises(UsageError, match="can be read, but nothing new can be computed"):
        values("gone#0123abcd@10", dataset_of([1.0]), [1.0])
    with pytest.raises(UnknownNameError, match="no measure is called 'gone'"):
        Measure.parse("gone@10")


def failing(labels):
    return 1 / (len(labels) - 2)


@pytest.mark.parametrize(("function", "message"), [
    (failing, r"query q1: the function failed: ZeroDivisionError: .*test_user_measures.py:\d+ in"),
    (lambda _: "many", "query q0: the function failed"),
    (lambda _: None, "query q0: the function failed"),
    (lambda _: np.inf, "query q0: it returned inf"),
    (lambda labels: labels, "query q0: the function failed"),
])  # fmt: skip
def test_errors_of_a_function_name_the_query_and_the_line(function, message):
    measure("wrong", function)
    with pytest.raises(DataError, match=message):
        values("wrong", dataset_of([1.0], [1.0, 0.0]), [1.0, 2.0, 1.0])


@pytest.mark.parametrize("name", ["NDCG", "map", "top_3", "a-b"])
def test_names_that_cannot_be_are_refused(name):
    with pytest.raises(UsageError, match="choose"):
        measure(name, reciprocal)
