"""The LSTM of DLCM against torch.nn.LSTM, over real lengths, both ways."""

from dataclasses import replace

import pytest
import torch

from shuffleproof.core.models.config import DLCM_PRESETS
from shuffleproof.core.models.dlcm import DLCM
from shuffleproof.core.models.memory import MemoryRecurrence

LENGTHS = [3, 6, 1, 6, 0, 5]
MASK = torch.arange(6) < torch.tensor(LENGTHS)[:, None]
both_ways = pytest.mark.parametrize("backwards", [True, False])


def pair(backwards):
    """Ours and torch's with the same weights, and input products of an input."""
    torch.manual_seed(1)
    peer = torch.nn.LSTM(5, 4, batch_first=True).double()
    module = MemoryRecurrence(4, backwards=backwards).double()
    module.weight.data.copy_(peer.weight_hh_l0.data)
    x = torch.randn(len(LENGTHS), 6, 5, dtype=torch.float64)
    return module, peer, x, x @ peer.weight_ih_l0.t() + peer.bias_ih_l0 + peer.bias_hh_l0


@both_ways
def test_equals_torch_lstm_over_real_lengths(backwards):
    module, peer, x, products = pair(backwards)
    states, final = module(products.masked_fill(~MASK[..., None], torch.nan), MASK)
    for index, length in enumerate(LENGTHS):
        if length:
            fed = x[index : index + 1, :length]
            outputs, (last, _) = peer(fed.flip(1) if backwards else fed)
            outputs = outputs.flip(1) if backwards else outputs
            torch.testing.assert_close(states[index, :length], outputs[0])
            torch.testing.assert_close(final[index], last[0, 0])
        assert (states[index, length:] == 0).all()


@both_ways
def test_full_lists_need_no_mask(backwards):
    module, _, _, products = pair(backwards)
    full = torch.ones(len(LENGTHS), 6, dtype=torch.bool)
    for found, due in zip(module(products), module(products, full), strict=True):
        torch.testing.assert_close(found, due)


@both_ways
def test_gradients_by_finite_differences(backwards):
    module, _, _, products = pair(backwards)
    products = products.detach().requires_grad_()

    def run(products, weight):
        return torch.func.functional_call(module, {"weight": weight}, (products, MASK))

    assert torch.autograd.gradcheck(run, (products, module.weight))


@pytest.mark.parametrize(
    "changes", [{}, {"direction": "highest-first"}, {"two_directions": True}, {"heads": 5}]
)
def test_dlcm_with_memory_reads_no_padding_and_follows_the_order_shown(changes):
    torch.manual_seed(5)
    model = DLCM(4, replace(DLCM_PRESETS["small"], cell="lstm", **changes))
    features = torch.randn(len(LENGTHS), 6, 4).masked_fill(~MASK[..., None], torch.nan)
    scores = model(features, MASK)
    for index, length in enumerate(LENGTHS):
        if length:
            alone = model(features[index : index + 1, :length])[0]
            torch.testing.assert_close(scores[index, :length], alone, atol=1e-6, rtol=0)
    scores.sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())
    whole = features[1:2]
    assert (model(whole.flip(1)).flip(1) - model(whole)).abs().max() > 1e-4
