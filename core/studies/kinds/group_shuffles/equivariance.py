"""What another order shown changes of a trained GSF's scores, its groups formed in any way.

Nothing is trained here: the weights of one net are asked with groups formed in other ways, and
each list is really scored in every order.
"""

from collections.abc import Generator
from dataclasses import replace

import numpy as np
from jaxtyping import Float32, Float64

from shuffleproof.core.data import ragged
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import ParameterError
from shuffleproof.core.metrics.agreement import kendall_tau
from shuffleproof.core.models.config_groups import GroupConfig
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.rankers.neural.ranker import NeuralRanker
from shuffleproof.core.seeds import generator


def group_config(ranker: Ranker) -> GroupConfig:
    """How a ranker forms its groups.

    Raises:
        ParameterError: it is no GSF that reads its neighbours.
    """
    model = ranker.spec.model if isinstance(ranker, NeuralRanker) else None
    if not isinstance(model, GroupConfig) or model.group < 2:
        raise ParameterError("ranker", ranker.name, "a gsf of groups of two or more")
    return model


def spread(ranker: Ranker, base: JudgedLists, shuffles: int) -> Float32[np.ndarray, " lists"]:
    """The deviation of every list's scores under so many shuffles, in its own order.

    What changes are divided by: it depends on the weights and the lists alone.

    Raises:
        ParameterError: not a GSF that reads its neighbours.
    """
    scores = regrouped(ranker, shuffles).score(base.dataset, base.lists)
    return _deviations(base.lists, scores.astype(np.float64)).astype(np.float32)


def changes(
    ranker: Ranker, base: JudgedLists, shuffles: int, orders: int, seed: int = 0
) -> Generator[int, None, Float32[np.ndarray, "measures lists"]]:
    """What other orders shown change, list by list; yields the number of orders scored.

    Args:
        ranker: a trained GSF, however it forms its groups.
        base: lists to be scored.
        shuffles: number S of shuffles that its groups come from; 0: all pairs (m = 2 alone).
        orders: how many random orders shown each list is scored in, beside its own.
        seed: of the orders; they are the same for every ranker and S.

    Returns:
        Two values a list: root mean square of a document's change of score, over documents and
        orders (its expected square is 2σ²/S); Kendall τ-b of the rankings before and after, mean
        over the orders.

    Raises:
        ParameterError: not a GSF that reads its neighbours, or all pairs of other groups.
    """
    asked, lists = regrouped(ranker, shuffles), base.lists
    before = asked.score(base.dataset, lists).astype(np.float64)
    squares, taus = np.zeros(len(lists)), np.zeros(len(lists))
    for at in range(orders):
        yield at
        draws = generator(seed, "group-shuffles", "order", at)
        order = ragged.order_within(lists.offsets, draws.random(len(before)))
        after = np.empty_like(before)
        after[order] = asked.score(base.dataset, lists.shown_as(order))
        squares += _means(lists, (after - before) ** 2)
        taus += kendall_tau(lists.offsets, before, after)
    return np.stack([np.sqrt(squares / orders), taus / orders]).astype(np.float32)


def regrouped(ranker: Ranker, shuffles: int) -> NeuralRanker:
    """The same weights with groups from S shuffles, or (0) all pairs.

    Raises:
        ParameterError: not a GSF that reads its neighbours, or all pairs of other groups.
    """
    group_config(ranker)
    assert isinstance(ranker, NeuralRanker)  # noqa: S101 (group_config refuses all others)
    sampled = {"grouping": "sampled", "shuffles": str(shuffles)}
    spec = ranker.spec.changed(sampled if shuffles else {"grouping": "exhaustive"})
    asked = NeuralRanker.untrained(spec, ranker.normalisation, ranker.feature_ids, ranker.device)
    asked.network.load_state_dict(ranker.network.state_dict())
    return replace(asked, facts=ranker.facts)


def _deviations(
    lists: CandidateLists, scores: Float64[np.ndarray, " candidates"]
) -> Float64[np.ndarray, " lists"]:
    """The deviation of every list's scores."""
    centred = scores - _means(lists, scores)[ragged.segment_ids(lists.offsets)]
    return np.sqrt(_means(lists, centred**2))


def _means(
    lists: CandidateLists, values: Float64[np.ndarray, " candidates"]
) -> Float64[np.ndarray, " lists"]:
    sums = np.bincount(ragged.segment_ids(lists.offsets), values, len(lists))
    return sums / np.maximum(lists.lengths, 1)
