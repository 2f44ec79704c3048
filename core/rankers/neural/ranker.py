"""Networks as rankers: normalise, batch, score; kept as safetensors and JSON.

A ranker is its recipe, the normalisation fitted with it and the network's weights. Scores are
exact float32 by default.
"""

import json
from collections.abc import Callable, Generator, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float32, Float64, Int64, UInt64
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, from_numpy

from shuffleproof.core.data import ragged
from shuffleproof.core.data.batches import HeldLists, on_device, reheld, with_slot
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.features import Normalisation
from shuffleproof.core.data.features import fit as fit_normalisation
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import MissingRankingError, ParameterError, ShapeError
from shuffleproof.core.execution.devices import device
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.base import Input, one_line
from shuffleproof.core.rankers.neural.feed import (
    document_features,
    feed_order,
    groups_of,
    read_rankings,
)
from shuffleproof.core.rankers.neural.recipes import NeuralSpec
from shuffleproof.core.seeds import generator, mix_bits
from shuffleproof.core.training.loop import TrainingData, train
from shuffleproof.core.training.network import (
    Network,
    Precision,
    built,
    check_lengths,
    held_embeddings,
    held_scores,
    weights_of,
)
from shuffleproof.core.words import counted

FAMILY = "neural"

SELECTION_CUTS = 8
"""Number of times that validation lists are cut into sets: more sets, less noise."""


@dataclass(frozen=True, eq=False)
class NeuralRanker:
    """A trained network that scores candidate lists.

    Attributes:
        spec: its specification.
        network: the trained network, on its device.
        normalisation: fitted on the training part.
        feature_ids: the features it was trained on, in order.
        facts: how the training went: epochs, best_epoch, best_value.
        columns: which ranking of the lists each of its own is read from; None: it is absent.
    """

    spec: NeuralSpec
    network: Network
    normalisation: Normalisation
    feature_ids: tuple[int, ...]
    facts: dict[str, Any]
    columns: tuple[int | None, ...] = ()

    __repr__ = one_line

    def __post_init__(self) -> None:
        """Read the initial rankings from the columns used in training, unless told otherwise."""
        if not self.columns:
            object.__setattr__(self, "columns", tuple(range(self.spec.rankings)))

    @classmethod
    def untrained(
        cls,
        spec: NeuralSpec,
        normalisation: Normalisation,
        feature_ids: tuple[int, ...],
        place: str,
    ) -> "NeuralRanker":
        """A ranker with its first weights.

        Args:
            spec: its specification.
            normalisation: what it sees features through.
            feature_ids: the features that it reads.
            place: a torch device.
        """
        network = built(spec.model, len(feature_ids), spec.training.seed).to(place).eval()
        return cls(spec, network, normalisation, feature_ids, {})

    @property
    def name(self) -> str:
        """The registry's name."""
        return self.spec.name

    @property
    def reads(self) -> frozenset[Input]:
        """Inputs that can change a score."""
        return self.spec.reads - (set() if self._present_columns else {"ranks"})

    @property
    def rankings(self) -> int:
        """Number of initial rankings that the lists must carry."""
        return max(self._present_columns, default=-1) + 1

    @property
    def _present_columns(self) -> list[int]:
        return [column for column in self.columns if column is not None]

    def reading(self, columns: Sequence[int | None]) -> "NeuralRanker":
        """The same ranker with its initial rankings exchanged or left out (Table 4 at test time).

        Args:
            columns: for each ranking of its training, in order, the lists' ranking (0-based) that
                it reads instead, or None, as for those not named: it contributes nothing.

        Raises:
            ParameterError: more columns than rankings were trained, or a negative one.
        """
        trained = self.spec.rankings
        if len(columns) > trained or any(column is not None and column < 0 for column in columns):
            raise ParameterError("columns", columns, f"up to {trained} of 0, 1, … or none")
        absent = (None,) * (trained - len(columns))
        return replace(self, columns=(*columns, *absent))

    @property
    def device(self) -> str:
        """Device of the network."""
        return str(next(self.network.parameters()).device)

    def score(
        self, dataset: RankingDataset, lists: CandidateLists
    ) -> Float32[np.ndarray, " candidates"]:
        """One score a candidate, in the order of `lists.rows`; higher is better.

        Raises:
            MissingRankingError: the lists carry fewer initial rankings than the ranker reads.
            ShapeError: the data set has other features than the ranker was trained on.
            DataError: a list is longer than the table of ordinals.
        """
        self.check(dataset, lists)
        scores = np.empty(len(lists.rows), dtype=np.float32)
        for group, places in self._fed_groups(dataset, lists):
            scores[places] = held_scores(
                self.network, self._held_lists(dataset, group, self.device)
            )
        return scores

    def exact_scores(
        self, dataset: RankingDataset, lists: CandidateLists
    ) -> Float64[np.ndarray, " candidates"]:
        """As `score`, in float64 on the host: what float32 comes close to; many times slower."""
        self.check(dataset, lists)
        # A copy: `.to` would change the ranker itself
        network = deepcopy(self.network).to("cpu", torch.float64)
        scores = np.empty(len(lists.rows), dtype=np.float64)
        for group, places in self._fed_groups(dataset, lists):
            narrow = self._held_lists(dataset, group, "cpu")
            wide = replace(narrow, features=narrow.features.double())
            scores[places] = held_scores(network, wide)
        return scores

    def score_variants(
        self,
        dataset: RankingDataset,
        variants: Sequence[CandidateLists],
        precision: Precision = "fp32",
    ) -> list[Float32[np.ndarray, " candidates"]]:
        """The scores of the same lists under several orders and initial rankings.

        What depends on a document alone is computed once and gathered by each variant's order;
        lists that occur twice (same order, same ranks) are scored once.

        Args:
            dataset: holds the features.
            variants: as many lists each; reorderings or re-rankings of one another, as a rule.
            precision: fp32 is exact; bf16 is faster on some devices and moves positions.

        Raises:
            MissingRankingError: a variant carries fewer initial rankings than the ranker reads.
            ShapeError: other features, or variants of different numbers of lists.
            DataError: a list is longer than the table of ordinals.
        """
        for variant in variants:
            self.check(dataset, variant)
        place = self.device

        def features_of(rows: Int64[np.ndarray, " rows"]) -> Float32[Tensor, "slots features"]:
            features = document_features(self.normalisation, dataset, rows)
            return with_slot(features).to(place)

        fitted = FittedNetwork(self.spec, self.network, features_of, precision, self.columns)
        return variant_scores(fitted, dataset, variants)

    def save(self, directory: Path) -> None:
        """Write ranker.json and network.safetensors into an empty directory."""
        tensors = {f"network/{name}": value for name, value in weights_of(self.network).items()}
        for name, array in self.normalisation.arrays().items():
            tensors[f"normalisation/{name}"] = from_numpy(array.copy())
        save_file(tensors, directory / "network.safetensors")
        head = {
            "family": FAMILY,
            "recipe": self.spec.recipe(),
            "feature_ids": self.feature_ids,
            "facts": self.facts,
        }
        # Only where it differs: files of other rankers stay as they were
        if self.columns != tuple(range(self.spec.rankings)):
            head["columns"] = self.columns
        (directory / "ranker.json").write_text(json.dumps(head, indent=1))

    def _fed_groups(
        self, dataset: RankingDataset, lists: CandidateLists
    ) -> Iterator[tuple[CandidateLists, slice | Int64[np.ndarray, " _candidates"]]]:
        """Groups of lists in the order in which they are fed, and where their scores belong."""
        for group, inside in groups_of(lists):
            order = feed_order(self.spec, dataset, group)
            if order is None:
                yield group, inside
            else:
                yield group.shown_as(order), inside.start + order

    def _held_lists(self, dataset: RankingDataset, lists: CandidateLists, place: str) -> HeldLists:
        whole = _held_lists(self.normalisation, JudgedLists(dataset, lists), place)
        return read_rankings(whole, self.columns)

    def check(self, dataset: RankingDataset, lists: CandidateLists) -> None:
        """Refuse lists that the network cannot read.

        Raises:
            MissingRankingError: they carry fewer initial rankings than it reads.
            ShapeError: the data set has other features than it was trained on.
            DataError: a list is longer than the table of ordinals.
        """
        if dataset.feature_ids != self.feature_ids:
            finding = f"{counted(len(dataset.feature_ids), 'feature')}, or others"
            raise ShapeError(self.name, finding, f"the {len(self.feature_ids)} it was trained on")
        if lists.rankings < self.rankings:
            raise MissingRankingError(self.name, self.rankings, lists.rankings)
        check_lengths(self.name, self.spec.model, lists.lengths)


def fit(
    spec: NeuralSpec, train_lists: JudgedLists, valid_lists: JudgedLists, workspace: Path | None
) -> Generator[Progress, None, NeuralRanker]:
    """Train a network as its spec says, yielding a report a step and one an epoch.

    Args:
        spec: architecture and training recipe.
        train_lists: lists to learn from; the normalisation is fitted on their data set.
        valid_lists: lists to select on.
        workspace: where checkpoints go; a killed run is resumed from there.

    Raises:
        MissingRankingError: the lists carry fewer initial rankings than the network reads.
        DataError: a list is longer than the table of ordinals, or there is nothing to learn from.
        DivergedError: the loss is no longer a finite number.
    """
    for part in (train_lists, valid_lists):
        if part.lists.rankings < spec.rankings:
            raise MissingRankingError(spec.name, spec.rankings, part.lists.rankings)
        check_lengths(spec.name, spec.model, part.lists.lengths)
    place, features = device(None), train_lists.dataset.feature_ids
    # On train alone: the released code sees validation and test too (a leak)
    normalisation = fit_normalisation(spec.training.normalisation, train_lists.dataset)
    valid_lists = _drawn(valid_lists, spec.training.documents)
    judged = [_as_fed(spec, part) for part in (train_lists, valid_lists)]
    on_device = [_held_lists(normalisation, part, place) for part in judged]
    data = TrainingData(spec.name, on_device[0], on_device[1], judged[1])
    network = built(spec.model, len(features), spec.training.seed).to(place)
    state = yield from train(network, data, spec.training, workspace)
    network.eval()
    facts = {"epochs": state.epoch, "best_epoch": state.best_epoch, "best_value": state.best_value}
    return NeuralRanker(spec, network, normalisation, features, facts)


def load(directory: Path) -> NeuralRanker:
    """The ranker that `save` wrote, on this machine's device.

    >>> load(Path("nowhere"))  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    FileNotFoundError:
    """
    head = json.loads((directory / "ranker.json").read_text())
    spec = NeuralSpec.of_recipe(head["recipe"])
    with safe_open(directory / "network.safetensors", framework="pt") as stored:
        tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118 (no mapping)
    weights = {name[8:]: value for name, value in tensors.items() if name.startswith("network/")}
    arrays = {
        name[14:]: value.numpy()
        for name, value in tensors.items()
        if name.startswith("normalisation/")
    }
    network = built(spec.model, len(head["feature_ids"]), spec.training.seed)
    network.load_state_dict(weights)
    return NeuralRanker(
        spec,
        network.to(device(None)).eval(),
        Normalisation.from_arrays(spec.training.normalisation, arrays),
        tuple(head["feature_ids"]),
        head["facts"],
        tuple(head.get("columns", ())),
    )


def _drawn(part: JudgedLists, size: int | None) -> JudgedLists:
    """The lists cut into random sets of one size, SELECTION_CUTS times; None: as they are."""
    if size is None:
        return part
    draws, lists = generator(0, "selection", size), part.lists
    members = [
        start + draws.permutation(length)[: length // size * size].reshape(-1, size)
        for _ in range(SELECTION_CUTS)
        for start, length in zip(lists.offsets, lists.lengths, strict=False)
    ]
    nothing = np.empty((0, size), dtype=np.int64)
    return JudgedLists(part.dataset, lists.subsets(np.concatenate([nothing, *members])))


def _as_fed(spec: NeuralSpec, part: JudgedLists) -> JudgedLists:
    order = feed_order(spec, part.dataset, part.lists)
    return part if order is None else JudgedLists(part.dataset, part.lists.shown_as(order))


def _held_lists(normalisation: Normalisation, part: JudgedLists, place: str) -> HeldLists:
    features = document_features(normalisation, part.dataset, part.lists.rows)
    return on_device(part.lists, features, part.dataset.labels[part.lists.rows], place)


GROUP = 1 << 13  # documents embedded at once
STACK = 1 << 21  # candidates of all variants stacked at once


@dataclass(frozen=True, eq=False)
class FittedNetwork:
    """A network with all that scoring needs.

    Attributes:
        spec: its specification.
        network: on its device.
        features_of: normalised features of data set rows, there, with the padding's row last.
        precision: fp32, bf16 or auto.
        columns: which ranking of the lists each of the network's own is read from; None: absent.
    """

    spec: NeuralSpec
    network: Network
    features_of: Callable[[Int64[np.ndarray, " _rows"]], Float32[Tensor, "_slots _features"]]
    precision: Precision
    columns: tuple[int | None, ...]


def variant_scores(
    fitted: FittedNetwork, dataset: RankingDataset, variants: Sequence[CandidateLists]
) -> list[Float32[np.ndarray, " _candidates"]]:
    """One array of scores a variant, each in its variant's input order.

    Raises:
        ShapeError: the variants do not have as many lists each.
    """
    for variant in variants:
        if len(variant) != len(variants[0]):
            raise ShapeError("variants", f"{len(variant)} lists", f"{len(variants[0])}")
    results = [np.empty(len(variant.rows), dtype=np.float32) for variant in variants]
    for first, last in _groups(variants):
        stack = _stack([variant.select(np.arange(first, last)) for variant in variants])
        scores = _stack_scores(fitted, dataset, stack)
        start = 0
        for result, variant in zip(results, variants, strict=True):
            inside = slice(int(variant.offsets[first]), int(variant.offsets[last]))
            end = start + inside.stop - inside.start
            result[inside] = scores[start:end]
            start = end
    return results


def _groups(variants: Sequence[CandidateLists]) -> Iterator[tuple[int, int]]:
    """Runs of lists [first, last) that are small enough to be held under all variants."""
    if not variants:
        return
    offsets, first = variants[0].offsets, 0
    # All variants of a group are in memory together
    limit = min(GROUP, STACK // len(variants))
    while first < len(variants[0]):
        fitting = int(np.searchsorted(offsets, offsets[first] + limit, "right")) - 1
        last = min(max(fitting, first + 1), len(variants[0]))
        yield first, last
        first = last


def _stack(parts: Sequence[CandidateLists]) -> CandidateLists:
    return CandidateLists(
        offsets=ragged.offsets_of(np.concatenate([part.lengths for part in parts])),
        queries=np.concatenate([part.queries for part in parts]),
        rows=np.concatenate([part.rows for part in parts]),
        ranks=np.concatenate([part.ranks for part in parts]),
        prior=np.concatenate([part.prior for part in parts]),
    )


def _stack_scores(
    fitted: FittedNetwork, dataset: RankingDataset, stack: CandidateLists
) -> Float32[np.ndarray, " candidates"]:
    _, representatives, inverse = np.unique(
        _digests(stack, fitted.columns), return_index=True, return_inverse=True
    )
    lists = stack.select(representatives)
    order = feed_order(fitted.spec, dataset, lists)
    fed_lists = lists if order is None else lists.shown_as(order)
    # Each document is embedded once, however many variants show it
    rows, source = np.unique(fed_lists.rows, return_inverse=True)
    embedded = held_embeddings(fitted.network, fitted.features_of(rows), fitted.precision)
    lists_of_embedded = read_rankings(reheld(fed_lists, embedded, source), fitted.columns)
    scores = held_scores(fitted.network, lists_of_embedded, fitted.precision, embedded=True)
    if order is not None:
        # A copy, because the assignment reads and writes the same array
        scores[order] = scores.copy()
    return scores[ragged.elements_of(lists.offsets, inverse)]


def _digests(lists: CandidateLists, columns: Sequence[int | None]) -> UInt64[np.ndarray, " lists"]:
    """64 bits that tell lists apart by rows, their order and the ranks read."""
    digests = mix_bits(lists.rows.view(np.uint64))
    ranks = [lists.ranks[:, column] for column in columns if column is not None]
    for column in (ragged.places_of(lists.offsets), *ranks):
        digests = mix_bits(digests + column.astype(np.uint64))
    # Places are mixed in, so a sum modulo 2⁶⁴ still depends on the order
    running = np.zeros(len(digests) + 1, dtype=np.uint64)
    np.cumsum(digests, out=running[1:])
    return np.diff(running[lists.offsets])
