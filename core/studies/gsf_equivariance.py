"""How far GSF is from equivariance, by the number of shuffles S that its groups come from.

The groups of S shuffles are a sample of all groups, so what another order shown changes falls like
1/√S. Nothing is trained here: the weights of one net are asked with groups formed in other ways.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from jaxtyping import Float32, Float64

from core.data import ragged
from core.data.dataset import RankingDataset
from core.data.lists import CandidateLists
from core.errors import ParameterError
from core.metrics.agreement import kendall_tau
from core.models.config_groups import GroupConfig
from core.rankers.neural import NeuralRanker
from core.seeds import generator

SHUFFLES = (1, 2, 4, 8, 16, 32, 64)


def equivariance_error(
    ranker: NeuralRanker,
    dataset: RankingDataset,
    lists: CandidateLists,
    shuffles: Sequence[int] = SHUFFLES,
    orders: int = 8,
) -> pd.DataFrame:
    """What other orders shown change of a trained GSF's scores, for each number of shuffles.

    Args:
        ranker: a trained GSF, however it forms its groups.
        dataset: holds the features.
        lists: lists to be scored.
        shuffles: numbers S of shuffles.
        orders: how many random orders shown each list is scored in, beside its own.

    Returns:
        One row a number of shuffles, and where m = 2 one more for all pairs, which are exactly
        equivariant but for rounding. Columns: grouping (sampled or exhaustive), shuffles (0 for
        all pairs), error (root mean square of a document's change of score, divided by the
        deviation of its list's scores under the most shuffles; mean over the lists that have one),
        low and high (quartiles over the lists), tau (mean Kendall τ-b of the rankings before and
        after), lists.

    Raises:
        ParameterError: not a GSF that reads its neighbours.
    """
    model = ranker.spec.model
    if not isinstance(model, GroupConfig) or model.group < 2:
        raise ParameterError("ranker", ranker.name, "a gsf of groups of two or more")
    ways: list[tuple[str, int]] = [("sampled", count) for count in shuffles]
    ways += [("exhaustive", 0)] if model.group == 2 else []
    spread = _deviations(lists, _regrouped(ranker, "sampled", max(shuffles)).score(dataset, lists))
    rows = []
    for grouping, count in ways:
        regrouped = _regrouped(ranker, grouping, count)
        errors, taus = _of_orders(regrouped, dataset, lists, orders, spread)
        low, high = np.quantile(errors, (0.25, 0.75)) if len(errors) else (np.nan, np.nan)
        error, tau = (float(np.mean(part)) if len(part) else np.nan for part in (errors, taus))
        rows.append((grouping, count, error, float(low), float(high), tau, len(errors)))
    columns = ["grouping", "shuffles", "error", "low", "high", "tau", "lists"]
    return pd.DataFrame(rows, columns=columns)


def slope(frame: pd.DataFrame) -> float:
    """The exponent a of error ∝ S^a over the sampled rows of `equivariance_error`: −1/2 is due.

    >>> rows = {"grouping": "sampled", "shuffles": [1, 4, 16], "error": [0.4, 0.2, 0.1]}
    >>> round(slope(pd.DataFrame(rows)), 6)
    -0.5
    """
    sampled = frame[frame["grouping"] == "sampled"]
    logs = np.log(sampled[["shuffles", "error"]].to_numpy(np.float64))
    return float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])


def _regrouped(ranker: NeuralRanker, grouping: str, count: int) -> NeuralRanker:
    """The same weights with groups formed in another way."""
    changes = {"grouping": grouping} | ({"shuffles": str(count)} if count else {})
    spec = ranker.spec.changed(changes)
    asked = NeuralRanker.untrained(spec, ranker.normalisation, ranker.feature_ids, ranker.device)
    asked.network.load_state_dict(ranker.network.state_dict())
    return replace(asked, facts=ranker.facts)


def _of_orders(
    ranker: NeuralRanker,
    dataset: RankingDataset,
    lists: CandidateLists,
    orders: int,
    spread: Float64[np.ndarray, " lists"],
) -> tuple[Float64[np.ndarray, " kept"], Float64[np.ndarray, " kept"]]:
    """Mean error, in units of `spread`, and mean τ of every list that has a spread."""
    before = ranker.score(dataset, lists).astype(np.float64)
    kept = spread > 0
    errors, taus = np.zeros(len(lists)), np.zeros(len(lists))
    for at in range(orders):
        draws = generator(at, "gsf-equivariance")
        order = ragged.order_within(lists.offsets, draws.random(len(before)))
        after = np.empty_like(before)
        after[order] = ranker.score(dataset, lists.shown_as(order))
        errors += np.sqrt(_means(lists, (after - before) ** 2))
        taus += kendall_tau(lists.offsets, before, after)
    return errors[kept] / spread[kept] / orders, taus[kept] / orders


def _deviations(
    lists: CandidateLists, scores: Float32[np.ndarray, " candidates"]
) -> Float64[np.ndarray, " lists"]:
    """The deviation of every list's scores."""
    values = scores.astype(np.float64)
    centred = values - _means(lists, values)[ragged.segment_ids(lists.offsets)]
    return np.sqrt(_means(lists, centred**2))


def _means(
    lists: CandidateLists, values: Float64[np.ndarray, " candidates"]
) -> Float64[np.ndarray, " lists"]:
    sums = np.bincount(ragged.segment_ids(lists.offsets), values, len(lists))
    return sums / np.maximum(lists.lengths, 1)
