"""Import of data: chosen files leave the session's memory at once, and a job reads them."""

import itertools

import streamlit as st

from shuffleproof.app import address, jobs, received_files, services, state, tabs, uploads
from shuffleproof.app.data_sets import WORDS
from shuffleproof.app.plain import escaped, refusal
from shuffleproof.app.study import job_panel, parts
from shuffleproof.app.uploads import FOLDER, PARTS, UNSORTED, Draft, DraftFile, ReadingOptions
from shuffleproof.core.data import trec
from shuffleproof.core.data.layout import part_of
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.execution.jobs import Job

WAYS = {"Files": PARTS, "A folder": (FOLDER,)}
POLICIES = {
    "error": "refuse the file and name the line",
    "zero": "become 0",
    "mean": "become the feature's mean in training",
    "largest": "become the feature's largest value in training",
    "missing": "stay missing: NaN for models that read it, 0 for all else",
}
SHORT = "LETOR text or a table (CSV, JSON lines, Parquet, Arrow); .gz, .bz2, .xz and .zip too."
WHAT = (
    "LETOR text: `label qid:1 1:0.5 2:0.25 … # comment`. Tables: columns `query`, `label` and "
    "features, perhaps `part` (train, valid or test). "
    "Several files of a part are read one after the other. Rows without `qid` need a file of group "
    "sizes beside them, named like the data file with `.query` or `.group` added."
)
DRAFT = "upload"
IMPORT = "import"
"""In addresses: the job submitted from this window, so that a reload still shows its end."""


def section() -> None:
    """Draw the form and, below it, the work under way."""
    form, work = st.container(), st.container()
    with work:
        _work()  # before the form, which an ended import empties
    with form:
        _form()
    st.caption(
        f"Up to {received_files.limit()} MB a file here; "
        "`shuffleproof ingest` reads files of any size."
    )


def _form() -> None:
    st.markdown(SHORT, help=WHAT)
    parts.link("your-ranker", "TREC runs are compared on another page", "input")
    way = st.segmented_control(
        "Source", list(WAYS), default="Files", required=True,
        key="upload way", persist_state="session",
    )  # fmt: skip
    how = WAYS[way or "Files"]
    faulty = _choose(how)
    draft = received_files.draft(DRAFT)
    given = st.text_input(
        "Name", key="upload name", max_chars=255, persist_state="session", live=True,
        placeholder=_free_name(draft),
        help="Name of the data set: 1 to 60 letters, digits, blanks and . _ + @ = -",
    )  # fmt: skip
    name = given.strip() or _free_name(draft)
    fault = _name_fault(name)
    if fault:
        st.error(refusal(fault))
    alone = draft.only_file if draft and how == PARTS else None
    reading = _reading(split=bool(alone) and not (draft and draft.names_parts()))
    unsorted = how == PARTS and received_files.files_of_parts(DRAFT, UNSORTED)
    here = unsorted or received_files.files_of_parts(DRAFT, *how)
    reasons = {
        "Choose the files.": not here,
        "Choose the part of each file.": bool(unsorted) and not alone,
        "The name is not allowed.": bool(fault),
        "Correct or remove the file named above.": faulty,
    }
    words = " ".join(reason for reason, holds in reasons.items() if holds)
    with st.container(horizontal=True, vertical_alignment="center"):
        pressed = st.button("Import", type="primary", disabled=bool(words))
        st.caption(words)
    if pressed and draft:
        _submit(draft, how, name, reading)


def _name_fault(name: str) -> str:
    """Reason why a data set cannot have this name; empty: it can."""
    try:
        uploads.check_name(name, services.store())
    except ShuffleproofError as error:
        return str(error)
    return ""


def _free_name(draft: Draft | None) -> str:
    """Name for a data set that has none yet: that of its only file, else a free one."""
    file = draft.only_file if draft else None
    own = [file.name.partition(".")[0]] if file and not part_of(file.name) else []
    taken = [name for name in own if name in services.store().names()]
    numbered = (f"{name}-{count}" for name in taken for count in range(2, 100))
    further = (f"mine-{count}" for count in itertools.count(2))
    names = itertools.chain(own, numbered, ["mine"], further)
    return next(name for name in names if not _name_fault(name))


def _choose(how: tuple[str, ...]) -> bool:
    """Draw the uploaders and the chosen files; True if a file cannot be imported."""
    faulty = False
    if how == PARTS:
        label = (
            "Training, validation (a fifth of training if none) and test; one file alone is split"
        )
        received_files.drop_zone(DRAFT, label, lambda file: part_of(file.name) or UNSORTED)
        for file in received_files.files_of_parts(DRAFT, *PARTS, UNSORTED):
            faulty |= _sorted_file(file)
    else:
        label = "A folder with train, vali and test files, or with Fold1 … FoldK"
        received_files.uploader(DRAFT, FOLDER, label, "directory")
    held = received_files.draft(DRAFT)
    if held and how == PARTS and held.names_parts():
        st.info("One table, whose column `part` says the part of each row: it is not split.")
    received_files.errors(DRAFT)
    return faulty


def _sorted_file(file: DraftFile) -> bool:
    """Draw one file with a choice of its part; True if its first lines are faulty."""
    name, key = escaped(file.name), f"{file.part} {file.name}"
    words, part, out = st.columns([4, 2, 1], vertical_alignment="center")
    words.markdown(f":material/description: {name} ({received_files.in_words(file.bytes)})")
    held = received_files.draft(DRAFT)
    if not (held and held.only_file):
        part.selectbox(
            f"Part of {name}", PARTS, key=f"part of {key}", format_func=WORDS.__getitem__,
            index=PARTS.index(file.part) if file.part in PARTS else None,
            placeholder="Which part?", label_visibility="collapsed", on_change=_moved,
            args=(file,),
        )  # fmt: skip
    out.button(
        "Remove", key=f"{DRAFT} remove {key}", on_click=received_files.remove, args=(DRAFT, file),
        type="tertiary", icon=":material/close:",
    )  # fmt: skip
    missing = st.session_state.get("upload missing") or "error"
    columns = st.session_state.get("upload columns") or ""
    fault = held.fault(file, missing, columns) if held else ""
    if fault and held and trec.form_of(held.path(file), file.name):
        parts.link("your-ranker", "This reads as a TREC run or judgments: compare runs here")
    if fault:
        parts.long_error(fault)
    return bool(fault)


def _moved(file: DraftFile) -> None:
    """Move a file to its chosen part; a callback."""
    held, part = (
        received_files.draft(DRAFT),
        st.session_state.get(f"part of {file.part} {file.name}"),
    )
    if held and part in PARTS:
        try:
            held.move(file, part)
        except (ShuffleproofError, OSError) as error:
            st.session_state.setdefault(f"{DRAFT} errors", []).append(str(error))


def _reading(*, split: bool) -> ReadingOptions:
    title = "Missing values, columns and split" if split else "Missing values and columns"
    with st.expander(title):
        missing = st.selectbox(
            "NULL and NaN cells", list(POLICIES), format_func=POLICIES.__getitem__,
            key="upload missing", persist_state="session",
        )  # fmt: skip
        names = st.text_input(
            "Columns", key="upload columns", max_chars=1000, persist_state="session",
            placeholder="query=session_id,label=target",
            help="Column names for query, label and document, if they are not the defaults",
        )  # fmt: skip
        if not split:
            return ReadingOptions(missing, columns=names)
        columns = st.columns(3)
        train = columns[0].number_input(
            "Training (% of the queries)", 1, 98, 60, key="upload train", persist_state="session"
        )
        valid = columns[1].number_input(
            "Validation (%)", 1, 98, 20, key="upload valid", persist_state="session",
            help="The rest is for testing",
        )  # fmt: skip
        seed = columns[2].number_input(
            "Seed of the split", 0, 2**31 - 1, 0, key="upload seed", persist_state="session"
        )
        rest = 100 - train - valid
        if rest < 1:
            st.warning(f"{train} % and {valid} % leave nothing for testing.")
        fractions = train / 100, valid / 100, max(rest, 0) / 100
        return ReadingOptions(missing, fractions, int(seed), names)


def _submit(draft: Draft, how: tuple[str, ...], name: str, reading: ReadingOptions) -> None:
    try:
        with st.spinner("Starting the import …"):
            job = draft.submitted(how, name, reading)
    except (ShuffleproofError, OSError) as error:
        st.error(refusal(error))
        return
    st.session_state.setdefault(jobs.UPLOADS, {})[job.id] = "running"
    address.pin(IMPORT, job.id)
    st.rerun()


def _work() -> None:
    """Draw running ingestions, and the results of this session's ended ones."""
    mine: dict[str, str] = st.session_state.setdefault(jobs.UPLOADS, {})
    listed = [job for job in jobs.table().list() if job.kind == "ingest"]
    for job in listed:
        if job.state == "done":  # a retry of other jobs needs their files
            uploads.discard(services.store(), job)
        if job.id in address.says(IMPORT):  # submitted before this window was reloaded
            mine.setdefault(job.id, job.state if job.ended else "running")
    for job in listed:
        if not job.ended:
            jobs.watch(job, jobs.name(job))
        if job.ended and mine.get(job.id) == "running":
            mine[job.id] = job.state
            _ended(job)
        if job.ended and job.id in mine:
            _result(job)


def _ended(job: Job) -> None:
    """Empty the form when a job of this session has read its files; the sidebar reports the end."""
    if job.state == "done":
        st.session_state["upload name"] = ""
        received_files.clear(DRAFT)


def _result(job: Job) -> None:
    """Draw the end of an ingestion, and the actions that follow."""
    name = escaped(str(job.parameters["name"]))
    if job.state == "done":
        keys, named = set(job.result["artefacts"]), services.store().names().items()
        names = [name for name, key in named if f"{key.kind}-{key.digest}" in keys]
        given = str(job.parameters["name"])
        of_import = [each for each in names if each == given or each.startswith(f"{given}-fold")]
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            st.markdown(f":material/check_circle: **{name}** is imported and checked.")
            for each in of_import[:1]:
                st.button(
                    f"Train {job_panel.contrasting_in_words()} and shuffle its lists",
                    key=f"shuffle {job.id}", on_click=_train_and_shuffle, args=(each,),
                    icon=":material/shuffle:", type="primary",
                )  # fmt: skip
            for each in (of_import or names)[:10]:
                st.button(
                    f"Open {escaped(each)}", key=f"open {job.id} {each}", on_click=_open,
                    args=(each,),
                )  # fmt: skip
        return
    words, out = st.columns([5, 1], vertical_alignment="center")
    with words:
        if job.state == "cancelled":
            st.error(f"**{name}** was cancelled.")
        else:
            parts.long_error(f"{job.parameters['name']}: {job.reason}")
    out.button("Dismiss", key=f"dismiss {job.id}", on_click=_dismiss, args=(job,), width="stretch")


def _dismiss(job: Job) -> None:
    st.session_state.get(jobs.UPLOADS, {}).pop(job.id, None)
    address.pin(IMPORT)
    uploads.discard(services.store(), job)
    jobs.act("forget", job.id)


def _train_and_shuffle(name: str) -> None:
    """Train two contrasting rankers and open the lists of this data set; a callback."""
    job_panel.examine_contrasting(name)
    tabs.go("invariance", {state.USE: name})


def _open(name: str) -> None:
    """Use this data set from now on and show its facts; a callback."""
    st.session_state["data"] = name
    st.session_state["view"] = "Facts"
    address.pin(IMPORT)
