"""The weights of one list, asked of a trained network: SetRank's attention, DLCM's gates and φ.

SetRank hands out the weights that its explicit way multiplies with. DLCM's are computed from its
states, the same up to the rounding of one product. The state of a gated recurrence is a weighted
sum of the documents' inputs, in the order in which they are fed: h_i = Σ_j (1 − z_j) Π_{j < k ≤ i}
z_k · n_j in every unit. The path map is the mean of these weights over the units. An LSTM's memory
cell is the same sum with its input gate for 1 − z and its forget gate for z.
"""

from typing import cast

import numpy as np
import torch
from jaxtyping import Float, Float32
from torch import Tensor

from shuffleproof.core.data.batches import on_device
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import UsageError
from shuffleproof.core.models.dlcm import DLCM, LocalRanking
from shuffleproof.core.models.memory import MemoryRecurrence
from shuffleproof.core.models.recurrence import GatedRecurrence
from shuffleproof.core.models.setrank import SetRank
from shuffleproof.core.rankers.attention.kinds import KINDS, AttentionRecord
from shuffleproof.core.rankers.attention.order import reindex_by_document
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.rankers.neural.feed import document_features, feed_order, read_rankings
from shuffleproof.core.rankers.neural.ranker import NeuralRanker
from shuffleproof.core.training.network import arithmetic

Weights = dict[str, list[Tensor]]


def record_maps(ranker: Ranker, judged: JudgedLists) -> AttentionRecord:
    """All weights of one list, documents by the position they are shown at.

    Args:
        ranker: a trained SetRank or DLCM.
        judged: one list.

    Raises:
        UsageError: the ranker has no weights to show, or there is not exactly one list.
        MissingRankingError: the list carries fewer initial rankings than the ranker reads.
    """
    if not isinstance(ranker, NeuralRanker):
        raise _no_maps_error(ranker)
    if len(judged.lists) != 1:
        raise UsageError(
            f"weights are of one list at a time, not of {len(judged.lists)}: choose one"
        )
    ranker.check(judged.dataset, judged.lists)
    # Weights belong to the order that the network reads, which may be a shuffled feed
    order = feed_order(ranker.spec, judged.dataset, judged.lists)
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
    # Inverse of `order`, without documents that the list did not have before
    place[order[order >= 0]] = np.flatnonzero(order >= 0)
    weights = {
        name: tuple(
            reindex_by_document(block, place, KINDS[name].document_axes) for block in blocks
        )
        for name, blocks in record.weights.items()
    }
    return AttentionRecord(weights, reindex_by_document(record.scores[None], place, (-1,))[0])


@torch.inference_mode()
def _weights(ranker: NeuralRanker, judged: JudgedLists) -> tuple[Weights, Tensor]:
    """By kind and block [heads, rows, columns], and the scores."""
    network = ranker.network
    features = document_features(ranker.normalisation, judged.dataset, judged.lists.rows)
    labels = judged.dataset.labels[judged.lists.rows]
    slots = read_rankings(on_device(judged.lists, features, labels, ranker.device), ranker.columns)
    batch = slots.batch(np.array([0]))
    with arithmetic("fp32", ranker.device):
        if isinstance(network, DLCM):
            return gates_and_parts(network, network.embed(batch.features))
        if not isinstance(network, SetRank):
            raise _no_maps_error(ranker)
        embedded = network.embed(batch.features)
        record: list[Tensor] = []
        ordinal = network.ordinals(batch.ranks, batch.tied)
        scores = network.score(embedded, None, ordinal, record)[0]
    blocks = [block[0] for block in record]
    # An IMSAB records its two steps in turn
    if network.config.block == "imsab":
        return {"gather": blocks[0::2], "spread": blocks[1::2]}, scores
    return {"documents": blocks}, scores


def _array(tensor: Tensor) -> Float32[np.ndarray, "*shape"]:
    return tensor.to("cpu", torch.float32).numpy()


def _no_maps_error(ranker: Ranker) -> UsageError:
    return UsageError(f"{ranker.name} has no attention and no gates: choose a SetRank or a DLCM")


def gates_and_parts(
    network: DLCM, embedded: Float[Tensor, "1 docs gates"]
) -> tuple[dict[str, list[Tensor]], Float[Tensor, " docs"]]:
    """Maps by kind and direction, each [1, docs, …], and the scores.

    Args:
        network: reads the list.
        embedded: one list, from `embed`, in the order it is fed in.
    """
    maps: dict[str, list[Tensor]] = {}
    outputs, last = [], []
    parts = embedded.chunk(len(network.recurrences), -1)
    for module, part in zip(network.recurrences, parts, strict=True):
        walk = cast("GatedRecurrence | MemoryRecurrence", module)
        states, state = walk(part, None)
        outputs.append(states)
        last.append(state)
        earlier = _earlier(states[0], backwards=walk.backwards)
        enters, keeps, cell_gates = _gates(walk, part[0], earlier)
        paths = gate_paths(enters, keeps, backwards=walk.backwards)
        for name, values in {"paths": paths, "update": enters, **cell_gates}.items():
            maps.setdefault(name, []).append(values[None])
    added = score_parts(network.ranking, torch.cat(outputs, -1), torch.cat(last, -1))[0]
    maps["phi"] = [added[None]]
    return maps, added.sum(-1)


def gate_paths(
    enters: Float[Tensor, "docs units"], keeps: Float[Tensor, "docs units"], *, backwards: bool
) -> Float[Tensor, "docs docs"]:
    """Share of document j's contribution in the state at document i, mean over the units.

    Args:
        enters: what a document's gate lets in, in [0, 1].
        keeps: what of the state before it the gate keeps.
        backwards: the list is fed from its last position to its first.

    >>> half = torch.full((3, 1), 0.5)
    >>> gate_paths(half, half, backwards=False).tolist()
    [[0.5, 0.0, 0.0], [0.25, 0.5, 0.0], [0.125, 0.25, 0.5]]
    """
    docs = len(enters)
    order = range(docs - 1, -1, -1) if backwards else range(docs)
    paths = enters.new_zeros(docs, docs)
    alive = torch.zeros_like(enters)
    for place in order:
        reached = slice(place, docs) if backwards else slice(0, place + 1)
        # Row j of `alive`: what document j wrote and later gates kept, unit by unit
        alive[reached] *= keeps[place]
        alive[place] = enters[place]
        paths[place, reached] = alive[reached].mean(-1)
    return paths


def score_parts(
    ranking: LocalRanking,
    outputs: Float[Tensor, "lists docs hidden"],
    state: Float[Tensor, "lists hidden"],
) -> Float[Tensor, "lists docs heads"]:
    """Summands of a document's score, one per hidden unit of φ (Ai et al., Eq. 5)."""
    context = ranking.context(state)
    if ranking.outputs is not None:
        units = torch.tanh(ranking.outputs(outputs) + context[:, None])
    else:
        rows = torch.tanh(context).view(len(state), ranking.heads, -1)
        units = outputs @ rows.transpose(1, 2)
    # Each unit times its output weight, so that the parts sum to the score
    return units * ranking.head.weight[0]


def _earlier(
    states: Float[Tensor, "docs hidden"], *, backwards: bool
) -> Float[Tensor, "docs hidden"]:
    """The state before each document; zeros before the first."""
    start = states.new_zeros(1, states.shape[1])
    return torch.cat((states[1:], start)) if backwards else torch.cat((start, states[:-1]))


def _gates(
    walk: GatedRecurrence | MemoryRecurrence,
    products: Float[Tensor, "docs gates"],
    earlier: Float[Tensor, "docs hidden"],
) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
    """Input, memory and the gates of this kind of cell; [docs, hidden]."""
    if isinstance(walk, MemoryRecurrence):
        gates, forget_gate, _, _ = (products + earlier @ walk.weight.t()).chunk(4, -1)
        keeps = forget_gate.sigmoid()
        return gates.sigmoid(), keeps, {"forget": keeps}
    hidden = earlier.shape[1]
    gates = products[:, : 2 * hidden] + earlier @ walk.weight[: 2 * hidden].t()
    reset, keeps = gates.sigmoid().chunk(2, -1)
    # A GRU's update gate z keeps the state and lets 1 − z of the document in
    return 1 - keeps, keeps, {"reset": reset}
