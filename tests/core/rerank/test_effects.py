"""Effects of order, company and noise: planted ones are found again, and no others."""

from dataclasses import replace

import numpy as np
import pytest

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

DOCUMENTS = [f"d{number}" for number in range(12)]
DESIGN = Design(orders=4, sets=2)


def simulated(seed, bonus, company, noise, *, queries=16, documents=DOCUMENTS):
    """Answers to all inputs of a design, by query.

    A document has a relevance, a bonus `bonus / slot`, a value in each set, and noise.
    """
    draws, by_query = np.random.default_rng(seed), []
    for query in range(queries):
        relevance = dict(zip(documents, draws.normal(0, 1, len(documents)), strict=True))
        of_sets, answers = {}, {}
        for given in DESIGN.inputs(len(documents)):
            shown = DESIGN.documents(given, str(query), documents, {})
            in_set = of_sets.setdefault(
                frozenset(shown),
                dict(zip(shown, draws.normal(0, company, len(shown)), strict=True)),
            )
            scores = {
                name: relevance[name] + bonus / slot + in_set[name] + draws.normal(0, noise)
                for slot, name in enumerate(shown, start=1)
            }
            order = tuple(sorted(scores, key=lambda name: -scores[name]))
            values = tuple(scores[name] for name in order)
            answers[given] = Call("r", str(query), shown, order, values)
        by_query.append(answers)
    return by_query


def test_planted_effects_lie_in_their_intervals():
    bonus, company, noise, runs = 0.6, 0.2, 0.15, 200
    truth = {"order": bonus - bonus / len(DOCUMENTS), "company": company, "noise": noise}
    covered = dict.fromkeys(truth, 0)
    for seed in range(runs):
        found = effects(simulated(seed, bonus, company, noise), SCORE)
        for name, value in truth.items():
            covered[name] += found[name].low <= value <= found[name].high
    assert min(covered.values()) / runs >= 0.93, covered


def test_a_fair_noisy_server_is_seldom_accused():
    runs = 200
    accused = 0
    for seed in range(runs):
        found = effects(simulated(seed, 0.0, 0.0, 0.2), SCORE)
        accused += found["order"].p < 0.05 or found["company"].p < 0.05
    assert accused / runs <= 0.05


def test_noise_in_orders_is_no_effect_of_company():
    runs = 100
    accused = 0
    for seed in range(runs):
        by_query = [
            {given: replace(call, scores=()) for given, call in answers.items()}
            for answers in simulated(seed, 0.0, 0.0, 0.3, documents=[f"d{n}" for n in range(20)])
        ]
        accused += effects(by_query, PLACE)["company"].p < 0.05
    assert accused / runs <= 0.05


@pytest.mark.parametrize(("bonus", "contrast"), [(0.3, 0.29), (0.0, 0.0)])
def test_without_noise_the_bonus_is_exact(bonus, contrast):
    thirty = [f"d{number}" for number in range(30)]
    found = effects(simulated(0, bonus, 0.0, 0.0, documents=thirty), SCORE)
    assert found["order"].value == pytest.approx(contrast, abs=1e-9)
    assert found["company"].value == pytest.approx(0, abs=1e-9)
    assert found["noise"].value == 0


def test_pairs_are_compared_by_the_order_in_which_they_were_shown():
    calls = [
        Call("r", "1", ("a", "b", "c"), ("a", "b", "c")),
        Call("r", "1", ("a", "b", "c"), ("b", "a", "c")),
        Call("r", "1", ("c", "b", "a"), ("a", "b", "c")),
        Call("r", "2", ("x", "y"), ("x", "y")),
    ]
    found = pair_agreement(calls)
    # Calls 1 and 2 show three pairs in the same order and disagree on one of them
    assert (found.same, found.n) == (pytest.approx(2 / 3), 3)
    assert (found.opposite, found.n_opposite) == (pytest.approx(5 / 6), 6)


def test_places_repeats_and_means_of_places():
    a, b = Call("r", "1", ("a", "b"), ("b", "a")), Call("r", "1", ("b", "a"), ("b", "a"))
    assert place_matrix([a, b]).tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert aggregated([a, b]) == ("b", "a")
    assert repeat_agreement([[a, b]], top=1) == {"overlap": 1.0, "same_first": 1.0}
    assert repeat_agreement([[a]]) == {}
