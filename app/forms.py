"""Forms of recipes: a widget for every field, with bounds, choices, unit and help.

`core.parameters` declares the fields. Changed values are returned as text, in the syntax of
`core.parameters.value_of` and of the command line's `--set`.
"""

import math
from collections.abc import Collection, Mapping
from typing import Any

import streamlit as st

from shuffleproof.app import terms
from shuffleproof.core.parameters import Parameter, parameters
from shuffleproof.core.rankers.name import with_display_names


def recipe_form(
    recipe: Any, key: str, *, only: Collection[str] | None = None, columns: int = 1
) -> dict[str, str]:
    """Draw a widget for every parameter of a recipe and return changed values, as text.

    Args:
        recipe: an instance of a frozen dataclass with the start values.
        key: prefix of the widgets' keys.
        only: names of the parameters to draw; all by default.
        columns: number of columns.

    Returns:
        Changed values by name: `parsed(recipe, changes)` is the recipe that the form shows.
    """
    places = st.columns(columns) if columns > 1 else [st.container()]
    chosen = [field for field in parameters(recipe) if only is None or field.name in only]
    values: dict[str, Any] = {}
    for at, declared in enumerate(chosen):
        with places[at % columns]:
            now = getattr(recipe, declared.name)
            values[declared.name] = widget(declared, now, f"{key}.{declared.name}")
    return changes(recipe, values)


def changes(recipe: Any, values: Mapping[str, Any]) -> dict[str, str]:
    """Values that differ from a recipe's, as text.

    >>> from shuffleproof.core.metrics.measure import Measure
    >>> changes(Measure("NDCG", 10), {"cutoff": None, "ties": "row", "relevant": 1})
    {'cutoff': 'none', 'ties': 'row'}
    """
    return {
        name: as_text(value) for name, value in values.items() if value != getattr(recipe, name)
    }


def as_text(value: Any) -> str:
    """Text of a value, in the syntax of `core.parameters.value_of`.

    >>> as_text(True), as_text(None), as_text(0.05)
    ('true', 'none', '0.05')
    """
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return str(value)


def widget(declared: Parameter, now: Any, key: str) -> Any:
    """Draw one parameter with a start value; return the current value."""
    kinds = getattr(declared.type, "__args__", (declared.type,))
    label, words = label_of(declared), help_of(declared)
    if declared.choices:
        options = list(declared.choices)
        at = options.index(now) if now in options else None
        return st.selectbox(
            label,
            options,
            index=at,
            key=key,
            help=words,
            format_func=lambda choice: with_display_names(str(choice)),
        )
    if bool in kinds:
        return st.toggle(label, value=bool(now), key=key, help=words)
    if int in kinds or float in kinds:
        return _number(declared, now, key, (label, words))
    text = st.text_input(label, value=str(now), key=key, help=words)
    return now if text == str(now) else text


def _number(declared: Parameter, now: Any, key: str, texts: tuple[str, str]) -> Any:
    kinds = getattr(declared.type, "__args__", (declared.type,))
    kind: Any = float if float in kinds else int
    step = 1 if kind is int else _step(now)
    start = None if now is None else kind(now)
    optional = type(None) in kinds
    if optional:  # Streamlit lets users empty a field only if its default is None
        st.session_state.setdefault(key, start)
    value = st.number_input(
        texts[0],
        min_value=None if declared.low is None else kind(declared.low),
        max_value=None if declared.high is None else kind(declared.high),
        value=None if optional else start,
        step=step,
        format="%d" if kind is int else "%g",
        key=key,
        help=texts[1],
        placeholder="none" if optional else None,
    )
    return start if value is None and not optional else value


def _step(now: Any) -> float:
    """Tenth of the value's power of ten, so that the buttons change its second digit.

    >>> _step(0.005), _step(3.0)
    (0.0001, 0.1)
    """
    if not now:
        return 0.1
    return float(10.0 ** (math.floor(math.log10(abs(now))) - 1))  # 0.005 has log10 ≈ −2.3: 10⁻⁴


def label_of(declared: Parameter) -> str:
    """Label of a parameter, with its unit."""
    words = declared.label or declared.name.replace("_", " ")
    unit = f" ({declared.unit})" if declared.unit else ""
    return words[:1].upper() + words[1:] + unit


def help_of(declared: Parameter) -> str:
    """Help of a parameter, with its bounds."""
    may_be_none = type(None) in getattr(declared.type, "__args__", ())
    text = declared.help[:1].upper() + declared.help[1:]
    if not declared.choices and (declared.low is not None or declared.high is not None):
        text += f"; {declared.allowed}"
    text += "; empty: none." if may_be_none else "."
    return terms.help_with_terms(text, text) or ""
