"""Executors: processes of this machine, Ray and Slurm, named by a text such as `processes:4`."""

import importlib
import os
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from shuffleproof.core.errors import ParameterError, UnknownNameError, UsageError
from shuffleproof.core.numerals import number, whole

EXECUTORS: dict[str, str] = {
    "processes": "worker processes on this machine",
    "ray": "a Ray cluster, or this machine where none is named (shuffleproof[cluster])",
    "slurm": "jobs of a Slurm cluster, by submitit (shuffleproof[slurm])",
}
"""Executors by name, with a description."""

SETTINGS = {"processes": set[str](), "ray": {"workers", "cpus", "gpus"}, "slurm": {"cpus", "gpus"}}
ALLOWED = (
    "processes:N, ray:ADDRESS or slurm:PARTITION, of which N, ADDRESS and PARTITION may be left "
    "out; of a task of a cluster ,cpus=N ,gpus=N (of ray also a part of one), of ray ,workers=N"
)
MOST = 1024
EXECUTOR = "SHUFFLEPROOF_EXECUTOR"
"""The variable that names the executor of the jobs of a store."""


@runtime_checkable
class Executor(Protocol):
    """Does tasks that do not need each other.

    Attributes:
        elsewhere: on other machines.
    """

    elsewhere: ClassVar[bool]

    @property
    def at_once(self) -> int:
        """Number of concurrent tasks, if known beforehand."""

    def map(
        self, work: Callable[[Any, bytes], Any], common: Any, items: Sequence[bytes]
    ) -> Generator[tuple[int, Any] | None, None, None]:
        """Do `work(common, item)` for every item.

        Closing the iterator ends the work.

        Args:
            work: a function of an importable module; both its arguments and its result are pickled.
            common: what all tasks read.
            items: one a task.

        Yields:
            The index of an item and its result, or a `core.execution.work.Failure` where its
            process died; None at times while nothing has ended.
        """


def executor(text: str, folder: Path = Path()) -> Executor:
    """The executor that a text names.

    Args:
        text: a key of EXECUTORS; `processes:4`, `ray:ADDRESS` and `slurm:PARTITION` say more, and
            behind commas what a cluster gives: `ray:auto,workers=8,cpus=4,gpus=0.5`.
        folder: for the files of a cluster's jobs, on a disk that its nodes share.

    Raises:
        UnknownNameError: no executor has the name.
        ParameterError: a setting that it does not have, or a number that is none.
    """
    place, *settings = text.split(",")
    name, colon, argument = place.partition(":")
    if name not in EXECUTORS or (colon and not argument):
        raise UnknownNameError("executor", text, EXECUTORS)
    try:
        given = dict(setting.split("=") for setting in settings)
        values = {key: (number if key == "gpus" else whole)(one) for key, one in given.items()}
        count = whole(argument) if argument and name == "processes" else None
    except ValueError:
        raise ParameterError("executor", text, ALLOWED) from None
    numbers = [*values.values(), *([] if count is None else [count])]
    has_parts = name == "slurm" and values.get("gpus", 0) % 1
    if not values.keys() <= SETTINGS[name] or has_parts or not all(0 < n <= MOST for n in numbers):
        raise ParameterError("executor", text, ALLOWED)
    if name == "processes":
        return _made("processes", "Processes")(count)
    if name == "slurm":
        return _made("slurm", "Slurm")(folder, argument or None, **values)
    return _made("cluster", "Ray")(address=argument or None, **values)


def configured() -> str:
    """The executor that the environment names for jobs; empty: their own processes do the work.

    Raises:
        UsageError: no executor has the name, or a number is none.
    """
    text = os.environ.get(EXECUTOR, "").strip()
    try:
        if text:
            executor(text)
    except UsageError as error:
        raise UsageError(f"{EXECUTOR}: {error}; set another value, or leave it out") from error
    return text


def _made(module: str, kind: str) -> Any:
    return getattr(importlib.import_module(f"shuffleproof.core.execution.{module}"), kind)
