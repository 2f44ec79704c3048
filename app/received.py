"""Files that a browser sent: written to the store at once, and let go from the session's memory."""

import streamlit as st
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFile

LARGEST_FILE = 500
"""Megabytes of one file."""


def limit() -> int:
    """Megabytes that one file may have; the widget would round the server's 512 to a gigabyte."""
    return min(LARGEST_FILE, int(st.get_option("server.maxUploadSize")))


def forget(file: UploadedFile) -> None:
    """Drop a file from the session's memory."""
    context = get_script_run_ctx()
    if context and isinstance(context.uploaded_file_mgr, MemoryUploadedFileManager):
        context.uploaded_file_mgr.remove_file(context.session_id, file.file_id)


def in_words(size: int) -> str:
    """A file's size.

    >>> in_words(900), in_words(1_240_161)
    ('900 bytes', '1.24 MB')
    """
    return f"{size / 1e6:,.2f} MB" if size >= 1e4 else f"{size:,} byte{'s' if size != 1 else ''}"
