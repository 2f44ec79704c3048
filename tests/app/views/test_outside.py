"""The page From outside: runs, files of scores and models come in, are read by jobs and found."""

import io
from functools import partial

import pytest
import streamlit as st

from shuffleproof.app import proposals, training
from shuffleproof.app.figures.style import stroke
from shuffleproof.app.uploads import Draft
from shuffleproof.app.views.outside import page as view
from shuffleproof.app.views.outside import rerankers
from shuffleproof.core import jobs
from shuffleproof.core.checks.selftest import RERANKERS as ZOO
from shuffleproof.core.checks.selftest import answer_of
from shuffleproof.core.job_kinds import FILE, QRELS, RUNS
from shuffleproof.core.rankers.name import with_display_names
from shuffleproof.core.store.keys import ArtefactKey
from shuffleproof.core.studies import names
from tests import app_pages
from tests import app_tables as tables
from tests.app_jobs import worked
from tests.app_pages import words
from tests.served import served

FOLD = tables.fold()
GRADES = b"1 0 a 1\n1 0 b 0\n2 0 c 2\n"
FIRST = b"1 Q0 a 1 2.5 mine\n1 Q0 b 2 1 mine\n2 Q0 c 1 1 mine\n"
SECOND = b"1 Q0 b 1 2 mine\n1 Q0 a 2 1 mine\n3 Q0 a 1 1 mine\n"


@pytest.fixture
def store(tmp_path, dashboard_alone):
    store = dashboard_alone(tmp_path)
    tables.data_set(store, FOLD)
    return store


opened = partial(app_pages.opened, "your-ranker")


def draft_of(store, **files):
    draft = Draft(store)
    for part, contents in files.items():
        for name, content in contents.items():
            draft.add(part, name, io.BytesIO(content))
    return draft


def runs_of(store, second=SECOND, grades=GRADES):
    files = {QRELS: {"qrels.txt": grades}, RUNS: {"first.run": FIRST, "second.run": second}}
    return draft_of(store, **files)


def test_runs_are_handed_in_compared_and_linked(store):
    draft = runs_of(store)
    test = opened(**{view.RUNS_DRAFT: draft})
    test.button(key="compare runs").click().run()
    assert not test.exception
    (job,) = jobs.jobs_of(store).list()
    assert job.kind == "runs"
    assert "Compare runs by qrels.txt: waiting" in test.get("progress")[0].proto.text
    done = worked(store, job)
    test = opened(**{
        view.RUNS_JOB: done.id, f"{view.RUNS_JOB} files": view.RUNS_DRAFT,
        view.RUNS_DRAFT: draft,
    })  # fmt: skip
    assert "Compared:" in words(test)
    assert "2 runs · qrels.txt, 2 topics" in words(test)
    (said,) = [one.value.replace("\\", "") for one in test.warning]
    assert "second.run answers 1 of the 2 judged topics: the other 1 counts as nothing" in said
    assert "1 topic of second.run is not judged: it is left out." in said
    assert draft.over
    assert not list((store.root / "uploads").iterdir())
    (study,) = store.artefacts("study")
    assert list(study.recipe["runs"]) == ["first.run", "second.run"]  # the tags are the same
    assert f"study={study.key}" in str(test.get("page_link")[0].proto)
    usual = ["NDCG(gain=linear,ties=trec)@10", "AP(ties=trec)", "P(ties=trec)@10", "RR(ties=trec)"]
    again = view.compare(runs_of(store), usual)
    assert again.id == job.id
    assert again.state == "done"


def test_runs_are_compared_under_the_conventions_that_stand_in_the_address(store):
    """trec_eval's ties and gain, say; the address alone says them, as on the study pages."""
    pinned = {"ties": "trec", "gain": "linear", "columns": ["NDCG@10", "AP"]}
    test = opened(pinned, **{view.RUNS_DRAFT: runs_of(store)})
    assert "ties: by document id" in words(test)
    test.button(key="compare runs").click().run()
    (job,) = jobs.jobs_of(store).list()
    assert job.parameters["measures"] == ["NDCG(gain=linear,ties=trec)@10", "AP(ties=trec)"]
    worked(store, job)
    (study,) = store.artefacts("study")
    assert study.recipe["measures"] == job.parameters["measures"]


REFUSED = [
    (b"1 Q0 a\n", GRADES, "second.run:1: 3 columns instead of 6"),
    (b"", GRADES, "second.run: no lines"),
    (SECOND, b"7 0 a 1\n", "first.run: no topic of it is judged in qrels.txt"),
    (SECOND, b"1 0 a x\n", "qrels.txt:1: 'x' where a whole number is due"),
]


def test_files_that_cannot_be_read_are_refused_by_name_and_line(store):
    for second, grades, said in REFUSED:
        draft = runs_of(store, second, grades)
        job = worked(store, view.compare(draft, ["AP"]))
        assert str(job.reason).startswith(said)
        assert str(store.root) not in job.reason
    test = opened(**{view.RUNS_JOB: job.id, f"{view.RUNS_JOB} files": view.RUNS_DRAFT,
                     view.RUNS_DRAFT: draft})  # fmt: skip
    assert f"Refused. {said}" in words(test)
    assert len(draft.files(QRELS, RUNS)) == 3  # kept, to be mended


def test_scores_become_a_ranker_that_forms_offer(store):
    count = FOLD.test.documents
    test = opened(have=view.SCORED)
    assert "one for every row of the **test part** of my_set" in words(test)
    draft = draft_of(store, **{FILE: {"mine.txt": b"0.5\n" * count}})
    test = opened(have=view.SCORED, **{view.DRAFT: draft})
    test.button(key="bring ranker").click().run()
    (job,) = jobs.jobs_of(store).list()
    assert job.parameters["data"] == tables.DATA
    done = worked(store, job)
    kind, _, digest = str(done.result["artefact"]).rpartition("-")
    name = f"scores#{digest[: proposals.DIGITS]}"
    st.cache_data.clear()
    test = opened(have=view.SCORED, **{view.MINE: done.id})
    assert f"my_set has mine.txt now. In commands: {name}" in words(test)
    assert proposals.imported_rankers(tables.DATA) == [name]
    (run,) = training.trained_rankers(training.fit_size(tables.DATA))["ranker"]
    assert with_display_names(run) == "mine.txt", "runs are told apart by their files"
    assert proposals.field_texts([name])(name) == "mine.txt", "one name on every page"
    assert stroke(name) == stroke(run) != stroke("scores:other.txt")
    assert store.find(ArtefactKey(kind, digest)).facts["test"]["NDCG@10"] > 0
    names.check(names.Names(rankers=(name,)), "small", store)
    test.button(key="examine ranker").click().run()
    (examining,) = [one for one in jobs.jobs_of(store).list() if one.kind == "doctor"]
    assert (examining.parameters["ranker"], examining.parameters["data"]) == (name, tables.DATA)
    job = worked(store, examining)
    assert [one["code"] for one in job.result["findings"]] == ["constant-scores"]
    test = opened(have=view.SCORED, **{view.DOCTOR: job.id})
    assert "All documents have the same score in" in words(test)
    assert not test.exception


def test_groups_of_answers_are_corrected_before_their_study(store, monkeypatch):
    answers = {"one.txt": FIRST, "one.other.txt": SECOND}
    draft = draft_of(store, **{QRELS: {"qrels.txt": GRADES}, RUNS: answers})
    test = opened(have=view.ANSWERS, **{rerankers.DRAFT: draft})
    assert not test.exception
    assert test.dataframe[0].value["reranker"].tolist() == ["other", ""]
    corrected = {"one.other.txt": {"reranker": "mine", "depth": 2}}
    monkeypatch.setattr(rerankers, "corrections", lambda *_: corrected)
    test = opened(have=view.ANSWERS, **{rerankers.DRAFT: draft})
    test.button(key="examine answers").click().run()
    (job,) = jobs.jobs_of(store).list()
    assert job.parameters["groups"] == corrected
    done = worked(store, job)
    recorded = store.resolve("answers")
    assert [row["reranker"] for row in recorded.facts["groups"]] == ["", "mine"]
    test = opened(have=view.ANSWERS, **{rerankers.ANSWERS_JOB: done.id})
    assert "Examined: answers." in words(test)


def test_an_address_is_examined_by_the_doctor_on_the_page(store):
    reversing = ZOO["never sorted"]

    def answer(request):
        return 200, answer_of(reversing[0](request["query"], request["documents"]))

    test = opened(have=view.ADDRESS)
    with served(answer, "/rerank") as address:
        test.text_input(key="address").set_value(address).run()
        assert test.button(key="examine address").disabled, "the sample has no texts"
        test.button(key="examine endpoint").click().run()
        (job,) = jobs.jobs_of(store).list()
        done = worked(store, job)
    test = opened(have=view.ADDRESS, **{rerankers.DOCTOR_JOB: done.id})
    assert not test.exception
    assert "calls, 9 answered" in words(test)
    assert "results that are not sorted by score" in words(test)
