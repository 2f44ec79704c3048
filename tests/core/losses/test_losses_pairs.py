"""Pairwise losses and smooth NDCG against explicit enumeration and their own limits."""

import itertools
import math

import numpy as np
import pytest
import torch

from shuffleproof.core.losses import pairs, smooth_ndcg
from shuffleproof.core.losses.listwise import listnet
from shuffleproof.core.losses.pairwise import frank, hinge, lambdarank, ranknet
from shuffleproof.core.losses.pointwise import mse
from shuffleproof.core.losses.registry import loss
from shuffleproof.core.losses.smooth_ndcg import (
    approx_ndcg,
    doubly_stochastic,
    neural_ndcg,
    relaxed_sort,
)
from shuffleproof.core.losses.weights import by_grade, delta_ndcg

SCORES = [0.4, -1.0, 2.0, 0.1, 0.3, -0.2]
GRADES = [1.0, 0.0, 2.0, 3.0, 0.0, 1.0]
PAIRS = [
    (i, j) for i, j in itertools.product(range(len(GRADES)), repeat=2) if GRADES[i] > GRADES[j]
]


def tensors(scores=SCORES, labels=GRADES, **changes):
    made = [torch.tensor([values], dtype=torch.float64) for values in (scores, labels)]
    made[0].requires_grad_(changes.get("grad", False))
    return *made, torch.ones_like(made[0], dtype=torch.bool)


def gain(grade):
    return 2**grade - 1


def dcg(grades, cutoff=None):
    return sum(gain(grade) / math.log2(rank + 2) for rank, grade in enumerate(grades[:cutoff]))


def ideal(grades, cutoff=None):
    return dcg(sorted(grades, reverse=True), cutoff)


def ndcg(scores, grades):
    order = np.argsort([-score for score in scores], kind="stable")
    return dcg([grades[at] for at in order]) / ideal(grades)


def logistic(margin):
    return math.log1p(math.exp(-margin))


@pytest.mark.parametrize(
    ("function", "part"),
    [
        (hinge, lambda margin: max(0, 1 - margin)),
        (ranknet, logistic),
        (frank, lambda margin: 1 - math.sqrt(1 / (1 + math.exp(-margin)))),
    ],
)
def test_pairwise_losses_are_sums_over_pairs_of_different_grades(function, part):
    due = sum(part(SCORES[i] - SCORES[j]) for i, j in PAIRS)
    assert function(*tensors(), pair_weights="pairs").item() == pytest.approx(due, rel=1e-12)
    mean = function(*tensors(), pair_weights="queries").item()
    assert mean == pytest.approx(due / len(PAIRS), rel=1e-12)


def test_ranknet_is_the_cross_entropy_of_pair_probabilities_at_any_steepness():
    probability = [1 / (1 + math.exp(-2.5 * (SCORES[i] - SCORES[j]))) for i, j in PAIRS]
    due = -sum(math.log(one) for one in probability)
    found = ranknet(*tensors(), pair_weights="pairs", steepness=2.5).item()
    assert found == pytest.approx(due, rel=1e-12)


def swapped(order, cutoff):
    """NDCG@cutoff lost or won, exchanging each two documents of a ranking."""
    ranked = [GRADES[at] for at in order]
    before = dcg(ranked, cutoff)
    found = {}
    for first, second in itertools.combinations(range(len(order)), 2):
        other = list(ranked)
        other[first], other[second] = other[second], other[first]
        change = abs(dcg(other, cutoff) - before) / ideal(GRADES, cutoff)
        found[frozenset((order[first], order[second]))] = change
    return found


@pytest.mark.parametrize("cutoff", [None, 1, 3])
def test_delta_ndcg_is_what_an_exchange_changes(cutoff):
    order = sorted(range(len(SCORES)), key=lambda at: -SCORES[at])
    found = delta_ndcg(*tensors(), cutoff=cutoff)[0]
    for pair, due in swapped(order, cutoff).items():
        i, j = sorted(pair)
        assert found[i, j].item() == pytest.approx(due, abs=1e-12)
        assert found[j, i].item() == pytest.approx(due, abs=1e-12)


@pytest.mark.parametrize(("cutoff", "sigma"), [(None, 1.0), (3, 2.0)])
def test_lambdaranks_gradient_is_the_sum_of_lambdas(cutoff, sigma):
    order = sorted(range(len(SCORES)), key=lambda at: -SCORES[at])
    delta = swapped(order, cutoff)
    due = [0.0] * len(SCORES)
    for i, j in PAIRS:
        weight = sigma * delta[frozenset((i, j))]
        slope = -weight / (1 + math.exp(sigma * (SCORES[i] - SCORES[j])))
        due[i] += slope
        due[j] -= slope
    scores, labels, mask = tensors(grad=True)
    value = lambdarank(scores, labels, mask, cutoff=cutoff, steepness=sigma)
    (grad,) = torch.autograd.grad(value.sum(), scores)
    assert grad[0].tolist() == pytest.approx(due, rel=1e-12)


def test_lambdarank_of_tied_scores_does_not_depend_on_the_order_shown():
    scores, labels, mask = tensors([0.0] * 6, grad=True)
    (grad,) = torch.autograd.grad(lambdarank(scores, labels, mask).sum(), scores)
    order = [3, 1, 5, 0, 2, 4]
    (moved,) = torch.autograd.grad(lambdarank(scores, labels[:, order], mask).sum(), scores)
    torch.testing.assert_close(moved, grad[:, order], rtol=1e-12, atol=1e-12)
    assert grad[0, 3] < grad[0, 2] < 0 < grad[0, 1]
    assert grad[0, 0] == grad[0, 5] < grad[0, 1] == grad[0, 4]


@pytest.mark.parametrize("cutoff", [1, 3, 10])
def test_grade_weights_are_mean_exchanges_in_the_ideal_list(cutoff):
    ranked = sorted(GRADES, reverse=True)
    raw = np.zeros((6, 6))
    for i, j in PAIRS:
        losses = []
        for first, second in itertools.product(range(6), repeat=2):
            if (ranked[first], ranked[second]) == (GRADES[i], GRADES[j]):
                other = list(ranked)
                other[first], other[second] = other[second], other[first]
                losses.append(dcg(ranked, cutoff) - dcg(other, cutoff))
        raw[i, j] = np.mean(losses)
    found = by_grade(*tensors(), cutoff=cutoff)[0].numpy()
    assert found == pytest.approx(raw / raw.sum(), abs=1e-12)


def test_listnet_is_the_cross_entropy_of_two_softmaxes():
    wanted, given_ = (np.exp(values) / np.exp(values).sum() for values in (GRADES, SCORES))
    due = -(wanted * np.log(given_)).sum()
    assert listnet(*tensors()).item() == pytest.approx(due, rel=1e-12)


def test_mse_is_the_mean_square_of_errors():
    due = np.mean((np.array(SCORES) - np.array(GRADES)) ** 2)
    assert mse(*tensors()).item() == pytest.approx(due, rel=1e-12)
    scores, labels, mask = tensors()
    assert mse(scores, labels, ~mask).tolist() == [0.0]


def test_approx_ndcg_puts_approximate_ranks_into_ndcg():
    total = 0.0
    for i, score in enumerate(SCORES):
        rank = 1 + sum(
            1 / (1 + math.exp((score - other) / 0.3)) for j, other in enumerate(SCORES) if j != i
        )
        total += gain(GRADES[i]) / math.log2(rank + 1)
    found = approx_ndcg(*tensors(), temperature=0.3).item()
    assert found == pytest.approx(1 - total / ideal(GRADES), rel=1e-12)


def test_relaxed_sort_is_neuralsorts_matrix():
    scores, n = np.array(SCORES), len(SCORES)
    apart = np.abs(scores[:, None] - scores).sum(1)
    rows = np.exp([((n + 1 - 2 * i) * scores - apart) / 0.7 for i in range(1, n + 1)])
    values, _, mask = tensors()
    found = relaxed_sort(values, mask, 0.7)[0].numpy()
    assert found == pytest.approx(rows / rows.sum(1, keepdims=True), rel=1e-12)


@pytest.mark.parametrize("temperature", [0.01, 0.1, 1.0, 10.0])
def test_scaled_matrices_are_doubly_stochastic_whatever_the_mask(temperature):
    made = torch.Generator().manual_seed(1)
    values = torch.randn(5, 9, generator=made, dtype=torch.float64)
    mask = torch.rand(5, 9, generator=made) < 0.7
    filled = torch.arange(9) < mask.sum(1, keepdim=True)
    matrix = doubly_stochastic(relaxed_sort(values, mask, temperature), filled, mask)
    torch.testing.assert_close(matrix.sum(1), mask.double(), atol=2e-3, rtol=0)
    torch.testing.assert_close(matrix.sum(2), filled.double(), atol=2e-3, rtol=0)


def test_gradients_of_the_scaling_by_finite_differences(monkeypatch):
    monkeypatch.setattr(smooth_ndcg, "ROUNDS", 3)  # far from converged, so every round counts
    made = torch.Generator().manual_seed(4)
    mask = torch.tensor([[True, True, False], [True, True, True]])
    filled = torch.tensor([[True, True, False], [True, True, True]])
    matrix = torch.rand(2, 3, 3, generator=made, dtype=torch.float64)
    matrix = (matrix * filled[:, :, None] * mask[:, None, :]).requires_grad_()
    assert torch.autograd.gradcheck(lambda m: doubly_stochastic(m, filled, mask), matrix)


@pytest.mark.parametrize("function", [approx_ndcg, neural_ndcg])
def test_smooth_ndcg_comes_to_the_true_measure_as_the_temperature_falls(function):
    due = ndcg(SCORES, GRADES)
    errors = [
        abs(1 - function(*tensors(), temperature=temperature).item() - due)
        for temperature in (1.0, 0.1, 0.01, 0.001)
    ]
    assert errors[0] > 1e-2
    assert errors[2] < errors[0] / 100
    assert errors[-1] < 1e-9


PIECED = ("hinge", "ranknet", "lambdarank", "frank", "approx-ndcg", "neural-ndcg")


@pytest.mark.parametrize("name", PIECED)
def test_a_batch_in_pieces_gives_the_same_values_and_gradients(name, monkeypatch):
    made = torch.Generator().manual_seed(2)
    scores = torch.randn(7, 8, generator=made, dtype=torch.float64, requires_grad=True)
    labels = torch.randint(0, 3, (7, 8), generator=made).double()
    mask = torch.arange(8) < torch.randint(1, 9, (7, 1), generator=made)
    whole = loss(name)(scores, labels, mask)
    (due,) = torch.autograd.grad(whole.sum(), scores)
    largest, summed = [], pairs.pair_mask

    def watched(grades, mask):
        largest.append(len(grades))
        return summed(grades, mask)

    monkeypatch.setattr(pairs, "pair_mask", watched)
    monkeypatch.setattr(smooth_ndcg, "_gains", _watching(smooth_ndcg._gains, largest))
    monkeypatch.setattr(pairs, "SQUARE", 150)
    pieces = loss(name)(scores, labels, mask)
    (found,) = torch.autograd.grad(pieces.sum(), scores)
    torch.testing.assert_close(pieces, whole)
    torch.testing.assert_close(found, due)
    assert max(largest) == 2  # lists of 8: two squares of 64 fit into 150


def _watching(function, largest):
    def watched(grades):
        largest.append(len(grades))
        return function(grades)

    return watched
