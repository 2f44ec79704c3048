"""Text models of RankLib, which the plugins of Elasticsearch and OpenSearch read too.

Trees (LambdaMART, MART, Random Forests) are XML; linear models (Linear Regression, Coordinate
Ascent) are pairs of a feature and its weight, the bias as feature 0. Features go by their ids, and
one that the data lack is 0. Source: RankLib 2.18, `learning.tree` and `learning.LinearRegRank`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from jaxtyping import Float32, Float64

from shuffleproof.core.rankers.outside.columns import ID, ModelColumns, ModelError

SAVED = "Save it with RankLib's -save."
TREES = ("LambdaMART", "MART", "Random Forests")
LINEAR = ("Linear Regression", "Coordinate Ascent")
_DECLARATION = re.compile(r"\s*<\?xml[^>]*\?>")


@dataclass(frozen=True)
class Split:
    """A test of a tree: a value of at most the threshold goes left."""

    feature: int
    threshold: np.float32
    left: "Split | float"
    right: "Split | float"


@dataclass(frozen=True)
class RankLibModel:
    """A model of RankLib.

    Attributes:
        features: ids that it reads.
        trees: with their weights.
        weights: by id, of a linear model.
        bias: of a linear model.
    """

    features: frozenset[int]
    trees: Sequence[tuple[float, Split | float]] = ()
    weights: Sequence[tuple[int, float]] = ()
    bias: float = 0.0

    def columns(self) -> ModelColumns:
        """Its columns: column i is the feature of id i."""
        return ModelColumns(None, used=self.features, rules=(ID,))

    def predict(self, matrix: Float32[np.ndarray, "docs columns"]) -> Float64[np.ndarray, " docs"]:
        """The score of each document."""
        scores = np.full(len(matrix), self.bias)

        def column(feature: int) -> np.ndarray:
            known = feature < matrix.shape[1]
            return matrix[:, feature] if known else np.zeros(len(matrix), dtype=np.float32)

        for feature, weight in self.weights:
            scores += weight * column(feature).astype(np.float64)
        for weight, tree in self.trees:
            places: list[tuple[Split | float, np.ndarray]] = [(tree, np.arange(len(matrix)))]
            while places:
                node, rows = places.pop()
                if not isinstance(node, Split):
                    scores[rows] += weight * node
                    continue
                goes_left = column(node.feature)[rows] <= node.threshold
                places += [(node.left, rows[goes_left]), (node.right, rows[~goes_left])]
        return scores


def read(etree: ModuleType, content: bytes) -> RankLibModel:
    """The model of a file.

    Raises:
        ModelError: a model of another algorithm, or XML that declares entities.
    """
    lines = content.decode().splitlines()
    name = next((line.lstrip("# ").strip() for line in lines if line.startswith("##")), "")
    if name and name not in {*TREES, *LINEAR}:
        known = ", ".join((*TREES, *LINEAR))
        raise ModelError(f"it is a model of {name[:40]!r}", f"RankLib models read here: {known}.")
    body = "\n".join(line for line in lines if not line.startswith("##"))
    if "<" not in body:
        return _linear(body)
    # Entities that contain each other fill the memory
    if re.search(r"<!\s*(DOCTYPE|ENTITY)", body, re.IGNORECASE):
        raise ModelError("it declares a document type or entities, as no model does", SAVED)
    root = etree.fromstring(f"<models>{_DECLARATION.sub('', body, count=1)}</models>")
    # Random Forests are several ensembles, whose mean is the score
    ensembles = root.findall("ensemble")
    features: set[int] = set()
    trees = [
        (float(tree.get("weight", 1)) / len(ensembles), _node(tree.find("split"), features))
        for tree in root.findall("ensemble/tree")
    ]
    if not trees:
        raise ValueError("no tree in an ensemble")
    return RankLibModel(frozenset(features), trees)


def _linear(body: str) -> RankLibModel:
    pairs = [pair.partition(":") for pair in body.split()]
    weights = [(int(feature), float(weight)) for feature, _, weight in pairs]
    if not weights or min(weights)[0] < 0:
        raise ValueError("no weights of features")
    bias = sum((weight for feature, weight in weights if feature == 0), start=0.0)
    weights = [(feature, weight) for feature, weight in weights if feature > 0]
    return RankLibModel(frozenset(feature for feature, _ in weights), (), weights, bias)


def _node(split: Any, features: set[int]) -> Split | float:
    output = split.findtext("output")
    if output is not None:
        return float(output)
    feature, threshold = int(split.findtext("feature")), float(split.findtext("threshold"))
    features.add(feature)
    sides = {side.get("pos"): side for side in split.findall("split")}
    return Split(
        feature, np.float32(threshold), *(_node(sides[pos], features) for pos in ("left", "right"))
    )
