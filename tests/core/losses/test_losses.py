"""Every loss of the registry: invariance, padding, degenerate lists, extreme scores, gradients."""

import pytest
import torch

from shuffleproof.core.errors import UnknownNameError
from shuffleproof.core.losses.registry import LOSSES, loss
from shuffleproof.core.parameters import parameters
from shuffleproof.core.training.recipe import TrainingRecipe

CASES = [(name, {}) for name in LOSSES] + [
    ("softmax-ce", {"temper": 0.5}),
    ("list-mle", {"unit_norm": True}),
    ("softrank", {"unit_norm": True}),
    ("softrank", {"deviation": 1.0}),
    ("lambdarank", {"cutoff": None}),
    ("lambdarank", {"cutoff": 3, "steepness": 2.0}),
    ("frank", {"pair_weights": "grades"}),
    ("hinge", {"pair_weights": "pairs"}),
    ("ranknet", {"pair_weights": "grades", "steepness": 0.5}),
    ("approx-ndcg", {"temperature": 1.0}),
    ("neural-ndcg", {"temperature": 1.0}),
]
every_loss = pytest.mark.parametrize(("name", "options"), CASES)
every_loss_of_order = pytest.mark.parametrize(
    ("name", "options"), [case for case in CASES if not LOSSES[case[0]].absolute]
)


def drawn(lists, docs, seed=0, dtype=torch.float64, spread=0.3):
    """Scores, grades 0 … 4 with ties, and a mask of real lengths ≥ 1."""
    made = torch.Generator().manual_seed(seed)
    scores = spread * torch.randn(lists, docs, generator=made, dtype=dtype)
    labels = torch.randint(0, 5, (lists, docs), generator=made).to(dtype)
    lengths = torch.randint(1, docs + 1, (lists, 1), generator=made)
    return scores, labels, torch.arange(docs) < lengths


@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_shows_a_value_and_takes_its_options_from_a_recipe(name):
    assert ">>>" in loss(name).__doc__, "an example with numbers, which is run as a test"
    fields = {field.name: field.default for field in parameters(TrainingRecipe)}
    own = dict(LOSSES[name].options)
    assert {option: fields.get(option, "no field of TrainingRecipe") for option in own} == own


@every_loss
def test_the_order_shown_changes_nothing(name, options):
    scores, labels, _ = drawn(4, 12, seed=1)
    real = torch.ones(4, 12, dtype=torch.bool)
    order = torch.randperm(12, generator=torch.Generator().manual_seed(1))
    due = loss(name, **options)(scores, labels, real)
    found = loss(name, **options)(scores[:, order], labels[:, order], real)
    torch.testing.assert_close(found, due, rtol=1e-12, atol=1e-12)


@every_loss
def test_pads_are_never_read(name, options):
    scores, labels, mask = drawn(6, 9, seed=2)
    poisoned = scores.masked_fill(~mask, torch.nan).requires_grad_()
    found = loss(name, **options)(poisoned, labels.masked_fill(~mask, torch.nan), mask)
    for index, length in enumerate(mask.sum(1).tolist()):
        one = slice(index, index + 1)
        alone = loss(name, **options)(
            scores[one, :length], labels[one, :length], mask[one, :length]
        )
        torch.testing.assert_close(found[one], alone)
    (grad,) = torch.autograd.grad(found.sum(), poisoned)
    assert (grad[~mask] == 0).all()
    assert grad.isfinite().all()


@every_loss_of_order
def test_nothing_to_learn_is_exactly_zero_with_zero_gradients(name, options):
    cases = {
        "one relevant document": ([[3.0, 9.0]], [[2.0, 0.0]], [[True, False]]),
        "one irrelevant document": ([[3.0, 9.0]], [[0.0, 0.0]], [[True, False]]),
        "no relevant document": ([[3.0, 9.0]], [[0.0, 0.0]], [[True, True]]),
        "no document": ([[3.0, 9.0]], [[1.0, 0.0]], [[False, False]]),
    }
    for what, (scores, labels, mask) in cases.items():
        given_scores = torch.tensor(scores, requires_grad=True)
        value = loss(name, **options)(given_scores, torch.tensor(labels), torch.tensor(mask))
        (grad,) = torch.autograd.grad(value.sum(), given_scores)
        assert value.tolist() == [0.0], what
        assert grad.tolist() == [[0.0, 0.0]], what


@every_loss
@pytest.mark.parametrize("gap", [1e3, -1e3, 1e4])
def test_finite_at_gaps_of_a_thousand(name, options, gap):
    scores = torch.tensor([[gap, 0.0, -gap]], requires_grad=True)
    labels = torch.tensor([[2.0, 0.0, 1.0]])
    value = loss(name, **options)(scores, labels, torch.ones(1, 3, dtype=torch.bool))
    (grad,) = torch.autograd.grad(value.sum(), scores)
    assert value.isfinite().all()
    assert grad.isfinite().all()


@every_loss
def test_gradients_by_finite_differences(name, options):
    scores, labels, mask = drawn(5, 6, seed=3)
    function = loss(name, **options)
    scores = (scores * 0.3).requires_grad_()
    assert torch.autograd.gradcheck(lambda s: function(s, labels, mask), scores)


@every_loss_of_order
def test_equal_labels_give_no_preference(name, options):
    scores = torch.zeros(1, 4, requires_grad=True, dtype=torch.float64)
    labels = torch.full((1, 4), 2.0, dtype=torch.float64)
    value = loss(name, **options)(scores, labels, labels > 0)
    (grad,) = torch.autograd.grad(value.sum(), scores)
    torch.testing.assert_close(grad, torch.zeros_like(grad), atol=1e-12, rtol=0)


@every_loss
@pytest.mark.parametrize("low", [torch.float16, torch.bfloat16])
def test_low_precision_scores_are_computed_in_float32(name, options, low):
    scores, labels, mask = drawn(3, 8, seed=4, dtype=torch.float32)
    rounded = scores.to(low)
    value = loss(name, **options)(rounded, labels, mask)
    assert value.dtype == torch.float32
    torch.testing.assert_close(value, loss(name, **options)(rounded.float(), labels, mask))


def test_unknown_names_are_refused():
    with pytest.raises(UnknownNameError, match="attention-rank"):
        loss("attentionrank")
    with pytest.raises(UnknownNameError, match="deviation"):
        loss("softrank", sigma=1.0)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@every_loss
def test_a_gpu_gives_the_cpus_values_and_gradients(name, options):
    scores, labels, mask = drawn(6, 12, seed=5)
    function, grads, values = loss(name, **options), [], []
    for device in ("cpu", "cuda"):
        moved = scores.to(device).requires_grad_()
        values.append(function(moved, labels.to(device), mask.to(device)).cpu())
        grads.append(torch.autograd.grad(values[-1].sum(), moved)[0].cpu())
    torch.testing.assert_close(values[1], values[0])
    torch.testing.assert_close(grads[1], grads[0])
