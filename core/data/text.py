"""Ragged text held in one byte array: document ids and comments of millions of rows.

Python strings for ten million document ids would cost a gigabyte; spans of one UTF-8 blob are
memory-mappable, and two columns can share a blob (a document id is a span of its comment). Spans
of a blob below 4 GiB may be 32-bit numbers.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from jaxtyping import Int64, UInt8, UInt32

Spans: TypeAlias = Int64[np.ndarray, " rows"] | UInt32[np.ndarray, " rows"]


@dataclass(frozen=True, eq=False)
class TextColumn:
    """One string a row: row i is `blob[starts[i]:ends[i]]` in UTF-8."""

    blob: UInt8[np.ndarray, " bytes"]
    starts: Spans
    ends: Spans

    @classmethod
    def of(cls, texts: Iterable[str | bytes]) -> "TextColumn":
        """A column of the given strings, or of their bytes.

        >>> TextColumn.of(["GX01", ""])[0]
        'GX01'
        """
        encoded = [text if isinstance(text, bytes) else text.encode() for text in texts]
        bounds = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(text) for text in encoded], out=bounds[1:])
        blob = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        return cls(blob, bounds[:-1], bounds[1:])

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.starts)

    def __getitem__(self, row: int) -> str:
        """The string of one row; bytes that are no UTF-8 are escaped, so that ids stay apart."""
        text = bytes(self.blob[self.starts[row] : self.ends[row]])
        return text.decode(errors="backslashreplace")

    def __iter__(self) -> Iterator[str]:
        """The strings, in row order."""
        return (self[row] for row in range(len(self)))

    def pieces(self) -> Iterator[tuple[Int64[np.ndarray, " some"], UInt8[np.ndarray, " bytes"]]]:
        """(lengths, bytes) of consecutive rows, 8,192 at a time: alike for alike content."""
        for row in range(0, len(self), 1 << 13):
            starts = self.starts[row : row + (1 << 13)].astype(np.int64)
            ends = self.ends[row : row + (1 << 13)].astype(np.int64)
            lengths = ends - starts
            if np.array_equal(starts[1:], ends[:-1]):
                yield lengths, self.blob[starts[0] : ends[-1]]
            else:
                first = np.cumsum(lengths) - lengths  # place of each row's first byte
                places = np.repeat(starts - first, lengths) + np.arange(lengths.sum())
                yield lengths, self.blob[places]

    def take(self, rows: Int64[np.ndarray, " taken"] | slice) -> "TextColumn":
        """The column of these rows; the blob is shared, not copied."""
        return TextColumn(self.blob, self.starts[rows], self.ends[rows])
