"""Checkpoints of a training: network, optimiser and plain values in one atomic file."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from shuffleproof.core.errors import ArtefactError
from shuffleproof.core.store.manifest import checkpoint_errors

FILE = "checkpoint.safetensors"
NetworkAndOptimiser = tuple[nn.Module, torch.optim.Optimizer]


def save(
    workspace: Path,
    head: Mapping[str, Any],
    trained: NetworkAndOptimiser,
    more: Mapping[str, Tensor],
) -> None:
    """Write a checkpoint in place of the previous one.

    Args:
        workspace: a directory that outlives the process.
        head: plain values; only a training with the same `recipe` can resume.
        trained: the network and its optimiser.
        more: other tensors.
    """
    network, optimiser = trained
    tensors = {f"network/{name}": value for name, value in network.state_dict().items()}
    for index, moments in optimiser.state_dict()["state"].items():
        for name, value in moments.items():
            if isinstance(value, Tensor):
                tensors[f"optimiser/{index}/{name}"] = value
    copies = {
        name: value.detach().to("cpu", copy=True).contiguous()
        for name, value in {**tensors, **more}.items()
    }
    fresh = workspace / f"{FILE}.new"
    with checkpoint_errors(workspace / FILE):
        workspace.mkdir(parents=True, exist_ok=True)  # a finished twin process may have removed it
        save_file(copies, fresh, metadata={"run": json.dumps(head)})
        with fresh.open("rb+") as written:
            # Before the rename: after a power cut the new name must not hold an empty file
            os.fsync(written.fileno())
        fresh.replace(workspace / FILE)


def restore(
    workspace: Path, recipe: Mapping[str, Any], trained: NetworkAndOptimiser
) -> tuple[dict[str, Any], dict[str, Tensor]] | None:
    """Load the last checkpoint into a network and its optimiser.

    Returns:
        Head and other tensors of the checkpoint; None if there is none (nothing changes).

    Raises:
        ArtefactError: the checkpoint belongs to another recipe, or cannot be read.
    """
    path = workspace / FILE
    if not path.exists():
        return None
    groups: dict[str, dict[str, Tensor]] = {"network": {}, "optimiser": {}}
    more: dict[str, Tensor] = {}
    with checkpoint_errors(path), safe_open(path, framework="pt") as stored:
        head: dict[str, Any] = json.loads(stored.metadata()["run"])
        # Through JSON, because tuples come back as lists
        if head["recipe"] != json.loads(json.dumps(recipe)):
            raise ArtefactError(str(path), "a checkpoint of another recipe", "Remove it.")
        for name in stored.keys():  # noqa: SIM118 (not a mapping)
            group, _, inner = name.partition("/")
            of_group = groups.get(group)
            if of_group is None:
                more[name] = stored.get_tensor(name)
            else:
                of_group[inner] = stored.get_tensor(name)
    network, optimiser = trained
    network.load_state_dict(groups["network"])
    moments: dict[int, dict[str, Tensor]] = {}
    for name, value in groups["optimiser"].items():
        index, _, moment = name.partition("/")
        moments.setdefault(int(index), {})[moment] = value
    # Only the moments: rates and other settings come from the recipe
    optimiser.load_state_dict({**optimiser.state_dict(), "state": moments})
    return head, more
