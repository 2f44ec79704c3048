"""LETOR text: parsing, opening the stored matrix, and the cost of eight times the data."""

import json
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

from shuffleproof.core.data import mapped_file
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.letor.write import write
from shuffleproof.core.data.ragged import offsets_of
from shuffleproof.core.seeds import generator
from tests import loading
from tests.bench.row import Row, interleave, touch_memory
from tests.places import ROOT

FEATURES = 136  # as MSLR-WEB30K has
BYTES_PER_LINE = 1_350  # of the generated text
TIMES = 8
CHILD = "import sys; from tests.bench.letor import print_steps; print_steps(*sys.argv[1:])"


def write_letor(path: Path, megabytes: float) -> RankingDataset:
    """Write text like that of MSLR: 45 % of the values are counts, the rest have six decimals."""
    random = generator(7, "bench", "parse", megabytes)
    rows = int(megabytes * 1e6) // BYTES_PER_LINE
    lengths = random.integers(60, 180, rows // 60 + 1)
    lengths = lengths[: int(np.searchsorted(np.cumsum(lengths), rows))]
    docs = int(lengths.sum())
    features = (random.random((docs, FEATURES)) * random.choice([1, 100], (1, FEATURES))).round(6)
    counts = random.random((docs, FEATURES)) < 0.45
    features[counts] = random.integers(0, 300, int(counts.sum()))
    dataset = RankingDataset(
        features=features.astype(np.float32),
        labels=random.integers(0, 5, docs).astype(np.float32),
        offsets=offsets_of(lengths),
        query_ids=tuple(str(query + 1) for query in range(len(lengths))),
        feature_ids=tuple(range(1, FEATURES + 1)),
        fingerprint="not needed",
    )
    write(dataset, path)
    return dataset


def parse(*, quick: bool) -> list[Row]:
    """LETOR text to a data set, next to scikit-learn and polars on one thread."""
    from sklearn.datasets import load_svmlight_file

    megabytes = 3 if quick else 290
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.txt"
        write_letor(path, megabytes)
        rows = []
        for peer, name, repeats, floor in (
            (lambda: load_svmlight_file(str(path), query_id=True), "scikit-learn", 2, 10.0),
            (lambda: read_with_polars(path), "polars, colons replaced", 7, 1.2),
        ):
            ours, theirs = interleave(
                lambda: loading.read(path),
                peer,
                repeats=repeats,
                before=partial(touch_memory, path.stat().st_size),
            )
            note = f"{path.stat().st_size / 1e6 / ours:.0f} MB/s"
            rows.append(Row(f"parse {megabytes} MB", ours, theirs, name, floor, note))
    return rows


def read_with_polars(path: Path) -> np.ndarray:
    """Read dense rows only: every colon becomes a blank, every second column is kept."""
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    import polars as pl

    numeric = {0, 2, *range(4, 4 + 2 * FEATURES, 2)}
    schema = {
        f"column_{place}": pl.Float32 if place in numeric else pl.String
        for place in range(4 + 2 * FEATURES)
    }
    frame = pl.read_csv(
        path.read_bytes().replace(b":", b" "), separator=" ", has_header=False, schema=schema,
        columns=[f"column_{place}" for place in sorted(numeric)],
    )  # fmt: skip
    return frame.to_numpy()


def reopen(*, quick: bool) -> list[Row]:
    """A stored matrix opened and summed, next to an npz archive."""
    with tempfile.TemporaryDirectory() as folder:
        text, packed = Path(folder) / "data.txt", Path(folder) / "data.npz"
        stored = Path(folder) / "data.safetensors"
        dataset = write_letor(text, 3 if quick else 290)
        mapped_file.save(dataset, stored)
        np.savez(packed, features=dataset.features, labels=dataset.labels, offsets=dataset.offsets)
        ours, peer = interleave(
            lambda: float(mapped_file.open_(stored).features.sum()),
            lambda: float(np.load(packed)["features"].sum()),
            repeats=7,
        )
    note = f"matrix of {dataset.features.nbytes / 1e6:.0f} MB"
    return [Row("open a stored data set", ours, peer, "np.load of npz", 5.0, note)]


def scaling(*, quick: bool) -> list[Row]:
    """Seconds per MB of eight times the data, next to those of the small set."""
    megabytes = 4 if quick else 50
    small, large = (steps_of(size) for size in (megabytes, TIMES * megabytes))
    return [
        Row(
            f"{step} of {TIMES} × the data, s per MB",
            large[step] / TIMES / megabytes,
            small[step] / megabytes,
            f"{megabytes} MB",
            0.8,
            f"{TIMES * megabytes} MB in {large[step]:.1f} s",
        )
        for step in small
    ]


def steps_of(megabytes: int) -> dict[str, float]:
    """Seconds of each step on a generated data set, in a process of its own."""
    with tempfile.TemporaryDirectory() as home:
        for name, size in (("warm", 4.0), ("timed", float(megabytes))):
            folder = Path(home) / name
            folder.mkdir()
            for part, share in (("train", 0.6), ("vali", 0.2), ("test", 0.2)):
                write_letor(folder / f"{part}.txt", size * share)
        command = [sys.executable, "-c", CHILD, home]
        answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT)
        return json.loads(answer.stdout.splitlines()[-1])


def print_steps(home: str) -> None:
    """Print the seconds of each step as JSON; a small set first, so that all is compiled."""
    import shuffleproof as sp

    touch_memory(2**30)
    seconds = {}
    for name in ("warm", "timed"):
        store = Path(home) / f"store of {name}"
        start = time.perf_counter()
        sp.ingest(Path(home) / name, name, store=store, progress=False)
        seconds["ingest"] = time.perf_counter() - start
        opened = sp.open(name, initial="feature:1", preset="small", store=store, progress=False)
        opened.train("lambdamart")
        start = time.perf_counter()
        opened.initial_ranking("lambdamart", {"transpositions": [0, 20]}, draws=1)
        seconds["initial-ranking study"] = time.perf_counter() - start
    print(json.dumps(seconds))
