"""Numbers of parameters, against the networks themselves."""

import itertools
from dataclasses import replace

import pytest

from shuffleproof.core.models import size
from shuffleproof.core.models.config import DLCM_PRESETS, SETRANK_PRESETS
from shuffleproof.core.models.config_groups import GROUP_PRESETS, GroupConfig
from shuffleproof.core.models.config_univariate import UNIVARIATE_PRESETS, UnivariateConfig
from shuffleproof.core.training.network import built

FEATURES = 46
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


DLCMS = [
    replace(config, **changes)
    for config in DLCM_PRESETS.values()
    for changes in ({}, {"two_directions": True}, {"first_layer": 0})
]
SETRANKS = [
    replace(config, block=block, rankings=rankings)
    for config, block, rankings in itertools.product(
        SETRANK_PRESETS.values(), ("msab", "imsab"), (0, 3)
    )
]


@pytest.mark.parametrize("config", [*UNIVARIATE, *GROUPS, *CELLS, *DLCMS, *SETRANKS], ids=str)
def test_parameters_are_those_of_the_network(config):
    network = built(config, FEATURES, 0)
    assert size.parameters(config, FEATURES) == sum(one.numel() for one in network.parameters())


def test_norms_are_parameters_too():
    for config in (UnivariateConfig(norm="layer"), GroupConfig(norm="layer")):
        network = built(config, FEATURES, 0)
        made = sum(one.numel() for one in network.parameters())
        assert size.parameters(config, FEATURES) == made
