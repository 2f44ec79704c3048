"""Runs from outside: chosen with their judgments, compared by a job, opened where tables live."""

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from shuffleproof.app import outside, received, services
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import parts
from shuffleproof.app.study.benchmark_table import CHOOSABLE, conventions
from shuffleproof.app.uploads import Draft, Spooled
from shuffleproof.app.views.outside import page as outside_job
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.execution.jobs import Job
from shuffleproof.core.jobs import MEASURES, QRELS, RUNS
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.store.keys import ArtefactKey
from shuffleproof.core.studies.kinds.benchmark import outside_runs

DRAFT, MINE = "runs chosen", "runs handed in"
OFFERED = (
    "NDCG@10", "AP", "P@10", "RR", "NDCG@1", "NDCG@3", "NDCG@5", "NDCG@20", "NDCG@100", "P@5",
    "P@20", "P@100", "ERR@10", "ERR@20",
)  # fmt: skip
SHOWN = 8


def section() -> None:
    """Draw the uploaders, the job under way and the comparisons that are stored."""
    outside_job.settle(MINE)
    st.markdown(
        "First the judgments (qrels), then any number of runs over the same topics. They are "
        "measured topic by topic and compared like trained rankers: table, tests, critical "
        "differences, every topic."
    )
    left, right = st.columns(2, gap="medium")
    with left:
        uploader(
            DRAFT, QRELS, "Judgments (one file)",
            hint="Lines of: topic 0 document grade. Plain or .gz.",
        )  # fmt: skip
    with right:
        uploader(
            DRAFT, RUNS, "Runs (one file each)", several=True,
            hint="Lines of: topic Q0 document rank score tag. Plain or .gz. The scores decide, "
            "not the ranks; a run is called by its tag, or by its file where tags repeat.",
        )  # fmt: skip
    errors(DRAFT)
    _button(_measures())
    if not outside_job.watch(MINE, _done):
        _stored()
    st.caption("Larger files, or a folder full: `shuffleproof runs --qrels qrels.txt *.run`")


def _measures() -> list[str]:
    """The columns with their conventions, changeable where they stand."""
    with st.container(horizontal=True, vertical_alignment="center"):
        words = st.container(width="stretch")
        with st.popover("Measures and conventions", icon=":material/tune:"):
            named = st.multiselect(
                "Measures", OFFERED, default=MEASURES, key="columns", bind="query-params",
                help="The columns of the table; NDCG can be switched to other cut-offs on the "
                "stored comparison.",
            )  # fmt: skip
            wanted = conventions({}, (*CHOOSABLE, "gain", "short"))
    measures = [Measure.parse(name).under(**wanted) for name in named]
    with words:
        st.caption(escaped(" · ".join(map(str, measures))))
        if measures:
            parts.convention(measures[0].convention())
    return list(map(str, measures))


def _button(measures: list[str]) -> None:
    here = draft(DRAFT)
    has = {part: bool(here and here.files(part)) for part in (QRELS, RUNS)}
    lacking = "Judgments come first." if not has[QRELS] else "" if has[RUNS] else "Now the runs."
    lacking = lacking or ("" if measures else "At least one measure is needed.")
    pressed = st.button(
        "Compare the runs", type="primary", disabled=bool(lacking), help=lacking or None,
        key="compare runs",
    )  # fmt: skip
    if lacking:
        st.caption(lacking)
    if pressed and here:
        outside_job.hand_in(MINE, DRAFT, lambda: outside.compare(here, measures))


def _done(job: Job) -> None:
    kind, _, digest = str(job.result["artefact"]).rpartition("-")
    key = str(ArtefactKey(kind, digest))
    stored = {str(one.key): one for one in outside.comparisons()}
    if key not in stored:
        st.info("That comparison is not stored any more.")
        return
    st.success(escaped(f"Compared: {outside.words(stored[key])}."))
    warnings = outside_runs.warnings(stored[key].facts)
    if warnings:
        st.warning(escaped(" ".join(warnings)))
    _link(key, "Open the comparison")


def _stored() -> None:
    stored = outside.comparisons()
    if not stored:
        return
    st.subheader("Stored comparisons")
    for artefact in stored[:SHOWN]:
        _link(str(artefact.key), escaped(outside.words(artefact)))
    if len(stored) > SHOWN:
        st.caption(f"{len(stored) - SHOWN} more are in the library.")


def _link(key: str, label: str) -> None:
    parts.link("benchmark", label, query={"study": key})


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
