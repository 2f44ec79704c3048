"""Executors: processes of this machine, Ray and Slurm, named by a text such as `processes:4`."""

import importlib
import json
import os
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from shuffleproof.core.errors import ParameterError, UnknownNameError, UsageError, quoted
from shuffleproof.core.numerals import is_count, number

EXECUTORS: dict[str, str] = {
    "processes": "worker processes on this machine",
    "ray": "a Ray cluster, or this machine where none is named (shuffleproof[cluster])",
    "slurm": "jobs of a Slurm cluster, by submitit (shuffleproof[slurm])",
}
"""Every executor's name and what it is."""

MOST_GPUS = 64
MOST_PROCESSES = 1024


@runtime_checkable
class Executor(Protocol):
    """Does tasks that do not need each other.

    Attributes:
        elsewhere: on other machines.
    """

    elsewhere: ClassVar[bool]

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


def executor(text: str, workers: int | None = None, folder: Path = Path()) -> Executor:
    """The executor that a text names.

    Args:
        text: a key of EXECUTORS; `processes:4`, `ray:ADDRESS` and `slurm:PARTITION` say more, and
            behind a comma what each task of a cluster has: `ray:auto,cpus=4,gpus=0.5`.
        workers: processes, or tasks at a time on a cluster; None takes what the place offers.
        folder: where a cluster's jobs write, on a disk that they share.

    Raises:
        UnknownNameError: no executor has the name.
        ParameterError: a number of processes, cores or GPUs that is none.
        UsageError: two numbers of workers.
    """
    place, *of_task = text.split(",")
    name, colon, argument = place.partition(":")
    if name not in EXECUTORS or (colon and not argument):
        raise UnknownNameError("executor", text, EXECUTORS)
    if name == "processes" and of_task:
        raise ParameterError("executor", text, "ray or slurm, whose tasks have cpus and gpus")
    if name == "processes":
        if colon and not (is_count(argument) and 1 <= int(argument) <= MOST_PROCESSES):
            allowed = f"processes:N with a whole number from 1 to {MOST_PROCESSES:,}"
            raise ParameterError("executor", text, allowed)
        if colon and workers not in {None, int(argument)}:
            raise UsageError(
                f"executor {text} has {argument} workers, not {workers}: leave one out"
            )
        return _made("processes", "Processes")(int(argument) if colon else workers)
    cores, gpus = _of_task(text, of_task)
    if name == "slurm":
        if gpus != int(gpus):
            raise ParameterError("executor", text, "slurm with whole GPUs; ray shares them")
        return _made("slurm", "Slurm")(folder, argument or None, cpus=cores, gpus=int(gpus))
    return _made("cluster", "Ray")(workers, argument or None, cpus=cores or 1, gpus=gpus)


def _of_task(text: str, given: Sequence[str]) -> tuple[int | None, float]:
    """Cores and GPUs of each task; None: nothing is said of the cores."""
    values = dict(setting.split("=", 1) for setting in given if "=" in setting)
    cores, share, wrong = values.get("cpus"), 0.0, len(values) < len(given)
    try:
        share = number(values.get("gpus", "0"))
    except ValueError:
        wrong = True
    wrong = wrong or not values.keys() <= {"cpus", "gpus"} or not 0 <= share <= MOST_GPUS
    if wrong or not (cores is None or (is_count(cores) and int(cores))):
        allowed = "ray[:ADDRESS] or slurm[:PARTITION], with ,cpus=WHOLE and ,gpus=NUMBER behind it"
        raise ParameterError("executor", text, allowed)
    return (None if cores is None else int(cores)), share


EXECUTOR, WORKERS = "SHUFFLEPROOF_EXECUTOR", "SHUFFLEPROOF_WORKERS"
"""What says where the jobs of a store are worked (see `executor`), and by how many workers."""


@dataclass(frozen=True)
class ExecutorSettings:
    """Where jobs are worked.

    Attributes:
        where: an executor's text.
        workers: how many; None: as many as it has.
    """

    where: str
    workers: int | None = None


SETTINGS = "executor.json"
"""In the folder of a store's jobs: EXECUTOR and WORKERS as the last who started there had them."""


def keep_settings(folder: Path) -> None:
    """Send the jobs of this folder, from now on, where this process's environment says.

    A supervisor lives on when a dashboard ends, and would keep what was set when it began.
    """
    with suppress(OSError):  # a folder that cannot be written to has no jobs
        folder.mkdir(parents=True, exist_ok=True)
        fresh = folder / f"{SETTINGS}.{os.getpid()}"
        fresh.write_text(json.dumps(settings()), encoding="utf-8")
        fresh.replace(folder / SETTINGS)


def settings(folder: Path | None = None) -> dict[str, str]:
    """EXECUTOR and WORKERS as they hold for the jobs of a folder, or in this process."""
    here = {name: os.environ.get(name, "").strip() for name in (EXECUTOR, WORKERS)}
    if folder is None:
        return here
    try:
        return here | json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):  # not there, or damaged
        return here


def configured(folder: Path | None = None) -> ExecutorSettings | None:
    """Where jobs are worked, by `settings`; None: in their own processes.

    Raises:
        UsageError: no executor has the name, or a number is none.
    """
    where, workers = settings(folder).values()
    if not where and workers:
        raise UsageError(
            f"{WORKERS} is {quoted(workers)}, but {EXECUTOR} is not set: set that too, or leave "
            f"{WORKERS} out"
        )
    if not where:
        return None
    if workers and not (is_count(workers) and int(workers)):
        raise ParameterError(WORKERS, workers, "a whole number from 1 on")
    try:
        executor(where, count := int(workers) if workers else None)
    except UsageError as error:
        raise UsageError(f"{EXECUTOR}: {error}; set it anew, or leave it out") from error
    return ExecutorSettings(where, count)


def _made(module: str, kind: str) -> Any:
    return getattr(importlib.import_module(f"shuffleproof.core.execution.{module}"), kind)
