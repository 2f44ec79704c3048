"""DLCM against torch.nn.GRU, Eq. 4 and 5 written out, and finite differences."""

from dataclasses import replace

import pytest
import torch

from shuffleproof.core.models.config import DLCM_PRESETS, DLCMConfig
from shuffleproof.core.models.dlcm import DLCM, LocalRanking
from shuffleproof.core.models.recurrence import GatedRecurrence

LENGTHS = [3, 7, 1, 7, 0, 5]


def mask_of(lengths):
    return torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]


def recurrence(hidden, backwards, reset_after, seed=0):
    torch.manual_seed(seed)
    module = GatedRecurrence(hidden, backwards=backwards, reset_after=reset_after).double()
    if module.bias is not None:
        module.bias.data.normal_()
    return module


def by_equation(module, products, length):
    """Eq. 4 of one list, step by step, u = 1 − z."""
    hidden = module.weight.shape[1]
    w_reset, w_keep, w_candidate = module.weight.split(hidden)
    state, states = torch.zeros(hidden, dtype=torch.float64), {}
    steps = range(length - 1, -1, -1) if module.backwards else range(length)
    for step in steps:
        x_reset, x_keep, x_candidate = products[step].split(hidden)
        reset = torch.sigmoid(x_reset + w_reset @ state)
        update = 1 - torch.sigmoid(x_keep + w_keep @ state)
        if module.reset_after:
            new = torch.tanh(x_candidate + reset * (w_candidate @ state + module.bias))
        else:
            new = torch.tanh(x_candidate + w_candidate @ (reset * state))
        state = (1 - update) * state + update * new
        states[step] = state
    return states, state


@pytest.mark.parametrize("backwards", [True, False])
@pytest.mark.parametrize("reset_after", [True, False])
def test_recurrence_is_equation_4_over_real_lengths(backwards, reset_after):
    module = recurrence(4, backwards, reset_after)
    products = torch.randn(len(LENGTHS), 7, 12, dtype=torch.float64)
    states, final = module(products, mask_of(LENGTHS))
    for index, length in enumerate(LENGTHS):
        expected, last = by_equation(module, products[index], length)
        torch.testing.assert_close(final[index], last)
        for place in range(7):
            due = expected.get(place, torch.zeros(4, dtype=torch.float64))
            torch.testing.assert_close(states[index, place], due)


@pytest.mark.parametrize("backwards", [True, False])
def test_equals_torch_gru_on_the_same_weights(backwards):
    torch.manual_seed(1)
    peer = torch.nn.GRU(5, 4, batch_first=True).double()
    module = recurrence(4, backwards, reset_after=True)
    module.weight.data.copy_(peer.weight_hh_l0.data)
    module.bias.data.copy_(peer.bias_hh_l0.data[8:])
    bias = peer.bias_ih_l0 + torch.cat((peer.bias_hh_l0[:8], torch.zeros(4)))
    x = torch.randn(3, 6, 5, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(3, 6, 4, dtype=torch.float64)
    states, final = module(x @ peer.weight_ih_l0.t() + bias)
    (grad,) = torch.autograd.grad((states * weights).sum() + final.sum(), x)
    fed = x.flip(1) if backwards else x
    outputs, last = peer(fed)
    outputs = outputs.flip(1) if backwards else outputs
    (due,) = torch.autograd.grad((outputs * weights).sum() + last.sum(), x)
    torch.testing.assert_close(states, outputs)
    torch.testing.assert_close(final, last[0])
    torch.testing.assert_close(grad, due)


@pytest.mark.parametrize("backwards", [True, False])
@pytest.mark.parametrize("reset_after", [True, False])
@pytest.mark.parametrize("lengths", [[3, 3, 2, 1], [1, 3, 2], [2, 2]])
def test_gradients_by_finite_differences(backwards, reset_after, lengths):
    module = recurrence(3, backwards, reset_after)
    products = torch.randn(len(lengths), 3, 9, dtype=torch.float64, requires_grad=True)
    mask = torch.arange(3) < torch.tensor(lengths)[:, None]
    names = dict(module.named_parameters())

    def run(products, *parameters):
        given = dict(zip(names, parameters, strict=True))
        return torch.func.functional_call(module, given, (products, mask))

    assert torch.autograd.gradcheck(run, (products, *names.values()))


@pytest.mark.parametrize("lengths", [[7, 5, 5, 1], LENGTHS, [3, 3]])
@pytest.mark.parametrize("backwards", [True, False])
@pytest.mark.parametrize("reset_after", [True, False])
def test_compiled_steps_and_products_made_inside_change_no_result(reset_after, backwards, lengths):
    """Float64 takes PyTorch's steps, float32 the compiled ones."""
    module, mask = recurrence(9, backwards, reset_after), mask_of(lengths)
    linear = torch.nn.Linear(4, 27).double()
    vectors = torch.randn(*mask.shape, 4, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(*mask.shape, 9, dtype=torch.float64)

    def answers(inside):
        if inside:
            states, last = module.of_vectors(vectors, (linear.weight, linear.bias), mask)
        else:
            states, last = module(linear(vectors), mask)
        parameters = [vectors, *linear.parameters(), *module.parameters()]
        total = (states * weights).sum() + last.sum()
        return [states, last, *torch.autograd.grad(total, parameters)]

    due, inside = answers(inside=False), answers(inside=True)
    module.float(), linear.float()
    vectors, weights = vectors.detach().float().requires_grad_(), weights.float()
    for found in (inside, answers(inside=False), answers(inside=True)):
        for values, expected in zip(found, due, strict=True):
            torch.testing.assert_close(values.double(), expected, rtol=1e-5, atol=2e-6)


def test_a_state_that_is_no_number_stays_so():
    module = recurrence(3, backwards=True, reset_after=False).float()
    products = torch.full((2, 2, 9), torch.nan, requires_grad=True)
    states, _ = module(products)
    assert states.isnan().all()


def test_local_ranking_is_equation_5():
    torch.manual_seed(2)
    config = DLCMConfig(heads=3)
    phi = LocalRanking(4, config).double()
    outputs = torch.randn(1, 2, 4, dtype=torch.float64)
    state = torch.randn(1, 4, dtype=torch.float64)
    context = torch.tanh(phi.context.weight @ state[0] + phi.context.bias).view(3, 4)
    for place in range(2):
        expected = sum(
            phi.head.weight[0, head] * (outputs[0, place] @ context[head]) for head in range(3)
        )
        torch.testing.assert_close(phi(outputs, state)[0, place], expected)


def test_additive_context_is_additive_attention():
    torch.manual_seed(3)
    phi = LocalRanking(4, DLCMConfig(context="add", heads=2)).double()
    outputs = torch.randn(1, 2, 4, dtype=torch.float64)
    state = torch.randn(1, 4, dtype=torch.float64)
    units = torch.tanh(outputs @ phi.outputs.weight.t() + phi.context(state)[:, None])
    torch.testing.assert_close(phi(outputs, state), units @ phi.head.weight[0])


def test_input_net_widths_are_the_papers():
    model = DLCM(46, replace(DLCM_PRESETS["paper"], hidden=8))
    assert [layer.out_features for layer in model.layers] == [512, 1024 - 46]
    assert model.products.in_features == 1024
    wide = DLCM(2000, DLCMConfig(hidden=8))
    assert len(wide.layers) == 0
    assert wide.products.in_features == 2000


def test_input_vector_is_features_beside_two_elu_layers():
    torch.manual_seed(4)
    model = DLCM(3, DLCM_PRESETS["small"])
    x = torch.randn(2, 3)
    first = torch.nn.functional.elu(x @ model.layers[0].weight.t() + model.layers[0].bias)
    second = torch.nn.functional.elu(first @ model.layers[1].weight.t() + model.layers[1].bias)
    due = model.products(torch.cat((x, second), 1))
    torch.testing.assert_close(model.embed(x), due)


VARIANTS = [
    DLCM_PRESETS["small"],
    replace(DLCM_PRESETS["small"], direction="highest-first"),
    replace(DLCM_PRESETS["small"], two_directions=True, reset="after"),
    replace(DLCM_PRESETS["small"], context="add", heads=1),
]


@pytest.mark.parametrize("config", VARIANTS)
def test_padding_and_other_lists_change_no_score(config):
    torch.manual_seed(5)
    model = DLCM(4, config)
    features = torch.randn(len(LENGTHS), 7, 4)
    mask = mask_of(LENGTHS)
    features[~mask] = torch.nan
    scores = model(features, mask)
    for index, length in enumerate(LENGTHS):
        if length:
            alone = model(features[index : index + 1, :length])[0]
            torch.testing.assert_close(scores[index, :length], alone, atol=1e-6, rtol=0)
    assert (scores[~mask] == 0).all()
    scores.sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


@pytest.mark.parametrize("config", VARIANTS)
def test_the_order_shown_does_move_scores(config):
    torch.manual_seed(6)
    model, features = DLCM(4, config), torch.randn(1, 9, 4)
    turned = model(features.flip(1)).flip(1)
    assert (model(features) - turned).abs().max() > 1e-4


@pytest.mark.parametrize("config", VARIANTS)
def test_scores_without_gradients_are_the_same(config):
    torch.manual_seed(7)
    model, features = DLCM(4, config), torch.randn(3, 9, 4)
    with torch.inference_mode():
        scores = model(features)
    torch.testing.assert_close(scores, model(features), atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("reset_after", [True, False])
@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (4, 1), (2, 3)])
def test_input_products_are_left_as_they_were(shape, reset_after):
    """The steps work in place, in buffers of their own, whatever the strides are."""
    module = recurrence(3, backwards=True, reset_after=reset_after)
    products = torch.randn(*shape, 9, dtype=torch.float64)
    before = products.clone()
    module(products)
    assert torch.equal(products, before)


def test_final_state_belongs_to_the_highest_rank():
    """Fed from the lowest rank to the highest, the last document read is the first shown."""
    module = recurrence(3, backwards=True, reset_after=False)
    products = torch.randn(2, 5, 9, dtype=torch.float64)
    states, final = module(products, torch.arange(5) < torch.tensor([[5], [2]]))
    torch.testing.assert_close(final, states[:, 0])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("config", VARIANTS)
def test_a_gpu_gives_the_cpus_scores(config):
    torch.manual_seed(8)
    model, features, mask = DLCM(4, config), torch.randn(len(LENGTHS), 7, 4), mask_of(LENGTHS)
    due = model(features, mask)
    found = model.cuda()(features.cuda(), mask.cuda())
    torch.testing.assert_close(found.cpu(), due, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(
    ("first", "total", "width"), [(512, 1024, 1024), (0, 0, 46), (0, 1024, 46)]
)
def test_the_input_net_is_left_out_where_it_has_no_width(first, total, width):
    assert DLCMConfig(first_layer=first, total_width=total).input_width(46) == width
