"""Attention against torch's own, a hand formula, and its two ways against each other."""

import math
from dataclasses import replace

import pytest
import torch

from shuffleproof.core.models import attend as attend_module
from shuffleproof.core.models import dense as dense_layers
from shuffleproof.core.models.attend import attend, attention_weights
from shuffleproof.core.models.attention import MultiHeadAttention
from shuffleproof.core.models.config import SETRANK_PRESETS, SetRankConfig
from shuffleproof.core.models.dense import dense, dense_added_norm

SMALL = SETRANK_PRESETS["small"]


def drawn(*shape, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=dtype)


def by_torch(ours, scale_width):
    """`nn.MultiheadAttention` with our projections, an identity for its output projection."""
    width = ours.weight.shape[1]
    peer = torch.nn.MultiheadAttention(width, ours.heads, bias=False, batch_first=True)
    peer.in_proj_weight.data.copy_(ours.weight.data)
    peer.in_proj_weight.data[:width] *= ours.scale * scale_width
    peer.out_proj.weight.data.copy_(torch.eye(width))
    return peer


@pytest.mark.parametrize("scale", ["width", "head"])
def test_equals_torch_without_its_output_projection(scale):
    torch.manual_seed(0)
    ours = MultiHeadAttention(replace(SMALL, scale=scale))
    peer = by_torch(ours, math.sqrt(SMALL.head_width))
    queries, keys = drawn(3, 5, 32), drawn(3, 7, 32)
    mask = torch.arange(7) < torch.tensor([[7], [4], [1]])
    record = []
    found = ours(queries, keys, mask, record)
    due, weights = peer(queries, keys, keys, key_padding_mask=~mask, average_attn_weights=False)
    torch.testing.assert_close(found, due, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(record[0], weights, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(ours(queries, keys, mask), found, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(
        ours(queries, queries), peer(queries, queries, queries)[0], atol=1e-6, rtol=1e-5
    )


def test_one_head_is_equation_3_with_the_root_of_the_width():
    config = SetRankConfig(width=4, heads=2, scale="width")
    torch.manual_seed(1)
    module = MultiHeadAttention(config).double()
    x = drawn(1, 3, 4, dtype=torch.float64)
    w_query, w_key, w_value = module.weight.split(4)
    heads = []
    for head in (slice(0, 2), slice(2, 4)):
        q, k, v = x[0] @ w_query[head].T, x[0] @ w_key[head].T, x[0] @ w_value[head].T
        heads.append(torch.softmax(q @ k.T / math.sqrt(4), -1) @ v)
    torch.testing.assert_close(module(x, x)[0], torch.cat(heads, 1))


def test_released_projections_pass_bias_and_relu():
    torch.manual_seed(2)
    config = replace(SMALL, projection_bias=True, projection_activation="relu")
    module = MultiHeadAttention(config)
    module.bias.data.normal_()
    x = drawn(2, 6, 32)
    query, key, value = (x @ module.weight.T + module.bias).relu().split(32, -1)
    parts = [part.view(2, 6, 2, 16).transpose(1, 2) for part in (query, key, value)]
    logits = parts[0] @ parts[1].transpose(2, 3) / math.sqrt(16)
    due = (logits.softmax(-1) @ parts[2]).transpose(1, 2).reshape(2, 6, 32)
    torch.testing.assert_close(module(x, x), due, atol=1e-6, rtol=1e-5)
    with torch.inference_mode():
        torch.testing.assert_close(module(x, x), due, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("grad", [False, True])
def test_both_ways_give_the_same(monkeypatch, masked, grad):
    parts = [drawn(2, 3, docs, 8) for docs in (20, 30, 30)]
    parts = [part.requires_grad_(grad) for part in parts]
    mask = torch.arange(30) < torch.tensor([[30], [11]]) if masked else None
    found = {}
    for way, threshold in (("fused", 1), ("explicit", 10**9)):
        monkeypatch.setattr(attend_module, "FUSED_FROM", threshold)
        out = attend(*parts, mask, 0.3)
        grads = torch.autograd.grad(out.square().sum(), parts) if grad else ()
        found[way] = (out, *grads)
    for fused, explicit in zip(found["fused"], found["explicit"], strict=True):
        torch.testing.assert_close(fused, explicit, atol=2e-6, rtol=1e-5)


def test_weights_are_a_distribution_over_the_real_keys():
    mask = torch.arange(9) < torch.tensor([[9], [3]])
    weights = attention_weights(drawn(2, 3, 5, 4), drawn(2, 3, 9, 4), mask, 1.0)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, 5))
    assert (weights[1, :, :, 3:] == 0).all()


def test_gradients_by_finite_differences():
    config = SetRankConfig(width=4, heads=2)
    torch.manual_seed(3)
    module = MultiHeadAttention(config).double()
    queries = drawn(2, 2, 4, dtype=torch.float64).requires_grad_()
    keys = drawn(2, 3, 4, dtype=torch.float64).requires_grad_()
    mask = torch.arange(3) < torch.tensor([[3], [2]])
    assert torch.autograd.gradcheck(lambda q, k: module(q, k, mask), (queries, keys))


@pytest.mark.parametrize("rows", [(1,), (3, 40), (2, 3, 5)])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("fuses", [True, False])
def test_fused_dense_layers_are_the_usual_ones(monkeypatch, rows, bias, fuses):
    monkeypatch.setattr(dense_layers, "FUSES", fuses)
    x, residual, weight = drawn(*rows, 16), drawn(*rows, 24), drawn(24, 16)
    layer, norm = torch.nn.Linear(16, 24, bias=bias), torch.nn.LayerNorm(24)
    with torch.no_grad():
        layer.weight.copy_(weight)
    offset = layer.bias
    due = torch.nn.functional.linear(x, weight, offset)
    with torch.inference_mode():
        torch.testing.assert_close(dense(x, weight, offset), due, atol=1e-5, rtol=1e-5)
        relu = dense(x, weight, offset, relu=True)
        torch.testing.assert_close(relu, due.relu(), atol=1e-5, rtol=1e-5)
        added = dense_added_norm(x, residual, layer, norm)
        torch.testing.assert_close(added, norm(due + residual), atol=1e-5, rtol=1e-5)
