"""The study of attention as what would make it again, and one list's map in Python."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from core.studies.command import changed_lists, list_flags, opened, rankers_of

DEAD_BELOW = 0.1


def attention_command(
    rankers: Sequence[str],
    facts: Mapping[str, Any],
    queries: int | None = None,
    dead_below: float = DEAD_BELOW,
) -> str:
    """The command that looks at the heads of rankers over all test queries.

    Args:
        rankers: `ranker` or `ranker@preset`.
        facts: `data`, `lists`, `preset`.
        queries: only the first so many test queries; None: all.
        dead_below: a point that gets less than this times its fair share is dead.

    Raises:
        UsageError: no flags say how the lists are made.

    >>> attention_command(["setrank-msab"], {"data": "mine"})
    'shuffleproof study attention --rankers setrank-msab --data mine'
    """
    words = ["shuffleproof", "study", "attention", "--rankers", ",".join(rankers)]
    if facts["data"] != "sample":
        words += ["--data", facts["data"]]
    words += list_flags(facts)
    words += [] if queries is None else ["--queries", str(queries)]
    words += [] if dead_below == DEAD_BELOW else ["--dead-below", f"{dead_below:g}"]
    return shlex.join(words)


def list_command(
    ranker: str, query: str, which: Mapping[str, Any], facts: Mapping[str, Any]
) -> str:
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
    words = shlex.split(attention_command([ranker], facts))
    words += ["--query", query, f"--change={which['change']}", "--map", which["kind"]]
    words += ["--block", str(which["block"] + 1)] if which["block"] else []
    words += [] if which["head"] is None else ["--head", str(which["head"] + 1)]
    return shlex.join(words)


def attention_study_python(recipe: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """The lines that make a stored study of attention and print what every head looks at.

    Args:
        recipe: of the study.
        facts: of the study: `data`, `lists`, `preset`.
    """
    rankers = rankers_of(recipe)
    lines = ["from core.rankers.initial import ListRecipe"] if changed_lists(facts) else []
    lines += [
        "from core.studies import attention, attention_text",
        "from core.studies.result import StudyResult",
        "from core.studies.workbench import Workbench, finished",
        "",
        f"bench = finished(Workbench.opened({', '.join(opened(facts))}))",
        f"rankers, queries, dead_below = {rankers!r}, {recipe['queries']}, {recipe['dead_below']}",
        "stored = finished(attention.run(bench, rankers, queries, dead_below))",
        "print(attention_text.finding(StudyResult.open(stored.path), rankers[0]))",
    ]
    return "\n".join(lines) + "\n"


def attention_python(
    ranker: str, query: str, which: Mapping[str, Any], facts: Mapping[str, Any]
) -> str:
    """The lines that print one map of one query, before and after a change.

    Args:
        ranker: `ranker` or `ranker@preset`.
        query: its id.
        which: `kind`, `block` and `head` of the map, and `change`.
        facts: `data`, `lists`, `preset`.
    """
    lists = changed_lists(facts)
    lines = ["import numpy as np", "", "from core.data.lists import JudgedLists"]
    lines += ["from core.rankers.initial import ListRecipe"] if lists else []
    lines += [
        "from core.studies.attention_change import Change",
        "from core.studies.attention_look import looked",
        "from core.studies.workbench import Workbench, finished",
        "",
        f"bench = finished(Workbench.opened({', '.join(opened(facts))}))",
        f"ranker = finished(bench.trained({ranker!r})).ranker",
        "test = bench.prepared.test",
        f"query = test.dataset.query_ids.index({query!r})",
        "one = test.lists.select(np.flatnonzero(test.lists.queries == query))",
        f"for change in ('initial', {which['change']!r}):  # as it is, and after the change",
        "    seen = looked(ranker, JudgedLists(test.dataset, one), Change.parse(change))",
        f"    print(seen.record.map_of({which['kind']!r}, {which['block']!r}, {which['head']!r}))",
    ]
    return "\n".join(lines) + "\n"
