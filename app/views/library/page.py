"""The page Library: all stored entries, with their origin and their dependents."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from shuffleproof.app import jobs, library, received_files, services, state
from shuffleproof.app.library import Filter
from shuffleproof.app.plain import escaped_sentence, refusal
from shuffleproof.app.study import parts
from shuffleproof.app.views.library import chosen_entries
from shuffleproof.core.execution.jobs import Job
from shuffleproof.core.library import uploads
from shuffleproof.core.library.entries import KINDS, PLURALS, Entry
from shuffleproof.core.store.damaged_entries import DamagedEntry, remove
from shuffleproof.core.words import counted

QUESTION = "What is stored, and how was it made?"
MOST_HEIGHT = 460
TOOK = "Compute time. Ranker: its training. Study: sum over its trials, without trainings."
TABLE = "library"


def page() -> None:
    """Draw the table of the library with its filters, then the actions on chosen entries."""
    parts.header("Library", QUESTION)
    for error in st.session_state.pop("library errors", []):
        st.error(refusal(error))
    with parts.errors_shown():
        _everything(library.entries())
    _importing()


def _everything(every: Sequence[Entry]) -> None:
    """Draw the table, the actions on chosen entries, and the store's size."""
    shown = library.filter_entries(every, _filter(every))
    if not every:
        parts.not_yet(
            "Nothing is stored yet.",
            "Data sets, trained rankers and studies appear here. Import an archive below, or "
            "on the command line:",
            "shuffleproof library import archive.zip",
        )
    elif not shown:
        st.info("Nothing fits these filters.", icon=":material/filter_alt_off:")
    else:
        _totals(shown, every)
        chosen_entries.section(_table(shown, every), every)
    _storage()


def _filter(every: Sequence[Entry]) -> Filter:
    left, middle, right = st.columns([6, 2, 3], vertical_alignment="bottom")
    kinds = [kind for kind in KINDS if any(entry.key.kind == kind for entry in every)]
    kind = left.segmented_control(
        "Kind", kinds, key="kind", bind="query-params",
        format_func=lambda kind: PLURALS[KINDS[kind]].capitalize(),
    )  # fmt: skip
    names = sorted(set(library.data_of(every).values()) - {""})
    data = middle.selectbox(
        "Data set", names, index=None, key="on", bind="query-params", placeholder="all"
    )
    text = right.text_input(
        "Search", key="find", bind="query-params", placeholder="words of name, recipe, key"
    )
    return Filter(kind or "", data or "", text.strip())


def _totals(shown: Sequence[Entry], every: Sequence[Entry]) -> None:
    size = sum(entry.artefact.size for entry in shown) / 1e6
    whole = [entry for entry in every if not entry.part]
    seconds = sum(entry.seconds or 0.0 for entry in shown)
    text = f"{len(shown)} of {counted(len(whole), 'entry')}, {size:,.1f} MB, "
    text += f"{seconds / 60:,.1f} min of compute"
    bundled = sum(entry.bundled for entry in shown)
    comes = "comes" if bundled == 1 else "come"
    text += f"; {bundled} {comes} built in." if bundled else "."
    st.markdown(f"**{escaped_sentence(text)}**")


def _table(shown: Sequence[Entry], every: Sequence[Entry]) -> list[Entry]:
    """Draw the table and the choice under it; return entries chosen by click, key or address."""
    frame = library.table(shown, every)
    number, text = st.column_config.NumberColumn, st.column_config.TextColumn
    keys = [str(key) for key in frame["key"]]
    # A selection consists of row numbers: other rows need another key.
    name = f"{TABLE} {abs(hash(tuple(keys)))}"
    st.dataframe(
        frame,
        hide_index=True,
        key=name,
        on_select=partial(_take, name, keys),
        selection_mode="multi-row",
        placeholder="",
        height=min(36 * (len(frame) + 1) + 3, MOST_HEIGHT),
        column_config={
            "name": text("Name", pinned=True, width=170),
            "kind": text("Kind", width=112),
            "data": text("Data set", width="small"),
            "what": text("What it is", width=332),
            "megabytes": number("MB", format="%.2f", width=52),
            "age": text("Made", width=108),
            "seconds": number("Took (s)", format="%.1f", width=78, help=TOOK),
            "needs": number("Needs", help="Entries used to make it."),
            "needed": number("Needed by", help="Entries made from it."),
            "bundled": st.column_config.CheckboxColumn(
                "Built in", help="Part of the installation."
            ),
            "from": text("Imported from", help="Archive and day; empty: made here or shipped."),
            "key": text("Key"),
        },
        alt="Everything that is stored, the newest first",
    )
    by_key = {str(entry.key): entry for entry in every}
    own = st.session_state.pop(chosen_entries.DELETED, False)
    missing = () if own else state.missing_option("chosen", list(by_key))
    chosen = st.multiselect(
        "Chosen", list(by_key), key="chosen", bind="query-params", wrap=True,
        placeholder="Tick rows above, or choose by key",
    )  # fmt: skip
    state.instead("entry", missing, *chosen)
    return [by_key[key] for key in chosen]


def _take(table: str, keys: list[str]) -> None:
    """Copy the ticked rows of the table into the choice; a callback."""
    rows = st.session_state[table]["selection"]["rows"]
    st.session_state["chosen"] = [keys[row] for row in rows if row < len(keys)]


MOST_SHOWN = 50


def _storage() -> None:
    """Draw damaged entries, and the store's size."""
    _broken(library.damaged_entries())
    st.caption(
        f"The store holds {library.size() / 1e6:,.1f} MB on this disk.",
        help="`shuffleproof library verify` compares all files with their digests; "
        "`shuffleproof library clean` removes unused files.",
    )


def _broken(damaged: Sequence[DamagedEntry]) -> None:
    if not damaged:
        return
    st.warning(
        f"**{counted(len(damaged), 'damaged file')}**. Remove them; removed results are computed "
        "again when needed.",
        icon=":material/broken_image:",
    )
    for file in damaged[:MOST_SHOWN]:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(escaped_sentence(f"{file.what} {file.name}: {file.found}"), width="stretch")
            st.button(
                "Remove", icon=":material/delete:", key=f"damaged {file.what} {file.name}",
                on_click=_remove, args=(file,),
            )  # fmt: skip
    if len(damaged) > MOST_SHOWN:
        st.caption(
            f"and {len(damaged) - MOST_SHOWN:,} more: `shuffleproof library list` names them."
        )


def _remove(file: DamagedEntry) -> None:
    with chosen_entries.noting_errors():
        remove(services.store(), file)


IMPORT = "library-import"
MINE = "archive handed in"


def _importing() -> None:
    """Draw the uploader and the result of the last archive."""
    with st.expander(
        "Import an archive", icon=":material/unarchive:", expanded=MINE in st.session_state
    ):
        st.markdown(
            "An archive written by `Export`. Every file is checked against its digest; a "
            "damaged archive is refused as a whole. Existing entries stay unchanged."
        )
        jobs.follow(MINE, _imported)
        files = received_files.new_files("archives", "Archives (zip)", types=["zip"])
        for file in files:
            _hand_in(file.name, file)
            received_files.forget_file(file)
        if files:
            st.rerun()
        st.caption("Larger ones: `shuffleproof library import archive.zip`")


def _hand_in(name: str, file: uploads.Readable) -> None:
    """Spool the file and submit its import."""
    with chosen_entries.noting_errors():
        upload = uploads.spool(services.store(), [(name, file)])
        # The same archive may be imported again after its entries were deleted.
        job = jobs.resubmit(IMPORT, {"upload": upload, "name": name})
        st.session_state[MINE] = job.id


def _imported(job: Job) -> None:
    count = counted(len(job.result["artefacts"]), "entry")
    st.success(escaped_sentence(f"{job.parameters['name']}: {count} imported."))
