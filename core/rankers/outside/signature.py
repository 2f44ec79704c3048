"""Inputs of ranking functions, by the names of their parameters.

Loads nothing but Python's own `inspect`: help texts and the function's process read it.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

INPUTS: Mapping[str, str] = {
    "features": "float32[documents, features]",
    "ranks": "int64[documents, rankings], from 0, best first; documents that tie share one",
    "query": "its id, a text",
    "query_text": "its text: `ingest --query-texts` brings it",
    "documents": "their ids, a list of texts",
    "texts": "their texts, a list: `ingest --texts` brings them",
    "mask": "bool[lists, documents]: several lists are then given at once, all else with an axis "
    "of lists in front",
}
"""What a function may take, by the name of its parameter."""

EXTRA: tuple[Literal["query", "query_text", "documents", "texts"], ...] = (
    "query",
    "query_text",
    "documents",
    "texts",
)
"""Inputs that name documents and queries; what numbers say of them is not all that is read then."""

SIGNATURE = (
    "score(features: float32[documents, features], ranks: int64[documents, rankings]) -> "
    "one number a document"
)
"""What a function usually is; `ranks` count from 0, best first."""

OF_LISTS = (
    "score(features: float32[lists, documents, features], mask: bool[lists, documents]) -> one "
    "number a document"
)
"""A function that takes several lists at once."""

MORE = (
    "Inputs are passed by parameter name: features, ranks, query (its id), query_text (from "
    "`ingest --query-texts`), documents (their ids), texts (from `ingest --texts`), mask (several "
    "lists at once). A function has those that it needs. Tied documents of an initial ranking "
    "share a rank. A score of −inf means last."
)
"""What else a function may take, in a sentence."""


@dataclass(frozen=True)
class CallSignature:
    """Inputs of a call.

    Attributes:
        places: inputs given by place.
        names: inputs given by name.
        optional: those of them that have a default.
    """

    places: tuple[str, ...]
    names: tuple[str, ...] = ()
    optional: frozenset[str] = frozenset()

    @property
    def inputs(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.places, *self.names)

    def call(self, function: Callable[..., Any], values: Mapping[str, Any]) -> Any:
        """Result of the function; an optional input that is missing keeps its default."""
        by_name = {name: values[name] for name in self.names if name in values}
        return function(*(values[name] for name in self.places), **by_name)


def call_signature(function: Callable[..., Any]) -> CallSignature:
    """Inputs of a function, from the names of its parameters.

    A single needed parameter of any other name receives the features; a function without a
    signature receives features and ranks.

    >>> call_signature(lambda ranks, features, query, texts=None, scale=2.0: 0).inputs
    ('ranks', 'features', 'query', 'texts')
    >>> call_signature(lambda x: 0).inputs
    ('features',)
    >>> call_signature(lambda features, _ranks: 0).places
    ('features', 'ranks')

    Raises:
        ValueError: it needs something else; the text says what.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # something compiled
        return CallSignature(("features", "ranks"))
    parameters = {
        name: parameter
        for name, parameter in signature.parameters.items()
        if parameter.kind not in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}
    }
    needed = [
        name for name, parameter in parameters.items() if parameter.default is parameter.empty
    ]
    # Several unknown names could be swapped silently, so only one is accepted
    is_unknown = not INPUTS.keys() & set(needed or parameters)
    if len(needed) <= 1 and is_unknown and _can_bind(signature, 1):
        return CallSignature(("features",))
    plain = [name.lstrip("_") for name in needed]
    if plain != needed and set(plain) <= INPUTS.keys():  # `_ranks` is not used, and given by place
        return CallSignature(tuple(plain))
    wrong = [name for name in needed if name not in INPUTS]
    if wrong or not parameters.keys() & INPUTS.keys():
        finding = f"it needs {', '.join(wrong)}" if wrong else "it has no parameter"
        raise ValueError(f"{finding}; the known parameters are {', '.join(INPUTS)}")
    places = [name for name in needed if parameters[name].kind is inspect.Parameter.POSITIONAL_ONLY]
    # `mask` is left out: giving it changes the shape of all other inputs
    optional = [
        name
        for name, parameter in parameters.items()
        if name in INPUTS.keys() - {*needed, "mask"}
        and parameter.kind is not parameter.POSITIONAL_ONLY
    ]
    by_name = [name for name in parameters if name in {*needed, *optional} and name not in places]
    return CallSignature(tuple(places), tuple(by_name), frozenset(optional))


def _can_bind(signature: inspect.Signature, count: int) -> bool:
    try:
        signature.bind(*range(count))
    except TypeError:
        return False
    return True
