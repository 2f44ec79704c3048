"""Items worked as jobs of Slurm, by submitit, which is imported only here and only when chosen."""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shuffleproof.core.errors import UsageError
from shuffleproof.core.execution.jobs_slots import threads_allowed
from shuffleproof.core.execution.work import Failure, answered, outcome

ARRAY = 500
"""Jobs of an array at most; clusters refuse larger ones."""

ATTEMPTS = 2
WITHOUT_SLURM = frozenset({"local", "debug"})
"""Partitions that are none: submitit runs the jobs as processes here, or within this process."""


@dataclass(frozen=True)
class Slurm:
    """Jobs of a Slurm cluster, which needs the extra `shuffleproof[slurm]`.

    An item whose job dies is handed in once more, then reported as failed.

    Attributes:
        folder: for logs and results of jobs; on a disk that all nodes share.
        partition: of the cluster, `local` or `debug` (WITHOUT_SLURM); None: the usual one.
        minutes: that a job may take.
    """

    folder: Path
    partition: str | None = None
    minutes: int = 24 * 60

    def map(self, function: str, items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Work the items as arrays of jobs, yielding as they finish; see Executor.

        Raises:
            UsageError: submitit is not installed, or there is no Slurm here.
        """
        executor = self._executor()
        texts = [json.dumps(item) for item in items]
        running: dict[int, tuple[Any, int]] = {}
        for start in range(0, len(texts), ARRAY):
            part = texts[start : start + ARRAY]
            jobs = executor.map_array(answered, [function] * len(part), part)
            running |= {start + at: (job, 1) for at, job in enumerate(jobs)}
        try:
            while running:
                for index, (job, attempts) in list(running.items()):
                    if not job.done():
                        continue
                    error = job.exception()
                    if error is None:
                        del running[index]
                        yield index, outcome(job.result())
                    elif attempts < ATTEMPTS:
                        retry = executor.submit(answered, function, texts[index])
                        running[index] = (retry, attempts + 1)
                    else:
                        del running[index]
                        yield index, Failure(f"its job died, {ATTEMPTS} times", str(error))
                time.sleep(0.1)
        finally:
            for job, _ in running.values():
                job.cancel(check=False)

    def _executor(self) -> Any:
        try:
            import submitit  # noqa: PLC0415 (optional: only who chooses it needs it)
        except ImportError as error:
            remedy = "pip install 'shuffleproof[slurm]', or choose processes"
            raise UsageError(f"executor slurm: submitit is not installed; {remedy}") from error
        cluster = self.partition if self.partition in WITHOUT_SLURM else "slurm"
        try:
            executor = submitit.AutoExecutor(folder=self.folder, cluster=cluster)
        except RuntimeError as error:
            remedy = "run it on a node that has sbatch, or choose processes or slurm:local"
            raise UsageError(f"executor slurm: there is no Slurm here; {remedy}") from error
        settings: dict[str, Any] = {
            "name": "shuffleproof",
            "timeout_min": self.minutes,
            "cpus_per_task": threads_allowed(),
        }
        if cluster == "slurm" and self.partition:
            settings["slurm_partition"] = self.partition
        executor.update_parameters(**settings)
        return executor
