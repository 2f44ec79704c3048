"""The fields of a recipe that a search varies, and the range of each."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shuffleproof.core.errors import ParameterError, UsageError
from shuffleproof.core.parameters import Parameter, fields_of, parameters, value_of
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.base import RankerSpec
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.rankers.neural.recipes import FIXED, NeuralSpec

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

Range = tuple[Any, ...]
"""(low, high) of numbers, or the choices."""


class Choices(tuple[Any, ...]):
    """Two numbers of which one is drawn, and none between them."""

    __slots__ = ()


def space_of(name: RankerName, chosen: Sequence[str] = ()) -> dict[str, Range]:
    """The range of every field that is searched.

    Args:
        name: of the ranker at a preset.
        chosen: fields as `--search` has them.

    Raises:
        ParameterError: a field that the recipe has not, or a range beyond its bounds.
        UsageError: nothing to search.

    >>> space_of(RankerName.parse("mart@small"))["leaves"]
    (4, 128)
    >>> space_of(RankerName.parse("mart@small"), ["leaves=8..16"])
    {'leaves': (8, 16)}
    """
    fixed = FIXED.get(name.base, {})
    declared = fields_with_values(registry.spec_of(name))
    known = {field: pair for field, pair in declared.items() if field not in fixed}
    if not chosen:
        found = {name: _wide(pair) for name, pair in known.items() if pair[0].search}
    else:
        pairs = fields_of([one if "=" in one else f"{one}=" for one in chosen], "--search")
        found = {}
        for field, text in pairs.items():
            if field not in known:
                raise ParameterError("--search", field, f"one of {', '.join(sorted(known))}")
            found[field] = _range(*known[field], text)
    if not found:
        raise UsageError(f"{name}: nothing of its recipe is searched; name fields with --search")
    return found


def fields_with_values(spec: RankerSpec) -> dict[str, tuple[Parameter, Any]]:
    """The declaration and the value of every field of a recipe."""
    parts = (spec.model, spec.training) if isinstance(spec, NeuralSpec) else (spec,)
    return {one.name: (one, getattr(part, one.name)) for part in parts for one in parameters(part)}


def _wide(pair: tuple[Parameter, Any]) -> Range:
    """The declared range, with the value that the preset has."""
    declared, value = pair
    low, high = declared.search[0], declared.search[-1]
    return (low, high) if value is None else (min(low, value), max(high, value))


def _range(declared: Parameter, value: Any, text: str) -> Range:
    """The range that a text of --search means."""
    if not text and declared.search:
        return _wide((declared, value))
    if not text and declared.choices:
        return tuple(declared.choices)
    low, dots, high = text.partition("..")
    allowed = f"{declared.name}=LOW..HIGH within its bounds ({declared.allowed}), or choices a,b"
    texts = (low, high) if dots else text.split(",")
    ends = [*dict.fromkeys(value_of(declared, one) for one in texts if one)]
    whole = {"low": declared.low, "high": declared.high}
    inside = all(
        (declared.choices and one in declared.choices)
        or (one is None and not dots)
        or (isinstance(one, int | float) and (whole["low"] is None or one >= whole["low"])
            and (whole["high"] is None or one <= whole["high"]))
        for one in ends
    )  # fmt: skip
    if len(ends) < 2 or not inside or (dots and not ends[0] < ends[-1]):
        raise ParameterError("--search", f"{declared.name}={text}".rstrip("="), allowed)
    return tuple(ends) if dots or not _has_ends(ends) else Choices(ends)


def _has_ends(values: Sequence[Any]) -> bool:
    """True if these are the two ends of a range.

    >>> _has_ends((8, 64)), _has_ends(Choices((8, 64))), _has_ends((8, 16, 64)), _has_ends("ab")
    (True, False, False, False)
    """
    numbers = not any(isinstance(one, str | bool) or one is None for one in values)
    return len(values) == 2 and numbers and not isinstance(values, Choices)


def distribution_of(declared: Parameter, ends: Range) -> "BaseDistribution":
    """Optuna's distribution of a field: logarithmic if the range spans a factor of eight."""
    from optuna import distributions as of  # noqa: PLC0415 (only who tunes pays for it)

    if not _has_ends(ends):
        return of.CategoricalDistribution(ends)
    low, high = ends
    log = low > 0 and high / low >= 8
    if declared.type in {int, int | None}:
        return of.IntDistribution(int(low), int(high), log=log)
    return of.FloatDistribution(float(low), float(high), log=log)


def can_draw(distribution: "BaseDistribution", value: Any) -> bool:
    """True if Optuna can draw a value."""
    try:
        inside: bool = distribution._contains(distribution.to_internal_repr(value))  # noqa: SLF001 (Optuna tells it nowhere else)
    except ValueError:  # no such choice, none, or no logarithm
        return False
    return inside
