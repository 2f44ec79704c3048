"""Recipes of the neural rankers: an architecture, a way to train it, a name; no torch here.

The names fix what tells them apart (block, ordinals, feed, loss); everything else is a field that
a preset fills and a study may override by its flat name.
"""

import dataclasses
from collections.abc import Generator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import ParameterError, UnknownNameError
from shuffleproof.core.models.architectures import Architecture
from shuffleproof.core.models.config import DLCM_PRESETS, SETRANK_PRESETS, DLCMConfig, SetRankConfig
from shuffleproof.core.models.config_groups import GROUP_PRESETS, GroupConfig
from shuffleproof.core.models.config_univariate import UNIVARIATE_PRESETS, UnivariateConfig
from shuffleproof.core.parameters import recipe_values, replaced_in
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.base import Input, Ranker
from shuffleproof.core.rankers.name import PRESETS
from shuffleproof.core.training.recipe import (
    DLCM_TRAINING,
    GROUP_TRAINING,
    SETRANK_TRAINING,
    UNIVARIATE_TRAINING,
    TrainingRecipe,
)

FIXED: dict[str, dict[str, Any]] = {
    "setrank-msab": {"block": "msab", "rankings": 0},
    "setrank-imsab": {"block": "imsab", "rankings": 0},
    "setrank-msab-init": {"block": "msab", "rankings": 1},
    "setrank-imsab-init": {"block": "imsab", "rankings": 1},
    "setrank-imsab-multi-init": {"block": "imsab", "rankings": 4},
    "dlcm": {"feed": "shown"},
    "dlcm-without-init": {"feed": "shuffled"},
    "dlcm-listmle": {"feed": "shown", "loss": "list-mle"},
    "dlcm-softrank": {"feed": "shown", "loss": "softrank"},
    "gsf": {},
    "ranknet": {"loss": "ranknet"},
    "lambdarank": {"loss": "lambdarank"},
    "frank": {"loss": "frank"},
    "listnet": {"loss": "listnet"},
    "mlp": {},
}
"""Every neural ranker and the fields of its architecture or training that its name decides.

Those that read initial rankings take more of them too.
"""

RELEASED: dict[str, dict[str, Any]] = {
    "dlcm-listmle": {"unit_norm": True},
    "dlcm-softrank": {"unit_norm": True},
}
"""What the preset `released` changes for one name: DLCM's scores were L2-normalised."""

LATER: dict[str, Any] = {
    "cell": "gru",
    "temperature": 0.1,
    "pair_weights": "queries",
    "cutoff": 10,
    "steepness": 1.0,
    "hidden_features": 0.0,
    "documents": None,
}
"""Fields that came after rankers had been stored, and the values that those were made with.

A field with such a value is left out of recipes, so that earlier rankers keep their keys.
"""

_Presets = tuple[Mapping[str, Architecture], Mapping[str, TrainingRecipe]]
_SETRANK: _Presets = (SETRANK_PRESETS, SETRANK_TRAINING)
_DLCM: _Presets = (DLCM_PRESETS, DLCM_TRAINING)
_GROUPS: _Presets = (GROUP_PRESETS, GROUP_TRAINING)
_UNIVARIATE: _Presets = (UNIVARIATE_PRESETS, UNIVARIATE_TRAINING)


def _presets(ranker: str) -> _Presets:
    """A ranker's architectures and trainings by preset."""
    kinds = {"block": _SETRANK, "feed": _DLCM}
    default = _GROUPS if ranker == "gsf" else _UNIVARIATE
    return next((kinds[field] for field in FIXED[ranker] if field in kinds), default)


def rankings_of(ranker: str) -> int:
    """Number of initial rankings that a network reads, by its name.

    >>> rankings_of("setrank-imsab-multi-init"), rankings_of("dlcm"), rankings_of("mine:score")
    (4, 0, 0)
    """
    return int(FIXED.get(ranker, {}).get("rankings", 0))


@dataclass(frozen=True)
class NeuralSpec:
    """A recipe that fits a network.

    Attributes:
        name: a key of FIXED.
        model: the architecture.
        training: how it is trained.

    >>> NeuralSpec.preset("setrank-imsab-init", "small", learning_rate=0.01).rankings
    1

    Raises:
        ParameterError: the architecture or the loss is not what the name says.
    """

    name: str
    model: Architecture
    training: TrainingRecipe

    def __post_init__(self) -> None:
        """Check that the architecture and the loss are those that the name promises."""
        values = asdict(self.training) | asdict(self.model)
        for field, value in FIXED[self.name].items():
            actual = values[field]
            # More initial rankings than the name promises are allowed, not none
            exceeds = field == "rankings" and 0 < value < actual
            if actual != value and not exceeds:
                least = " or more" if field == "rankings" and value else ""
                raise ParameterError(field, actual, f"{value}{least} for {self.name}")

    @classmethod
    def preset(cls, ranker: str, preset: str = "paper", **changes: Any) -> "NeuralSpec":
        """A preset's recipe, with fields of the model or of the training replaced.

        Args:
            ranker: a key of FIXED.
            preset: paper, released, tuned or small.
            changes: values by field name; text is read as the field's type demands.

        Raises:
            UnknownNameError: no such ranker or preset.
            ParameterError: an unknown field, or a value that it does not take.
        """
        if ranker not in FIXED:
            raise UnknownNameError("neural ranker", ranker, FIXED)
        if preset not in PRESETS:
            raise UnknownNameError(f"preset of {ranker}", preset, PRESETS)
        models, trainings = _presets(ranker)
        # The fixed fields of the name win over those of the preset
        parts = replaced_in((models[preset], trainings[preset]), FIXED[ranker])
        if preset == "released":
            parts = replaced_in(parts, RELEASED.get(ranker, {}))
        return cls(ranker, *parts).with_fields(changes)

    def with_fields(self, changes: Mapping[str, Any]) -> "NeuralSpec":
        """This recipe with fields replaced by their flat names, the others as they are.

        Raises:
            ParameterError: an unknown field, or a value that it does not take.
        """
        model, training = replaced_in((self.model, self.training), changes)
        return dataclasses.replace(self, model=model, training=training)

    @property
    def reads(self) -> frozenset[Input]:
        """Inputs that the fitted ranker will read."""
        match self.model:
            case UnivariateConfig() | GroupConfig(group=1):
                return frozenset({"features"})
            # A recurrence is fed in the input order; GSF forms groups of neighbours in it
            case DLCMConfig() | GroupConfig(reads_order=True):
                return frozenset({"features", "order", "neighbours"})
            case SetRankConfig(rankings=0) | GroupConfig():
                return frozenset({"features", "neighbours"})
            case SetRankConfig(reads_order=True):
                return frozenset({"features", "neighbours", "ranks", "order"})
        return frozenset({"features", "neighbours", "ranks"})

    @property
    def rankings(self) -> int:
        """Number of initial rankings that its lists must carry."""
        return self.model.rankings if isinstance(self.model, SetRankConfig) else 0

    @property
    def fits_documents(self) -> bool:
        """True if it is fitted on all documents of the queries: univariate nets only.

        It needs no initial ranking, so it can be one; all others are fitted on candidate lists.
        """
        return isinstance(self.model, UnivariateConfig)

    def recipe(self) -> dict[str, Any]:
        """Everything that determines the result, as plain JSON values; see LATER."""
        model, training = (recipe_values(part, LATER) for part in (self.model, self.training))
        return {"name": self.name, "model": model, "training": training}

    @classmethod
    def of_recipe(cls, recipe: Mapping[str, Any]) -> "NeuralSpec":
        """The spec whose `recipe()` this is."""
        models, _ = _presets(recipe["name"])
        config = type(models["paper"])
        return cls(recipe["name"], config(**recipe["model"]), TrainingRecipe(**recipe["training"]))

    def fit(
        self, train: JudgedLists, valid: JudgedLists, workspace: Path | None = None
    ) -> Generator[Progress, None, Ranker]:
        """Fit on `train`, select on `valid`, yielding one report an epoch; torch loads here.

        Args:
            train: lists to learn from.
            valid: lists to select on.
            workspace: a directory that outlives a killed process; with it, training is resumed.
        """
        from shuffleproof.core.rankers.neural.ranker import fit  # noqa: PLC0415 (torch)

        return (yield from fit(self, train, valid, workspace))


spec = NeuralSpec.preset
"""(name, preset, changes) → recipe; what the registry calls."""
