"""Rerankers on the page of external rankers: files of recorded answers, or an address."""

from collections.abc import Callable

import streamlit as st

from shuffleproof.app import jobs, received_files, services, state
from shuffleproof.app.plain import escaped, refusal
from shuffleproof.app.study import parts
from shuffleproof.app.uploads import Draft
from shuffleproof.core.data.layout import SAMPLE, SAMPLE_TEXTS
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.execution.jobs import Job
from shuffleproof.core.job_kinds import QRELS, RUNS
from shuffleproof.core.library import uploads
from shuffleproof.core.rankers.name import SERVICES, RankerName
from shuffleproof.core.rerank.design import DEPTHS, Design
from shuffleproof.core.rerank.reading import groups_of
from shuffleproof.core.studies.kinds.rerankers.question import Rerankers

DRAFT, ANSWERS_JOB, ADDRESS_JOB = "answers chosen", "answers handed in", "address handed in"
"""Session keys of the files and of the jobs."""

KEPT = "Your files are still here: remove or replace the file named above."
HINT = (
    "Runs, RankLLM results or windows, service logs, OpenInference spans, or lines of "
    '{"query": …, "shown": […], "answered": […]}. Plain or .gz.'
)
QUERIES = 10
"""Default number of queries for an address."""
LONG = max(DEPTHS) + 1
"""Documents of a list that gets all inputs."""


def answers() -> None:
    """Draw the uploaders of recorded answers, their groups, and the job."""
    st.markdown(
        "Upload the judgments and the answers. Two runs are enough: a first stage "
        "(`bm25.txt`) and what the reranker made of it (`bm25.my-reranker.depth100.txt`)."
    )
    left, right = st.columns(2, gap="medium")
    with left:
        received_files.uploader(
            DRAFT, QRELS, "Judgments (one file)", "last", "Lines of: topic 0 document grade."
        )
    with right:
        received_files.uploader(DRAFT, RUNS, "First stages and answers", "all", HINT)
    received_files.errors(DRAFT)
    draft = received_files.draft(DRAFT)
    files = received_files.files_of_parts(DRAFT, RUNS)
    if files:
        st.caption("Read from the names of the files. The command line can correct them.")
        groups = groups_of([services.store().root / file.name for file in files], {})
        rows = [{name.replace("_", " "): value for name, value in group.plain().items()}
                for group in groups]  # fmt: skip
        st.dataframe(rows, hide_index=True)
    name = st.text_input("Name of the answers", "answers", key="name of answers", max_chars=60)
    lacking = "" if received_files.files_of_parts(DRAFT, QRELS) else "Choose the judgments."
    lacking = lacking or ("" if files else "Choose the answers.")
    pressed = st.button(
        "Examine the answers", type="primary", disabled=bool(lacking), help=lacking or None,
        key="examine answers",
    )  # fmt: skip
    if lacking:
        st.caption(lacking)
    if pressed and draft:
        _submit(ANSWERS_JOB, lambda: examine(draft, str(name or "answers")))
    jobs.follow(ANSWERS_JOB, _examined, KEPT)
    st.caption("Folders: `shuffleproof ingest-reranks FOLDER --name mine --qrels qrels.txt`")


def examine(draft: Draft, name: str) -> Job:
    """Submit files of answers for their study.

    Raises:
        ShuffleproofError: files are missing, or the table of jobs cannot be used.
    """
    upload = draft.spooled(QRELS, RUNS)
    uploads.clear(services.store(), jobs.table())
    return jobs.submit("reranks", {"upload": upload, "name": name.strip() or "answers"})


def address() -> None:
    """Draw the address of a reranker, the number of calls, and the job."""
    data = state.data()
    st.markdown(
        "A reranker behind HTTP is asked about test queries of the data set: in several orders, in "
        "several sets, and twice with the same input. The data set needs texts."
    )
    if data == SAMPLE:
        st.info(f"{SAMPLE} has no texts. Choose {SAMPLE_TEXTS} in the sidebar, or your own data.")
    left, middle, right = st.columns([4, 2, 1], vertical_alignment="bottom")
    text = left.text_input("Address", "", key="address", placeholder="http://127.0.0.1:8000/rerank")
    services_of = {"": "by the path", **{name: name for name in SERVICES}}
    service = middle.selectbox(
        "Service", [*services_of], format_func=services_of.__getitem__, key="service"
    )
    queries = right.number_input("Queries", 3, 1000, QUERIES, key="queries asked")
    lists = int(queries) * len(Design().inputs(LONG))
    st.caption(
        f"At most {lists:,} lists are sent, each in one call. Chat models get long lists in "
        "several calls. Answers are stored and reused. To allow addresses of other machines, name "
        "them in the variable SHUFFLEPROOF_RERANKERS of this server."
    )
    wanted = str(text or "").strip()
    if st.button("Examine it", type="primary", disabled=not wanted, key="examine address"):
        named = f"{service}:{wanted}" if service else wanted
        _submit(ADDRESS_JOB, lambda: ask(data, named, int(queries)))
    jobs.follow(ADDRESS_JOB, _examined)
    flag = "" if data == SAMPLE else f" --data '{data}'"
    shown = wanted or "http://127.0.0.1:8000/rerank"
    parts.shell(
        f"shuffleproof doctor --ranker {shown}{flag}\n"
        f"shuffleproof certify {shown}{flag} --queries 20\n"
        f"shuffleproof study rerankers --rankers {shown}{flag} --calls 2000"
    )


def ask(data: str, named: str, queries: int) -> Job:
    """Submit the study of a reranker's address.

    Raises:
        ShuffleproofError: an address that this server does not ask.
    """
    name = str(RankerName.parse(named))
    return jobs.submit(Rerankers.kind, {"data": data, "rankers": [name], "queries": queries})


def _examined(job: Job) -> None:
    data = str(job.parameters.get("name") or job.parameters["data"])
    st.success(escaped(f"Examined: {data}."))
    artefact = services.store().resolve(str(job.result["artefact"]))
    query = {"study": str(artefact.key), "answers": data}
    parts.link("rerankers", "Open the picture", query=query)


def _submit(session_key: str, job: Callable[[], Job]) -> None:
    """Submit a job, remember it in the session and rerun; draw the error if it is refused."""
    try:
        st.session_state[session_key] = job().id
    except (ShuffleproofError, OSError) as error:
        st.error(refusal(error))
        return
    st.rerun()
