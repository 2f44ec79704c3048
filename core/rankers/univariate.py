"""Rankers that need no fitting: one feature, the order of the file, chance, the judgments.

They serve as initial rankings and as yardsticks. None reads the input order or the other
documents of a list; a score depends on the document's row alone.
"""

import json
from collections.abc import Generator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float32, Int64

from shuffleproof.core.data import ragged
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import ParameterError, UnknownNameError
from shuffleproof.core.numerals import whole
from shuffleproof.core.parameters import CheckedParameters, parameter
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.base import Input
from shuffleproof.core.rankers.name import feature_of
from shuffleproof.core.seeds import generator

FAMILY = "univariate"
FILE = "ranker.json"


@dataclass(frozen=True)
class _Unfitted:
    """A ranker that is written as its name and its fields."""

    name: ClassVar[str]
    reads: ClassVar[frozenset[Input]] = frozenset()
    rankings: ClassVar[int] = 0

    def save(self, directory: Path) -> None:
        """Write `ranker.json`."""
        saved = {"family": FAMILY, "name": self.name, **asdict(self)}
        (directory / FILE).write_text(json.dumps(saved, indent=1), encoding="utf-8")


@dataclass(frozen=True)
class FeatureRanker(CheckedParameters, _Unfitted):
    """Ranks by one feature, the larger the better; a missing value (NaN) comes last."""

    feature: int = parameter(1, "id of the feature, as in the file", low=0)
    reads: ClassVar[frozenset[Input]] = frozenset({"features"})

    @property
    def name(self) -> str:  # type: ignore[override]
        """The registry's name, `feature:<id>`."""
        return f"feature:{self.feature}"

    def score(
        self, dataset: RankingDataset, lists: CandidateLists
    ) -> Float32[np.ndarray, " candidates"]:
        """The feature's value of every candidate.

        Raises:
            ShapeError: the data set has no such feature.
        """
        values = dataset.feature(self.feature)[lists.rows]
        # The lowest finite number, as measures refuse NaN
        return np.where(np.isnan(values), np.finfo(np.float32).min, values)


@dataclass(frozen=True)
class FileOrderRanker(_Unfitted):
    """Ranks by the order of the rows in the file: not neutral where that order leaks relevance."""

    name: ClassVar[str] = "file-order"

    def score(
        self, dataset: RankingDataset, lists: CandidateLists
    ) -> Float32[np.ndarray, " candidates"]:
        """Minus the 0-based place of the row in its query."""
        return -_places_in_query(dataset, lists).astype(np.float32)


@dataclass(frozen=True)
class RandomRanker(_Unfitted):
    """Ranks by chance; a score depends on the seed, the query's id and the row's place in it."""

    seed: int = parameter(0, "seed of the draw")
    name: ClassVar[str] = "random"

    def score(
        self, dataset: RankingDataset, lists: CandidateLists
    ) -> Float32[np.ndarray, " candidates"]:
        """An even draw from [0, 1) for every candidate, the same in every list it is in."""
        lengths = np.diff(dataset.offsets)
        places = _places_in_query(dataset, lists)
        scores = np.empty(len(lists.rows), dtype=np.float32)
        for index, query in enumerate(lists.queries.tolist()):
            draws = generator(self.seed, self.name, dataset.query_ids[query])
            span = slice(lists.offsets[index], lists.offsets[index + 1])
            # Drawn for the whole query, so a document has its score in any list
            scores[span] = draws.random(lengths[query], dtype=np.float32)[places[span]]
        return scores


@dataclass(frozen=True)
class IdealRanker(_Unfitted):
    """Ranks by the judgments themselves: the ceiling of every measure."""

    name: ClassVar[str] = "ideal"

    def score(
        self, dataset: RankingDataset, lists: CandidateLists
    ) -> Float32[np.ndarray, " candidates"]:
        """The label of every candidate."""
        return dataset.labels[lists.rows]


UnivariateRanker = FeatureRanker | FileOrderRanker | RandomRanker | IdealRanker

_BY_NAME: Mapping[str, type[FileOrderRanker | RandomRanker | IdealRanker]] = {
    ranker.name: ranker for ranker in (FileOrderRanker, RandomRanker, IdealRanker)
}
NAMES = ("feature:<id>", *_BY_NAME)


@dataclass(frozen=True)
class UnivariateSpec:
    """The recipe of a ranker that needs no fitting."""

    ranker: UnivariateRanker = field(default_factory=FeatureRanker)
    rankings: ClassVar[int] = 0
    fits_documents: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """The registry's name."""
        return self.ranker.name

    @property
    def reads(self) -> frozenset[Input]:
        """Inputs that the ranker reads."""
        return self.ranker.reads

    def recipe(self) -> dict[str, Any]:
        """Everything that determines the result, as plain JSON values."""
        return {"name": self.name, **asdict(self.ranker)}

    def fit(
        self, train: JudgedLists, valid: JudgedLists, workspace: Path | None = None
    ) -> Generator[Progress, None, UnivariateRanker]:
        """Nothing to learn: one report, and the ranker.

        Raises:
            ShapeError: a feature that the training set does not have.
        """
        del valid, workspace
        if isinstance(self.ranker, FeatureRanker):
            # Fails early where the feature does not exist
            train.dataset.feature(self.ranker.feature)
        yield Progress(1, 1, "rankers")
        return self.ranker


def spec(name: str, preset: str = "paper", *, seed: int | str = 0) -> UnivariateSpec:
    """The recipe of `feature:<id>`, `file-order`, `random` or `ideal`.

    Args:
        name: the ranker's name.
        preset: of no meaning here: nothing is fitted.
        seed: of `random`, also as text; the others draw nothing.

    Raises:
        UnknownNameError: none of these names.
        ParameterError: a seed that is no whole number.

    >>> spec("feature:39").recipe()
    {'name': 'feature:39', 'feature': 39}
    """
    del preset
    try:
        whole_seed = seed if isinstance(seed, int) else whole(seed)
    except ValueError:
        raise ParameterError("seed", seed, "a whole number") from None
    return UnivariateSpec(_ranker(name, whole_seed))


def load(directory: Path) -> UnivariateRanker:
    """The ranker that `save` wrote."""
    saved = json.loads((directory / FILE).read_text(encoding="utf-8"))
    return _ranker(saved["name"], saved.get("seed", 0))


def _ranker(name: str, seed: int) -> UnivariateRanker:
    feature = feature_of(name)
    if feature is not None:
        return FeatureRanker(feature)
    if name not in _BY_NAME:
        raise UnknownNameError("univariate ranker", name, NAMES)
    return RandomRanker(seed) if name == RandomRanker.name else _BY_NAME[name]()


def _places_in_query(
    dataset: RankingDataset, lists: CandidateLists
) -> Int64[np.ndarray, " candidates"]:
    owner = ragged.segment_ids(lists.offsets)
    return lists.rows - dataset.offsets[lists.queries[owner]]
