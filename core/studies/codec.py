"""A study's plan as plain JSON values and back: its fields say how, so no kind writes its own."""

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

Shaped = TypeVar("Shaped")


class Described:
    """What every plan derives from: a frozen dataclass whose recipe follows from its fields.

    What is the same in all plans of a kind (`kind`, often `measures`) is a field with
    `init=False`: it is written with the others, and not read.
    """

    def recipe(self) -> dict[str, Any]:
        """The description as plain JSON values."""
        return recipe_of(self)

    @classmethod
    def of(cls: type[Shaped], recipe: Mapping[str, Any]) -> Shaped:  # noqa: PYI019 (checked at run time, where Self means nothing)
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
    values = ((one, getattr(plan, one.name)) for one in fields(plan))
    return {one.name: _plain(value) for one, value in values if value != () or one.default != ()}


def plan_of(cls: type[Shaped], recipe: Mapping[str, Any]) -> Shaped:
    """The frozen dataclass that `recipe_of` wrote, its values as the fields' types want them.

    Args:
        cls: the dataclass.
        recipe: plain JSON values; names that are no fields are passed over.

    Raises:
        LookupError: a field without default is missing.
        TypeError: a value is not of its field's shape.
        ValueError: a pair is none.
    """
    types, known = _types(cls), (one for one in fields(cls) if one.init)  # type: ignore[arg-type]
    values = {
        one.name: _typed(types[one.name], recipe[one.name])
        for one in known
        if one.name in recipe or not _has_default(one)
    }
    return cls(**values)


def _has_default(one: Field[Any]) -> bool:
    return one.default is not MISSING or one.default_factory is not MISSING


@cache
def _types(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return recipe_of(value)
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    return value


def _typed(kind: Any, value: Any) -> Any:
    """A plain value as a field's type wants it; what is plain already is passed on."""
    if get_origin(kind) in {Union, UnionType}:
        wanted = next(one for one in get_args(kind) if one is not NoneType)
        return None if value is None else _typed(wanted, value)
    if is_dataclass(kind):
        return plan_of(kind, value)  # type: ignore[arg-type]
    if get_origin(kind) is tuple:
        inner = get_args(kind)
        if inner[-1] is Ellipsis:
            return tuple(_typed(inner[0], one) for one in value)
        return tuple(_typed(one, part) for one, part in zip(inner, value, strict=True))
    return float(value) if kind is float else value
