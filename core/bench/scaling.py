"""What size costs: the same work on two generated data sets, one eight times the other.

Each size has a process of its own, which says how long every step took and the most memory that it
held: its own, and with the pages that files stand behind, which the system may drop. Throughput
that does not depend on size has an exponent of 1, and a ratio of 1 to that of the small set.

`scaling` takes minutes; `istella` does the same at the size of the Istella LETOR set, whose text is
larger than most memories, and holds every step to a ceiling.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import log
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np

from shuffleproof.core.bench.result import BenchRow, touch_memory
from shuffleproof.core.data import catalogue
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.kinds.ranking_degradation.question import RankingDegradation
from shuffleproof.core.studies.workbench import Workbench, run_to_end

TIMES = 8


@dataclass(frozen=True)
class Shape:
    """A generated data set: training queries, documents of each, features of each of these.

    A fifth as many queries each are for validation and test.
    """

    queries: int
    documents: int
    features: int

    @property
    def all_documents(self) -> int:
        """Documents of all parts."""
        return round(1.4 * self.queries * self.documents)

    def times(self, factor: int | float) -> "Shape":
        """The same with so many times the queries."""
        return Shape(max(1, round(self.queries * factor)), self.documents, self.features)


SMALL, QUICK = Shape(1_000, 40, 136), Shape(100, 40, 136)
ISTELLA, QUICK_ISTELLA = Shape(16_564, 315, 220), Shape(80, 315, 220)
"""7.3 million documents, in lists as long as those of the Istella LETOR set."""

DISK_FREE = 2.0
"""Bytes on the disk for a byte of text: the text and what is stored of it."""

CEILING = 8 * 2**30
"""The most memory that a step on the largest set may hold, in bytes."""

FLOOR = 0.8
"""The least share of the small set's throughput that the large one keeps."""

LINEAR = ("ingest", "train LambdaMART", "train SetRank, an epoch", "score", "study")
"""What reads everything; opening looks at a part, however large the data are."""

LEVELS = (("transpositions", 0.0), ("transpositions", 20.0))
OWN_MEMORY, RESIDENT = "RssAnon", "VmRSS"
"""Of a process: what no file stands behind, and all that it holds."""

CHILD = (
    "import json, sys; from pathlib import Path; "
    "from shuffleproof.core.bench.scaling import steps; "
    "warm, data, store = map(Path, sys.argv[1:]); "
    "steps(warm, store / 'warm'); print(json.dumps(steps(data, store / 'cold')))"
)
"""What is loaded and compiled at the first call is so on a tiny set, before anything is timed."""

TINY = Shape(10, 40, 136)

TOUCHED = 2**30
"""Bytes of memory that are touched before anything is timed, or the size of the text if less: a
small set finds pages enough that were written before."""


def scaling(quick: bool) -> list[BenchRow]:  # noqa: FBT001 (as every job)
    """A row a step: seconds a megabyte of text, beside those of the set an eighth as large."""
    small, large = _both(QUICK if quick else SMALL)
    return [_row(name, small, large) for name in small["steps"]]


def istella(quick: bool) -> list[BenchRow]:  # noqa: FBT001 (as every job)
    """Two rows a step on 7.3 million documents, or as many as the disk holds: speed and memory."""
    shape = QUICK_ISTELLA if quick else ISTELLA.times(1 / TIMES)
    room = shutil.disk_usage(tempfile.gettempdir()).free / (_bytes_of(shape) * TIMES * DISK_FREE)
    small, large = _both(shape.times(min(room, 1.0)))
    rows = [_row(name, small, large) for name in small["steps"]]
    return rows + [_memory_row(name, large) for name in large["steps"]]


def _both(shape: Shape) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the steps take on a small set and on one TIMES its size."""
    return _of(shape), _of(shape.times(TIMES))


def _of(shape: Shape) -> dict[str, Any]:
    """What the steps take on a set of a shape, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        warm, data, store = (Path(folder) / name for name in ("warm", "data", "store"))
        generate_parts(warm, TINY)
        size = generate_parts(data, shape)
        command = [sys.executable, "-c", CHILD, *map(str, (warm, data, store))]
        answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        return {"bytes": size, "shape": shape, "steps": json.loads(answer.splitlines()[-1])}


def generate_parts(folder: Path, shape: Shape) -> int:
    """Write train, vali and test files of LETOR text; their bytes in all."""
    folder.mkdir()
    draws, total = generator(0, "scaling"), 0
    template, digits = _line_of(shape.features)
    for at, (part, share) in enumerate((("train", 1.0), ("vali", 0.2), ("test", 0.2)), start=1):
        path = folder / f"{part}.txt"
        with path.open("wb") as file:
            for query in range(max(10, int(shape.queries * share))):
                values = draws.integers(0, 100, (shape.documents, shape.features), np.uint8)
                labels = np.digitize(values[:, 0] / 100 * values[:, 1], (20, 40, 60, 80))
                lines = np.tile(template, (shape.documents, 1))
                lines[:, 0] += labels.astype(np.uint8)
                lines[:, QUERY_AT] = np.frombuffer(b"%d%07d" % (at, query), np.uint8)
                lines[:, digits] += values // 10
                lines[:, digits + 1] += values % 10
                file.write(lines.tobytes())
            os.fsync(file.fileno())  # else the disk writes it while it is being read
        total += path.stat().st_size
    return total


QUERY_AT = slice(6, 14)
"""Where a line names its query, in eight digits."""


def _line_of(features: int) -> tuple[np.ndarray, np.ndarray]:
    """A line of zeros, as bytes, and where each feature's two digits begin."""
    starts, line = [], b"0 qid:00000000"
    for place in range(1, features + 1):
        line += b" %d:0." % place
        starts.append(len(line))
        line += b"00"
    return np.frombuffer(line + b"\n", np.uint8), np.array(starts)


def _bytes_of(shape: Shape) -> int:
    """Of the text of all parts."""
    return shape.all_documents * len(_line_of(shape.features)[0])


def steps(data: Path, root: Path) -> dict[str, dict[str, float]]:
    """Seconds and the most memory of its own (bytes) of every step, on the files of a folder."""
    touch_memory(min(sum(path.stat().st_size for path in data.iterdir()), TOUCHED))
    store, figures = Store(root), dict[str, dict[str, float]]()

    def done(name: str, work: Generator[Any, None, Any]) -> Any:
        with _watched() as most:
            start = time.perf_counter()
            answer = run_to_end(work)
            seconds = time.perf_counter() - start
        figures[name] = {"seconds": seconds, "own": most[0], "resident": most[1]}
        return answer

    done("ingest", catalogue.ingest(data, "scaled", store))
    recipe = ListRecipe(initial=("feature:1",))
    bench = done("open", Workbench.open("scaled", recipe, store, "small"))
    trees = done("train LambdaMART", bench.train("lambdamart"))
    changes = {"epochs": "1"}
    net = done("train SetRank, an epoch", bench.train("setrank-msab", changes))
    done("score", _scored(bench, (trees.ranker, net.ranker)))
    label = f"setrank-msab#{net.artefact.key.digest}"
    question = RankingDegradation(("lambdamart", label), LEVELS, ("NDCG@10",), 1)
    done("study", question.run(bench))
    return figures


def _scored(bench: Workbench, rankers: tuple[Any, ...]) -> Generator[Any, None, None]:
    test = bench.prepared.test
    for ranker in rankers:
        ranker.score(test.dataset, test.lists)
    yield from ()


@contextmanager
def _watched() -> Iterator[list[int]]:
    """The most memory that this process holds inside, in bytes: its own, and all of it."""
    most, over = memory(), Event()

    def look() -> None:
        while not over.wait(0.05):
            most[:] = map(max, most, memory())

    thread = Thread(target=look, daemon=True)
    thread.start()
    try:
        yield most
    finally:
        over.set()
        thread.join()


def memory() -> list[int]:
    """Bytes of this process that no file stands behind, and all; 0 where the system is silent."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return [0, 0]
    values = {name: value for name, _, value in (line.partition(":") for line in lines)}
    return [int(values.get(name, "0").split()[0]) * 1024 for name in (OWN_MEMORY, RESIDENT)]


def _row(name: str, small: dict[str, Any], large: dict[str, Any]) -> BenchRow:
    seconds, before = (run["steps"][name]["seconds"] for run in (large, small))
    ours, peer = (seconds / large["bytes"] * 1e6, before / small["bytes"] * 1e6)
    exponent = log(seconds / before) / log(large["bytes"] / small["bytes"])
    note = (
        f"seconds a MB of text; {large['bytes'] / 1e6:,.0f} MB in {seconds:.2f} s, exponent "
        f"{exponent:.2f}, at most {large['steps'][name]['own'] / 2**30:.2f} GiB of own memory"
    )
    floor = FLOOR if name in LINEAR else None
    job = f"{name}, {TIMES} × the size"
    return BenchRow(job, ours, peer, "the small set", peer / ours, floor, note=note)


def _memory_row(name: str, large: dict[str, Any]) -> BenchRow:
    step, shape, size = large["steps"][name], large["shape"], large["bytes"] / 1e9
    note = (
        f"{shape.all_documents:,} documents of {shape.features} features, {size:.1f} GB "
        f"of text, {step['seconds']:,.0f} s; {step['resident'] / 2**30:.2f} GiB with pages of files"
    )
    ours = step["own"]
    return BenchRow(
        f"memory (GiB) of {name}", ours / 2**30, CEILING / 2**30, "our ceiling",
        CEILING / ours if ours else None, 1.0, note=note,
    )  # fmt: skip


JOBS: dict[str, Callable[[bool], list[BenchRow]]] = {"scaling": scaling, "istella": istella}
