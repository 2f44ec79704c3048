"""A run that survives being killed: everything an epoch leaves behind, in one safetensors file.

The file is written beside the old one and renamed over it, so there is always a whole one. Draws
are derived from (seed, epoch), so no generator has to be kept: a run that goes on from here takes
the very steps that it would have taken.
"""

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from shuffleproof.core.errors import ArtefactError
from shuffleproof.core.training.network import Network, weights_of
from shuffleproof.core.training.schedule import ScheduleState

FILE = "checkpoint.safetensors"


@dataclass(frozen=True, eq=False)
class RunState:
    """What a run knows between two epochs.

    Attributes:
        epoch: finished epochs.
        best_epoch: the epoch (1-based) that the selection likes best; 0 before the first.
        best_value: its value; larger is better.
        best_weights: its weights.
        schedule: what the learning rate depends on.
    """

    epoch: int = 0
    best_epoch: int = 0
    best_value: float = float("-inf")
    best_weights: dict[str, Tensor] = field(default_factory=dict)
    schedule: ScheduleState = field(default_factory=ScheduleState)


def save(
    workspace: Path,
    recipe: dict[str, Any],
    state: RunState,
    trained: tuple[Network, torch.optim.Optimizer],
) -> None:
    """Write a checkpoint over the one before.

    Args:
        workspace: an existing directory that outlives the process.
        recipe: the run's recipe; a checkpoint goes on only under the same one.
        state: the run's state.
        trained: the network and its optimiser, as they are now.
    """
    network, optimiser = trained
    tensors = {f"network/{name}": value for name, value in weights_of(network).items()}
    tensors |= {f"best/{name}": value for name, value in state.best_weights.items()}
    for index, moments in optimiser.state_dict()["state"].items():
        for name, value in moments.items():
            if isinstance(value, Tensor):
                tensors[f"optimiser/{index}/{name}"] = value.detach().to("cpu", copy=True)
    head = {
        "recipe": recipe,
        "epoch": state.epoch,
        "best_epoch": state.best_epoch,
        "best_value": state.best_value,
        "schedule": asdict(state.schedule),
    }
    fresh = workspace / f"{FILE}.new"
    save_file(tensors, fresh, metadata={"run": json.dumps(head)})
    with fresh.open("rb+") as written:
        os.fsync(written.fileno())
    fresh.replace(workspace / FILE)


def restore(
    workspace: Path, recipe: dict[str, Any], trained: tuple[Network, torch.optim.Optimizer]
) -> RunState:
    """Bring a network and its optimiser to where the last checkpoint left them.

    Without a checkpoint both stay as they are and the state is that of a new run.

    Raises:
        ArtefactError: the checkpoint belongs to another recipe.
    """
    path = workspace / FILE
    if not path.exists():
        return RunState()
    groups: dict[str, dict[str, Tensor]] = {"network": {}, "best": {}, "optimiser": {}}
    with safe_open(path, framework="pt") as stored:
        head = json.loads(stored.metadata()["run"])
        if head["recipe"] != json.loads(json.dumps(recipe)):
            raise ArtefactError(str(path), "a checkpoint of another recipe", "Remove it.")
        for name in stored.keys():  # noqa: SIM118 (not a mapping)
            group, _, inner = name.partition("/")
            groups[group][inner] = stored.get_tensor(name)
    network, optimiser = trained
    network.load_state_dict(groups["network"])
    moments: dict[int, dict[str, Tensor]] = {}
    for name, value in groups["optimiser"].items():
        index, _, moment = name.partition("/")
        moments.setdefault(int(index), {})[moment] = value
    optimiser.load_state_dict({**optimiser.state_dict(), "state": moments})
    schedule = ScheduleState(tuple(head["schedule"]["losses"]), head["schedule"]["decays"])
    return RunState(head["epoch"], head["best_epoch"], head["best_value"], groups["best"], schedule)
