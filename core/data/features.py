"""Feature normalisations, fitted on the training part alone; per-query ones need no fitting.

Arithmetic runs in float64 on blocks of rows, so values up to float32's ±3.4e38 neither overflow
nor cancel. Cells that are no finite number count as the nearest: NaN as 0 (LETOR's absent
feature), infinities as float32's largest. A column, or a query's column, without spread gives 0.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from jaxtyping import Float32, Float64, Int64

from shuffleproof.core.data import ragged
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.errors import ShapeError, UnknownNameError

Features: TypeAlias = Float32[np.ndarray, "docs features"]
Block: TypeAlias = Float64[np.ndarray, "docs features"]
Row: TypeAlias = Float64[np.ndarray, " features"]
Table: TypeAlias = Float64[np.ndarray, "fitted features"]
Bounds: TypeAlias = Int64[np.ndarray, " bounds"]

NORMALISATIONS: dict[str, str] = {
    "none": "unchanged features",
    "min-max": "to [0, 1] by the training range; clipped outside it",
    "z-score": "training mean 0 and deviation 1; held within ±1e6",
    "log1p-z": "sign(x) · log(1 + |x|), then z-score; held within ±1e6",
    "quantile": "to the share of training documents below, over 256 quantiles; clipped outside",
    "query-min-max": "to [0, 1] by the range within the query",
    "query-z-score": "mean 0 and deviation 1 within the query",
}
"""Every kind and what it does."""

QUANTILES = 256
FITTED_ROWS = 1 << 18
"""Number of evenly spaced rows for quantiles, at most (plus the true extremes)."""

BLOCK_ROWS = 1 << 13
WIDEST = 1e6
LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, eq=False)
class Normalisation:
    """A fitted normalisation."""

    kind: str  # a key of NORMALISATIONS
    # what was fitted, one column a feature: origin and unit of the affine kinds (a
    # constant feature's unit is infinite), rising quantiles, or no rows
    table: Table

    def apply(self, features: Features, offsets: Bounds) -> Features:
        """The normalised features; the ones given stay as they are.

        Rows of query q are `offsets[q] … offsets[q + 1] − 1`.

        Raises:
            ShapeError: not as many features as were fitted.
        """
        if features.shape[1] != self.table.shape[1]:
            columns, fitted = features.shape[1], self.table.shape[1]
            raise ShapeError("features", f"{columns} columns", f"{fitted}, as when fitted")
        if self.kind == "none":
            return features
        result = np.empty(features.shape, dtype=np.float32)
        if self.kind in {"query-min-max", "query-z-score"}:
            for first, last in _query_blocks(offsets):
                rows = slice(offsets[first], offsets[last])
                bounds = offsets[first : last + 1] - offsets[first]
                result[rows] = _within_queries(self.kind, _doubles(features[rows]), bounds)
            return result
        for rows in _row_blocks(len(features)):
            block = _doubles(features[rows])
            result[rows] = (
                _shares(block, self.table) if self.kind == "quantile" else self._affine(block)
            )
        return result

    def of_documents(
        self, dataset: RankingDataset, rows: Int64[np.ndarray, " rows"]
    ) -> Float32[np.ndarray, "rows features"]:
        """Normalised features of these rows, in any order; per-query kinds see whole queries."""
        if not self.kind.startswith("query-"):
            return self.apply(dataset.features[rows], np.array([0, len(rows)]))
        query = np.searchsorted(dataset.offsets, rows, side="right") - 1
        queries, member = np.unique(query, return_inverse=True)
        offsets = ragged.offsets_of(np.diff(dataset.offsets)[queries])
        members = ragged.elements_of(dataset.offsets, queries)
        whole = self.apply(dataset.features[members], offsets)
        return whole[offsets[member] + rows - dataset.offsets[query]]

    def _affine(self, block: Block) -> Block:
        origin, unit = self.table
        values = _signed_log(block) if self.kind == "log1p-z" else block
        low, high = (0.0, 1.0) if self.kind == "min-max" else (-WIDEST, WIDEST)
        return np.clip((values - origin) / unit, low, high)

    def arrays(self) -> dict[str, np.ndarray]:
        """Fitted arrays for safetensors; the kind is in the JSON file."""
        return {"normalisation": self.table}

    @classmethod
    def from_arrays(cls, kind: str, arrays: Mapping[str, np.ndarray]) -> "Normalisation":
        """The normalisation whose `arrays` these are.

        Raises:
            UnknownNameError: no normalisation of that kind.
        """
        _check(kind)
        return cls(kind, np.asarray(arrays["normalisation"], dtype=np.float64))


def fit(kind: str, dataset: RankingDataset) -> Normalisation:
    """Fit a normalisation on the features of a data set, which should be the training part.

    Raises:
        UnknownNameError: the kind is no key of NORMALISATIONS.

    >>> data = RankingDataset(np.array([[1], [3]], np.float32), np.zeros(2, np.float32),
    ...                       np.array([0, 2]), ("q",), (1,))
    >>> fit("min-max", data).apply(np.array([[2], [9]], np.float32), data.offsets).ravel().tolist()
    [0.5, 1.0]
    """
    _check(kind)
    width = dataset.features.shape[1]
    if kind in {"none", "query-min-max", "query-z-score"}:
        return Normalisation(kind, np.empty((0, width)))
    low, high = _extremes(dataset.features)
    if kind == "quantile":
        return Normalisation(kind, _quantiles(dataset.features, low, high))
    if kind == "min-max":
        origin, spread = low, high - low
    else:
        origin, spread = _moments(dataset.features, logarithmic=kind == "log1p-z")
    unit = np.where((low < high) & (spread > 0), spread, np.inf)
    return Normalisation(kind, np.stack([origin, unit]))


def _check(kind: str) -> None:
    if kind not in NORMALISATIONS:
        raise UnknownNameError("normalisation", kind, NORMALISATIONS)


def _row_blocks(docs: int) -> Iterator[slice]:
    for start in range(0, docs, BLOCK_ROWS):
        yield slice(start, min(start + BLOCK_ROWS, docs))


def _query_blocks(offsets: Bounds) -> Iterator[tuple[int, int]]:
    """Runs of whole queries [first, last) of about BLOCK_ROWS documents, or one larger query."""
    first, queries = 0, len(offsets) - 1
    while first < queries:
        fitting = int(np.searchsorted(offsets, offsets[first] + BLOCK_ROWS, side="right")) - 1
        last = min(max(fitting, first + 1), queries)
        yield first, last
        first = last


def _doubles(block: Features) -> Block:
    doubles = block.astype(np.float64)
    if not np.isfinite(doubles).all():
        np.nan_to_num(doubles, copy=False, nan=0.0, posinf=LARGEST, neginf=-LARGEST)
    return doubles


def _signed_log(block: Block) -> Block:
    return np.copysign(np.log1p(np.abs(block)), block)


def _extremes(features: Features) -> tuple[Row, Row]:
    if not len(features):
        return np.zeros(features.shape[1]), np.zeros(features.shape[1])
    low, high = _doubles(features[:1])[0], _doubles(features[:1])[0]
    for rows in _row_blocks(len(features)):
        block = _doubles(features[rows])
        low, high = np.minimum(low, block.min(axis=0)), np.maximum(high, block.max(axis=0))
    return low, high


def _moments(features: Features, *, logarithmic: bool) -> tuple[Row, Row]:
    """Mean and standard deviation of every column, in two passes."""

    def blocks() -> Iterator[Block]:
        for rows in _row_blocks(len(features)):
            block = _doubles(features[rows])
            yield _signed_log(block) if logarithmic else block

    docs = max(len(features), 1)
    mean = np.zeros(features.shape[1])
    for block in blocks():
        mean += block.sum(axis=0) / docs
    variance = np.zeros(features.shape[1])
    for block in blocks():
        variance += np.square(block - mean).sum(axis=0) / docs
    return mean, np.sqrt(variance)


def _quantiles(
    features: Features, low: Row, high: Row
) -> Float64[np.ndarray, "quantiles features"]:
    if not len(features):
        return np.zeros((QUANTILES + 1, features.shape[1]))
    step = max(len(features) // FITTED_ROWS, 1)
    shares = np.linspace(0, 1, QUANTILES + 1)
    table = np.empty((QUANTILES + 1, features.shape[1]))
    for column in range(features.shape[1]):
        table[:, column] = np.quantile(_doubles(features[::step, column : column + 1]), shares)
    table[0], table[-1] = low, high
    return table


def _shares(block: Block, table: Float64[np.ndarray, "quantiles features"]) -> Block:
    """Position of each value among the quantiles; the middle of a run of equal ones."""
    result = np.zeros(block.shape)
    for column in range(block.shape[1]):
        knots, runs = np.unique(table[:, column], return_counts=True)
        if len(knots) > 1:
            last = np.cumsum(runs) - 1
            middles = (last - (runs - 1) / 2) / (len(table) - 1)
            result[:, column] = np.interp(block[:, column], knots, middles)
    return result


def _within_queries(kind: str, block: Block, offsets: Bounds) -> Block:
    lengths = np.diff(offsets)
    filled = lengths > 0
    starts, counts = offsets[:-1][filled], lengths[filled]
    owner = np.repeat(np.arange(len(counts)), counts)
    if not len(counts):
        return block
    low = np.minimum.reduceat(block, starts, axis=0)
    spread = np.maximum.reduceat(block, starts, axis=0) - low
    constant = spread == 0
    if kind == "query-z-score":
        low = np.add.reduceat(block, starts, axis=0) / counts[:, None]
        squares = np.square(block - low[owner])
        spread = np.sqrt(np.add.reduceat(squares, starts, axis=0) / counts[:, None])
    spread[constant | (spread == 0)] = np.inf
    return (block - low[owner]) / spread[owner]
