"""The univariate net against its layers written out; batch statistics and padding."""

import pytest
import torch
from torch import nn

from shuffleproof.core.errors import ParameterError
from shuffleproof.core.models.config_univariate import (
    UNIVARIATE_PRESETS,
    UnivariateConfig,
    widths_of,
)
from shuffleproof.core.models.mlp import RowNorm, UnivariateNet

ACTIVATIONS = {"relu": torch.relu, "elu": nn.functional.elu, "tanh": torch.tanh}
CONFIGS = [
    UnivariateConfig(layers="5x3", activation=activation, norm=norm)
    for activation in ACTIVATIONS
    for norm in ("none", "layer", "batch")
] + [UnivariateConfig(layers="none")]


def net(config, features=4):
    torch.manual_seed(2)
    return UnivariateNet(features, config)


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_a_score_is_the_layers_one_after_the_other(config):
    model = net(config).double().eval()
    x = torch.randn(2, 3, 4, dtype=torch.float64)
    due = x
    for layer, behind in zip(model.layers, model.units, strict=True):
        due = due @ layer.weight.t() + layer.bias
        if config.norm == "layer":
            spread = due.var(-1, keepdim=True, unbiased=False)
            due = (due - due.mean(-1, keepdim=True)) / (spread + behind[0].eps).sqrt()
        if config.norm == "batch":
            due = due / (1 + behind[0].eps) ** 0.5  # running mean 0, variance 1 at first
        due = ACTIVATIONS[config.activation](due)
    due = (due @ model.output.weight.t() + model.output.bias).squeeze(-1)
    torch.testing.assert_close(model(x), due)
    with torch.inference_mode():
        torch.testing.assert_close(model(x), due)


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_pads_are_never_read_and_have_no_part_in_statistics(config):
    mask = torch.arange(5) < torch.tensor([[3], [5], [0]])
    x = torch.randn(3, 5, 4)
    poisoned = x.masked_fill(~mask[..., None], torch.nan)
    padded, plain = net(config).train(), net(config).train()
    scores = padded(poisoned, mask)
    due = plain(x[mask][None])[0]
    torch.testing.assert_close(scores[mask], due)
    assert (scores[~mask] == 0).all()
    for name, value in padded.named_buffers():
        torch.testing.assert_close(value, dict(plain.named_buffers())[name])
    scores.sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in padded.parameters())


def test_a_batch_of_one_row_is_normalised_as_in_scoring_and_leaves_no_trace():
    norm = RowNorm(3).train()
    norm(torch.randn(20, 3) * 4 + 1)
    before = norm.running_mean.clone()
    row = torch.randn(1, 1, 3)
    training = norm(row)
    torch.testing.assert_close(norm.eval()(row), training)
    assert torch.equal(norm.running_mean, before)


def test_batch_norm_is_torchs():
    norm, peer, x = RowNorm(3), nn.BatchNorm1d(3), torch.randn(4, 5, 3)
    torch.testing.assert_close(norm(x), peer(x.view(20, 3)).view(4, 5, 3))
    torch.testing.assert_close(norm.eval()(x), peer.eval()(x.view(20, 3)).view(4, 5, 3))


@pytest.mark.parametrize("text", ["", "0", "8,4", "8x", "x8", "8x04", "-3", "eight"])
def test_texts_that_name_no_layers_are_refused(text):
    with pytest.raises(ParameterError, match="layers"):
        UnivariateConfig(layers=text)


def test_layers_are_read_from_their_text():
    assert [widths_of(text) for text in ("none", "8", "8x4x2")] == [(), (8,), (8, 4, 2)]
    for config in UNIVARIATE_PRESETS.values():
        assert "x".join(map(str, config.widths)) == config.layers
