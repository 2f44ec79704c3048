"""Truncated Newton for ½ ‖w‖² + the pairs' squared hinge loss of X w (Chapelle & Keerthi 2010).

A Newton direction is solved for by conjugate gradients, each step of which is two products with X
and one sweep over the sorted lists. Along a direction only sweeps are needed: the scores of
w + t p are X w + t X p.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float32, Float64

from shuffleproof.core.rankers.linear.pairs import HingePoint, PairedLists
from shuffleproof.core.rankers.linear.products import column_sums, row_sums

CONJUGATE_STEPS = 500
SUFFICIENT = 1e-4
"""Of the decrease that the slope promises, this share is enough (Armijo)."""
SMALLEST_STEP = 2.0**-30


@dataclass(frozen=True, eq=False)
class NewtonStep:
    """Where the minimisation stands.

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

    Whoever stops listening after a step pays for no other one.

    Args:
        matrix: one row a document.
        pairs: the loss.
        start: first weights.
        tolerance: a gradient of this share of the gradient at w = 0 is small enough.
    """
    weights, scores = start, row_sums(matrix, start)
    point = pairs.at(scores)
    least = tolerance * _least_gradient(matrix, pairs)
    while True:
        gradient = weights + column_sums(matrix, point.gradient)
        size = float(np.linalg.norm(gradient))
        objective = 0.5 * float(weights @ weights) + point.loss
        if size <= least:
            yield NewtonStep(weights, objective, size, finished=True)
            return
        yield NewtonStep(weights, objective, size, finished=False)
        accuracy = min(0.1, np.sqrt(least / size))
        direction = _solved(partial(_curved, matrix, point), -gradient, accuracy)
        along = row_sums(matrix, direction)
        found = _line_search(pairs, (weights, direction), (point, along), gradient)
        if found is None:
            yield NewtonStep(weights, objective, size, finished=True)
            return
        step, point = found
        weights = weights + step * direction


def _curved(
    matrix: Float32[np.ndarray, "docs features"],
    point: HingePoint,
    direction: Float64[np.ndarray, " features"],
) -> Float64[np.ndarray, " features"]:
    """The Hessian of the objective times a direction of weights."""
    return direction + column_sums(matrix, point.curved(row_sums(matrix, direction)))


def _least_gradient(matrix: Float32[np.ndarray, "docs features"], pairs: PairedLists) -> float:
    at_zero = pairs.at(np.zeros(len(matrix))).gradient
    return float(np.linalg.norm(column_sums(matrix, at_zero)))


def _solved(
    curved: Callable[[Float64[np.ndarray, " features"]], Float64[np.ndarray, " features"]],
    target: Float64[np.ndarray, " features"],
    accuracy: float,
) -> Float64[np.ndarray, " features"]:
    """Conjugate gradients for `curved(x) = target`, to a residual of so much of the target."""
    found, residual = np.zeros(len(target)), target.copy()
    direction, square = residual, float(residual @ residual)
    enough = accuracy**2 * square
    for _ in range(CONJUGATE_STEPS):
        bent = curved(direction)
        length = square / float(direction @ bent)
        found += length * direction
        residual = residual - length * bent
        before, square = square, float(residual @ residual)
        if square <= enough:
            break
        direction = residual + (square / before) * direction
    return found


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
        there, moved = pairs.at(point.scores + step * along), weights + step * direction
        if 0.5 * float(moved @ moved) + there.loss <= objective + SUFFICIENT * step * slope:
            return step, there
        step *= 0.5
    return None
