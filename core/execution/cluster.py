"""Tasks done by a Ray cluster; Ray is imported only here and only when chosen."""

import logging
import os
import socket
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any, ClassVar

from shuffleproof.core.errors import UsageError
from shuffleproof.core.execution.machine import THREADS
from shuffleproof.core.execution.work import Failure

RETRIES = 3
PATIENCE = 5.0
USUAL = 8
LOOK = 0.2
"""Seconds between two looks at what has ended."""


@dataclass(frozen=True)
class Ray:
    """Tasks of a Ray cluster, which needs the extra `shuffleproof[cluster]`.

    Its machines have Shuffleproof installed. No shared disk is needed.

    Attributes:
        workers: tasks at a time; None takes as many as the cluster has CPUs.
        address: of a running cluster; None joins the one Ray finds, or starts one here.
        cpus: cores of a task, which are its numeric threads.
        gpus: of a task; a part of one lets several tasks share it.
    """

    elsewhere: ClassVar[bool] = True

    workers: int | None = None
    address: str | None = None
    cpus: int = 1
    gpus: float = 0.0

    @property
    def at_once(self) -> int:
        """Concurrent tasks; 8 until the cluster has been reached."""
        return self.workers or USUAL

    def map(
        self, work: Callable[[Any, bytes], Any], common: Any, items: Sequence[bytes]
    ) -> Generator[tuple[int, Any] | None, None, None]:
        """Do `work(common, item)` for every item; see `core.execution.executor.Executor`.

        Raises:
            UsageError: no cluster answers, or none of its nodes has what a
                task needs.
        """
        ray = _imported()
        if not ray.is_initialized():
            self._join(ray)
        self._check(ray)
        environment = {"env_vars": dict.fromkeys(THREADS, str(self.cpus))}
        task = ray.remote(
            max_retries=RETRIES, num_cpus=self.cpus, num_gpus=self.gpus, runtime_env=environment
        )(work)
        limit = self.workers or max(1, int(ray.cluster_resources().get("CPU", 1)) // self.cpus)
        sent, waiting = ray.put(common), list(enumerate(items))[::-1]
        running: dict[Any, int] = {}
        try:
            with redirect_stdout(sys.stderr):  # where Ray says that a worker died
                while waiting or running:
                    while waiting and len(running) < limit:
                        index, item = waiting.pop()
                        running[task.remote(sent, item)] = index
                    ended = ray.wait(list(running), num_returns=1, timeout=LOOK)[0]
                    if not ended:
                        yield None
                    for reference in ended:
                        yield running.pop(reference), _fetched(ray, reference)
        finally:
            for reference in running:
                ray.cancel(reference, force=True)

    def on_every_node(self, function: Callable[[str], None], argument: str) -> None:
        """Call a function once on each node; what takes longer than PATIENCE is left."""
        ray = _imported()
        if not ray.is_initialized():
            return
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy  # noqa: PLC0415 (as Ray itself)

        calls = []
        for node in ray.nodes():
            if node["Alive"]:
                there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
                task = ray.remote(num_cpus=0, scheduling_strategy=there)(function)
                calls.append(task.remote(argument))
        ray.wait(calls, num_returns=len(calls), timeout=PATIENCE)

    def _join(self, ray: Any) -> None:
        try:
            _knock(self.address or "")
            ray.init(
                self.address, log_to_driver=False, include_dashboard=False,
                logging_level=logging.ERROR,
            )  # fmt: skip
        except (OSError, ValueError, RuntimeError) as error:
            where = f"at {self.address}" if self.address else "here"
            raise UsageError(
                f"executor ray: no cluster answers {where} ({_first_line(error)}); start one with "
                "`ray start --head`, or name another address; for one with a token set "
                "RAY_AUTH_MODE=token"
            ) from error

    def _check(self, ray: Any) -> None:
        """Refuse what no node can ever run: Ray would wait for ever."""
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        if not any(
            node.get("CPU", 0) >= self.cpus and node.get("GPU", 0) >= self.gpus for node in nodes
        ):
            most = {name: max((node.get(name, 0) for node in nodes), default=0) for name in KINDS}
            raise UsageError(
                f"executor ray: a task of {self.cpus} CPUs and {self.gpus:g} GPUs fits on no node "
                f"(the largest: {most['CPU']:g} CPUs, {most['GPU']:g} GPUs); name less"
            )


KINDS = ("CPU", "GPU")


def _knock(address: str) -> None:
    """Try whether anybody listens at HOST:PORT: Ray itself tries for minutes, then aborts."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), PATIENCE).close()


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


def _imported() -> Any:
    os.environ.setdefault("RAY_DISABLE_FAILURE_SIGNAL_HANDLER", "1")  # which aborts at SIGTERM
    import ray  # noqa: PLC0415 (of an extra)

    return ray


def _fetched(ray: Any, reference: Any) -> Any:
    try:
        return ray.get(reference)
    except ray.exceptions.RayError as error:
        return Failure(f"its Ray task died {RETRIES + 1} times", str(error))
