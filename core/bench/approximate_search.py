"""What approximation buys: Seismic's search of the vectors that the exact index holds."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import numpy as np

from shuffleproof.core.bench.result import BenchRow, comparison_row, interleave
from shuffleproof.core.retrieval.index import SparseIndex
from shuffleproof.core.retrieval.sparse import SparseVectors
from shuffleproof.core.words import percent

PEER = "Seismic (approximate)"
QUERY_CUT, HEAP_FACTOR = 10, 0.9
"""Dimensions of a query that it reads, and how far below the last found a block may be, as in its
authors' examples. Source: Bruch, Nardini, Rulli & Venturini, SIGIR 2024."""


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
    single = [queries.chosen(np.array([place])) for place in range(len(queries))]
    asked = [np.array([str(one) for one in own.dimensions], dtype=text) for own in single]

    def approximately() -> list[set[int]]:
        found = (
            peer.search("", names, own.weights, best, QUERY_CUT, HEAP_FACTOR)
            for names, own in zip(asked, single, strict=True)
        )
        return [{int(document) for _, _, document in one} for one in found]

    def exactly() -> list[set[int]]:
        return [set(index.search(own, best).documents.tolist()) for own in single]

    pairs = list(zip(exactly(), approximately(), strict=True))
    kept = float(np.mean([len(one & other) / max(1, len(one)) for one, other in pairs]))
    seconds = interleave(exactly, approximately)
    note = (
        f"{len(queries)} queries one by one; it finds {percent(kept, 1)} of the exact best {best}"
    )
    return comparison_row("search", (seconds[0], seconds[1]), PEER, None, note)


@contextmanager
def _silent() -> Iterator[None]:
    """What a library prints on the process's own output goes to its errors meanwhile."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
