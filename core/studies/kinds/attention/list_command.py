"""One list's weights as what would show them again: a command line, or Python."""

import shlex
from collections.abc import Mapping
from typing import Any

from shuffleproof.core.studies.kinds.attention.question import Attention
from shuffleproof.core.studies.reproduce import changed_lists, command_of, opening_lines

Facts = Mapping[str, Any]


def list_command(ranker: str, query: str, which: Mapping[str, Any], facts: Facts) -> str:
    """The command that looks at one list.

    Args:
        ranker: `ranker` or `ranker@preset`.
        query: its id.
        which: `kind`, `block` and `head` of the map (from 0; None: the mean) and `change`.
        facts: `data`, `lists`, `preset`.

    Raises:
        UsageError: no flags say how the lists are made.

    >>> list_command("dlcm", "7", {"kind": "phi", "block": 0, "head": None, "change": "-initial"},
    ...              {"data": "sample"})
    'shuffleproof study attention --rankers dlcm --query 7 --change=-initial --map phi'
    """
    words = shlex.split(command_of(Attention((ranker,)), facts))
    words += ["--query", query, f"--change={which['change']}", "--map", which["kind"]]
    words += ["--block", str(which["block"] + 1)] if which["block"] else []
    words += [] if which["head"] is None else ["--head", str(which["head"] + 1)]
    return shlex.join(words)


def list_python(ranker: str, query: str, which: Mapping[str, Any], facts: Facts) -> str:
    """The lines that print one map of one query, before and after a change.

    Args:
        ranker: `ranker` or `ranker@preset`.
        query: its id.
        which: `kind`, `block` and `head` of the map, and `change`.
        facts: `data`, `lists`, `preset`.
    """
    lines = ["import numpy as np", "", "from shuffleproof.core.data.lists import JudgedLists"]
    if changed_lists(facts):
        lines.append("from shuffleproof.core.rankers.initial import ListRecipe")
    lines += [
        "from shuffleproof.core.studies.kinds.attention.list_edit import ListEdit",
        "from shuffleproof.core.studies.kinds.attention.snapshot import looked",
        "from shuffleproof.core.studies.workbench import Workbench, finished",
        "",
        f"bench = {opening_lines(facts)}",
        f"ranker = finished(bench.trained({ranker!r})).ranker",
        "test = bench.prepared.test",
        f"query = test.dataset.query_ids.index({query!r})",
        "one = test.lists.select(np.flatnonzero(test.lists.queries == query))",
        f"for change in ('initial', {which['change']!r}):  # as it is, and after the change",
        "    seen = looked(ranker, JudgedLists(test.dataset, one), ListEdit.parse(change))",
        f"    print(seen.record.map_of({which['kind']!r}, {which['block']!r}, {which['head']!r}))",
    ]
    return "\n".join(lines) + "\n"
