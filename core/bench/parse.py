"""How fast LETOR text is read, and a stored set opened again."""

import os
import tempfile
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np

from shuffleproof.core.bench.result import BenchRow, interleave, touch_memory
from shuffleproof.core.data import mapped_file
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.letor import read as letor
from shuffleproof.core.data.letor.stream import Limits, blocks
from shuffleproof.core.data.ragged import offsets_of
from shuffleproof.core.seeds import generator

FEATURES = 136
BYTES_A_ROW = 1_350  # of the generated text
LARGE, SMALL, QUICK = 290, 30, 3  # MB


def write_letor(path: Path, megabytes: int) -> RankingDataset:
    """Write text like MSLR's: 136 features, 45 % counts, the rest with six decimals."""
    random = generator(7, "bench", "parse", megabytes)
    rows = megabytes * 1_000_000 // BYTES_A_ROW
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
    letor.write(dataset, path)
    return dataset


def parse(quick: bool = False) -> list[BenchRow]:  # noqa: FBT001, FBT002 (every job's form)
    """LETOR text to a data set, one thread, beside scikit-learn and a polars trick."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.txt"
        if quick:
            return _parse_rows(path, QUICK, repeats=3)
        return _parse_rows(path, SMALL, repeats=3) + _parse_rows(path, LARGE, repeats=7)


def _parse_rows(path: Path, megabytes: int, repeats: int) -> list[BenchRow]:
    cells = write_letor(path, megabytes).features.size
    size = path.stat().st_size / 1e6
    sklearn_floor, polars_floor = {LARGE: (20.0, 4.0), SMALL: (10.0, None)}.get(
        megabytes, (None, None)
    )
    peers: tuple[tuple[str, str, Callable[[Path], object], int, float | None], ...] = (
        ("sklearn load_svmlight_file", "scikit-learn", _with_sklearn, 2, sklearn_floor),
        ("polars read_csv, colons replaced", "polars", _with_polars, repeats, polars_floor),
    )
    rows = []
    for name, library, with_peer, turns, floor in peers:
        ours, peer, limit = interleave(
            lambda: letor.read(path),
            partial(with_peer, path),
            lambda: _lines_counted(path),
            repeats=turns,
            before=partial(touch_memory, path.stat().st_size),
        )
        note = (
            f"{size:.0f} MB, {FEATURES} features, {size / ours:.0f} MB/s, "
            f"{ours / cells * 1e9:.1f} ns a cell, {library} {version(library)} "
            f"{peer / cells * 1e9:.1f}; limit: counting newlines"
        )
        rows.append(
            BenchRow(
                job=f"parse {megabytes} MB",
                ours=ours,
                peer=peer,
                peer_name=name,
                ratio=peer / ours,
                floor=floor,
                limit=limit,
                share_of_limit=limit / ours,
                note=note,
            )
        )
    return rows


def _with_sklearn(path: Path) -> object:
    from sklearn.datasets import load_svmlight_file  # noqa: PLC0415 (a peer, not a part)

    return load_svmlight_file(str(path), query_id=True)


def _with_polars(path: Path) -> object:
    """Dense rows alone: every colon becomes a blank, every second column is kept."""
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    import polars as pl  # noqa: PLC0415 (a peer, not a part)

    text = path.read_bytes().replace(b":", b" ")
    numeric = {0, 2, *range(4, 4 + 2 * FEATURES, 2)}
    schema = {
        f"column_{place}": pl.Float32 if place in numeric else pl.String
        for place in range(4 + 2 * FEATURES)
    }
    names = [f"column_{place}" for place in sorted(numeric)]
    frame = pl.read_csv(text, separator=" ", has_header=False, schema=schema, columns=names)
    return frame.to_numpy()


def _lines_counted(path: Path) -> int:
    return sum(block.lines for block in blocks(path, str(path), Limits()))


def reopen(quick: bool = False) -> list[BenchRow]:  # noqa: FBT001, FBT002 (every job's form)
    """A stored set opened and every value of it summed, beside npz and the same memory."""
    with tempfile.TemporaryDirectory() as folder:
        text, packed = Path(folder) / "data.txt", Path(folder) / "data.npz"
        ready = Path(folder) / "data.safetensors"
        dataset = write_letor(text, QUICK if quick else LARGE)
        mapped_file.save(dataset, ready)
        np.savez(packed, features=dataset.features, labels=dataset.labels, offsets=dataset.offsets)
        ours, peer, limit = interleave(
            lambda: float(mapped_file.open_(ready).features.sum()),
            lambda: float(_loaded(packed)["features"].sum()),
            lambda: float(dataset.features.sum()),
            repeats=7,
        )
    size = dataset.features.nbytes / 1e6
    note = f"matrix of {size:.0f} MB; limit: summing the same memory, at most 2 times that"
    floors = (None, None) if quick else (5.0, 0.5)
    peers = (("np.load of npz", peer), ("summing the same memory", limit))
    return [
        BenchRow("reopen", ours, seconds, name, seconds / ours, floor, limit, limit / ours, note)
        for (name, seconds), floor in zip(peers, floors, strict=True)
    ]


def _loaded(path: Path) -> dict[str, np.ndarray]:
    with np.load(path) as archive:
        return dict(archive)


JOBS: dict[str, Callable[[bool], list[BenchRow]]] = {"parse": parse, "reopen": reopen}
