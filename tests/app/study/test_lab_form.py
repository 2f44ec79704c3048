"""The form of a lab's study: what it asks, what it would train, its job from hand-in to result."""

import json
import shlex

import pytest

from shuffleproof.app import scoring
from shuffleproof.core import job_kinds, jobs
from shuffleproof.core.aggregate import preference_store as preferences
from shuffleproof.core.cli.arguments import parser
from shuffleproof.core.cli.flags import question_of
from shuffleproof.core.errors import ArtefactError
from shuffleproof.core.parameters import parameters
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.retrieval.ingest import ingest
from shuffleproof.core.store.artefacts import Store, default_store
from shuffleproof.core.studies.registry import COLLECTION_STUDIES, LISTLESS, page_of, with_kind
from tests import app_perturbed, small_collection
from tests.app_jobs import state_of
from tests.app_pages import opened, words

BRIEF = {
    "retrieval": {"retrievers": ("bm25",), "seeds": 1},
    "growth": {"retrievers": ("bm25",), "seeds": 1, "withheld": (0.3,)},
    "query-noise": {"retrievers": ("bm25",), "seeds": 1},
    "sparsity": {"preset": "small", "seeds": 1, "penalties": (), "keep": (5,)},
    "preferences": {"aggregators": ("goa",), "disturbances": ("noise",), "draws": 1, "sizes": ()},
}
"""Of every kind, values that are soon worked."""


@pytest.fixture
def store(dashboard, tmp_path, monkeypatch):
    monkeypatch.setattr(scoring, "resident", app_perturbed.Here)
    found = dashboard(tmp_path)
    small_collection.write(tmp_path / "texts")
    run_to_end(ingest(tmp_path / "texts", "texts", found))
    judged = [
        {"query": "q1", "a": a, "b": b, "preference": value}
        for a, b, value in (("x", "y", 1.0), ("y", "z", 1.0), ("z", "x", 0.8))
    ]
    (tmp_path / "judged.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in judged))
    preferences.ingest([tmp_path / "judged.jsonl"], "judged", found)
    return found


def of_kind(kind):
    """What an address calls the data of a kind, and the data's name here."""
    return ("collection", "texts") if kind in COLLECTION_STUDIES else ("preferences", "judged")


def page_with(kind, **query):
    """The page of a kind with its data."""
    of, name = of_kind(kind)
    return opened(page_of(kind), data="sample", query={of: name} | query)


def form_of(kind):
    """The page with the form of that kind, which stands open where nothing is stored."""
    page = page_with(kind)
    if kind in COLLECTION_STUDIES:
        page.selectbox(key="new.kind").set_value(kind).run()
    return page


@pytest.mark.parametrize("kind", LISTLESS)
def test_the_button_asks_what_the_command_beside_it_asks(store, kind):
    page, name = form_of(kind), of_kind(kind)[1]
    said = " ".join(["shuffleproof study", *LISTLESS[kind].command_words()])
    (command,) = (one.value for one in page.code if one.value.startswith(said))
    flags = parser().parse_args(["study", *with_kind(shlex.split(command)[2:])])
    assert flags.data == name
    page.button(key="new.run").click().run()
    (job,) = jobs.jobs_of(store).list()
    question, scope = jobs.KINDS[kind].question_of(store, job.parameters)
    assert question == LISTLESS[kind]() == question_of(LISTLESS[kind], flags, "paper")
    assert (job.kind, scope.data) == (kind, name)
    assert scope.pinned == job_kinds.text_of(store.names()[name])
    assert "Waiting for a free worker" in page.get("progress")[0].proto.text
    state_of(store, job, state="failed", reason="the disk is full", finished=2.0)
    assert "The last job failed: the disk is full" in words(page_with(kind))


@pytest.mark.parametrize("kind", LISTLESS)
def test_its_job_stores_the_study_that_the_page_shows(store, kind):
    name = of_kind(kind)[1]
    handed = jobs.submit(store, kind, {"data": name} | BRIEF[kind])
    made = run_to_end(jobs.KINDS[kind](store, **handed.parameters))
    artefact = store.resolve(made["artefact"], "study")
    assert artefact.facts["data"] == name
    page = page_with(kind, study=str(artefact.key))
    assert "No study" not in words(page)
    assert not page.exception


def test_what_would_be_trained_is_told_before_the_button(store):
    page = form_of("retrieval")
    assert "No training" in words(page)
    page.multiselect(key="new.retrieval.retrievers").set_value(["bm25", "snrm"]).run()
    assert "4 trainings, time unknown first" in words(page)
    page.multiselect(key="new.retrieval.retrievers").set_value([]).run()
    assert "name at least one" in words(page)
    assert not [one for one in page.button if one.key == "new.run"]


@pytest.mark.parametrize("kind", LISTLESS)
def test_no_job_reads_a_file_of_this_machine(kind, tmp_path):
    (tmp_path / "judged.csv").write_text("query,a,b\n1,x,y\n")
    small_collection.write(tmp_path / "texts")
    where = tmp_path / ("texts" if of_kind(kind)[1] == "texts" else "judged.csv")
    store = Store(tmp_path / "store", default_store().bundled)
    with pytest.raises(ArtefactError, match="no stored"):
        jobs.submit(store, kind, {"data": str(where)} | BRIEF[kind])
    assert set(BRIEF[kind]) <= {one.name for one in parameters(LISTLESS[kind])}
