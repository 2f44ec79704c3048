"""The weights of one list, asked of a trained network: SetRank's attention, DLCM's gates and φ.

What is returned equals what the scores are made of: SetRank hands out the weights that its
explicit way multiplies with, DLCM's gates are made again from its states and are the same up to
the rounding of one product.
"""

import numpy as np
import torch
from jaxtyping import Float32
from torch import Tensor

from shuffleproof.core.data.batches import held
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import UsageError
from shuffleproof.core.models.dlcm import DLCM
from shuffleproof.core.models.setrank import SetRank
from shuffleproof.core.rankers.attention import gates as attention_gates
from shuffleproof.core.rankers.attention.kinds import KINDS, AttentionRecord
from shuffleproof.core.rankers.attention.order import reindexed
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.rankers.neural.feed import document_features, fed, read_rankings
from shuffleproof.core.rankers.neural.ranker import NeuralRanker
from shuffleproof.core.training.network import arithmetic

Weights = dict[str, list[Tensor]]


def recorded(ranker: Ranker, judged: JudgedLists) -> AttentionRecord:
    """All weights of one list, documents by the position they are shown at.

    Args:
        ranker: a trained SetRank or DLCM.
        judged: one list.

    Raises:
        UsageError: the ranker has no weights to show, or there is not exactly one list.
        MissingRankingError: the list carries fewer initial rankings than the ranker reads.
    """
    if not isinstance(ranker, NeuralRanker):
        raise _nothing(ranker)
    if len(judged.lists) != 1:
        raise UsageError(
            f"weights are of one list at a time, not of {len(judged.lists)}: choose one"
        )
    ranker.check(judged.dataset, judged.lists)
    order = fed(ranker.spec, judged.dataset, judged.lists)
    lists = judged.lists if order is None else judged.lists.shown_as(order)
    weights, scores = _weights(ranker, JudgedLists(judged.dataset, lists))
    record = AttentionRecord(
        {name: tuple(map(_array, blocks)) for name, blocks in weights.items()}, _array(scores)
    )
    return record if order is None else by_document(record, order)


def by_document(
    record: AttentionRecord, order: np.ndarray, docs: int | None = None
) -> AttentionRecord:
    """The record of a changed list, by document of the list before.

    Args:
        record: documents by shown position.
        order: the document shown at each position; −1: a new one, which is left out.
        docs: how many documents the list had; None: as many as are shown. Weights and scores of
            those that are not shown are NaN.
    """
    docs = len(order) if docs is None else docs
    if np.array_equal(order, np.arange(docs)):
        return record
    place = np.full(docs, -1, dtype=np.int64)
    place[order[order >= 0]] = np.flatnonzero(order >= 0)
    weights = {
        name: tuple(reindexed(block, place, KINDS[name].document_axes) for block in blocks)
        for name, blocks in record.weights.items()
    }
    return AttentionRecord(weights, reindexed(record.scores[None], place, (-1,))[0])


@torch.inference_mode()
def _weights(ranker: NeuralRanker, judged: JudgedLists) -> tuple[Weights, Tensor]:
    """By kind and block [heads, rows, columns], and the scores."""
    network = ranker.network
    features = document_features(ranker.normalisation, judged.dataset, judged.lists.rows)
    labels = judged.dataset.labels[judged.lists.rows]
    slots = read_rankings(held(judged.lists, features, labels, ranker.device), ranker.columns)
    batch = slots.batch(np.array([0]))
    with arithmetic("fp32", ranker.device):
        if isinstance(network, DLCM):
            return attention_gates.gates_and_parts(network, network.embed(batch.features))
        if not isinstance(network, SetRank):
            raise _nothing(ranker)
        embedded = network.embed(batch.features)
        record: list[Tensor] = []
        ordinal = network.ordinals(batch.ranks, batch.tied)
        scores = network.score(embedded, None, ordinal, record)[0]
    blocks = [one[0] for one in record]
    if network.config.block == "imsab":
        return {"gather": blocks[0::2], "spread": blocks[1::2]}, scores
    return {"documents": blocks}, scores


def _array(tensor: Tensor) -> Float32[np.ndarray, "*shape"]:
    return tensor.to("cpu", torch.float32).numpy()


def _nothing(ranker: Ranker) -> UsageError:
    return UsageError(f"{ranker.name} has no attention and no gates: choose a SetRank or a DLCM")
