"""FNRM and CNRM: networks that score a query and a document by two vectors of their words.

Literature: Dehghani, Zamani, Severyn, Kamps & Croft, SIGIR 2017 (weighted bags of embeddings into a
feed-forward network); CNRM, with which Zamani et al., CIKM 2018 compare SNRM, convolves n-grams
instead. Neither paper prints the sizes it selected: those here are a reading. Tensors are flat:
windows of several texts, one after the other.
"""

from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from shuffleproof.core.parameters import CheckedParameters, parameter


@dataclass(frozen=True)
class RerankerConfig(CheckedParameters):
    """Common base of both networks: embeddings, and the layers that score two vectors."""

    embedding: int = parameter(300, "width of a word's embedding", low=1, high=4096)
    embeddings: str = parameter(
        "normal",
        "what words start as: normal draws, or singular vectors of the collection's positive "
        "mutual information",
        choices=("normal", "ppmi"),
    )
    trained_embeddings: bool = parameter(default=True, help="training moves the embeddings")
    layers: tuple[int, ...] = parameter(
        (512, 512), "widths of the hidden layers above both vectors", low=1
    )
    inputs: str = parameter(
        "both",
        "what they read: both vectors (the paper), or also the product of both at length 1",
        choices=("both", "product"),
    )
    output: str = parameter("tanh", "of the score", choices=("tanh", "none"))

    @property
    def window(self) -> int:
        """Words of a window."""
        return 1

    @property
    def width(self) -> int:
        """Of a text's vector."""
        return self.embedding


@dataclass(frozen=True)
class FNRMConfig(RerankerConfig):
    """Feed-forward neural ranking model: a text is the weighted mean of its words."""

    word_weights: str = parameter(
        "learnt",
        "the softmax over a text's words of a learnt number a word, which starts at 0 or at "
        "ln idf; or all alike",
        choices=("learnt", "learnt-from-idf", "equal"),
    )


@dataclass(frozen=True)
class CNRMConfig(RerankerConfig):
    """Convolutional neural ranking model: a text is its windows' filters, pooled."""

    window: int = parameter(3, "words of a window (n)", low=1, high=20)
    filters: int = parameter(300, "numbers made of a window", low=1, high=4096)
    pooling: str = parameter("max", "over a text's windows", choices=("max", "mean"))

    @property
    def width(self) -> int:
        """Of a text's vector."""
        return self.filters


class Reranker(nn.Module):
    """Two texts to a score; how a text becomes a vector is the subclass's."""

    def __init__(self, config: RerankerConfig, terms: int, draws: torch.Generator) -> None:
        """Draw the first weights; place `terms` in the embeddings is padding and stays 0."""
        super().__init__()
        self.config, self.padding = config, terms
        self.embedding = nn.Embedding(terms + 1, config.embedding, padding_idx=terms)
        parts = 2 if config.inputs == "both" else 3
        widths = (parts * config.width, *config.layers, 1)
        self.hidden = nn.ModuleList(
            [nn.Linear(inputs, outputs) for inputs, outputs in pairwise(widths)]
        )
        with torch.no_grad():
            nn.init.normal_(self.embedding.weight, generator=draws)
            self.embedding.weight[terms] = 0
            for layer in self.hidden.children():
                _glorot(layer, draws)
        self.embedding.weight.requires_grad_(config.trained_embeddings)

    def vectors(
        self, windows: Int[Tensor, "windows n"], owners: Int[Tensor, " windows"], texts: int
    ) -> Float[Tensor, "texts width"]:
        """The vectors of texts; zeros of one without a known word.

        Args:
            windows: words of each window; the place behind the last term is padding.
            owners: the text of each window.
            texts: how many there are.
        """
        # Windows of padding alone would pull means and maxima towards 0
        has_words = (windows != self.padding).any(1)
        return self._pooled_vectors(windows[has_words], owners[has_words], texts)

    def _pooled_vectors(self, windows: Tensor, owners: Tensor, texts: int) -> Tensor:
        """The vectors of texts, of windows with a known word each."""
        raise NotImplementedError

    def forward(
        self, queries: Float[Tensor, "pairs width"], documents: Float[Tensor, "pairs width"]
    ) -> Float[Tensor, " pairs"]:
        """The score of each pair of vectors."""
        parts = [queries, documents]
        if self.config.inputs == "product":
            unit_queries, unit_documents = (
                nn.functional.normalize(vectors, dim=-1) for vectors in parts
            )
            # Entries of the product are about 1/width, far smaller than those of the vectors
            parts.append(unit_queries * unit_documents * self.config.width**0.5)
        values = torch.cat(parts, -1)
        for layer in self.hidden[:-1]:
            values = layer(values).relu()
        scores: Tensor = self.hidden[-1](values)[:, 0]
        return scores.tanh() if self.config.output == "tanh" else scores

    @torch.no_grad()
    def start_from(
        self, embeddings: Float[Tensor, "terms width"], idf: Float[Tensor, " terms"]
    ) -> None:
        """First embeddings from a collection, each as long as its word is rare.

        Args:
            embeddings: of length 1.
            idf: of each term.
        """
        self.embedding.weight[: len(embeddings)] = embeddings * idf[:, None]


class FNRM(Reranker):
    """Weighted bags of learnt embeddings (Dehghani et al., SIGIR 2017, section 3.3)."""

    config: FNRMConfig

    def __init__(self, config: FNRMConfig, terms: int, draws: torch.Generator) -> None:
        """Draw the first weights; every word weighs the same at first."""
        super().__init__(config, terms, draws)
        # Zeros: the softmax starts as the mean of the words
        self.weight = nn.Parameter(torch.zeros(terms + 1), config.word_weights != "equal")

    def _pooled_vectors(self, windows: Tensor, owners: Tensor, texts: int) -> Tensor:
        words = windows[:, 0]
        logits = self.weight[words]
        top = logits.new_full((texts,), -torch.inf).scatter_reduce(0, owners, logits, "amax")
        # Softmax over a text: its maximum is subtracted, and needs no gradient
        shares = (logits - top.detach()[owners]).exp()
        sums = shares.new_zeros(texts).index_add(0, owners, shares)
        weighted = self.embedding(words) * (shares / sums[owners])[:, None]
        return weighted.new_zeros(texts, self.config.width).index_add(0, owners, weighted)

    @torch.no_grad()
    def start_from(
        self, embeddings: Float[Tensor, "terms width"], idf: Float[Tensor, " terms"]
    ) -> None:
        """First embeddings, all of length 1, and first weights where they start at ln idf."""
        super().start_from(embeddings, torch.ones_like(idf))
        if self.config.word_weights == "learnt-from-idf":
            self.weight[: len(idf)] = idf.log()


class CNRM(Reranker):
    """Filters over windows of n words, rectified and pooled."""

    config: CNRMConfig

    def __init__(self, config: CNRMConfig, terms: int, draws: torch.Generator) -> None:
        """Draw the first weights."""
        super().__init__(config, terms, draws)
        self.filters = nn.Linear(config.window * config.embedding, config.filters)
        _glorot(self.filters, draws)

    def _pooled_vectors(self, windows: Tensor, owners: Tensor, texts: int) -> Tensor:
        outputs = self.filters(self.embedding(windows).flatten(1)).relu()
        zeros = outputs.new_zeros(texts, self.config.width)
        if self.config.pooling == "max":
            # Outputs are rectified, so 0 is the neutral element of the maximum
            return zeros.scatter_reduce(0, owners[:, None].expand_as(outputs), outputs, "amax")
        counts = torch.bincount(owners, minlength=texts).clamp_min(1)
        return zeros.index_add(0, owners, outputs) / counts[:, None]


@torch.no_grad()
def _glorot(layer: nn.Module, draws: torch.Generator) -> None:
    """Glorot's draws for the weights, zeros for the biases."""
    for values in layer.parameters():
        if values.ndim == 2:
            nn.init.xavier_uniform_(values, generator=draws)
        else:
            nn.init.zeros_(values)
