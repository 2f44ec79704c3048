"""Learning rates as pure functions of what has happened so far."""

import math
from dataclasses import dataclass, replace

from shuffleproof.core.training.recipe import TrainingRecipe


@dataclass(frozen=True)
class ScheduleState:
    """What the stall schedule remembers.

    Attributes:
        losses: training losses of the epochs before, as many as the recipe compares with.
        decays: how often the rate was lowered.
    """

    losses: tuple[float, ...] = ()
    decays: int = 0

    def after(self, recipe: TrainingRecipe, loss: float) -> "ScheduleState":
        """The state after an epoch with this training loss.

        >>> recipe = TrainingRecipe(schedule="stall", stall_epochs=2)
        >>> state = ScheduleState()
        >>> for loss in (1.0, 0.5, 0.7, 1.2):
        ...     state = state.after(recipe, loss)
        >>> state
        ScheduleState(losses=(0.7, 1.2), decays=1)
        """
        full = len(self.losses) == recipe.stall_epochs
        stalled = full and loss > max(self.losses)
        kept = (*self.losses, loss)[-recipe.stall_epochs :]
        return replace(self, losses=kept, decays=self.decays + int(stalled))


def learning_rate(recipe: TrainingRecipe, share: float, state: ScheduleState) -> float:
    """The learning rate of one step.

    Args:
        recipe: names the schedule.
        share: how much of the run is over, in [0, 1).
        state: what the stall schedule remembers.

    >>> recipe = TrainingRecipe(learning_rate=1.0, schedule="cosine", warm_up=0.5)
    >>> [round(learning_rate(recipe, share, ScheduleState()), 3) for share in (0.1, 0.5, 0.75)]
    [0.2, 1.0, 0.5]
    """
    if recipe.schedule == "stall":
        return recipe.learning_rate * recipe.decay**state.decays
    if recipe.schedule == "constant":
        return recipe.learning_rate
    if share < recipe.warm_up:
        return recipe.learning_rate * share / recipe.warm_up
    left = (share - recipe.warm_up) / (1.0 - recipe.warm_up)
    return recipe.learning_rate * 0.5 * (1.0 + math.cos(math.pi * left))
