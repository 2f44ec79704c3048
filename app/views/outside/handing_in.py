"""Files and names that are handed in to jobs: uploaders, button, job, findings of a doctor."""

from collections.abc import Callable

import streamlit as st

from shuffleproof.app import jobs, received_files, services
from shuffleproof.app.plain import escaped, refusal
from shuffleproof.app.study import parts
from shuffleproof.app.uploads import Draft
from shuffleproof.core.data import trec
from shuffleproof.core.errors import ShuffleproofError, UsageError
from shuffleproof.core.execution.jobs import Job
from shuffleproof.core.job_kinds import QRELS, RUNS
from shuffleproof.core.library import uploads
from shuffleproof.core.words import counted, number

ADD = "Add data"
"""Tab of the page of data."""

KEPT = "Your files are still here: remove or replace the file named above."


def judged_files(draft_name: str, label: str, what: str, hint: str) -> str:
    """Draw an uploader of judgments and other files; return what is lacking, in words."""
    received_files.drop_zone(
        draft_name, label,
        lambda file: QRELS if trec.form_of(file, file.name) == trec.QRELS_FORM else RUNS, QRELS,
        f"Judgments have lines of: topic 0 document grade. {hint}",
    )  # fmt: skip
    received_files.errors(draft_name)
    files = {part: received_files.files_of_parts(draft_name, part) for part in (QRELS, RUNS)}
    with st.container(gap="xxsmall"):
        for file in files[QRELS]:
            received_files.chosen_file(draft_name, file, "judgments, ")
        for file in files[RUNS]:
            received_files.chosen_file(draft_name, file)
            held = received_files.draft(draft_name)
            if held and not held.fault(file, "error"):
                parts.link("data", "This reads as LETOR data: add it here", query={"view": ADD})
    needed = [words for part, words in ((QRELS, "judgments"), (RUNS, what)) if not files[part]]
    return f"Choose the {' and the '.join(needed)}." if needed else ""


def button(label: str, key: str, lacking: str, session_key: str, job: Callable[[], Job]) -> None:
    """Draw the button of a job; a press submits it and reruns the page.

    Args:
        label: of the button.
        key: of the button.
        lacking: what the user has to choose first; empty: nothing.
        session_key: under which the session remembers the job.
        job: submits it.
    """
    pressed = st.button(
        label, type="primary", disabled=bool(lacking), help=lacking or None, key=key
    )
    if lacking and jobs.remembered_job(session_key) is None:
        st.caption(lacking)
    if not pressed:
        return
    try:
        st.session_state[session_key] = job().id
        st.session_state[f"{session_key} files"] = True
    except (ShuffleproofError, OSError) as error:
        st.error(refusal(error))
        return
    st.rerun()


def form(  # noqa: PLR0913, PLR0917 (a button and its job)
    label: str,
    key: str,
    lacking: str,
    session_key: str,
    job: Callable[[], Job],
    done: Callable[[Job], None],
    hint: str = "",
) -> None:
    """Draw the button of a job (see `button`) and the job itself (see `jobs.follow`)."""
    button(label, key, lacking, session_key, job)
    jobs.follow(session_key, done, hint)


def spooled(draft: Draft | None, *names: str) -> str:
    """Name of the upload with some parts of a draft; old uploads are removed.

    Raises:
        ShuffleproofError: files are missing, or the table of jobs cannot be used.
    """
    if draft is None:
        raise UsageError("no file: choose one")
    upload = draft.spooled(*names)
    uploads.clear(services.store(), jobs.table())
    return upload


def forget_read(session_key: str, draft: str) -> None:
    """Clear the files of a finished job, once; call it before the files are drawn."""
    job = jobs.remembered_job(session_key)
    is_done = job is not None and job.state == "done"
    if is_done and st.session_state.pop(f"{session_key} files", None):
        received_files.clear(draft)


def findings(job: Job) -> None:
    """Draw the findings of a doctor about a ranker."""
    result = job.result
    if "calls" in result:
        examined = f"{counted(result['of'], 'call')}, {result['lists']} answered."
    else:
        values = ", ".join(f"{name} {number(value)}" for name, value in result["measures"].items())
        lists = f"{result['lists']:,} of {counted(result['of'], 'list')} examined. {values}"
        examined = f"on {job.parameters['data']}: {lists}"
    parts.sentence(f"{result['ranker']}: {examined}")
    if not result["findings"]:
        st.success("No problems found.", icon=":material/check_circle:")
    for finding in result["findings"]:
        where = f" ({escaped(finding['where'])})" if finding["where"] else ""
        told = escaped(finding["message"].replace("`", ""))  # a page has no commands
        st.markdown(f"{parts.SEVERITIES[finding['severity']]} {told}{where}")
