"""How long work reports on its way: a generator yields Progress and returns its answer."""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Progress:
    """One report of work under way.

    Attributes:
        done: finished units (epochs, trees, trials), counting from 0.
        total: how many there will be at most.
        unit: what is counted.
        values: what was measured, by name (`loss`, `valid`, `lists_per_second`, …).
        part: how much of the next unit is done, in [0, 1): a report within an epoch moves bars
            and pace, and is no point of a curve.
    """

    done: int
    total: int
    unit: str
    values: Mapping[str, float] = field(default_factory=dict)
    part: float = 0.0

    @property
    def share(self) -> float:
        """How much of all is done, from 0 to 1.

        >>> Progress(3, 10, "epochs", part=0.5).share
        0.35
        """
        return min(1.0, (self.done + self.part) / max(1, self.total))


def finished(
    work: Generator[Progress, None, Answer], watch: Callable[[Progress], None] | None = None
) -> Answer:
    """Run a generator of Progress to its end and return its value.

    >>> def two_steps():
    ...     yield Progress(1, 2, "steps")
    ...     return "done"
    >>> finished(two_steps())
    'done'
    """
    while True:
        try:
            progress = next(work)
        except StopIteration as stop:
            return stop.value
        if watch is not None:
            watch(progress)


def saying(work: Generator[Progress, None, Answer], what: str) -> Generator[Progress, None, Answer]:
    """The same reports with `what` after their unit: epochs of dlcm, seed 1.

    >>> def one_step():
    ...     yield Progress(1, 2, "epochs")
    >>> [progress.unit for progress in saying(one_step(), "of dlcm")]
    ['epochs of dlcm']
    """
    while True:
        try:
            progress = next(work)
        except StopIteration as stop:
            return stop.value
        yield replace(progress, unit=f"{progress.unit} {what}")
