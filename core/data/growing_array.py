"""Arrays that grow at their end without a second copy."""

import mmap
from typing import Any

import numpy as np


class GrowingArray:
    """Elements in pages of their own, which go back to the system with the last array of them.

    Pages that nothing was written to take no memory.
    """

    def __init__(self, dtype: Any) -> None:
        """Make an empty array of elements of this type."""
        self._dtype, self.length = np.dtype(dtype), 0
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        self._pages = mmap.mmap(-1, mmap.PAGESIZE, flags=flags)

    def append(self, values: np.ndarray) -> None:
        """Add elements at the end."""
        start = self.length
        self.resize(start + values.size)
        self.array()[start:] = values.ravel()

    def array(self) -> np.ndarray:
        """All elements; drop it before the next `append` or `resize`."""
        return np.frombuffer(self._pages, self._dtype, self.length)

    def resize(self, length: int) -> None:
        """Set the number of elements; new ones have any value."""
        size = length * self._dtype.itemsize
        if size > len(self._pages):
            self._pages.resize(size + size // 8)  # so that pages are moved a few times only
        self.length = length
