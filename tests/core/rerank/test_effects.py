"""Effects of order, company and noise: planted ones are found again, and no others."""

from dataclasses import replace

import pytest

from shuffleproof.core.checks.selftest import simulated
from shuffleproof.core.rerank.calls import Call
from shuffleproof.core.rerank.design import Design
from shuffleproof.core.rerank.effects import (
    PLACE,
    SCORE,
    aggregated,
    effects,
    pair_agreement,
    place_matrix,
    repeat_agreement,
)

DESIGN, QUERIES = Design(orders=4, sets=2), 16


def test_planted_effects_lie_in_their_intervals():
    planted, runs = {"order": 0.55, "company": 0.2, "noise": 0.15}, 200
    covered = dict.fromkeys(planted, 0)
    for seed in range(runs):
        found = effects(simulated(planted, 24, seed, DESIGN), SCORE)
        for name, value in planted.items():
            covered[name] += found[name].low <= value <= found[name].high
    assert min(covered.values()) / runs >= 0.93, covered


@pytest.mark.parametrize(
    ("unit", "noise", "size", "named"),
    [(SCORE, 0.2, 12, ("order", "company")), (PLACE, 0.3, 20, ("company",))],
)
def test_a_fair_noisy_server_is_seldom_accused(unit, noise, size, named):
    runs, accused = 200 if unit == SCORE else 100, 0
    for seed in range(runs):
        by_query = simulated({"noise": noise}, QUERIES, seed, DESIGN, size)
        if unit == PLACE:
            by_query = [
                {given: replace(call, scores=()) for given, call in answers.items()}
                for answers in by_query
            ]
        found = effects(by_query, unit)
        accused += any(found[name].p < 0.05 for name in named)
    assert accused / runs <= 0.05


@pytest.mark.parametrize("bonus", [0.3, 0.0])
def test_without_noise_the_bonus_is_exact(bonus):
    found = effects(simulated({"order": bonus}, QUERIES, 0, DESIGN, 30), SCORE)
    assert found["order"].value == pytest.approx(bonus, abs=1e-9)
    assert found["noise"].value == 0


def test_pairs_are_compared_by_the_order_in_which_they_were_shown():
    calls = [
        Call("r", "1", ("a", "b", "c"), ("a", "b", "c")),
        Call("r", "1", ("a", "b", "c"), ("b", "a", "c")),
        Call("r", "1", ("c", "b", "a"), ("a", "b", "c")),
        Call("r", "2", ("x", "y"), ("x", "y")),
    ]
    # Calls 1 and 2 show three pairs in the same order and disagree on one of them
    assert pair_agreement(calls) == {
        "same_order_agreement": pytest.approx(2 / 3), "n": 3,
        "opposite_order_agreement": pytest.approx(5 / 6), "n_opposite": 6,
    }  # fmt: skip


def test_pairs_of_equal_scores_are_no_answer():
    calls = [
        Call("r", "1", shown, shown, scores=(1.0, 1.0, 0.0) if shown[2] == "c" else (1.0, 0.0, 0.0))
        for shown in (("a", "b", "c"), ("b", "a", "c"), ("b", "c", "a"))
    ]
    # Calls 1 and 2 tie a and b, call 3 ties c and a
    found = pair_agreement(calls)
    assert (found["n"], found["same_order_agreement"]) == (4, 1.0)
    assert (found["n_opposite"], found["opposite_order_agreement"]) == (0, None)


def test_places_repeats_and_means_of_places():
    a, b = Call("r", "1", ("a", "b"), ("b", "a")), Call("r", "1", ("b", "a"), ("b", "a"))
    assert place_matrix([a, b]).tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert aggregated([a, b]) == ("b", "a")
    assert repeat_agreement([[a, b]], top=1) == {"overlap": 1.0, "same_first": 1.0}
    assert repeat_agreement([[a]]) == {}
