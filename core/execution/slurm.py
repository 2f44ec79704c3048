"""Tasks done as jobs of Slurm, by submitit, which is imported only here and only when chosen."""

import errno
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from shuffleproof.core.errors import UsageError
from shuffleproof.core.execution.machine import threads_allowed, threads_set
from shuffleproof.core.execution.work import Failure

ARRAY = 500
"""Jobs of an array at most; clusters refuse larger ones."""

ATTEMPTS = 2
LOOK = 0.2
"""Seconds between two looks at what has ended."""

ENDING = 5.0
"""Seconds in which a local job ends that was cancelled."""

WITHOUT_SLURM = frozenset({"local", "debug"})
"""Partitions that are none: submitit runs the jobs as processes here, or within this process."""


@dataclass(frozen=True)
class Slurm:
    """Jobs of a Slurm cluster, which needs the extra `shuffleproof[slurm]`.

    A task whose job dies is submitted once more, then reported as failed.

    Attributes:
        folder: for logs and results of jobs; on a disk that all nodes share.
        partition: of the cluster, `local` or `debug` (WITHOUT_SLURM); None: the usual one.
        minutes: that a job may take.
        cpus: cores of a job, which are its numeric threads; None: as many as this process has.
        gpus: of a job.
    """

    elsewhere: ClassVar[bool] = True

    folder: Path
    partition: str | None = None
    minutes: int = 24 * 60
    cpus: int | None = None
    gpus: int | float = 0

    @property
    def at_once(self) -> int:
        """Slurm decides; where trials are proposed several at a time, 8."""
        return 8

    def map(
        self, work: Callable[[Any, bytes], Any], common: Any, items: Sequence[bytes]
    ) -> Generator[tuple[int, Any] | None, None, None]:
        """Do `work(common, item)` for every item; see `core.execution.executor.Executor`.

        Raises:
            UsageError: there is no Slurm here, or it refuses the jobs.
        """
        executor, running = self._executor(), dict[int, tuple[Any, int]]()
        try:
            for start in range(0, len(items), ARRAY):
                part = items[start : start + ARRAY]
                jobs = _submitted(self._cpus, executor.map_array, work, [common] * len(part), part)
                running |= {start + at: (job, 1) for at, job in enumerate(jobs)}
            while running:
                for index, (job, attempts) in list(running.items()):
                    if not job.done():
                        continue
                    del running[index]
                    error = job.exception()
                    if error is None:
                        yield index, job.result()
                    elif attempts < ATTEMPTS:
                        again = _submitted(self._cpus, executor.submit, work, common, items[index])
                        running[index] = (again, attempts + 1)
                    else:
                        message = f"its job died {ATTEMPTS} times; logs: {self.folder}"
                        yield index, Failure(message, str(error))
                yield None
                time.sleep(LOOK)
        finally:
            self._cancel([job for job, _ in running.values()])

    def _cancel(self, jobs: Sequence[Any]) -> None:
        """Cancel jobs; local ones are processes of this one, which sees to their end."""
        for job in jobs:
            job.cancel(check=False)
        limit = time.monotonic() + (ENDING if self.partition == "local" else 0.0)
        while time.monotonic() < limit and any(
            job.get_info()["jobState"] == "RUNNING" for job in jobs
        ):
            time.sleep(0.05)

    @property
    def _cpus(self) -> int:
        return self.cpus or threads_allowed()

    def _executor(self) -> Any:
        import submitit  # noqa: PLC0415 (of an extra)

        cluster = self.partition if self.partition in WITHOUT_SLURM else "slurm"
        try:
            executor = submitit.AutoExecutor(folder=self.folder, cluster=cluster)
        except RuntimeError as error:
            remedy = "run it on a node that has sbatch, or choose processes or slurm:local"
            raise UsageError(f"executor slurm: there is no Slurm here; {remedy}") from error
        settings: dict[str, Any] = {
            "name": "shuffleproof",
            "timeout_min": self.minutes,
            "cpus_per_task": self._cpus,
        }
        if self.gpus:
            settings["gpus_per_node"] = int(self.gpus)
        if cluster == "slurm" and self.partition:
            settings["slurm_partition"] = self.partition
        executor.update_parameters(**settings)
        return executor


def _submitted(threads: int, submit: Callable[..., Any], *given: Any) -> Any:
    """Hand work to a cluster and return what it gives; its refusal becomes a sentence."""
    from submitit.core.utils import FailedJobError  # noqa: PLC0415 (as submitit itself)

    try:
        with threads_set(threads):
            return submit(*given)
    except (FailedJobError, OSError) as error:
        if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise  # the folder's disk is full, which its own sentence tells
        refusal = (str(error).strip().splitlines() or [""])[-1]
        raise UsageError(
            f"executor slurm: the cluster does not take the jobs ({refusal}); `sinfo` names its "
            "partitions"
        ) from error
