"""Progress of long work: a generator yields Progress and returns its answer."""

import time
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from shuffleproof.core.errors import UnfinishedError

Answer = TypeVar("Answer")
Report = TypeVar("Report")


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
        spent: where time alone ends the work, the share of it that is over; `total` then says
            nothing.
    """

    done: int
    total: int
    unit: str
    values: Mapping[str, float] = field(default_factory=dict)
    part: float = 0.0
    spent: float | None = None

    @property
    def share(self) -> float:
        """Finished share of all work, from 0 to 1.

        >>> Progress(3, 10, "epochs", part=0.5).share
        0.35
        >>> Progress(3, 4, "trials", spent=0.2).share
        0.2
        """
        if self.spent is not None:
            return self.spent
        return min(1.0, (self.done + self.part) / max(1, self.total))

    def spent_in_words(self) -> str:
        """Text in place of a total if only time ends the work.

        >>> Progress(3, 4, "trials", spent=0.2).spent_in_words()
        '20 % of the time budget'
        """
        return f"{100 * (self.spent or 0.0):.0f} % of the time budget"


def run_to_end(
    work: Generator[Progress, None, Answer], watch: Callable[[Progress], None] | None = None
) -> Answer:
    """Run a generator of Progress to its end and return its value.

    >>> def two_steps():
    ...     yield Progress(1, 2, "steps")
    ...     return "done"
    >>> run_to_end(two_steps())
    'done'
    """
    while True:
        try:
            progress = next(work)
        except StopIteration as stop:
            return stop.value
        if watch is not None:
            watch(progress)


def in_turn(
    works: Iterable[Generator[Progress, None, Answer]],
) -> Generator[Progress, None, list[Answer]]:
    """The answers of works, one after the other."""
    answers = []
    for work in works:
        answers.append((yield from work))  # noqa: PERF401 (no comprehension reports)
    return answers


def with_reports(
    work: Generator[Report, None, Answer], progress_of: Callable[[Report], Progress]
) -> Generator[Progress, None, Answer]:
    """The same work, its reports made the Progress of something larger, or other words of it.

    >>> def one_step():
    ...     yield 1
    ...     return "done"
    >>> run_to_end(with_reports(one_step(), lambda count: Progress(count, 2, "steps")))
    'done'
    """
    while True:
        try:
            report = next(work)
        except StopIteration as stop:
            return stop.value
        yield progress_of(report)


def with_words(
    work: Generator[Progress, None, Answer], what: str
) -> Generator[Progress, None, Answer]:
    """The same reports with `what` after their unit: epochs of dlcm, seed 1.

    >>> def one_step():
    ...     yield Progress(1, 2, "epochs")
    >>> [progress.unit for progress in with_words(one_step(), "of dlcm")]
    ['epochs of dlcm']
    """
    return with_reports(work, lambda report: replace(report, unit=f"{report.unit} {what}"))


class TimeLimitReached(Exception):  # noqa: N818 (no error: work that has something returns it)
    """Thrown into work whose time is up; who has something finished catches it and returns that.

    Attributes:
        seconds: that it had.
    """

    def __init__(self, seconds: int | float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


def limit_seconds(
    seconds: int | float,
    work: Generator[Progress, None, Answer],
    clock: Callable[[], int | float] = time.monotonic,
) -> Generator[Progress, None, Answer]:
    """The same reports until the time is up; then what the work has finished by then.

    A step under way is finished first, and work whose last step that was returns as without limit.

    Args:
        seconds: from now on.
        work: in which `TimeLimitReached` is raised at its first report after that.
        clock: seconds that pass.

    Raises:
        UnfinishedError: nothing was finished.

    >>> def endless():
    ...     try:
    ...         while True:
    ...             yield Progress(1, 2, "steps")
    ...     except TimeLimitReached:
    ...         return "half of it"
    >>> run_to_end(limit_seconds(0, endless()))
    'half of it'
    """
    end = clock() + seconds
    try:
        progress = next(work)
        while True:
            yield progress
            late = clock() >= end and progress.done < progress.total
            progress = work.throw(TimeLimitReached(seconds)) if late else next(work)
    except StopIteration as stop:
        return stop.value
    except TimeLimitReached:
        under_way = f"{progress.done} of {progress.total} {progress.unit}"
        raise UnfinishedError(seconds, under_way) from None
