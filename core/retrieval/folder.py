"""The files of a folder, those inside its archives among them, told apart by what they are for."""

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
MOST_MEMBER = 1 << 31
"""Bytes of one file in an archive."""
PACKED = (".gz", ".bz2", ".xz", ".zip")
ARCHIVES = (".tar", ".tgz", ".tbz2", ".txz")
BESIDE = re.compile(r"readme|manifest|licen|\.run$|\.md$|\.sha256$|\.md5$", re.IGNORECASE)
JUDGMENTS = re.compile(r"qrel|\.rel$|rlv-ass|judg", re.IGNORECASE)
QUERIES = re.compile(r"quer|\.qry|topic", re.IGNORECASE)
TABLES = (".parquet", ".arrow", ".feather")
FOLDERS = {"corpus": "documents", "queries": "queries"}
"""Folders of tables as MTEB's collections have them, by the role of their files; others judge."""

BOMB = 250
"""Bytes in an archive to those of the archive at most, once they are BOMB_LEAST."""
BOMB_LEAST = 1 << 28

RETURNS = re.compile(r"\r(?!\n)")


@dataclass(frozen=True)
class File:
    """A file of text: in a folder, or a member of an archive in it.

    Attributes:
        path: of the file, or of the archive.
        archive: the archive, opened, where it is a member of one.
        member: its entry there.
    """

    path: Path
    archive: tarfile.TarFile | None = None
    member: tarfile.TarInfo | None = None

    def __str__(self) -> str:
        """What messages call it."""
        return str(self.path) if self.member is None else f"{self.path}/{self.member.name}"

    @property
    def name(self) -> str:
        """Its name, without what says how it is packed."""
        name = self.path.name if self.member is None else Path(self.member.name).name
        for ending in PACKED:
            name = name.removesuffix(ending)
        return name

    @property
    def role(self) -> str:
        """What its name says it holds: documents, queries, judgments, or nothing of these."""
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
        """Every row of a table with its number, from 1 on: those of the wanted columns it has.

        Raises:
            DataError: no table, damaged, or beyond bounds.
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
        """Every line with its number, from 1 on; what is no UTF-8 is read as Latin-1.

        Raises:
            DataError: damaged, too large, or no text.
            LetorError: a line that is too long, or a lone carriage return.
        """
        for block in blocks(self._source(), str(self), LIMITS):
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
        """Its first line that is not blank, with a tab at its end; empty: none, or no text."""
        try:
            return next((line.lstrip().rstrip(" ") for _, line in self.lines() if line.strip()), "")
        except LetorError:
            raise
        except DataError:  # no text: neither documents nor queries
            return ""

    def _source(self) -> Source:
        if self.archive is None or self.member is None:
            return self.path
        stream = self.archive.extractfile(self.member)
        if stream is None:
            raise DataError(str(self), "no file of text", "Unpack the archive.")
        return cast("io.BufferedIOBase", stream)


@contextmanager
def open_files(folder: Path) -> Iterator[Sequence[File]]:
    """Every file below a folder, or of one archive, by name; archives stay open meanwhile.

    Raises:
        DataError: there is nothing there, or a damaged archive.
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
        for member in archive:  # the next one is found by unpacking this one
            size += member.size
            if member.size > MOST_MEMBER or size > most:
                finding = f"an archive of {size >> 20:,} MiB and more, as a decompression bomb is"
                raise DataError(str(path), finding, "If it is genuine, unpack it first.")
            if member.isfile():
                members.append(member)
    except (tarfile.TarError, *BROKEN, ValueError) as error:
        why = str(error).partition(":\n")[0]  # not what each way of unpacking met
        remedy = "Fetch it again or unpack it elsewhere."
        raise DataError(str(path), f"a damaged archive ({why})", remedy) from error
    return [File(path, archive, member) for member in members]
