"""Question of the study of training noise."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from shuffleproof.core.errors import UsageError
from shuffleproof.core.experiment.ranker_sets import expand
from shuffleproof.core.parameters import parameter
from shuffleproof.core.studies.question import Question, Scope

RANKERS = (
    "rankers that are trained, comma-separated; also files of parameters: "
    "lightgbm-config:FILE, xgboost-config:FILE, catboost-config:FILE"
)


@dataclass(frozen=True)
class TrainingNoise(Question):
    """Spread of a ranker's results over trainings on shuffled rows, queries, columns and seeds."""

    kind: ClassVar[str] = "training-noise"
    title: ClassVar[str] = "How much do row order, column order and seed of the training matter?"
    source: ClassVar[str] = (
        "variance of trainings (Reimers & Gurevych 2017; Bouthillier et al. 2021)"
    )
    summary: ClassVar[str] = "spread of trainings over row orders and seeds"
    doing: ClassVar[str] = "Train with shuffled rows:"
    sample: ClassVar[Mapping[str, Any]] = {"rankers": ("lambdamart", "dlcm"), "repeats": 5}
    printing: ClassVar[str] = "spreads(result, {measures!r})"

    rankers: tuple[str, ...] = parameter(help=RANKERS, names="rankers")
    repeats: int = parameter(10, "trainings for each source of noise", low=2, label="Trainings")
    measures: tuple[str, ...] = parameter(("NDCG@10",), "list of measures", names="measures")
    seed: int = parameter(0, "seed of the shuffles")

    def refuse(self, scope: Scope, /) -> None:
        """Refuse rankers without a recipe.

        Raises:
            UsageError: a file, a function, a stored ranker or a combination.
        """
        del scope
        from shuffleproof.core.studies.kinds.perturbations.applicability import without_recipe  # noqa: PLC0415 (which loads NumPy)

        for name in expand(self.rankers).values():
            if reason := without_recipe(name):
                raise UsageError(
                    f"{name} cannot be trained again ({reason}): name a ranker by its recipe, or "
                    "by a file of its library's parameters (lightgbm-config:FILE)"
                )
