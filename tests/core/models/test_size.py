"""Sizes of nets for documents and groups, and of DLCM's cells, against what torch counts."""

import itertools
from dataclasses import replace

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from shuffleproof.core.experiment import cost
from shuffleproof.core.experiment.cost import Sizes
from shuffleproof.core.models import size
from shuffleproof.core.models.config import DLCM_PRESETS
from shuffleproof.core.models.config_groups import GROUP_PRESETS, GroupConfig
from shuffleproof.core.models.config_univariate import UNIVARIATE_PRESETS, UnivariateConfig
from shuffleproof.core.rankers.registry import spec
from shuffleproof.core.training.network import built

FEATURES = 46
SIZES = Sizes(lists=470, rows=15556, valid_rows=5000, features=FEATURES)
UNIVARIATE = [*UNIVARIATE_PRESETS.values(), UnivariateConfig(layers="none")]
GROUPS = [
    *GROUP_PRESETS.values(),
    GroupConfig(grouping="exhaustive", layers="16"),
    GroupConfig(group=3, layers="none"),
]
CELLS = [
    replace(DLCM_PRESETS["small"], cell=cell, two_directions=ways, reset=reset)
    for cell, ways, reset in itertools.product(("gru", "lstm"), (False, True), ("before", "after"))
]


@pytest.mark.parametrize("config", [*UNIVARIATE, *GROUPS, *CELLS], ids=str)
def test_parameters_are_those_of_the_network(config):
    network = built(config, FEATURES, 0)
    assert size.parameters(config, FEATURES) == sum(one.numel() for one in network.parameters())


@pytest.mark.parametrize("config", [*UNIVARIATE, *GROUPS], ids=str)
@pytest.mark.parametrize("documents", [1, 7])
def test_flops_are_those_that_torch_counts(config, documents):
    with FlopCounterMode(display=False) as counter:
        built(config, FEATURES, 0)(torch.ones(1, documents, FEATURES))
    assert size.forward_flops(config, FEATURES, documents) == counter.get_total_flops()


def test_flops_of_an_lstm_are_a_third_more_in_the_recurrence():
    gru, lstm = (
        size.forward_flops(replace(DLCM_PRESETS["paper"], cell=cell), FEATURES, 40)
        for cell in ("gru", "lstm")
    )
    width = DLCM_PRESETS["paper"].hidden_width(FEATURES)
    assert lstm - gru == 40 * 2.0 * width * (DLCM_PRESETS["paper"].input_width(FEATURES) + width)


@pytest.mark.parametrize(
    ("name", "family"), [("gsf", "groups"), ("ranknet", "univariate"), ("dlcm-softrank", "dlcm")]
)
def test_what_a_training_takes_is_said_before(name, family):
    recipe = spec(name, "small")
    assert cost.family(recipe) == family
    found = cost.estimate(recipe, SIZES)
    assert found.parameters == size.parameters(recipe.model, FEATURES)
    assert 0 < found.low < found.high < 600


def test_more_shuffles_cost_more():
    few, many = (
        cost.epoch_seconds(spec("gsf", "small", shuffles=count), SIZES) for count in (2, 32)
    )
    assert few < many < 16 * few


def test_norms_are_parameters_too():
    for config in (UnivariateConfig(norm="layer"), GroupConfig(norm="layer")):
        network = built(config, FEATURES, 0)
        made = sum(one.numel() for one in network.parameters())
        assert size.parameters(config, FEATURES) == made
