"""A ranker from outside by its file: scores, a LightGBM or an XGBoost model of a data set."""

import streamlit as st

from shuffleproof.app import outside, proposals, services, state
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import parts
from shuffleproof.app.views.outside import files
from shuffleproof.app.views.outside import job as outside_job
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.execution.jobs import Job
from shuffleproof.core.rankers.name import FILES, LIGHTGBM, SCORES, XGBOOST, RankerName
from shuffleproof.core.studies.answers.trained import TrainedRanker
from shuffleproof.core.studies.jobs_outside import FILE

DRAFT, MINE = "ranker chosen", "ranker handed in"
KINDS = {SCORES: "Scores in a file", LIGHTGBM: "LightGBM text model", XGBOOST: "XGBoost JSON"}
HINTS = {
    SCORES: "One number a line, higher is better. Plain or .gz.",
    LIGHTGBM: "What Booster.save_model wrote.",
    XGBOOST: "What Booster.save_model wrote to a name that ends in .json.",
}
CAN = {
    "initial-ranking": "Initial ranking",
    "invariance": "Invariance",
    "card": "Robustness card",
    "worst-case": "Worst case",
    "perturbations": "Perturbations",
    "benchmark": "Benchmark",
}
"""The pages whose studies take a ranker from a file."""

FROZEN = (
    "Scores in a file are known for the documents of the test part as they are: the benchmark "
    "takes them, and so do lists that nothing disturbs. A study that changes order, initial "
    "ranking, set or features needs the ranker itself: it refuses them or says that it leaves "
    "them out, and shows the others."
)
ALIVE = (
    "A model is asked anew for whatever a study does to features, documents and orders. It is "
    "loaded in a process of its own, which ends after each answer. Training on other labels and "
    "attention are beyond it; a study says so."
)


def section() -> None:
    """Draw the form, the job under way, and what was brought before."""
    outside_job.settle(MINE)
    data = state.data()
    words = list(KINDS.values())
    what = st.segmented_control(
        "What it is", words, default=words[0], required=True, key="brought", bind="query-params"
    )
    kind = list(KINDS)[words.index(what or words[0])]
    st.markdown(_asked(data, kind))
    files.uploader(DRAFT, FILE, KINDS[kind], hint=HINTS[kind])
    files.errors(DRAFT)
    draft = files.draft(DRAFT)
    chosen = bool(draft and draft.files(FILE))
    pressed = st.button(
        f"Bring it to {escaped(data)}", type="primary", disabled=not chosen, key="bring ranker",
        help=None if chosen else "Choose its file first.",
    )  # fmt: skip
    if pressed and draft:
        outside_job.hand_in(MINE, DRAFT, lambda: outside.bring(draft, kind, data))
    outside_job.watch(MINE, _done)
    _brought(data)
    st.caption(escaped(FROZEN if kind == SCORES else ALIVE))


def _asked(data: str, kind: str) -> str:
    """What the file must hold, for the data set in use."""
    try:
        parts = services.data_set(data).facts.get("parts", {})
    except ShuffleproofError as error:
        return escaped(str(error))
    if kind == SCORES:
        count = parts.get("test", {}).get("documents")
        lines = f"**{count:,} lines**" if count else "A line each"
        command = f"shuffleproof export {data} test.txt --part test"
        return (
            f"{lines}, one for every row of the **test part** of {escaped(data)}, in its order "
            f"(`{command}` writes those rows)."
        )
    return (
        f"A model over the features of {escaped(data)}: its columns in the data set's order, or "
        "numbered by feature id as svmlight text has them."
    )


def _done(job: Job) -> None:
    digest = str(job.result["artefact"]).rpartition("-")[2]
    name = f"{job.parameters['kind']}#{digest[: proposals.DIGITS]}"
    st.success(escaped(f"{job.parameters['data']} has it now. Its name in every study: {name}"))


def _brought(data: str) -> None:
    found = outside.imported(data)
    if not found:
        return
    st.subheader("Brought to this data set")
    st.table(
        {
            "Name in studies": [escaped(proposals.as_asked(one, data)) for one in found],
            "What": [escaped(_what(one)) for one in found],
            "Validation NDCG@10": [
                f"{one.valid['NDCG@10']:.3f}" if "NDCG@10" in one.valid else "–" for one in found
            ],
        }
    )
    with st.container(horizontal=True):
        for path, title in CAN.items():
            parts.link(path, title)


def _what(ranker: TrainedRanker) -> str:
    file = RankerName.of(ranker.label).path
    return f"{FILES[ranker.name]}{f', {file}' if file else ''}"
