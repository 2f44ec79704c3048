"""Values that a Python caller passes to a study, converted for its question.

Callers may pass one text instead of a list, arrays and ranges for numbers, a mapping of families
with levels, and objects instead of their names (see `core.studies.user_names`).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from shuffleproof.core.parameters import Parameter, parts_of, plain_of, text_of, value_of
from shuffleproof.core.perturb.levels import pairs_of
from shuffleproof.core.studies import user_names
from shuffleproof.core.studies.question import flag_of, syntax_of

LEVELS = "perturbations"
"""The `names` value of fields that hold families with levels."""


def by_name(field: Parameter, value: Any) -> Any:
    """Value of a field, from the value that the caller passed.

    Args:
        field: of a question.
        value: as the field has it; or a text as its flag takes it, a single value of several, or
            objects instead of names. Families with levels also as names alone (default levels)
            or as a mapping from families to levels.

    Raises:
        ParameterError: the field does not accept the value.
        UsageError: an object of the wrong kind.

    >>> from shuffleproof.core.studies.registry import STUDIES
    >>> from shuffleproof.core.parameters import parameters
    >>> fields = {field.name: field for field in parameters(STUDIES["initial-ranking"])}
    >>> by_name(fields["rankers"], "dlcm, mart"), by_name(fields["measures"], ["RR"])
    (('dlcm', 'mart'), ('RR',))
    >>> by_name(fields["perturbations"], {"cut": [0, 0.5]})
    (('cut', 0.0), ('cut', 0.5))
    """
    value = _plain(value)
    if field.names == LEVELS:
        return plain_of(field, _pairs(value))
    if isinstance(value, str):
        return _of_text(field, value)
    if field.names and value is not None:
        value = list(user_names.of(field.names, tuple(_several(value))))
    elif field.several and not isinstance(value, list | None):
        value = [value]
    single = field.names and not field.several and isinstance(value, list) and len(value) == 1
    return plain_of(field, value[0] if single else value)


def _of_text(field: Parameter, text: str) -> Any:
    """Value of a text; a field with its own flag syntax parses it itself."""
    if field.flags is None or field.several:
        return value_of(field, text)
    if all(flag.name != flag_of(field) for flag in syntax_of(field).flags(field)):
        return plain_of(field, text)
    return syntax_of(field).value(field, {flag_of(field): text}, "")


def _plain(value: Any) -> Any:
    """Lists and plain numbers, from arrays, ranges, sets and NumPy's numbers."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple | set | frozenset | range):
        return [_plain(part) for part in value]
    return value


def _pairs(value: Any) -> Any:
    """Pairs of families and levels, from any accepted form."""
    if isinstance(value, str):
        return pairs_of(parts_of(value))
    if isinstance(value, Mapping):
        return [
            pair
            for family, levels in value.items()
            for pair in pairs_of([_family(family)], text_of(_several(_plain(levels))))
        ]
    several = _several(value)
    if len(several) == 2 and isinstance(several[1], int | float):
        several = [several]
    if any(isinstance(part, list) for part in several):
        return [[_family(part[0]), *part[1:]] if part else part for part in several]
    return pairs_of([_family(part) for part in several])


def _family(family: Any) -> Any:
    """Name of a family; a function is represented by its registered name."""
    return getattr(family, "__name__", family)


def _several(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
