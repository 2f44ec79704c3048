"""Perturbations of the features: other numbers in the matrix, the same lists and labels.

Only the candidates' rows are altered. A column's mean, deviation and quantiles are those of the
candidates' finite cells; other cells do not change, unless they are replaced. Draws are per data
set row, so they do not depend on the input order.

Cells that the source left out (`RankingDataset.absent`) are 0 here. Such a cell stays absent while
it keeps that value, and moves with it where columns are shuffled; any other number is present. A
cell that becomes 0 by `missing-zero` is a present 0.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Bool, Float32, Float64, Int64

from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import UsageError
from shuffleproof.core.perturb.base import Change, NeedsData

FEATURES: frozenset[Change] = frozenset({"features"})
LARGEST = float(np.finfo(np.float32).max)

Cells = Float64[np.ndarray, "docs features"]
Alteration = Callable[[np.ndarray, float, np.random.Generator], np.ndarray]
"""(cells [candidates, features], level, generator) → new cells."""


@dataclass(frozen=True)
class FeaturePerturbation(NeedsData):
    """Alters the features of the candidates.

    Attributes:
        family: the registry's name.
        level: strength in the family's unit; 0 leaves the features as they are.
        alter: what becomes of the cells.
    """

    family: str
    level: float
    alter: Alteration = field(repr=False)
    changes: frozenset[Change] = FEATURES

    def perturb(self, judged: JudgedLists, generator: np.random.Generator) -> JudgedLists:
        """The same lists over a data set with other features."""
        # Sorted rows: the input order must not decide which cell gets which draw
        rows = np.unique(judged.lists.rows)
        if self.level == 0 or not len(rows):
            return judged
        cells, absent = judged.dataset.features[rows].astype(np.float64), None
        if self.alter is columns_shuffled and judged.dataset.absent is not None:
            mask = np.asarray(judged.dataset.absent_cells(rows), dtype=np.float64)
            # A copy of the generator repeats the draws: absent cells move with their values
            absent = self.alter(mask, self.level, deepcopy(generator)) > 0
        return with_features(judged, rows, self.alter(cells, self.level, generator), absent)


@dataclass(frozen=True)
class SignAttack(NeedsData):
    """Each cell moves by `level` deviations of its column in the direction that hurts a network.

    Goodfellow, Shlens & Szegedy, ICLR 2015 (fast gradient sign). The directions come from the
    network that is attacked (`rankers.neural.attack.directions`); `gradient-sign@NAME` in a study
    attacks the ranker of that name, and every ranker is scored on what it left.

    Attributes:
        level: standard deviations.
        attacked: the ranker that is attacked.
        directions: −1, 0 or 1 for each cell of the data set's rows; None: not known yet.
    """

    level: float
    attacked: str = ""
    directions: Float32[np.ndarray, "docs features"] | None = field(
        default=None, repr=False, compare=False
    )
    changes: frozenset[Change] = FEATURES

    @property
    def family(self) -> str:
        """The registry's name and the ranker attacked."""
        return f"gradient-sign@{self.attacked}" if self.attacked else "gradient-sign"

    def perturb(self, judged: JudgedLists, generator: np.random.Generator) -> JudgedLists:
        """The same lists over a data set whose candidates have been moved; nothing is drawn.

        Raises:
            UsageError: no network was attacked yet.
        """
        del generator
        rows = np.unique(judged.lists.rows)
        if self.level == 0 or not len(rows):
            return judged
        if self.directions is None:
            raise UsageError(
                f"{self} attacks a network: name one, as in gradient-sign@dlcm, in "
                "`study perturbations` with that ranker among those studied"
            )
        cells = judged.dataset.features[rows].astype(np.float64)
        return with_features(
            judged, rows, cells + self.level * moments(cells)[1] * self.directions[rows]
        )


def with_features(
    judged: JudgedLists,
    rows: Int64[np.ndarray, " rows"],
    cells: Cells,
    absent: Bool[np.ndarray, "rows features"] | None = None,
) -> JudgedLists:
    """The same lists over a copy of the data set with these cells in these rows.

    Args:
        judged: the lists.
        rows: that are replaced.
        cells: what they become.
        absent: cells of them that are absent; by default those that were and are still 0.
    """
    dataset = judged.dataset
    features = np.array(dataset.features)
    finite = np.isfinite(cells)
    # Clipped before the cast: a larger finite double would become an infinite float32
    features[rows] = np.where(finite, np.clip(cells, -LARGEST, LARGEST), cells).astype(np.float32)
    bits = dataset.absent
    if bits is not None:
        if absent is None:
            absent = np.asarray(dataset.absent_cells(rows)) & (features[rows] == 0)
        bits = bits.copy()
        bits[rows] = np.packbits(absent, axis=1)
    # No fingerprint: changed features must not find results stored for the original
    changed = replace(dataset, features=features, absent=bits, fingerprint="")
    return replace(judged, dataset=changed)


def moments(cells: Cells) -> tuple[Float64[np.ndarray, " features"], ...]:
    """Mean and standard deviation of the finite cells of every column; 0 where there are none.

    >>> [column.tolist() for column in moments(np.array([[1.0], [3.0], [np.nan]]))]
    [[2.0], [1.0]]
    """
    finite = np.isfinite(cells)
    counts = np.maximum(finite.sum(axis=0), 1)
    mean = np.where(finite, cells, 0.0).sum(axis=0) / counts
    # Two passes: E[x²] − E[x]² would cancel for columns far from 0
    squares = np.where(finite, cells - mean, 0.0) ** 2
    return mean, np.sqrt(squares.sum(axis=0) / counts)


def gaussian(cells: Cells, level: float, generator: np.random.Generator) -> Cells:
    """Noise of `level` standard deviations of the column is added."""
    return cells + level * moments(cells)[1] * generator.standard_normal(cells.shape)


def multiplicative(cells: Cells, level: float, generator: np.random.Generator) -> Cells:
    """Every cell is multiplied by 1 + `level` · Gaussian noise."""
    return cells * (1 + level * generator.standard_normal(cells.shape))


def quantised(cells: Cells, level: float, generator: np.random.Generator) -> Cells:
    """Every cell becomes the nearest multiple of `level` standard deviations of its column."""
    del generator
    step = level * moments(cells)[1]
    # Constant columns have step 0: they are divided by 1, and their result is not used
    whole = np.where(step > 0, step, 1.0)
    return np.where(step > 0, np.rint(cells / whole) * whole, cells)


def clipped(cells: Cells, level: float, generator: np.random.Generator) -> Cells:
    """Cells outside the quantiles `level` and 1 − `level` of their column become those."""
    del generator
    result = cells.copy()
    for column in result.T:
        finite = np.isfinite(column)
        if finite.any():
            low, high = np.quantile(column[finite], [level, 1 - level])
            # `column` is a view of `result`, so this writes into it
            column[finite] = np.clip(column[finite], low, high)
    return result


def missing_as_mean(cells: Cells, level: float, generator: np.random.Generator) -> Cells:
    """A share `level` of all cells, drawn evenly, rounded half up, become their column's mean."""
    return np.where(_random_cells(cells, level, generator), moments(cells)[0], cells)


def missing_as_zero(cells: Cells, level: float, generator: np.random.Generator) -> Cells:
    """A share `level` of all cells, drawn evenly, rounded half up, become 0."""
    return np.where(_random_cells(cells, level, generator), 0.0, cells)


def group_out(cells: Cells, level: float, generator: np.random.Generator) -> Cells:
    """`level` columns, drawn evenly, become their mean: they tell nothing any more."""
    return np.where(_columns(cells, level, generator), moments(cells)[0], cells)


def unit_error(cells: Cells, level: float, generator: np.random.Generator) -> Cells:
    """`level` columns, drawn evenly, are multiplied by 1000, as grams taken for kilograms."""
    return np.where(_columns(cells, level, generator), cells * 1000, cells)


def columns_shuffled(cells: Cells, level: float, generator: np.random.Generator) -> Cells:
    """`level` columns, drawn evenly, are permuted over all candidates, each by its own draw."""
    result = cells.copy()
    for column in np.flatnonzero(_columns(cells, level, generator)):
        # One permutation a column also breaks the dependence between the columns
        result[:, column] = cells[generator.permutation(len(cells)), column]
    return result


def _random_cells(cells: Cells, share: float, generator: np.random.Generator) -> np.ndarray:
    """Random mask of a share of the cells, rounded to a whole number."""
    mask = np.zeros(cells.size, dtype=bool)
    # A permutation, not one draw a cell: the share is then exact
    mask[generator.permutation(cells.size)[: int(share * cells.size + 0.5)]] = True
    return mask.reshape(cells.shape)


def _columns(cells: Cells, level: float, generator: np.random.Generator) -> np.ndarray:
    mask = np.zeros(cells.shape[1], dtype=bool)
    mask[generator.permutation(cells.shape[1])[: round(level)]] = True
    return mask
