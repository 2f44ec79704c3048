"""Number of trained parameters of a network, from its config alone; no torch."""

from itertools import pairwise

from shuffleproof.core.models.architectures import Architecture
from shuffleproof.core.models.config import DLCMConfig, SetRankConfig
from shuffleproof.core.models.config_groups import GroupConfig
from shuffleproof.core.models.config_univariate import UnivariateConfig


def parameters(config: Architecture, features: int) -> int:
    """Number of trained parameters.

    >>> parameters(DLCMConfig(), features=46)
    9969109
    """
    match config:
        case SetRankConfig():
            return _setrank_parameters(config, features)
        case DLCMConfig():
            return _dlcm_parameters(config, features)
        case GroupConfig():
            return _group_parameters(config, features)
        case UnivariateConfig():
            return _univariate_parameters(config, features)


def _setrank_parameters(config: SetRankConfig, features: int) -> int:
    width = config.width
    kernels, layer = config.kernels, config.kernel_layer
    embedding = (features + 1) * width
    if config.input_layer == "gaussian-kernels":
        # A layer has inputs + 1 (bias) weights a unit; a norm has 2 a unit
        wide = (features * kernels + 1) * layer + 2 * layer
        embedding = features * kernels + wide + (layer + 1) * width + 2 * width
    attention = 3 * width**2 + (3 * width if config.projection_bias else 0) + 2 * width
    inner = config.feed_forward
    feed_forward = (width + 1) * inner + (inner + 1) * width + 2 * width
    block = attention + feed_forward
    if config.block == "imsab":
        gathering = attention + (feed_forward if config.inducing_feed_forward else 0)
        block += gathering + config.inducing_points * width
    tables = config.rankings if config.ordinal_table == "own" else min(config.rankings, 1)
    return embedding + config.depth * block + tables * config.ordinals * width + width + 1


def _dlcm_parameters(config: DLCMConfig, features: int) -> int:
    second, hidden = config.second_layer(features), config.hidden_width(features)
    ways = 2 if config.two_directions else 1
    net = (features + 1) * config.first_layer + (config.first_layer + 1) * second if second else 0
    products = (config.input_width(features) + 1) * config.gates * hidden * ways
    # Only a reset after the product needs a bias inside the product
    biased = config.cell == "gru" and config.reset == "after"
    recurrence = ways * (config.gates * hidden**2 + (hidden if biased else 0))
    state = hidden * ways
    rows = config.heads * (1 if config.context == "add" else state)
    ranking = (state + 1) * rows + config.heads
    if config.context == "add":
        ranking += state * config.heads
    return net + products + recurrence + ranking


def _univariate_parameters(config: UnivariateConfig, features: int) -> int:
    norms = sum(2 * width for width in config.widths) if config.norm != "none" else 0
    widths = (features, *config.widths, 1)
    return _products(widths) + sum(widths[1:]) + norms


def _group_parameters(config: GroupConfig, features: int) -> int:
    norms = sum(2 * width for width in config.widths) if config.norm != "none" else 0
    widths = (features * config.group, *config.widths, config.group)
    return _products(widths) + sum(widths[1:]) + norms


def _products(widths: tuple[int, ...]) -> int:
    return sum(before * after for before, after in pairwise(widths))
