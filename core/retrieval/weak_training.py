"""Networks that learn from weak labels: windows of texts, recipes, resumable training, storage."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor, nn

from shuffleproof.core.data.ragged import offsets_of, places_of, segment_ids
from shuffleproof.core.errors import DataError, DivergedError, UnknownNameError
from shuffleproof.core.execution.devices import device
from shuffleproof.core.models.snrm import pairwise_hinge, pointwise_hinge
from shuffleproof.core.parameters import CheckedParameters, parameter, replaced_in
from shuffleproof.core.progress import Progress
from shuffleproof.core.retrieval.registry import IndexedCollection
from shuffleproof.core.retrieval.text import EncodedTexts, TokenisedCollection
from shuffleproof.core.retrieval.weak import WeakRecipe, ppmi_embeddings, weak_supervision
from shuffleproof.core.seeds import derived_seed, generator
from shuffleproof.core.store.keys import ArtefactKey, key_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.training import checkpoint
from shuffleproof.core.training.optimisers import without_compiler

Product = tuple[Callable[[Path], None], dict[str, Any]]
"""Function that writes the training into a folder, and facts about it."""
R = TypeVar("R", bound="WeakLearning")
M = TypeVar("M")
N = TypeVar("N", bound=nn.Module)
AT_ONCE = 4096
"""Maximum number of words per batch of a network; a longer text is a batch of its own."""


@dataclass(frozen=True, eq=False)
class Windows:
    """Reader of texts as windows for a network."""

    window: int  # number of words in a window
    padding: int  # place of padding words, after the last term
    unread: np.ndarray  # mask of terms that are too rare to be read; False for padding
    padded: bool = False  # True if every text is padded to one length

    @classmethod
    def over(
        cls, tokens: TokenisedCollection, window: int, rarest: int, *, padded: bool = False
    ) -> "Windows":
        """Reader of a collection's texts; words in fewer than `rarest` documents are not read."""
        unread = np.append(tokens.document_frequency < rarest, [False])
        return cls(window, len(tokens.terms), unread, padded)

    def of(
        self,
        texts: EncodedTexts,
        length: int = 0,
        most: int = 0,
        draw: np.random.Generator | None = None,
    ) -> tuple[Int64[np.ndarray, "windows n"], Int64[np.ndarray, " windows"], np.ndarray]:
        """(words of windows, text of each window, factor of each text's sum).

        A text shorter than a window is one padded window; a text without words has none.

        Args:
            texts: their terms.
            length: of padded pooling.
            most: maximum number of windows per text, drawn at random; 0: all.
            draw: random generator.
        """
        n, lengths = self.window, texts.lengths
        before = 0
        # short texts: one padded window
        counts = np.where(lengths, np.maximum(lengths - n + 1, 1), 0)
        if self.padded:
            lengths, before = np.minimum(lengths, length), n // 2
            counts = np.where(lengths, np.minimum(lengths + before, length), 0)
        chosen = np.minimum(counts, most) if most else counts
        offsets = offsets_of(chosen)
        owners = segment_ids(offsets)
        starts = places_of(offsets)
        if draw is not None and most:
            drawn = draw.integers(0, np.maximum(counts, 1)[owners])
            # all windows of shorter texts
            starts = np.where((counts > most)[owners], drawn, starts)
        places = starts[:, None] - before + np.arange(n)
        inside = (places >= 0) & (places < lengths[owners][:, None])
        tokens = np.append(texts.tokens, self.padding).astype(np.int64)
        # Positions outside the text point to the padding token appended at the end
        at = np.where(inside, texts.offsets[:-1][owners][:, None] + places, len(texts.tokens))
        words = tokens[at]
        words = np.where(self.unread[words], self.padding, words)
        scale = 1.0 / np.maximum(chosen, 1)
        if self.padded:
            # Padded pooling divides by the fixed length; the factor corrects for drawn windows
            scale = counts / np.maximum(chosen, 1) / length
        return words, owners, scale.astype(np.float32)

    def batches(
        self, texts: EncodedTexts, length: int, where: torch.device
    ) -> Iterator[tuple[int, int, tuple[Tensor, ...]]]:
        """(first text, last text + 1, windows on a device) of the batches of a network."""
        groups = (np.cumsum(np.maximum(texts.lengths, 1)) - 1) // AT_ONCE
        bounds = np.flatnonzero(np.diff(groups, prepend=-1, append=-1)).tolist()
        for first, last in pairwise(bounds):
            arrays = self.of(texts.take(np.arange(first, last)), length)
            yield first, last, on_device(arrays, where)


def on_device(arrays: Sequence[np.ndarray], where: torch.device | str) -> tuple[Tensor, ...]:
    """Arrays as tensors on a device."""
    return tuple(torch.from_numpy(array).to(where) for array in arrays)


@dataclass(frozen=True)
class WeakTraining(CheckedParameters):
    """Training options of a network with weak labels."""

    loss: str = parameter(
        "hinge",
        "hinge of pairs (the paper), or listwise: Kullback-Leibler to the labeller over all "
        "documents of a batch",
        choices=("hinge", "listwise"),
    )
    margin: float = parameter(1.0, "ε of the hinge", low=0.0)
    temperature: float = parameter(1.0, "of the labeller's scores, listwise", low=1e-3)
    minimum_frequency: int = parameter(1, "documents that a word must be in to be read", low=1)
    windows_per_text: int = parameter(
        0, "windows drawn of a document in a step; 0: all of them", low=0
    )
    batch_queries: int = parameter(64, "weak queries of a step", low=1)
    steps: int = parameter(20_000, "steps", low=1)
    learning_rate: float = parameter(1e-3, "of Adam", low=0.0, high=1.0)
    seed: int = parameter(0, "of weak queries, first weights and draws", low=0)


@dataclass(frozen=True)
class WeakLearning:
    """Network, weak queries, and training."""

    model: Any
    weak: WeakRecipe = field(default_factory=WeakRecipe)
    training: WeakTraining = field(default_factory=WeakTraining)

    def with_fields(self: R, changes: Mapping[str, Any]) -> R:  # noqa: PYI019 (beartype takes no Self)
        """Copy with fields of any of the three parts replaced.

        Raises:
            UnknownNameError: an unknown field.
            ParameterError: an invalid value.
        """
        parts = [part.name for part in fields(self)]
        changed = replaced_in([getattr(self, name) for name in parts], changes)
        return type(self)(**dict(zip(parts, changed, strict=True)))


class WeakTrainer:
    """Base class of trainers: the state of a training, its steps and its checkpoints."""

    kind: str
    network: Any
    windows: Windows
    padded_lengths: tuple[int, int] = (0, 0)

    def __init__(self, indexed: IndexedCollection, recipe: Any) -> None:
        """Draw weak queries; a subclass creates its network and its windows."""
        training = recipe.training
        self.name, self.recipe, self.tokens = indexed.collection.name, recipe, indexed.tokens
        self.weak = weak_supervision(indexed, recipe.weak, training.seed)
        self.device = device(None)
        self.draws = torch.Generator().manual_seed(
            derived_seed(training.seed, self.kind, "weights")
        )
        self.step = 0

    def learn(self, network: nn.Module) -> None:
        """Set the network to train, with a new optimiser."""
        self.network = network.to(self.device)
        self.optimiser = without_compiler(torch.optim.Adam)(
            [weights for weights in network.parameters() if weights.requires_grad],
            lr=self.recipe.training.learning_rate,
        )

    def first_embeddings(self) -> tuple[Tensor, Tensor]:
        """Embeddings of terms (length 1), and their idf (1 on average over words)."""
        tokens = self.tokens
        embeddings = torch.from_numpy(ppmi_embeddings(tokens, self.recipe.model.embedding))
        # log(1 + N/df) stays positive for terms that every document has
        idf = np.log1p(len(tokens.documents) / np.maximum(tokens.document_frequency, 1))
        # A mean of 1 over running words keeps the scale of summed embeddings
        idf /= np.average(idf, weights=np.maximum(tokens.collection_frequency, 1))
        return embeddings, torch.from_numpy(idf.astype(np.float32))

    def _batch(self, step: int) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...], Tensor]:
        """(queries, documents, labeller's table) of a step, on the network's device.

        For triples, `documents` are the first ones, followed by the second ones.
        """
        training, weak = self.recipe.training, self.weak
        draw = generator(training.seed, self.kind, "step", step)
        if training.loss == "listwise":
            chosen = draw.integers(0, len(weak), training.batch_queries)
            starts, lengths = weak.lists.offsets[chosen], np.diff(weak.lists.offsets)[chosen]
            # One document from the top 10 and one from the whole list per query: in-batch
            # documents of the other queries are the negatives
            near = weak.lists.documents[starts + draw.integers(0, np.minimum(lengths, 10))]
            any_ = weak.lists.documents[starts + draw.integers(0, lengths)]
            # Each document once: a double would count twice as a negative
            documents = np.unique(np.concatenate([near, any_]))
        else:
            chosen, *both = weak.triples(step, training.batch_queries)
            documents = np.concatenate(both)
        queries = weak.queries.take(chosen)
        labels = weak.labeller.scores(queries, documents)
        texts = self.tokens.documents.take(documents.astype(np.int64))
        query_windows = self.windows.of(queries, self.padded_lengths[0])
        document_windows = self.windows.of(
            texts, self.padded_lengths[1], training.windows_per_text, draw
        )
        return (
            on_device(query_windows, self.device),
            on_device(document_windows, self.device),
            torch.from_numpy(labels).to(self.device),
        )

    def hinge(self, first_scores: Tensor, second_scores: Tensor, labels: Tensor) -> Tensor:
        """Mean hinge loss of a batch of triples.

        `labels` is the labeller's table, batch × 2 batch: queries, and their first documents
        followed by the second ones.
        """
        training, batch = self.recipe.training, len(first_scores)
        # Row i of the table is query i; its own two documents stand on the two diagonals
        differences = labels[:, :batch].diagonal() - labels[:, batch:].diagonal()
        cost = pairwise_hinge if training.loss == "hinge" else pointwise_hinge
        return cost(first_scores, second_scores, differences.sign(), training.margin).mean()

    def descend(self, loss: Tensor) -> None:
        """Move the weights against the gradient of a loss.

        Raises:
            DivergedError: the loss is not finite.
        """
        # None instead of zeros: Adam then skips parameters without a gradient
        self.optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        self.optimiser.step()
        self.step += 1
        if not bool(torch.isfinite(loss)):
            rate = self.recipe.training.learning_rate
            raise DivergedError(f"{self.kind} on {self.name}", self.step, rate)

    def advance(self) -> dict[str, float]:
        """Run one step; returns its measurements."""
        raise NotImplementedError

    def product(self, indexed: IndexedCollection) -> Generator[Progress, None, Product]:
        """Result of the training: its writer and its facts."""
        raise NotImplementedError

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Tensors and plain values that a step changes, without network and optimiser."""
        return {}, {}

    def take(self, tensors: Mapping[str, Tensor], plain: Mapping[str, Any]) -> None:
        """Restore the values of `state`."""

    def save(self, workspace: Path) -> None:
        """Write a checkpoint over the last one."""
        more, plain = self.state()
        head = {"recipe": asdict(self.recipe), "step": self.step, **plain}
        checkpoint.save(workspace, head, (self.network, self.optimiser), more)

    def restore(self, workspace: Path) -> None:
        """Continue from the last checkpoint, if there is one."""
        trained = self.network, self.optimiser
        if found := checkpoint.restore(workspace, asdict(self.recipe), trained):
            head, tensors = found
            self.step = head["step"]
            self.take(tensors, head)


@dataclass(frozen=True)
class Learner(Generic[R, M]):
    """Kind of network that learns from weak labels, with its presets and trainings."""

    kind: str  # kind of its artefacts, and its name
    presets: Mapping[str, R]  # its recipes by name
    # creates the trainer of a recipe on a collection
    trainer: Callable[[IndexedCollection, R], WeakTrainer]
    load: Callable[[IndexedCollection, Artefact, R], M]  # loads a stored training as a retriever

    def preset(self, name: str) -> R:
        """Recipe of a preset.

        Raises:
            UnknownNameError: an unknown preset.
        """
        if name not in self.presets:
            raise UnknownNameError(f"preset of {self.kind}", name, self.presets)
        return self.presets[name]

    def key_of_training(self, indexed: IndexedCollection, recipe: R) -> ArtefactKey:
        """Key of a training: its recipe and the collection as terms."""
        return key_of(self.kind, _plain(indexed, recipe), [indexed.collection.digest])

    def training(
        self, indexed: IndexedCollection, recipe: R, every: int = 100
    ) -> Generator[Progress, None, Artefact]:
        """Train on a collection, or load the training; yields measurements of the steps.

        A killed training continues from its last checkpoint, with the same final bytes.
        Checkpoints are `every` steps. Queries and judgments of the collection are not read.

        Raises:
            DataError: no document is long enough for a weak query.
            DivergedError: the loss is not finite.
        """
        store, key = indexed.store, self.key_of_training(indexed, recipe)
        with store.found_or_locked(key) as found:
            if found is not None:
                return found
            workspace = store.workspace(key)
            trainer = self.trainer(indexed, recipe)
            trainer.restore(workspace)
            values: dict[str, float] = {}
            while trainer.step < recipe.training.steps:
                values = trainer.advance()
                if trainer.step % every == 0 and trainer.step < recipe.training.steps:
                    trainer.save(workspace)
                yield Progress(trainer.step, recipe.training.steps, "steps", values)
            save, more = yield from trainer.product(indexed)
            facts = {"name": self.kind, "data": trainer.name, "steps": trainer.step}
            facts |= {"last": values, **more}
            return store.add(key, _plain(indexed, recipe), save, facts)

    def train(self, indexed: IndexedCollection, recipe: R, flags: str = "") -> M:
        """Retriever of a stored training; errors name the training command with these flags.

        Raises:
            DataError: this recipe is not trained on this collection.
        """
        artefact = indexed.store.find(self.key_of_training(indexed, recipe))
        if artefact is None:
            name = indexed.collection.name
            raise DataError(
                name, f"{self.kind.upper()} is not trained on this collection with this recipe",
                f"Train it: shuffleproof train {self.kind} --data {name}{flags}",
            )  # fmt: skip
        return self.load(indexed, artefact, recipe)

    def at(self, indexed: IndexedCollection, name: str) -> M:
        """Retriever of a preset at the collection's seed; its labeller saw no judgments."""
        flags = f" --preset {name}" + (f" --seed {indexed.seed}" if indexed.seed else "")
        return self.train(*self._of_preset(indexed, name), flags)

    def learning(self, indexed: IndexedCollection, name: str) -> Generator[Progress]:
        """Train the network of `at`, or load the training."""
        yield from self.training(*self._of_preset(indexed, name))

    def network(self, indexed: IndexedCollection, name: str) -> str:
        """Digest of the training of `at`."""
        return self.key_of_training(*self._of_preset(indexed, name)).digest

    def _of_preset(self, indexed: IndexedCollection, name: str) -> tuple[IndexedCollection, R]:
        """Collection without judgments, and recipe of a preset at the collection's seed."""
        recipe = self.preset(name).with_fields({"seed": indexed.seed})
        return replace(indexed, training=None), recipe


def arrays_of(network: nn.Module) -> dict[str, np.ndarray]:
    """Weights of a network, as stored."""
    weights = network.state_dict().items()
    return {f"network.{name}": value.detach().cpu().numpy() for name, value in weights}


def with_weights(network: N, arrays: Mapping[str, np.ndarray]) -> N:
    """Network with the weights of `arrays_of`, in evaluation mode."""
    names = [name for name in arrays if name.startswith("network.")]
    network.load_state_dict({name[8:]: torch.from_numpy(arrays[name].copy()) for name in names})
    return network.eval()


def _plain(indexed: IndexedCollection, recipe: WeakLearning) -> dict[str, Any]:
    """Recipe of a training as plain values."""
    whole = {**asdict(recipe), "analysis": asdict(indexed.collection.analysis)}
    if indexed.training:
        whole["labeller_fitted_to"] = list(indexed.training)
    return whole
