"""SetRank: the blocks against the formulas, equivariance and padding in float32, the presets."""

from dataclasses import replace
from statistics import median

import pytest
import torch

from shuffleproof.core.errors import ParameterError
from shuffleproof.core.execution import devices
from shuffleproof.core.losses.listwise import attention_rank
from shuffleproof.core.models import dense
from shuffleproof.core.models.attention import AttentionBlock
from shuffleproof.core.models.config import SETRANK_PRESETS, SetRankConfig
from shuffleproof.core.models.setrank import IMSAB, MSAB, GaussianKernels, SetRank

SMALL = SETRANK_PRESETS["small"]
MEDIUM = SetRankConfig(width=64, depth=3, heads=4, feed_forward=128, inducing_points=10)
BLOCKS = ("msab", "imsab")


def drawn(*shape, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=dtype)


def no_ranks(lists, docs):
    none = torch.zeros(lists, docs, 0, dtype=torch.long)
    return none, none


def model_of(config, features=5, seed=0):
    torch.manual_seed(seed)
    return SetRank(features, config).eval()


def norm(x, epsilon=1e-5):
    return (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, correction=0) + epsilon).sqrt()


def by_equation_5(block, queries, keys):
    """MAB with fresh norms (weight 1, bias 0): B = LN(Q + Multihead), LN(B + rFF(B))."""
    gathered = norm(queries + block.attention(queries, keys))
    if block.feed_forward is None:
        return gathered
    inner, outer = block.feed_forward.inner, block.feed_forward.outer
    hidden = (gathered @ inner.weight.T + inner.bias).clamp(min=0)
    return norm(gathered + hidden @ outer.weight.T + outer.bias)


@pytest.mark.parametrize("feed_forward", [True, False])
def test_attention_block_is_equation_5(feed_forward):
    torch.manual_seed(0)
    block = AttentionBlock(SMALL, feed_forward=feed_forward).double()
    queries, keys = drawn(2, 4, 32, dtype=torch.float64), drawn(2, 6, 32, dtype=torch.float64)
    torch.testing.assert_close(block(queries, keys), by_equation_5(block, queries, keys))


def test_msab_is_equation_6():
    torch.manual_seed(0)
    msab, x = MSAB(SMALL).double(), drawn(2, 6, 32, dtype=torch.float64)
    torch.testing.assert_close(msab(x), by_equation_5(msab.block, x, x))


@pytest.mark.parametrize("feed_forward", [True, False])
def test_imsab_is_equation_7(feed_forward):
    torch.manual_seed(0)
    config = replace(SMALL, inducing_feed_forward=feed_forward)
    imsab, x = IMSAB(config).double(), drawn(2, 6, 32, dtype=torch.float64)
    centres = by_equation_5(imsab.gather, imsab.points.expand(2, -1, -1), x)
    torch.testing.assert_close(imsab(x), by_equation_5(imsab.spread, x, centres))


def test_setrank_is_equation_8():
    model = model_of(replace(SMALL, block="imsab")).double()
    x = drawn(2, 7, 5, dtype=torch.float64)
    hidden = x @ model.input.weight.T + model.input.bias
    for block in model.blocks:
        hidden = block(hidden)
    due = (hidden @ model.output.weight.T + model.output.bias)[..., 0]
    torch.testing.assert_close(model(x, None, *no_ranks(2, 7)), due)


def test_gaussian_kernels_are_the_released_input_net():
    config = replace(SMALL, input_layer="gaussian-kernels", kernels=3, kernel_width=0.5)
    config = replace(config, kernel_layer=7)
    torch.manual_seed(0)
    net, x = GaussianKernels(2, config).double(), drawn(4, 2, dtype=torch.float64)
    kernels = torch.exp(-((x[:, :, None] - net.centres) ** 2) / (2 * 0.5**2)).reshape(4, 6)
    wide, narrow = net.layers[0], net.layers[3]
    hidden = norm((kernels @ wide.weight.T + wide.bias).clamp(min=0))
    torch.testing.assert_close(net(x), norm(hidden @ narrow.weight.T + narrow.bias))
    assert (net.centres.abs() <= 1).all()


def test_released_input_net_holds_most_of_the_weights():
    """PAPERS: 20.8 M of 25 M for Istella's 220 features is the order of magnitude."""
    with torch.device("meta"):
        model = SetRank(220, replace(SETRANK_PRESETS["released"], rankings=0))
    inside = sum(parameter.numel() for parameter in model.input.parameters())
    assert inside == 220 * 100 + (22000 * 1024 + 1024) + 2 * 1024 + (1024 * 256 + 256) + 2 * 256
    assert inside > 0.8 * sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("docs", [2, 3, 10, 40, 120, 240, 500])
def test_permuted_documents_keep_their_scores_and_positions(block, docs):
    model = model_of(replace(MEDIUM, block=block))
    features = drawn(1, docs, 5)
    made = torch.Generator().manual_seed(docs)
    with torch.inference_mode():
        scores = model(features, None, *no_ranks(1, docs))[0]
        for _ in range(3):
            order = torch.randperm(docs, generator=made)
            moved = model(features[:, order], None, *no_ranks(1, docs))[0]
            assert (moved - scores[order]).abs().max() < 1e-5
            assert torch.equal(order[moved.argsort()], scores.argsort())


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("changes", [{}, {"ordinal_place": "every-block"}, {"rankings": 2}])
@pytest.mark.parametrize("docs", [2, 40, 240, 500])
def test_with_ordinals_only_the_order_shown_changes(block, changes, docs):
    """Prior ranks with ties travel with their documents."""
    model = model_of(replace(MEDIUM, block=block, **{"rankings": 1, **changes}))
    features, made = drawn(1, docs, 5), torch.Generator().manual_seed(docs)
    prior = torch.randint(0, docs // 2 + 1, (1, docs, model.config.rankings), generator=made)
    ranks = (prior[:, None] > prior[:, :, None]).sum(2)
    tied = (prior[:, None] == prior[:, :, None]).sum(2)
    order = torch.randperm(docs, generator=made)
    with torch.inference_mode():
        scores = model(features, None, ranks, tied)[0]
        moved = model(features[:, order], None, ranks[:, order], tied[:, order])[0]
    assert (moved - scores[order]).abs().max() < 1e-5
    assert torch.equal(order[moved.argsort()], scores.argsort())


def test_ties_by_shown_position_break_invariance():
    """Mode `first` must fail the very test that mode `mean` passes."""
    model = model_of(replace(MEDIUM, rankings=1, tied_ranks="first"))
    assert model.config.reads_order
    features = drawn(1, 6, 5)
    ranks = torch.zeros(1, 6, 1, dtype=torch.long)
    tied = torch.full_like(ranks, 6)
    with torch.inference_mode():
        scores = model(features, None, ranks, tied)[0]
        moved = model(features.flip(1), None, ranks, tied)[0].flip(0)
    assert (moved - scores).abs().max() > 1e-3


def test_the_ranking_does_move_scores_where_it_is_read():
    model = model_of(replace(MEDIUM, rankings=1))
    features, ranks = drawn(1, 6, 5), torch.arange(6)[None, :, None]
    one = torch.ones_like(ranks)
    with torch.inference_mode():
        gap = model(features, None, ranks, one) - model(features, None, ranks.flip(1), one)
    assert gap.abs().max() > 1e-3


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("rankings", [0, 1])
@pytest.mark.parametrize("grad", [False, True])
def test_padding_and_other_lists_change_no_score(block, rankings, grad):
    model = model_of(replace(MEDIUM, block=block, rankings=rankings))
    lengths = [40, 3, 17, 1, 240]
    features = drawn(5, 240, 5)
    mask = torch.arange(240) < torch.tensor(lengths)[:, None]
    ranks = torch.arange(240)[None, :, None].repeat(5, 1, rankings)
    one = torch.ones_like(ranks)
    poisoned = features.masked_fill(~mask[..., None], torch.nan)
    with torch.set_grad_enabled(grad):
        together = model(poisoned, mask, ranks, one)
        for index, length in enumerate(lengths):
            part = slice(index, index + 1)
            cut = (features[part, :length], None, ranks[part, :length], one[part, :length])
            alone = model(*cut)[0]
            found = together[index, :length]
            torch.testing.assert_close(found, alone, atol=1e-6, rtol=0)
            assert torch.equal(found.argsort(), alone.argsort())
    assert (together[~mask] == 0).all()
    if grad:
        together.sum().backward()
        assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


def test_a_list_without_documents_is_harmless():
    model = model_of(MEDIUM)
    mask = torch.tensor([[False, False], [True, True]])
    scores = model(drawn(2, 2, 5), mask, *no_ranks(2, 2))
    assert scores[0].tolist() == [0.0, 0.0]
    assert scores.isfinite().all()


@pytest.mark.parametrize("block", BLOCKS)
def test_attention_weights_are_returned_on_request(block):
    model = model_of(replace(MEDIUM, block=block))
    embedded, record = model.embed(drawn(2, 6, 5)), []
    mask = torch.arange(6) < torch.tensor([[6], [4]])
    scores = model.score(embedded, mask, None, record)
    torch.testing.assert_close(scores, model.score(embedded, mask), atol=1e-6, rtol=1e-5)
    shapes = [(2, 4, 6, 6)] if block == "msab" else [(2, 4, 10, 6), (2, 4, 6, 10)]
    assert [tuple(weights.shape) for weights in record] == shapes * 3
    assert (record[0][1, :, :, 4:] == 0).all()
    torch.testing.assert_close(record[-1].sum(-1), torch.ones(record[-1].shape[:-1]))


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("preset", ["released", "tuned", "small"])
def test_presets_train_a_step(preset, block):
    config = replace(SETRANK_PRESETS[preset], block=block, rankings=1)
    config = replace(config, kernels=5, kernel_layer=16, width=32, heads=2, depth=2)
    model = model_of(config)
    ranks = torch.arange(4)[None, :, None]
    scores = model(drawn(1, 4, 5), None, ranks, torch.ones_like(ranks), torch.tensor([2]))
    scores.square().sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_paper_preset_is_the_papers():
    config = SETRANK_PRESETS["paper"]
    assert (config.depth, config.width, config.heads, config.inducing_points) == (6, 256, 8, 20)
    assert (config.scale, config.projection_bias, config.tied_ranks) == ("width", False, "mean")
    with torch.device("meta"):
        model = SetRank(46, config)
    each = 3 * 256**2 + 2 * 256 * 1024 + 1024 + 256 + 4 * 256
    total = sum(parameter.numel() for parameter in model.parameters())
    assert total == 46 * 256 + 256 + 6 * each + 256 + 1


def test_heads_must_divide_the_width():
    with pytest.raises(ParameterError, match="divisor of the width 10"):
        SetRankConfig(width=10, heads=3)


@pytest.mark.parametrize("has_products", sorted({False, devices.multiplies_bf16()}))
def test_bfloat16_scores_are_close(monkeypatch, has_products):
    monkeypatch.setattr(dense, "multiplies_bf16", lambda: has_products)
    model = model_of(MEDIUM)
    features = drawn(2, 20, 5)
    with torch.inference_mode():
        exact = model(features, None, *no_ranks(2, 20))
        with torch.autocast("cpu", torch.bfloat16):
            lowered = model(features, None, *no_ranks(2, 20))
        assert (lowered.float() - exact).abs().max() < 0.1
        low = model.bfloat16()(features.bfloat16(), None, *no_ranks(2, 20))
    assert (low.float() - exact).abs().max() < 0.1
    assert lowered.dtype == low.dtype == torch.bfloat16


@pytest.mark.skipif(dense._product is None, reason="PyTorch is built without oneDNN")
def test_scores_are_the_same_with_the_fused_product_and_without(monkeypatch):
    """Which of the two is used depends on the processor."""
    model, features, scores = model_of(MEDIUM), drawn(2, 20, 5), []
    for fuses in (True, False):
        monkeypatch.setattr(dense, "FUSES", fuses)
        with torch.inference_mode():
            scores.append(model(features, None, *no_ranks(2, 20)))
    assert not torch.equal(*scores)
    assert torch.allclose(*scores, rtol=1e-5, atol=1e-6)


def test_without_products_in_bfloat16_gradients_are_those_of_rounded_numbers(monkeypatch):
    """PyTorch's own loop for such processors takes a hundred times as long."""
    model, features, gradients = model_of(MEDIUM), drawn(2, 20, 5), []
    for lowered in (False, True):
        with torch.autocast("cpu", torch.bfloat16, enabled=lowered), monkeypatch.context() as patch:
            patch.setattr(dense, "multiplies_bf16", lambda: False)
            scores = model(features, None, *no_ranks(2, 20))
        found = torch.autograd.grad(scores.float().square().sum(), list(model.parameters()))
        gradients.append(torch.cat([one.flatten() for one in found]))
    exact, rounded = gradients
    assert 0 < (rounded - exact).norm() / exact.norm() < 0.05


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("docs", [40, 240])
def test_a_gpu_gives_the_cpus_scores_losses_and_gradients(docs):
    """In float32, TF32 off; the median of five batches, as rounding may flip a unit of relu."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        torch.manual_seed(0)
        model = SetRank(136, SETRANK_PRESETS["paper"])
        generator = torch.Generator().manual_seed(0)
        batches = [
            (
                torch.randn(2, docs, 136, generator=generator),
                torch.randint(0, 3, (2, docs), generator=generator).float(),
            )
            for _ in range(5)
        ]
        expected = [outputs_of(model, *batch) for batch in batches]
        model = model.to("cuda")
        computed = [outputs_of(model, *(part.to("cuda") for part in batch)) for batch in batches]
    finally:
        torch.set_float32_matmul_precision(before)
    differences = [
        max(float((b.cpu() - a).norm() / a.norm()) for a, b in zip(*both, strict=True))
        for both in zip(expected, computed, strict=True)
    ]
    assert median(differences) < 1e-4


def outputs_of(model, features, labels):
    """Scores, losses and the gradient, each as one vector."""
    scores = model.score(model.embed(features))
    losses = attention_rank(scores, labels, torch.ones_like(labels, dtype=torch.bool))
    gradient = torch.autograd.grad(losses.mean(), list(model.parameters()))
    return scores.detach(), losses.detach(), torch.cat([part.flatten() for part in gradient])
