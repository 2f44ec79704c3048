"""What a study is: a frozen description, and the pure plan of trials that follows from it."""

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
from shuffleproof.core.store.keys import canonical_json, key_of
from shuffleproof.core.studies.result import StudyResult

AnyPlan = TypeVar("AnyPlan")


class DescribedPlan:
    """What every plan derives from: a frozen dataclass whose recipe follows from its fields.

    What is the same in all plans of a kind (`kind`, often `measures`) is a field with
    `init=False`: it is written with the others, and not read.
    """

    def recipe(self) -> dict[str, Any]:
        """The description as plain JSON values."""
        return recipe_of(self)

    @classmethod
    def of(cls: type[AnyPlan], recipe: Mapping[str, Any]) -> AnyPlan:  # noqa: PYI019 (checked at run time, where Self means nothing)
        """The plan whose `recipe()` this is."""
        return plan_of(cls, recipe)


def recipe_of(plan: Any) -> dict[str, Any]:
    """A frozen dataclass as plain JSON values, in the order of its fields.

    Tuples become lists, dataclasses mappings; a field that is empty by default is left out while
    it is empty, so that recipes from before it was there keep their keys.

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
    """The frozen dataclass that `recipe_of` wrote, its values as the fields' types want them.

    Args:
        cls: the dataclass.
        recipe: plain JSON values; names that are no fields are passed over.

    Raises:
        LookupError: a field without default is missing.
        TypeError: a value is not of its field's shape.
        ValueError: a pair is none.
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
    """A plain value as a field's type wants it; what is plain already is passed on."""
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
"""A record: plain facts, and arrays by name."""


def as_stored(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts as a record gives them back, so that a result is the same before and after.

    >>> as_stored({"tau": 1.0, "set_size": (2, 3)})
    {'set_size': [2, 3], 'tau': 1.0}
    """
    return dict(json.loads(canonical_json(facts)))


@runtime_checkable
class TrialRecords(Protocol):
    """Where finished trials are kept: `core.store.records.Records`, or a process's memory."""

    def get(self, digest: str) -> CellResult | None:
        """A record's facts and arrays, or None."""

    def put(self, digest: str, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Keep a record."""


class Memory(dict[str, CellResult]):
    """Records that live as long as the process: for rankers whose identity no digest tells."""

    def put(self, digest: str, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Keep a record."""
        self[digest] = (meta, arrays)


@runtime_checkable
class Plan(Protocol):
    """What a study of any kind is: a description from which its records and its result follow."""

    def recipe(self) -> dict[str, Any]:
        """Everything that determines the result, in plain JSON values; `kind` names the study."""

    def digests(self, lists: int, /) -> Sequence[str]:
        """The keys of its records, on so many lists."""

    def assemble(
        self, finished: Mapping[str, CellResult], query_ids: Sequence[str], facts: Mapping[str, Any]
    ) -> StudyResult | None:
        """The result that the records found so far make; None before its first row is whole."""


@dataclass(frozen=True)
class Trial:
    """One ranker, one perturbation at one level, one draw; its result depends on nothing else.

    Attributes:
        ranker: label of the ranker in the study.
        family: perturbation family.
        level: strength in the family's unit.
        draw: which random draw, from 0; rankers share the draws, so that they compare in pairs.
    """

    ranker: str
    family: str
    level: float
    draw: int


@dataclass(frozen=True)
class Study(DescribedPlan):
    """A study's full description; equal descriptions give equal results.

    Attributes:
        kind: the registry's name of the study ("initial-ranking", "invariance").
        rankers: (label, digest) of every ranker: the label names it on screen, the digest of its
            artefact decides what it computes.
        lists: digest of the candidate lists (data set, initial rankers, depth).
        initial: the initial rankers' names, for people.
        perturbations: (family, level) pairs, in the order to be run.
        measures: measures as text, each parseable: what the study is asked for.
        draws: random draws a perturbation.
        seed: master seed of all draws.
        stored: measures whose values are kept for every query, when they are more or others than
            `measures`; see `core.studies.conventions`.
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
        """Refuse a study that draws nothing."""
        counted_draws(self.draws)

    @property
    def stored_measures(self) -> tuple[str, ...]:
        """The measures along the second axis of the values."""
        return self.stored or self.measures

    def digest_of(self, trial: Trial) -> str:
        """The key under which a trial's values are stored; other trials do not enter it."""
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
        """The keys of its trials, whatever the lists."""
        return [self.digest_of(trial) for trial in plan(self)]

    def assemble(
        self, finished: Mapping[str, CellResult], query_ids: Sequence[str], facts: Mapping[str, Any]
    ) -> StudyResult | None:
        """The trials that are finished; None before the first."""
        rows = []
        for trial in plan(self):
            record = finished.get(self.digest_of(trial))
            if record is None:
                continue
            rows.append((vars(trial) | record[0], record[1]["values"]))
        return StudyResult.of_rows(self.recipe(), rows, query_ids, facts)


def counted_draws(draws: int) -> None:
    """Refuse a number of random draws that is none.

    Raises:
        ParameterError: not a whole number of at least 1.
    """
    if not isinstance(draws, int) or isinstance(draws, bool) or draws < 1:
        raise ParameterError("number of draws (permutations)", draws, "a whole number from 1 on")


def plan(study: Study) -> tuple[Trial, ...]:
    """All trials, in the order in which they are run: first results of every ranker early.

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
