"""Frames as CSV text that is safe in spreadsheets."""

from csv import QUOTE_MINIMAL, QUOTE_NONNUMERIC
from typing import Any, Literal

import pandas as pd

from shuffleproof.core.numerals import NUMBER

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What spreadsheets take the first letter of a formula for."""


def csv(frame: pd.DataFrame, *, header: bool = True) -> str:
    r"""A frame as CSV text whose cells no spreadsheet takes for formulas; numbers stay numbers.

    A text, or a column's name, that starts with = + - @, a tab or a carriage return and is no
    number gets an apostrophe in front, which spreadsheets do not show. Where a text holds a
    carriage return, which would end a row, all texts are quoted.

    >>> csv(pd.DataFrame({"query": ["=1+1", "-3", "q"], "value": [-1.5, 0.0, 2.0]}))
    "query,value\n'=1+1,-1.5\n-3,0.0\nq,2.0\n"
    """
    safe = frame.rename(columns=_plain_cell)
    returns = any("\r" in str(name) for name in frame.columns)
    for place in range(safe.shape[1]):
        column = safe.iloc[:, place]
        if not pd.api.types.is_numeric_dtype(column):
            returns |= any(isinstance(cell, str) and "\r" in cell for cell in column)
            safe.isetitem(place, [_plain_cell(cell) for cell in column])
    quoting: Literal[0, 2] = QUOTE_NONNUMERIC if returns else QUOTE_MINIMAL
    return safe.to_csv(index=False, header=header, lineterminator="\n", quoting=quoting)


def _plain_cell(cell: Any) -> Any:
    risky = isinstance(cell, str) and cell.startswith(FORMULA) and not NUMBER.fullmatch(cell)
    return f"'{cell}" if risky else cell
