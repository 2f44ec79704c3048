"""Declared parameters: help, bounds, choices and unit next to the default.

The form, the command-line flag, the validation and the documentation of a recipe or a question
all come from the fields of its frozen dataclass, written with `parameter`.
"""

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass
from functools import cache
from math import isfinite
from types import UnionType
from typing import Any, Union, get_origin, get_type_hints

from shuffleproof.core.errors import ParameterError, UnknownNameError
from shuffleproof.core.numerals import WHOLE_WANTED, number, whole


@dataclass(frozen=True)
class Parameter:
    """Declaration of one field of a recipe or a question.

    Attributes:
        name: of the field.
        type: as annotated.
        default: value if none is given; `MISSING` if one is required.
        help: description.
        low: lowest value, or lowest of each of several.
        high: highest value, or highest of each of several.
        choices: the values that it may have.
        unit: of its value.
        label: what a form calls it; by default its name.
        names: what its texts are names of (`rankers`, `measures`, …), where they are names.
        flags: command-line form, if it is not one flag of its own name.
        search: (low, high) of the range that `tune` searches; empty: only on request.
    """

    name: str
    type: Any
    default: Any
    help: str
    low: int | float | None = None
    high: int | float | None = None
    choices: tuple[str, ...] = ()
    unit: str = ""
    label: str = ""
    names: str = ""
    flags: Any = None
    search: tuple[int | float, ...] = ()

    @property
    def is_required(self) -> bool:
        """True if a value is required."""
        return self.default is MISSING

    @property
    def several(self) -> bool:
        """True if it has several values, separated by commas in text, or none."""
        union = isinstance(self.type, UnionType) or get_origin(self.type) is Union
        kinds = self.type.__args__ if union else (self.type,)
        return any(get_origin(kind) is tuple for kind in kinds)

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
    default: Any = MISSING,
    help: str = "",  # noqa: A002 (the word that argparse and Streamlit use)
    *,
    low: int | float | None = None,
    high: int | float | None = None,
    choices: tuple[str, ...] = (),
    unit: str = "",
    label: str = "",
    names: str = "",
    flags: Any = None,
    search: tuple[int | float, ...] = (),
) -> Any:
    """A dataclass field with its help, bounds (inclusive), choices and unit; see `Parameter`."""
    facts = {"help": help, "low": low, "high": high, "choices": choices, "unit": unit}
    more = {"label": label, "names": names, "flags": flags, "search": search}
    return dataclasses.field(default=default, metadata=facts | more)


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
        for item in value if isinstance(value, tuple) else (value,):
            if item is not None and not _fits(declared, item):
                shown = text_of(value) if isinstance(value, tuple) else value
                raise ParameterError(declared.name, shown, declared.allowed)


@dataclasses.dataclass(frozen=True)
class CheckedParameters:
    """Base of dataclasses whose parameters are checked when one is made: see `check`."""

    def __post_init__(self) -> None:
        """Check every parameter."""
        check(self)


def _fits(declared: Parameter, value: Any) -> bool:
    """True if a value, maybe one of several, is within the declared bounds."""
    if declared.choices and value not in declared.choices:
        return False
    if declared.low is None and declared.high is None:
        return True
    if not isinstance(value, int | float):
        return False
    above = declared.low is None or value >= declared.low
    return above and (declared.high is None or value <= declared.high)


def recipe_values(recipe: Any, later: Mapping[str, Any]) -> dict[str, Any]:
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


def with_changes(recipe: Any, changes: Mapping[str, Any]) -> Any:
    """A copy of a flat recipe with fields replaced; text is read as the field's type demands.

    Raises:
        UnknownNameError: an unknown field.
        ParameterError: a value that a field does not take.
    """
    known = {declared.name: declared for declared in parameters(recipe)}
    values = dict(changes)
    for name, value in changes.items():
        if isinstance(value, str):
            if name not in known:
                raise UnknownNameError("field", name, known)
            values[name] = value_of(known[name], value)
    return dataclasses.replace(recipe, **values)


def replaced_in(parts: Sequence[Any], changes: Mapping[str, Any]) -> tuple[Any, ...]:
    """Copies of several recipes with fields replaced, each in the one that has it.

    Raises:
        UnknownNameError: a field that none of them has.
        ParameterError: a value that a field does not take.
    """
    owners = {setting.name: at for at, part in enumerate(parts) for setting in parameters(part)}
    for name in changes:
        if name not in owners:
            raise UnknownNameError("field", name, owners)
    return tuple(
        with_changes(part, {name: v for name, v in changes.items() if owners[name] == at})
        for at, part in enumerate(parts)
    )


def choice_named(choices: Iterable[str], text: str) -> str:
    """The choice that a text means, blanks around and case forgiven; else the text.

    >>> choice_named(("list-mle", "softrank"), " List-MLE "), choice_named(("cpu",), "GPU")
    ('list-mle', 'GPU')
    """
    letters = {choice.casefold(): choice for choice in choices}
    return letters.get(text.strip().casefold(), text)


OLD = ",;"
"""What separates measures: a semicolon did in addresses that were stored."""


def parts_of(text: str, separators: str = ",") -> list[str]:
    """Parts between commas, without surrounding blanks; commas within parentheses do not separate.

    Args:
        text: the parts.
        separators: what separates them; old addresses have `;` between measures (OLD).

    >>> parts_of("NDCG(ideal=shown,ties=row)@10, RR,"), parts_of("AP;RR,P@5", OLD)
    (['NDCG(ideal=shown,ties=row)@10', 'RR'], ['AP', 'RR', 'P@5'])
    """
    parts = re.split(rf"[{separators}](?![^()]*\))", text)
    return [part.strip() for part in parts if part.strip()]


def fields_of(pairs: Iterable[str], flag: str = "--set") -> dict[str, str]:
    """The fields of --set, or of another flag.

    >>> fields_of(["epochs=3"])
    {'epochs': '3'}

    Raises:
        ParameterError: one that has no value, or two.
    """
    fields = {}
    for pair in pairs:
        field, equals, value = pair.partition("=")
        if not equals:
            raise ParameterError(flag, pair, "FIELD=VALUE")
        if field.strip() in fields:
            raise ParameterError(flag, pair, f"said once: {field.strip()} is given twice")
        fields[field.strip()] = value.strip()
    return fields


def text_of(value: Any) -> str:
    """A value as `value_of` reads it.

    >>> text_of((1, 2)), text_of(0.10), text_of(True), text_of(None)
    ('1,2', '0.1', 'true', 'none')
    """
    if isinstance(value, tuple | list):
        return ",".join(map(text_of, value))
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def value_of(declared: Parameter, text: str) -> Any:
    """A parameter's value from its text.

    Raises:
        ParameterError: a text that its type does not take.
    """
    if get_origin(declared.type) is tuple:
        kind = declared.type.__args__[0]
        kinds = getattr(kind, "__args__", (kind,))
        parts = parts_of(text, OLD if declared.names == "measures" else ",")
        return tuple(_converted(declared, kinds, part) for part in parts)
    kinds = getattr(declared.type, "__args__", (declared.type,))
    lists = [kind for kind in kinds if get_origin(kind) is tuple]
    if lists and not (type(None) in kinds and text.lower() == "none"):
        return value_of(dataclasses.replace(declared, type=lists[0]), text)
    return _converted(declared, kinds, text)


def plain_of(declared: Parameter, value: Any) -> Any:
    """A parameter's value from a JSON value: lists become tuples, whole numbers floats where due.

    Raises:
        ParameterError: a value of another type.

    >>> pairs = Parameter("pairs", tuple[tuple[str, float], ...], (), "")
    >>> plain_of(pairs, [["cut", 1]])
    (('cut', 1.0),)
    """
    typed = _typed(declared.type, value)
    if typed is MISSING:
        raise ParameterError(declared.name, value, type_in_words(declared.type))
    return typed


def _typed(kind: Any, value: Any) -> Any:
    """The value as its type has it; MISSING where it is none of that type."""
    inside: tuple[Any, ...] = getattr(kind, "__args__", ())
    if get_origin(kind) is tuple:
        return _tuple(inside, value)
    if get_origin(kind) in {Union, UnionType}:
        candidates = (_typed(inner, value) for inner in inside)
        return next((candidate for candidate in candidates if candidate is not MISSING), MISSING)
    if get_origin(kind) is Mapping:
        return value if isinstance(value, Mapping) else MISSING
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if isfinite(value) else MISSING
    fits = type(value) is kind if kind in {int, bool} else isinstance(value, kind)
    return value if fits else MISSING


def _tuple(inside: tuple[Any, ...], value: Any) -> Any:
    if not isinstance(value, list | tuple):
        return MISSING
    kinds = [inside[0]] * len(value) if inside[-1] is Ellipsis else list(inside)
    if len(kinds) != len(value):
        return MISSING
    values = tuple(map(_typed, kinds, value))
    return MISSING if any(item is MISSING for item in values) else values


WORDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


def type_in_words(kind: Any) -> str:
    """A type in words.

    >>> type_in_words(tuple[int, ...] | None), type_in_words(tuple[tuple[str, float], ...])
    ('a list of a whole number each, or null', 'a list of [a text, a number] each')
    """
    inside: tuple[Any, ...] = getattr(kind, "__args__", ())
    if get_origin(kind) is tuple and inside[-1] is Ellipsis:
        return f"a list of {type_in_words(inside[0])} each"
    if get_origin(kind) is tuple:
        return f"[{', '.join(map(type_in_words, inside))}]"
    if get_origin(kind) in {Union, UnionType}:
        return ", or ".join(dict.fromkeys(map(type_in_words, inside)))
    return WORDS.get(kind, "null" if kind is type(None) else "an object")


def _converted(declared: Parameter, kinds: tuple[Any, ...], text: str) -> Any:
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
        return choice_named(declared.choices, text)
    wanted = "a number" if float in kinds else WHOLE_WANTED
    if declared.several:
        wanted = f"{'' if float in kinds else 'whole '}numbers, comma-separated"
    raise ParameterError(declared.name, text, wanted)
