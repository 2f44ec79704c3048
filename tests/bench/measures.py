"""Measures of many lists, next to pytrec_eval, and of tables that memory does not hold."""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate
from tests.bench.row import Row, interleave

CUTOFFS = (1, 3, 5, 10)
LENGTH = 120


def ndcg(*, quick: bool) -> list[Row]:
    """6,000 lists of 120 documents; the peer's time includes its dictionaries.

    Gain is linear, the only one that pytrec_eval has.
    """
    import pytrec_eval

    count = 600 if quick else 6_000
    random = np.random.default_rng(0)
    labels = random.choice(5, size=count * LENGTH, p=[0.5, 0.25, 0.15, 0.07, 0.03])
    scores = random.normal(size=count * LENGTH).astype(np.float32)
    dataset = RankingDataset(
        features=np.zeros((count * LENGTH, 0), dtype=np.float32),
        labels=labels.astype(np.float32),
        offsets=np.arange(count + 1, dtype=np.int64) * LENGTH,
        query_ids=tuple(f"q{query}" for query in range(count)),
        feature_ids=(),
    )
    lists = CandidateLists.all_documents(dataset)
    measures = [Measure("NDCG", cutoff, gain="linear", ties="row") for cutoff in CUTOFFS]
    # pytrec_eval ranks tied documents by descending name, ours by row.
    names = [f"d{999_999_999 - row}" for row in range(len(labels))]

    def theirs() -> list[list[float]]:
        qrels, run = {}, {}
        grades, values = labels.tolist(), scores.tolist()
        for query, name in enumerate(dataset.query_ids):
            inside = slice(query * LENGTH, (query + 1) * LENGTH)
            qrels[name] = dict(zip(names[inside], grades[inside], strict=True))
            run[name] = dict(zip(names[inside], values[inside], strict=True))
        cutoffs = ",".join(map(str, CUTOFFS))
        found = pytrec_eval.RelevanceEvaluator(qrels, {f"ndcg_cut.{cutoffs}"}).evaluate(run)
        return [[found[name][f"ndcg_cut_{cut}"] for name in dataset.query_ids] for cut in CUTOFFS]

    def ours() -> np.ndarray:
        return evaluate(measures, dataset, lists, scores)

    np.testing.assert_allclose(ours(), theirs(), atol=1e-5)
    seconds, peer = interleave(ours, theirs, repeats=7)
    return [Row(f"NDCG of {count} × {LENGTH}", seconds, peer, "pytrec_eval", 50.0)]


SIZE = 33
"""Documents of a query of a judged table."""


def judged_table(*, quick: bool) -> list[Row]:
    """NDCG@10 of two systems over 3 M queries × 33 documents, compared; and over a hundredth."""
    queries = 30_000 if quick else 3_000_000
    with TemporaryDirectory() as folder:
        seconds, memory = {}, 0.0
        for count in (queries // 100, queries):
            path = Path(folder) / f"{count}.parquet"
            _write_judged(path, count)
            seconds[count], memory = _of_command(path)
    rows = f"{queries * SIZE:,} judged rows"
    each = {count: value / count for count, value in seconds.items()}
    return [
        Row(f"compare two systems, {rows}", seconds[queries], 15.0, "limit", 1.0),
        Row(f"memory of that, GiB, {rows}", memory, 2.0, "limit", 1.0),
        Row("seconds a query of that", each[queries], each[queries // 100],
            "a hundredth of the rows", 1.0),
    ]  # fmt: skip


def _write_judged(path: Path, queries: int) -> None:
    random, at_once = np.random.default_rng(0), 100_000
    schema = pa.schema([("query", pa.int64()), ("label", pa.int8()), ("old", pa.float32()),
                        ("new", pa.float32())])  # fmt: skip
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, queries, at_once):
            stop = min(start + at_once, queries)
            labels = random.choice(5, size=(stop - start) * SIZE, p=[0.6, 0.2, 0.1, 0.06, 0.04])
            noise = random.normal(size=(2, len(labels)))
            old, new = (labels * 0.3 + noise).astype(np.float32)
            query = np.repeat(np.arange(start, stop), SIZE)
            columns = (query, labels.astype(np.int8), old, new)
            writer.write_table(pa.table(dict(zip(schema.names, columns, strict=True)), schema))


def _of_command(path: Path) -> tuple[float, float]:
    """Seconds of the command, and the most memory of one of its processes in GiB."""
    import resource

    words = [sys.executable, "-m", "shuffleproof", "runs", str(path), "--measures", "NDCG@10"]
    start = perf_counter()
    subprocess.run(words, check=True, capture_output=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss  # of the largest, ever
    return perf_counter() - start, used / 2**20
