"""`mixed-lengths`: lists of very different lengths, batched by length or at random.

Lengths as in MSLR-WEB30K: median 105, longest 1 251. The peer pads random batches of 64 lists to
their longest; both score the same lists with the same SetRank.
"""

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Int64

from shuffleproof.core.bench.result import BenchRow, comparison_row, interleave
from shuffleproof.core.data import ragged
from shuffleproof.core.data.batches import (
    HeldLists,
    on_device,
    scoring_plan,
    training_plan,
    waste_of,
)
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.models.config import SETRANK_PRESETS
from shuffleproof.core.training.network import (
    BUDGET,
    Network,
    arithmetic,
    built,
    held_scores,
    scores_of,
)

MEDIAN, LONGEST, SPREAD = 105, 1251, 0.6
FEATURES, SEED = 136, 5
RANDOM_BATCH = 64


def lengths_like_mslr(lists: int) -> Int64[np.ndarray, " lists"]:
    """Log-normal lengths of the median and the maximum of MSLR-WEB30K."""
    drawn = np.random.default_rng(SEED).normal(np.log(MEDIAN), SPREAD, lists)
    lengths = np.clip(np.exp(drawn).astype(np.int64), 1, LONGEST)
    lengths[0] = LONGEST
    return lengths


def mixed_lengths(quick: bool) -> list[BenchRow]:  # noqa: FBT001 (the bench command's own call)
    """Padding of scoring and training batches, and the time of scoring against random batches."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    lengths = lengths_like_mslr(192 if quick else 640)
    draws = np.random.default_rng(SEED)
    lists = _held(lengths, draws, device)
    network = built(SETRANK_PRESETS["small" if quick else "tuned"], FEATURES, SEED).to(device)
    order = draws.permutation(len(lengths))
    batches = [order[at : at + RANDOM_BATCH] for at in range(0, len(order), RANDOM_BATCH)]
    note = f"{len(lengths)} lists, median {np.median(lengths):.0f}, longest {lengths.max()}"
    seconds = interleave(
        lambda: held_scores(network, lists),
        lambda: _random_batches(network, lists, batches),
        repeats=3,
    )
    many = lengths_like_mslr(6000)
    scoring = list(scoring_plan(many, BUDGET[device]))
    training = training_plan(many, np.arange(len(many)), (RANDOM_BATCH, 16_384), draws)
    shuffled = draws.permutation(len(many))
    random = [shuffled[at : at + RANDOM_BATCH] for at in range(0, len(many), RANDOM_BATCH)]
    return [
        comparison_row(
            "mixed-lengths score",
            (seconds[0], seconds[1]),
            f"random batches of {RANDOM_BATCH}",
            3.0,
            note,
        ),
        _padding("scoring", waste_of(many, scoring), waste_of(many, random), 1.05),
        _padding("training", waste_of(many, training), waste_of(many, random), 1.4),
    ]


def _padding(what: str, ours: float, peer: float, most: float) -> BenchRow:
    """Padded over real documents; the ratio is allowed over found, so its floor is 1."""
    return BenchRow(
        f"mixed-lengths padded/real {what}",
        ours,
        peer,
        f"random batches of {RANDOM_BATCH}",
        most / ours,
        1.0,
        note=f"at most {most}; the ratio is {most} over ours",
    )


def _held(
    lengths: Int64[np.ndarray, " lists"], draws: np.random.Generator, device: str
) -> HeldLists:
    docs = int(lengths.sum())
    nothing = np.zeros((docs, 0), dtype=np.int32)
    lists = CandidateLists(
        offsets=ragged.offsets_of(lengths),
        queries=np.arange(len(lengths)),
        rows=np.arange(docs),
        ranks=nothing,
        prior=nothing.astype(np.float32),
    )
    features = draws.normal(size=(docs, FEATURES)).astype(np.float32)
    return on_device(lists, features, np.zeros(docs, dtype=np.float32), device)


@torch.inference_mode()
def _random_batches(
    network: Network, lists: HeldLists, batches: list[Int64[np.ndarray, " _batch"]]
) -> None:
    with arithmetic("fp32", lists.features.device.type):
        for chosen in batches:
            scores_of(network, lists.batch(chosen)).cpu()


JOBS: dict[str, Callable[[bool], list[BenchRow]]] = {"mixed-lengths": mixed_lengths}
