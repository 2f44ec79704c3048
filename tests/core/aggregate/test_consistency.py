"""Contradictions are counted exactly, and the published figures of real judgments come out."""

import itertools

import numpy as np
import pytest

from shuffleproof.core.aggregate.consistency import agreement_of, consistency, distances, triads
from shuffleproof.core.aggregate.preferences import Pairs, built
from shuffleproof.core.aggregate.reading import PreferenceFormat, read
from shuffleproof.core.aggregate.registry import AGGREGATORS, aggregate
from tests.core.aggregate.test_aggregators import pairs_of, tournament
from tests.places import DATA

NEEDS = pytest.mark.skipif(not DATA.is_dir(), reason="the shared data is not here")


def triads_by_hand(beaten):
    found = [0, 0]
    for three in itertools.combinations(range(len(beaten)), 3):
        wins = [sum(beaten[i, j] for j in three) for i in three]
        if sum(wins) == 3:
            found[0] += 1
            found[1] += wins == [1, 1, 1]
    return tuple(found)


def test_cyclic_triads_are_counted_exactly():
    random = np.random.default_rng(0)
    for items in (1, 2, 3, 9, 30, 70):
        beaten = np.nan_to_num(tournament(items, random, "wins").values) > 0
        holes = random.random((items, items)) < 0.3
        for graph in (beaten, beaten & ~(holes | holes.T)):
            assert triads(graph) == triads_by_hand(graph)


def test_a_cycle_a_tie_and_a_missing_pair_by_hand():
    rows = [(0, 0, 1, 0.9), (0, 1, 2, 0.8), (0, 2, 0, 0.7), (0, 2, 3, 0.5), (1, 0, 1, 1.0)]
    told = built(
        ["q", "r"], [list("abcd"), list("xy")],
        [(query, a, b, value, 1.0, judge, -1) for judge, (query, a, b, value) in
         zip((0, 0, 0, 0, 1), rows, strict=True)], ["m", "n"],
    )  # fmt: skip
    found = consistency(told, best=True)
    wanted = {
        "queries": 2, "items": 6, "pairs": 5, "ties": 1, "triads": 1, "cyclic_triads": 1,
        "cyclic_rate": 1.0, "components": 4, "largest_component": 3, "asymmetric_pairs": 0,
        "position_consistency": None, "repeated_contradictions": None, "scoreable_queries": 1,
    }  # fmt: skip
    assert {name: found[name] for name in wanted} == wanted
    assert found["cycles"] == [
        {"query": "q", "items": ("a", "b", "c"), "margin": pytest.approx(0.4)}
    ]
    own = found["per_query"][0]
    assert (own["slater"], own["slater_bound"]) == (1, 1)
    assert own["kemeny"] == own["kemeny_bound"] == pytest.approx(0.7 + 0.2 + 0.1 + 0.5)
    assert own["exact"]
    order = np.array([0, 1, 2, 3])
    assert agreement_of(told.pairs(0), order) == pytest.approx((0.9 + 0.8 + 0.3 + 0.5) / 4)


@pytest.mark.parametrize("prefers", ["first", "second"])
def test_a_position_bias_and_its_mirror_give_the_same_agreement(prefers):
    """Two pairs asked in both orders say nothing; of the third, asked once, x beats z."""
    value = 1.0 if prefers == "first" else 0.0
    both = [(0, a, b, value, 1.0, 0, 0) for a, b in ((0, 1), (1, 0), (1, 2), (2, 1))]
    pairs = built(["q"], [list("xyz")], [*both, (0, 0, 2, 1.0, 1.0, 0, 0)], ["m"]).pairs(0)
    for order, share in (([0, 1, 2], (0.5 + 0.5 + 1) / 3), ([2, 1, 0], (0.5 + 0.5 + 0) / 3)):
        assert agreement_of(pairs, np.array(order)) == pytest.approx(share)
    found = distances(pairs)
    assert found["kemeny"] == found["kemeny_bound"] == pytest.approx(1.0), "half of each tied pair"


def test_graded_answers_of_both_orders_count_by_their_mean():
    """x over y is .9 shown first, and .4 shown second: on average .65."""
    rows = [(0, 0, 1, 0.9, 1.0, 0, 0), (0, 1, 0, 0.6, 5.0, 0, 0), (0, 1, 2, 1.0, 1.0, 0, 0)]
    pairs = built(["q"], [list("xyz")], rows, ["m"]).pairs(0)
    assert agreement_of(pairs, np.array([0, 1, 2])) == pytest.approx((0.65 + 1) / 2)
    assert agreement_of(pairs, np.array([1, 0, 2])) == pytest.approx((0.35 + 1) / 2)


@pytest.mark.parametrize("name", sorted({*AGGREGATORS} - {"sop"}))
def test_a_judge_and_its_mirror_get_the_same_order(name):
    """The mirror says of the first shown what the judge says of the second.

    The sum of preferences is by definition a share of f(i, j) + f(j, i), not a mean of both.
    """
    draws = np.random.default_rng(3)
    for _ in range(5):
        values = draws.random((7, 7)).round(2)
        np.fill_diagonal(values, np.nan)
        found = [
            aggregate(name, Pairs(one, np.ones((7, 7)))).order.tolist()
            for one in (values, 1 - values.T)
        ]
        assert found[0] == found[1]


def test_answers_are_compared_within_and_between_directions():
    """Asked twice in an order: a contradiction; asked in both: dependence on the input order."""
    rows = [
        (0, 0, 1, 1.0, 1.0, 0, 0), (0, 0, 1, 0.0, 1.0, 0, 0), (0, 0, 1, 0.0, 1.0, 1, 0),
        (0, 1, 0, 1.0, 1.0, 1, 0), (0, 1, 2, 1.0, 1.0, 0, 0), (0, 1, 2, 1.0, 1.0, 0, 1),
        (0, 0, 2, 1.0, 1.0, 0, 0), (0, 0, 2, 0.0, 1.0, 0, 1), (0, 1, 1, 0.4, 1.0, 0, 0),
    ]  # fmt: skip
    found = consistency(built(["q"], [list("abc")], rows, ["m", "n"]))
    assert (found["repeated_pairs"], found["repeated_contradictions"]) == (1, 1.0)
    assert (found["position_pairs"], found["position_consistency"]) == (3, pytest.approx(2 / 3))
    assert (found["self_comparisons"], found["not_reflexive"]) == (1, 1)
    against = {row["judge"]: (row["judgments"], row["against"]) for row in found["judges"]}
    assert against["n"] == (2, 0), "b was over a by the majority, and n said so twice"
    assert against["m"][1] >= 1


def test_chains_below_the_less_and_the_more_of_their_links():
    values = np.array([[0, 0.9, 0.7], [0.1, 0, 0.6], [0.3, 0.4, 0]])
    both = itertools.permutations(range(3), 2)
    told = [(0, i, j, values[i, j], 1.0, -1, 0) for i, j in both]
    found = consistency(built(["q"], [list("abc")], told))
    assert (found["chains"], found["moderate_violations"], found["strong_violations"]) == (1, 0, 1)
    assert pairs_of(values).count == 3


@NEEDS
def test_published_figures_of_a_language_model_and_a_crowd_come_out():
    """Cyclic triads 3.3 %, contradictions 13 %, alike both ways 67 %; of the crowd 5.4 to 9.7 %."""
    folder = DATA / "preferences" / "gpt4o_dl19"
    judged = consistency(read(sorted(folder.glob("judge.0*"))))
    assert (judged["queries"], judged["pairs"]) == (43, 25_596)
    assert (judged["cyclic_triads"], judged["triads"]) == (763, 22_997)
    assert judged["repeated_contradictions"] == pytest.approx(0.130, abs=5e-4)
    logs = consistency(read(sorted(folder.glob("log.0*")), PreferenceFormat(malformed="skip")))
    assert logs["position_consistency"] == pytest.approx(0.67, abs=5e-3)
    photos = DATA / "preferences" / "crowd_photos" / "Raw_AMT_results.txt.gz"
    crowd = consistency(read([photos], PreferenceFormat(malformed="skip")))
    rows = {row["query"]: row for row in crowd["per_query"]}
    rates = {name: row["cyclic_triads"] / row["triads"] for name, row in rows.items()}
    assert {name: round(100 * rate, 1) for name, rate in rates.items()} == {
        "0": 5.4, "1": 6.6, "2": 9.7,
    }  # fmt: skip
    assert {row["ties"] for row in rows.values()} == {272, 428, 309}
