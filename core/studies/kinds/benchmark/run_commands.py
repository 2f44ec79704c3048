"""A comparison of TREC runs as what would make it again, in the folder that holds its files."""

import shlex
from collections.abc import Mapping
from typing import Any

USUAL = ["NDCG@10", "AP", "P@10", "RR"]


def is_of_runs(recipe: Mapping[str, Any]) -> bool:
    """Whether a benchmark compares runs from files, and no rankers.

    >>> is_of_runs({"kind": "benchmark", "runs": {"bm25": "…"}}), is_of_runs({"rows": []})
    (True, False)
    """
    return "runs" in recipe


def runs_command(recipe: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """The command that compares the runs again, measures at their defaults left out.

    Args:
        recipe: of the comparison.
        facts: of the comparison: `data` (the judgments' file), `files` (of the runs, by name).

    >>> facts = {"data": "qrels.txt", "files": {"bm25": "input.bm25.gz"}}
    >>> runs_command({"runs": {"bm25": "…"}, "measures": ["AP"]}, facts)
    'shuffleproof runs --qrels qrels.txt input.bm25.gz --measures AP'
    """
    words = ["shuffleproof", "runs", "--qrels", str(facts["data"]), *_files(recipe, facts)]
    if list(recipe["measures"]) != USUAL:
        words += ["--measures", ",".join(recipe["measures"])]
    return shlex.join(words)


def runs_python(recipe: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """The lines that compare the runs and print their table; arguments as the command's."""
    lines = [
        "from pathlib import Path",
        "",
        "from shuffleproof.core.store.artefacts import default_store",
        "from shuffleproof.core.studies.kinds.benchmark import outside_runs, text",
        "",
        f"qrels = Path({str(facts['data'])!r})",
        f"runs = [Path(name) for name in {_files(recipe, facts)!r}]",
        f"result = outside_runs.compared(qrels, runs, {list(recipe['measures'])!r})",
        "print(outside_runs.keep(result, default_store()).key)",
        "print(text.markdown(result, result.measures, []))",
    ]
    return "\n".join(lines) + "\n"


def _files(recipe: Mapping[str, Any], facts: Mapping[str, Any]) -> list[str]:
    """What the runs' files are called; older comparisons noted the names of the runs alone."""
    files = facts.get("files", {})
    return [str(files.get(name, name)) for name in recipe["runs"]]
