"""Items worked by a Ray cluster; Ray is imported only here and only when chosen."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from shuffleproof.core.errors import UsageError
from shuffleproof.core.execution.work import Failure, answered, outcome

RETRIES = 1


@dataclass(frozen=True)
class Ray:
    """Tasks of a Ray cluster, which needs the extra `shuffleproof[cluster]`.

    The cluster's machines must be able to import the function, from an installation of their own.

    Attributes:
        workers: tasks at a time; None takes as many as the cluster has CPUs.
        address: of a running cluster; None joins the one Ray finds, or starts one here.
    """

    workers: int | None = None
    address: str | None = None

    def map(self, function: str, items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Work the items as tasks, yielding as they finish; see Executor.

        Raises:
            UsageError: Ray is not installed.
        """
        ray = _ray_module()
        if not ray.is_initialized():
            ray.init(address=self.address, log_to_driver=False, include_dashboard=False)
        task = ray.remote(max_retries=RETRIES, num_cpus=1)(answered)
        limit = self.workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        waiting = list(enumerate(items))[::-1]
        running: dict[Any, int] = {}
        try:
            while waiting or running:
                while waiting and len(running) < limit:
                    index, item = waiting.pop()
                    running[task.remote(function, json.dumps(item))] = index
                for reference in ray.wait(list(running), num_returns=1)[0]:
                    yield running.pop(reference), _outcome_of(ray, reference)
        finally:
            for reference in running:
                ray.cancel(reference, force=True)


def _ray_module() -> Any:
    try:
        import ray  # noqa: PLC0415 (optional: only who chooses it needs it)
    except ImportError as error:
        remedy = "pip install 'shuffleproof[cluster]', or choose serial or processes"
        raise UsageError(f"executor ray: Ray is not installed; {remedy}") from error
    return ray


def _outcome_of(ray: Any, reference: Any) -> Any:
    try:
        return outcome(ray.get(reference))
    except ray.exceptions.RayError as error:
        return Failure(f"its Ray task died, {RETRIES + 1} times", str(error))
