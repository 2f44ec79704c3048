"""The page of external rankers: runs, models, scores, recorded answers, addresses, functions."""

import streamlit as st

from shuffleproof.app import (
    benchmarks,
    jobs,
    proposals,
    received_files,
    services,
    state,
    study_access,
)
from shuffleproof.app.plain import escaped, refusal
from shuffleproof.app.study import parts, sample_result
from shuffleproof.app.study.choice import CHOOSABLE, conventions
from shuffleproof.app.uploads import Draft
from shuffleproof.app.views.outside import handing_in, rerankers
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.execution.jobs import Job
from shuffleproof.core.job_kinds import FILE, MEASURES, QRELS, RUNS
from shuffleproof.core.metrics.bundles import BUNDLES
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.rankers.name import (
    FILES,
    SCORES,
    display_names,
)
from shuffleproof.core.rankers.outside.columns import RULES
from shuffleproof.core.store.keys import ArtefactKey
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.benchmark import outside_runs
from shuffleproof.core.words import counted, number

QUESTION = "How robust is your own ranker?"
KEPT = "Your other files are still here: remove or replace the file named above."
OF_RUNS, SCORED, FUNCTION = "TREC runs", "Model or scores", "Function"
ANSWERS, ADDRESS = "Recorded answers", "Address"


def page() -> None:
    """Draw the choice of a ranker's format, then the form for it."""
    parts.header("Your ranker", QUESTION)
    ways = {
        OF_RUNS: _runs, SCORED: _ranker, ANSWERS: rerankers.answers, ADDRESS: rerankers.address,
        FUNCTION: _function,
    }  # fmt: skip
    ways[parts.segments("Kind", "have", {way: way for way in ways})]()


RUNS_DRAFT, RUNS_JOB = "runs chosen", "runs handed in"
"""Session keys of the files and the job of runs; `DRAFT` and `MINE` are those of a ranker."""

OFFERED = (
    "NDCG@10", "AP", "P@10", "RR", "NDCG@1", "NDCG@3", "NDCG@5", "NDCG@20", "NDCG@100", "P@5",
    "P@20", "P@100", "ERR@10", "ERR@20",
)  # fmt: skip


def _runs() -> None:
    """Draw the uploaders and the running job."""
    handing_in.forget_read(RUNS_JOB, RUNS_DRAFT)
    lacking = handing_in.judged_files(
        RUNS_DRAFT, "Judgments (qrels) and any number of runs: all files at once", "runs",
        "Runs: topic Q0 document rank score tag. Plain or .gz. Documents are sorted by score. "
        "A run is named by its tag, or by its file if tags repeat.",
    )  # fmt: skip
    measures = _measures()
    lacking = lacking or ("" if measures else "Choose at least one measure.")
    draft = received_files.draft(RUNS_DRAFT)
    handing_in.form("Compare the runs", "compare runs", lacking, RUNS_JOB,
                    lambda: compare(draft, measures), _compared, handing_in.KEPT)  # fmt: skip
    parts.link("benchmark", "Stored comparisons")
    st.caption("Larger files, or a folder full: `shuffleproof runs --qrels qrels.txt *.run`")


def _measures() -> list[str]:
    """Draw the choices of measures and conventions; return the measures."""
    with st.container(horizontal=True, vertical_alignment="center"):
        words = st.container(width="stretch")
        with st.popover("Measures and conventions", icon=":material/tune:"):
            named = st.multiselect(
                "Measures", OFFERED, default=MEASURES, key="columns", bind="query-params",
                help="The columns of the table; NDCG can be switched to other cut-offs on the "
                "stored comparison.",
            )  # fmt: skip
            usual = Measure("NDCG").under(**BUNDLES[outside_runs.CONVENTIONS].conventions)
            wanted = conventions({}, (*CHOOSABLE, "gain", "short"), usual)
    measures = [Measure.parse(name).under(**wanted) for name in named]
    with words:
        st.caption(escaped(" · ".join(map(str, measures))))
        if measures:
            parts.convention(measures[0].convention())
    return list(map(str, measures))


def compare(draft: Draft | None, measures: list[str]) -> Job:
    """Submit a comparison of runs with their judgments; a failed or cancelled job runs again.

    Raises:
        ShuffleproofError: files are missing, or the table of jobs cannot be used.
    """
    name = next(file.name for file in draft.files(QRELS)) if draft else ""
    upload = handing_in.spooled(draft, QRELS, RUNS)
    return jobs.submit("runs", {"upload": upload, "name": name, "measures": measures})


def _compared(job: Job) -> None:
    kind, _, digest = str(job.result["artefact"]).rpartition("-")
    artefact = benchmarks.of_runs().get(str(ArtefactKey(kind, digest)))
    if artefact is None:
        st.info("That comparison is not stored any more.")
        return
    parts.headline(study_access.compute(str(artefact.key), sample_result.headline))
    parts.note(f"Compared: {_description(artefact)}.")
    warnings = outside_runs.warnings(artefact.facts)
    if warnings:
        st.warning(escaped(" ".join(warnings)))
    _link(artefact, "Open the comparison")


def _description(artefact: Artefact) -> str:
    """One-line description of a comparison."""
    facts, runs = artefact.facts, counted(len(artefact.recipe["runs"]), "run")
    topics = counted(facts["queries"], "topic")
    return f"{study_access.day(artefact)} · {runs} · {facts['data']}, {topics}"


def _link(artefact: Artefact, label: str) -> None:
    parts.link("benchmark", label, query={"study": str(artefact.key)})


EXAMPLE = '''# mine.py
def score(features, ranks):
    """One list: float32 [documents, features], int32 [documents, rankings] -> [documents]."""
    return features[:, 2] - 0.1 * ranks[:, 0]


def score_many(features, mask, ranks):
    """Several lists at once: a leading axis more, mask True = a document."""
    return features[:, :, 2] - 0.1 * ranks[:, :, 0]
'''


def _function() -> None:
    data = state.data()
    st.markdown(
        "This page does not run uploaded code. Run your function on the command line, in the "
        "folder of its file. Its results appear on the pages."
    )
    st.code(EXAMPLE, language="python")
    flag = "" if data == "sample" else f" --data '{data}'"
    parts.shell(
        f"shuffleproof doctor --ranker mine:score{flag}\n"
        f"shuffleproof certify mine:score{flag}\n"
        f"shuffleproof study initial-ranking --rankers mine:score,lambdamart{flag}\n"
        f"shuffleproof study card --rankers mine:score{flag}"
    )
    st.caption(
        "Every perturbed list is scored by the function. If you edit its file, its trials run "
        "again."
    )


DRAFT, MINE = "ranker chosen", "ranker handed in"
CAN = {
    "initial-ranking": "Initial ranking",
    "invariance": "Invariance",
    "card": "Robustness card",
    "worst-case": "Worst case",
    "perturbations": "Perturbations",
    "benchmark": "Benchmark",
}
"""Pages whose studies accept a ranker from a file."""

FROZEN = (
    "A score file holds scores of the unchanged test lists: it works in benchmarks. Studies that "
    "change order, initial ranking, set or features need the ranker itself; they leave score "
    "files out and say so."
)
ALIVE = (
    "A model scores every changed list again, in a separate process. Studies that train on other "
    "labels, and attention, do not apply to it."
)


def _ranker() -> None:
    """Draw the form, the running job, and the rankers imported before."""
    handing_in.forget_read(MINE, DRAFT)
    data = state.data()
    kind = parts.segments(
        "File type", "brought", {kind: file.label for kind, file in FILES.items()}
    )
    st.markdown(_expected_file(data, kind))
    received_files.uploader(DRAFT, FILE, FILES[kind].label, "last", FILES[kind].hint)
    received_files.errors(DRAFT)
    rule = "" if kind == SCORES else _column_rule()
    lacking = "" if received_files.files_of_parts(DRAFT, FILE) else "Choose its file first."
    draft = received_files.draft(DRAFT)

    def bring() -> Job:
        (file,) = received_files.files_of_parts(DRAFT, FILE)
        given = {"data": data, "kind": kind, "upload": handing_in.spooled(draft, FILE)}
        given |= {"file": f"{FILE}/{file.name}"}
        return jobs.submit("bring", given | ({"columns": rule} if rule else {}))

    handing_in.form(f"Add it to {escaped(data)}", "bring ranker", lacking, MINE, bring, _arrived,
                    handing_in.KEPT)  # fmt: skip
    _stored_rankers(data)
    st.caption(escaped(FROZEN if kind == SCORES else ALIVE))


def _column_rule() -> str:
    """Draw the choice of a rule for a model's columns; empty: the only rule that fits."""
    words = {"": "Automatic"}
    words |= {rule: text[0].upper() + text[1:] for rule, text in RULES.items()}
    chosen = st.selectbox(
        "Columns of the model", [*words], format_func=words.__getitem__, key="bring columns",
        help="Feature of each model column. Choose a rule if several fit.",
    )  # fmt: skip
    return chosen or ""


def _expected_file(data: str, kind: str) -> str:
    """Required content of the file, for the data set in use."""
    try:
        sizes = services.data_set(data).facts.get("parts", {})
    except ShuffleproofError as error:
        return refusal(error)
    if kind == SCORES:
        count = sizes.get("test", {}).get("documents")
        lines = f"**{count:,} lines**" if count else "A line each"
        command = f"shuffleproof export {data} test.txt --part test"
        return (
            f"{lines}, one for every row of the **test part** of {escaped(data)}, in its order "
            f"(`{command}` writes those rows)."
        )
    return (
        f"A model over the features of {escaped(data)}. Columns with names are matched by name; "
        "others in the data set's order, or by feature id."
    )


def _arrived(job: Job) -> None:
    digest = str(job.result["artefact"]).rpartition("-")[2]
    name = f"{job.parameters['kind']}#{digest[: proposals.DIGITS]}"
    data, file = job.parameters["data"], str(job.parameters["file"]).rpartition("/")[2]
    st.success(escaped(f"{data} has {file} now. In commands: {name}"))
    artefact = services.store().resolve(str(job.result["artefact"]))
    for sentence in artefact.facts.get("columns", ()):
        st.caption(escaped(sentence))


def _stored_rankers(data: str) -> None:
    rankers = [ranker for ranker in proposals.trained_rankers(data) if ranker.name in FILES]
    if not rankers:
        return
    st.subheader("Added to this data set")
    names = [proposals.name_in_jobs(ranker) for ranker in rankers]
    valid = [ranker.valid.get("NDCG@10") for ranker in rankers]
    st.table(
        {
            "Name": list(map(escaped, display_names(names).values())),
            "In commands": list(map(escaped, names)),
            "What": [FILES[ranker.name].description for ranker in rankers],
            "Validation NDCG@10": list(map(number, valid)),
        }
    )
    with st.container(horizontal=True):
        for path, title in CAN.items():
            parts.link(path, title)
    _doctor(data, names)


DOCTOR = "ranker examined"


def _doctor(data: str, names: list[str]) -> None:
    """Draw the choice of a ranker to examine, the running job, and its findings."""
    st.subheader("Doctor")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ranker = st.selectbox(
            "Ranker", names, key="examined ranker", width=360,
            format_func=display_names(names).__getitem__,
        )  # fmt: skip
        wanted = {"data": data, "ranker": ranker}
        handing_in.button("Examine it", "examine ranker", "", DOCTOR,
                          lambda: jobs.submit("doctor", wanted))  # fmt: skip
    st.caption(
        "Checks for copied input, constant or rounded scores, ties, NaN, wrong direction, "
        "nondeterminism and slowness. For the input order, see Invariance."
    )
    jobs.follow(DOCTOR, handing_in.findings)
