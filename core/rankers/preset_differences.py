"""Difference of a recipe from the nearest preset: the preset and the changed fields."""

from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from shuffleproof.core.errors import UnknownNameError
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import FILES, Kind, RankerName

KNOWN_BY = "known_by"
"""What a ranker of user code is known by, in its recipe."""


def from_preset(recipe: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The preset that a ranker's recipe differs least from, and its values that differ.

    Args:
        recipe: as `RankerSpec.recipe` writes it.

    >>> from_preset(registry.spec("dlcm", "small", epochs=3).recipe())
    ('small', {'epochs': 3})
    """
    name, fields = str(recipe["name"]), _flat(recipe)
    if RankerName.of(name).kind is Kind.OBJECT:  # the digest of its code is not a setting
        return "", {field: value for field, value in fields.items() if field != KNOWN_BY}
    if name in FILES:  # a file has no preset
        return "", {}
    try:
        presets = registry.entry(name).presets
    except UnknownNameError:
        return "", fields
    differing = {}
    for preset in presets:
        usual = _fields_of(name, preset)
        differing[preset] = {
            field: value for field, value in fields.items() if value != usual.get(field)
        }
    # `min` keeps the first of equals: presets in their order
    return min(differing.items(), key=lambda pair: len(pair[1]))


@lru_cache(maxsize=1024)  # the library asks for every ranker that is stored
def _fields_of(name: str, preset: str) -> dict[str, Any]:
    return _flat(registry.spec(name, preset).recipe())


def from_usual_lists(recipe: ListRecipe) -> dict[str, Any]:
    """Recipe of lists where it differs from the default; the initial rankers always.

    >>> from_usual_lists(ListRecipe(("feature:1",), depth=10))
    {'initial': ('feature:1',), 'depth': 10}
    """
    defaults = asdict(ListRecipe())
    return {
        name: value
        for name, value in asdict(recipe).items()
        if name == "initial" or value != defaults[name]
    }


def in_words(values: Mapping[str, Any]) -> str:
    """Fields and values in one line.

    >>> in_words({"clip": None, "batch_lists": 16, "initial": ("a", "b")})
    'clip none, batch lists 16, initial a + b'
    """
    return ", ".join(f"{name.replace('_', ' ')} {_text(value)}" for name, value in values.items())


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return " + ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _flat(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """Model's and training's fields side by side, without the name."""
    flat: dict[str, Any] = {}
    for name, value in recipe.items():
        if isinstance(value, Mapping):
            flat |= value
        elif name != "name":
            flat[name] = value
    return flat
