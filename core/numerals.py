"""Numbers that people write, ASCII digits, a point and an exponent; and those that JSON can say.

Python's own `int` and `float` take `1_0`, digits of every script, `nan`, `infinity` and numbers
that round to infinity; in a file or a flag each of these is a slip.
"""

import re
from collections.abc import Mapping
from math import isfinite
from typing import Any

NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
WHOLE_WANTED = "a whole number of at most 18 digits"


def number(text: str) -> float:
    """A decimal number, blanks around it aside.

    Raises:
        ValueError: anything else, or a number beyond 1.8e308.

    >>> number(" 1e-3 "), number(".5"), number("-7")
    (0.001, 0.5, -7.0)
    """
    value = float(text) if NUMBER.fullmatch(text.strip(" \t")) else float("nan")
    if not isfinite(value):
        raise ValueError(f"{text[:50]!r} is not a decimal number")
    return value


def whole(text: str) -> int:
    """A whole number of at most 18 digits, blanks around it aside.

    Raises:
        ValueError: anything else.

    >>> whole("+10"), whole(" -3")
    (10, -3)
    """
    if not WHOLE.fullmatch(text.strip(" \t")):
        raise ValueError(f"{text[:50]!r} is not {WHOLE_WANTED}")
    return int(text)


def is_count(text: str) -> bool:
    """True if a text is a whole number from 0 on, without a sign.

    >>> is_count("12"), is_count("-1"), is_count("1_0")
    (True, False, False)
    """
    return text.isascii() and text.isdigit() and len(text) <= 18


def finite(value: Any) -> Any:
    """The value as JSON can say it: tuples as lists, NaN and infinity as null, NumPy unpacked.

    >>> finite({"loss": float("nan"), "levels": (1, 2)})
    {'loss': None, 'levels': [1, 2]}
    """
    if isinstance(value, Mapping):
        return {str(name): finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not isfinite(value):
        return None
    return value
