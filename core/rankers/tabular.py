"""Common parts of rankers fitted to rows of features: presets, columns, the file."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import DataError, ShapeError, UnknownNameError
from shuffleproof.core.parameters import check, recipe_values, with_changes
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.base import Input, Ranker, RankerSpec
from shuffleproof.core.rankers.canonical import LATER
from shuffleproof.core.words import counted

FILE = "ranker.json"
Recipe = TypeVar("Recipe", bound="TabularSpec")


class TabularSpec(ABC):
    """The recipe of such a ranker: a frozen dataclass of declared fields.

    Attributes:
        name: the registry's name.
        presets: by name the fields that differ from the class's defaults.
        later: fields that came later, left out of the recipe at these values, so that rankers from
            before keep their keys.
    """

    name: ClassVar[str] = ""
    reads: ClassVar[frozenset[Input]] = frozenset({"features"})
    rankings: ClassVar[int] = 0
    fits_documents: ClassVar[bool] = True
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    later: ClassVar[Mapping[str, Any]] = LATER

    def __post_init__(self) -> None:
        """Check the parameters."""
        check(self)

    @classmethod
    def preset(cls: type[Recipe], preset: str = "paper", **changes: Any) -> Recipe:  # noqa: PYI019 (checked at run time, where Self means nothing)
        """A preset's recipe with fields replaced.

        Raises:
            UnknownNameError: no such preset.
            ParameterError: a value that a field does not take.
        """
        if preset not in cls.presets:
            raise UnknownNameError(f"preset of {cls.name}", preset, cls.presets)
        return cls(**{**cls.presets[preset], **changes})

    def recipe(self) -> dict[str, Any]:
        """Everything that determines the result, as plain JSON values."""
        return {"name": self.name, **recipe_values(self, self.later)}

    @abstractmethod
    def fit(
        self, train: JudgedLists, valid: JudgedLists, workspace: Path | None = None
    ) -> Generator[Progress, None, Ranker]:
        """As `RankerSpec` says."""


def spec_of(kinds: Mapping[str, type[Any]]) -> Callable[..., Any]:
    """The function `spec` of a module: recipes by name.

    Args:
        kinds: recipes by the name of their ranker.
    """

    def spec(name: str, preset: str = "paper", **changes: Any) -> Any:
        """The recipe of a ranker: a preset with fields replaced.

        Args:
            name: the ranker.
            preset: a key of the recipe's `presets`.
            changes: values by field name; text is read as the field's type demands.
        """
        return with_changes(kinds[name].preset(preset), changes)

    return spec


def refuse_no_documents(train: JudgedLists) -> None:
    """Refuse an empty training part.

    Raises:
        DataError: there is nothing to learn from.
    """
    if not len(train.lists.rows):
        raise DataError("train", "no documents to learn from", "Give a training part.")


class TabularRanker:
    """Such a ranker, fitted: a frozen dataclass of its recipe, what was learnt, and its columns.

    Attributes:
        spec: the recipe that it came from.
        feature_ids: the feature columns that it was fitted on.
    """

    spec: RankerSpec
    feature_ids: tuple[int, ...]
    reads: ClassVar[frozenset[Input]] = frozenset({"features"})
    rankings: ClassVar[int] = 0

    @property
    def name(self) -> str:
        """The registry's name."""
        return self.spec.name

    def check_columns(self, dataset: RankingDataset) -> None:
        """Refuse other columns than it was fitted on.

        Raises:
            ShapeError: the data set's features are not those of the fit.
        """
        # By id: columns of another file may be the same features in another order
        if dataset.feature_ids != self.feature_ids:
            finding = f"{counted(len(dataset.feature_ids), 'feature')} with other ids"
            raise ShapeError(
                "features", finding, f"the {len(self.feature_ids)} of the training set"
            )

    def write_head(self, directory: Path, family: str, **more: Any) -> None:
        """Write `ranker.json`: the family whose `load` reads it, the recipe, columns, and more."""
        head: dict[str, Any] = {"family": family, "recipe": self.spec.recipe()}
        head |= {"feature_ids": list(self.feature_ids), **more}
        (directory / FILE).write_text(json.dumps(head, indent=1), encoding="utf-8")


def read_head(
    directory: Path, kinds: Mapping[str, type[Recipe]]
) -> tuple[Recipe, tuple[int, ...], Mapping[str, Any]]:
    """The recipe and the columns that `write_head` wrote, and all that it wrote.

    Args:
        directory: of the ranker.
        kinds: the recipes of the family by the registry's names.
    """
    head = json.loads((directory / FILE).read_text(encoding="utf-8"))
    fields = dict(head["recipe"])
    return kinds[fields.pop("name")](**fields), tuple(head["feature_ids"]), head
