"""How large a network is and how much it computes, from its config alone; no torch.

FLOPs count a multiply and an add as two and matrix products only: the rest is small beside them.
"""

from itertools import pairwise

from shuffleproof.core.models.architectures import Architecture
from shuffleproof.core.models.config import DLCMConfig, SetRankConfig
from shuffleproof.core.models.config_groups import GroupConfig
from shuffleproof.core.models.config_univariate import UnivariateConfig


def parameters(config: Architecture, features: int) -> int:
    """How many numbers are trained.

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


def forward_flops(config: Architecture, features: int, documents: int | float) -> float:
    """FLOPs to score one list.

    Args:
        config: the architecture.
        features: of a document.
        documents: in the list; a mean length gives a list's mean but for attention's square.
    """
    match config:
        case SetRankConfig():
            return _setrank_flops(config, features, documents)
        case DLCMConfig():
            return _dlcm_flops(config, features, documents)
        case GroupConfig():
            return _group_flops(config, features, documents)
        case UnivariateConfig():
            widths = (features, *config.widths, 1)
            return 2.0 * documents * _products(widths)


def layers(config: Architecture) -> int:
    """Parts that are launched one after the other: attention blocks, or passes over a list.

    Exhaustive groups count as one pass: how many they are depends on the list.
    """
    match config:
        case SetRankConfig():
            return config.depth * (2 if config.block == "imsab" else 1)
        case DLCMConfig():
            return 2 if config.two_directions else 1
        case GroupConfig(grouping="sampled"):
            return config.shuffles
    return 1


def _setrank_parameters(config: SetRankConfig, features: int) -> int:
    width = config.width
    kernels, layer = config.kernels, config.kernel_layer
    embedding = (features + 1) * width
    if config.input_layer == "gaussian-kernels":
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


def _setrank_flops(config: SetRankConfig, features: int, documents: int | float) -> float:
    width, points = config.width, config.inducing_points
    row = 2.0 * features * width
    if config.input_layer == "gaussian-kernels":
        row = 2.0 * config.kernel_layer * (features * config.kernels + width)
    if config.block == "msab":
        block = _attention(config, documents, documents)
    else:
        block = _attention(config, documents, points)
        block += _attention(config, points, documents, inner=config.inducing_feed_forward)
    return documents * (row + 2.0 * width) + config.depth * block


def _attention(
    config: SetRankConfig, queries: int | float, keys: int | float, *, inner: bool = True
) -> float:
    """One block MAB(queries, keys): projections, two products, and the feed-forward net."""
    width = config.width
    projections = 2.0 * width**2 * (queries + 2 * keys)
    feed_forward = 4.0 * queries * width * config.feed_forward if inner else 0.0
    return projections + 4.0 * queries * keys * width + feed_forward


def _dlcm_parameters(config: DLCMConfig, features: int) -> int:
    second, hidden = config.second_layer(features), config.hidden_width(features)
    ways = layers(config)
    net = (features + 1) * config.first_layer + (config.first_layer + 1) * second if second else 0
    products = (config.input_width(features) + 1) * config.gates * hidden * ways
    biased = config.cell == "gru" and config.reset == "after"
    recurrence = ways * (config.gates * hidden**2 + (hidden if biased else 0))
    state = hidden * ways
    rows = config.heads * (1 if config.context == "add" else state)
    ranking = (state + 1) * rows + config.heads
    if config.context == "add":
        ranking += state * config.heads
    return net + products + recurrence + ranking


def _dlcm_flops(config: DLCMConfig, features: int, documents: int | float) -> float:
    second, hidden = config.second_layer(features), config.hidden_width(features)
    ways = layers(config)
    net = config.first_layer * (features + second) if second else 0
    gates = config.gates * hidden * ways * (config.input_width(features) + hidden)
    state = hidden * ways
    rows = config.heads * (1 if config.context == "add" else state)
    context = state * rows
    ranking = config.heads * (state + 1)
    return 2.0 * (documents * (net + gates + ranking) + context)


def _univariate_parameters(config: UnivariateConfig, features: int) -> int:
    norms = sum(2 * width for width in config.widths) if config.norm != "none" else 0
    widths = (features, *config.widths, 1)
    return _products(widths) + sum(widths[1:]) + norms


def _group_parameters(config: GroupConfig, features: int) -> int:
    norms = sum(2 * width for width in config.widths) if config.norm != "none" else 0
    widths = (features * config.group, *config.widths, config.group)
    return _products(widths) + sum(widths[1:]) + norms


def _group_flops(config: GroupConfig, features: int, documents: int | float) -> float:
    """The first layer once a document and slot, the others once a group."""
    widths = (*config.widths, config.group)
    groups = documents * config.passes(documents)
    return 2.0 * (documents * features * config.group * widths[0] + groups * _products(widths))


def _products(widths: tuple[int, ...]) -> int:
    return sum(before * after for before, after in pairwise(widths))
