"""Choosing files of the page From outside: on the disk as they arrive, listed, taken out again."""

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from shuffleproof.app import received, services
from shuffleproof.app.plain import escaped
from shuffleproof.app.uploads import Draft, Spooled
from shuffleproof.core.errors import ShuffleproofError


def uploader(own: str, part: str, label: str, *, several: bool = False, hint: str = "") -> None:
    """Draw an uploader and what was chosen with it so far.

    Args:
        own: name of the draft in this session.
        part: of the draft.
        label: of the uploader.
        several: whether the part takes more than one file.
        hint: a sentence of help.
    """
    turn = st.session_state.get(f"{own} turn {part}", 0)
    files = st.file_uploader(
        label, accept_multiple_files=True, key=f"{own} {part} {turn}",
        max_upload_size=received.limit(), help=hint or None,
    )  # fmt: skip
    if files:
        _spool(own, part, files, several=several)
        st.session_state[f"{own} turn {part}"] = turn + 1
        st.rerun()
    found = draft(own)
    with st.container(gap="xxsmall"):
        for file in found.files(part) if found else ():
            _chosen(own, file)


def draft(own: str) -> Draft | None:
    """What has been chosen in this session, if anything."""
    found: Draft | None = st.session_state.get(own)
    if found is None or found.over:
        return None
    found.keep()
    return found


def errors(own: str) -> None:
    """Say which files could not be taken, once."""
    for error in st.session_state.pop(f"{own} errors", []):
        st.error(escaped(error))


def clear(own: str) -> None:
    """Forget what was chosen."""
    found = st.session_state.pop(own, None)
    if found:
        found.clear()


def _spool(own: str, part: str, files: list[UploadedFile], *, several: bool) -> None:
    """Write the files to the disk and drop them from the session's memory."""
    kept = draft(own) or Draft(services.store())
    st.session_state[own] = kept
    said = st.session_state.setdefault(f"{own} errors", [])
    if not several:  # the last one chosen counts
        for old in kept.files(part):
            kept.remove(old)
        for unused in files[:-1]:
            received.forget(unused)
        files = files[-1:]
    for file in files:
        try:
            kept.add(part, file.name, file)
        except (ShuffleproofError, OSError) as error:
            said.append(str(error))
        finally:
            received.forget(file)


def _chosen(own: str, file: Spooled) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            f":material/description: {escaped(file.name)} ({received.in_words(file.bytes)})"
        )
        st.button(
            "Remove", key=f"{own} remove {file.part} {file.name}", on_click=_remove,
            args=(own, file), type="tertiary", icon=":material/close:",
        )  # fmt: skip


def _remove(own: str, file: Spooled) -> None:
    found = draft(own)
    if found:
        found.remove(file)
