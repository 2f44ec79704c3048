"""Numbers in the text tables of commands: a true minus, no sign on what prints as 0."""

import math

import pandas as pd

MINUS, DASH = "−", "–"


def fixed(value: float | int, digits: int = 3) -> str:
    """A number with so many decimals; a dash where there is none.

    >>> fixed(-0.25), fixed(-0.0001), fixed(float("nan"))
    ('−0.250', '0.000', '–')
    """
    if math.isnan(value):
        return DASH
    return f"{round(float(value), digits) + 0.0:.{digits}f}".replace("-", MINUS)


def short(value: float | int) -> str:
    """A number with three significant digits; a dash where there is none.

    >>> short(-0.0), short(-1234.5), short(-1e-9), short(20)
    ('0', '−1.23e+03', '−1e−09', '20')
    """
    return DASH if math.isnan(value) else f"{float(value) + 0.0:.3g}".replace("-", MINUS)


def printed(frame: pd.DataFrame, digits: int = 3) -> pd.DataFrame:
    """A frame whose numbers with decimals are text, as `fixed` writes them.

    >>> printed(pd.DataFrame({"budget": [1], "damage": [-0.0001]})).to_dict("list")
    {'budget': [1], 'damage': ['0.000']}
    """
    found = frame.copy()
    for name in frame.select_dtypes("float"):
        found[name] = frame[name].map(lambda value: fixed(value, digits))
    return found
