"""What size costs: the same work on two generated data sets, one eight times the other.

Each size has a process of its own, which says how long every step took and the most memory that
was its own (pages that files stand behind are the system's to drop). Throughput that does not
depend on size has an exponent of 1, and a ratio of 1 to that of the small set.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from math import log
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np

from shuffleproof.core.bench.result import BenchRow
from shuffleproof.core.data import catalogue
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.kinds.ranking_degradation.question import RankingDegradation
from shuffleproof.core.studies.workbench import Workbench, run_to_end

TIMES = 8
QUERIES, QUICK_QUERIES = 1_000, 100
"""Training queries of the small set; a fifth of them each for validation and test."""

DOCUMENTS, FEATURES = 40, 136
FLOOR = 0.8
"""The least share of the small set's throughput that the large one keeps."""

LINEAR = ("ingest", "train LambdaMART", "train SetRank, an epoch", "score", "study")
"""What reads everything; opening looks at a part, however large the data are."""

LEVELS = (("transpositions", 0.0), ("transpositions", 20.0))
OWN_MEMORY = "RssAnon"
"""Of a process: what no file stands behind."""

CHILD = (
    "import json, sys; from pathlib import Path; "
    "from shuffleproof.core.bench.scaling import steps; "
    "warm, data, store = map(Path, sys.argv[1:]); "
    "steps(warm, store / 'warm'); print(json.dumps(steps(data, store / 'cold')))"
)
"""What is loaded and compiled at the first call is so on a tiny set, before anything is timed."""

TINY = 10


def scaling(quick: bool) -> list[BenchRow]:  # noqa: FBT001 (as every job)
    """A row a step: seconds a megabyte of text, beside those of the set an eighth as large."""
    queries = QUICK_QUERIES if quick else QUERIES
    small, large = (_of(queries * times) for times in (1, TIMES))
    return [_row(name, small, large) for name in small["steps"]]


def _of(queries: int) -> dict[str, Any]:
    """What the steps take on a set of so many training queries, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        warm, data, store = (Path(folder) / name for name in ("warm", "data", "store"))
        generate_parts(warm, TINY)
        size = generate_parts(data, queries)
        command = [sys.executable, "-c", CHILD, *map(str, (warm, data, store))]
        answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        return {"bytes": size, "steps": json.loads(answer.splitlines()[-1])}


def generate_parts(folder: Path, queries: int) -> int:
    """Write train, vali and test files of LETOR text; their bytes in all."""
    folder.mkdir()
    draws, total = generator(0, "scaling"), 0
    for at, (part, share) in enumerate((("train", 1.0), ("vali", 0.2), ("test", 0.2))):
        path = folder / f"{part}.txt"
        with path.open("w", encoding="ascii") as file:
            for query in range(max(10, int(queries * share))):
                values = draws.random((DOCUMENTS, FEATURES), np.float32)
                labels = np.digitize(values[:, 0] * values[:, 1], (0.2, 0.4, 0.6, 0.8))
                for label, row in zip(labels.tolist(), values.tolist(), strict=True):
                    cells = " ".join(f"{place}:{value:.4f}" for place, value in enumerate(row, 1))
                    file.write(f"{label} qid:{at * 10**7 + query} {cells}\n")
        total += path.stat().st_size
    return total


def steps(data: Path, root: Path) -> dict[str, dict[str, float]]:
    """Seconds and the most memory of its own (bytes) of every step, on the files of a folder."""
    store, found = Store(root), dict[str, dict[str, float]]()

    def done(name: str, work: Generator[Any, None, Any]) -> Any:
        with _watched() as most:
            start = time.perf_counter()
            answer = run_to_end(work)
            seconds = time.perf_counter() - start
        found[name] = {"seconds": seconds, "bytes": most[0]}
        return answer

    done("ingest", catalogue.ingest(data, "scaled", store))
    recipe = ListRecipe(initial=("feature:1",))
    bench = done("open", Workbench.open("scaled", recipe, store, "small"))
    trees = done("train LambdaMART", bench.train("lambdamart"))
    changes = {"epochs": "1"}
    net = done("train SetRank, an epoch", bench.train("setrank-msab", changes))
    done("score", _scored(bench, (trees.ranker, net.ranker)))
    label = f"setrank-msab#{net.artefact.key.digest}"
    asked = RankingDegradation(("lambdamart", label), LEVELS, ("NDCG@10",), 1)
    done("study", asked.run(bench))
    return found


def _scored(bench: Workbench, rankers: tuple[Any, ...]) -> Generator[Any, None, None]:
    test = bench.prepared.test
    for ranker in rankers:
        ranker.score(test.dataset, test.lists)
    yield from ()


@contextmanager
def _watched() -> Iterator[list[int]]:
    """The most memory of its own that this process has inside, in bytes: the only item."""
    most, over = [0], Event()

    def look() -> None:
        while not over.wait(0.05):
            most[0] = max(most[0], own_memory())

    thread = Thread(target=look, daemon=True)
    most[0] = own_memory()
    thread.start()
    try:
        yield most
    finally:
        over.set()
        thread.join()


def own_memory() -> int:
    """Bytes of this process that no file stands behind; 0 where the system does not say."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    own = (line.split()[1] for line in lines if line.startswith(OWN_MEMORY))
    return int(next(own, 0)) * 1024


def _row(name: str, small: dict[str, Any], large: dict[str, Any]) -> BenchRow:
    seconds, before = (one["steps"][name]["seconds"] for one in (large, small))
    ours, peer = (seconds / large["bytes"] * 1e6, before / small["bytes"] * 1e6)
    exponent = log(seconds / before) / log(large["bytes"] / small["bytes"])
    note = (
        f"seconds a MB of text; {large['bytes'] / 1e6:,.0f} MB in {seconds:.2f} s, exponent "
        f"{exponent:.2f}, at most {large['steps'][name]['bytes'] / 2**30:.2f} GiB of own memory"
    )
    floor = FLOOR if name in LINEAR else None
    job = f"{name}, {TIMES} × the size"
    return BenchRow(job, ours, peer, "the small set", peer / ours, floor, note=note)


JOBS: dict[str, Callable[[bool], list[BenchRow]]] = {"scaling": scaling}
