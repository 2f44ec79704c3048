"""Large arrays in files without a name, which the system may page out and drops when they go."""

import os
import tempfile
import weakref
from typing import Any

import numpy as np

from shuffleproof.core.errors import DataError


class NamelessFile:
    """A file in the folder of temporary files (TMPDIR) that no name leads to.

    It stays as long as an array of it does.
    """

    def __init__(self, what: str) -> None:
        """Make an empty one.

        Args:
            what: it holds, in words, for whoever has no room for it.
        """
        self._what = what
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (open as long as it can grow)
        weakref.finalize(self, self._file.close)

    def array(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """The array that the file holds, from its start; what is behind earlier content is zero.

        Raises:
            DataError: there is no room for it.
        """
        size = max(1, int(np.prod(shape))) * np.dtype(dtype).itemsize
        try:
            if hasattr(os, "posix_fallocate"):  # a full disk is told now, by an error
                os.posix_fallocate(self._file.fileno(), 0, size)
            elif os.fstat(self._file.fileno()).st_size < size:
                self._file.truncate(size)
            mapped = np.memmap(self._file, dtype, "r+", shape=shape)
        except OSError as error:
            finding = f"no room for {size / 2**30:.1f} GiB of {self._what} ({error.strerror})"
            raise DataError(tempfile.gettempdir(), finding, "Free some, or set TMPDIR.") from error
        return mapped.view(np.ndarray)
