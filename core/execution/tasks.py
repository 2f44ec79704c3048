"""Tasks that do not need each other: done here one by one, or by the workers of an executor.

A task stores its result under a content key. Workers therefore return nothing: the caller finds
the result in the store.
"""

from collections.abc import Callable, Generator, Sequence
from contextvars import ContextVar
from typing import Any, TypeVar

from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.progress import Progress, in_turn

Item = TypeVar("Item")
Value = TypeVar("Value")

Errors = list[ShuffleproofError | None]
"""What each task failed with; None: its result is stored."""


Workers = Callable[
    [Callable[[Any], Generator[Progress, None, Any]], Sequence[Any]],
    Generator[Progress, None, Errors],
]
"""What runs a function on every item, each to its end."""

WORKERS: ContextVar[Workers | None] = ContextVar("workers", default=None)
"""The workers of the command or job that runs; None: it does all tasks itself."""


def run_tasks(
    function: Callable[[Item], Generator[Progress, None, Any]], items: Sequence[Item]
) -> Generator[Progress, None, Errors]:
    """Let the workers, if there are any, run a function on every item.

    Args:
        function: stores its result; the caller calls it again and finds that.
        items: of the tasks, in the order of work.
    """
    workers = WORKERS.get()
    if workers is None:
        return [None] * len(items)
    return (yield from workers(function, items))


def values_of(
    function: Callable[[Item], Generator[Progress, None, Value]], items: Sequence[Item]
) -> Generator[Progress, None, list[Value]]:
    """The values of a function for every item, in order; workers make what it stores.

    Raises:
        ShuffleproofError: what the first failing task raised.
    """
    for error in (yield from run_tasks(function, items)):
        if error is not None:
            raise error
    return (yield from in_turn(map(function, items)))
