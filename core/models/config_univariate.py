"""The univariate net as a frozen value: one score a document, by its features alone."""

import re
from dataclasses import dataclass
from typing import Literal

from shuffleproof.core.errors import ParameterError
from shuffleproof.core.parameters import check, parameter

LAYERS = re.compile(r"[1-9]\d{0,4}(x[1-9]\d{0,4})*")


def widths_of(layers: str) -> tuple[int, ...]:
    """The widths that a text of layers names.

    >>> widths_of("256x128"), widths_of("none")
    ((256, 128), ())

    Raises:
        ParameterError: neither widths with `x` between them nor `none`.
    """
    if layers == "none":
        return ()
    if not LAYERS.fullmatch(layers):
        raise ParameterError("layers", layers, "widths with x between them, as 256x128, or none")
    return tuple(int(width) for width in layers.split("x"))


@dataclass(frozen=True)
class UnivariateConfig:
    """A feed-forward net over a document's features; RankNet's and its successors' scorer.

    >>> UnivariateConfig(layers="64x32").widths
    (64, 32)

    Raises:
        ParameterError: a value outside its choices, or a text that names no layers.
    """

    layers: str = parameter("10", "widths of the hidden layers, as 256x128; none: a linear scorer")
    activation: Literal["relu", "elu", "tanh"] = parameter(
        "relu", "activation of the hidden layers", choices=("relu", "elu", "tanh")
    )
    norm: Literal["none", "layer", "batch"] = parameter(
        "none",
        "hidden units are normalised over a document, over the batch's documents, or not",
        choices=("none", "layer", "batch"),
    )

    def __post_init__(self) -> None:
        """Check the values."""
        check(self)
        widths_of(self.layers)

    @property
    def widths(self) -> tuple[int, ...]:
        """Width of each hidden layer."""
        return widths_of(self.layers)


UNIVARIATE_PRESETS: dict[str, UnivariateConfig] = {
    # RankNet's and LambdaRank's papers use one hidden layer of ten units; of what kind is ours.
    "paper": UnivariateConfig(activation="tanh"),
    # Nothing was released with the papers: the size of the net in TF-Ranking's example.
    "released": UnivariateConfig(layers="256x128x64", norm="batch"),
    # Ours: on a few hundred queries smooth and narrow nets generalise best.
    "tuned": UnivariateConfig(layers="64x32", activation="tanh"),
    "small": UnivariateConfig(layers="32x16"),
}
