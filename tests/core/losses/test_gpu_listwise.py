"""The loss's kernel against PyTorch: without a GPU, in Triton's interpreter."""

import pytest
import torch

from shuffleproof.core.losses import listwise

pytest.importorskip("triton")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
LISTS = {
    "drawn": [[0.3, -1.0, 2.0, 0.1], [0.0, 1.0, 0.0, 2.0], [1, 1, 1, 1]],
    "ties at the top": [[1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 1.0], [1, 1, 1, 1]],
    "one far above": [[90.0, 0.0, -90.0, 1.0], [0.0, 2.0, 1.0, 0.0], [1, 1, 1, 1]],
    "the right one far above": [[0.0, 90.0, -90.0, 1.0], [0.0, 2.0, 0.0, 0.0], [1, 1, 1, 1]],
    "all alike": [[0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0], [1, 1, 1, 1]],
    "pads": [[0.3, -1.0, torch.nan, torch.inf], [0.0, 1.0, 3.0, 4.0], [1, 1, 0, 0]],
    "one document": [[2.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [1, 0, 0, 0]],
    "none relevant": [[0.3, -1.0, 2.0, 0.1], [0.0, 0.0, 0.0, 0.0], [1, 1, 1, 1]],
    "no document": [[0.3, -1.0, 2.0, 0.1], [0.0, 1.0, 0.0, 2.0], [0, 0, 0, 0]],
}


def losses_and_gradient(scores, labels, mask):
    scores = scores.clone().requires_grad_()
    losses = listwise.attention_rank(scores, labels, mask)
    weights = torch.arange(1.0, len(losses) + 1, device=scores.device, dtype=scores.dtype)
    (gradient,) = torch.autograd.grad((losses * weights).sum(), scores)
    return losses.detach(), gradient


def compared(monkeypatch, scores, labels, mask):
    monkeypatch.setattr(listwise, "_has_kernel", lambda _: False)
    due = losses_and_gradient(scores.double(), labels, mask)
    monkeypatch.setattr(listwise, "_has_kernel", lambda _: True)
    found = losses_and_gradient(scores, labels, mask)
    for values, expected in zip(found, due, strict=True):
        torch.testing.assert_close(values, expected.float(), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("facts", LISTS.values(), ids=LISTS)
def test_a_list_has_the_loss_and_gradient_of_torch(monkeypatch, facts):
    scores, labels, mask = (torch.tensor([row], device=DEVICE) for row in facts)
    compared(monkeypatch, scores, labels, mask.bool())


@pytest.mark.parametrize("docs", [1, 40, 130])
def test_lists_of_a_batch_have_those_of_torch(monkeypatch, docs):
    drawn = torch.Generator().manual_seed(docs)
    scores = 3 * torch.randn(5, docs, generator=drawn)
    labels = torch.randint(0, 3, (5, docs), generator=drawn).float()
    lengths = torch.randint(0, docs + 1, (5, 1), generator=drawn)
    facts = scores, labels, torch.arange(docs) < lengths
    compared(monkeypatch, *(part.to(DEVICE) for part in facts))
    compared(monkeypatch, *(part.t().contiguous().t().to(DEVICE) for part in facts))


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # the interpreter's NumPy
@pytest.mark.parametrize("wrong", [torch.nan, torch.inf])
def test_a_score_that_is_no_number_is_not_hidden(monkeypatch, wrong):
    monkeypatch.setattr(listwise, "_has_kernel", lambda _: True)
    scores, labels = torch.tensor([[wrong, 0.0], [1.0, 0.0]]), torch.tensor([[1.0, 0.0]] * 2)
    losses = listwise.attention_rank(scores.to(DEVICE), labels.to(DEVICE), (labels > -1).to(DEVICE))
    assert losses.isnan().tolist() == [True, False]


def test_a_processor_goes_through_torch():
    assert not listwise._has_kernel(torch.zeros(1, 2))
