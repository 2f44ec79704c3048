"""FNRM and CNRM on a collection: recipes, weakly supervised training, and reranking.

Query likelihood retrieves. The network, trained on query likelihood's ranking of weak queries,
reorders the first `first_stage_depth` documents. Literature: Dehghani et al., SIGIR 2017; Zamani et
al., CIKM 2018. `tuned` and `small` are ours: they train on a CPU in minutes.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float32
from torch import Tensor

from shuffleproof.core.data import mapped_file
from shuffleproof.core.models import rerankers as networks
from shuffleproof.core.models.rerankers import CNRMConfig, FNRMConfig, Reranker
from shuffleproof.core.models.snrm import listwise_kl
from shuffleproof.core.parameters import parameter
from shuffleproof.core.progress import Progress
from shuffleproof.core.retrieval.registry import IndexedCollection, RankedDocuments, Retriever
from shuffleproof.core.retrieval.text import EncodedTexts, TokenisedCollection
from shuffleproof.core.retrieval.weak import WeakRecipe
from shuffleproof.core.retrieval.weak_training import (
    Learner,
    Product,
    WeakLearning,
    WeakTrainer,
    WeakTraining,
    Windows,
    arrays_of,
    with_weights,
)
from shuffleproof.core.retrieval.words import likelihood
from shuffleproof.core.store.manifest import Artefact

FORMAT = "shuffleproof-reranker-1"
FILE = "reranker.safetensors"
NETWORKS: Mapping[type, Any] = {FNRMConfig: networks.FNRM, CNRMConfig: networks.CNRM}


@dataclass(frozen=True)
class RerankerTraining(WeakTraining):
    """Training options of a reranker, and its reranking depth."""

    first_stage_depth: int = parameter(
        1000, "documents of query likelihood that are reordered (k)", low=1
    )


@dataclass(frozen=True)
class RerankerRecipe(WeakLearning):
    """Network, weak queries, and training of FNRM or CNRM."""

    model: FNRMConfig | CNRMConfig
    training: RerankerTraining = field(default_factory=RerankerTraining)


_TUNED = RerankerTraining(
    loss="listwise", batch_queries=32, steps=1000, learning_rate=1e-3, first_stage_depth=100
)
_SMALL = RerankerTraining(
    loss="listwise", batch_queries=16, steps=60, learning_rate=3e-3, first_stage_depth=20
)
FNRM_PRESETS: Mapping[str, RerankerRecipe] = {
    "paper": RerankerRecipe(FNRMConfig()),
    "tuned": RerankerRecipe(
        FNRMConfig(
            embedding=256, embeddings="ppmi", layers=(128,), inputs="product", output="none",
            word_weights="learnt-from-idf",
        ),
        WeakRecipe(), _TUNED,
    ),
    "small": RerankerRecipe(
        FNRMConfig(
            embedding=32, embeddings="ppmi", layers=(16,), inputs="product", output="none",
            word_weights="learnt-from-idf",
        ),
        WeakRecipe(queries=500, depth=20), _SMALL,
    ),
}  # fmt: skip
CNRM_PRESETS: Mapping[str, RerankerRecipe] = {
    "paper": RerankerRecipe(CNRMConfig()),
    "tuned": RerankerRecipe(
        CNRMConfig(
            embedding=256, embeddings="ppmi", layers=(128,), inputs="product", output="none",
            window=2, filters=256, pooling="mean",
        ),
        WeakRecipe(), replace(_TUNED, steps=300, windows_per_text=16),
    ),
    "small": RerankerRecipe(
        CNRMConfig(
            embedding=32, embeddings="ppmi", layers=(16,), inputs="product", output="none",
            window=2, filters=64, pooling="mean",
        ),
        WeakRecipe(queries=500, depth=20), _SMALL,
    ),
}  # fmt: skip


class Trainer(WeakTrainer):
    """Trainer of a reranker."""

    network: Reranker

    def __init__(self, indexed: IndexedCollection, recipe: RerankerRecipe) -> None:
        """Draw weak queries and initial weights."""
        self.kind = "cnrm" if isinstance(recipe.model, CNRMConfig) else "fnrm"
        super().__init__(indexed, recipe)
        network = NETWORKS[type(recipe.model)](recipe.model, len(self.tokens.terms), self.draws)
        self.windows = _windows(self.tokens, recipe)
        if recipe.model.embeddings == "ppmi":
            network.start_from(*self.first_embeddings())
        self.learn(network)

    def advance(self) -> dict[str, float]:
        """Run one step; returns its loss, and the share of pairs in the labeller's order."""
        query_windows, document_windows, labels = self._batch(self.step)
        loss, agreement = self.loss_and_accuracy(query_windows, document_windows, labels)
        self.descend(loss)
        return {"loss": float(loss.detach()), "agreement": float(agreement)}

    def loss_and_accuracy(
        self,
        query_windows: tuple[Tensor, ...],
        document_windows: tuple[Tensor, ...],
        labels: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Loss of a batch, and the share of its pairs in the labeller's order."""
        queries, documents = (
            self.network.vectors(windows, owners, len(scale))
            for windows, owners, scale in (query_windows, document_windows)
        )
        batch, training = len(queries), self.recipe.training
        if training.loss == "listwise":
            pairs = [len(queries), len(documents), -1]
            scores = self.network(
                queries[:, None].expand(pairs).flatten(0, 1),
                documents[None].expand(pairs).flatten(0, 1),
            ).view(pairs[:2])
            loss = listwise_kl(scores, labels, training.temperature).mean()
            differences, wanted = scores.diff(dim=-1), labels.diff(dim=-1)
        else:
            first_scores = self.network(queries, documents[:batch])
            second_scores = self.network(queries, documents[batch:])
            loss = self.hinge(first_scores, second_scores, labels)
            differences = first_scores - second_scores
            wanted = labels[:, :batch].diagonal() - labels[:, batch:].diagonal()
        right = (differences.detach() * wanted > 0).sum()
        # pairs that the labeller ties do not count
        return loss, right / (wanted != 0).sum().clamp_min(1)

    def product(self, indexed: IndexedCollection) -> Generator[Progress, None, Product]:
        """Network, and vectors of the documents."""
        documents = yield from vectors_of(self.network, self.windows, indexed.tokens.documents)
        arrays = arrays_of(self.network) | {"documents": documents}

        def save(folder: Path) -> None:
            mapped_file.write(folder / FILE, arrays, {"format": FORMAT})

        return save, {}


def vectors_of(
    network: Reranker, windows: Windows, texts: EncodedTexts
) -> Generator[Progress, None, Float32[np.ndarray, "texts width"]]:
    """Vectors of texts; yields the number of finished texts."""
    vectors = np.zeros((len(texts), network.config.width), np.float32)
    for first, last, placed in windows.batches(texts, 0, network.embedding.weight.device):
        yield Progress(first, len(texts), "texts encoded")
        with torch.no_grad():
            vectors[first:last] = network.vectors(placed[0], placed[1], last - first).cpu().numpy()
    return vectors


class RerankedRetriever:
    """Documents of query likelihood, the first ones reordered by a network's scores.

    The others follow in query likelihood's order, with lower scores. If the network reads no word
    of a query, the ranking does not change.
    """

    def __init__(
        self,
        first_stage: Retriever,
        tokens: TokenisedCollection,
        network: Reranker,
        recipe: RerankerRecipe,
        documents: Float32[np.ndarray, "documents width"],
    ) -> None:
        """Store the first stage and the network."""
        self.first_stage, self.tokens, self.network = first_stage, tokens, network
        self.depth, self.documents = recipe.training.first_stage_depth, documents
        self._windows = _windows(tokens, recipe)

    def search(self, query_texts: Sequence[str], k: int) -> RankedDocuments:
        """At most k documents for each query that have a word of it."""
        ranked = self.first_stage.search(query_texts, max(k, self.depth))
        texts = self.tokens.encode(query_texts)
        ordered = [self._ordered(texts.of(query), *ranked.of(query)) for query in range(len(texts))]
        return RankedDocuments.of_queries(
            [(documents[:k], scores[:k]) for documents, scores in ordered]
        )

    def _ordered(
        self, words: np.ndarray, documents: np.ndarray, scores: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Documents of one query in their new order."""
        if not len(documents) or self._windows.unread[words].all():
            return documents, scores
        read, owners, _ = self._windows.of(EncodedTexts.of_tokens([words]))
        head, rest = documents[: self.depth], scores[self.depth :]
        with torch.no_grad():
            query = self.network.vectors(torch.from_numpy(read), torch.from_numpy(owners), 1)
            given = self.network(
                query.expand(len(head), -1), torch.from_numpy(self.documents[head])
            ).numpy()
        order = np.lexsort((head, -given))  # ties by index
        # Scores below the head that keep the differences of the first stage
        below = given.min() - 1 - (scores[len(head) - 1] - rest)
        return (
            np.concatenate([head[order], documents[self.depth :]]),
            np.concatenate([given[order], below.astype(np.float32)]),
        )


def _windows(tokens: TokenisedCollection, recipe: RerankerRecipe) -> Windows:
    return Windows.over(tokens, recipe.model.window, recipe.training.minimum_frequency)


def load(
    indexed: IndexedCollection, artefact: Artefact, recipe: RerankerRecipe
) -> RerankedRetriever:
    """Load a stored training as a reranker.

    Raises:
        DataError: its file is damaged.
    """
    arrays, _ = mapped_file.open_mapped(artefact.path / FILE, FORMAT)
    network = NETWORKS[type(recipe.model)](
        recipe.model, len(indexed.tokens.terms), torch.Generator().manual_seed(0)
    )
    tokens, documents = indexed.tokens, arrays["documents"]
    return RerankedRetriever(
        likelihood(indexed), tokens, with_weights(network, arrays), recipe, documents
    )


FNRM: Learner[RerankerRecipe, RerankedRetriever] = Learner("fnrm", FNRM_PRESETS, Trainer, load)
CNRM: Learner[RerankerRecipe, RerankedRetriever] = Learner("cnrm", CNRM_PRESETS, Trainer, load)
