"""SetRank's input layers: from a document's features to its representation, row by row."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from shuffleproof.core.models.config import SetRankConfig


class GaussianKernels(nn.Module):
    """The released input net: kernels over every feature, a wide layer, a layer to the width.

    Kernel k of feature f is exp(−(x_f − μ_fk)² / 2σ²) with trainable centres μ ~ U(−1, 1); after
    the kernels: linear, relu, LayerNorm, linear, LayerNorm.
    """

    def __init__(self, features: int, config: SetRankConfig) -> None:
        super().__init__()
        self.precision = 1 / config.kernel_width
        self.centres = nn.Parameter(torch.rand(features, config.kernels) * 2 - 1)
        self.layers = nn.Sequential(
            nn.Linear(features * config.kernels, config.kernel_layer),
            nn.ReLU(inplace=True),
            nn.LayerNorm(config.kernel_layer, eps=config.norm_epsilon),
            nn.Linear(config.kernel_layer, config.width),
            nn.LayerNorm(config.width, eps=config.norm_epsilon),
        )

    def forward(self, features: Float[Tensor, "*docs features"]) -> Float[Tensor, "*docs width"]:
        """The representation of each document."""
        distance = (features[..., None] - self.centres) * self.precision
        represented: Tensor = self.layers((-0.5 * distance.square()).exp().flatten(-2))
        return represented


def input_layer(features: int, config: SetRankConfig) -> nn.Module:
    """The input layer that a config names."""
    if config.input_layer == "gaussian-kernels":
        return GaussianKernels(features, config)
    return nn.Linear(features, config.width)
