"""SNRM: a network that maps any text to a sparse vector, by windows of words; and its losses.

Literature: Zamani, Dehghani, Croft, Learned-Miller & Kamps, CIKM 2018. The network is one for
queries and documents; tensors here are flat: windows of several texts, one after the other.
"""

from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from shuffleproof.core.errors import ParameterError
from shuffleproof.core.parameters import check, parameter


@dataclass(frozen=True)
class SNRMConfig:
    """Sparse neural ranking (CIKM 2018, section 3); the defaults are the paper's, as we read it.

    Raises:
        ParameterError: a value outside its bounds.
    """

    window: int = parameter(5, "words of a window (n)", low=1, high=20)
    embedding: int = parameter(300, "width of a word's embedding", low=1, high=4096)
    layers: tuple[int, ...] = parameter(
        (500, 300, 500), "widths of the hidden layers: first narrower, then wider", low=1
    )
    dimensions: int = parameter(10_000, "dimensions of the sparse vector", low=1, high=1_000_000)
    hidden_activation: str = parameter(
        "relu", "of the hidden layers; the last one's is relu always", choices=("relu", "none")
    )
    biases: bool = parameter(default=True, help="layers have biases")
    embeddings: str = parameter(
        "normal",
        "what words start as: normal draws, or singular vectors of the collection's positive "
        "mutual information times idf",
        choices=("normal", "ppmi"),
    )
    trained_embeddings: bool = parameter(default=True, help="training moves the embeddings")
    unit_embeddings: bool = parameter(default=False, help="embeddings are scaled to length 1")
    first_weights: str = parameter(
        "glorot",
        "what layers start as: Glorot's draws, standard normal draws, or the collection's: the "
        "sum of a window's words, and a word's embedding for each dimension",
        choices=("glorot", "normal", "collection"),
    )
    threshold: float = parameter(
        0.3, "of first weights from the collection: the cosine below which a dimension is 0",
        low=0.0, high=1.0,
    )  # fmt: skip
    pooling: str = parameter(
        "own",
        "own: the mean over a text's own windows; padded: same padding, and the sum over windows "
        "divided by a fixed length",
        choices=("own", "padded"),
    )
    query_length: int = parameter(10, "of padded pooling: words of a query", low=1)
    document_length: int = parameter(1000, "of padded pooling: words of a document", low=1)
    dropout: float = parameter(0.0, "share of hidden units dropped", low=0.0, high=0.95)
    dropout_at_inference: bool = parameter(default=False, help="dropped when texts are encoded too")

    def __post_init__(self) -> None:
        """Check the values, and that padding alone says nothing.

        Raises:
            ParameterError: one that does not fit.
        """
        check(self)
        if self.pooling == "padded" and self.biases:
            raise ParameterError("biases", "true", "false where pooling is padded")
        if self.first_weights == "collection" and len(self.layers) > 1:
            raise ParameterError("layers", self.layers, "at most one: first_weights=collection")
        if self.first_weights == "collection" and self.layers not in {(), (self.embedding,)}:
            raise ParameterError("layers", self.layers, f"{self.embedding}, as wide as a word")


class SNRM(nn.Module):
    """Windows of words to a high-dimensional vector of which relu leaves little."""

    def __init__(self, config: SNRMConfig, terms: int, draws: torch.Generator) -> None:
        """Draw the first weights; place `terms` in the embeddings is padding and stays 0."""
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(terms + 1, config.embedding, padding_idx=terms)
        widths = (config.window * config.embedding, *config.layers, config.dimensions)
        linear = [nn.Linear(a, b, bias=config.biases) for a, b in pairwise(widths)]
        self.hidden, self.last = nn.ModuleList(linear[:-1]), linear[-1]
        with torch.no_grad():
            nn.init.normal_(self.embedding.weight, generator=draws)
            self.embedding.weight[terms] = 0
            for layer in linear:
                if config.first_weights == "normal":
                    nn.init.normal_(layer.weight, generator=draws)
                else:
                    nn.init.xavier_uniform_(layer.weight, generator=draws)
                if config.biases:
                    nn.init.zeros_(layer.bias)
        self.embedding.weight.requires_grad_(config.trained_embeddings)

    def forward(
        self,
        windows: Int[Tensor, "windows n"],
        owners: Int[Tensor, " windows"],
        scale: Float[Tensor, " texts"],
        draws: torch.Generator | None = None,
    ) -> Float[Tensor, "texts dimensions"]:
        """The vectors of texts.

        Args:
            windows: words of each window; the place behind the last term is padding.
            owners: the text of each window.
            scale: what the sum over a text's windows is multiplied by: 1 / windows for a mean.
            draws: of dropout; None: nothing is dropped.
        """
        words = self.embedding(windows)
        if self.config.unit_embeddings:
            # Clamped: the embedding of padding is 0
            words = words / words.norm(dim=-1, keepdim=True).clamp_min(1e-12)
        hidden = words.flatten(1)
        for layer in self.hidden:
            hidden = layer(hidden)
            if self.config.hidden_activation == "relu":
                hidden = hidden.relu()
            if draws is not None and self.config.dropout:
                dropout_mask = (
                    torch.rand(hidden.shape, generator=draws).to(hidden) >= self.config.dropout
                )
                # Inverted dropout keeps the expected value
                hidden = hidden * dropout_mask / (1 - self.config.dropout)
        outputs = self.last(hidden).relu()
        # Windows of a text are summed by owner; `scale` makes the mean of it
        sums = outputs.new_zeros(len(scale), outputs.shape[1]).index_add(0, owners, outputs)
        return sums * scale[:, None]

    @torch.no_grad()
    def start_from(self, embeddings: Float[Tensor, "terms width"], idf: Float[Tensor, " terms"],
                   atoms: Int[Tensor, " dimensions"], factor: float) -> None:  # fmt: skip
        """First weights from a collection: a dimension answers to windows near its word.

        Args:
            embeddings: of length 1.
            idf: of each term; its embedding is as long.
            atoms: the term of each dimension.
            factor: what the vectors are multiplied by.
        """
        config = self.config
        self.embedding.weight[: len(embeddings)] = embeddings * idf[:, None]
        if config.first_weights != "collection":
            return
        places = embeddings[atoms] * factor
        # Identity once for each word: the layer adds up the embeddings of the window
        summed = torch.eye(config.embedding).repeat(1, config.window)
        for layer in self.hidden.parameters():
            if layer.ndim == 2:
                layer.copy_(summed)
        self.last.weight.copy_(places if config.layers else places @ summed)
        if config.biases:
            # Negative before relu, so 0 behind it, where the cosine is below the threshold
            self.last.bias.copy_(-config.threshold * factor * idf[atoms])


def pairwise_hinge(
    first_scores: Float[Tensor, " batch"],
    second_scores: Float[Tensor, " batch"],
    sign: Float[Tensor, " batch"],
    margin: float = 1.0,
) -> Float[Tensor, " batch"]:
    """max(0, ε − y (ψ(q, d1) − ψ(q, d2))) of each triple (CIKM 2018, equation 1).

    >>> better, worse, sign = torch.tensor([2.0]), torch.tensor([0.5]), torch.tensor([-1.0])
    >>> pairwise_hinge(better, worse, sign)
    tensor([2.5000])
    """
    return (margin - sign * (first_scores - second_scores)).relu()


def pointwise_hinge(
    first_scores: Float[Tensor, " batch"],
    second_scores: Float[Tensor, " batch"],
    sign: Float[Tensor, " batch"],
    margin: float = 1.0,
) -> Float[Tensor, " batch"]:
    """The released code's: each score for itself, the better one above ε, the other below −ε.

    Scores are not negative, so the worse document always costs at least ε.
    """
    return ((margin - sign * first_scores).relu() + (margin + sign * second_scores).relu()) / 2


def listwise_kl(
    scores: Float[Tensor, "queries documents"],
    labels: Float[Tensor, "queries documents"],
    temperature: float,
) -> Float[Tensor, " queries"]:
    """Σ p ln(p / softmax(scores)) with p the softmax of the labeller's scores / temperature."""
    target = (labels / temperature).log_softmax(-1)
    return (target.exp() * (target - scores.log_softmax(-1))).sum(-1)


def l1(vectors: Float[Tensor, "texts dimensions"]) -> Float[Tensor, ""]:
    """The mean sum of a text's dimensions, which are not negative."""
    return vectors.sum(-1).mean()


def flops(
    vectors: Float[Tensor, "texts dimensions"], weights: Float[Tensor, " dimensions"] | None = None
) -> Float[Tensor, ""]:
    """Σ over dimensions of the squared mean value (Paria et al., ICLR 2020).

    Args:
        vectors: not negative.
        weights: of each dimension (DF-FLOPS); None: 1.
    """
    # Mean first: it punishes dimensions that many texts use, not large values
    squared = vectors.mean(0).square()
    return squared.sum() if weights is None else (weights * squared).sum()


def frequency_weights(
    share: Float[Tensor, " dimensions"], middle: float = 0.1, steepness: float = 10.0
) -> Float[Tensor, " dimensions"]:
    """Weights of DF-FLOPS (Porco et al., SIGIR 2025): ½ where a share `middle` of texts has it.

    1 / (1 + (share^(ln 2 / ln middle) − 1)^steepness): 1 for all texts, near 0 for few.

    >>> frequency_weights(torch.tensor([0.01, 0.1, 1.0])).round(decimals=3).tolist()
    [0.0, 0.5, 1.0]
    """
    power = torch.log(torch.tensor(2.0)) / torch.log(torch.tensor(middle))
    # Clamped: 0 to a negative power is infinite
    excess = (share.clamp(1e-4, 1.0) ** power.to(share) - 1).clamp_min(0)
    return 1 / (1 + excess**steepness)
