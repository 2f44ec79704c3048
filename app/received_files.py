"""Files from the browser: written to the store at once and removed from the session's memory.

The chosen files form a draft, which the session stores under a name.
"""

from collections.abc import Callable, Sequence
from typing import Literal

import streamlit as st
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFile

from shuffleproof.app import services
from shuffleproof.app.plain import escaped, refusal
from shuffleproof.app.uploads import Draft, DraftFile
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.words import counted

LARGEST_FILE = 500
"""Most megabytes of one file."""

FileChoice = Literal["last", "all", "directory"]
"""Choice among uploaded files: the last one, all, or a directory."""


def limit() -> int:
    """Most megabytes of one file; the widget would show the server's 512 MB as one gigabyte."""
    return min(LARGEST_FILE, int(st.get_option("server.maxUploadSize")))


def uploader(
    draft_name: str, part: str, label: str, choice: FileChoice = "all", hint: str | None = None
) -> None:
    """Draw an uploader for a part of a draft, and the files chosen so far.

    Args:
        draft_name: name of the draft in this session.
        part: part of the draft.
        label: label of the uploader.
        choice: choice among the files.
        hint: a sentence of help.
    """
    _spool(draft_name, part, new_files(f"{draft_name} {part}", label, choice, hint=hint), choice)
    with st.container(gap="xxsmall"):
        for file in files_of_parts(draft_name, part):
            chosen_file(draft_name, file)


def drop_zone(
    draft_name: str, label: str, part_of: Callable[[UploadedFile], str], single: str = "",
    hint: str | None = None,
) -> None:  # fmt: skip
    """Draw one uploader for all parts of a draft; the page draws the chosen files.

    Args:
        draft_name: name of the draft in this session.
        label: label of the uploader.
        part_of: function from a file to its part.
        single: part of one file: a new one replaces it.
        hint: a sentence of help.
    """
    for file in new_files(f"{draft_name} files", label, hint=hint):
        part = part_of(file)
        file.seek(0)
        _spool(draft_name, part, [file], "last" if part == single else "all")


def new_files(
    key: str, label: str, choice: FileChoice = "all", types: Sequence[str] | None = None,
    hint: str | None = None,
) -> Sequence[UploadedFile]:  # fmt: skip
    """Draw an uploader; return the files that arrived since the last run, each once.

    The widget keeps its key, so that files dropped during a run are not lost. The session's value
    is deleted, because Streamlit would return the same files in the next run.

    Args:
        key: key of the widget.
        label: label of the uploader.
        choice: choice among the files.
        types: accepted endings of names; None: all.
        hint: a sentence of help.
    """
    with st.container(key=f"uploader {key}"):
        files = st.file_uploader(
            label, accept_multiple_files="directory" if choice == "directory" else True, key=key,
            type=types, max_upload_size=limit(), help=hint,
        )  # fmt: skip
    if files:
        del st.session_state[key]
    return files


def draft(draft_name: str) -> Draft | None:
    """Files chosen in this session, if any."""
    held: Draft | None = st.session_state.get(draft_name)
    if held is None or held.over:
        return None
    held.keep()
    return held


def files_of_parts(draft_name: str, *parts: str) -> list[DraftFile]:
    """Files of these parts of a draft."""
    held = draft(draft_name)
    return held.files(*parts) if held else []


def errors(draft_name: str) -> None:
    """Draw the errors of refused files, once."""
    for error in st.session_state.pop(f"{draft_name} errors", []):
        st.error(refusal(error))


def clear(draft_name: str) -> None:
    """Remove all files of a draft."""
    held = st.session_state.pop(draft_name, None)
    if held:
        held.clear()


def _spool(draft_name: str, part: str, files: Sequence[UploadedFile], choice: FileChoice) -> None:
    """Write the files to the disk and drop them from the session's memory."""
    if not files:
        return
    held = st.session_state[draft_name] = draft(draft_name) or Draft(services.store())
    if choice == "last":
        for old in held.files(part):
            held.remove(old)
    refused = st.session_state.setdefault(f"{draft_name} errors", [])
    for file in files:
        try:
            if choice != "last" or file is files[-1]:
                held.add(part, file.name, file)
        except (ShuffleproofError, OSError) as error:
            refused.append(str(error))
        finally:
            forget_file(file)


def forget_file(file: UploadedFile) -> None:
    """Drop a file from the session's memory."""
    context = get_script_run_ctx()
    if context and isinstance(context.uploaded_file_mgr, MemoryUploadedFileManager):
        context.uploaded_file_mgr.remove_file(context.session_id, file.file_id)


def chosen_file(draft_name: str, file: DraftFile, kind: str = "") -> None:
    """Draw one file of a draft, its kind in words, and a button that removes it."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f":material/description: {escaped(file.name)} ({kind}{in_words(file.bytes)})")
        st.button(
            "Remove", key=f"{draft_name} remove {file.part} {file.name}", on_click=remove,
            args=(draft_name, file), type="tertiary", icon=":material/close:",
        )  # fmt: skip


def remove(draft_name: str, file: DraftFile) -> None:
    """Remove a file from a draft; a callback."""
    held = draft(draft_name)
    if held:
        held.remove(file)


def in_words(size: int) -> str:
    """Size of a file in words.

    >>> in_words(900), in_words(12_340), in_words(1_240_161)
    ('900 bytes', '12.3 KB', '1.24 MB')
    """
    if size >= 1e4:
        return f"{size / 1e6:,.2f} MB" if size >= 1e6 else f"{size / 1e3:.1f} KB"
    return counted(size, "byte")
