"""The fields of a ranker's recipe as people look them up: what `train --set` takes of it."""

from collections.abc import Collection, Iterable
from dataclasses import MISSING
from typing import Any

from shuffleproof.core.errors import UsageError
from shuffleproof.core.parameters import Parameter, parameters, text_of, type_in_words
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.name import Kind, RankerName
from shuffleproof.core.rankers.neural.recipes import FIXED, NeuralSpec


def rows(name: RankerName) -> list[dict[str, Any]]:
    """A row a field: its type, default, value in the preset, bounds, choices and meaning.

    Args:
        name: of a registered ranker; at its first preset where it names none.

    Returns:
        The rows; none where nothing is trained.

    Raises:
        UnknownNameError: no such ranker or preset.
        UsageError: what is no registered ranker.

    >>> leaves = rows(RankerName.parse("mart@small"))[1]
    >>> leaves["value"], leaves["default"], leaves["low"], leaves["meaning"]
    (8, 20, 2, 'leaves of a tree')
    """
    if name.kind is not Kind.REGISTERED:
        raise UsageError(f"{name}: name a registered ranker, as in `list recipe dlcm@paper`")
    entry = registry.entry(name.base)
    if not entry.fitted:
        return []
    spec = registry.spec(name, entry.presets[0])
    parts = (spec.model, spec.training) if isinstance(spec, NeuralSpec) else (spec,)
    return of_parts(parts, FIXED.get(name.base, {}))


def of_parts(parts: Iterable[Any], fixed: Collection[str] = ()) -> list[dict[str, Any]]:
    """The same of the parts of any recipe.

    Args:
        parts: dataclasses of declared fields.
        fixed: fields that the name decides.
    """
    return [
        _row(declared, getattr(part, declared.name), declared.name in fixed)
        for part in parts
        for declared in parameters(part)
    ]


def _row(declared: Parameter, value: Any, is_fixed: bool) -> dict[str, Any]:  # noqa: FBT001 (a row's mark)
    decided = "; decided by the ranker's name" if is_fixed else ""
    unit = f", in {declared.unit}" if declared.unit else ""
    return {
        "field": declared.name,
        "type": "a choice" if declared.choices else type_in_words(declared.type),
        "default": None if declared.default is MISSING else declared.default,
        "value": value,
        "low": declared.low,
        "high": declared.high,
        "choices": list(declared.choices),
        "unit": declared.unit,
        "meaning": f"{declared.help}{unit}{decided}",
    }


def short(row: dict[str, Any]) -> dict[str, str]:
    """A row for a terminal."""
    low, high = (None if row[end] is None else f"{row[end]:g}" for end in ("low", "high"))
    ends = f"{low} … {high}" if low and high else f"≥ {low}" if low else f"≤ {high}" if high else ""
    return {
        "field": row["field"],
        "value": text_of(row["value"]),
        "default": text_of(row["default"]),
        "type": "" if row["choices"] else row["type"].replace("null", "none"),
        "allowed": ", ".join(row["choices"]) or ends,
        "meaning": row["meaning"],
    }
