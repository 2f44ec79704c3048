"""A feed-forward net that scores each document by itself: the univariate scorer."""

from itertools import pairwise

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from shuffleproof.core.models.config_univariate import UnivariateConfig
from shuffleproof.core.models.dense import dense

ACTIVATIONS = {"relu": nn.ReLU, "elu": nn.ELU, "tanh": nn.Tanh}


class Layer(nn.Linear):
    """A linear layer that takes `dense`'s way."""

    def forward(self, x: Float[Tensor, "*rows inputs"]) -> Float[Tensor, "*rows outputs"]:
        """X Wᵀ + b."""
        return dense(x, self.weight, self.bias)


class RowNorm(nn.BatchNorm1d):
    """Batch normalisation over all leading axes; a batch of one row has no statistics of its own.

    Such a row is seen through the running statistics, as in scoring, and leaves them as they are.
    """

    def forward(self, x: Float[Tensor, "*rows width"]) -> Float[Tensor, "*rows width"]:
        """The rows, normalised unit by unit."""
        rows = x.reshape(-1, x.shape[-1])
        # The variance of a single row is 0, and PyTorch refuses it
        if not self.training or len(rows) > 1:
            return super().forward(rows).view(x.shape)
        normed = nn.functional.batch_norm(
            rows, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps
        )
        return normed.view(x.shape)


def unit(width: int, norm: str, activation: str) -> nn.Module:
    """Norm and activation after a linear layer.

    Args:
        width: of the layer.
        norm: none, layer or batch.
        activation: a key of ACTIVATIONS.
    """
    norms: dict[str, type[nn.Module]] = {"layer": nn.LayerNorm, "batch": RowNorm}
    # Before the activation, as Ioffe & Szegedy (2015) place it
    norm_layers = [norms[norm](width)] if norm in norms else []
    return nn.Sequential(*norm_layers, ACTIVATIONS[activation]())


class UnivariateNet(nn.Module):
    """Hidden layers and one score a document; no document sees another.

    Args:
        features: how many features a document has.
        config: the architecture.

    >>> from shuffleproof.core.models.config_univariate import UNIVARIATE_PRESETS
    >>> UnivariateNet(3, UNIVARIATE_PRESETS["small"])(torch.ones(2, 5, 3)).shape
    torch.Size([2, 5])
    """

    def __init__(self, features: int, config: UnivariateConfig) -> None:
        super().__init__()
        self.config = config
        widths = (features, *config.widths)
        self.layers = nn.ModuleList(Layer(before, after) for before, after in pairwise(widths))
        self.units = nn.ModuleList(
            unit(width, config.norm, config.activation) for width in config.widths
        )
        self.output = Layer(widths[-1], 1)

    def embed(self, features: Float[Tensor, "*docs features"]) -> Float[Tensor, "*docs 1"]:
        """The score of each document, which is all there is to know of it."""
        x = features
        for layer, behind in zip(self.layers, self.units, strict=True):
            x = behind(layer(x))
        scored: Tensor = self.output(x)
        return scored

    def score(
        self,
        embedded: Float[Tensor, "lists docs 1"],
        mask: Bool[Tensor, "lists docs"] | None = None,
    ) -> Float[Tensor, "lists docs"]:
        """One score a document, higher is better; 0 at pads.

        Args:
            embedded: from `embed`.
            mask: True = real; None = every document is.
        """
        scores = embedded.squeeze(-1)
        return scores if mask is None else torch.where(mask, scores, 0)

    def forward(
        self,
        features: Float[Tensor, "lists docs features"],
        mask: Bool[Tensor, "lists docs"] | None = None,
        real: int | None = None,
    ) -> Float[Tensor, "lists docs"]:
        """Scores from features; pads are neither computed nor part of a batch's statistics.

        Args:
            features: of each document.
            mask: True = real; None = every document is.
            real: number of real documents, if the host knows it; else it is read from the mask.
        """
        if mask is None:
            return self.score(self.embed(features))
        count = int(mask.sum()) if real is None else real
        flat = mask.flatten().nonzero_static(size=count)[:, 0]
        real_scores = self.embed(features.flatten(0, 1).index_select(0, flat)).squeeze(-1)
        scores = torch.zeros(mask.numel(), dtype=real_scores.dtype, device=real_scores.device)
        return scores.index_copy(0, flat, real_scores).view(mask.shape)
