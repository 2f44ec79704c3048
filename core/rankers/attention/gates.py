"""What a DLCM does with each document: its gates, the paths through them, the parts of φ.

The state of a gated recurrence is a weighted sum of what each document wrote,
h_i = Σ_j (1 − z_j) Π_{j < k ≤ i} z_k · n_j in every unit, in the order in which documents are fed;
the path map is the mean of these weights over the units. An LSTM's memory cell is the same sum
with its input gate for 1 − z and its forget gate for z.
"""

from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor

from shuffleproof.core.models.dlcm import DLCM, LocalRanking
from shuffleproof.core.models.memory import MemoryRecurrence
from shuffleproof.core.models.recurrence import GatedRecurrence


def gates_and_parts(
    network: DLCM, embedded: Float[Tensor, "1 docs gates"]
) -> tuple[dict[str, list[Tensor]], Float[Tensor, " docs"]]:
    """Maps by kind and direction, each [1, docs, …], and the scores.

    Args:
        network: reads the list.
        embedded: one list, from `embed`, in the order it is fed in.
    """
    found: dict[str, list[Tensor]] = {}
    outputs, last = [], []
    parts = embedded.chunk(len(network.recurrences), -1)
    for module, part in zip(network.recurrences, parts, strict=True):
        walk = cast("GatedRecurrence | MemoryRecurrence", module)
        states, state = walk(part, None)
        outputs.append(states)
        last.append(state)
        earlier = _earlier(states[0], backwards=walk.backwards)
        enters, keeps, shown = _gates(walk, part[0], earlier)
        paths = gate_paths(enters, keeps, backwards=walk.backwards)
        for name, values in {"paths": paths, "update": enters, **shown}.items():
            found.setdefault(name, []).append(values[None])
    added = score_parts(network.ranking, torch.cat(outputs, -1), torch.cat(last, -1))[0]
    found["phi"] = [added[None]]
    return found, added.sum(-1)


def gate_paths(
    enters: Float[Tensor, "docs units"], keeps: Float[Tensor, "docs units"], *, backwards: bool
) -> Float[Tensor, "docs docs"]:
    """How much of what document j wrote is in the state at document i, mean over the units.

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
        seen = slice(place, docs) if backwards else slice(0, place + 1)
        alive[seen] *= keeps[place]
        alive[place] = enters[place]
        paths[place, seen] = alive[seen].mean(-1)
    return paths


def score_parts(
    ranking: LocalRanking,
    outputs: Float[Tensor, "lists docs hidden"],
    state: Float[Tensor, "lists hidden"],
) -> Float[Tensor, "lists docs heads"]:
    """What every hidden unit of φ adds to a document's score; they sum to it (Ai et al., Eq. 5)."""
    context = ranking.context(state)
    if ranking.outputs is not None:
        units = torch.tanh(ranking.outputs(outputs) + context[:, None])
    else:
        rows = torch.tanh(context).view(len(state), ranking.heads, -1)
        units = outputs @ rows.transpose(1, 2)
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
    """What enters, what is kept, and the gates that only one kind of cell has; [docs, hidden]."""
    if isinstance(walk, MemoryRecurrence):
        opened, forgotten, _, _ = (products + earlier @ walk.weight.t()).chunk(4, -1)
        kept = forgotten.sigmoid()
        return opened.sigmoid(), kept, {"forget": kept}
    hidden = earlier.shape[1]
    opened = products[:, : 2 * hidden] + earlier @ walk.weight[: 2 * hidden].t()
    reset, kept = opened.sigmoid().chunk(2, -1)
    return 1 - kept, kept, {"reset": reset}
