"""What workers cost: the trainings of one study by one worker and by two, and by many simulated.

Each of the trainings waits for a second (`cluster_cells`), so that what is measured is the
machinery and not the processor: workers that start, claims, artefacts, records, the result. The
efficiency is the time that the waiting alone would take by so many workers, beside the time that
the command took. What an installation compiles once, at the first call, is compiled before by a run
of one training, whose seconds are told. Workers that this machine has not are simulated, from
overheads measured in the run of one worker; a disk or network that many of them would wait for is
not.
"""

import heapq
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from shuffleproof.core import sharing
from shuffleproof.core.bench import cluster_cells
from shuffleproof.core.bench.result import BenchRow
from shuffleproof.core.bench.scaling import TINY, generate_parts
from shuffleproof.core.errors import UsageError
from shuffleproof.core.execution import claims
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.kinds.benchmark.question import Benchmark
from shuffleproof.core.studies.question import Scope

CELLS, QUICK_CELLS = 300, 20
WORKERS = (1, 2)
SIMULATED = (8, 64)
LONG = 60.0
"""Seconds of a training that is worth a cluster."""

FLOOR = 0.9
PEER = "no overhead"
NAME = "python:waiting"
LISTS = {"initial": ["feature:1"]}
TRIES = 200


@dataclass(frozen=True)
class Overheads:
    """Seconds that workers take beside the work itself.

    Attributes:
        start: until the first of them begins its first training.
        unit: of a training: claim, artefact, record.
        skip: to pass over a training that another is at, or that is there.
        again: to look once more at all of them.
        end: from the last training to the result.
    """

    start: float
    unit: float
    skip: float
    again: float
    end: float


def cluster(quick: bool) -> list[BenchRow]:  # noqa: FBT001 (as every job)
    """A row for each number of workers, measured or simulated."""
    cells, training_seconds = QUICK_CELLS if quick else CELLS, cluster_cells.SECONDS
    where = "ray" if find_spec("ray") else "processes"
    alone, _ = _measured(where, 1, 1)
    measurements = [_measured(where, workers, cells) for workers in WORKERS]
    overheads = measurements[0][1]
    note = (
        f"from overheads measured by one: start {overheads.start:.1f} s, a training "
        f"{overheads.unit * 1e3:.0f} ms, passing over one {overheads.skip * 1e3:.2f} ms, "
        f"looking again {overheads.again:.2f} s, end {overheads.end:.1f} s"
    )
    rows = [
        BenchRow(
            f"{cells} trainings of {training_seconds:g} s, {workers} by {where}", seconds,
            cells * training_seconds / workers, PEER,
            cells * training_seconds / workers / seconds, FLOOR,
            note=f"the machinery alone: trainings wait; start {each.start:.1f} s, a training "
            f"{each.unit * 1e3:.0f} ms, end {each.end:.1f} s; one alone before, which compiles "
            f"what was not yet: {alone:.0f} s",
        )
        for workers, (seconds, each) in zip(WORKERS, measurements, strict=True)
    ]  # fmt: skip
    for workers in SIMULATED:
        for length in (training_seconds, LONG):
            seconds, ideal = simulation(workers, cells, length, overheads), cells * length / workers
            job = f"{cells} trainings of {length:g} s, {workers} workers, simulated"
            rows.append(BenchRow(job, seconds, ideal, PEER, ideal / seconds, None, note=note))
    return rows


def _measured(where: str, workers: int, cells: int) -> tuple[float, Overheads]:
    """Seconds of the whole command, and where they went."""
    with tempfile.TemporaryDirectory() as folder:
        data, store = Path(folder) / "data", Store(Path(folder) / "store")
        generate_parts(data, TINY)
        fields = {"rankers": [NAME], "seeds": cells, "measures": ["NDCG@10"]}
        scope = {"data": str(data), "lists": LISTS, "preset": "small"}
        begun, start = time.time(), time.perf_counter()
        failed, _ = run_to_end(
            sharing.share_work(
                store, "benchmark", {**fields, **scope}, where, workers=workers,
                modules=[cluster_cells.__name__],
            )
        )  # fmt: skip
        if failed:
            raise UsageError(f"{'; '.join(failed)}: mend that, then run the bench again.")
        question = Benchmark.from_plain(fields)
        run_to_end(question.answer(Scope(store, str(data), LISTS, "small")))
        seconds = time.perf_counter() - start
        ends = sorted(
            artefact.path.stat().st_mtime - begun
            for artefact in store.artefacts("ranker")
            if artefact.recipe["ranker"].get("known_by")  # not the references
        )
        unit = (ends[-1] - ends[0]) / max(1, len(ends) - 1) - cluster_cells.SECONDS / workers
        again = time.perf_counter()
        run_to_end(Scope(store, str(data), LISTS, "small").open_workbench())
        overheads = Overheads(
            ends[0] - cluster_cells.SECONDS, unit, _skip(store),
            time.perf_counter() - again, seconds - ends[-1],
        )  # fmt: skip
        _leave(where)
    return seconds, overheads


def _skip(store: Store) -> float:
    """Seconds to see that another worker is at a training."""
    place = claims.Folder(store.root / claims.FOLDER)
    holder, other = claims.Claims(place), claims.Claims(place)
    with holder.working("unit"):
        start = time.perf_counter()
        for _ in range(TRIES):
            store.records.get("0" * 64)
            other.is_free("unit")
        seconds = (time.perf_counter() - start) / TRIES
    holder.close()
    return seconds


def _leave(where: str) -> None:
    if where == "ray":
        import ray  # noqa: PLC0415 (optional)

        ray.shutdown()


def simulation(workers: int, cells: int, length: float, overheads: Overheads) -> float:
    """Seconds of the whole command by so many workers that begin together.

    Each goes over all trainings in order, makes what nobody is at and passes over the rest; then it
    waits for the last that it passed over and looks again.

    Args:
        workers: how many.
        cells: trainings, which do not need each other.
        length: seconds of each.
        overheads: of everything else.

    >>> nothing = Overheads(0.0, 0.0, 0.0, 0.0, 0.0)
    >>> simulation(4, 8, 1.0, nothing), simulation(3, 4, 1.0, nothing)
    (2.0, 2.0)
    """
    done: dict[int, float] = {}
    ready = [(overheads.start, worker, 0, 0.0) for worker in range(workers)]
    last = overheads.start
    while ready:
        now, worker, cell, waits = heapq.heappop(ready)
        if cell == cells:
            if waits > now:
                again = waits + sharing.POLL / 2 + overheads.again
                heapq.heappush(ready, (again, worker, 0, 0.0))
            continue
        if cell in done:
            waits = done[cell] if done[cell] > now else waits
            now += overheads.skip
        else:
            now += length + overheads.unit
            done[cell] = last = now
        heapq.heappush(ready, (now, worker, cell + 1, waits))
    return max(last, *done.values()) + overheads.end


JOBS: dict[str, Callable[[bool], list[BenchRow]]] = {"cluster": cluster}
