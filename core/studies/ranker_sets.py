"""Rankers that are asked for together, by one name; nothing but names is here."""

from collections.abc import Mapping, Sequence

ALONE = ("ranksvm", "rankboost", "mart", "lambdamart")
SETS = ("dlcm-without-init", "gsf", "setrank-msab", "setrank-imsab")
INITIALS = ("dlcm", "setrank-msab-init", "setrank-imsab-init", "setrank-imsab-multi-init")
PAIRWISE = ("irsvm", "ranknet", "lambdarank", "frank", "frank-additive", "listnet")

NAMED: Mapping[str, tuple[str, ...]] = {
    "table2": (*ALONE, *SETS, *INITIALS),
    "pairwise": ("ranksvm", *PAIRWISE, "rankboost"),
    "all": (*ALONE, *PAIRWISE, *SETS, *INITIALS, "dlcm-listmle", "dlcm-softrank"),
}
"""The three groups of the paper's Table 2, the pairwise rankers, and everything."""


def expanded(names: Sequence[str]) -> list[str]:
    """The rankers named, sets of them taken apart, each once.

    >>> expanded(["lambdamart", "table2"])[:3]
    ['lambdamart', 'ranksvm', 'rankboost']
    """
    return list(dict.fromkeys(one for name in names for one in NAMED.get(name, (name,))))
