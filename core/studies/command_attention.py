"""The study of attention as what would make it again, and one list's map in Python."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from core.studies.command import changed_lists, list_flags, opened


def attention_command(rankers: Sequence[str], facts: Mapping[str, Any]) -> str:
    """The command that looks at the heads of rankers over all test queries.

    Args:
        rankers: `ranker` or `ranker@preset`.
        facts: `data`, `lists`, `preset`.

    Raises:
        UsageError: no flags say how the lists are made.

    >>> attention_command(["setrank-msab"], {"data": "mine"})
    'shuffleproof study attention --rankers setrank-msab --data mine'
    """
    words = ["shuffleproof", "study", "attention", "--rankers", ",".join(rankers)]
    if facts["data"] != "sample":
        words += ["--data", facts["data"]]
    return shlex.join(words + list_flags(facts))


def attention_python(
    ranker: str, query: str, which: Mapping[str, Any], facts: Mapping[str, Any]
) -> str:
    """The lines that print one map of one query.

    Args:
        ranker: `ranker` or `ranker@preset`.
        query: its id.
        which: `kind`, `block` and `head` of the map.
        facts: `data`, `lists`, `preset`.
    """
    lists = changed_lists(facts)
    lines = ["import numpy as np", "", "from core.data.lists import JudgedLists"]
    lines += ["from core.rankers.attention_maps import recorded"]
    lines += ["from core.rankers.initial import ListRecipe"] if lists else []
    lines += [
        "from core.studies.workbench import Workbench, finished",
        "",
        f"bench = finished(Workbench.opened({', '.join(opened(facts))}))",
        f"ranker = finished(bench.trained({ranker!r})).ranker",
        "test = bench.prepared.test",
        f"query = test.dataset.query_ids.index({query!r})",
        "one = test.lists.select(np.flatnonzero(test.lists.queries == query))",
        "weights = recorded(ranker, JudgedLists(test.dataset, one))",
        f"print(weights.map_of({which['kind']!r}, {which['block']!r}, {which['head']!r}))",
    ]
    return "\n".join(lines) + "\n"
