"""Named sets of rankers; names only."""

from collections.abc import Mapping, Sequence
from typing import Any

from shuffleproof.core.rankers.name import RankerName

ALONE = ("ranksvm", "rankboost", "mart", "lambdamart")
SETS = ("dlcm-without-init", "gsf", "setrank-msab", "setrank-imsab")
INITIALS = ("dlcm", "setrank-msab-init", "setrank-imsab-init", "setrank-imsab-multi-init")
PAIRWISE = ("irsvm", "ranknet", "lambdarank", "frank", "frank-additive", "listnet")
PAIRS = ("pair-net", "pair-trees")

NAMED: Mapping[str, tuple[str, ...]] = {
    "table2": (*ALONE, *SETS, *INITIALS),
    "pairwise": ("ranksvm", *PAIRWISE, "rankboost"),
    "all": (*ALONE, *PAIRWISE, *SETS, *INITIALS, "dlcm-listmle", "dlcm-softrank", *PAIRS),
}
"""The three groups of the paper's Table 2, the pairwise rankers, and everything."""

CONTRAST = ("lambdamart", "dlcm", "setrank-imsab-init")
"""Document by document, in the input order, and as a set that knows the initial ranking."""

SHIPPED = (
    *("lambdamart", "dlcm", "setrank-imsab", "setrank-imsab-init"),
    *("dlcm-without-init", "setrank-msab", "setrank-msab-init"),
)
"""Of Figure 3 and the certificates that ship with the sample."""


def expand(names: Sequence[str]) -> dict[str, RankerName]:
    """The rankers named, by label, sets of them taken apart, each once.

    >>> list(expand(["lambdamart", "table2"]))[:3]
    ['lambdamart', 'ranksvm', 'rankboost']

    Raises:
        UsageError: what is no name of a ranker.
    """
    labels = dict.fromkeys(label for name in names for label in NAMED.get(name, (name,)))
    return {label: RankerName.parse(label) for label in labels}


def named_rankers(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The rankers of a table, each once; a set of them by its name.

    >>> named_rankers([{"label": "ideal"}, {"label": "dlcm"}, {"label": "initial: mart"}])
    ['dlcm']
    """
    every_label = dict.fromkeys(str(row["label"]) for row in rows)
    labels = [label for label in every_label if not RankerName.of(label).is_reference]
    return next(([name] for name, members in NAMED.items() if list(members) == labels), labels)


def seeds_of(rows: Sequence[Mapping[str, Any]]) -> int:
    """The seeds of each ranker; a row that draws nothing has one."""
    return max((int(row["seeds"]) for row in rows), default=1)
