"""Networks and their batches: construction from a config, scores and embeddings of held lists.

Scoring is exact float32 (TF32 off) unless bf16 is chosen. Batches stay below a budget of documents.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Float32, Int64
from torch import Tensor, nn

from shuffleproof.core.data.batches import HeldLists, ListBatch, scoring_plan
from shuffleproof.core.errors import DataError
from shuffleproof.core.execution import devices
from shuffleproof.core.models.architectures import Architecture
from shuffleproof.core.models.config import DLCMConfig, SetRankConfig
from shuffleproof.core.models.config_groups import GroupConfig
from shuffleproof.core.models.config_univariate import UnivariateConfig
from shuffleproof.core.models.dense import parameters_cast_once
from shuffleproof.core.models.dlcm import DLCM
from shuffleproof.core.models.gsf import GSF
from shuffleproof.core.models.mlp import UnivariateNet
from shuffleproof.core.models.ordinal import RankFacts
from shuffleproof.core.models.setrank import SetRank
from shuffleproof.core.seeds import derived_seed
from shuffleproof.core.training.within_memory import within_memory

Network = SetRank | DLCM | GSF | UnivariateNet
Precision = Literal["fp32", "bf16", "auto"]

BUDGET = {"cpu": 4096, "cuda": 262_144}
"""Padded documents per scoring batch, by kind of device; lowered when memory runs out."""


def built(config: Architecture, features: int, seed: int) -> Network:
    """Network with first weights drawn from the seed; the global generator does not change.

    Args:
        config: the architecture.
        features: number of features of a document.
        seed: master seed; the same seed gives the same weights on every machine.
    """
    # Drawn on the CPU, as the generators of GPUs give other numbers
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derived_seed(seed, "first-weights"))
        match config:
            case SetRankConfig():
                return SetRank(features, config)
            case DLCMConfig():
                return DLCM(features, config)
            case GroupConfig():
                return GSF(features, config)
            case UnivariateConfig():
                return UnivariateNet(features, config)


def scores_of(
    network: Network, batch: ListBatch, start: Int64[Tensor, " lists"] | None = None
) -> Float[Tensor, "lists docs"]:
    """Scores of a batch of feature vectors; values at pads are undefined."""
    if isinstance(network, UnivariateNet | DLCM):
        # The host knows these sizes: reading them from the mask would wait for the device.
        known = batch.lengths if isinstance(network, DLCM) else int(batch.lengths.sum())
        scores: Tensor = network(batch.features, None if batch.full else batch.mask, known)
        return scores
    return embedded_scores(network, network.embed(batch.features), batch, start)


def embedded_scores(
    network: Network,
    embedded: Float[Tensor, "lists docs width"],
    batch: ListBatch,
    start: Int64[Tensor, " lists"] | None = None,
) -> Float[Tensor, "lists docs"]:
    """Scores of documents from their embeddings."""
    mask = None if batch.full else batch.mask
    if isinstance(network, SetRank):
        ordinals = None
        if network.ordinal is not None:
            known = RankFacts(batch.held.present, batch.ties)
            ordinals = network.ordinals(batch.ranks, batch.tied, start, known)
        return network.score(embedded, mask, ordinals)
    if isinstance(network, GSF):
        return network.score(embedded, mask, start)
    if isinstance(network, DLCM):
        return network.score(embedded, mask, batch.lengths)
    return network.score(embedded, mask)


def sampled_starts(
    config: Architecture,
    lengths: Int64[np.ndarray, " lists"],
    generator: np.random.Generator,
) -> Int64[np.ndarray, " lists"] | None:
    """Random number of each list in a training step; None if the network needs none.

    It is the first rank of SetRank's ordinals (relative sampling), or the seed of the shuffle that
    precedes GSF's groups.
    """
    if isinstance(config, SetRankConfig) and config.rankings and config.relative_ordinals:
        # SetRank, section 4.5: start s is uniform, with s + N − 1 inside the table of ordinals
        return generator.integers(0, config.ordinals - lengths + 1)
    if isinstance(config, GroupConfig) and config.reads_order:
        return generator.integers(0, 1 << 62, len(lengths))
    return None


def check_lengths(name: str, config: Architecture, lengths: Int64[np.ndarray, " lists"]) -> None:
    """Check that no list is longer than the table of ordinals.

    Raises:
        DataError: a list has more candidates than the network has ordinals.
    """
    longest = int(lengths.max(initial=0))
    if isinstance(config, SetRankConfig) and config.rankings and longest > config.ordinals:
        finding = f"a list of {longest} candidates, {config.ordinals} ordinals"
        raise DataError(name, finding, "Cut the lists (--depth), or train with more ordinals.")


@torch.inference_mode()
def held_scores(
    network: Network, lists: HeldLists, precision: Precision = "fp32", *, embedded: bool = False
) -> Float[np.ndarray, " candidates"]:
    """Score of every candidate of held lists, in their order.

    In float64 if features and network are, else in float32.

    Args:
        network: network on the device of the lists.
        lists: lists of features, or of embedded documents.
        precision: fp32 is exact; bf16 changes positions.
        embedded: True if the lists hold results of `embed`.
    """

    def scored(budget: int) -> Tensor:
        scores = torch.zeros(
            len(lists.source),
            device=device,
            dtype=torch.float64 if lists.features.dtype == torch.float64 else torch.float32,
        )
        with arithmetic(precision, device.type), parameters_cast_once(network, scores):
            for batch in lists.batches(list(scoring_plan(lists.lengths, budget))):
                batch_scores = (
                    embedded_scores(network, batch.features, batch)
                    if embedded
                    else scores_of(network, batch)
                )
                scores[batch.rows] = batch_scores.to(scores.dtype)
        return scores

    device = lists.features.device
    # The last slot belongs to padding
    return budgeted(scored, int(lists.lengths.max(initial=0)), device)[:-1].cpu().numpy()


@torch.inference_mode()
def held_embeddings(
    network: Network, features: Float32[Tensor, "slots features"], precision: Precision = "fp32"
) -> Float[Tensor, "slots width"]:
    """Embedding of each document by itself."""

    def embedded(budget: int) -> Tensor:
        with arithmetic(precision, features.device.type):
            return torch.cat(
                [network.embed(part[None])[0] for part in torch.split(features, budget)]
            )

    return budgeted(embedded, 1, features.device)


def budgeted(work: Callable[[int], Tensor], longest: int, device: torch.device) -> Tensor:
    """Result of work done with as many padded documents per batch as the device can hold.

    A budget that was too large is not tried again in this process.

    Args:
        work: function that does all the work with a given budget.
        longest: number of documents of the longest list.
        device: device of the work.

    Raises:
        DataError: a single list does not fit into memory.
    """
    budget = BUDGET[device.type]
    done, fitting = within_memory(work, budget, longest, str(device))
    BUDGET[device.type] = min(budget, fitting)
    return done


def weights_of(network: nn.Module) -> dict[str, Tensor]:
    """Copy of the network's weights on the host."""
    state = network.state_dict()
    return {name: value.detach().to("cpu", copy=True) for name, value in state.items()}


@contextmanager
def arithmetic(precision: Precision, device: str) -> Iterator[None]:
    """Context of exact float32 (no TF32), or of bf16 autocast if it is chosen.

    Args:
        precision: auto means bf16 on a GPU that multiplies in it.
        device: "cpu" or "cuda".
    """
    before = torch.get_float32_matmul_precision()
    # TF32 keeps 10 bits of the mantissa, enough to move positions
    torch.set_float32_matmul_precision("highest")
    try:
        is_low = precision == "bf16" or (precision == "auto" and devices.bf16_pays(device))
        with torch.autocast(device, torch.bfloat16) if is_low else nullcontext():
            yield
    finally:
        torch.set_float32_matmul_precision(before)
