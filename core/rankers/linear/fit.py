"""RankSVM and IR-SVM: one weight a feature, fitted on all pairs of documents of a query.

½ ‖w‖² + the squared hinge loss over pairs of unequal grades is minimised by truncated Newton
(Chapelle & Keerthi 2010); no pair is ever stored. A direction is solved for by conjugate
gradients, each step of which is two products with X and one sweep over the sorted lists; along a
direction only sweeps are needed. Documents are put into canonical order before anything is
summed, so the order of the file changes nothing.
"""

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float32, Float64
from safetensors.numpy import load_file, save_file

from shuffleproof.core.data import features
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.features import NORMALISATIONS, Normalisation
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.data.ragged import offsets_of
from shuffleproof.core.errors import DataError
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate, mean_of
from shuffleproof.core.parameters import parameter
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.base import one_line
from shuffleproof.core.rankers.canonical import CanonicalLists, row_order_parameter
from shuffleproof.core.rankers.linear import weights as linear_weights
from shuffleproof.core.rankers.linear.pairs import HingePoint, PairedLists
from shuffleproof.core.rankers.linear.products import column_sums, row_sums
from shuffleproof.core.rankers.tabular import (
    TabularRanker,
    TabularSpec,
    read_head,
    refuse_no_documents,
    spec_of,
)
from shuffleproof.core.words import counted

FAMILY = "linear"
WEIGHTS = "weights.safetensors"
BLOCK = 1 << 16
UNFINISHED = "steps, which ran out before the tolerance"


@dataclass(frozen=True)
class RankSVMSpec(TabularSpec):
    """The recipe of RankSVM (Herbrich et al. 2000; Joachims 2002), squared hinge in the primal."""

    cost: float = parameter(
        200.0, "C, the price of a wrong pair", low=1e-9, high=1e9, search=(1e-2, 1e4)
    )
    cost_of: str = parameter(
        "all-queries",
        "C is that of one pair, or SVMrank's: divided by the number of queries for each pair",
        choices=("all-queries", "pair"),
    )
    tried: int = parameter(
        1,
        "values of C tried, each a tenth of the one before; the best on validation",
        low=1,
        high=12,
    )
    normalisation: str = parameter(
        "z-score", "normalisation of the features, fitted on train", choices=tuple(NORMALISATIONS)
    )
    tolerance: float = parameter(
        1e-6, "stop when the gradient is this share of its first", low=1e-12, high=0.1
    )
    steps: int = parameter(30, "greatest number of Newton steps for a value of C", low=1)
    row_order: str = row_order_parameter()

    name: ClassVar[str] = "ranksvm"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {},  # SetRank, section 5: C = 200, SVMrank's
        "released": {},  # no such ranker was released
        # Chosen on held-out queries of several sets, and checked with each set left out of the
        # choice. C chosen on a few dozen validation queries, by their NDCG@10, was
        # luck: it lost at rank 1.
        "tuned": {"cost": 0.002, "normalisation": "quantile"},
        "small": {"tolerance": 1e-3},
    }

    def pairs(self, lists: CanonicalLists, cost: float) -> PairedLists:
        """The pairs that are learnt from.

        Args:
            lists: the training lists.
            cost: C as this recipe counts it.
        """
        return linear_weights.plain(lists.labels, lists.lengths, self._per_pair(lists, cost))

    def fit(
        self, train: JudgedLists, valid: JudgedLists, workspace: Path | None = None
    ) -> Generator[Progress, None, "LinearRanker"]:
        """Fit on `train`, one report a Newton step; with several C, keep the best on `valid`.

        Args:
            train: lists to learn from; per-query normalisations see the lists given.
            valid: lists to choose C on; not read for a single C.
            workspace: not used, a killed fit starts again.

        Raises:
            DataError: no documents, or more than 1 024 different labels.
        """
        del workspace
        refuse_no_documents(train)
        canonical = CanonicalLists.of(train, self.row_order)
        normalisation, matrix = _normalised_matrix(
            canonical, self.normalisation, train.dataset.feature_ids
        )
        weights, best, highest, steps_taken = np.zeros(matrix.shape[1]), None, -np.inf, 0
        for index in reversed(range(self.tried)):  # the smallest C first: it is the easiest
            pairs = self.pairs(canonical, self.cost / 10.0**index)
            step = NewtonStep(weights, np.inf, np.inf, finished=False)
            for iteration, step in enumerate(newton(matrix, pairs, weights, self.tolerance)):
                last = step.finished or iteration == self.steps
                steps_taken += 1
                values = {"loss": step.objective, "gradient": step.gradient}
                unit = UNFINISHED if last and not step.finished else "steps"
                yield Progress(steps_taken, (self.steps + 1) * self.tried, unit, values)
                if last:
                    break
            # The next larger C starts from this solution: neighbouring minima lie close
            weights = step.weights
            fit = (weights, normalisation, train.dataset.feature_ids, step.finished)
            ranker = LinearRanker(self, *fit)
            value = 0.0 if self.tried == 1 else _quality(ranker, valid)
            if value > highest:
                best, highest = ranker, value
        if best is None:
            raise DataError("valid", "no value of C could be compared", "Give a validation part.")
        return best

    def _per_pair(self, lists: CanonicalLists, cost: float) -> float:
        # SVMrank normalises C by the number of queries (Joachims 2006)
        return cost / len(lists.lengths) if self.cost_of == "all-queries" else cost


@dataclass(frozen=True)
class IRSVMSpec(RankSVMSpec):
    """The recipe of IR-SVM (Cao et al., SIGIR 2006): pairs weigh what NDCG loses by them."""

    cutoff: int = parameter(10, "k of the NDCG@k that weighs pairs of grades", low=1)

    name: ClassVar[str] = "irsvm"

    def pairs(self, lists: CanonicalLists, cost: float) -> PairedLists:
        """The pairs that are learnt from, weighed by their grades and their query."""
        price = self._per_pair(lists, cost)
        return linear_weights.by_exchange(lists.labels, lists.lengths, price, self.cutoff)


KINDS = {kind.name: kind for kind in (RankSVMSpec, IRSVMSpec)}
spec = spec_of(KINDS)


@dataclass(frozen=True, eq=False)
class LinearRanker(TabularRanker):
    """A weighted sum of normalised features; a score depends on the document's row alone.

    Attributes:
        spec: the recipe that it came from.
        weights: one a normalised feature.
        normalisation: fitted on the training part.
        feature_ids: the feature columns that it was fitted on.
        finished: the minimum was reached; False: the steps ran out before the tolerance.
    """

    spec: RankSVMSpec
    weights: Float64[np.ndarray, " features"]
    normalisation: Normalisation
    feature_ids: tuple[int, ...]
    finished: bool = True
    __repr__ = one_line

    @property
    def warning(self) -> str:
        """Warning about the fit; empty if it reached its minimum."""
        if self.finished:
            return ""
        spec = self.spec
        return (
            f"{self.name} stopped after {counted(spec.steps, 'Newton step')}, before its gradient "
            f"fell to {spec.tolerance:g} of its first: more steps would change its weights."
        )

    def score(
        self, dataset: RankingDataset, lists: CandidateLists
    ) -> Float32[np.ndarray, " candidates"]:
        """The weighted sum for every candidate.

        Raises:
            ShapeError: the data set's features are not those of the fit.
        """
        self.check_columns(dataset)
        scores = np.empty(len(lists.rows), dtype=np.float32)
        for start in range(0, len(scores), BLOCK):
            rows = lists.rows[start : start + BLOCK]
            features = self.normalisation.of_documents(dataset, rows)
            scores[start : start + BLOCK] = row_sums(features, self.weights)
        return scores

    def save(self, directory: Path) -> None:
        """Write `ranker.json` and `weights.safetensors`."""
        self.write_head(directory, FAMILY, finished=self.finished, warning=self.warning)
        arrays = {"weights": self.weights, **self.normalisation.arrays()}
        save_file(
            {name: np.ascontiguousarray(a) for name, a in arrays.items()}, directory / WEIGHTS
        )


def load(directory: Path) -> LinearRanker:
    """The ranker that `save` wrote."""
    ranker_spec, ids, head = read_head(directory, KINDS)
    arrays = load_file(directory / WEIGHTS)
    normalisation = Normalisation.from_arrays(ranker_spec.normalisation, arrays)
    finished = head.get("finished", True)
    return LinearRanker(ranker_spec, arrays["weights"], normalisation, ids, finished)


def _normalised_matrix(
    lists: CanonicalLists, kind: str, feature_ids: tuple[int, ...]
) -> tuple[Normalisation, Float32[np.ndarray, "candidates features"]]:
    """The normalisation fitted on documents in canonical order, and what it makes of them."""
    offsets = offsets_of(lists.lengths)
    names = tuple(map(str, range(len(lists.lengths))))
    dataset = RankingDataset(lists.features, lists.labels, offsets, names, feature_ids)
    fitted = features.fit(kind, dataset)
    return fitted, fitted.apply(lists.features, offsets)


def _quality(ranker: LinearRanker, judged: JudgedLists) -> float:
    measure = Measure.parse("NDCG@10")
    scores = ranker.score(judged.dataset, judged.lists)
    return mean_of(measure, evaluate([measure], judged.dataset, judged.lists, scores)[0])


CONJUGATE_STEPS = 500
SUFFICIENT = 1e-4
"""Of the decrease that the slope promises, this share is enough (Armijo)."""
SMALLEST_STEP = 2.0**-30


@dataclass(frozen=True, eq=False)
class NewtonStep:
    """Progress of the minimisation.

    Attributes:
        weights: one a feature.
        objective: ½ ‖w‖² + loss.
        gradient: the norm of its gradient.
        finished: the gradient is small enough, or no step lowers the objective any more.
    """

    weights: Float64[np.ndarray, " features"]
    objective: float
    gradient: float
    finished: bool


def newton(
    matrix: Float32[np.ndarray, "docs features"],
    pairs: PairedLists,
    start: Float64[np.ndarray, " features"],
    tolerance: float,
) -> Iterator[NewtonStep]:
    """Minimise, yielding the start and every step; ends after the first that is finished.

    A caller that stops after a step pays for no other one.

    Args:
        matrix: one row a document.
        pairs: the loss.
        start: first weights.
        tolerance: a gradient of this share of the gradient at w = 0 is small enough.
    """
    weights, scores = start, row_sums(matrix, start)
    point = pairs.at(scores)
    # Relative to w = 0 and not to the start, so a warm start does not tighten it
    least = tolerance * _least_gradient(matrix, pairs)
    while True:
        # ∇(½‖w‖² + loss(X w)) = w + Xᵀ ∇loss
        gradient = weights + column_sums(matrix, point.gradient)
        size = float(np.linalg.norm(gradient))
        objective = 0.5 * float(weights @ weights) + point.loss
        if size <= least:
            yield NewtonStep(weights, objective, size, finished=True)
            return
        yield NewtonStep(weights, objective, size, finished=False)
        # Inexact Newton: far from the minimum a rough direction is enough
        accuracy = min(0.1, np.sqrt(least / size))
        direction = _conjugate_gradients(
            partial(_hessian_product, matrix, point), -gradient, accuracy
        )
        # Scores change linearly along the direction: the line search needs no product with X
        along = row_sums(matrix, direction)
        accepted = _line_search(pairs, (weights, direction), (point, along), gradient)
        if accepted is None:
            yield NewtonStep(weights, objective, size, finished=True)
            return
        step, point = accepted
        weights = weights + step * direction


def _hessian_product(
    matrix: Float32[np.ndarray, "docs features"],
    point: HingePoint,
    direction: Float64[np.ndarray, " features"],
) -> Float64[np.ndarray, " features"]:
    """The Hessian of the objective times a direction of weights."""
    # (I + Xᵀ H X) d without building H or XᵀHX (Chapelle & Keerthi 2010)
    return direction + column_sums(matrix, point.curved(row_sums(matrix, direction)))


def _least_gradient(matrix: Float32[np.ndarray, "docs features"], pairs: PairedLists) -> float:
    # At w = 0 the penalty has no gradient
    at_zero = pairs.at(np.zeros(len(matrix))).gradient
    return float(np.linalg.norm(column_sums(matrix, at_zero)))


def _conjugate_gradients(
    curved: Callable[[Float64[np.ndarray, " features"]], Float64[np.ndarray, " features"]],
    target: Float64[np.ndarray, " features"],
    accuracy: float,
) -> Float64[np.ndarray, " features"]:
    """Conjugate gradients for `curved(x) = target`, to a residual of so much of the target."""
    solution, residual = np.zeros(len(target)), target.copy()
    direction, square = residual, float(residual @ residual)
    enough = accuracy**2 * square
    for _ in range(CONJUGATE_STEPS):
        curvature = curved(direction)
        # The matrix is I plus a positive semidefinite one: never a division by 0
        length = square / float(direction @ curvature)
        solution += length * direction
        residual = residual - length * curvature
        before, square = square, float(residual @ residual)
        if square <= enough:
            break
        direction = residual + (square / before) * direction
    return solution


def _line_search(
    pairs: PairedLists,
    line: tuple[Float64[np.ndarray, " features"], Float64[np.ndarray, " features"]],
    scored: tuple[HingePoint, Float64[np.ndarray, " docs"]],
    gradient: Float64[np.ndarray, " features"],
) -> tuple[float, HingePoint] | None:
    """The first of 1, ½, ¼, … that lowers the objective enough, and the loss there; None: none."""
    (weights, direction), (point, along) = line, scored
    slope = float(gradient @ direction)
    objective, step = 0.5 * float(weights @ weights) + point.loss, 1.0
    while step >= SMALLEST_STEP:
        new_point, new_weights = pairs.at(point.scores + step * along), weights + step * direction
        if (
            0.5 * float(new_weights @ new_weights) + new_point.loss
            <= objective + SUFFICIENT * step * slope
        ):
            return step, new_point
        step *= 0.5
    return None
