"""What somebody gave a study in Python, as the names that its question takes.

A question holds names: they are what keys, commands and stored results are made of. A person may
write one text instead of a list, and give things instead of their names: a trained ranker, an
object or function of user code (`user_names`), a measure, families with levels as a mapping.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from shuffleproof.core.errors import ParameterError
from shuffleproof.core.parameters import Parameter, parts_of, plain_of, text_of, value_of
from shuffleproof.core.perturb.levels import pairs_of
from shuffleproof.core.rankers.fit_cache import CachedRanker
from shuffleproof.core.studies import user_names
from shuffleproof.core.studies.question import flag_of, syntax_of

DIGITS = 8
"""Of a stored ranker's key, in its name."""

LEVELS = "perturbations"
"""What fields of families with levels are names of."""


def by_name(field: Parameter, value: Any) -> Any:
    """A field's value from what somebody gave.

    Args:
        field: of a question.
        value: as the field has it; or a text as its flag takes it, a single one of several, and
            things instead of names. Families with levels also as names alone (their own levels)
            or as a mapping from families to levels.

    Raises:
        ParameterError: nothing that the field takes.

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
        value = [name_of(field, one) for one in _several(value)]
    elif field.several and not isinstance(value, list | tuple | None):
        value = [value]
    single = field.names and not field.several and isinstance(value, list) and len(value) == 1
    return plain_of(field, value[0] if single else value)


def name_of(field: Parameter, thing: Any) -> str:
    """The name of one thing that a field takes by name.

    Raises:
        ParameterError: it has none.
    """
    if isinstance(thing, str):
        return thing
    if isinstance(thing, CachedRanker) and field.names == "rankers":
        name, digest = thing.ranker.name, thing.artefact.key.digest
        return f"{name}#{digest[:DIGITS]}"
    if field.names in user_names.NAMED:
        return str(user_names.of(field.names, thing))
    found = f"a {type(thing).__name__}"
    raise ParameterError(field.name, found, "a name")


def _of_text(field: Parameter, text: str) -> Any:
    """The value of a text: as the field's own flag takes it, where that is no plain one."""
    own = [flag for flag in syntax_of(field).flags(field) if flag.name == flag_of(field)]
    if field.flags is None or not own:
        return value_of(field, text)
    return syntax_of(field).value(field, {flag_of(field): text}, "")


def _plain(value: Any) -> Any:
    """Arrays, ranges, sets and NumPy's numbers as lists and numbers of Python."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple | set | frozenset | range):
        return [_plain(one) for one in value]
    return value


def _pairs(value: Any) -> Any:
    """Pairs of families and levels, in whatever form they were given."""
    if isinstance(value, str):
        return pairs_of(parts_of(value))
    if isinstance(value, Mapping):
        return [
            pair
            for family, levels in value.items()
            for pair in pairs_of([family], text_of(_several(_plain(levels))))
        ]
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return pairs_of(value)
    if isinstance(value, list) and len(value) == 2 and isinstance(value[0], str):
        return [value]
    return value


def _several(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
