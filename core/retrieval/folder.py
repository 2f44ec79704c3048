"""Files of a folder, including members of its archives, with their roles."""

import io
import re
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from shuffleproof.core.data import tables
from shuffleproof.core.data.letor.stream import (
    BROKEN,
    LONE_RETURN,
    Limits,
    Source,
    blocks,
)
from shuffleproof.core.errors import DataError, LetorError

LIMITS = Limits(line_bytes=1 << 24, decoded_bytes=1 << 38)
PACKED = (".gz", ".bz2", ".xz", ".zip")
ARCHIVES = (".tar", ".tgz", ".tbz2", ".txz")
BESIDE = re.compile(r"readme|manifest|licen|\.run$|\.md$|\.sha256$|\.md5$", re.IGNORECASE)
JUDGMENTS = re.compile(r"qrel|\.rel$|rlv-ass|judg", re.IGNORECASE)
QUERIES = re.compile(r"quer|\.qry|topic", re.IGNORECASE)
TABLES = (".parquet", ".arrow", ".feather")
FOLDERS = {"corpus": "documents", "queries": "queries"}
"""Roles of files by folder, as in MTEB's collections; tables elsewhere are judgments."""

BOMB = 250  # Maximum ratio of unpacked to packed bytes, above BOMB_LEAST unpacked bytes
BOMB_LEAST = 1 << 28

RETURNS = re.compile(r"\r(?!\n)")


@dataclass(frozen=True)
class File:
    """Text file: in a folder, or a member of an archive in it."""

    path: Path  # of the file, or of the archive
    archive: tarfile.TarFile | None = None  # the opened archive of a member
    member: tarfile.TarInfo | None = None  # its entry there

    def __str__(self) -> str:
        """Path for messages."""
        return str(self.path) if self.member is None else f"{self.path}/{self.member.name}"

    @property
    def name(self) -> str:
        """Name without the suffix of its compression."""
        name = self.path.name if self.member is None else Path(self.member.name).name
        for ending in PACKED:
            name = name.removesuffix(ending)
        return name

    @property
    def role(self) -> str:
        """Role by name: documents, queries, judgments, or empty."""
        if BESIDE.search(self.name):
            return ""
        if self.is_table and not (JUDGMENTS.search(self.name) or QUERIES.search(self.name)):
            stem = self.path.stem if self.path.stem in FOLDERS else self.path.parent.name
            return FOLDERS.get(stem, "judgments")
        if JUDGMENTS.search(self.name) or self.path.parent.name == "qrels":
            return "judgments"
        return "queries" if QUERIES.search(self.name) else "documents"

    @property
    def is_table(self) -> bool:
        """True for Parquet and Arrow, which are read in a guarded process."""
        return self.member is None and self.path.suffix in TABLES

    def rows(self, wanted: Sequence[str]) -> Iterator[tuple[int, dict[str, object]]]:
        """Rows of a table with their numbers, from 1; only the wanted columns that it has.

        Raises:
            DataError: not a table, damaged, or beyond the limits.
        """
        at = 0
        for batch, _ in tables.batches(self.path, str(self), list(wanted)):
            columns = [
                values if isinstance(values, list) else values.tolist() for values in batch.values()
            ]
            for row in zip(*columns, strict=True):
                at += 1
                yield at, dict(zip(batch, row, strict=True))

    def lines(self) -> Iterator[tuple[int, str]]:
        """Lines with their numbers, from 1; invalid UTF-8 is read as Latin-1.

        Raises:
            DataError: damaged, too large, or not text.
            LetorError: a line that is too long, or a single carriage return.
        """
        source: Source = self.path
        if self.archive is not None and self.member is not None:  # a member that is a file
            source = cast("io.BufferedIOBase", self.archive.extractfile(self.member))
        for block in blocks(source, str(self), LIMITS):
            raw = block.text
            try:
                text = raw.decode()
            except UnicodeDecodeError:
                text = raw.decode("latin-1")
            for number, line in enumerate(text.split("\n")[:-1], block.first_line):
                if "\r" in line and RETURNS.search(line.removesuffix("\r")):
                    raise LetorError(str(self), number, line, *LONE_RETURN)
                yield number, line.removesuffix("\r")

    def first_line(self) -> str:
        """First line that is not blank, with its final tab; empty without one, or if not text."""
        try:
            return next((line.lstrip().rstrip(" ") for _, line in self.lines() if line.strip()), "")
        except LetorError:
            raise
        except DataError:  # not text: neither documents nor queries
            return ""


@contextmanager
def open_files(folder: Path) -> Iterator[Sequence[File]]:
    """Files below a folder, or of one archive, by name; archives stay open in the context.

    Raises:
        DataError: the path does not exist, or an archive is damaged.
    """
    if not folder.exists():
        raise DataError(str(folder), "no such folder", "Check the path.")
    with ExitStack() as stack:
        files: list[File] = []
        places = sorted(folder.rglob("*")) if folder.is_dir() else [folder]
        for path in places:
            if not path.is_file() or path.name.startswith("."):
                continue
            if ".tar" in path.suffixes or path.suffix in ARCHIVES:
                files += _members(path, stack)
            else:
                files.append(File(path))
        yield files


def _members(path: Path, stack: ExitStack) -> list[File]:
    try:
        archive = stack.enter_context(tarfile.open(path))  # noqa: SIM115 (so it is)
        members, size, most = [], 0, max(BOMB_LEAST, BOMB * path.stat().st_size)
        for member in archive:  # reading the next header unpacks this member
            size += member.size
            if size > most:
                finding = f"an archive of {size >> 20:,} MiB and more, as a decompression bomb is"
                raise DataError(str(path), finding, "If it is genuine, unpack it first.")
            if member.isfile():
                members.append(member)
    except (tarfile.TarError, *BROKEN, ValueError) as error:
        why = str(error).partition(":\n")[0]  # without the errors of each compression method
        remedy = "Fetch it again or unpack it elsewhere."
        raise DataError(str(path), f"a damaged archive ({why})", remedy) from error
    return [File(path, archive, member) for member in members]
