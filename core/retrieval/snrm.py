"""SNRM on a collection: recipes, weakly supervised training, and retrieval in latent dimensions.

Literature: Zamani et al., CIKM 2018. What its preset `released` says differs in the published code;
`tuned` is ours: what trains on a processor in minutes, on a collection of a few thousand texts.
"""

import json
import os
from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Int32, Int64
from safetensors import safe_open
from safetensors.torch import save_file
from scipy.sparse import csr_array, vstack
from torch import Tensor

from shuffleproof.core.data import stored
from shuffleproof.core.data.ragged import offsets_of, places_of, segment_ids
from shuffleproof.core.errors import ArtefactError, DataError, DivergedError, UnknownNameError
from shuffleproof.core.execution.devices import device
from shuffleproof.core.models.snrm import (
    SNRM,
    SNRMConfig,
    flops,
    frequency_weights,
    l1,
    listwise_kl,
    pairwise_hinge,
    pointwise_hinge,
)
from shuffleproof.core.parameters import check, parameter, parameters, replaced, unknown_field
from shuffleproof.core.progress import Progress
from shuffleproof.core.retrieval.gates import Gates
from shuffleproof.core.retrieval.index import FILE as INDEX
from shuffleproof.core.retrieval.index import SparseIndex
from shuffleproof.core.retrieval.registry import Indexed, Ranked
from shuffleproof.core.retrieval.sparse import SparseVectors
from shuffleproof.core.retrieval.text import Encoded, TokenisedCollection
from shuffleproof.core.retrieval.weak import (
    WeakRecipe,
    WeakSupervision,
    ppmi_embeddings,
    taken,
    weak_supervision,
)
from shuffleproof.core.retrieval.words import FeedbackRecipe
from shuffleproof.core.seeds import derived_seed, generator
from shuffleproof.core.store.keys import ArtefactKey, key_of
from shuffleproof.core.store.manifest import Artefact

KIND = "snrm"
FORMAT = "shuffleproof-snrm-1"
FILE = "snrm.safetensors"
CHECKPOINT = "checkpoint.safetensors"
WINDOWS_AT_ONCE = 4096
MEMORY = 0.98
"""What the running share of texts that use a dimension keeps of itself at a step."""
DEAD, STOP = 1e-3, 0.5


@dataclass(frozen=True)
class SNRMTraining:
    """How the network learns, and what is left of its vectors; the defaults are the paper's."""

    loss: str = parameter(
        "hinge",
        "hinge of pairs (the paper), pointwise-hinge (the released code), or listwise: "
        "Kullback-Leibler to the labeller over all documents of a batch",
        choices=("hinge", "pointwise-hinge", "listwise"),
    )
    margin: float = parameter(1.0, "ε of the hinge", low=0.0)
    temperature: float = parameter(1.0, "of the labeller's scores, listwise", low=1e-3)
    penalty: str = parameter(
        "l1", "l1 of q, d1 and d2, flops, or df-flops", choices=("l1", "flops", "df-flops")
    )
    strength: float = parameter(1e-7, "λ: weight of the penalty, or its start", low=0.0)
    document_target: int = parameter(
        0, "non-zeros of a document that λ is steered to; 0: λ stays", low=0
    )
    query_target: int = parameter(0, "non-zeros of a query, the same", low=0)
    steering: float = parameter(0.05, "how fast λ follows", low=0.0, high=1.0)
    minimum_frequency: int = parameter(1, "documents that a word must be in to be read", low=1)
    windows_per_text: int = parameter(
        0, "windows drawn of a document in a step; 0: all of them", low=0
    )
    batch_queries: int = parameter(64, "weak queries of a step", low=1)
    steps: int = parameter(20_000, "steps", low=1)
    learning_rate: float = parameter(1e-3, "of Adam", low=0.0, high=1.0)
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
    seed: int = parameter(0, "of weak queries, first weights and draws", low=0)

    def __post_init__(self) -> None:
        """Check the bounds.

        Raises:
            ParameterError: a value outside of them.
        """
        check(self)


@dataclass(frozen=True)
class SNRMRecipe:
    """Network, weak queries, and training."""

    model: SNRMConfig = field(default_factory=SNRMConfig)
    weak: WeakRecipe = field(default_factory=WeakRecipe)
    training: SNRMTraining = field(default_factory=SNRMTraining)

    def with_fields(self, changes: Mapping[str, Any]) -> "SNRMRecipe":
        """A copy with fields of any of the three replaced.

        >>> SNRMRecipe().with_fields({"steps": "5", "window": 3}).training.steps
        5

        Raises:
            UnknownNameError: a field that none of them has.
            ParameterError: a value that a field does not take.
        """
        parts = {one.name: getattr(self, one.name) for one in fields(self)}
        owners = {one.name: name for name, part in parts.items() for one in parameters(part)}
        for name in changes:
            if name not in owners:
                raise unknown_field(name, owners)
        return SNRMRecipe(**{
            name: replaced(part, {f: v for f, v in changes.items() if owners[f] == name})
            for name, part in parts.items()
        })  # fmt: skip


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


def preset(name: str) -> SNRMRecipe:
    """The recipe of a preset.

    Raises:
        UnknownNameError: there is none of that name.
    """
    if name not in PRESETS:
        raise UnknownNameError("preset of snrm", name, PRESETS)
    return PRESETS[name]


@dataclass(frozen=True, eq=False)
class Windows:
    """The windows of texts as a network reads them.

    Attributes:
        config: of the network: how long a window is, and how windows are pooled.
        padding: what stands where a text has no word.
        unread: terms that are too rare to be read.
    """

    config: SNRMConfig
    padding: int
    unread: np.ndarray

    def of(
        self,
        texts: Encoded,
        length: int,
        most: int = 0,
        draw: np.random.Generator | None = None,
    ) -> tuple[Int64[np.ndarray, "windows n"], Int64[np.ndarray, " windows"], np.ndarray]:
        """(words of windows, the text of each, what each text's sum is multiplied by).

        A text shorter than a window is one window, padded; a text without words has none.

        Args:
            texts: their terms.
            length: of padded pooling.
            most: windows of a text at most, drawn; 0: all.
            draw: where they are drawn from.
        """
        n, lengths = self.config.window, texts.lengths
        before = 0
        counts = np.where(lengths, np.maximum(lengths - n + 1, 1), 0)
        if self.config.pooling == "padded":
            lengths, before = np.minimum(lengths, length), n // 2
            counts = np.where(lengths, np.minimum(lengths + before, length), 0)
        chosen = np.minimum(counts, most) if most else counts
        offsets = offsets_of(chosen)
        owners = segment_ids(offsets)
        starts = places_of(offsets)
        if draw is not None and most:
            drawn = draw.integers(0, np.maximum(counts, 1)[owners])
            starts = np.where((counts > most)[owners], drawn, starts)
        places = starts[:, None] - before + np.arange(n)
        inside = (places >= 0) & (places < lengths[owners][:, None])
        tokens = np.append(texts.tokens, self.padding).astype(np.int64)
        at = np.where(inside, texts.offsets[:-1][owners][:, None] + places, len(texts.tokens))
        words = tokens[at]
        words = np.where(self.unread[words], self.padding, words)
        scale = 1.0 / np.maximum(chosen, 1)
        if self.config.pooling == "padded":
            scale = counts / np.maximum(chosen, 1) / length
        return words, owners, scale.astype(np.float32)


class Trainer:
    """A network on its way: what a step does, and what a checkpoint holds."""

    def __init__(self, indexed: Indexed, recipe: SNRMRecipe) -> None:
        """Draw weak queries and first weights."""
        tokens, training = indexed.tokens, recipe.training
        self.name, self.recipe, self.tokens = indexed.collection.name, recipe, tokens
        self.weak: WeakSupervision = weak_supervision(indexed, recipe.weak, training.seed)
        self.device = device(None)
        draws = torch.Generator().manual_seed(derived_seed(training.seed, "snrm", "weights"))
        network = SNRM(recipe.model, len(tokens.terms), draws)
        self.windows = windows_of(tokens, recipe)
        if recipe.model.embeddings == "ppmi":
            self._start(network)
        self.network = network.to(self.device)
        self.optimiser = torch.optim.Adam(
            [one for one in self.network.parameters() if one.requires_grad],
            lr=training.learning_rate,
        )
        dimensions = recipe.model.dimensions
        self.used = torch.full((dimensions,), 0.01, device=self.device)
        self.strengths = [training.strength, training.strength]
        self.step = 0

    def _start(self, network: SNRM) -> None:
        """First weights of the collection, as large as the labeller's scores differ."""
        config, tokens = self.recipe.model, self.tokens
        embeddings = torch.from_numpy(ppmi_embeddings(tokens, config.embedding))
        count = len(tokens.documents)
        idf = np.log1p(count / np.maximum(tokens.document_frequency, 1))
        idf /= np.average(idf, weights=np.maximum(tokens.collection_frequency, 1))
        weights = torch.from_numpy(idf.astype(np.float32))
        order = np.argsort(-tokens.collection_frequency, kind="stable")
        common = tokens.document_frequency[order] > max(1.0, 0.25 * count)
        order = np.concatenate([order[~common], order[common]])
        atoms = torch.from_numpy(np.resize(order, config.dimensions).astype(np.int64))
        network.start_from(embeddings, weights, atoms, 1.0)
        queries, documents, labels = self._batch(0)
        with torch.no_grad():
            found = [network(*one) for one in (queries, documents)]
        spread = float((found[0] @ found[1].T).std(-1).mean())
        wanted = float(labels.std(-1).mean()) / self.recipe.training.temperature
        if spread > 0:
            network.start_from(embeddings, weights, atoms, (wanted / spread) ** 0.5)

    def _batch(self, step: int) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...], Tensor]:
        """(queries, documents, the labeller's table) of a step, on the network's device.

        Of triples the documents are the first ones, then the second ones.
        """
        training, config = self.recipe.training, self.recipe.model
        weak, draw = self.weak, generator(self.recipe.training.seed, "snrm", "step", step)
        if training.loss == "listwise":
            chosen = draw.integers(0, len(weak), training.batch_queries)
            starts, lengths = weak.found.offsets[chosen], np.diff(weak.found.offsets)[chosen]
            near = weak.found.documents[starts + draw.integers(0, np.minimum(lengths, 10))]
            any_ = weak.found.documents[starts + draw.integers(0, lengths)]
            documents = np.unique(np.concatenate([near, any_]))
        else:
            triples = weak.triples(step, training.batch_queries)
            chosen, documents = triples.queries, np.concatenate([triples.first, triples.second])
        queries = weak.chosen(chosen)
        labels = weak.labeller.scores(queries, documents)
        texts = taken(self.tokens.documents, documents.astype(np.int64))
        asked = self.windows.of(queries, config.query_length)
        read = self.windows.of(texts, config.document_length, training.windows_per_text, draw)
        return (
            tuple(torch.from_numpy(one).to(self.device) for one in asked),
            tuple(torch.from_numpy(one).to(self.device) for one in read),
            torch.from_numpy(labels).to(self.device),
        )

    def advance(self) -> dict[str, float]:
        """One step; what it measured."""
        training = self.recipe.training
        asked, read, labels = self._batch(self.step)
        seed = derived_seed(training.seed, "snrm", "dropout", self.step)
        draws = torch.Generator().manual_seed(seed) if self.recipe.model.dropout else None
        queries, documents = self.network(*asked, draws), self.network(*read, draws)
        loss = self._loss(queries, documents, labels)
        penalties = self._penalties(queries, documents)
        whole = loss + self.strengths[0] * penalties[0] + self.strengths[1] * penalties[1]
        self.optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(whole)
        self.optimiser.step()
        self.step += 1
        if not bool(torch.isfinite(whole)):
            raise DivergedError(f"snrm on {self.name}", self.step, training.learning_rate)
        with torch.no_grad():
            share = (documents > 0).float().mean(0)
            self.used.mul_(MEMORY).add_(share, alpha=1 - MEMORY)
            nonzeros = [float((one > 0).sum(-1).float().mean()) for one in (queries, documents)]
        targets = (training.query_target, training.document_target)
        for place, (found, target) in enumerate(zip(nonzeros, targets, strict=True)):
            if target:
                off = float(np.clip(np.log(max(found, 1e-3) / target), -1, 1))
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
        first = (queries * documents[:batch]).sum(-1)
        second = (queries * documents[batch:]).sum(-1)
        differences = labels[:, :batch].diagonal() - labels[:, batch:].diagonal()
        cost = pairwise_hinge if training.loss == "hinge" else pointwise_hinge
        return cost(first, second, differences.sign(), training.margin).mean()

    def _penalties(self, queries: Tensor, documents: Tensor) -> tuple[Tensor, Tensor]:
        """Of queries, and of documents: of triples the sum of first and second ones."""
        training = self.recipe.training
        halves = (documents,) if training.loss == "listwise" else documents.chunk(2)
        if training.penalty == "l1":
            return l1(queries), torch.stack([l1(one) for one in halves]).sum()
        weights = frequency_weights(self.used) if training.penalty == "df-flops" else None
        return flops(queries, weights), torch.stack([flops(one, weights) for one in halves]).sum()

    def save(self, workspace: Path) -> None:
        """Write a checkpoint over the one before."""
        tensors = {f"network/{k}": v for k, v in self.network.state_dict().items()}
        tensors["used"] = self.used
        for index, moments in self.optimiser.state_dict()["state"].items():
            tensors |= {f"optimiser/{index}/{name}": value for name, value in moments.items()}
        head = {"recipe": asdict(self.recipe), "step": self.step, "strengths": self.strengths}
        fresh = workspace / f"{CHECKPOINT}.new"
        whole = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
        save_file(whole, fresh, metadata={"run": json.dumps(head)})
        with fresh.open("rb+") as written:
            os.fsync(written.fileno())
        fresh.replace(workspace / CHECKPOINT)

    def restore(self, workspace: Path) -> None:
        """Go on where the last checkpoint stopped; without one nothing changes.

        Raises:
            ArtefactError: the checkpoint belongs to another recipe.
        """
        path = workspace / CHECKPOINT
        if not path.exists():
            return
        with safe_open(path, framework="pt") as checkpoint:
            head = json.loads(checkpoint.metadata()["run"])
            if head["recipe"] != json.loads(json.dumps(asdict(self.recipe))):
                raise ArtefactError(str(path), "a checkpoint of another recipe", "Remove it.")
            tensors = {name: checkpoint.get_tensor(name) for name in checkpoint.keys()}  # noqa: SIM118 (not a mapping)
        of_network = {k[8:]: v for k, v in tensors.items() if k.startswith("network/")}
        self.network.load_state_dict(of_network)
        self.used = tensors["used"].to(self.device)
        moments: dict[int, dict[str, Tensor]] = {}
        for name, value in tensors.items():
            if name.startswith("optimiser/"):
                _, index, moment = name.split("/")
                moments.setdefault(int(index), {})[moment] = value
        self.optimiser.load_state_dict({**self.optimiser.state_dict(), "state": moments})
        self.step, self.strengths = head["step"], head["strengths"]


def windows_of(tokens: TokenisedCollection, recipe: SNRMRecipe) -> Windows:
    """The windows of a collection's texts, words that are too rare left unread."""
    rare = tokens.document_frequency < recipe.training.minimum_frequency
    return Windows(recipe.model, len(tokens.terms), np.append(rare, [False]))


def encoded(
    network: SNRM, windows: Windows, texts: Encoded, length: int, seed: int = 0
) -> Generator[Progress, None, csr_array]:
    """The vectors of texts as a sparse table; yields how many texts are done.

    Args:
        network: on its device.
        windows: how texts are read.
        texts: their terms.
        length: of padded pooling.
        seed: of dropout at inference.
    """
    config, parts = network.config, []
    where = network.last.weight.device
    per_text = np.maximum(texts.lengths, 1)
    groups = (np.cumsum(per_text) - 1) // WINDOWS_AT_ONCE
    bounds = np.flatnonzero(np.diff(groups, prepend=-1, append=-1))
    for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        yield Progress(first, len(texts), "texts encoded")
        own = windows.of(taken(texts, np.arange(first, last)), length)
        placed = [torch.from_numpy(one).to(where) for one in own]
        drop = config.dropout_at_inference and config.dropout > 0
        draws = (
            torch.Generator().manual_seed(derived_seed(seed, "snrm", "inference", first))
            if drop else None
        )  # fmt: skip
        with torch.no_grad():
            parts.append(csr_array(network(*placed, draws).cpu().numpy()))
    if not parts:
        return csr_array(np.zeros((0, config.dimensions), np.float32))
    table: csr_array = vstack(parts, format="csr")
    return table


def pruned(table: csr_array, keep: int, share: float = 1.0) -> csr_array:
    """The largest values of each row, then of each column; ties by place.

    Args:
        table: values that are not negative.
        keep: most values of a row; 0: all.
        share: most values of a column, as a share of the rows, rounded down.

    >>> table = csr_array(np.array([[3.0, 1.0, 2.0], [1.0, 0.0, 5.0]]))
    >>> pruned(table, 2).toarray().tolist(), pruned(table, 0, 0.5).toarray().tolist()
    ([[3.0, 0.0, 2.0], [1.0, 0.0, 5.0]], [[3.0, 1.0, 0.0], [0.0, 0.0, 5.0]])
    """
    if keep:
        table = _largest(table, keep)
    most = int(share * table.shape[0])
    return csr_array(_largest(table.T.tocsr(), most).T.tocsr()) if share < 1 else table


def _largest(table: csr_array, keep: int) -> csr_array:
    rows = segment_ids(table.indptr.astype(np.int64))
    order = np.lexsort((table.indices, -table.data, rows))
    stays = np.sort(order[places_of(table.indptr.astype(np.int64)) < keep])
    kept = np.bincount(rows[stays], minlength=table.shape[0])
    return csr_array((table.data[stays], table.indices[stays], offsets_of(kept)), shape=table.shape)


def key_of_training(indexed: Indexed, recipe: SNRMRecipe) -> ArtefactKey:
    """What a training is filed under: its recipe and the collection as terms."""
    whole = _plain(indexed, recipe)
    return key_of(KIND, whole, [indexed.collection.digest])


def _plain(indexed: Indexed, recipe: SNRMRecipe) -> dict[str, Any]:
    whole = {**asdict(recipe), "analysis": asdict(indexed.analysis)}
    if indexed.training:
        whole["labeller_fitted_to"] = list(indexed.training)
    return whole


def training(
    indexed: Indexed, recipe: SNRMRecipe, every: int = 100
) -> Generator[Progress, None, Artefact]:
    """Train SNRM on a collection, or find it trained; yields what steps measure.

    Killed, it goes on from its last checkpoint and ends at the same bytes.

    Args:
        indexed: the collection; its queries and judgments are not read.
        recipe: how.
        every: steps between two checkpoints.

    Raises:
        DataError: no document has the words that a weak query needs.
        DivergedError: the loss is no longer a finite number.
    """
    store, key = indexed.store, key_of_training(indexed, recipe)
    with store.lock(key):
        artefact = store.find(key)
        if artefact is not None:
            return artefact
        workspace = store.workspace(key)
        trainer = Trainer(indexed, recipe)
        trainer.restore(workspace)
        values: dict[str, float] = {}
        while trainer.step < recipe.training.steps:
            values = trainer.advance()
            if trainer.step % every == 0 and trainer.step < recipe.training.steps:
                trainer.save(workspace)
            yield Progress(trainer.step, recipe.training.steps, "steps", values)
        table = yield from encoded(
            trainer.network, trainer.windows, indexed.tokens.documents,
            recipe.model.document_length, recipe.training.seed,
        )  # fmt: skip
        left = pruned(table, recipe.training.keep_document, recipe.training.keep_share)
        index = SparseIndex.of(SparseVectors.of(left))
        found = Latent(indexed.tokens, trainer.network, recipe, index)
        gates = Gates.of(index, found.vectors(indexed.collection.queries))
        told = asdict(gates) | {"dense_in_disguise": gates.dense_in_disguise}
        facts = {"name": KIND, "steps": trainer.step, "last": values, "gates": told}
        facts["failed"] = list(gates.failed)
        return store.add(key, _plain(indexed, recipe), found.save, facts)


class Latent:
    """Documents by the inner product of their sparse vectors with the query's."""

    def __init__(
        self,
        tokens: TokenisedCollection,
        network: SNRM,
        recipe: SNRMRecipe,
        index: SparseIndex,
    ) -> None:
        """Keep the network, and the index of the documents."""
        self.tokens, self.network, self.recipe, self.index = tokens, network, recipe, index
        self._windows = windows_of(tokens, recipe)

    def vectors(self, query_texts: Sequence[str]) -> SparseVectors:
        """The vectors of queries, pruned as the recipe says."""
        texts = self.tokens.encode(query_texts)
        recipe = self.recipe
        work = encoded(
            self.network, self._windows, texts, recipe.model.query_length, recipe.training.seed
        )
        while True:
            try:
                next(work)
            except StopIteration as done:
                return SparseVectors.of(pruned(done.value, recipe.training.keep_query))

    @property
    def frequencies(self) -> Int64[np.ndarray, " dimensions"]:
        """In how many documents each dimension is not zero."""
        return self.index.document_frequency

    @property
    def empty_share(self) -> float:
        """The share of documents without any dimension."""
        return float((self.index.vectors.nonzeros == 0).mean())

    def dimensions(self, query_texts: Sequence[str]) -> list[Int32[np.ndarray, " asked"]]:
        """The dimensions of each query."""
        vectors = self.vectors(query_texts)
        return np.split(vectors.dimensions, vectors.offsets[1:-1])

    def search(self, query_texts: Sequence[str], k: int) -> Ranked:
        """At most k documents for each query, among those that share a dimension with it."""
        return self.of_vectors(self.vectors(query_texts), k)

    def of_vectors(self, vectors: SparseVectors, k: int) -> Ranked:
        """The same of vectors."""
        if self.recipe.training.order == "best-first":
            return self.index.search(vectors, k)
        every = self.index.search(vectors, len(self.index.vectors))
        own = (every.of(query) for query in range(len(vectors)))
        return Ranked.of_queries([(one[::-1][:k], scores[::-1][:k]) for one, scores in own])

    def save(self, folder: Path) -> None:
        """Write the network and the index."""
        arrays = {
            f"network.{name}": value.detach().cpu().numpy()
            for name, value in self.network.state_dict().items()
        }
        stored.write(folder / FILE, arrays, {"format": FORMAT})
        self.index.save(folder / INDEX)


class LatentFeedback:
    """Latent pseudo-relevance feedback: the query's vector and those of the documents first found.

    Source: Zamani et al., CIKM 2018, section 3.6, after Lavrenko & Croft, SIGIR 2001.
    """

    def __init__(self, latent: Latent, recipe: FeedbackRecipe | None = None) -> None:
        """Keep what finds the first documents."""
        self._latent, self._recipe = latent, recipe or FeedbackRecipe()

    def search(self, query_texts: Sequence[str], k: int) -> Ranked:
        """At most k documents for each query, by its vector and that of the first documents."""
        latent, recipe = self._latent, self._recipe
        vectors = latent.vectors(query_texts)
        first = latent.of_vectors(vectors, recipe.documents)
        asked, known = vectors.matrix, latent.index.vectors.matrix
        rows = []
        for query in range(len(vectors)):
            own = _shares(asked[[query]])
            documents, scores = first.of(query)
            if len(documents):
                weights = csr_array(scores[None, :] / max(float(scores.sum()), 1e-12))
                new = _shares(pruned(csr_array(weights @ known[documents]), recipe.terms))
                own = csr_array(recipe.original * own + (1 - recipe.original) * new)
            rows.append(own)
        mixed = vstack(rows, format="csr") if rows else asked
        return latent.of_vectors(SparseVectors.of(mixed), k)


def _shares(row: csr_array) -> csr_array:
    """A row whose values sum to 1; an empty one as it is."""
    table: csr_array = row.multiply(1 / max(float(row.sum()), 1e-12)).tocsr()
    return table


def load(indexed: Indexed, artefact: Artefact, recipe: SNRMRecipe) -> Latent:
    """A stored training, ready to search.

    Raises:
        DataError: its file is damaged.
    """
    arrays, _ = stored.mapped(artefact.path / FILE, FORMAT)
    network = SNRM(recipe.model, len(indexed.tokens.terms), torch.Generator().manual_seed(0))
    network.load_state_dict(
        {name[8:]: torch.from_numpy(array.copy()) for name, array in arrays.items()
         if name.startswith("network.")}
    )  # fmt: skip
    index = SparseIndex.open(artefact.path / INDEX)
    return Latent(indexed.tokens, network.eval(), recipe, index)


def trained(indexed: Indexed, recipe: SNRMRecipe, flags: str = "") -> Latent:
    """A training that is stored.

    Args:
        indexed: the collection.
        recipe: how it was trained.
        flags: what the remedy adds to the command that trains it.

    Raises:
        DataError: there is none of this recipe on this collection.
    """
    artefact = indexed.store.find(key_of_training(indexed, recipe))
    if artefact is None:
        name = indexed.collection.name
        raise DataError(
            name, "SNRM is not trained on this collection with this recipe",
            f"Train it: shuffleproof train snrm --data {name}{flags}",
        )  # fmt: skip
    return load(indexed, artefact, recipe)


def snrm(indexed: Indexed, name: str = "tuned") -> Latent:
    """SNRM of a collection at a preset, as trained; its labeller saw no judgments."""
    flags = f" --preset {name}" + (f" --seed {indexed.seed}" if indexed.seed else "")
    return trained(*_of_preset(indexed, name), flags)


def learning(indexed: Indexed, name: str) -> Generator[Progress]:
    """Train what `snrm` finds, or find it trained."""
    yield from training(*_of_preset(indexed, name))


def network(indexed: Indexed, name: str) -> str:
    """Digest of what `snrm` finds."""
    return key_of_training(*_of_preset(indexed, name)).digest


def _of_preset(indexed: Indexed, name: str) -> tuple[Indexed, SNRMRecipe]:
    """What is trained: the labeller sees no judgments, the seed is the collection's."""
    return replace(indexed, training=None), preset(name).with_fields({"seed": indexed.seed})


def feedback(indexed: Indexed, name: str = "tuned") -> LatentFeedback:
    """SNRM with latent pseudo-relevance feedback."""
    return LatentFeedback(snrm(indexed, name))


def seconds_of(recipe: SNRMRecipe) -> tuple[float, float]:
    """From and to how many seconds a training's products take at 200 and at 5 Gflop/s.

    A document is taken for 100 words.
    """
    model, training = recipe.model, recipe.training
    words = 100 if model.pooling == "own" else min(100, model.document_length)
    windows = 2 * training.batch_queries * (min(training.windows_per_text, words) or words)
    widths = (model.window * model.embedding, *model.layers, model.dimensions)
    weights = sum(one * other for one, other in pairwise(widths))
    operations = 6.0 * training.steps * (windows + 5 * training.batch_queries) * weights
    return operations / 200e9, operations / 5e9
