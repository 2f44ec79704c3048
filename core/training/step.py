"""Training steps: their draws are on the device beforehand, so that no step waits for it.

A step's gradient is computed at once or, if memory runs out, as a sum over parts. With a recorder
(`graphs.py`), steps of a shape seen before are recorded and replayed.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from shuffleproof.core.data.batches import HeldLists, ListBatch
from shuffleproof.core.execution.devices import threads_worth
from shuffleproof.core.losses.registry import loss as loss_named
from shuffleproof.core.models.dlcm import DLCM
from shuffleproof.core.models.mlp import UnivariateNet
from shuffleproof.core.training.graphs import Graphs
from shuffleproof.core.training.network import Network, arithmetic, sampled_starts, scores_of
from shuffleproof.core.training.optimisers import without_compiler
from shuffleproof.core.training.recipe import TrainingRecipe
from shuffleproof.core.training.within_memory import within_memory

SEEN_BEFORE = 2
"""Number of plain steps of a shape before the next one is recorded."""

RECORDINGS = 16
"""Most recorded shapes, since each recording holds its memory."""


class Step(NamedTuple):
    """Lists and draws of one step.

    Attributes:
        chosen: indexes of its lists, on the host.
        placed: the same indexes on the device.
        factors: factor of every feature of a list, 0 if it is hidden; None: no hidden features.
        starts: from `sampled_starts`, on the device, or None.
    """

    chosen: Int64[np.ndarray, " chosen"]
    placed: Int64[Tensor, " chosen"]
    factors: Float[Tensor, "chosen 1 features"] | None
    starts: Int64[Tensor, " chosen"] | None

    def parts(self, most: int) -> Iterator["Step"]:
        """Parts of at most `most` lists."""
        for first in range(0, len(self.chosen), most):
            run = slice(first, first + most)
            yield self._with(self.chosen[run], itemgetter(run))

    def twin(self) -> "Step":
        """Copy with new device memory."""
        return self._with(self.chosen, Tensor.clone)

    def _with(
        self, chosen: Int64[np.ndarray, " _chosen"], change: Callable[[Tensor], Tensor]
    ) -> "Step":
        factors = None if self.factors is None else change(self.factors)
        starts = None if self.starts is None else change(self.starts)
        return Step(chosen, change(self.placed), factors, starts)

    def copied(self, source: "Step") -> None:
        """Copy the device data of another step of the same shape into this one."""
        for own, new in zip(self[1:], source[1:], strict=True):
            if own is not None and new is not None:
                own.copy_(new)


def plan_step(
    lists: HeldLists,
    plan: Sequence[Int64[np.ndarray, " _chosen"]],
    recipe: TrainingRecipe,
    config: Any,
    draws: np.random.Generator,
) -> list[Step]:
    """Steps of an epoch; all their draws are copied to the device together.

    Args:
        lists: training lists.
        plan: indexes of the lists of each step.
        recipe: recipe with the share of hidden features.
        config: architecture of the network.
        draws: generator of the epoch.
    """
    factors, starts = [], []
    for chosen in plan:
        if recipe.hidden_features:
            shape = (len(chosen), 1, lists.features.shape[1])
            factors.append(kept_features(shape, recipe.hidden_features, draws))
        start = sampled_starts(config, lists.lengths[chosen], draws)
        if start is not None:
            starts.append(start)
    device, sizes = lists.features.device, [len(chosen) for chosen in plan]

    def placed(arrays: Sequence[np.ndarray]) -> Sequence[Tensor]:
        whole = torch.from_numpy(np.concatenate(arrays)).to(device)
        return torch.split(whole, sizes)

    nothing = [None] * len(plan)
    return [
        Step(chosen, there, factor, start)
        for chosen, there, factor, start in zip(
            plan, placed(plan),
            placed(factors) if factors else nothing,
            placed(starts) if starts else nothing,
            strict=True,
        )
    ]  # fmt: skip


def kept_features(
    shape: tuple[int, int, int], share: float, draws: np.random.Generator
) -> Float[np.ndarray, "lists 1 features"]:
    """Factors of the features: 0 for hidden ones of a list, 1 / (1 − share) for the others.

    This is dropout (Srivastava et al., JMLR 2014) of whole columns, drawn for each list, so that
    documents of a list stay comparable. Features are centred or small, so that 0 is neutral.
    """
    factors: Float[np.ndarray, "lists 1 features"] = (draws.random(shape) >= share).astype(
        np.float32
    )
    # Inverted dropout keeps expected inputs, so scoring needs no factor
    return factors / np.float32(1 - share)


@dataclass(eq=False)
class Steps:
    """Training steps of one network.

    Attributes:
        network: network, trained in place.
        lists: training lists, on the network's device.
        recipe: recipe of the training.
        optimiser: from `optimiser_of`.
        recorder: recorder of steps; None: all steps are plain.
        most: most padded documents per gradient computation; None: all of a step.
        work: parameters times lists of a batch.
    """

    network: Network
    lists: HeldLists
    recipe: TrainingRecipe
    optimiser: torch.optim.Optimizer
    recorder: Graphs | None = None
    most: int | None = None
    _seen: dict[Any, int] = field(default_factory=dict)
    _recordings: dict[Any, tuple[Step, Callable[[], Tensor]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Look up the loss."""
        self._loss = loss_named(self.recipe.loss, **self.recipe.loss_options())
        parameters = sum(parameter.numel() for parameter in self.network.parameters())
        self.work = parameters * self.recipe.batch_lists

    @property
    def reduced(self) -> dict[str, float]:
        """Documents per gradient computation, if memory ran out; else empty."""
        return {} if self.most is None else {"documents_at_once": float(self.most)}

    def take(self, step: Step, rate: float) -> Float[Tensor, ""]:
        """Take one step; return the mean loss of its lists, on the device.

        Raises:
            DataError: a single list does not fit into memory.
        """
        for group in self.optimiser.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(rate)  # in place: a recording reads this tensor
            else:
                group["lr"] = rate
        with threads_worth(self.work):
            if self.recorder is not None and self.most is None:
                loss = self._recorded(step, self.recorder)
                if loss is not None:
                    return loss
            return self._in_parts(step)

    def _recorded(self, step: Step, recorder: Graphs) -> Tensor | None:
        """Take the step by a recording; None: nothing was done, take a plain step."""
        shape = self._shape(step)
        if shape not in self._recordings:
            self._seen[shape] = self._seen.get(shape, 0) + 1
            if self._seen[shape] <= SEEN_BEFORE or len(self._recordings) >= RECORDINGS:
                return self._warmed(step, recorder)
            twin = step.twin()  # a graph replays fixed addresses: it reads the twin's memory
            try:
                self._recordings[shape] = twin, recorder.record(lambda: self._whole(twin))
            except RuntimeError:  # out of memory, or an operation that cannot be recorded
                self._without_recorder()
                return None
        twin, replay = self._recordings[shape]
        twin.copied(step)
        return replay()

    def _warmed(self, step: Step, recorder: Graphs) -> Tensor | None:
        try:
            return recorder.warmed(lambda: self._whole(step))
        except torch.OutOfMemoryError:
            self._without_recorder()
        return None

    def _without_recorder(self) -> None:
        self.recorder = None
        self._recordings.clear()

    def _shape(self, step: Step) -> tuple[Any, ...]:
        """Key of all host decisions in a step: steps with equal keys launch the same kernels."""
        lengths = self.lists.lengths[step.chosen]
        longest = int(lengths.max())
        full = bool((lengths == longest).all())
        by_length = not full and isinstance(self.network, DLCM | UnivariateNet)
        ties = tuple(self.lists.ties[step.chosen].any(0).tolist())
        # DLCM and univariate nets branch on each length, others only on the longest
        return len(lengths), longest, full, ties, lengths.tobytes() if by_length else b""

    def _whole(self, step: Step) -> Tensor:
        """Take the step in one part."""
        self.optimiser.zero_grad(set_to_none=True)
        loss = self._losses(step).mean()
        torch.autograd.backward(loss)
        self._update()
        return loss.detach()

    def _in_parts(self, step: Step) -> Tensor:
        """Take the step in as few parts as memory allows, starting again if memory runs out."""
        longest = int(self.lists.lengths[step.chosen].max())
        padded = longest * len(step.chosen)
        budget = padded if self.most is None else min(padded, self.most)
        loss, fitting = within_memory(
            lambda most: self._gradient(step, max(1, most // longest)),
            max(budget, longest), longest, str(step.placed.device),
        )  # fmt: skip
        if fitting < budget:
            self.most = fitting
        self._update()
        return loss

    def _gradient(self, step: Step, most: int) -> Tensor:
        """Compute the gradient of the mean loss, `most` lists at a time; return that loss."""
        # A failed attempt may have left a part of its gradient
        self.optimiser.zero_grad(set_to_none=True)
        lists = len(step.chosen)
        if lists <= most:
            loss = self._losses(step).mean()
            torch.autograd.backward(loss)
            return loss.detach()
        total = torch.zeros((), device=step.placed.device)
        for part in step.parts(most):
            # Divided by all lists of the step: the parts' gradients add up to that of the mean.
            loss = self._losses(part).sum() / lists
            torch.autograd.backward(loss)
            total += loss.detach()
        return total

    def _losses(self, step: Step) -> Float[Tensor, " lists"]:
        batch: ListBatch = self.lists.batch(step.chosen, step.placed)
        if step.factors is not None:
            batch = replace(batch, features=batch.features * step.factors)
        with arithmetic(self.recipe.precision, step.placed.device.type):
            scores = scores_of(self.network, batch, step.starts)
        # Losses need float32: bf16 has 8 bits, too few for log-sum-exp
        return self._loss(scores.float(), batch.labels, batch.mask)

    def _update(self) -> None:
        # After all parts: the norm is that of the gradient of the whole step
        if self.recipe.clip is not None:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.recipe.clip)
        self.optimiser.step()


def optimiser_of(
    network: Network, recipe: TrainingRecipe, *, recorded: bool = False
) -> torch.optim.Optimizer:
    """Optimiser of a recipe; updates all parameters in one fused kernel if possible.

    Args:
        network: network with the parameters.
        recipe: recipe of the training.
        recorded: True to hold rate and step count on the device, for recorded steps.
    """
    parameters = list(network.parameters())
    device, rate = parameters[0].device, recipe.learning_rate
    values: dict[str, Any] = {"lr": rate, "weight_decay": recipe.weight_decay}
    if recorded:
        values["lr"] = torch.tensor(rate, dtype=torch.float32, device=device)
    if recipe.optimiser == "sgd":
        fused = True if device.type == "cuda" else None
        return without_compiler(torch.optim.SGD)(parameters, fused=fused, **values)
    if recorded and device.type == "cuda":
        values["capturable"] = True
    return without_compiler(torch.optim.AdamW)(parameters, fused=True, **values)


def training_steps(network: Network, lists: HeldLists, recipe: TrainingRecipe) -> Steps:
    """Steps of a network's training; on a GPU they are recorded as CUDA graphs.

    A step of SetRank launches several hundred kernels; with the paper's batches of 32 lists a GPU
    waits for their launches longer than for their arithmetic. A recorded step is one launch.
    """
    device = lists.features.device
    # A recording reads the lists at fixed addresses; drawn sets have new ones in each epoch
    if device.type == "cuda" and recipe.documents is None:
        return recorded_steps(network, lists, recipe, Graphs(device))
    return Steps(network, lists, recipe, optimiser_of(network, recipe))


def recorded_steps(
    network: Network, lists: HeldLists, recipe: TrainingRecipe, recorder: Graphs
) -> Steps:
    """Training steps that are recorded and replayed."""
    optimiser = optimiser_of(network, recipe, recorded=True)
    return Steps(network, lists, recipe, optimiser, recorder)
