"""GSF against its definition written out, and what groups do to equivariance."""

import itertools
from dataclasses import replace

import pytest
import torch

from shuffleproof.core.errors import ParameterError
from shuffleproof.core.models import gsf as module
from shuffleproof.core.models.config_groups import GROUP_PRESETS, GroupConfig
from shuffleproof.core.models.gsf import GSF, shuffled_places

LENGTHS = [3, 7, 1, 7, 0, 5, 2]
SMALL = GroupConfig(group=3, layers="8x4", activation="elu")


def model_of(config, features=4):
    torch.manual_seed(3)
    return GSF(features, config).double()


def drawn(lengths=LENGTHS, features=4):
    made = torch.Generator().manual_seed(1)
    x = torch.randn(len(lengths), max(lengths), features, generator=made, dtype=torch.float64)
    return x, torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]


def group_scores(model, documents):
    """The m scores of one group: the net over its concatenated feature vectors."""
    config, features = model.config, documents[0].shape[0]
    blocks = model.products.weight.view(config.group, -1, features)
    first = torch.cat(list(blocks), 1)
    x = first @ torch.cat(documents) + model.bias
    for unit, layer in zip(model.units, model.layers, strict=True):
        x = layer.weight @ unit(x) + layer.bias
    return x


def written_out(model, documents, groups):
    """Scores added up over groups of places; what is not a pad."""
    total = torch.zeros(len(documents), dtype=torch.float64)
    for group in groups:
        scores = group_scores(model, [documents[place] for place in group])
        for slot, place in enumerate(group):
            total[place] += scores[slot]
    return total


def circular(order, size):
    return [[order[(at + slot) % len(order)] for slot in range(size)] for at in range(len(order))]


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("aggregation", ["mean", "sum"])
@pytest.mark.parametrize("layers", ["8x4", "none"])
def test_circular_windows_in_the_order_shown(size, aggregation, layers):
    config = replace(SMALL, group=size, aggregation=aggregation, layers=layers)
    model, (x, mask) = model_of(config), drawn()
    found = model(x, mask)
    for index, length in enumerate(LENGTHS):
        due = written_out(model, x[index], circular(list(range(length)), size))[:length]
        due = due / size if aggregation == "mean" else due
        torch.testing.assert_close(found[index, :length], due)
    assert (found[~mask] == 0).all()


@pytest.mark.parametrize("grouping", ["circular", "sampled"])
def test_shuffled_windows_are_those_of_the_shuffle(grouping):
    config = replace(SMALL, grouping=grouping, shuffles=3)
    model, (x, mask) = model_of(config), drawn()
    start = torch.arange(len(LENGTHS)) * 17 + 5
    found = model(x, mask, start)
    passes = 3 if grouping == "sampled" else 1
    orders = [shuffled_places(mask.sum(1), 7, start, at) for at in range(passes)]
    for index, length in enumerate(LENGTHS):
        groups = [
            group
            for order in orders
            for group in circular(order[index, :length].tolist(), config.group)
        ]
        due = written_out(model, x[index], groups)[:length] / (config.group * passes)
        torch.testing.assert_close(found[index, :length], due)


@pytest.mark.parametrize("aggregation", ["mean", "sum"])
def test_exhaustive_groups_are_all_ordered_pairs(aggregation):
    config = replace(SMALL, group=2, grouping="exhaustive", aggregation=aggregation)
    model, (x, mask) = model_of(config), drawn()
    found = model(x, mask)
    for index, length in enumerate(LENGTHS):
        pairs = [[0, 0]] if length == 1 else list(itertools.permutations(range(length), 2))
        due = written_out(model, x[index], pairs)[:length]
        due = due / (2 * max(length - 1, 1)) if aggregation == "mean" else due
        torch.testing.assert_close(found[index, :length], due)


def test_exhaustive_groups_are_exactly_equivariant_and_others_are_not():
    x, _ = drawn([9])
    order = torch.randperm(9, generator=torch.Generator().manual_seed(2))
    for grouping, changes in (("exhaustive", {"group": 2}), ("sampled", {}), ("circular", {})):
        model = model_of(replace(SMALL, grouping=grouping, **changes))
        error = (model(x[:, order]) - model(x)[:, order]).abs().max().item()
        assert error < 1e-14 if grouping == "exhaustive" else error > 1e-4


def test_groups_larger_than_exhaustive_can_be_are_refused():
    with pytest.raises(ParameterError, match="exhaustive"):
        GroupConfig(group=3, grouping="exhaustive")


def test_shuffles_are_even_differ_and_are_always_the_same():
    lengths = torch.tensor([4, 6])
    orders = torch.stack([shuffled_places(lengths, 6, None, at) for at in range(2000)])
    assert torch.equal(orders[7], shuffled_places(lengths, 6, None, 7))
    assert (orders[:, 0, 4:] == torch.tensor([4, 5])).all()
    assert torch.equal(orders.sort(-1).values, torch.arange(6).expand_as(orders))
    share = torch.zeros(6, 6)
    for place in range(6):
        share[:, place] = (orders[:, 1] == place).float().mean(0)
    assert (share - 1 / 6).abs().max() < 0.05
    same = (orders[:-1, 1] == orders[1:, 1]).all(-1).float().mean()
    assert same < 0.01
    starts = torch.stack([shuffled_places(lengths, 6, lengths * 0 + at, 0) for at in range(50)])
    assert len({tuple(order.tolist()) for order in starts[:, 1]}) > 40


@pytest.mark.parametrize("config", [*GROUP_PRESETS.values(), replace(SMALL, group=2)])
def test_padding_and_other_lists_change_no_score(config):
    model, (x, mask) = model_of(config), drawn()
    poisoned = x.masked_fill(~mask[..., None], torch.nan)
    scores = model(poisoned, mask)
    for index, length in enumerate(LENGTHS):
        if length:
            alone = model(x[index : index + 1, :length])[0]
            torch.testing.assert_close(scores[index, :length], alone)
    scores.sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


@pytest.mark.parametrize("changes", [{}, {"grouping": "sampled"}, {"grouping": "exhaustive"}])
def test_gradients_by_finite_differences_and_made_again_when_memory_is_short(changes, monkeypatch):
    config = replace(SMALL, group=2, layers="3", activation="tanh", shuffles=2, **changes)
    model, (x, mask) = model_of(config, 2), drawn([3, 1, 2], 2)
    start, names = torch.tensor([4, 5, 6]), dict(model.named_parameters())

    def run(*values):
        given = dict(zip(names, values, strict=True))
        return torch.func.functional_call(model, given, (x, mask, start))

    assert torch.autograd.gradcheck(run, tuple(names.values()))
    weights = torch.randn(3, 3, dtype=torch.float64)
    due = torch.autograd.grad((model(x, mask, start) * weights).sum(), list(names.values()))
    monkeypatch.setattr(module, "KEPT", 1)
    found = torch.autograd.grad((model(x, mask, start) * weights).sum(), list(names.values()))
    for one, other in zip(found, due, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("config", [*GROUP_PRESETS.values(), replace(SMALL, group=2)])
def test_a_gpu_gives_the_cpus_scores(config):
    model, (x, mask) = model_of(config), drawn()
    due = model(x, mask)
    torch.testing.assert_close(model.cuda()(x.cuda(), mask.cuda()).cpu(), due)


def test_keys_of_shuffles_are_splitmix64s():
    """Its first outputs of seed 0, as its authors' program prints them."""
    found = module._mixed_bits(torch.arange(1, 4)).tolist()
    assert [hex(key % 2**64) for key in found] == [
        "0xe220a8397b1dcdaf",
        "0x6e789e6aa1b965f4",
        "0x6c45d188009454f",
    ]


@pytest.mark.parametrize(
    ("group", "grouping", "feed", "shuffled"),
    [
        (3, "circular", "shuffled", True),
        (3, "sampled", "shuffled", True),
        (3, "circular", "shown", False),
        (1, "circular", "shuffled", False),
        (2, "exhaustive", "shuffled", False),
    ],
)
def test_places_are_shuffled_where_asked_and_where_it_matters(group, grouping, feed, shuffled):
    config = GroupConfig(group=group, grouping=grouping, feed=feed)
    assert config.shuffled == shuffled
    assert config.reads_order == (group > 1 and grouping != "exhaustive")
