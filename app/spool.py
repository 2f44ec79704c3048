"""Uploaded files on disk, within limits, deleted with the session of the browser window.

Streamlit alone holds all files in memory until the session ends, also files that no page reads.
"""

import shutil
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from shuffleproof.app.uploads import SPARE

FILES, BYTES = 200, 1 << 32
"""Most files, and most bytes, of one browser window."""

ALL_BYTES = 1 << 34
"""Most bytes of all windows together."""

UNDER_WAY = 1 << 30
"""Most bytes in transfer at the same time: Streamlit reads each file completely into memory."""


@dataclass(frozen=True)
class SpooledFile:
    """One uploaded file.

    Attributes:
        record: Streamlit's record, without the content.
        path: path of the content.
        bytes: size of the content.
    """

    record: UploadedFileRec
    path: Path
    bytes: int


class Spool(MemoryUploadedFileManager):
    """Streamlit's manager of uploaded files, with a folder instead of memory."""

    def __init__(self, endpoint: str, folder: Path) -> None:
        """Store files in a folder, which is made with the first file."""
        super().__init__(endpoint)
        self.folder = folder
        self._windows: dict[str, dict[str, SpooledFile]] = defaultdict(dict)
        self._under_way = 0
        self._guard = threading.Lock()

    @contextmanager
    def arriving(self, session: str, size: int) -> Iterator[str]:
        """Reserve room for a file in transfer; yield the reason of a refusal, or an empty text."""
        with self._guard:
            full = self._full(session, size)
            if not full:
                self._under_way += size
        try:
            yield full
        finally:
            with self._guard:
                self._under_way -= 0 if full else size

    def _full(self, session: str, size: int) -> str:
        window_files = self._windows.get(session, {})
        every = [file for window in self._windows.values() for file in window.values()]
        parent = next(folder for folder in (self.folder, *self.folder.parents) if folder.exists())
        # Files in transfer are not on disk yet, so their bytes are reserved.
        free = shutil.disk_usage(parent).free - SPARE - self._under_way
        if len(window_files) >= FILES:
            return f"No more than {FILES} files of a window; take some out"
        if _bytes(window_files.values()) + size > BYTES:
            return f"No more than {BYTES:,} bytes of a window; take some files out"
        if _bytes(every) + self._under_way + size > ALL_BYTES or size > free:
            return "No room for this file; try again later"
        if self._under_way + size > UNDER_WAY:
            return "Too many files are under way; try again in a moment"
        return ""

    def add_file(self, session_id: str, file: UploadedFileRec) -> None:
        """Write a file to disk and drop its content from memory."""
        path = self.folder / _plain(session_id) / _plain(file.file_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.data)
        with self._guard:
            spooled = SpooledFile(file._replace(data=b""), path, len(file.data))
            self._windows[session_id][file.file_id] = spooled

    def get_files(self, session_id: str, file_ids: Sequence[str]) -> list[UploadedFileRec]:
        """Files of a window with their content; missing ones are left out."""
        window_files = self._windows.get(session_id, {})
        spooled = [
            window_files[name]
            for name in file_ids
            if name in window_files and window_files[name].path.exists()
        ]
        return [file.record._replace(data=file.path.read_bytes()) for file in spooled]

    def remove_file(self, session_id: str, file_id: str) -> None:
        """Delete one file."""
        with self._guard:
            file = self._windows.get(session_id, {}).pop(file_id, None)
        if file is not None:
            file.path.unlink(missing_ok=True)

    def remove_session_files(self, session_id: str) -> None:
        """Delete all files of a window."""
        with self._guard:
            self._windows.pop(session_id, None)
        shutil.rmtree(self.folder / _plain(session_id), ignore_errors=True)


def _bytes(files: Iterable[SpooledFile]) -> int:
    return sum(file.bytes for file in files)


def _plain(name: str) -> str:
    """File name for an id; ids other than letters, digits and dashes are written in hex.

    >>> _plain("0f-1"), _plain("../x")
    ('0f-1', '2e2e2f78')
    """
    plain = name.isascii() and name.replace("-", "").isalnum()
    return name if plain else name.encode().hex()[:64]
