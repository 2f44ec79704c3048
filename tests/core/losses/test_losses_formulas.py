"""Losses against their formulas, written out or simulated."""

import itertools
import math

import numpy as np
import pytest
import torch
from scipy.stats import norm

from shuffleproof.core.losses import softrank as module
from shuffleproof.core.losses.listwise import attention_rank, list_mle, softmax_ce
from shuffleproof.core.losses.softrank import by_kernel, by_tensors, softrank


def lists_of(*rows):
    return tuple(torch.tensor([row], dtype=torch.float64) for row in rows)


def real(values):
    return torch.ones_like(values, dtype=torch.bool)


def test_attention_rank_is_equation_11():
    scores, labels = lists_of([1.0, -0.5, 0.3], [2.0, 0.0, 1.0])
    wanted = [math.exp(2), 0.0, math.exp(1)]
    wanted = [value / sum(wanted) for value in wanted]
    given = [math.exp(value) for value in (1.0, -0.5, 0.3)]
    given = [value / sum(given) for value in given]
    due = -sum(
        y * math.log(a) + (1 - y) * math.log(1 - a) for y, a in zip(wanted, given, strict=True)
    )
    assert attention_rank(scores, labels, real(scores)).item() == pytest.approx(due, rel=1e-12)


def test_softmax_ce_is_the_first_term_with_temper():
    scores, labels = lists_of([1.0, -0.5, 0.3], [2.0, 0.0, 1.0])
    wanted = [math.exp(2 * 0.7), 0.0, math.exp(0.7)]
    total = sum(math.exp(value) for value in (1.0, -0.5, 0.3))
    due = -sum(
        y / sum(wanted) * (s - math.log(total))
        for y, s in zip(wanted, (1.0, -0.5, 0.3), strict=True)
    )
    found = softmax_ce(scores, labels, real(scores), temper=0.7).item()
    assert found == pytest.approx(due, rel=1e-12)


@pytest.mark.parametrize("gap", [20.0, 40.0, 1e3])
def test_log_complement_stays_exact_where_the_naive_form_breaks(gap):
    """Two documents: log(1 − a_top) = −log(1 + e^gap), which 1 − softmax loses from gap 37 on."""
    scores = torch.tensor([[gap, 0.0]], dtype=torch.float64)
    labels = torch.tensor([[0.0, 1.0]], dtype=torch.float64)
    due = 2 * np.logaddexp(0, gap)
    assert attention_rank(scores, labels, real(scores)).item() == pytest.approx(due, rel=1e-13)
    single = attention_rank(scores.float(), labels.float(), real(scores)).item()
    assert single == pytest.approx(due, rel=1e-6)


def plackett_luce(scores, order):
    """−log of the probability of drawing the documents in this order."""
    total = 0.0
    for place in range(len(order)):
        rest = [scores[doc] for doc in order[place:]]
        total -= scores[order[place]] - np.logaddexp.reduce(rest)
    return total


def test_list_mle_is_plackett_and_luce_without_ties():
    rows = [0.4, -1.0, 2.0, 0.1]
    scores, labels = lists_of(rows, [1.0, 0.0, 2.0, 3.0])
    due = plackett_luce(rows, [3, 2, 0, 1])
    assert list_mle(scores, labels, real(scores)).item() == pytest.approx(due, rel=1e-12)


def test_list_mle_of_equal_scores_in_a_tie_is_any_of_its_orders():
    rows = [0.7, 0.7, 0.7, -0.2, -0.2]
    scores, labels = lists_of(rows, [1.0, 1.0, 1.0, 0.0, 0.0])
    due = plackett_luce(rows, [1, 0, 2, 4, 3])
    assert list_mle(scores, labels, real(scores)).item() == pytest.approx(due, rel=1e-12)


def test_list_mle_of_a_tie_is_close_to_the_mean_over_its_orders():
    rows = [0.5, 0.1, -0.3, -0.6]
    scores, labels = lists_of(rows, [1.0, 1.0, 1.0, 0.0])
    mean = np.mean([plackett_luce(rows, [*tie, 3]) for tie in itertools.permutations(range(3))])
    assert list_mle(scores, labels, real(scores)).item() == pytest.approx(mean, rel=0.02)


def test_unit_norm_divides_by_the_norm_of_the_real_scores():
    scores, labels = lists_of([3.0, 4.0, 100.0], [0.0, 1.0, 0.0])
    mask = torch.tensor([[True, True, False]])
    due = plackett_luce([0.6, 0.8], [1, 0])
    assert list_mle(scores, labels, mask, unit_norm=True).item() == pytest.approx(due, rel=1e-12)


def by_enumeration(scores, labels, deviation):
    """1 − E[NDCG] with the coin tosses of SoftRank enumerated one by one."""
    docs, expected = len(scores), 0.0
    for doc in range(docs):
        others = [other for other in range(docs) if other != doc]
        for tosses in itertools.product((0, 1), repeat=docs - 1):
            chance = 1.0
            for other, toss in zip(others, tosses, strict=True):
                gap = (scores[other] - scores[doc]) / (deviation * math.sqrt(2))
                chance *= norm.cdf(gap) if toss else norm.sf(gap)
            expected += chance * (2 ** labels[doc] - 1) / math.log2(sum(tosses) + 2)
    ideal = sum(
        (2**grade - 1) / math.log2(place + 2)
        for place, grade in enumerate(sorted(labels, reverse=True))
    )
    return 1 - expected / ideal


@pytest.mark.parametrize("deviation", [0.1, 1.0])
def test_softrank_is_the_recursion_of_equation_8(deviation):
    rows, grades = [0.2, 0.05, -0.1, 0.15, 0.0], [0.0, 2.0, 1.0, 0.0, 3.0]
    scores, labels = lists_of(rows, grades)
    due = by_enumeration(rows, grades, deviation)
    found = softrank(scores, labels, real(scores), deviation=deviation).item()
    assert found == pytest.approx(due, rel=1e-12)


def test_softrank_of_well_separated_scores_is_ndcg():
    scores, labels = lists_of([9.0, 5.0, 1.0], [0.0, 2.0, 1.0])
    due = 1 - (3 / math.log2(3) + 1 / 2) / (3 + 1 / math.log2(3))
    assert softrank(scores, labels, real(scores)).item() == pytest.approx(due, rel=1e-12)


def test_rank_distributions_by_tensors_are_the_kernels(monkeypatch):
    monkeypatch.setattr("shuffleproof.core.losses.softrank.PIECE", 200)
    torch.manual_seed(0)
    above, discounts = torch.rand(7, 9, dtype=torch.float64), torch.rand(9, dtype=torch.float64)
    above[torch.arange(7), torch.randint(0, 9, (7,))] = 0
    due, due_gradient = by_kernel(above, discounts)
    found, gradient = by_tensors(above, discounts)
    torch.testing.assert_close(found, due)
    torch.testing.assert_close(gradient[above > 0], due_gradient[above > 0])


@pytest.mark.parametrize("unit_norm", [False, True])
def test_softrank_of_all_documents_is_that_of_the_relevant_ones(monkeypatch, unit_norm):
    """On a device: with pads, a list without relevant documents, and its gradient."""
    draws = torch.Generator().manual_seed(0)
    scores = torch.randn(4, 7, generator=draws)
    labels = torch.randint(0, 3, (4, 7), generator=draws).float()
    labels[2] = 0
    mask = torch.arange(7) < torch.tensor([7, 3, 5, 1])[:, None]
    found = []
    for dense in (False, True):
        if dense:
            monkeypatch.setattr(module, "documents_with_gain", module.all_documents)
            monkeypatch.setattr(module, "by_kernel", by_tensors)
        own = scores.clone().requires_grad_()
        losses = softrank(own, labels, mask, unit_norm=unit_norm)
        found.append((losses.detach(), *torch.autograd.grad(losses.sum(), own)))
    for one, other in zip(*found, strict=True):
        assert torch.allclose(one, other, atol=1e-6)
    assert found[1][0][2] == 0
