"""Frozen description of a study, and the pure plan of trials that follows from it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import (
    Any,
    Protocol,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    runtime_checkable,
)

import numpy as np

from shuffleproof.core.errors import ParameterError
from shuffleproof.core.perturb.registry import attack_target, entry_of
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.store.keys import canonical_json, key_of
from shuffleproof.core.studies.result import StudyResult

AnyPlan = TypeVar("AnyPlan")


class DescribedPlan:
    """Base class of plans: a frozen dataclass whose recipe follows from its fields.

    Values that are equal in all plans of a kind (`kind`, often `measures`) are fields with
    `init=False`: they are written with the others, but not read.
    """

    def recipe(self) -> dict[str, Any]:
        """Description as plain JSON values."""
        return recipe_of(self)

    @classmethod
    def of(cls: type[AnyPlan], recipe: Mapping[str, Any]) -> AnyPlan:  # noqa: PYI019 (checked at run time, where Self means nothing)
        """Plan of a `recipe()`."""
        return plan_of(cls, recipe)


def recipe_of(plan: Any) -> dict[str, Any]:
    """Frozen dataclass as plain JSON values, in the order of its fields.

    Tuples become lists, dataclasses mappings. A field that is empty by default is left out while it
    is empty, so that recipes from before that field have the same keys.

    >>> from shuffleproof.core.studies.study import Study
    >>> study = Study("card", (("a", "1"),), "l", (), (("cut", 1.0),), ("RR",), draws=2, seed=0)
    >>> recipe = recipe_of(study)
    >>> recipe["rankers"], "stored" in recipe, plan_of(Study, recipe) == study
    ([['a', '1']], False, True)
    """
    values = ((field, getattr(plan, field.name)) for field in fields(plan))
    return {
        field.name: _plain(value) for field, value in values if value != () or field.default != ()
    }


def plan_of(cls: type[AnyPlan], recipe: Mapping[str, Any]) -> AnyPlan:
    """Frozen dataclass of a recipe by `recipe_of`, with values of the fields' types.

    Args:
        cls: the dataclass.
        recipe: plain JSON values; other names are ignored.

    Raises:
        LookupError: a field without default is missing.
        TypeError: a value has the wrong shape for its field.
        ValueError: a pair is malformed.
    """
    types, init_fields = _types(cls), (field for field in fields(cls) if field.init)  # type: ignore[arg-type]
    values = {
        field.name: _of_type(types[field.name], recipe[field.name])
        for field in init_fields
        if field.name in recipe or (field.default is MISSING and field.default_factory is MISSING)
    }
    return cls(**values)


@cache
def _types(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return recipe_of(value)
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    return value


def _of_type(kind: Any, value: Any) -> Any:
    """Plain value converted to a field's type; plain types do not change."""
    if get_origin(kind) in {Union, UnionType}:
        option = next(choice for choice in get_args(kind) if choice is not NoneType)
        return None if value is None else _of_type(option, value)
    if is_dataclass(kind):
        return plan_of(kind, value)  # type: ignore[arg-type]
    if get_origin(kind) is tuple:
        inner = get_args(kind)
        if inner[-1] is Ellipsis:
            return tuple(_of_type(inner[0], item) for item in value)
        return tuple(
            _of_type(part_type, part) for part_type, part in zip(inner, value, strict=True)
        )
    return float(value) if kind is float else value


CellResult = tuple[dict[str, Any], dict[str, np.ndarray]]
"""Record: plain facts, and arrays by name."""


def as_stored(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts as they are read back from a record, so that both results are equal.

    >>> as_stored({"tau": 1.0, "set_size": (2, 3)})
    {'set_size': [2, 3], 'tau': 1.0}
    """
    return dict(json.loads(canonical_json(facts)))


@runtime_checkable
class TrialRecords(Protocol):
    """Store of finished trials: `core.store.records.Records`, or the process's memory."""

    def get(self, digest: str) -> CellResult | None:
        """Facts and arrays of a record, or None."""

    def put(self, digest: str, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Store a record."""


class Memory(dict[str, CellResult]):
    """Records in memory only, for rankers without a digest."""

    def put(self, digest: str, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Store a record."""
        self[digest] = (meta, arrays)


@runtime_checkable
class Plan(Protocol):
    """Plan of any kind of study: a description that determines its records and its result."""

    def recipe(self) -> dict[str, Any]:
        """Everything that determines the result, in plain JSON values; `kind` names the study."""

    def digests(self, lists: int, /) -> Sequence[str]:
        """Keys of its records, for `lists` lists."""

    def assemble(
        self, finished: Mapping[str, CellResult], query_ids: Sequence[str], facts: Mapping[str, Any]
    ) -> StudyResult | None:
        """Result of the records so far; None before the first complete row."""


@dataclass(frozen=True)
class Trial:
    """One ranker, one perturbation at one level, one draw; these determine its result.

    Attributes:
        ranker: label of the ranker in the study.
        family: perturbation family.
        level: strength in the family's unit.
        draw: index of the random draw, from 0; rankers share the draws for paired comparisons.
    """

    ranker: str
    family: str
    level: float
    draw: int

    @property
    def ranker_name(self) -> RankerName:
        """The parsed label of its ranker."""
        return RankerName.of(self.ranker)


@dataclass(frozen=True)
class Study(DescribedPlan):
    """Full description of a study; equal descriptions give equal results.

    Attributes:
        kind: name in the registry ("initial-ranking", "invariance").
        rankers: (label, digest) of every ranker: the label is displayed, the digest of its
            artefact determines its scores.
        lists: digest of the candidate lists (data set, initial rankers, depth).
        initial: names of the initial rankers, for display.
        perturbations: (family, level) pairs, in running order.
        measures: requested measures, as text that can be parsed.
        draws: number of random draws per perturbation.
        seed: master seed of all draws.
        stored: measures whose per-query values are stored, if they differ from `measures`; see
            `core.studies.conventions`.
    """

    kind: str
    rankers: tuple[tuple[str, str], ...]
    lists: str
    initial: tuple[str, ...]
    perturbations: tuple[tuple[str, float], ...]
    measures: tuple[str, ...]
    draws: int
    seed: int
    stored: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a study without draws."""
        counted_draws(self.draws)

    @property
    def precomputed(self) -> tuple[tuple[str, str], ...]:
        """Rankers whose scores are in a file, so that only the unperturbed lists have some."""
        return tuple(pair for pair in self.rankers if RankerName.of(pair[0]).is_scores)

    @property
    def stored_measures(self) -> tuple[str, ...]:
        """Measures along the second axis of the values."""
        return self.stored or self.measures

    def digest_of(self, trial: Trial) -> str:
        """Key of a trial's stored values; it does not depend on other trials."""
        facts = {
            "kind": self.kind,
            "ranker": dict(self.rankers)[trial.ranker],
            "lists": self.lists,
            "perturbation": [trial.family, trial.level, trial.draw],
            "measures": list(self.stored_measures),
            "seed": self.seed,
        }
        if label := attack_target(trial.family):
            facts["attacked"] = dict(self.rankers)[label]
        return key_of("trial", facts).digest

    def digests(self, _lists: int, /) -> list[str]:
        """Keys of its trials; they do not depend on the number of lists."""
        return [self.digest_of(trial) for trial in plan(self)]

    def assemble(
        self, finished: Mapping[str, CellResult], query_ids: Sequence[str], facts: Mapping[str, Any]
    ) -> StudyResult | None:
        """Result of the finished trials; None before the first."""
        rows = []
        for trial in plan(self):
            record = finished.get(self.digest_of(trial))
            if record is None:
                continue
            rows.append((vars(trial) | record[0], record[1]["values"]))
        return StudyResult.of_rows(self.recipe(), rows, query_ids, facts)


def counted_draws(draws: int) -> None:
    """Refuse an invalid number of random draws.

    Raises:
        ParameterError: not a whole number of at least 1.
    """
    if not isinstance(draws, int) or isinstance(draws, bool) or draws < 1:
        raise ParameterError("number of draws (permutations)", draws, "a whole number from 1 on")


def plan(study: Study) -> tuple[Trial, ...]:
    """All trials in running order, so that every ranker has results early.

    >>> study = Study("initial-ranking", (("a", "1"), ("b", "2")), "lists", ("random",),
    ...               (("transpositions", 0.0), ("transpositions", 5.0)), ("NDCG@10",), 2, 0)
    >>> [(trial.ranker, trial.level, trial.draw) for trial in plan(study)][:3]
    [('a', 0.0, 0), ('b', 0.0, 0), ('a', 5.0, 0)]
    """
    return tuple(
        Trial(label, family, level, draw)
        for family, level in study.perturbations
        for label, _ in study.rankers
        for draw in range(entry_of(family).draws(level, study.draws))
    )
