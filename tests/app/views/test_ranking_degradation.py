"""The page of Figure 3 in every state: empty, a study, other conventions, at work, failed."""

import shutil
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import streamlit as st

from shuffleproof.app import services
from shuffleproof.app.study import form
from shuffleproof.app.views import ranking_degradation as view
from shuffleproof.core import jobs
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.data.synthetic import planted
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.perturb.levels import levels_of
from shuffleproof.core.rankers import initial
from shuffleproof.core.rankers.name import INITIAL
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.studies import conventions, run
from shuffleproof.core.studies.run import run_study
from shuffleproof.core.studies.study import Study
from shuffleproof.core.studies.workbench import run_to_end
from tests import app_pages
from tests.app_jobs import announce, state_of
from tests.app_pages import markdown

DATA = "my_set"
LISTS = {
    "initial": ["lambdamart@paper"],
    "depth": 40,
    "scores": "cross-fitted",
    "folds": 5,
    "seed": 0,
}
PAIRS = tuple((family, level) for family in ("shuffle", "mallows") for level in levels_of(family))


class Noisy(initial.InitialRanking):
    """The prior scores blurred: it follows the initial ranking down, but not all the way."""

    def score(self, dataset, lists):
        return lists.prior[:, 0] + 2 * dataset.labels[lists.rows]


@pytest.fixture(scope="module")
def made():
    """A study of three rankers and two families, as the workbench stores it."""
    dataset = planted(queries=(2, 2, 25), seed=1, documents=12).test
    noise = generator(0, "prior").normal(size=dataset.documents)
    scores = (dataset.labels + noise).astype(np.float32)[:, None]
    judged = JudgedLists(dataset, CandidateLists.ranked_by(dataset, scores))
    rankers = {
        INITIAL: initial.InitialRanking(),
        "dlcm": Noisy(name="dlcm"),
        "setrank-imsab-init": Noisy(name="setrank-imsab-init"),
    }
    study = Study(
        "initial-ranking", tuple((label, 64 * "ab"[at % 2]) for at, label in enumerate(rankers)),
        "d" * 64, ("lambdamart@paper",), PAIRS, ("NDCG@5", "RR"), 2, 0,
        conventions.stored_measures(["NDCG@5", "RR"]),
    )  # fmt: skip
    step = run.measured_by([Measure.parse(text) for text in study.stored_measures])
    facts = {
        "data": DATA, "queries": 25, "candidates": 300, "lists": LISTS, "preset": "paper",
        "reads": {label: ["ranks"] for label in rankers},
    }  # fmt: skip
    return study, judged, rankers, step, facts


@pytest.fixture
def store(dashboard, tmp_path, monkeypatch):
    """A store whose data set has no files: the work that forms need is not looked up."""
    monkeypatch.setattr(form, "needed_work", lambda *_: "No training")
    store = dashboard(tmp_path)
    key = key_of("data", {"made": "for the page"})
    store.add(key, {}, lambda directory: (directory / "nothing").touch())
    store.set_name(DATA, key)
    return store


@pytest.fixture(scope="module")
def result(made, tmp_path_factory):
    study, judged, rankers, step, facts = made
    records = Store(tmp_path_factory.mktemp("trials")).records
    return replace(run_to_end(run_study(study, judged, rankers, records, step)), facts=facts)


@pytest.fixture
def stored(store, result):
    return store.add(key_of("study", result.recipe), result.recipe, result.save, result.facts)


opened = partial(app_pages.opened, "initial-ranking")


def parameters():
    return {
        "data": DATA, "rankers": ["dlcm", "setrank-imsab-init"], "measures": ["NDCG@5", "RR"],
        "perturbations": [list(pair) for pair in PAIRS], "draws": 2,
    }  # fmt: skip


def test_a_running_study_shows_its_first_results_and_is_cancelled(store, made):
    study, judged, rankers, step, facts = made
    work = run_study(study, judged, rankers, store.records, step)
    for _ in range(7):
        next(work)
    work.close()
    ids = tuple(judged.dataset.query_ids)
    job = jobs.submit(store, "initial-ranking", parameters())
    announce(job, key_of("study", study.recipe()), study, ids, facts)
    state_of(store, job, state="running", started=1.0,
             progress='{"done": 13, "total": 84, "unit": "trials", "values": {}}')  # fmt: skip
    test = opened()
    assert "Running: 13 of at most 84 trials" in test.get("progress")[0].proto.text
    (_chart,) = test.get("plotly_chart")
    assert "First results" in markdown(test)
    test.button(key=f"cancel {job.id[:16]}").click().run()
    assert jobs.jobs_of(store).get(job.id).cancel_wanted


def test_what_this_session_handed_in_is_shown_when_it_is_done(store, stored, made):
    other = replace(made[0], seed=9)
    key = key_of("study", other.recipe())
    copied = partial(shutil.copytree, stored.path, dirs_exist_ok=True,
                     ignore=shutil.ignore_patterns("manifest.json"))  # fmt: skip
    store.add(key, other.recipe(), copied, stored.facts)
    test = opened()
    test.query_params["study"] = str(key)
    test.button(key="new.run").click().run()
    (job,) = jobs.jobs_of(store).list()
    assert test.session_state[view.FORM.panel.session_key] == job.id
    result = f'{{"artefact": "{stored.key.kind}-{stored.key.digest}"}}'
    state_of(store, job, state="done", finished=2.0, result=result)
    assert str(key) in test.query_params["study"]
    test.run()
    assert not test.exception
    assert str(stored.key) in test.query_params["study"]
    assert view.FORM.panel.session_key not in test.session_state
    assert test.get("plotly_chart")


def test_studies_of_a_renamed_data_set_name_it_as_it_is_called_now(store):
    fingerprint = "f" * 64
    key = key_of("data", {"made": "to be renamed"})
    store.add(key, {}, lambda directory: (directory / "x").touch(), {"fingerprint": fingerprint})
    store.set_name("before", key)
    lists = {"initial": ["lambdamart@paper"]}
    recipe = {"kind": "card", "lists": key_of("lists", lists, (fingerprint,)).digest}
    facts = {"data": "before", "lists": lists}
    store.add(
        key_of("study", recipe), recipe, lambda directory: (directory / "x").touch(), facts
    )  # fmt: skip
    (study,) = services.studies("card", "before")
    assert study.facts["data"] == "before"
    store.set_name("after", key)
    store.remove_name("before")
    st.cache_data.clear()
    (study,) = services.studies("card", "after")
    assert study.facts == facts | {"data": "after"}
