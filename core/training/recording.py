"""Choice between recorded and plain training steps, measured once per machine and device.

A step of SetRank launches several hundred kernels. With the paper's batches of 32 lists a GPU waits
longer for their launches than for their arithmetic. A recorded step is one launch.
"""

import time
from dataclasses import replace
from statistics import median

import numpy as np
import torch

from shuffleproof.core.data.batches import HeldLists, on_device
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.execution import devices
from shuffleproof.core.models.config import SETRANK_PRESETS
from shuffleproof.core.store.artefacts import default_store
from shuffleproof.core.training.graphs import Graphs
from shuffleproof.core.training.network import Network, built
from shuffleproof.core.training.recipe import SETRANK_TRAINING, TrainingRecipe
from shuffleproof.core.training.step import SEEN_BEFORE, Steps, optimiser_of, plan_step

LISTS, DOCUMENTS, FEATURES, STEPS = 32, 40, 136, 12
CLOSE = 1e-3
"""Largest relative difference of the probe's losses."""


def steps_of(network: Network, lists: HeldLists, recipe: TrainingRecipe) -> Steps:
    """Training steps of a network, recorded if a probe shows that recording is faster."""
    device = lists.features.device
    if not recording_pays(device):
        return Steps(network, lists, recipe, optimiser_of(network, recipe))
    return recording(network, lists, recipe, Graphs(device))


def recording(
    network: Network, lists: HeldLists, recipe: TrainingRecipe, recorder: Graphs
) -> Steps:
    """Recorded training steps of a network."""
    optimiser = optimiser_of(network, recipe, recorded=True)
    return Steps(network, lists, recipe, optimiser, recorder)


def recording_pays(device: torch.device) -> bool:
    """True if recorded steps give the same losses on this device and are clearly faster.

    Always False on a CPU, which has no launches.
    """
    return device.type == "cuda" and devices.pays(
        "graphs", str(device), default_store().root, _share_on
    )


def _share_on(device: str) -> float:
    place = torch.device(device)
    try:
        return share_of_unrecorded(place, Graphs(place))
    except RuntimeError:  # recording is not possible here: take plain steps
        return float("inf")


def share_of_unrecorded(device: torch.device, recorder: Graphs) -> float:
    """Time of a recorded step of SetRank's paper preset, divided by that of a plain step.

    Infinite if their losses differ.
    """
    recipe = replace(SETRANK_TRAINING["paper"], learning_rate=1e-4)
    plain, recorded = (_probe(device, recipe, used_recorder) for used_recorder in (None, recorder))
    apart = max(
        abs(plain_loss - recorded_loss) / plain_loss
        for plain_loss, recorded_loss in zip(plain[0], recorded[0], strict=True)
    )
    return recorded[1] / plain[1] if apart <= CLOSE else float("inf")


def _probe(
    device: torch.device, recipe: TrainingRecipe, recorder: Graphs | None
) -> tuple[list[float], float]:
    """Losses of some steps, and the median seconds of the later ones."""
    network = built(SETRANK_PRESETS["paper"], FEATURES, 0).to(device).train()
    lists = _lists(device)
    if recorder is None:
        steps = Steps(network, lists, recipe, optimiser_of(network, recipe))
    else:
        steps = recording(network, lists, recipe, recorder)
    draws = np.random.default_rng(0)
    plan = [draws.permutation(LISTS) for _ in range(STEPS)]
    losses, seconds = [], []
    for number, step in enumerate(plan_step(lists, plan, recipe, network.config, draws)):
        start = time.perf_counter()
        losses.append(float(steps.take(step, recipe.learning_rate)))  # waits for the device
        if number > SEEN_BEFORE + 1:
            seconds.append(time.perf_counter() - start)
    return losses, median(seconds)


def _lists(device: torch.device) -> HeldLists:
    draws = np.random.default_rng(0)
    documents = LISTS * DOCUMENTS
    nothing = np.zeros((documents, 0), dtype=np.int32)
    lists = CandidateLists(
        np.arange(LISTS + 1, dtype=np.int64) * DOCUMENTS, np.arange(LISTS), np.arange(documents),
        nothing, nothing.astype(np.float32),
    )  # fmt: skip
    features = draws.standard_normal((documents, FEATURES), dtype=np.float32)
    labels = draws.integers(0, 3, documents).astype(np.float32)
    return on_device(lists, features, labels, str(device))
