"""The training loop: a generator of reports, step by step; the caller prints, plots or stops.

All draws of an epoch come from (seed, epoch). The state after an epoch is one safetensors file,
written next to the old one and renamed over it. So a killed and resumed run takes the same steps as
an uninterrupted one.
"""

import math
import time
from collections.abc import Generator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor

from shuffleproof.core.data.batches import HeldLists, drawn_sets, scoring_plan, training_plan
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import DataError, DivergedError
from shuffleproof.core.execution.devices import threads_worth
from shuffleproof.core.losses.registry import loss as loss_named
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate, mean_of
from shuffleproof.core.progress import Progress
from shuffleproof.core.seeds import generator
from shuffleproof.core.training import checkpoint
from shuffleproof.core.training.network import (
    Network,
    arithmetic,
    budgeted,
    held_scores,
    scores_of,
    weights_of,
)
from shuffleproof.core.training.recipe import TrainingRecipe
from shuffleproof.core.training.step import Steps, plan_step, training_steps
from shuffleproof.core.words import counted


def learning_rate(recipe: TrainingRecipe, share: float, decays: int = 0) -> float:
    """Learning rate of one step.

    Args:
        recipe: recipe with the schedule.
        share: finished share of the run, in [0, 1).
        decays: number of decays by the stall schedule.

    >>> recipe = TrainingRecipe(learning_rate=1.0, schedule="cosine", warm_up=0.5)
    >>> [round(learning_rate(recipe, share), 3) for share in (0.1, 0.5, 0.75)]
    [0.2, 1.0, 0.5]
    """
    if recipe.schedule == "stall":
        return recipe.learning_rate * recipe.decay**decays
    if recipe.schedule == "constant":
        return recipe.learning_rate
    if share < recipe.warm_up:
        return recipe.learning_rate * share / recipe.warm_up
    left = (share - recipe.warm_up) / (1.0 - recipe.warm_up)
    return recipe.learning_rate * 0.5 * (1.0 + math.cos(math.pi * left))


@dataclass(frozen=True, eq=False)
class RunState:
    """State of a run between two epochs.

    Attributes:
        epoch: number of finished epochs.
        best_epoch: best epoch (1-based) by the selection; 0 before the first.
        best_value: its value; larger is better.
        best_weights: its weights.
        losses: training losses of the last epochs, for the stall schedule.
        decays: number of decays of the rate.
    """

    epoch: int = 0
    best_epoch: int = 0
    best_value: float = float("-inf")
    best_weights: dict[str, Tensor] = field(default_factory=dict)
    losses: tuple[float, ...] = ()
    decays: int = 0

    def after_loss(self, recipe: TrainingRecipe, loss: float) -> "RunState":
        """State after an epoch with this training loss.

        >>> recipe, state = TrainingRecipe(schedule="stall", stall_epochs=2), RunState()
        >>> for loss in (1.0, 0.5, 0.7, 1.2):
        ...     state = state.after_loss(recipe, loss)
        >>> state.losses, state.decays
        ((0.7, 1.2), 1)
        """
        # Worse than all of the last epochs, as in DLCM's released schedule
        full = len(self.losses) == recipe.stall_epochs
        stalled = full and loss > max(self.losses)
        losses = (*self.losses, loss)[-recipe.stall_epochs :]
        return replace(self, losses=losses, decays=self.decays + int(stalled))


PLAIN = ("epoch", "best_epoch", "best_value")
"""Numeric fields of a `RunState`."""


def save(
    workspace: Path,
    recipe: dict[str, Any],
    state: RunState,
    trained: checkpoint.NetworkAndOptimiser,
) -> None:
    """Write a checkpoint of a run in place of the previous one."""
    head = {"recipe": recipe, **{name: getattr(state, name) for name in PLAIN}}
    head["schedule"] = {"losses": state.losses, "decays": state.decays}
    best = {f"best/{name}": value for name, value in state.best_weights.items()}
    checkpoint.save(workspace, head, trained, best)


def restore(
    workspace: Path, recipe: dict[str, Any], trained: checkpoint.NetworkAndOptimiser
) -> RunState:
    """State of the last checkpoint, also loaded into network and optimiser; else a new state."""
    restored = checkpoint.restore(workspace, recipe, trained)
    if restored is None:
        return RunState()
    head, best = restored
    losses, decays = tuple(head["schedule"]["losses"]), head["schedule"]["decays"]
    weights = {name.removeprefix("best/"): value for name, value in best.items()}
    return RunState(
        **{name: head[name] for name in PLAIN}, best_weights=weights, losses=losses, decays=decays
    )


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Lists to train and to select a network on; features are normalised.

    Attributes:
        name: name of the network in errors.
        train: training lists, on the network's device.
        valid: validation lists, on the same device.
        judged: validation lists for the measures, in the same order.
    """

    name: str
    train: HeldLists
    valid: HeldLists
    judged: JudgedLists


def train(
    network: Network, data: TrainingData, recipe: TrainingRecipe, workspace: Path | None = None
) -> Generator[Progress, None, RunState]:
    """Train a network in place; it ends with the best epoch's weights.

    Reports every step. After each epoch reports `loss` (mean over its lists), `valid` (NDCG@10, or
    the negative loss: larger is better) and `best_epoch`; `documents_at_once` if memory ran out.

    Args:
        network: network with its first weights.
        data: lists to train and to select on.
        recipe: recipe of the training.
        workspace: folder of checkpoints, from which a killed run resumes.

    Raises:
        DataError: no training list has a document.
        DivergedError: the loss is no longer a finite number.
    """
    if not _used(data.train.lengths, recipe).any():
        least = counted(recipe.documents or 1, "document")
        raise DataError(data.name, f"no training list has {least}", "Check the training part.")
    steps = training_steps(network, data.train, recipe)
    trained = network, steps.optimiser
    facts = {"training": asdict(recipe), "model": asdict(network.config)}
    state = RunState()
    if workspace is not None:
        state = restore(workspace, facts, trained)
    while state.epoch < recipe.epochs and not _out_of_patience(state, recipe):
        start = time.perf_counter()
        total, lists = yield from _epoch(steps, (recipe, state))
        loss = float(total) / lists  # waits for the device
        seconds = time.perf_counter() - start
        if not math.isfinite(loss):
            raise DivergedError(data.name, state.epoch + 1, recipe.learning_rate)
        # Same threads as in the steps: other sums could select another epoch.
        with threads_worth(steps.work):
            valid = _selection_value(network, data, recipe)
        state = _after(state, network, valid).after_loss(recipe, loss)
        if workspace is not None:
            save(workspace, facts, state, trained)
        values = {"loss": loss, "valid": valid, "best_epoch": float(state.best_epoch)}
        values |= {"lists_per_second": lists / seconds} | steps.reduced
        yield Progress(state.epoch, recipe.epochs, "epochs", values)
    network.load_state_dict(state.best_weights)
    return state


def _epoch(
    steps: Steps, plan: tuple[TrainingRecipe, RunState]
) -> Generator[Progress, None, tuple[Tensor, int]]:
    """Steps of one epoch; returns the summed loss of its lists, on the device, and their number.

    Other draws of the caller between two steps change nothing: the epoch has its own generator.
    """
    recipe, state = plan
    network, held_lists = steps.network, steps.lists
    draws = generator(recipe.seed, "training", "epoch", state.epoch)
    batches = _batches(_used(held_lists.lengths, recipe), recipe, draws)
    if recipe.documents is not None:
        held_lists, batches = drawn_sets(held_lists, batches, recipe.documents, draws)
        steps = replace(steps, lists=held_lists)
    drawn = plan_step(held_lists, batches, recipe, network.config, draws)
    # Summed on the device: reading each loss would wait for it
    total, lists = torch.zeros((), device=held_lists.features.device), 0
    start = time.perf_counter()
    network.train()
    for index, step in enumerate(drawn):
        # Middle of the step: the first step of a warm-up must not have rate 0
        share = (state.epoch + (index + 0.5) / len(drawn)) / recipe.epochs
        loss = steps.take(step, learning_rate(recipe, share, state.decays))
        total += loss * len(step.chosen)
        lists += len(step.chosen)
        part, seconds = (index + 1) / (len(drawn) + 1), time.perf_counter() - start
        values = {"lists_per_second": lists / seconds, "epoch_seconds": seconds / part}
        yield Progress(state.epoch, recipe.epochs, "epochs", values | steps.reduced, part)
    return total, lists


def _used(
    lengths: Int64[np.ndarray, " lists"], recipe: TrainingRecipe
) -> Int64[np.ndarray, " lists"]:
    """Documents of each list that an epoch uses; 0 for a list shorter than the drawn sets."""
    size = recipe.documents or 1
    return lengths // size * size


def _batches(
    lengths: Int64[np.ndarray, " lists"], recipe: TrainingRecipe, draws: np.random.Generator
) -> list[Int64[np.ndarray, " _batch"]]:
    filled = np.flatnonzero(lengths)
    steps_of_a_pass = math.ceil(len(filled) / recipe.batch_lists)
    # Whole passes, so that every list counts alike in an epoch
    wanted = len(filled) * math.ceil(recipe.least_steps / steps_of_a_pass)
    if recipe.steps_per_epoch is not None:
        wanted = recipe.steps_per_epoch * recipe.batch_lists
    if recipe.sampling == "replacement":
        chosen = filled[draws.integers(0, len(filled), wanted)]
    else:
        # `np.resize` repeats the permutation until there are enough
        chosen = np.resize(draws.permutation(filled), wanted)
    return training_plan(lengths, chosen, (recipe.batch_lists, recipe.batch_documents), draws)


def _selection_value(network: Network, data: TrainingData, recipe: TrainingRecipe) -> float:
    """Value of the selection on the validation lists; larger is better."""
    network.eval()
    if recipe.selection == "valid-loss":
        return -_valid_loss(network, data.valid, recipe)
    scores = held_scores(network, data.valid)
    measure = Measure.parse("NDCG@10")
    values = evaluate([measure], data.judged.dataset, data.judged.lists, scores)
    return mean_of(measure, values[0])


@torch.inference_mode()
def _valid_loss(network: Network, lists: HeldLists, recipe: TrainingRecipe) -> float:
    loss_of = loss_named(recipe.loss, **recipe.loss_options())
    device = lists.features.device

    def summed(budget: int) -> Tensor:
        # Float64: thousands of losses are added, and epochs are compared by the sum
        total = torch.zeros((), dtype=torch.float64, device=device)
        with arithmetic("fp32", device.type):
            for batch in lists.batches(list(scoring_plan(lists.lengths, budget))):
                total += loss_of(scores_of(network, batch), batch.labels, batch.mask).sum()
        return total

    total = budgeted(summed, int(lists.lengths.max(initial=0)), device)
    return float(total) / max(1, len(lists.lengths))


def _after(state: RunState, network: Network, valid: float) -> RunState:
    epoch = state.epoch + 1
    # `not >` is also true for NaN, which is never the best
    if state.best_epoch and not valid > state.best_value:
        return replace(state, epoch=epoch)
    # Keep the first epoch at any value, so that there are weights to return
    value = valid if math.isfinite(valid) else float("-inf")
    return replace(
        state,
        epoch=epoch,
        best_epoch=epoch,
        best_value=value,
        best_weights=weights_of(network),
    )


def _out_of_patience(state: RunState, recipe: TrainingRecipe) -> bool:
    return recipe.patience is not None and state.epoch - state.best_epoch >= recipe.patience
