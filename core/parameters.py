"""Parameters that declare themselves: help, bounds, choices and unit stand beside the default.

The form, the command-line flag, the validation and the documentation of a recipe all come from
the fields of its frozen dataclass, written with `parameter`.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, get_type_hints

from core.errors import ParameterError
from core.numerals import number, whole


@dataclass(frozen=True)
class Parameter:
    """What one field of a recipe says of itself."""

    name: str
    type: Any
    default: Any
    help: str
    low: int | float | None = None
    high: int | float | None = None
    choices: tuple[str, ...] = ()
    unit: str = ""

    @property
    def allowed(self) -> str:
        """The permitted values in words."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        if self.low is not None and self.high is not None:
            return f"between {self.low:g} and {self.high:g}"
        if self.low is not None:
            return f"at least {self.low:g}"
        return f"at most {self.high:g}" if self.high is not None else str(self.type)


def parameter(  # noqa: PLR0913 (each argument is one fact a field states)
    default: Any,
    help: str,  # noqa: A002 (the word that argparse and Streamlit use)
    *,
    low: int | float | None = None,
    high: int | float | None = None,
    choices: tuple[str, ...] = (),
    unit: str = "",
) -> Any:
    """A dataclass field with its help, bounds (inclusive), choices and unit."""
    facts = {"help": help, "low": low, "high": high, "choices": choices, "unit": unit}
    return dataclasses.field(default=default, metadata=facts)


def parameters(recipe: Any) -> Iterator[Parameter]:
    """The parameters of a recipe's dataclass (type or instance), in the order declared."""
    yield from _declared(recipe if isinstance(recipe, type) else type(recipe))


@cache
def _declared(owner: type) -> tuple[Parameter, ...]:
    hints = get_type_hints(owner)
    return tuple(
        Parameter(field.name, hints[field.name], field.default, **field.metadata)
        for field in dataclasses.fields(owner)
        if "help" in field.metadata
    )


def check(recipe: Any) -> None:
    """Check every parameter of an instance; call it from `__post_init__`.

    Raises:
        ParameterError: a value is outside its bounds or choices, or not a number where one is due.
    """
    for declared in parameters(recipe):
        value = getattr(recipe, declared.name)
        if value is None:
            continue
        if declared.choices and value not in declared.choices:
            raise ParameterError(declared.name, value, declared.allowed)
        bounded = declared.low is not None or declared.high is not None
        if bounded and not isinstance(value, int | float):
            raise ParameterError(declared.name, value, declared.allowed)
        if (declared.low is not None and not value >= declared.low) or (
            declared.high is not None and not value <= declared.high
        ):
            raise ParameterError(declared.name, value, declared.allowed)


def written(recipe: Any, later: Mapping[str, Any]) -> dict[str, Any]:
    """A flat recipe as plain values, without fields that came later and have the value of before.

    So whatever was stored before there was such a field keeps its key.

    Args:
        recipe: an instance.
        later: the value of before of every field that came later.
    """
    return {
        name: value
        for name, value in dataclasses.asdict(recipe).items()
        if name not in later or value != later[name]
    }


def parsed(recipe: Any, values: Mapping[str, str]) -> Any:
    """A copy of a recipe with fields replaced by values written as text.

    Raises:
        ParameterError: an unknown field, or a text that its type does not take.
    """
    return dataclasses.replace(recipe, **_read(recipe, values))


def replaced(recipe: Any, changes: Mapping[str, Any]) -> Any:
    """A copy of a flat recipe with fields replaced; text is read as the field's type demands.

    Raises:
        ParameterError: an unknown field, or a value that it does not take.
    """
    texts = {name: value for name, value in changes.items() if isinstance(value, str)}
    typed = {name: value for name, value in changes.items() if name not in texts}
    return dataclasses.replace(recipe, **_read(recipe, texts), **typed)


def _read(recipe: Any, values: Mapping[str, str]) -> dict[str, Any]:
    known = {declared.name: declared for declared in parameters(recipe)}
    for name in values:
        if name not in known:
            raise ParameterError("--set", name, "one of " + ", ".join(sorted(known)))
    return {name: _converted(known[name], text) for name, text in values.items()}


def _converted(declared: Parameter, text: str) -> Any:
    kinds = getattr(declared.type, "__args__", (declared.type,))
    if type(None) in kinds and text.lower() == "none":
        return None
    if bool in kinds:
        if text.lower() in {"true", "false"}:
            return text.lower() == "true"
        raise ParameterError(declared.name, text, "true or false")
    for kind, read in ((int, whole), (float, number)):
        if kind in kinds:
            try:
                return read(text)
            except ValueError:
                continue
    if str in kinds or declared.choices:
        return text
    raise ParameterError(declared.name, text, "a number")
