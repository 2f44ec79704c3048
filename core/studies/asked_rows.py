"""What rows of a stored table were asked for, as somebody would ask for them."""

from collections.abc import Mapping, Sequence
from typing import Any

from shuffleproof.core.rankers.name import INITIAL, RankerName
from shuffleproof.core.studies.ranker_sets import NAMED

REFERENCES = ("ideal", INITIAL, "random")
"""Rows of a table that nobody asked for."""


def named_rankers(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The rankers of a table, each once; a set of them by its name.

    >>> named_rankers([{"label": "ideal"}, {"label": "dlcm"}, {"label": "initial: mart"}])
    ['dlcm']
    """
    given = [str(row["label"]) for row in rows]
    labels = [
        label
        for label in dict.fromkeys(given)
        if label not in REFERENCES and not RankerName.of(label).is_initial
    ]
    return next(([name] for name, own in NAMED.items() if list(own) == labels), labels)


def seeds_of(rows: Sequence[Mapping[str, Any]]) -> int:
    """The seeds of each ranker; a row that draws nothing has one."""
    return max((int(row["seeds"]) for row in rows), default=1)
