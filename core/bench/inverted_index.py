"""Search in learnt sparse vectors beside SciPy's product and Seismic, BM25 beside bm25s."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from shuffleproof.core.bench.collection_memory import memory
from shuffleproof.core.bench.result import BenchRow, comparison_row, interleave
from shuffleproof.core.bench.snrm import training_step
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.retrieval.collection import Collection
from shuffleproof.core.retrieval.index import SparseIndex
from shuffleproof.core.retrieval.recipe import Analysis
from shuffleproof.core.retrieval.registry import IndexedCollection
from shuffleproof.core.retrieval.sparse import SparseVectors
from shuffleproof.core.retrieval.words import Bm25
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.words import percent

DOCUMENTS, DIMENSIONS, NONZEROS, QUERIES, DEPTH = 20_000, 10_000, 100, 500, 100
BEST = 10
TERMS, LENGTH = 20_000, 60

PEER = "Seismic (approximate)"
QUERY_CUT, HEAP_FACTOR = 10, 0.9
"""Dimensions of a query that it reads, and how far below the last found a block may be, as in its
authors' examples. Source: Bruch, Nardini, Rulli & Venturini, SIGIR 2024."""


def retrieval(quick: bool = False) -> list[BenchRow]:  # noqa: FBT001, FBT002 (every job's form)
    """20,000 documents of 100 dimensions out of 10,000 (a tenth when quick); BM25 on as many."""
    size = DOCUMENTS // 10 if quick else DOCUMENTS
    documents, queries = _vectors("documents", size), _vectors("queries", QUERIES)
    index = SparseIndex.of(documents)
    if not _alike(index, queries.select(np.arange(20))):
        message = "the index differs from the product"
        raise AssertionError(message)
    single = [queries.select(np.array([place])) for place in range(QUERIES)]
    seconds = np.array([_seconds(partial(index.search, query, BEST)) for query in single])
    shape = f"{size} × {DIMENSIONS}, {NONZEROS} non-zeros, queries one by one, the best {BEST}"
    floor = None if quick else 1.0
    rows = [
        comparison_row(f"search, {word}", (float(value), ceiling), "our ceiling", floor, shape)
        for word, value, ceiling in (
            ("p95", np.quantile(seconds, 0.95), 1e-3),
            ("median", np.median(seconds), 1e-4),
        )
    ]
    ours, peer = interleave(
        lambda: index.search(queries, DEPTH), lambda: index.product(queries, DEPTH)
    )
    note = f"{QUERIES} queries at once, the best {DEPTH}"
    rows.append(comparison_row("search", (ours, peer), "SciPy's product", floor, note))
    (indexing,) = interleave(lambda: SparseIndex.of(documents))
    ceiling = size / 20_000
    note = f"{size / indexing:,.0f} vectors a second"
    return [
        *rows,
        comparison_row("indexing", (indexing, ceiling), "our ceiling", floor, note),
        approximate(index, queries, BEST),
        _bm25(size, floor),
        memory(quick),
        training_step(quick),
    ]


def _vectors(name: str, size: int) -> SparseVectors:
    """Vectors whose dimensions are drawn evenly, their weights between 0 and 1."""
    draw = generator(0, "bench", "retrieval", name)
    picked = draw.integers(0, DIMENSIONS, size=(size, NONZEROS))
    rows = np.repeat(np.arange(size), NONZEROS)
    table = np.unique(rows * DIMENSIONS + picked.ravel())
    offsets = np.searchsorted(table, np.arange(size + 1) * DIMENSIONS)
    weights = draw.random(len(table), dtype=np.float32) + np.float32(1e-3)
    return SparseVectors(offsets, (table % DIMENSIONS).astype(np.int32), weights, DIMENSIONS)


def _alike(index: SparseIndex, queries: SparseVectors) -> bool:
    ours, peer = index.search(queries, DEPTH), index.product(queries, DEPTH)
    same = np.array_equal(ours.offsets, peer.offsets)
    return same and np.allclose(ours.scores, peer.scores, rtol=1e-6, atol=0)


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def approximate(index: SparseIndex, queries: SparseVectors, best: int) -> BenchRow:
    """Exact search beside approximate search of the same vectors, query by query.

    Args:
        index: the exact one.
        queries: one vector each.
        best: documents of each query.
    """
    if not find_spec("seismic"):
        note = "pyseismic-lsr is not installed (extra `seismic`)"
        return BenchRow("search", None, None, PEER, None, None, note=note)
    import seismic  # noqa: PLC0415 (an extra)

    vectors = index.vectors
    data = seismic.SeismicDataset(dim=vectors.width)
    names = [str(place) for place in range(len(vectors))]
    data.add_documents_by_id(
        names, vectors.dimensions.astype(np.int64), vectors.weights, vectors.offsets
    )
    with _silent():
        peer = seismic.SeismicIndex.build_from_dataset(data, num_threads=1)
    text = seismic.get_seismic_string()
    single = [queries.select(np.array([place])) for place in range(len(queries))]
    query_dimensions = [
        np.array([str(dimension) for dimension in query.dimensions], dtype=text) for query in single
    ]

    def approximately() -> list[set[int]]:
        answers = (
            peer.search("", names, query.weights, best, QUERY_CUT, HEAP_FACTOR)
            for names, query in zip(query_dimensions, single, strict=True)
        )
        return [{int(document) for _, _, document in answer} for answer in answers]

    def exactly() -> list[set[int]]:
        return [set(index.search(query, best).documents.tolist()) for query in single]

    pairs = list(zip(exactly(), approximately(), strict=True))
    share = float(np.mean([len(ours & theirs) / max(1, len(ours)) for ours, theirs in pairs]))
    seconds = interleave(exactly, approximately)
    note = (
        f"{len(queries)} queries one by one; it finds {percent(share, 1)} of the exact best {best}"
    )
    return comparison_row("search", (seconds[0], seconds[1]), PEER, None, note)


@contextmanager
def _silent() -> Iterator[None]:
    """What a library prints on the process's own output goes to its errors meanwhile."""
    sys.stdout.flush()
    standard_output = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(standard_output, 1)
        os.close(standard_output)


def _bm25(size: int, floor: float | None) -> BenchRow:
    """Words by Zipf; both sides are given words that are tokenised."""
    if not find_spec("bm25s"):
        return BenchRow("BM25", None, None, "bm25s", None, floor, note="bm25s is not installed")
    import bm25s  # noqa: PLC0415 (an extra)

    draw = generator(0, "bench", "retrieval", "words")
    share = 1 / np.arange(1, TERMS + 1)
    words = np.array([f"w{place}" for place in range(TERMS)])
    drawn = words[draw.choice(TERMS, size=(size, LENGTH), p=share / share.sum())].tolist()
    queries = words[draw.choice(TERMS, size=(QUERIES, 4), p=share / share.sum())].tolist()
    theirs = bm25s.BM25(k1=1.2, b=0.75, method="lucene")
    theirs.index(drawn, show_progress=False)
    with TemporaryDirectory() as folder:
        ours = Bm25(IndexedCollection(_collection(drawn), Store(Path(folder))).words)
        texts = [" ".join(query) for query in queries]
        seconds = interleave(
            lambda: ours.search(texts, DEPTH),
            lambda: theirs.retrieve(queries, k=DEPTH, show_progress=False),
        )
    note = f"{size} documents of {LENGTH} words, {QUERIES} queries of 4"
    return comparison_row("BM25", (seconds[0], seconds[1]), "bm25s", floor, note)


def _collection(documents: list[list[str]]) -> Collection:
    ids = TextColumn.of([str(place) for place in range(len(documents))])
    none = np.zeros(0, np.int32)
    return Collection(
        "generated", ids, TextColumn.of([""] * len(documents)),
        TextColumn.of([" ".join(words) for words in documents]), (), (), np.array([0]),
        TextColumn.of([]), none, none, (), "generated", Analysis("blanks", "none", "none"),
    )  # fmt: skip


JOBS: dict[str, Callable[[bool], list[BenchRow]]] = {"retrieval": retrieval}
