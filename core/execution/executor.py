"""Where independent items are worked: one protocol, four places (here, processes, two clusters)."""

import importlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from shuffleproof.core.errors import ParameterError, UnknownNameError
from shuffleproof.core.execution.work import answered, outcome
from shuffleproof.core.numerals import is_count

EXECUTORS: dict[str, str] = {
    "serial": "one after the other in this process",
    "processes": "worker processes on this machine",
    "ray": "a Ray cluster, or this machine where none is named (shuffleproof[cluster])",
    "slurm": "jobs of a Slurm cluster, by submitit (shuffleproof[slurm])",
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


def executor(text: str, workers: int | None = None, folder: Path = Path()) -> Executor:
    """The executor that a text names.

    Args:
        text: a key of EXECUTORS; `processes:4`, `ray:ADDRESS` and `slurm:PARTITION` say more.
        workers: processes, or tasks at a time on a cluster; None takes what the place offers.
        folder: where a cluster's jobs write, on a disk that they share.

    Raises:
        UnknownNameError: no executor has the name.
        ParameterError: a number of processes that is none.
    """
    name, colon, argument = text.partition(":")
    if name not in EXECUTORS or (colon and not argument):
        raise UnknownNameError("executor", text, EXECUTORS)
    if name == "serial":
        return Serial()
    if name == "processes":
        if colon and not (is_count(argument) and int(argument)):
            raise ParameterError("--executor", text, "processes:N with a whole number from 1 on")
        return _executor_class("processes", "Processes")(int(argument) if colon else workers)
    if name == "slurm":
        return _executor_class("slurm", "Slurm")(folder, argument or None)
    return _executor_class("cluster", "Ray")(workers, argument or None)


def _executor_class(module: str, kind: str) -> Any:
    return getattr(importlib.import_module(f"shuffleproof.core.execution.{module}"), kind)
