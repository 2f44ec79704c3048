"""Actions on chosen entries of the library: open, rename, export, report, delete."""

import shlex
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager

import streamlit as st

from shuffleproof.app import address, jobs, library, report, services, state, uploads
from shuffleproof.app.exports import File
from shuffleproof.app.plain import escaped, escaped_sentence
from shuffleproof.app.received_files import in_words
from shuffleproof.app.study import parts
from shuffleproof.core.data import display_texts, examination
from shuffleproof.core.data.catalogue import SAMPLE
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.library import entries as shelf
from shuffleproof.core.library.entries import KINDS, PLURALS, Entry
from shuffleproof.core.studies.methods import paragraph, references
from shuffleproof.core.words import counted, duration


def section(chosen: Sequence[Entry], every: Sequence[Entry]) -> None:
    """Draw all actions on the chosen entries."""
    if not chosen:
        st.caption("Select one row to open or rename it, several to export or delete them.")
        return
    if len(chosen) == 1:
        _entry_details(chosen[0], every)
    with st.container(horizontal=True, key="library.row"):
        if len(chosen) == 1:
            with st.popover("Rename", icon=":material/edit:", disabled=chosen[0].bundled):
                _rename(chosen[0])
        with st.popover("Export", icon=":material/archive:"):
            _exporting(chosen)
        if any(entry.key.kind == "study" for entry in chosen):
            with st.popover("Report", icon=":material/description:"):
                _report(chosen)
        _delete_button(chosen, every)
    studies = [entry for entry in chosen if entry.key.kind in {"study", "ranker"}]
    if len(chosen) == 1 and studies:
        _reproduction(studies[0])


def _entry_details(entry: Entry, every: Sequence[Entry]) -> None:
    st.subheader(escaped_sentence(library.entry_name(entry)), anchor=False)
    took = f", {_took(entry)}" if entry.seconds else ""
    shipped = ", built in" if entry.bundled else ""
    size = in_words(entry.artefact.size)
    stored = library.stored_on(entry).strftime("%d %B %Y, %H:%M UTC")
    parts.sentence(f"{KINDS[entry.key.kind].capitalize()}: {entry.summary}.")
    origin = f" · {entry.artefact.imported}" if entry.artefact.imported else ""
    parts.note(f"{entry.key} · {size} · made {stored}{took}{shipped}{origin}")
    if entry.stale:
        st.warning(escaped_sentence(f"Stale: {entry.stale}."), icon=":material/update:")
    page, query = library.page_of(entry)
    if page:
        parts.link(page, "Open its page", query=query)
    needs = [other.name for other in every if other.key in entry.needs]
    needed = shelf.dependents(every, entry.key)
    relations = f"Made from: {_listed(needs)}. " if needs else ""
    relations += f"Needed by: {_listed([other.name for other in needed])}." if needed else ""
    if relations:
        parts.sentence(relations)
    with st.expander("Recipe and facts"):
        st.json({"recipe": dict(entry.artefact.recipe), "facts": dict(entry.artefact.facts)})


def _took(entry: Entry) -> str:
    spent = duration(entry.seconds or 0.0)
    return f"compute time {spent}" if entry.key.kind == "study" else f"took {spent}"


def _listed(names: Sequence[str], most: int = 8) -> str:
    shown = list(dict.fromkeys(names))
    more = f" and {len(shown) - most} more" if len(shown) > most else ""
    return ", ".join(shown[:most]) + more


def _rename(entry: Entry) -> None:
    with st.form("library rename", border=False):
        name = st.text_input("New name", value=entry.name, max_chars=60, key=f"name {entry.key}")
        if not st.form_submit_button("Rename"):
            return
    old, new = entry.name, name.strip()
    if new == old:
        return
    with parts.errors_shown():
        if entry.key.kind == "data":
            uploads.check_name(new, services.store())
        shelf.rename(services.store(), entry, new)
        if entry.key.kind == "data" and old == state.data():
            state.use_data(new)
        st.rerun()


def _report(chosen: Sequence[Entry]) -> None:
    studies = [entry for entry in chosen if entry.key.kind == "study"]
    paths = [entry.artefact.path for entry in studies]
    stem = str(studies[0].key) if len(studies) == 1 else "shuffleproof-report"
    file = File("Report (HTML)", f"{stem}.html", lambda: report.report(paths).encode())
    parts.downloads([file], "library")
    paragraphs = [paragraph(entry.artefact.recipe, entry.artefact.facts) for entry in studies]
    st.markdown("**Methods**")
    st.code("\n\n".join(paragraphs), language=None, wrap_lines=True)
    st.markdown("**References**")
    works = dict.fromkeys(
        work
        for entry in studies
        for work in references(entry.artefact.recipe, entry.artefact.facts)
    )
    st.code("\n".join(works), language=None, wrap_lines=True)


def _reproduction(entry: Entry) -> None:
    st.subheader("Make it again")
    parts.command(lambda: library.command(entry))
    if entry.key.kind == "study":
        with st.expander("The same in Python"):
            parts.command(lambda: library.python(entry), "python")


def _delete_button(chosen: Sequence[Entry], every: Sequence[Entry]) -> None:
    """Draw the delete button, which asks for confirmation."""
    removable = [entry for entry in chosen if not entry.bundled]
    if st.button(
        "Delete …", icon=":material/delete:", disabled=not removable, key="delete",
        help="" if removable else "Built-in entries cannot be deleted.",
    ):  # fmt: skip
        _deletion_dialog(removable, every)


@st.dialog("Delete from the library?", on_dismiss="rerun")
def _deletion_dialog(chosen: Sequence[Entry], every: Sequence[Entry]) -> None:
    state.dialog_opened()
    keys = {entry.key for entry in chosen}
    dependents = {entry.key: entry for key in keys for entry in shelf.dependents(every, key)}
    dependent = [
        entry for key, entry in dependents.items() if key not in keys and not entry.bundled
    ]
    size = in_words(sum(entry.artefact.size for entry in chosen))
    names = ", ".join(library.entry_name(entry) for entry in chosen)
    st.markdown(f"**{escaped_sentence(names)}**, {size}, will be deleted.")
    if dependent:
        counts = Counter(KINDS[entry.key.kind] for entry in dependent)
        kinds = ", ".join(counted(count, kind, PLURALS[kind]) for kind, count in counts.items())
        parts.sentence(f"Made from it, directly or not: {kinds}.")
        st.dataframe(
            library.table(dependent, every)[["name", "kind", "what", "megabytes"]],
            hide_index=True, key="made from it", height=200,
            alt="Entries made from those to be deleted",
        )  # fmt: skip
        st.caption(
            "If kept, their results stay readable, but their queries cannot be opened and no "
            "trials can be added."
        )
    else:
        st.markdown("Nothing was made from it.")
    whole = bool(dependent) and st.toggle(
        f"Delete these {len(dependent)} too", key="with dependents"
    )
    gone = [*dependent, *chosen] if whole else list(chosen)
    running = jobs.jobs_reading([entry.key for entry in gone])
    if running:
        st.error(f"{running} job{' is' if running == 1 else 's are'} working on it: cancel first.")
    keep, remove = st.columns(2)
    if keep.button("Keep", width="stretch", key="keep"):
        st.rerun()
    if remove.button(
        f"Delete {len(gone)}", type="primary", key="delete now", width="stretch",
        disabled=bool(running), on_click=_delete, args=(gone,),
    ):  # fmt: skip
        st.rerun()


DELETED = "entries deleted"
"""Session key: the address names entries that were just deleted here."""


def _delete(gone: Sequence[Entry]) -> None:
    store = services.store()
    with noting_errors():
        shelf.remove(store, gone)
        for entry in gone:
            if entry.key.kind == "data" and "fingerprint" in entry.artefact.facts:
                examination.forget(str(entry.artefact.facts["fingerprint"]), store)
                display_texts.forget(str(entry.artefact.facts["fingerprint"]), store)
        st.toast(escaped(f"Deleted: {', '.join(map(library.entry_name, gone))}."))
    st.session_state["chosen"], st.session_state[DELETED] = [], True
    if state.data() not in state.data_sets():
        st.session_state["data"] = SAMPLE
        address.pin("data", SAMPLE)


@contextmanager
def noting_errors() -> Generator[None]:
    """Store an error for the next run of the page, which shows it at the top."""
    try:
        yield
    except ShuffleproofError as error:
        st.session_state["library errors"] = [str(error)]


def _exporting(chosen: Sequence[Entry]) -> None:
    """Draw the entries of the archive, their size, and the download."""
    whole = library.with_parts(chosen)
    size = sum(entry.artefact.size for entry in whole)
    names = ", ".join(dict.fromkeys(entry.name for entry in whole))
    parts.sentence(f"{len(whole)} entries with their dependencies, at most {in_words(size)}:")
    parts.note(names)
    keys = [str(entry.key) for entry in chosen]
    st.download_button(
        "Archive (zip)", lambda: library.archive_of(chosen), "shuffleproof-library.zip",
        "application/zip", on_click="ignore", key="library archive", width="stretch",
        disabled=size > library.AT_ONCE,
    )  # fmt: skip
    st.caption("On the command line, also for larger archives:")
    parts.shell(
        f"shuffleproof library export library.zip {shlex.join(keys)}\n"
        "shuffleproof library import library.zip"
    )
