"""Groups of recorded files: first stage, reranker, depth and repetition, guessed from their names.

`bm25.rank-vicuna.depth100.dl19.txt.gz` is what RankVicuna made of the first 100 documents of BM25.
Files in a folder `first_stage` are first stages.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shuffleproof.core.errors import DataError, ParameterError, UnknownNameError

FIRST_STAGE = "first_stage"
"""Folder of the files that are first stages."""

OTHERS = {".md", ".py", ".pdf", ".html"}
"""Endings of files in a folder that hold no answers."""

FIELDS = ("first_stage", "reranker", "depth", "repeat")
NUMBERED = re.compile(
    r"(?:depth|top|k)[-_]?(?P<depth>\d+)|(?:repeat|rep|run|seed)[-_]?(?P<repeat>\d+)"
)
"""Parts of file names that are a depth or the number of a repetition."""


@dataclass(frozen=True)
class Group:
    """Content of a file.

    Attributes:
        path: of the file.
        first_stage: ranking that was reranked.
        reranker: empty: the file is the first stage itself.
        depth: documents that were reranked; 0: not known.
        repeat: number of the repetition.
    """

    path: Path
    first_stage: str
    reranker: str
    depth: int = 0
    repeat: int = 1

    @property
    def fields(self) -> dict[str, Any]:
        """Groups by name, without the file."""
        return {name: getattr(self, name) for name in FIELDS}

    def plain(self) -> dict[str, Any]:
        """Row of a table."""
        return {"file": self.path.name, **self.fields}


def files_in(paths: Sequence[Path]) -> list[Path]:
    """Files of some paths; those of folders in the order of their names.

    Raises:
        DataError: a path that is not there, or no file.
    """
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            files += [
                one for one in sorted(path.rglob("*"))
                if one.is_file() and not one.name.startswith((".", "qrels", "README"))
                and one.suffix not in OTHERS
            ]  # fmt: skip
        elif path.is_file():
            files.append(path)
        else:
            raise DataError(str(path), "no such file", "Check the path.")
    if not files:
        raise DataError(", ".join(map(str, paths)), "no files", "Name files of rerankings.")
    return files


def groups_of(
    files: Sequence[Path],
    given: Mapping[str, Any] | None = None,
) -> list[Group]:
    """Groups of files, from their names and from what the user gave.

    Args:
        files: such as `bm25.rank-vicuna.depth100.repeat2.dl19.txt.gz`.
        given: by field a value for all files; by the name of a file its corrected fields.

    Raises:
        UnknownNameError: an unknown field.
        ParameterError: a depth or repetition that is no number.

    >>> files = [Path("first_stage/bm25.x.gz"), Path("bm25.gpt.depth20.x.gz")]
    >>> [(group.first_stage, group.reranker, group.depth) for group in groups_of(files)]
    [('bm25', '', 0), ('bm25', 'gpt', 20)]
    """
    given = dict(given or {})
    of_files = {name: given.pop(name) for name in [*given] if isinstance(given[name], dict)}
    if unknown := sorted(given.keys() - set(FIELDS)):
        raise UnknownNameError("group", unknown[0], FIELDS)
    for name in given.keys() & {"depth", "repeat"}:
        if not str(given[name]).isdecimal():
            raise ParameterError(f"--groups {name}", given[name], "a whole number")
        given[name] = int(given[name])
    parts = [_parts(path) for path in files]
    # The end that most names share is the data set, if two other parts of some name are left
    (shared, count), *_ = Counter(names[-1] for names in parts).most_common(1)
    most = max(sum(not NUMBERED.fullmatch(one) for one in names) for names in parts
               if names[-1] == shared)  # fmt: skip
    shared = shared if count > len(files) / 2 and count > 1 and most > 2 else ""
    groups = [
        replace(_group(path, names, shared), **given)
        for path, names in zip(files, parts, strict=True)
    ]
    stages = {group.first_stage for group in groups if group.reranker}
    found = []
    for group in groups:
        # A single name that others begin with is their first stage
        is_stage = not group.first_stage and group.reranker in stages
        fields = {"first_stage": group.reranker, "reranker": ""} if is_stage else {}
        if group.path.parent.name == FIRST_STAGE:
            fields = {"reranker": ""}
        found.append(replace(group, **fields | of_files.get(group.path.name, {})))
    return found


def corrections(guessed: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]]) -> Any:
    """Changed fields of corrected rows of a table, by the file's name.

    >>> guessed = [Group(Path("a.txt"), "", "a").plain()]
    >>> corrections(guessed, [guessed[0] | {"reranker": " b "}])
    {'a.txt': {'reranker': 'b'}}
    """
    found = {}
    for before, after in zip(guessed, rows, strict=True):
        texts = {name: str(after[name] or "").strip() for name in FIELDS[:2]}
        fields = texts | {"depth": int(after["depth"] or 0), "repeat": int(after["repeat"] or 1)}
        if changed := {name: fields[name] for name in FIELDS if fields[name] != before[name]}:
            found[str(before["file"])] = changed
    return found


def _parts(path: Path) -> list[str]:
    """Parts of a file's name without its endings."""
    name = re.sub(r"(\.(gz|bz2|xz|zst|txt|trec|run|tsv|jsonl?|ndjson))+$", "", path.name)
    return [part for part in re.split(r"[.]|__", name) if part] or [path.name]


def _group(path: Path, names: list[str], shared: str) -> Group:
    """Group of a file from the parts of its name; `shared` is the data set."""
    numbers: dict[str, int] = {}
    others = []
    for name in names:
        if match := NUMBERED.fullmatch(name):
            numbers |= {key: int(text) for key, text in match.groupdict().items() if text}
        else:
            others.append(name)
    if others[-1:] == [shared] and len(others) > 1:
        others.pop()
    first, *rest = others or names
    if not rest and path.parent.name != FIRST_STAGE:  # one name says only who answered
        return Group(path, "", first, **numbers)
    return Group(path, first, ".".join(rest), **numbers)
