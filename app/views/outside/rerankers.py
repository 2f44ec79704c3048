"""Rerankers on the page of external rankers: files of recorded answers, or an address."""

from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import captions, jobs, received_files, services, state
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import parts
from shuffleproof.app.views.outside import handing_in
from shuffleproof.core.data.layout import SAMPLE, SAMPLE_TEXTS
from shuffleproof.core.execution.jobs import Job
from shuffleproof.core.job_kinds import QRELS, RUNS
from shuffleproof.core.rankers.name import SERVICES, RankerName
from shuffleproof.core.rerank.design import LONG, Design
from shuffleproof.core.rerank.groups import corrections, groups_of
from shuffleproof.core.studies.kinds.rerankers.question import Rerankers

DRAFT, ANSWERS_JOB, ADDRESS_JOB = "answers chosen", "answers handed in", "address handed in"
DOCTOR_JOB = "address examined"
"""Session keys of the files and of the jobs."""

HINT = (
    "Runs, RankLLM results or windows, service logs, OpenInference spans, or lines of "
    '{"query": …, "shown": […], "answered": […]}. Plain or .gz.'
)
QUERIES = 10
"""Default number of queries for an address."""


def answers() -> None:
    """Draw the uploaders of recorded answers, their groups, and the job."""
    st.markdown(
        "Two runs are enough: a first stage (`bm25.txt`) and what the reranker made of it "
        "(`bm25.my-reranker.depth100.txt`)."
    )
    lacking = handing_in.judged_files(
        DRAFT, "Judgments, first stages and answers: all files at once", "answers", HINT
    )
    draft, groups = received_files.draft(DRAFT), _groups()
    name = str(st.text_input("Name of the answers", "answers", key="name of answers", max_chars=60))

    def examine() -> Job:
        corrected = {"groups": groups} if groups else {}
        upload = handing_in.spooled(draft, QRELS, RUNS)
        given = {"upload": upload, "name": name.strip() or "answers", **corrected}
        return jobs.submit("reranks", given)

    handing_in.form("Examine the answers", "examine answers", lacking, ANSWERS_JOB, examine,
                    _examined, handing_in.KEPT)  # fmt: skip
    parts.link("rerankers", "An example on the sample", "image", {state.USE: SAMPLE})
    st.caption("Folders: `shuffleproof ingest-reranks FOLDER --name mine --qrels qrels.txt`")


def _groups() -> dict[str, Any]:
    """Draw the groups guessed from the names of the files; return the corrected ones by file."""
    names = [file.name for file in received_files.files_of_parts(DRAFT, RUNS)]
    if not names:
        return {}
    st.caption(
        "Read from the names of the files: correct them here. A file without a reranker is a first "
        "stage."
    )
    guessed = [group.plain() for group in groups_of([Path(name) for name in names])]
    number = st.column_config.NumberColumn
    edited = st.data_editor(
        pd.DataFrame(guessed), hide_index=True, key=f"groups {names}", disabled=["file"],
        column_config={
            "file": "File", "first_stage": "First stage", "reranker": "Reranker",
            "depth": number("Depth", min_value=0, step=1, required=True,
                            help="Documents reranked; 0: not known."),
            "repeat": number("Repeat", min_value=1, step=1, required=True),
        },
    )  # fmt: skip
    return corrections(guessed, [dict(row) for _, row in edited.iterrows()])


def address() -> None:
    """Draw the address of a reranker, its doctor and its study, and their jobs."""
    data = state.data()
    st.caption(
        "Sent: a query and its documents. Expected: a score for each document, or their order."
    )
    has_texts = captions.of(data) is not None
    if not has_texts:
        st.info(
            f"{escaped(data)} has no texts: the doctor sends built-in sentences. For a study "
            f"choose {SAMPLE_TEXTS} in the sidebar, or your own data with texts."
        )
    left, right = st.columns([4, 2], vertical_alignment="bottom")
    text = left.text_input("Address", "", key="address", placeholder="http://127.0.0.1:8000/rerank")
    services_of = {"": "guess from the address", **{name: name for name in SERVICES}}
    service = right.selectbox(
        "Service", [*services_of], format_func=services_of.__getitem__, key="service"
    )
    wanted = str(text or "").strip()

    def name() -> str:
        return str(RankerName.parse(f"{service}:{wanted}" if service else wanted))

    lacking = "" if wanted else "Enter the address."
    st.markdown("**1. Doctor:** at most ten calls, under a minute.")
    handing_in.form("Run the doctor", "examine endpoint", lacking, DOCTOR_JOB,
                    lambda: jobs.submit("doctor", {"data": data, "ranker": name()}),
                    handing_in.findings)  # fmt: skip
    st.markdown("**2. Study:** several orders and sets, and the same input twice.")
    queries = int(st.number_input("Queries", 3, 1000, QUERIES, key="queries asked", width=160))
    st.caption(
        f"At most {queries * len(Design().inputs(LONG)):,} lists are sent, each in one call. Chat "
        "models get long lists in several calls. Answers are stored and reused. To allow addresses "
        "of other machines, name them in the variable SHUFFLEPROOF_RERANKERS of this server."
    )
    lacking = lacking or ("" if has_texts else "Choose data with texts.")
    handing_in.form("Run the study", "examine address", lacking, ADDRESS_JOB,
                    lambda: jobs.submit(Rerankers.kind, {
                        "data": data, "rankers": [name()], "queries": queries}),
                    _examined)  # fmt: skip
    flag = "" if data == SAMPLE else f" --data '{data}'"
    shown = wanted or "http://127.0.0.1:8000/rerank"
    parts.shell(
        f"shuffleproof certify {shown}{flag} --queries 20\n"
        f"shuffleproof study rerankers --rankers {shown}{flag} --calls 2000"
    )


def _examined(job: Job) -> None:
    data = str(job.parameters.get("name") or job.parameters["data"])
    st.success(escaped(f"Examined: {data}."))
    artefact = services.store().resolve(str(job.result["artefact"]))
    query = {"study": str(artefact.key), "answers": data}
    parts.link("rerankers", "Open the picture", query=query)
