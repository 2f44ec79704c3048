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
    of_files = {name: fields for name, fields in (given or {}).items() if isinstance(fields, dict)}
    given = {name: text for name, text in (given or {}).items() if name not in of_files}
    if unknown := sorted(given.keys() - set(FIELDS)):
        raise UnknownNameError("group", unknown[0], FIELDS)
    parts = [_parts(path) for path in files]
    # The end that most names share is the data set, if two other parts of some name are left
    (shared, count), *_ = Counter(names[-1] for names in parts).most_common(1)
    ending = [names for names in parts if names[-1] == shared]
    most = max(sum(not NUMBERED.fullmatch(name) for name in names) for names in ending)
    shared = shared if count > len(files) / 2 and count > 1 and most > 2 else ""
    groups = [_group(path, names, shared, given) for path, names in zip(files, parts, strict=True)]
    stages = {group.first_stage for group in groups if group.reranker}
    return [
        replace(
            # A single name that others begin with is their first stage
            replace(group, first_stage=group.reranker, reranker="")
            if not group.first_stage and group.reranker in stages
            else group,
            **of_files.get(group.path.name, {}),
        )
        for group in groups
    ]  # fmt: skip


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


def _group(path: Path, names: list[str], shared: str, given: Mapping[str, str]) -> Group:
    numbers, others = {"depth": 0, "repeat": 1}, []
    for name in names:
        match = NUMBERED.fullmatch(name)
        if match is None:
            others.append(name)
        else:
            numbers |= {key: int(text) for key, text in match.groupdict().items() if text}
    is_first = path.parent.name == FIRST_STAGE
    if others[-1:] == [shared] and len(others) > 1:
        others.pop()
    others = others or names
    first, reranker = others[0], ".".join(others[1:])
    if not (is_first or reranker):  # one name says only who answered
        first, reranker = "", others[0]
    values: dict[str, Any] = {"first_stage": first, "reranker": reranker, **numbers}
    for field, text in given.items():
        if field in numbers:
            if not text.isdecimal():
                raise ParameterError(f"--groups {field}", text, "a whole number")
            values[field] = int(text)
        else:
            values[field] = text
    return Group(path, **values | ({"reranker": ""} if is_first else {}))
