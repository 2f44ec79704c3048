"""Upper bounds of a linear ranker's or a single-document net's score over a box of features.

Activations lie between two lines, so that the score lies below a linear function of the features,
whose maximum over the box is exact: CROWN (Zhang et al., NeurIPS 2018). Interval arithmetic (Gowal
et al., 2018) replaces it where it is tighter. For a linear ranker the bound is exact. The rounding
of float32 scores is included.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float64

from shuffleproof.core.data.features import Normalisation
from shuffleproof.core.models.config_univariate import UnivariateConfig
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.rankers.linear.fit import LinearRanker
from shuffleproof.core.rankers.univariate import FeatureRanker

Row = Float64[np.ndarray, " units"]
Matrix = Float64[np.ndarray, "outputs inputs"]
Function = Callable[[np.ndarray], np.ndarray]
Lines = Float64[np.ndarray, "2 2 units"]
"""Lines below and above activations: slopes and intercepts."""

ACTIVATIONS: dict[str, tuple[Function, Function]] = {
    "relu": (lambda x: np.maximum(x, 0.0), lambda x: (x > 0) * 1.0),
    "elu": (
        lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0.0))),
        lambda x: np.exp(np.minimum(x, 0.0)),
    ),
    "tanh": (np.tanh, lambda x: 1 - np.tanh(x) ** 2),
}
"""Activations and their derivatives, which are at most 1."""

ROUNDING = 2.0**-22
"""Four times the relative error of a float32 operation: norms are folded into weights."""


@dataclass(frozen=True, eq=False)
class DenseLayers:
    """Layers of a ranker: (weights, bias) each, with an activation between them.

    Attributes:
        normalisation: of the features.
        layers: from the features on.
        activation: key of ACTIVATIONS.
        rounding: relative error of an operation; linear rankers add up in float64.
    """

    normalisation: Normalisation
    layers: tuple[tuple[Matrix, Row], ...]
    activation: str = "relu"
    rounding: float = 2.0**-50

    @classmethod
    def of(cls, ranker: Ranker, feature_ids: tuple[int, ...]) -> "DenseLayers | None":
        """Layers of a feature, a linear ranker or a net; None: others, and nets with LayerNorm."""
        width = len(feature_ids)
        if isinstance(ranker, FeatureRanker):
            weights = np.eye(width)[[feature_ids.index(ranker.feature)]]
            return cls(Normalisation("none", np.empty((0, width))), ((weights, np.zeros(1)),))
        if isinstance(ranker, LinearRanker):
            return cls(ranker.normalisation, ((ranker.weights[None], np.zeros(1)),))
        neural: Any = ranker
        model = getattr(getattr(ranker, "spec", None), "model", None)
        if not isinstance(model, UnivariateConfig) or model.norm == "layer":
            return None
        net = neural.network
        hidden = [_folded(*both) for both in zip(net.layers, net.units, strict=True)]
        return cls(neural.normalisation, (*hidden, _folded(net.output)), model.activation, ROUNDING)

    def upper(self, low: Row, high: Row) -> float:
        """Upper bound of the score of all documents between two rows of features."""
        # Documents are float32 rows: those in the box are between its rounded corners
        corners = np.stack([low, high]).astype(np.float32)
        box = self.normalisation.apply(corners, np.array([0, 2])).astype(np.float64)
        # Every normalisation rises in its feature, two of them up to rounding
        if self.normalisation.kind in {"quantile", "log1p-z"}:
            box += np.array([[-ROUNDING], [ROUNDING]]) * np.abs(box)
        inner, ends = list[tuple[Matrix, Row, Lines]](), box
        for weight, bias in self.layers:
            # Forward error of a sum of products (Higham 2002, section 3.1)
            size = np.abs(weight) @ np.abs(ends).max(axis=0) + np.abs(bias)
            error = self.rounding * (weight.shape[1] + 1) * size
            above, below = (
                np.minimum(_upper(*layer, inner, box), _upper(*layer, [], ends)) + error
                for layer in ((weight, bias), (-weight, -bias))
            )
            lines = _lines(self.activation, -below, above)
            lines[:, 1] += np.stack([-error, error])
            inner.append((weight, bias, lines))
            ends = ACTIVATIONS[self.activation][0](np.stack([-below, above]))
        return float(np.float32(above[0]))


def _folded(layer: Any, unit: Any = ()) -> tuple[Matrix, Row]:
    """Weights and bias of a layer with the batch normalisation behind it."""
    weight, bias = (part.detach().cpu().double().numpy() for part in (layer.weight, layer.bias))
    for norm in unit:
        if hasattr(norm, "running_var"):
            parts = (norm.weight, norm.bias, norm.running_mean, norm.running_var)
            scale, shift, mean, variance = (one.detach().cpu().double().numpy() for one in parts)
            scale = scale / np.sqrt(variance + norm.eps)
            weight, bias = weight * scale[:, None], (bias - mean) * scale + shift
    return weight, bias


def _upper(weight: Matrix, bias: Row, inner: list[tuple[Matrix, Row, Lines]], box: Matrix) -> Row:
    """Upper bound of linear functions of a layer, through the lines of the layers before it."""
    for before, shift, (below, above) in reversed(inner):
        up, down = np.maximum(weight, 0), np.minimum(weight, 0)
        weight, bias = up * above[0] + down * below[0], bias + up @ above[1] + down @ below[1]
        weight, bias = weight @ before, bias + weight @ shift
    return np.asarray(bias + np.maximum(weight, 0) @ box[1] + np.minimum(weight, 0) @ box[0])


def _lines(activation: str, low: Row, high: Row) -> Lines:
    """Lines that hold for inputs between two rows."""
    act, slope = ACTIVATIONS[activation]
    middle, slopes = (low + high) / 2, np.stack([slope(low), slope(high)])
    rise = (act(high) - act(low)) / np.maximum(high - low, 1e-12)
    rise = np.clip(rise, slopes.min(axis=0), slopes.max(axis=0))
    tangent, chord, left, right = (
        np.stack([steep, act(at) - steep * at])
        for steep, at in (
            (slope(middle), middle), (rise, low), (slopes.min(axis=0), low),
            (slopes.min(axis=0), high),
        )
    )  # fmt: skip
    # A convex function is above its tangents and below its chords
    if activation != "tanh":
        return np.stack([tangent, chord])
    # Convex up to 0, then concave; across 0, lines of the least slope from both ends hold
    sides = [high <= 0, low >= 0]
    return np.stack([
        np.select(sides, [tangent, chord], left), np.select(sides, [chord, tangent], right)
    ])  # fmt: skip
