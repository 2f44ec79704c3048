"""SNRM on a collection: recipes, weakly supervised training, and retrieval in latent dimensions.

Literature: Zamani et al., CIKM 2018. The preset `released` has the values of the published code;
`tuned` is ours: it trains on a CPU in minutes, on a collection of a few thousand texts.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Int32, Int64
from scipy.sparse import csc_array, csr_array, vstack
from torch import Tensor

from shuffleproof.core.data import mapped_file
from shuffleproof.core.data.ragged import offsets_of, places_of, segment_ids
from shuffleproof.core.models.snrm import (
    SNRM,
    SNRMConfig,
    flops,
    frequency_weights,
    l1,
    listwise_kl,
)
from shuffleproof.core.parameters import parameter
from shuffleproof.core.progress import Progress, run_to_end
from shuffleproof.core.retrieval.collection import Collection
from shuffleproof.core.retrieval.gates import Gates
from shuffleproof.core.retrieval.postings import FILE as INDEX
from shuffleproof.core.retrieval.postings import SparseIndex, sparse_rows
from shuffleproof.core.retrieval.registry import IndexedCollection, RankedDocuments
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
from shuffleproof.core.retrieval.words import FEEDBACK_DOCUMENTS, FEEDBACK_TERMS, ORIGINAL
from shuffleproof.core.seeds import derived_seed
from shuffleproof.core.store.manifest import Artefact

KIND = "snrm"
FORMAT = "shuffleproof-snrm-1"
FILE = "snrm.safetensors"
MEMORY = 0.98  # Decay per step of the running share of texts that use a dimension
MOST_TERMS = 20_000  # Number of candidate terms for descriptions of dimensions
DEAD, STOP = 1e-3, 0.5


@dataclass(frozen=True)
class SNRMTraining(WeakTraining):
    """Training and pruning options of SNRM; the defaults are the paper's."""

    loss: str = parameter(
        "hinge",
        "hinge of pairs (the paper), pointwise-hinge (the released code), or listwise: "
        "Kullback-Leibler to the labeller over all documents of a batch",
        choices=("hinge", "pointwise-hinge", "listwise"),
    )
    penalty: str = parameter(
        "l1", "l1 of q, d1 and d2, flops, or df-flops", choices=("l1", "flops", "df-flops")
    )
    strength: float = parameter(1e-7, "λ: weight of the penalty, or its start", low=0.0)
    document_target: int = parameter(
        0, "non-zeros of a document that λ is steered to; 0: λ stays", low=0
    )
    query_target: int = parameter(0, "non-zeros of a query, the same", low=0)
    steering: float = parameter(0.05, "how fast λ follows", low=0.0, high=1.0)
    keep_document: int = parameter(
        0, "largest dimensions that stay of a document after training; 0: all", low=0
    )
    keep_query: int = parameter(0, "largest dimensions that stay of a query; 0: all", low=0)
    keep_share: float = parameter(
        1.0, "share of the documents that may have a dimension; smaller values go",
        low=0.0, high=1.0,
    )  # fmt: skip
    order: str = parameter(
        "best-first", "of what is found; worst-first is the released code's sort",
        choices=("best-first", "worst-first"),
    )  # fmt: skip


@dataclass(frozen=True)
class SNRMRecipe(WeakLearning):
    """Network, weak queries, and training.

    >>> SNRMRecipe().with_fields({"steps": "5", "window": 3}).training.steps
    5
    """

    model: SNRMConfig = field(default_factory=SNRMConfig)
    training: SNRMTraining = field(default_factory=SNRMTraining)


PRESETS: Mapping[str, SNRMRecipe] = {
    "paper": SNRMRecipe(),
    "released": SNRMRecipe(
        SNRMConfig(
            embedding=100, unit_embeddings=True, layers=(100, 300), biases=False,
            first_weights="normal", pooling="padded", dropout=0.2, dropout_at_inference=True,
        ),
        WeakRecipe(),
        SNRMTraining(
            loss="pointwise-hinge", strength=1e-4, minimum_frequency=20, batch_queries=512,
            steps=100_000, learning_rate=1e-4, order="worst-first",
        ),
    ),
    "tuned": SNRMRecipe(
        SNRMConfig(
            window=2, embedding=256, layers=(256,), dimensions=4000, hidden_activation="none",
            embeddings="ppmi", first_weights="collection",
        ),
        WeakRecipe(),
        SNRMTraining(
            loss="listwise", penalty="df-flops", strength=1e-3, document_target=200,
            query_target=80, windows_per_text=16, batch_queries=32, steps=500,
            learning_rate=1e-4, keep_document=60, keep_query=20, keep_share=0.1,
        ),
    ),
    "small": SNRMRecipe(
        SNRMConfig(
            window=2, embedding=32, layers=(32,), dimensions=256, hidden_activation="none",
            embeddings="ppmi", first_weights="collection",
        ),
        WeakRecipe(queries=500, depth=20),
        SNRMTraining(
            loss="listwise", penalty="flops", strength=1e-3, document_target=20, query_target=10,
            windows_per_text=8, batch_queries=16, steps=60, keep_document=20, keep_query=10,
            keep_share=0.25,
        ),
    ),
}  # fmt: skip


class Trainer(WeakTrainer):
    """Trainer of SNRM, which also reports the sparsity of its vectors."""

    kind = KIND
    network: SNRM
    recipe: SNRMRecipe

    def __init__(self, indexed: IndexedCollection, recipe: SNRMRecipe) -> None:
        """Draw weak queries and initial weights."""
        super().__init__(indexed, recipe)
        model, training = recipe.model, recipe.training
        network = SNRM(model, len(self.tokens.terms), self.draws)
        self.windows = windows_of(self.tokens, recipe)
        self.padded_lengths = (model.query_length, model.document_length)
        if model.embeddings == "ppmi":
            self._start(network)
        self.learn(network)
        self.used = torch.full((model.dimensions,), 0.01, device=self.device)
        self.strengths = [training.strength, training.strength]

    def _start(self, network: SNRM) -> None:
        """Set initial weights from the collection, scaled to the labeller's score spread."""
        config, tokens = self.recipe.model, self.tokens
        embeddings, weights = self.first_embeddings()
        # Frequent terms make good latent dimensions, but terms in more than a quarter of the
        # documents would give dense ones: these come last
        order = np.argsort(-tokens.collection_frequency, kind="stable")
        common = tokens.document_frequency[order] > max(1.0, 0.25 * len(tokens.documents))
        order = np.concatenate([order[~common], order[common]])
        atoms = torch.from_numpy(np.resize(order, config.dimensions).astype(np.int64))
        network.start_from(embeddings, weights, atoms, 1.0)
        queries, documents, labels = self._batch(0)
        with torch.no_grad():
            vectors = [network(*windows) for windows in (queries, documents)]
        spread = float((vectors[0] @ vectors[1].T).std(-1).mean())
        wanted = float(labels.std(-1).mean()) / self.recipe.training.temperature
        if spread > 0:
            # A score is a product of two vectors, so each is scaled by the square root
            network.start_from(embeddings, weights, atoms, (wanted / spread) ** 0.5)

    def advance(self) -> dict[str, float]:
        """Run one step; returns its measurements."""
        training = self.recipe.training
        query_windows, document_windows, labels = self._batch(self.step)
        seed = derived_seed(training.seed, "snrm", "dropout", self.step)
        draws = torch.Generator().manual_seed(seed) if self.recipe.model.dropout else None
        queries, documents = (
            self.network(*query_windows, draws),
            self.network(*document_windows, draws),
        )
        loss = self._loss(queries, documents, labels)
        penalties = self._penalties(queries, documents)
        # Zamani et al. 2018: hinge + λ L1, here with a λ of queries and one of documents
        whole = loss + self.strengths[0] * penalties[0] + self.strengths[1] * penalties[1]
        self.descend(whole)
        with torch.no_grad():
            share = (documents > 0).float().mean(0)
            # Moving average over steps: one batch is too small for document frequencies
            self.used.mul_(MEMORY).add_(share, alpha=1 - MEMORY)
            nonzeros = [
                float((vectors > 0).sum(-1).float().mean()) for vectors in (queries, documents)
            ]
        # Steer λ by the logarithm of the ratio to the target, so both directions are symmetric
        targets = (training.query_target, training.document_target)
        for place, (count, target) in enumerate(zip(nonzeros, targets, strict=True)):
            if target:
                off = float(np.clip(np.log(max(count, 1e-3) / target), -1, 1))
                # too dense: λ grows
                moved = self.strengths[place] * float(np.exp(training.steering * off))
                self.strengths[place] = min(max(moved, 1e-9), 1e6)
        return {
            "loss": float(loss.detach()), "query_nonzeros": nonzeros[0],
            "document_nonzeros": nonzeros[1],
            "dead": float((self.used < DEAD).sum()), "stop": float((self.used > STOP).sum()),
        }  # fmt: skip

    def _loss(self, queries: Tensor, documents: Tensor, labels: Tensor) -> Tensor:
        training, batch = self.recipe.training, len(queries)
        if training.loss == "listwise":
            return listwise_kl(queries @ documents.T, labels, training.temperature).mean()
        first_scores = (queries * documents[:batch]).sum(-1)
        second_scores = (queries * documents[batch:]).sum(-1)
        return self.hinge(first_scores, second_scores, labels)

    def _penalties(self, queries: Tensor, documents: Tensor) -> tuple[Tensor, Tensor]:
        """Penalties of queries and of documents; for triples both documents are summed."""
        training = self.recipe.training
        halves = (documents,) if training.loss == "listwise" else documents.chunk(2)  # d1 and d2
        if training.penalty == "l1":
            return l1(queries), torch.stack([l1(half) for half in halves]).sum()
        weights = frequency_weights(self.used) if training.penalty == "df-flops" else None
        return flops(queries, weights), torch.stack([flops(half, weights) for half in halves]).sum()

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Running use of each dimension, and both λ."""
        return {"used": self.used}, {"strengths": self.strengths}

    def take(self, tensors: Mapping[str, Tensor], plain: Mapping[str, Any]) -> None:
        """Restore the values of `state`."""
        self.used = tensors["used"].to(self.device)
        self.strengths = list(plain["strengths"])

    def product(self, indexed: IndexedCollection) -> Generator[Progress, None, Product]:
        """Network, index of the documents, and its gates."""
        training = self.recipe.training
        table = yield from encode_texts(
            self.network, self.windows, indexed.tokens.documents,
            self.recipe.model.document_length, training.seed,
        )  # fmt: skip
        queries = indexed.collection.queries
        words = Gates.of_words(indexed, queries)
        whole = Latent(
            indexed.tokens, self.network, self.recipe.with_fields({"keep_query": 0}),
            SparseIndex.of(table),
        )  # fmt: skip
        before = Gates.of(whole, queries, len(indexed.collection))
        # of documents, once trained
        left = prune(table, training.keep_document, training.keep_share)
        index = SparseIndex.of(left)
        latent = Latent(indexed.tokens, self.network, self.recipe, index)
        gates = Gates.of(latent, queries, len(indexed.collection))
        failed = list(gates.failures(words))
        return latent.save, {
            "gates": asdict(gates) | {"dense_in_disguise": bool(failed)},
            "failed": failed,
            "gates_before_pruning": asdict(before),
            "failed_before_pruning": list(before.failures(words)),
            "gates_of_words": asdict(words),
        }


def windows_of(tokens: TokenisedCollection, recipe: SNRMRecipe) -> Windows:
    """Windows of a collection's texts, without words that are too rare."""
    padded = recipe.model.pooling == "padded"
    rare = recipe.training.minimum_frequency
    return Windows.over(tokens, recipe.model.window, rare, padded=padded)


def encode_texts(
    network: SNRM, windows: Windows, texts: EncodedTexts, length: int, seed: int = 0
) -> Generator[Progress, None, csr_array]:
    """Vectors of texts as a sparse table; yields the number of finished texts.

    `length` is that of padded pooling, and `seed` is of dropout at inference.
    """
    config, parts = network.config, []
    drop = config.dropout_at_inference and config.dropout > 0
    for first, _, placed in windows.batches(texts, length, network.last.weight.device):
        yield Progress(first, len(texts), "texts encoded")
        draws = derived_seed(seed, "snrm", "inference", first) if drop else None
        generator = None if draws is None else torch.Generator().manual_seed(draws)
        with torch.no_grad():
            parts.append(csr_array(network(*placed, generator).cpu().numpy()))
    if not parts:
        return csr_array(np.zeros((0, config.dimensions), np.float32))
    table: csr_array = vstack(parts, format="csr")
    return table


def prune(table: csr_array, keep: int, share: float = 1.0) -> csr_array:
    """Largest values of each row, then of each column; ties by index.

    Args:
        table: values that are not negative.
        keep: maximum number of values per row; 0: all.
        share: maximum number of values per column, as a share of the rows, rounded down.

    >>> table = csr_array(np.array([[3.0, 1.0, 2.0], [1.0, 0.0, 5.0]]))
    >>> prune(table, 2).toarray().tolist(), prune(table, 0, 0.5).toarray().tolist()
    ([[3.0, 0.0, 2.0], [1.0, 0.0, 5.0]], [[3.0, 1.0, 0.0], [0.0, 0.0, 5.0]])
    """
    if keep:
        table = _largest(table, keep)
    most = int(share * table.shape[0])
    return csr_array(_largest(table.T.tocsr(), most).T.tocsr()) if share < 1 else table


def _largest(table: csr_array, keep: int) -> csr_array:
    rows = segment_ids(table.indptr.astype(np.int64))
    order = np.lexsort((table.indices, -table.data, rows))  # by row, the largest value first
    stays = np.sort(order[places_of(table.indptr.astype(np.int64)) < keep])
    counts = np.bincount(rows[stays], minlength=table.shape[0])
    return csr_array(
        (table.data[stays], table.indices[stays], offsets_of(counts)), shape=table.shape
    )


class Latent:
    """Retriever by the inner product of sparse document and query vectors."""

    def __init__(
        self,
        tokens: TokenisedCollection,
        network: SNRM,
        recipe: SNRMRecipe,
        index: SparseIndex,
    ) -> None:
        """Store the network, and the index of the documents."""
        self.tokens, self.network, self.recipe, self.index = tokens, network, recipe, index
        self.facts: Mapping[str, Any] = {}
        self._windows = windows_of(tokens, recipe)

    def vectors(self, query_texts: Sequence[str]) -> csr_array:
        """Vectors of queries, pruned by the recipe."""
        table = self._encoded(self.tokens.encode(query_texts), self.recipe.model.query_length)
        return sparse_rows(prune(table, self.recipe.training.keep_query))

    def _encoded(self, texts: EncodedTexts, length: int) -> csr_array:
        """Vectors of texts, without pruning."""
        seed = self.recipe.training.seed
        return run_to_end(encode_texts(self.network, self._windows, texts, length, seed))

    @property
    def frequencies(self) -> Int64[np.ndarray, " dimensions"]:
        """Number of documents in which each dimension is not zero."""
        return self.index.document_frequency

    @property
    def document_terms(self) -> Int64[np.ndarray, " documents"]:
        """Number of dimensions of each document."""
        return self.index.document_terms

    def dimensions(self, query_texts: Sequence[str]) -> list[Int32[np.ndarray, " read"]]:
        """Dimensions of each query."""
        return _dimensions_of(self.vectors(query_texts))

    def search(self, query_texts: Sequence[str], k: int) -> RankedDocuments:
        """At most k documents for each query that share a dimension with it."""
        return self.of_vectors(self.vectors(query_texts), k)

    def of_vectors(self, vectors: csr_array, k: int) -> RankedDocuments:
        """Search with vectors instead of texts."""
        if self.recipe.training.order == "best-first":
            return self.index.search(vectors, k)
        # The worst are last: all are needed
        every = self.index.search(vectors, self.index.vectors.shape[0])
        rankings = (every.of(query) for query in range(vectors.shape[0]))
        return RankedDocuments.of_queries(
            [(documents[::-1][:k], scores[::-1][:k]) for documents, scores in rankings]
        )

    def terms_of(self, dimension: int, count: int = 3) -> list[str]:
        """Terms with the largest contribution to a dimension over the collection.

        The contribution is a term's own value times the number of documents with the term. By the
        value alone, words of a single document would describe every dimension.

        Args:
            dimension: index of the dimension.
            count: maximum number of terms, from the `MOST_TERMS` most frequent ones.
        """
        column = self._of_terms[:, [dimension]].tocoo()
        places = self._common[column.coords[0]]
        # value × documents with the term
        brought = column.data * self.tokens.document_frequency[places]
        places = places[np.lexsort((column.coords[0], -brought))[:count]]
        return [self.tokens.terms[place] for place in places.tolist()]

    @cached_property
    def _common(self) -> Int64[np.ndarray, " terms"]:
        order = np.argsort(-self.tokens.collection_frequency, kind="stable")
        return order[:MOST_TERMS].astype(np.int64)

    @cached_property
    def _of_terms(self) -> csc_array:
        """Vectors of frequent terms, each encoded as a text."""
        alone = EncodedTexts.of_tokens([*self._common[:, None]])
        return csc_array(self._encoded(alone, self.recipe.model.document_length))

    def with_documents(self, collection: Collection, late: Int64[np.ndarray, " late"]) -> "Latent":
        """Retriever of all documents with the same network; later documents are added.

        `late` are indices of the documents that the index lacks, rising.
        """
        texts = self.tokens.encode(collection.document(place) for place in late.tolist())
        recipe = self.recipe
        table = self._encoded(texts, recipe.model.document_length)
        new = prune(table, recipe.training.keep_document)
        early = np.setdiff1d(np.arange(len(collection)), late)
        # Inverse permutation: the index has early rows first, the collection mixes them
        order = np.argsort(np.concatenate([early, late]), kind="stable")
        every = vstack([self.index.vectors, new], format="csr")[order]
        index = SparseIndex.of(every)
        return Latent(self.tokens, self.network, recipe, index)

    def save(self, folder: Path) -> None:
        """Write the network and the index."""
        mapped_file.write(folder / FILE, arrays_of(self.network), {"format": FORMAT})
        self.index.save(folder / INDEX)


class LatentFeedback:
    """Latent pseudo-relevance feedback: the query's vector mixed with those of the top documents.

    Source: Zamani et al., CIKM 2018, section 3.6, after Lavrenko & Croft, SIGIR 2001.
    """

    def __init__(self, latent: Latent) -> None:
        """Store the retriever of the first documents."""
        self._latent = latent
        self.frequencies, self.document_terms = latent.frequencies, latent.document_terms

    def search(self, query_texts: Sequence[str], k: int) -> RankedDocuments:
        """At most k documents for each query, by its vector mixed with the top documents."""
        return self._latent.of_vectors(self._mixed(self._latent.vectors(query_texts)), k)

    def dimensions(self, query_texts: Sequence[str]) -> list[Int32[np.ndarray, " read"]]:
        """Dimensions of each query's first search, and of its mixed vector."""
        original = self._latent.vectors(query_texts)
        both = zip(_dimensions_of(original), _dimensions_of(self._mixed(original)), strict=True)
        return [np.append(first, mixed) for first, mixed in both]

    def _mixed(self, vectors: csr_array) -> csr_array:
        """Vectors of queries, mixed with those of their top documents."""
        ranked = self._latent.of_vectors(vectors, FEEDBACK_DOCUMENTS)
        rows = []
        for query in range(vectors.shape[0]):
            shares = _shares(vectors[[query]])
            documents, scores = ranked.of(query)
            if len(documents):
                weights = csr_array(scores[None, :] / max(float(scores.sum()), 1e-12))
                found = csr_array(weights @ self._latent.index.vectors[documents])
                # RM3 over latent dimensions: α q + (1 − α) feedback
                new = _shares(prune(found, FEEDBACK_TERMS))
                shares = csr_array(ORIGINAL * shares + (1 - ORIGINAL) * new)
            rows.append(shares)
        return sparse_rows(vstack(rows, format="csr")) if rows else vectors


def _dimensions_of(vectors: csr_array) -> list[Int32[np.ndarray, " read"]]:
    """Dimensions of every text."""
    return np.split(vectors.indices.astype(np.int32), vectors.indptr[1:-1])


def _shares(row: csr_array) -> csr_array:
    """Row whose values sum to 1; an empty row does not change."""
    table: csr_array = row.multiply(1 / max(float(row.sum()), 1e-12)).tocsr()
    return table


def load(indexed: IndexedCollection, artefact: Artefact, recipe: SNRMRecipe) -> Latent:
    """Load a stored training as a retriever.

    Raises:
        DataError: its file is damaged.
    """
    arrays, _ = mapped_file.open_mapped(artefact.path / FILE, FORMAT)
    network = SNRM(recipe.model, len(indexed.tokens.terms), torch.Generator().manual_seed(0))
    index = SparseIndex.open(artefact.path / INDEX)
    latent = Latent(indexed.tokens, with_weights(network, arrays), recipe, index)
    latent.facts = artefact.facts
    return latent


LEARNER: Learner[SNRMRecipe, Latent] = Learner(KIND, PRESETS, Trainer, load)
