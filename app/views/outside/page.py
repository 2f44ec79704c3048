"""The page of rankers that were made elsewhere: runs, scores, models, functions."""

from collections.abc import Callable

import streamlit as st

from shuffleproof.app import jobs, outside, proposals, services, state
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import parts
from shuffleproof.app.views.outside import runs
from shuffleproof.core.answers.trained import TrainedRanker
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.execution.jobs import Job
from shuffleproof.core.jobs import FILE
from shuffleproof.core.rankers.name import FILES, LIGHTGBM, SCORES, XGBOOST, RankerName

QUESTION = "You have a ranker of your own: how good is it, and does it survive?"
RUNS, SCORED, FUNCTION = "TREC runs", "Scores or a model", "A Python function"
EXAMPLE = '''# mine.py
def score(features, ranks):
    """One list: float32 [documents, features], int32 [documents, rankings] -> [documents]."""
    return features[:, 2] - 0.1 * ranks[:, 0]


def score_many(features, mask, ranks):
    """Several lists at once: a leading axis more, mask True = a document."""
    return features[:, :, 2] - 0.1 * ranks[:, :, 0]
'''


def page() -> None:
    """Draw the choice of what there is, then what is to be done with it."""
    parts.header("From outside", QUESTION)
    ways = {RUNS: runs.section, SCORED: ranker, FUNCTION: _function}
    way = st.segmented_control(
        "What you have", list(ways), default=RUNS, required=True, key="have", bind="query-params"
    )
    ways[way or RUNS]()


def _function() -> None:
    data = state.data()
    st.markdown(
        "A function is code, and this page runs none that comes over the web. Name it on the "
        "command line, in the folder that holds its file; results appear on the pages as they are "
        "found."
    )
    st.code(EXAMPLE, language="python")
    flag = "" if data == "sample" else f" --data '{data}'"
    st.code(
        f"shuffleproof certify mine:score{flag}\n"
        f"shuffleproof study initial-ranking --rankers mine:score,lambdamart{flag}\n"
        f"shuffleproof study card --rankers mine:score{flag}",
        language="bash", wrap_lines=True,
    )  # fmt: skip
    st.caption(
        "Nothing is known of what a function reads, so everything is scored for real: edit its "
        "file and its trials run anew."
    )


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


def ranker() -> None:
    """Draw the form, the job under way, and what was brought before."""
    settle(MINE)
    data = state.data()
    words = list(KINDS.values())
    what = st.segmented_control(
        "What it is", words, default=words[0], required=True, key="brought", bind="query-params"
    )
    kind = list(KINDS)[words.index(what or words[0])]
    st.markdown(_asked(data, kind))
    runs.uploader(DRAFT, FILE, KINDS[kind], hint=HINTS[kind])
    runs.errors(DRAFT)
    draft = runs.draft(DRAFT)
    chosen = bool(draft and draft.files(FILE))
    pressed = st.button(
        f"Bring it to {escaped(data)}", type="primary", disabled=not chosen, key="bring ranker",
        help=None if chosen else "Choose its file first.",
    )  # fmt: skip
    if pressed and draft:
        hand_in(MINE, DRAFT, lambda: outside.bring(draft, kind, data))
    watch(MINE, _done)
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


EVERY_SECONDS = 1.0


def watch(own: str, done: Callable[[Job], None]) -> bool:
    """Draw the job that this session handed in last; whether it is still under way.

    Args:
        own: where the session remembers its id.
        done: draws what became of one that is done.
    """
    identifier = st.session_state.get(own)
    if identifier is None:
        return False
    try:
        job = jobs.table().get(identifier)
    except ShuffleproofError:  # it was removed from the list in another tab
        del st.session_state[own]
        return False
    if not job.ended:
        st.fragment(_running, run_every=EVERY_SECONDS)(identifier)
        return True
    if job.state == "done":
        done(job)
    elif job.state == "failed":
        st.error(escaped(f"Refused. {job.reason}"))
        st.caption("The files above are kept: take the one that is named out, or put another in.")
    else:
        st.info(escaped(f"{jobs.name(job)}: cancelled."))
    return False


def settle(own: str) -> None:
    """Forget the files of a job that is done, once; call it before they are drawn."""
    if f"{own} files" not in st.session_state or own not in st.session_state:
        return
    try:
        is_done = jobs.table().get(st.session_state[own]).state == "done"
    except ShuffleproofError:
        return
    if is_done:
        runs.clear(st.session_state.pop(f"{own} files"))


def hand_in(own: str, draft: str, job: Callable[[], Job]) -> None:
    """Hand work in and show it; what makes it impossible is said where the button is.

    Args:
        own: where the session remembers the job's id.
        draft: the name of its files' draft.
        job: hands it in.
    """
    try:
        st.session_state[own] = job().id
        st.session_state[f"{own} files"] = draft
    except (ShuffleproofError, OSError) as error:
        st.error(escaped(str(error)))
        return
    st.rerun()


def _running(identifier: str) -> None:
    try:
        job = jobs.table().get(identifier)
    except ShuffleproofError:
        st.rerun()
    if job.ended:
        st.rerun()
    told = jobs.far(job, jobs.table().history(identifier))
    st.progress(told.share, escaped(f"{jobs.name(job)}: {told.words}"))
    st.button("Cancel", key=f"cancel {identifier}", on_click=jobs.act, args=("cancel", identifier))
