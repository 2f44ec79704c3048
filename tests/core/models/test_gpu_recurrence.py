"""Fused kernels of the gated recurrence: interpreted where there is no GPU, and on one."""

import pytest
import torch

from shuffleproof.core.models.recurrence import GatedRecurrence, Walk, _Recurrence

gpu_recurrence = pytest.importorskip(
    "shuffleproof.core.models.gpu.recurrence",
    reason="Triton is not installed",
    exc_type=ImportError,
)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ALLOWED = {torch.float32: 1e-4, torch.bfloat16: 3e-2}
BOTH = [True, False]
CLOSE = {torch.float32: 1e-6, torch.bfloat16: 2e-2}


def computed(function, products, module, active):
    """States, and gradients of a weighted sum of them."""
    walk = Walk(active, module.backwards, module.reset_after)
    products.requires_grad_()
    none = (None, None) if function is _Recurrence else ()
    states = function.apply(products, *none, module.weight, module.bias, walk)
    weights = torch.randn(states.shape, generator=torch.Generator().manual_seed(1)).to(DEVICE)
    gradients = torch.autograd.grad((states * weights).sum(), [products, *module.parameters()])
    return states.detach(), *gradients


def both(products, module, active):
    due = computed(_Recurrence, products.detach().float(), module, active)
    found = computed(gpu_recurrence.FusedRecurrence, products.detach(), module, active)
    return zip(found, due, strict=True)


def recurrence(hidden, backwards, reset_after):
    torch.manual_seed(0)
    module = GatedRecurrence(hidden, backwards=backwards, reset_after=reset_after).to(DEVICE)
    if module.bias is not None:
        module.bias.data.normal_()
    return module


@pytest.mark.parametrize("active", [(3, 3, 3), (3, 2, 1), (2, 1, 0)])
@pytest.mark.parametrize("backwards", BOTH)
@pytest.mark.parametrize("reset_after", BOTH)
@pytest.mark.parametrize("precision", CLOSE)
def test_kernels_give_states_and_gradients_of_the_steps(precision, reset_after, backwards, active):
    module = recurrence(6, backwards, reset_after)
    products = torch.randn(3, 3, 18).to(DEVICE, precision)
    for place, lists in enumerate(active):
        products[lists:, place] = torch.nan
    pairs = list(both(products, module, active))
    types = [values.dtype for values, _ in pairs]
    assert types[:2] == [precision] * 2
    assert set(types[2:]) == {torch.float32}
    for values, expected in pairs:
        apart = (values - expected).abs().max() / expected.abs().max()
        assert apart <= CLOSE[precision]


@pytest.mark.parametrize("reset_after", BOTH)
@pytest.mark.parametrize("block", [2, 4])
def test_a_list_may_take_several_programs(monkeypatch, block, reset_after):
    monkeypatch.setattr(gpu_recurrence, "BLOCK", block)
    module = recurrence(5, backwards=False, reset_after=reset_after)
    for values, expected in both(torch.randn(2, 2, 15).to(DEVICE), module, (2, 1)):
        torch.testing.assert_close(values, expected)


@pytest.mark.parametrize("reset_after", BOTH)
def test_input_products_lie_anyhow(reset_after):
    module = recurrence(2, backwards=True, reset_after=reset_after)
    drawn = torch.randn(2, 3, 12).to(DEVICE)
    for products in (drawn[..., 6:], drawn[..., ::2], drawn[..., :6].transpose(0, 1)):
        for values, expected in both(products, module, (len(products),) * products.shape[1]):
            torch.testing.assert_close(values, expected)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("backwards", [True, False])
@pytest.mark.parametrize("reset_after", [True, False])
@pytest.mark.parametrize("precision", ALLOWED)
def test_a_gpu_gives_the_cpus_gradients_taken_or_recorded(precision, reset_after, backwards):
    torch.manual_seed(0)
    module = GatedRecurrence(64, backwards=backwards, reset_after=reset_after)
    lengths = torch.randint(1, 12, (32,)).sort(descending=True).values
    mask = torch.arange(int(lengths[0])) < lengths[:, None]
    products, weights = (torch.randn(*mask.shape, width) for width in (192, 64))

    def run(products, mask, weights):
        low = products.is_cuda and precision != torch.float32
        with torch.autocast(products.device.type, torch.bfloat16, enabled=low):
            states, last = module(products, mask, lengths.numpy())
        assert states.dtype == (precision if low else torch.float32)
        total = (states * weights).sum() + last.float().sum()
        return states.detach(), *torch.autograd.grad(total, [products, *module.parameters()])

    due = run(products.requires_grad_(), mask, weights)
    module.cuda()
    there = products.detach().cuda().requires_grad_(), mask.cuda(), weights.cuda()
    with torch.cuda.stream(torch.cuda.Stream()):
        runs = [run(*there) for _ in range(2)]
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        runs.append(run(*there))
    graph.replay()
    torch.cuda.synchronize()
    for found in runs:
        for values, expected in zip(found, due, strict=True):
            apart = (values.cpu() - expected).abs().max() / expected.abs().max()
            assert apart <= ALLOWED[precision]
