"""Arrays that grow at their end without a second copy, in memory or in a file."""

import mmap
import os
import tempfile
import weakref
from typing import Any

import numpy as np

from shuffleproof.core.errors import DataError


class GrowingArray:
    """Elements in pages of their own, which go back to the system with the last array of them.

    Pages that nothing was written to take no memory.
    """

    def __init__(self, dtype: Any, what: str = "", in_memory: int | float = float("inf")) -> None:
        """Make an empty array.

        Args:
            dtype: of the elements.
            what: noun phrase for errors.
            in_memory: bytes from which on the elements lie in a file of TMPDIR without a name.
        """
        self._dtype, self._what, self._in_memory = np.dtype(dtype), what, in_memory
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        self._pages = mmap.mmap(-1, mmap.PAGESIZE, flags=flags)
        self._file: Any = None
        self.length = 0

    def append(self, values: np.ndarray) -> None:
        """Add elements at the end."""
        start = self.length
        self.resize(start + values.size)
        self.array()[start:] = values.ravel()

    def array(self) -> np.ndarray:
        """All elements; drop it before the next `append` or `resize`."""
        return np.frombuffer(self._pages, self._dtype, self.length)

    def resize(self, length: int) -> None:
        """Set the number of elements; new ones have any value.

        Raises:
            DataError: there is no room for them.
        """
        size = length * self._dtype.itemsize
        if size > len(self._pages):
            size += size // 8  # so that pages are moved a few times only
            if self._file is None and size <= self._in_memory:
                self._pages.resize(size)
            else:
                self._move_to_file(size)
        self.length = length

    def _move_to_file(self, size: int) -> None:
        """Keep the elements in a file of so many bytes."""
        try:
            before = None
            if self._file is None:
                self._file, before = tempfile.TemporaryFile(), self._pages  # noqa: SIM115 (mapped)
                weakref.finalize(self, self._file.close)
            if hasattr(os, "posix_fallocate"):  # a full disk is an error now, not a crash later
                os.posix_fallocate(self._file.fileno(), 0, size)
            else:
                self._file.truncate(size)
            self._pages = mmap.mmap(self._file.fileno(), size)
            if before is not None:
                self._pages[: len(before)] = before[:]
        except OSError as error:
            finding = f"no room for {size / 2**30:.1f} GiB of {self._what} ({error.strerror})"
            raise DataError(tempfile.gettempdir(), finding, "Free some, or set TMPDIR.") from error
