"""The page of everything that is stored: what it is, what made it, what needs it."""

from functools import partial

import streamlit as st

from shuffleproof.app import library, state
from shuffleproof.app.library import Filter
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import parts
from shuffleproof.app.views.library import chosen as chosen_entries
from shuffleproof.app.views.library import import_archive
from shuffleproof.app.views.library import store as store_care
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.studies.library.entries import KINDS, Entry
from shuffleproof.core.words import counted

QUESTION = "What is stored here, what made it, and what would be lost with it?"
MOST_HEIGHT = 460
TOOK = (
    "Of a ranker: its training. Of a study: the seconds of its trials added up, training left out; "
    "less time passed where several ran side by side or were there before."
)
TABLE, PLURAL = "library", {"data": "Data sets", "ranker": "Rankers", "study": "Studies",
                            "scores": "Scores"}  # fmt: skip


def page() -> None:
    """Draw the table of the library with its filters, then what can be done with what is chosen."""
    parts.header("Library", QUESTION)
    for error in st.session_state.pop("library errors", []):
        st.error(escaped(error))
    try:
        every = library.entries()
    except ShuffleproofError as error:
        st.error(escaped(str(error)))
        import_archive.section()
        return
    wanted = _filter(every)
    shown = library.filtered(every, wanted)
    if not every:
        parts.not_yet(
            "Nothing is stored yet.",
            "Data sets, trained rankers and studies stand here once there are some. Read an "
            "archive below, or on the command line:",
            "shuffleproof library import archive.zip",
        )
    elif not shown:
        st.info("Nothing fits these filters.", icon=":material/filter_alt_off:")
    else:
        _said(shown, every)
        chosen = _table(shown, every)
        chosen_entries.section(chosen, every)
    store_care.section()
    import_archive.section()


def _filter(every: list[Entry]) -> Filter:
    left, middle, right = st.columns([4, 3, 3], vertical_alignment="bottom")
    kinds = [kind for kind in KINDS if any(entry.key.kind == kind for entry in every)]
    kind = left.segmented_control(
        "Kind", kinds, key="kind", bind="query-params", format_func=PLURAL.__getitem__
    )
    names = sorted(set(library.data_of(every).values()) - {""})
    data = middle.selectbox(
        "Data set", names, index=None, key="on", bind="query-params", placeholder="all"
    )
    text = right.text_input(
        "Search", key="find", bind="query-params", placeholder="words of name, recipe, tags, key"
    )
    tags = sorted({tag for entry in every for tag in entry.tags})
    with st.container(horizontal=True, vertical_alignment="center"):
        picked: list[str] = []
        if tags:
            picked = st.pills("Tags", tags, selection_mode="multi", key="tags", bind="query-params")
        hidden = sum(entry.part for entry in every)
        whole = bool(hidden) and st.toggle(
            f"Parts of cross-fittings too ({hidden})", key="parts", bind="query-params",
            help="Rankers that were fitted only to give the others their initial rankings.",
        )  # fmt: skip
    return Filter(kind or "", data or "", tuple(picked), text.strip(), whole)


def _said(shown: list[Entry], every: list[Entry]) -> None:
    size = sum(entry.artefact.size for entry in shown) / 1e6
    whole = [entry for entry in every if not entry.part]
    seconds = sum(entry.seconds or 0.0 for entry in shown)
    text = f"{len(shown)} of {counted(len(whole), 'entry')}, {size:,.1f} MB, "
    text += f"{seconds / 60:,.1f} minutes of work added up"
    bundled = sum(entry.bundled for entry in shown)
    comes = "comes" if bundled == 1 else "come"
    text += f"; {bundled} {comes} with the program." if bundled else "."
    st.markdown(f"**{escaped(text)}**")


def _table(shown: list[Entry], every: list[Entry]) -> list[Entry]:
    """The table and, under it, what is chosen: by clicks in the table, by name, by the address."""
    frame = library.table(shown, every)
    number, text = st.column_config.NumberColumn, st.column_config.TextColumn
    keys = [str(key) for key in frame["key"]]
    name = f"{TABLE} {abs(hash(tuple(keys)))}"  # a selection is of rows: other rows, another table
    st.dataframe(
        frame,
        hide_index=True,
        key=name,
        on_select=partial(_take, name, keys),
        selection_mode="multi-row",
        placeholder="",
        height=min(36 * (len(frame) + 1) + 3, MOST_HEIGHT),
        column_config={
            "name": text("Name", pinned=True, width="medium"),
            "kind": text("Kind", width="small"),
            "data": text("Data set", width="small"),
            "what": text("What it is", width="medium"),
            "tags": st.column_config.ListColumn("Tags"),
            "megabytes": number("MB", format="%.2f"),
            "age": text("Made"),
            "seconds": number("Took (s)", format="%.1f", help=TOOK),
            "needs": number("Needs", help="Entries that it was made from."),
            "needed": number("Needed by", help="Entries that were made from it directly."),
            "bundled": st.column_config.CheckboxColumn("Shipped", help="Comes with the program."),
            "from": text("Imported from", help="Archive and day; empty: made here or shipped."),
            "key": text("Key"),
        },
        alt="Everything that is stored, the newest first",
    )
    by_key = {str(entry.key): entry for entry in every}
    missing = state.absent("chosen", list(by_key))
    chosen = st.multiselect(
        "Chosen", list(by_key), key="chosen", bind="query-params", wrap=True,
        placeholder="Tick rows above, or choose by key",
    )  # fmt: skip
    state.instead("entry", missing, *chosen)
    return [by_key[key] for key in chosen]


def _take(table: str, keys: list[str]) -> None:
    """What is ticked in the table is what is chosen."""
    rows = st.session_state[table]["selection"]["rows"]
    st.session_state["chosen"] = [keys[row] for row in rows if row < len(keys)]
