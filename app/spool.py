"""Files that browsers send: on the disk as soon as they are here, few enough, gone with the window.

Streamlit keeps every file in memory, any number of them, until the window's session ends, also
those that no page reads.
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
"""Files, and bytes, that one browser window may have lying here."""

ALL_BYTES = 1 << 34
"""Bytes that all windows together may have lying here."""

UNDER_WAY = 1 << 30
"""Bytes that may be under way at once: Streamlit takes each file in whole."""


@dataclass(frozen=True)
class SpooledFile:
    """One file.

    Attributes:
        record: Streamlit's, without the bytes.
        path: where they are.
        bytes: how many.
    """

    record: UploadedFileRec
    path: Path
    bytes: int


class Spool(MemoryUploadedFileManager):
    """Streamlit's keeper of uploaded files, with a folder for a memory."""

    def __init__(self, endpoint: str, folder: Path) -> None:
        """Keep files in a folder, which is made when there is one to keep."""
        super().__init__(endpoint)
        self.folder = folder
        self._windows: dict[str, dict[str, SpooledFile]] = defaultdict(dict)
        self._under_way = 0
        self._guard = threading.Lock()

    @contextmanager
    def arriving(self, session: str, size: int) -> Iterator[str]:
        """Keep room for a file on its way; yields why there is none, or nothing."""
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
        """Write a file to the disk; its bytes leave the memory."""
        path = self.folder / _plain(session_id) / _plain(file.file_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.data)
        with self._guard:
            lying = SpooledFile(file._replace(data=b""), path, len(file.data))
            self._windows[session_id][file.file_id] = lying

    def get_files(self, session_id: str, file_ids: Sequence[str]) -> list[UploadedFileRec]:
        """The files of a window that a page reads now; those that are gone are left out."""
        window_files = self._windows.get(session_id, {})
        lying = [
            window_files[name]
            for name in file_ids
            if name in window_files and window_files[name].path.exists()
        ]
        return [file.record._replace(data=file.path.read_bytes()) for file in lying]

    def remove_file(self, session_id: str, file_id: str) -> None:
        """Take one file away."""
        with self._guard:
            file = self._windows.get(session_id, {}).pop(file_id, None)
        if file is not None:
            file.path.unlink(missing_ok=True)

    def remove_session_files(self, session_id: str) -> None:
        """Take away what a window left."""
        with self._guard:
            self._windows.pop(session_id, None)
        shutil.rmtree(self.folder / _plain(session_id), ignore_errors=True)


def _bytes(files: Iterable[SpooledFile]) -> int:
    return sum(file.bytes for file in files)


def _plain(name: str) -> str:
    """An id as the name of a file: Streamlit's are letters, digits and dashes, others are not.

    >>> _plain("0f-1"), _plain("../x")
    ('0f-1', '2e2e2f78')
    """
    plain = name.isascii() and name.replace("-", "").isalnum()
    return name if plain else name.encode().hex()[:64]
