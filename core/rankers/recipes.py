"""Recipes of the neural rankers: an architecture, a way to train it, a name; no torch here.

The names fix what tells them apart (block, ordinals, feed); everything else is a field that a
preset fills and a study may override by its flat name.
"""

import dataclasses
from collections.abc import Generator, Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from core.data.lists import JudgedLists
from core.errors import ParameterError, UnknownNameError
from core.models.config import DLCM_PRESETS, SETRANK_PRESETS, DLCMConfig, SetRankConfig
from core.parameters import parameters, replaced
from core.progress import Progress
from core.rankers.base import Input, Ranker
from core.training.recipe import DLCM_TRAINING, SETRANK_TRAINING, TrainingRecipe

FIXED: dict[str, dict[str, Any]] = {
    "setrank-msab": {"block": "msab", "rankings": 0},
    "setrank-imsab": {"block": "imsab", "rankings": 0},
    "setrank-msab-init": {"block": "msab", "rankings": 1},
    "setrank-imsab-init": {"block": "imsab", "rankings": 1},
    "dlcm": {"feed": "shown"},
    "dlcm-without-init": {"feed": "shuffled"},
}
"""Every neural ranker and the fields that its name decides; `-init` takes more rankings too."""

PRESETS = ("paper", "released", "tuned", "small")


@dataclass(frozen=True)
class NeuralSpec:
    """A recipe that fits SetRank or DLCM.

    Attributes:
        name: a key of FIXED.
        model: the architecture.
        training: how it is trained.

    >>> NeuralSpec.preset("setrank-imsab-init", "small", learning_rate=0.01).rankings
    1

    Raises:
        ParameterError: the architecture is not what the name says.
    """

    name: str
    model: SetRankConfig | DLCMConfig
    training: TrainingRecipe

    def __post_init__(self) -> None:
        """Check that the architecture is the one that the name promises."""
        for field, value in FIXED[self.name].items():
            found = getattr(self.model, field)
            more = field == "rankings" and value == 1 and found > 1
            if found != value and not more:
                least = " or more" if field == "rankings" and value else ""
                raise ParameterError(field, found, f"{value}{least} for {self.name}")

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
        model: SetRankConfig | DLCMConfig
        if ranker.startswith("setrank"):
            model, training = SETRANK_PRESETS[preset], SETRANK_TRAINING[preset]
        else:
            model, training = DLCM_PRESETS[preset], DLCM_TRAINING[preset]
        model = dataclasses.replace(model, **FIXED[ranker])
        return cls(ranker, model, training).changed(changes)

    def changed(self, changes: Mapping[str, Any]) -> "NeuralSpec":
        """This recipe with fields replaced by their flat names, the others as they are.

        Raises:
            ParameterError: an unknown field, or a value that it does not take.
        """
        of_model = {declared.name for declared in parameters(self.model)}
        of_training = {declared.name for declared in parameters(self.training)}
        for name in changes:
            if name not in of_model | of_training:
                known = ", ".join(sorted(of_model | of_training))
                raise ParameterError("--set", name, f"one of {known}")
        inside = {name: value for name, value in changes.items() if name in of_model}
        outside = {name: value for name, value in changes.items() if name in of_training}
        return dataclasses.replace(
            self, model=replaced(self.model, inside), training=replaced(self.training, outside)
        )

    @property
    def reads(self) -> frozenset[Input]:
        """What of the input the fitted ranker will read."""
        if isinstance(self.model, DLCMConfig):
            return frozenset({"features", "order", "neighbours"})
        if not self.model.rankings:
            return frozenset({"features", "neighbours"})
        if self.model.reads_order:
            return frozenset({"features", "neighbours", "ranks", "order"})
        return frozenset({"features", "neighbours", "ranks"})

    @property
    def rankings(self) -> int:
        """How many initial rankings its lists must carry at least."""
        return self.model.rankings if isinstance(self.model, SetRankConfig) else 0

    @property
    def fits_documents(self) -> bool:
        """False: it is fitted on candidate lists."""
        return False

    def recipe(self) -> dict[str, Any]:
        """Everything that determines the result, as plain JSON values."""
        return {"name": self.name, "model": asdict(self.model), "training": asdict(self.training)}

    @classmethod
    def of_recipe(cls, recipe: Mapping[str, Any]) -> "NeuralSpec":
        """The spec whose `recipe()` this is."""
        config = SetRankConfig if recipe["name"].startswith("setrank") else DLCMConfig
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
        return (yield from import_module("core.rankers.neural").fit(self, train, valid, workspace))


spec = NeuralSpec.preset
"""(name, preset, changes) → recipe; what the registry calls."""
