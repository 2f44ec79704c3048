"""What a training will take, said before it starts: parameters, FLOPs, and seconds as a range.

FLOPs come from the architecture, seconds from a model of a machine that is corrected by what
earlier trainings on this machine really took; those stand in the store, in the facts of each
ranker. Nothing here loads torch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.execution.machine import machine
from shuffleproof.core.models import size
from shuffleproof.core.models.config import DLCMConfig, SetRankConfig
from shuffleproof.core.models.config_groups import GroupConfig
from shuffleproof.core.rankers.base import RankerSpec
from shuffleproof.core.rankers.boosting import fit as boosting
from shuffleproof.core.rankers.boosting import trees
from shuffleproof.core.rankers.boosting.fit import FRankAdditiveSpec, RankBoostSpec
from shuffleproof.core.rankers.boosting.trees import LambdaMARTSpec
from shuffleproof.core.rankers.linear import fit as linear
from shuffleproof.core.rankers.linear.fit import RankSVMSpec
from shuffleproof.core.rankers.neural.recipes import NeuralSpec
from shuffleproof.core.rankers.pairs import recipes as pair_recipes
from shuffleproof.core.rankers.pairs.function import PairSpec
from shuffleproof.core.rankers.pairs.net import PairNetSpec
from shuffleproof.core.rankers.pairs.trees import PairTreesSpec
from shuffleproof.core.rankers.tabular import TabularSpec
from shuffleproof.core.store.artefacts import Store

KINDS: Mapping[str, type[TabularSpec]] = {
    **trees.KINDS, **linear.KINDS, **boosting.KINDS, **pair_recipes.KINDS
}  # fmt: skip
"""The recipes that are no networks, by the ranker's name."""

PRODUCTS = 40
"""Products with the features in a Newton step: conjugate gradients take about twenty passes."""

CELL_PRODUCT_SECONDS, ROW_SECONDS, PAIR_SECONDS, STEP_SECONDS = 4e-10, 3e-8, 8e-9, 2e-4
"""Of a feature of a document, of a document, of a pair that a threshold is tried on, of a step."""

FEWEST_STEPS = 4
"""Newton steps that a value of C takes at least."""

BACKWARD = 3.0
"""A training step costs so many forward passes."""

CPU_RATE = 8e10
"""FLOPs a second of a processor, before anything was measured."""


@dataclass(frozen=True)
class NetworkRates:
    """How fast a machine trains networks, before anything was measured on it.

    Attributes:
        flops: a second.
        step: seconds of an optimiser step beside its arithmetic.
        layer: of each attention block or recurrent pass in it.
        position: of one position of a recurrence in it.
    """

    flops: float
    step: float
    layer: float
    position: float


ON_A_CPU = NetworkRates(CPU_RATE, 3e-3, 1.5e-3, 2.5e-4)
ON_A_GPU = NetworkRates(3e13, 2e-4, 1.5e-4, 6e-5)
"""As a GPU's recorded steps take; those of an H100, but for its arithmetic."""

CELL_SECONDS, TREE_SECONDS = 2e-9, 0.0005
"""Of one feature of a row in one level of a tree; of a tree beside that."""

SPLIT_SECONDS = 4e-9
"""Of a row at one split of a tree when it is scored."""

START_SECONDS = dict.fromkeys(
    ("setrank", "dlcm", "groups", "univariate", PairNetSpec.name), 4.0
) | dict.fromkeys(("trees", "linear", "boosting", PairTreesSpec.name), 1.0)
"""A process, its libraries and the data, before the first epoch or tree."""

UNITS = {
    "trees": "trees",
    PairTreesSpec.name: "trees",
    "linear": "steps",
    "boosting": "rounds",
}
"""What the fits of these families count; the others count epochs."""

ALIKE = 8.0
"""Trainings whose epochs cost within this factor say what this one will take."""

ROUGH, KNOWN = 4.0, 1.5
"""Factors of doubt each way: nothing like it was measured here, or something was."""


@dataclass(frozen=True)
class Sizes:
    """The lists that a ranker is fitted and selected on.

    Attributes:
        lists: training lists.
        rows: documents in them.
        valid_rows: documents in the validation lists.
        features: of a document.
    """

    lists: int
    rows: int
    valid_rows: int
    features: int

    @classmethod
    def of(cls, train: JudgedLists, valid: JudgedLists) -> "Sizes":
        """The sizes of judged lists."""
        features = len(train.dataset.feature_ids)
        return cls(len(train.lists), len(train.lists.rows), len(valid.lists.rows), features)


@dataclass(frozen=True)
class TimedTraining:
    """A training that this machine did.

    Attributes:
        family: as `family` says.
        epoch: modelled seconds of one of its epochs or trees.
        ratio: what it really took, divided by the model's seconds.
    """

    family: str
    epoch: float
    ratio: float


@dataclass(frozen=True)
class Cost:
    """What a training will take.

    Attributes:
        parameters: trained numbers; 0 for trees.
        flops: of one epoch, forward and backward; 0 for trees.
        steps: epochs, trees, rounds or Newton steps at most.
        low: seconds, if it stops as early as its patience lets it.
        high: seconds, if it goes on to its last epoch.
        measured: how many trainings on this machine the seconds rest on; 0: a rough guess.
        unit: what `steps` counts.
    """

    parameters: int
    flops: float
    steps: int
    low: float
    high: float
    measured: int
    unit: str = "epochs"


def estimate(spec: RankerSpec, sizes: Sizes, known: Sequence[TimedTraining] = ()) -> Cost:
    """What it will take to fit a recipe on lists of these sizes.

    Args:
        spec: the recipe; one that is not fitted costs nothing.
        sizes: of the lists that it is fitted on.
        known: what this machine has done, see `timed_trainings`.
    """
    kind = family(spec)
    if kind is None:
        return Cost(0, 0.0, 1, 0.0, 1.0, 0)
    epoch = epoch_seconds(spec, sizes)
    alike = [
        training.ratio
        for training in known
        if training.family == kind and max(training.epoch / epoch, epoch / training.epoch) <= ALIKE
    ]
    doubt = KNOWN if alike else ROUGH
    steps, least = _steps(spec)
    start, parameters, flops = START_SECONDS[kind], 0, 0.0
    if isinstance(spec, NeuralSpec):
        parameters = size.parameters(spec.model, sizes.features)
        flops = _epoch_flops(spec, sizes)
    return Cost(
        parameters=parameters,
        flops=flops,
        steps=steps,
        low=start / 2 + least * epoch * min(alike, default=1.0) / doubt,
        high=start * 2 + steps * epoch * max(alike, default=1.0) * doubt,
        measured=len(alike),
        unit=unit_of(spec),
    )


def unit_of(spec: RankerSpec | None) -> str:
    """What the fit of a recipe counts: trees, rounds, steps or epochs."""
    return UNITS.get((spec and family(spec)) or "", "epochs")


def timed_trainings(store: Store) -> list[TimedTraining]:
    """The trainings of a store that this machine did and timed; other machines' are left out.

    Those that come with the program are too, wherever they were made.
    """
    trainings = []
    for artefact in replace(store, bundled=()).artefacts("ranker"):
        facts = artefact.facts
        spec = spec_of(artefact.recipe["ranker"])
        if facts.get("machine") != machine() or not facts.get("timed") or spec is None:
            continue
        sizes = Sizes(facts["lists"], facts["rows"], facts["valid_rows"], facts["features"])
        epoch = epoch_seconds(spec, sizes)
        kind = str(family(spec))
        ratio = _fitting_seconds(kind, facts["seconds"]) / (facts["timed"] * epoch)
        trainings.append(TimedTraining(kind, epoch, ratio))
    return trainings


def _fitting_seconds(kind: str, seconds: float) -> float:
    """Without loading the libraries, which every process does once."""
    return max(seconds - START_SECONDS[kind] / 2, seconds / 3)


def epoch_seconds(spec: RankerSpec, sizes: Sizes) -> float:  # noqa: PLR0911 (a kind each)
    """The modelled seconds of one epoch, tree, round or step, before any correction."""
    cells = sizes.rows * sizes.features
    match spec:
        case LambdaMARTSpec():
            levels = max(1, (spec.leaves - 1).bit_length())
            return TREE_SECONDS + cells * spec.feature_share * levels * CELL_SECONDS
        case PairSpec():
            return _pair_seconds(spec, sizes)
        case RankSVMSpec():
            product = cells * CELL_PRODUCT_SECONDS + sizes.rows * ROW_SECONDS
            return STEP_SECONDS + PRODUCTS * product
        case FRankAdditiveSpec():
            pairs = sizes.rows * sizes.rows / max(1, sizes.lists)
            tried = pairs * (2 + spec.tried) * PAIR_SECONDS
            return STEP_SECONDS + 2 * cells * CELL_PRODUCT_SECONDS + tried
        case RankBoostSpec():
            rows = sizes.rows * ROW_SECONDS
            return STEP_SECONDS + 2 * cells * CELL_PRODUCT_SECONDS + rows
        case NeuralSpec():
            rates, layers = _rates(), size.layers(spec.model)
            a_step = rates.step + layers * rates.layer
            if isinstance(spec.model, DLCMConfig):
                a_step += layers * rates.position * sizes.rows / max(1, sizes.lists)
            return _epoch_flops(spec, sizes) / rates.flops + _batches(spec, sizes) * a_step
    return 1e-3


def _rates() -> NetworkRates:
    """How fast this machine is, as the model has it."""
    return ON_A_GPU if machine().endswith("GPU") else ON_A_CPU


def _pair_seconds(spec: PairSpec, sizes: Sizes) -> float:
    """Of an epoch or tree: pairs of a list are those drawn, half of all at most, both ways."""
    length = sizes.rows / max(1, sizes.lists)
    pairs = sizes.lists * min(length * length / 2, 2.0 * (spec.pairs or 10**6))
    if isinstance(spec, PairNetSpec):
        weights = spec.hidden * (2 * sizes.features + spec.hidden / 2)
        steps = ceil(pairs / spec.batch_pairs)
        return 6 * pairs * weights / CPU_RATE + steps * STEP_SECONDS
    return TREE_SECONDS + 3 * sizes.features * pairs * CELL_SECONDS


def scoring_seconds(spec: RankerSpec, lists: int, rows: int, features: int) -> float:
    """The modelled seconds of scoring lists once; of what takes next to nothing 0.

    Args:
        spec: the recipe.
        lists: how many.
        rows: documents in them.
        features: of a document.
    """
    if isinstance(spec, LambdaMARTSpec):
        return spec.trees * rows * (spec.leaves - 1).bit_length() * SPLIT_SECONDS
    if isinstance(spec, PairTreesSpec):
        splits = spec.trees * (spec.leaves - 1).bit_length()
        return rows * rows / max(1, lists) * splits * SPLIT_SECONDS
    if isinstance(spec, PairNetSpec):
        return rows * rows / max(1, lists) * spec.hidden * spec.hidden / CPU_RATE
    if not isinstance(spec, NeuralSpec):
        return 0.0
    return lists * size.forward_flops(spec.model, features, rows / max(1, lists)) / _rates().flops


def family(spec: RankerSpec) -> str | None:  # noqa: PLR0911 (a family each)
    """Recipes that are timed alike, a key of START_SECONDS; None: nothing is fitted."""
    match spec:
        case NeuralSpec(model=SetRankConfig()):
            return "setrank"
        case NeuralSpec(model=DLCMConfig()):
            return "dlcm"
        case NeuralSpec(model=GroupConfig()):
            return "groups"
        case NeuralSpec():
            return "univariate"
        case PairSpec():
            return spec.name
        case LambdaMARTSpec():
            return "trees"
        case RankSVMSpec():
            return "linear"
        case RankBoostSpec():
            return "boosting"
    return None


def _batches(spec: NeuralSpec, sizes: Sizes) -> int:
    """Optimiser steps of an epoch: bounded by lists and by documents."""
    recipe, lists = spec.training, _lists(spec, sizes)
    documents = lists * sizes.rows / max(1, sizes.lists)
    return max(1, ceil(lists / recipe.batch_lists), ceil(documents / recipe.batch_documents))


def _lists(spec: NeuralSpec, sizes: Sizes) -> int:
    """Lists that an epoch goes through: small sets repeat their pass."""
    recipe = spec.training
    if recipe.steps_per_epoch is not None:
        return recipe.steps_per_epoch * recipe.batch_lists
    a_pass = max(1, ceil(sizes.lists / recipe.batch_lists))
    return sizes.lists * ceil(recipe.least_steps / a_pass)


def _epoch_flops(spec: NeuralSpec, sizes: Sizes) -> float:
    """Forward and backward over the training lists of an epoch, forward over the valid ones."""
    documents = sizes.rows / max(1, sizes.lists)
    list_flops = size.forward_flops(spec.model, sizes.features, documents)
    lists = _lists(spec, sizes)
    valid_lists = sizes.valid_rows / max(1.0, documents)
    return list_flops * (BACKWARD * lists + valid_lists)


def _steps(spec: RankerSpec) -> tuple[int, int]:
    """How many epochs, trees, rounds or steps there are at most, and at least."""
    earliest = 1
    match spec:
        case NeuralSpec():
            limit, patience = spec.training.epochs, spec.training.patience
        case LambdaMARTSpec():
            limit, patience, earliest = spec.trees, spec.patience, spec.least_trees
        case RankBoostSpec():
            limit, patience = spec.rounds, spec.patience
        case PairNetSpec():
            return spec.epochs, spec.epochs
        case PairTreesSpec():
            return spec.trees, spec.trees
        case RankSVMSpec():
            return spec.steps * spec.tried, min(spec.steps, FEWEST_STEPS) * spec.tried
        case _:
            return 1, 1
    return limit, limit if patience is None else min(limit, earliest + patience)


def spec_of(recipe: Mapping[str, Any]) -> RankerSpec | None:
    """The spec whose recipe this is; None where nothing was fitted or a version is not ours."""
    values = dict(recipe)
    try:
        if "training" in values:
            return NeuralSpec.of_recipe(values)
        name = values.pop("name", None)
        return KINDS[name](**values) if name in KINDS else None
    except (TypeError, KeyError, ShuffleproofError):
        return None


def total_seconds(costs: Sequence[Cost], slots: int = 1) -> tuple[float, float]:
    """The seconds of several trainings that share so many slots, from and to.

    >>> one = Cost(0, 0.0, 1, 10.0, 20.0, 0)
    >>> total_seconds([one, one, one], slots=2)
    (15.0, 40.0)
    """
    if not costs:
        return 0.0, 0.0
    low = max(*(cost.low for cost in costs), sum(cost.low for cost in costs) / slots)
    rounds = ceil(len(costs) / slots)
    longest = sorted((cost.high for cost in costs), reverse=True)[:rounds]
    return low, sum(longest)
