"""Search in sparse vectors next to SciPy's product, BM25 next to bm25s, memory of a collection."""

import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import bm25s
import numpy as np
from scipy.sparse import csr_array

from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.retrieval.collection import Collection
from shuffleproof.core.retrieval.ingest import find, ingest
from shuffleproof.core.retrieval.postings import SparseIndex
from shuffleproof.core.retrieval.recipe import Analysis
from shuffleproof.core.retrieval.registry import RETRIEVERS, IndexedCollection, RankedDocuments
from shuffleproof.core.retrieval.words import Bm25
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.artefacts import Store
from tests.bench.row import Row, interleave
from tests.places import ROOT

DIMENSIONS, NONZEROS, QUERIES, DEPTH = 10_000, 100, 500, 100
CHILD = "import sys; from tests.bench.retrieval import print_peak; print_peak(sys.argv[1])"


def search(*, quick: bool) -> list[Row]:
    """The best 100 documents by exact inner products of sparse vectors."""
    size = 2_000 if quick else 20_000
    documents, queries = random_vectors("documents", size), random_vectors("queries", QUERIES)
    index = SparseIndex.of(documents)
    ours, theirs = index.search(queries, DEPTH), product(index, queries, DEPTH)
    np.testing.assert_allclose(ours.scores, theirs.scores, rtol=1e-6)
    seconds, peer = interleave(
        lambda: index.search(queries, DEPTH), lambda: product(index, queries, DEPTH)
    )
    note = f"{size} × {DIMENSIONS}, {NONZEROS} non-zeros each"
    return [Row(f"sparse search, {QUERIES} queries", seconds, peer, "SciPy product", 1.0, note)]


def product(index: SparseIndex, queries: csr_array, k: int) -> RankedDocuments:
    """Search by SciPy's product of the matrices."""
    rows = queries.astype(np.float64) @ index.vectors.T
    rankings = []
    for query in range(queries.shape[0]):
        span = slice(rows.indptr[query], rows.indptr[query + 1])
        places, scores = rows.indices[span], rows.data[span]
        order = np.lexsort((places, -scores))[:k]
        rankings.append((places[order].astype(np.int32), scores[order].astype(np.float32)))
    return RankedDocuments.of_queries(rankings)


def random_vectors(name: str, size: int) -> csr_array:
    """Vectors whose dimensions are drawn evenly, with weights between 0 and 1."""
    draw = generator(0, "bench", "retrieval", name)
    picked = draw.integers(0, DIMENSIONS, size=(size, NONZEROS))
    table = np.unique(np.repeat(np.arange(size), NONZEROS) * DIMENSIONS + picked.ravel())
    offsets = np.searchsorted(table, np.arange(size + 1) * DIMENSIONS)
    weights = draw.random(len(table), dtype=np.float32) + np.float32(1e-3)
    parts = (weights, (table % DIMENSIONS).astype(np.int32), offsets)
    return csr_array(parts, shape=(size, DIMENSIONS))


def bm25(*, quick: bool) -> list[Row]:
    """BM25 of documents of 60 words and queries of 4; both sides get tokens."""
    size = 2_000 if quick else 20_000
    drawn = [words.tolist() for words in zipf_words(size, 20_000, 60)]
    queries = [words.tolist() for words in zipf_words(QUERIES, 20_000, 4)]
    peer = bm25s.BM25(k1=1.2, b=0.75, method="lucene")
    peer.index(drawn, show_progress=False)
    with TemporaryDirectory() as folder:
        ours = Bm25(IndexedCollection(collection_of(drawn), Store(Path(folder))))
        texts = [" ".join(query) for query in queries]
        seconds, theirs = interleave(
            lambda: ours.search(texts, DEPTH),
            lambda: peer.retrieve(queries, k=DEPTH, show_progress=False),
        )
    return [Row(f"BM25, {QUERIES} queries", seconds, theirs, "bm25s", 1.0, f"{size} documents")]


def zipf_words(count: int, terms: int, length: int) -> Iterator[np.ndarray]:
    """Texts of `length` words drawn by Zipf's law out of `terms` words."""
    draw = generator(0, "bench", "retrieval", "words", length)
    share = 1 / np.arange(1, terms + 1)
    words = np.array([f"w{place}" for place in range(terms)])
    for first in range(0, count, 50_000):
        size = (min(50_000, count - first), length)
        yield from words[draw.choice(terms, size=size, p=share / share.sum())]


def collection_of(documents: list[list[str]]) -> Collection:
    """A collection of tokenised documents, without queries."""
    none = np.zeros(0, np.int32)
    return Collection(
        "generated", TextColumn.of([str(place) for place in range(len(documents))]),
        TextColumn.of([""] * len(documents)), TextColumn.of([" ".join(one) for one in documents]),
        (), (), np.array([0]), TextColumn.of([]), none, none, (), "generated",
        Analysis("blanks", "none", "none"),
    )  # fmt: skip


def collection_memory(*, quick: bool) -> list[Row]:
    """Peak resident memory of a process that ingests, indexes and searches a collection."""
    size = 20_000 if quick else 1_000_000
    with TemporaryDirectory() as folder:
        files = Path(folder) / "files"
        (files / "qrels").mkdir(parents=True)
        with (files / "corpus.jsonl").open("w") as out:
            for at, words in enumerate(zipf_words(size, 200_000, 20)):
                text = " ".join(words.tolist())
                out.write(json.dumps({"_id": f"d{at}", "title": "", "text": text}) + "\n")
        (files / "queries.jsonl").write_text('{"_id": "q1", "text": "w10 w100 w1000"}\n')
        (files / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td0\t1\n")
        command = [sys.executable, "-c", CHILD, folder]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    note = f"{size:,} documents of 20 words: ingest, index, search"
    return [Row("memory of a collection, GiB", float(done.stdout), 4.0, "limit", 1.0, note)]


def print_peak(folder: str) -> None:
    """Ingest the files of a folder, search once, and print this process's peak memory in GiB."""
    store = Store(Path(folder) / "store")
    run_to_end(ingest(Path(folder) / "files", "generated", store))
    indexed = IndexedCollection(find("generated", store), store)
    found = RETRIEVERS["bm25"].build(indexed).search([indexed.collection.queries[0]], 1000)
    assert len(found.documents) > 0
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss: bytes on macOS, KiB elsewhere
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30)
