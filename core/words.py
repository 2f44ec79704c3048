"""Numbers as people read them, and what they count, in words that agree."""

import math
from collections.abc import Sequence
from typing import Any

MISSING = "–"


def number(value: float | None, spec: str = ".3f") -> str:
    """A number: a true minus, no sign on what prints as 0, a dash where there is none.

    Args:
        value: the number.
        spec: how, as Python's `format` takes it.

    >>> number(-0.25), number(-0.0001), number(float("nan")), number(-1e-9, ".3g")
    ('−0.250', '0.000', '–', '−1e−09')
    >>> number(0.0312, "+.3f"), number(0.954, ".1%"), number(2000, ",.0f")
    ('+0.031', '95.4 %', '2,000')
    """
    if value is None or math.isnan(value):
        return MISSING
    text = format(value, spec)
    if not any(digit in text for digit in "123456789") and math.isfinite(value):
        text = text.lstrip("+-")
    return text.replace("-", "−").replace("%", " %")


def percent(share: float | None, digits: int = 0) -> str:
    """A share of one, in percent.

    >>> percent(0.954), percent(0.0312, 1)
    ('95 %', '3.1 %')
    """
    return number(share, f".{digits}%")


def signed(value: float | None, digits: int = 3) -> str:
    """A difference, its sign written out.

    >>> signed(0.0312), signed(-0.5), signed(-0.0001)
    ('+0.031', '−0.500', '0.000')
    """
    return number(value, f"+.{digits}f")


def interval(low: float | None, high: float | None, spec: str = "+.3f") -> str:
    """An interval.

    >>> interval(-0.5, 0.25), interval(0.1, 0.2, ".2f")
    ('[−0.500, +0.250]', '[0.10, 0.20]')
    """
    return f"[{number(low, spec)}, {number(high, spec)}]"


def p_value(p: float) -> str:
    """A p value, bounded where its digits say nothing.

    >>> p_value(0.0312), p_value(1e-30), p_value(float("nan"))
    ('p = 0.031', 'p < 0.0001', 'p undefined')
    """
    if math.isnan(p):
        return "p undefined"
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.2g}"


def one_line(text: str) -> str:
    r"""A text without line breaks, for where one would end a comment or a table's row.

    >>> one_line("a\nb \u2028 c")
    'a b c'
    """
    return " ".join(text.split())


def cut(text: str, letters: int) -> str:
    """A text cut to a number of letters, with a mark if it was longer.

    >>> cut("abcdef", 4), cut("abc", 4)
    ('abcd…', 'abc')
    """
    return text if len(text) <= letters else f"{text[:letters]}…"


def counted(number: int, singular: str, plural: str = "") -> str:
    """A count with its noun, thousands with commas.

    Args:
        number: how many.
        singular: what one of them is called.
        plural: what others are called; by default the regular plural.

    >>> counted(1, "query"), counted(2000, "query"), counted(14, "pass"), counted(2, "key")
    ('1 query', '2,000 queries', '14 passes', '2 keys')
    """
    return f"{number:,} {singular if number == 1 else plural or _plural(singular)}"


def _plural(noun: str) -> str:
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "sh", "ch", "x")) else f"{noun}s"


def listed(values: Sequence[Any]) -> str:
    """Values as people list them.

    >>> listed([5.0, 10, "oracle"]), listed([40]), listed([1_000_000])
    ('5, 10 and oracle', '40', '1000000')
    """
    texts = [f"{value:g}" if isinstance(value, float) else str(value) for value in values]
    return f"{', '.join(texts[:-1])} and {texts[-1]}" if len(texts) > 1 else "".join(texts)


def duration(seconds: int | float) -> str:
    """A length of time in words, as exact as is of use.

    >>> [duration(seconds) for seconds in (0.2, 48, 75, 1000, 3600, 9000, 200_000)]
    ['1 s', '48 s', '1 min 15 s', '17 min', '1 h', '2 h 30 min', '2 d 7 h']
    """
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 600:
        return _two(whole, 60, "min", "s")
    minutes = round(whole / 60)
    if minutes < 60:
        return f"{minutes} min"
    return _two(minutes, 60, "h", "min") if minutes < 1440 else _two(minutes // 60, 24, "d", "h")


def _two(amount: int, size: int, large: str, small: str) -> str:
    rest = f" {amount % size} {small}" if amount % size else ""
    return f"{amount // size} {large}{rest}"
