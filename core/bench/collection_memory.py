"""The memory of a collection of short documents: read in from files, indexed, searched by words."""

import json
import resource
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from shuffleproof.core.bench.result import BenchRow
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.retrieval.ingest import find, ingest
from shuffleproof.core.retrieval.registry import RETRIEVERS, IndexedCollection
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.artefacts import Store

DOCUMENTS, QUICK = 1_000_000, 20_000
TERMS, LENGTH, AT_ONCE = 200_000, 20, 50_000
GIB = 2**30
CEILING = 4.0
NAME = "generated"


def memory(quick: bool = False) -> BenchRow:  # noqa: FBT001, FBT002 (every job's form)
    """The largest resident memory of a process that reads a million documents in and asks BM25."""
    size = QUICK if quick else DOCUMENTS
    with TemporaryDirectory() as folder:
        _write(Path(folder), size)
        program = f"from {__name__} import search_folder; search_folder({folder!r})"
        process = subprocess.run(
            [sys.executable, "-c", program], check=True, capture_output=True, text=True
        )
    ours = json.loads(process.stdout)
    note = f"{size:,} documents of {LENGTH} words out of {TERMS:,}; BM25 finds {ours['found']:,}"
    floor = None if quick else 1.0
    return BenchRow(
        "memory (GiB) of reading in, indexing and searching", ours["gib"], CEILING, "our ceiling",
        CEILING / ours["gib"], floor, note=note,
    )  # fmt: skip


def search_folder(folder: str) -> None:
    """Read in what lies in a folder, search it once, and print the peak of this process."""
    store = Store(Path(folder) / "store")
    run_to_end(ingest(Path(folder) / "files", NAME, store))
    indexed = IndexedCollection(find(NAME, store), store)
    ranked = RETRIEVERS["bm25"].build(indexed).search([indexed.collection.queries[0]], 1000)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # KiB; of macOS bytes
    unit = 1 if sys.platform == "darwin" else 1024
    print(json.dumps({"gib": peak * unit / GIB, "found": len(ranked.documents)}))


def _write(folder: Path, size: int) -> None:
    """A folder as BEIR has it; words by Zipf, a part of the documents at a time."""
    files = folder / "files"
    (files / "qrels").mkdir(parents=True)
    draw = generator(0, "bench", "collection memory")
    share = 1 / np.arange(1, TERMS + 1)
    words = np.array([f"w{place}" for place in range(TERMS)])
    with (files / "corpus.jsonl").open("w") as out:
        for first in range(0, size, AT_ONCE):
            count = min(AT_ONCE, size - first)
            drawn = words[draw.choice(TERMS, size=(count, LENGTH), p=share / share.sum())]
            out.writelines(
                f'{{"_id": "d{first + at}", "title": "", "text": "{" ".join(tokens)}"}}\n'
                for at, tokens in enumerate(drawn.tolist())
            )
    (files / "queries.jsonl").write_text('{"_id": "q1", "text": "w10 w100 w1000"}\n')
    (files / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td0\t1\n")
