"""Where independent items are worked: one protocol, three places (here, processes, a cluster)."""

import importlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from shuffleproof.core.errors import UnknownNameError
from shuffleproof.core.execution.work import answered, outcome

EXECUTORS: dict[str, str] = {
    "serial": "one after the other in this process",
    "processes": "worker processes on this machine",
    "ray": "a Ray cluster, or this machine where none is named (shuffleproof[cluster])",
}
"""Every executor's name and what it is."""


@runtime_checkable
class Executor(Protocol):
    """Works items that do not depend on each other."""

    def map(self, function: str, items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Apply a function to every item, yielding (index, result) as they finish.

        An item whose function raised, or that killed its worker twice, yields a
        `core.execution.work.Failure` in place of its result; the others go on. Closing the
        iterator ends the work.

        Args:
            function: `module:function`, importable wherever the work is done.
            items: plain JSON values; results are plain JSON values as well.
        """


@dataclass(frozen=True)
class Serial:
    """In this process, in order.

    >>> list(Serial().map("math:sqrt", [4, 9]))
    [(0, 2.0), (1, 3.0)]
    """

    def map(self, function: str, items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Work the items in order; see Executor."""
        for index, item in enumerate(items):
            yield index, outcome(answered(function, json.dumps(item)))


def executor(name: str, workers: int | None = None) -> Executor:
    """The executor of that name.

    Args:
        name: a key of EXECUTORS.
        workers: processes, or tasks at a time on a cluster; None takes what the place offers.

    Raises:
        UnknownNameError: no executor has the name.
    """
    if name not in EXECUTORS:
        raise UnknownNameError("executor", name, EXECUTORS)
    if name == "serial":
        return Serial()
    module, kind = {
        "processes": ("shuffleproof.core.execution.processes", "Processes"),
        "ray": ("shuffleproof.core.execution.cluster", "Ray"),
    }[name]
    return getattr(importlib.import_module(module), kind)(workers)
