"""Blocks of whole lines from plain or compressed files, bounded against hostile ones."""

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeAlias, cast

from shuffleproof.core.errors import DataError, LetorError

PARQUET, ARROW, STREAM, JSON, CSV = "parquet", "arrow", "arrow stream", "json", "csv"
UTF8_MARK = b"\xef\xbb\xbf"
HEADS = {
    b"PAR1": PARQUET, b"ARROW1": ARROW, b"\xff\xff\xff\xff": STREAM,
    b"{": JSON, UTF8_MARK + b"{": JSON,
}  # fmt: skip
"""Kinds of tables by their first bytes; LETOR text begins with a number."""

SEQUENTIAL = (STREAM, JSON, CSV)
"""Kinds that are read from front to back, so that no copy is made of a packed file of them."""

HEAD = 4096  # bytes at the start of a file that show its format

START = 1 << 16
"""Bytes of text that a look at a file's start takes, or one line where that is longer."""

BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError)
ZIP = b"PK\x03\x04"
UNPACKERS: Mapping[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open, ZIP: zipfile.ZipFile,
}  # fmt: skip
"""By its first bytes how a file is packed, and what opens it."""

UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
LONE_RETURN = (
    "a carriage return that ends no line",
    "Save the file with line ends LF or CR LF; CR alone ends no line.",
)
"""What is found and what to do where lines end as on old Macintoshes."""


BinaryFile: TypeAlias = io.BufferedIOBase
"""A file of bytes that can seek: an open file, an upload, `io.BytesIO`."""

Source: TypeAlias = Path | BinaryFile


@dataclass(frozen=True)
class Limits:
    """Limits of a file."""

    line_bytes: int = 1 << 19  # of one line
    feature_id: int = 1 << 16  # the highest
    matrix_bytes: int = 1 << 36  # of the float32 matrix, which has a column for each id that occurs
    decoded_bytes: int = 1 << 38  # of text after decompression
    # of decoded to compressed bytes, once 64 MiB have been decoded, and of the matrix to
    # the decoded text, once it has 256 MiB
    ratio: float = 250.0
    block_bytes: int = 1 << 18  # read and parsed at a time


class MissingCells(StrEnum):
    """Replacement of a NULL or NaN cell.

    Where smaller is better, as in MQ2007-agg's ranks, `largest` says what a missing rank means.
    `missing` keeps the cell absent, like one that a line of LETOR text leaves out.
    """

    ERROR = "error"
    ZERO = "zero"
    MEAN = "mean"
    LARGEST = "largest"
    MISSING = "missing"


@dataclass(frozen=True)
class Block:
    """Whole lines, the last byte a newline."""

    text: bytes  # the lines
    first_line: int  # the 1-based number of the first
    lines: int  # how many there are
    stored: int  # bytes of the file as stored that have been read so far
    decoded: int  # bytes of text that have been read so far


@dataclass(frozen=True)
class DecodedFile:
    """A file that is read unpacked."""

    stream: BinaryFile  # of its bytes
    consumed: Callable[[], int]  # bytes of the file, as stored, that were read so far
    size: int  # decoded bytes, 0 when unknown
    head: bytes = b""  # the first decoded bytes


def blocks(
    source: Source, name: str, limits: Limits, *, documents: bool = False
) -> Generator[Block, None, None]:
    """The whole file as blocks of lines; a missing last newline is added.

    Args:
        source: of text.
        name: what errors call it.
        limits: bounds of the file.
        documents: rows of documents are wanted, so that other text is refused.

    Raises:
        DataError: unreadable, damaged, or larger than the limits.
        LetorError: a line longer than the limits.
    """
    with unpacked_file(source, name) as decoded:
        total, line = 0, 1
        while text := _whole_lines(decoded.stream, limits):
            if total == 0:
                _check_is_text(text[:HEAD], name, documents=documents)
            total += len(text)
            check_size(decoded, total, name, limits)
            text = text.removeprefix(UTF8_MARK) if line == 1 else text
            lines = text.count(b"\n")
            if not text.endswith(b"\n"):
                last = text[text.rfind(b"\n") + 1 :]
                if len(last) > limits.line_bytes:
                    raise long_line(name, line + lines, last, limits)
                text, lines = text + b"\n", lines + 1
            yield Block(text, line, lines, decoded.consumed(), total)
            line += lines


def lines(source: Source, name: str, limits: Limits) -> Iterator[tuple[int, bytes]]:
    """Every line of a file with its number, from 1 on, without the newline; errors of `blocks`."""
    for block in blocks(source, name, limits):
        yield from enumerate(block.text.split(b"\n")[:-1], block.first_line)


def text_lines(source: Source, name: str, limits: Limits, form: str) -> Iterator[tuple[int, str]]:
    """Every line that is not blank, with its number, as text, without its end.

    The error of an empty file has `form`, the shape of a line, as its remedy.

    Raises:
        LetorError: a line that is not UTF-8, or that a carriage return ends; see `blocks`.
        DataError: no line; see `blocks`.
    """
    empty = True
    for at, line in lines(source, name, limits):
        if not line.strip():
            continue
        empty = False
        text = line.decode(errors="backslashreplace").removesuffix("\r")
        if "\r" in text:
            raise LetorError(name, at, text, *LONE_RETURN)
        try:
            line.decode()
        except UnicodeDecodeError as error:
            finding = "bytes that are not UTF-8"
            raise LetorError(name, at, text, finding, "Save it as UTF-8.") from error
        yield at, text
    if empty:
        raise DataError(name, "no lines", form)


def _whole_lines(stream: BinaryFile, limits: Limits) -> bytes:
    """The next lines, empty at the end; one that is too long is cut behind its limit."""
    text = stream.read(limits.block_bytes)
    if text and not text.endswith(b"\n"):
        text += stream.readline(limits.line_bytes + 1)
    return text


def long_line(name: str, line: int, text: bytes, limits: Limits) -> LetorError:
    """The error of a line that is too long."""
    return LetorError(
        name,
        line,
        text[:200].decode(errors="backslashreplace"),
        f"a line of more than {limits.line_bytes:,} bytes",
        "A row of LETOR text is one document; check that this is such a file.",
    )


def _check_is_text(head: bytes, name: str, *, documents: bool) -> None:
    """Refuse what begins like something else than text, or than rows of documents."""
    if head.startswith(UTF16_MARKS):
        raise DataError(name, "text encoded as UTF-16", "Save it as UTF-8 or ASCII.")
    if head[257:262] == b"ustar":
        remedy = "Unpack it, or make a zip archive of its files."
        raise DataError(name, "a tar archive, which is not read as a data set", remedy)
    if b"\0" in head:
        raise DataError(
            name,
            "binary data (a zero byte)",
            "A data set is LETOR text (label qid:id 1:value …); all else is a table or JSON lines. "
            "A file named .gz or .zip must really be one.",
        )
    if documents and head.lstrip().startswith(b"["):
        finding = "a JSON array, which is not read as a data set"
        remedy = "Write an object a line, as DataFrame.to_json(…, orient='records', lines=True)."
        raise DataError(name, finding, remedy)


def kind_of(head: bytes) -> str | None:
    r"""The kind of table that begins so; None: none. CSV begins with names or numbers.

    >>> kind_of(b"PAR1.."), kind_of(b"2 qid:1"), kind_of(b"query,label,bm25\n")
    ('parquet', None, 'csv')
    """
    kind = next((kind for start, kind in HEADS.items() if head.startswith(start)), None)
    if kind or b"\0" in head or head.startswith(UTF16_MARKS):
        return kind
    line = head.removeprefix(UTF8_MARK).lstrip(b"\r\n").split(b"\n", 1)[0].split(b"#", 1)[0]
    words = line.split() or [b""]
    number = words[0][:1] in {b"", *(bytes([one]) for one in b"0123456789+-.[")}
    if number:  # LETOR text begins with a label, and has colons
        csv = b":" not in words[0] and max(map(words[0].count, (b",", b";"))) > 1
    else:
        csv = max(map(line.count, (b",", b";", b"\t"))) > 0
    return CSV if csv else None


def check_size(decoded: DecodedFile, total: int, name: str, limits: Limits) -> None:
    """Refuse a file that grows beyond the limits; `total` is its decoded bytes so far.

    Raises:
        DataError: it does.
    """
    if total > limits.decoded_bytes:
        raise DataError(
            name, f"more than {limits.decoded_bytes:,} bytes of text", "Split the file."
        )
    if total > 1 << 26 and not decoded.size:
        ratio = total / max(decoded.consumed(), 1)
        if ratio > limits.ratio:
            raise DataError(
                name,
                f"compressed data that grows {ratio:.0f}-fold, as a decompression bomb does",
                "If it is genuine, unpack it first.",
            )


@contextmanager
def unpacked_file(source: Source, name: str, *, seekable: bool = False) -> Iterator[DecodedFile]:
    """Decompressed stream of a file, by its first bytes and not by its name.

    With `seekable`, a packed table is copied into memory, so that any place of it can be read.
    Only a process with limited memory may do so: the limit ends a decompression bomb.

    Raises:
        DataError: it cannot be read, or is damaged.
    """
    with ExitStack() as stack:
        try:
            raw = stack.enter_context(source.open("rb")) if isinstance(source, Path) else source
            head = raw.read(HEAD)
            raw.seek(0)
            decoded = _opened(raw, head, name, stack)
            if decoded.stream is not raw:
                head = cast("Any", decoded.stream).peek(HEAD)[:HEAD]
                if seekable and kind_of(head) not in (None, *SEQUENTIAL):
                    decoded = replace(decoded, stream=io.BytesIO(decoded.stream.read()))
            yield replace(decoded, head=head)
        except (*BROKEN, NotImplementedError) as error:
            # Errors of the operating system have a number; those of damaged streams have none
            if isinstance(error, OSError) and error.errno is not None:
                finding = error.strerror or str(error)
                raise DataError(name, finding, "Check the path.") from error
            raise DataError(
                name,
                f"damaged or incomplete compressed data ({error})",
                "Fetch the file again or unpack it elsewhere; nothing was stored.",
            ) from error


def _opened(raw: BinaryFile, head: bytes, name: str, stack: ExitStack) -> DecodedFile:
    for start, opened in UNPACKERS.items():
        if head.startswith(start):
            stream = stack.enter_context(opened(raw))
            if start == ZIP:
                return _member(stream, name, stack)
            return DecodedFile(stream, raw.tell, 0)
    return DecodedFile(raw, raw.tell, raw.seek(0, io.SEEK_END) - raw.seek(0))


def _member(archive: zipfile.ZipFile, name: str, stack: ExitStack) -> DecodedFile:
    """The one file of an archive."""
    members = [member for member in archive.infolist() if not member.is_dir()]
    if len(members) != 1:
        names = ", ".join(member.filename for member in members[:5])
        raise DataError(name, f"{len(members)} files in the archive ({names})", "Pack one.")
    stream = cast("BinaryFile", stack.enter_context(archive.open(members[0])))
    return DecodedFile(stream, lambda: members[0].compress_size, 0)
