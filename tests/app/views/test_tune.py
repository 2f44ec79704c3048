"""The page Tune: its form, a search that goes on, and one that is over."""

import math
from functools import partial

import pytest

from shuffleproof.app import study_access
from shuffleproof.core import tuning
from shuffleproof.core.data.catalogue import find
from shuffleproof.core.execution.jobs import Job
from shuffleproof.core.progress import Progress, run_to_end
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.question import Scope
from tests import app_pages
from tests.app_jobs import desk

opened = partial(app_pages.opened, "tune", data="sample")
LISTS = {"initial": ("feature:3",), "scores": "in-sample", "depth": 12}
TOLD = {"best": 0.5, "leaves": 20.0, "learning_rate": 0.05}


@pytest.fixture
def table(tmp_path, monkeypatch):
    find("sample", Store(tmp_path))
    return desk(Store(tmp_path), monkeypatch)


def click(page, key):
    return page.button(key=key).click().run()


def test_the_form_hands_in_what_the_command_says(table):
    page = opened()
    assert "Nothing has been tuned on this data set yet" in app_pages.words(page)
    page.multiselect(key="fields lambdamart").set_value(["leaves"]).run()
    page.number_input(key="trials").set_value(7).run()
    page.text_input(key="name").set_value("mine").run()
    command = "shuffleproof tune lambdamart --data sample --search=leaves --trials 7 --name mine"
    assert command in [one.value for one in page.code]
    click(page, "tune now")
    (job,) = table.jobs.list()
    given = {"ranker": "lambdamart", "search": ["leaves"], "trials": 7, "budget": None}
    assert job.kind == "tune"
    assert given.items() <= job.parameters.items()
    assert page.query_params["tuned"] == "lambdamart@mine"
    said = app_pages.words(page)
    assert "No trial has ended yet. Candidate lists that are not stored are made first" in said


def test_a_search_that_workers_make_proposes_a_trial_for_each(table, monkeypatch):
    monkeypatch.setenv("SHUFFLEPROOF_EXECUTOR", "processes:3")
    page = opened()
    assert any(one.value.endswith("--at-once 3") for one in page.code)
    click(page, "tune now")
    (job,) = table.jobs.list()
    assert job.parameters["at_once"] == 3


def test_minutes_end_a_search_and_without_fields_there_is_none(table):
    page = opened()
    page.button_group(key="stop").set_value("minutes").run()
    page.number_input(key="minutes").set_value(3).run()
    click(page, "tune now")
    (job,) = table.jobs.list()
    assert (job.parameters["trials"], job.parameters["budget"]) == (None, 180.0)
    page.multiselect(key="fields lambdamart").set_value([]).run()
    assert "Choose at least one field." in app_pages.words(page)
    assert page.button(key="tune now").disabled


def test_trials_appear_as_they_end(table):
    page = opened()
    click(page, "tune now")
    held = table.run(table.jobs.list()[0])
    values = [(0.5, "done"), (0.625, "done"), (0.25, "pruned"), (math.nan, "failed")]
    for at, (valid, ended) in enumerate(values, start=1):
        told = TOLD | {"valid": valid, ended: 1.0}
        table.jobs.add_step(held.digest, Progress(at, 20, "trials", told))
    page.run()
    assert "Trial 2 of 4 so far is best on validation, with 0.625." in app_pages.words(page)


def tuned_ranksvm(table, trials):
    asked = tuning.Tuning("ranksvm", trials=trials)
    return run_to_end(tuning.tune(asked, Scope(table.store, "sample", LISTS)))[0]


def test_a_search_that_is_over_shows_its_trials_and_the_one_look(table):
    preset = tuned_ranksvm(table, 5)
    page = opened()
    said = app_pages.words(page)
    assert page.query_params["tuned"] == "ranksvm@tuned_sample"
    assert "RankSVM tuned_sample is the best of 5 trials: trial" in said
    assert "Used once by this search, after its end." in said
    tests, every = (frame.value for frame in page.dataframe)
    assert list(tests["ranker"])[-1] == "RankSVM tuned_sample"
    assert len(tests) == 4
    assert list(every["cost"][3:]) == [row["fields"]["cost"] for row in preset.history[3:]]
    assert "shuffleproof study benchmark" in page.code[0].value


def test_the_toast_of_a_search_leads_to_it(table):
    asked = {"ranker": "ranksvm", "data": "sample", "name": None}
    place = study_access.place_of_job(Job("0", "tune", asked, state="done"))
    assert place == ("tune", {"use": "sample", "tuned": "ranksvm@tuned_sample"})
    folds = study_access.place_of_job(Job("0", "tune", asked | {"data": "folds"}, state="done"))
    assert folds == ("tune", {"tuned": "ranksvm@tuned_folds"})
