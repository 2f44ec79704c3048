"""Every page of a kind of study: nothing stored, handed in, under way, failed, ended, unknown."""

import importlib
import shlex
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import streamlit as st

from shuffleproof.app import services
from shuffleproof.app import study_access as stored
from shuffleproof.app.navigation import PAGES
from shuffleproof.app.study import job_panel
from shuffleproof.core import jobs
from shuffleproof.core.cli.arguments import parser
from shuffleproof.core.cli.flags import question_of
from shuffleproof.core.job_kinds import StudyJob
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.studies.kinds.perturbations.question import Perturbations
from shuffleproof.core.studies.question import preset_of
from shuffleproof.core.studies.registry import STUDIES
from shuffleproof.core.studies.workbench import Workbench, run_to_end
from tests import app_later
from tests import app_tables as tables
from tests.app_jobs import begun, state_of
from tests.app_pages import opened, words

NO_FORM = {"invariance"}
"""Kinds whose page offers the study of the rankers that it shows, without a form."""


def _forms():
    for path, page in PAGES.items():
        if path in STUDIES and path not in NO_FORM:
            yield path, _form_of(page.view)


def _form_of(view):
    """The form of the page's module, or of the module `form` in its folder."""
    alone = f"{view.__package__}.form"
    return view.FORM if hasattr(view, "FORM") else importlib.import_module(alone).FORM


FORMS = dict(_forms())


def handed_in(store, test):
    test.button(key="new.run").click().run()
    (job,) = jobs.jobs_of(store).list()
    return job


def test_every_kind_with_a_page_is_walked():
    assert set(FORMS) | NO_FORM == set(STUDIES)
    assert {form.kind for form in FORMS.values()} == set(FORMS)


@pytest.mark.parametrize("kind", FORMS)
def test_an_empty_page_refuses_what_cannot_be_run_and_its_job_is_followed_to_its_end(store, kind):
    test = opened(kind, **{"new.command": True})
    assert test.title[0].value == PAGES[kind].title
    assert STUDIES[kind].title in words(test)
    assert f"{tables.DATA}" in test.info[0].value.replace("\\", "")
    command, *_ = (code.value for code in test.code if f"study {kind}" in code.value)
    _no_unknown_measure(test)
    _no_study_of_no_ranker(test, kind)
    job = handed_in(store, test)
    _is_what_the_command_says(store, job, kind, command)
    assert "Waiting for a free worker" in test.get("progress")[0].proto.text
    _is_watched_cancelled_fails_and_is_tried_again(store, job, kind)


def _no_unknown_measure(test):
    """One that there is not is a sentence, where measures can be chosen."""
    for field in [one for one in test.text_input if one.key == "new.measures"]:
        usual = field.value
        field.set_value("NDGC@10").run()
        assert "no measure is called" in words(test)
        assert not [button for button in test.button if button.key == "new.run"]
        assert test.text_input(key="new.measures").value == "NDGC@10"
        test.text_input(key="new.measures").set_value(usual)


def _no_study_of_no_ranker(test, kind):
    key = "new.towards" if kind == "ablation" else "new.rankers"
    usual = test.multiselect(key=key).value
    test.multiselect(key=key).set_value([]).run()
    assert "Choose at least one" in words(test)
    assert test.button(key="new.run").disabled
    test.multiselect(key=key).set_value(usual).run()


def _is_what_the_command_says(store, job, kind, command):
    flags = parser().parse_args(shlex.split(command)[1:])
    preset = flags.preset or preset_of(flags.data)
    asked = question_of(STUDIES[kind], flags, preset)
    assert job.kind == kind
    question, scope = StudyJob(STUDIES[kind]).question_of(store, job.parameters)
    assert question == asked
    assert (scope.data, scope.preset or preset_of(scope.data)) == (tables.DATA, preset)
    if flags.initial:
        assert list(scope.lists["initial"]) == flags.initial.split(",")


def _is_watched_cancelled_fails_and_is_tried_again(store, job, kind):
    told = '{"done": 3, "total": 30, "unit": "epochs", "values": {}}'
    state_of(store, job, state="running", started=1.0, progress=told)
    test = opened(kind)
    assert "Running: 3 of at most 30 epochs" in test.get("progress")[0].proto.text
    test.button(key=f"cancel {job.id[:16]}").click().run()
    assert jobs.jobs_of(store).get(job.id).cancel_wanted
    state_of(store, job, state="failed", reason="the disk is <full>", finished=2.0)
    test = opened(kind)
    assert "The last job failed: the disk is <full>" in words(test)
    test.button(key="retry").click().run()
    assert jobs.jobs_of(store).get(job.id).state == "waiting"
    state_of(store, job, state="failed", reason="again", finished=3.0)
    opened(kind).button(key="forget").click().run()
    assert not jobs.jobs_of(store).list()


def test_what_is_remembered_is_told_apart_by_all_of_its_content():
    """Two long frames that differ in one cell; a function without a name of its own is refused."""
    frame = pd.DataFrame({"value": np.zeros(60_000)})
    other = frame.copy()
    other.loc[12_345, "value"] = 1.0
    digest, name = stored.BY_CONTENT[pd.DataFrame], stored.BY_CONTENT[type(lambda: 0)]
    assert digest(frame) == digest(frame.copy()) != digest(other)
    assert name(stored.path) == "shuffleproof.app.study_access.path"
    with pytest.raises(ValueError, match="no name of its own"):
        name(lambda: 0)


def test_first_results_of_other_data_are_no_results_of_ones_own(store, monkeypatch):
    kind = next(iter(FORMS))
    own, panel = handed_in(store, opened(kind)).id, FORMS[kind].panel
    for job, shown in (("another", False), (own, True)):
        running = [SimpleNamespace(job=job)]
        monkeypatch.setattr(job_panel, "running_studies", lambda *_, running=running: running)
        assert job_panel.has_first_results(panel, (tables.DATA,)) is shown


def test_a_running_study_shows_its_first_results(store):
    lists = ListRecipe(("feature:3",), 12)
    bench = run_to_end(Workbench.open(tables.DATA, lists, store, "small"))
    question = Perturbations(("feature:1",), (("shuffle", 0.5), ("shuffle", 1.0)), draws=1)
    asked = {"rankers": question.rankers, "perturbations": question.perturbations, "draws": 1}
    job = jobs.submit(store, "perturbations", {"data": tables.DATA} | asked)
    begun(question.run(bench), job, 5)
    state_of(store, job, state="running", started=1.0,
             progress='{"done": 3, "total": 84, "unit": "trials", "values": {}}')  # fmt: skip
    test = opened("perturbations")
    (_chart,) = test.get("plotly_chart")
    assert "First results" in words(test)


def test_what_this_session_handed_in_is_shown_when_it_is_done(store, fold):
    study = tables.ablation_in(store, fold)
    (other,) = app_later.work(store, [])
    test = opened("ablation", {"study": other})
    job = handed_in(store, test)
    result = f'{{"artefact": "{study.key.kind}-{study.key.digest}"}}'
    state_of(store, job, state="done", finished=2.0, result=result)
    assert other in test.query_params["study"]
    test.run()
    assert not test.exception
    assert str(study.key) in test.query_params["study"]
    assert FORMS["ablation"].panel.session_key not in test.session_state


def test_studies_of_a_renamed_data_set_name_it_as_it_is_called_now(store):
    fingerprint = "f" * 64
    key = key_of("data", {"made": "to be renamed"})
    store.add(key, {}, lambda folder: (folder / "x").touch(), {"fingerprint": fingerprint})
    store.set_name("before", key)
    lists = {"initial": ["lambdamart@paper"]}
    recipe = {"kind": "card", "lists": key_of("lists", lists, (fingerprint,)).digest}
    facts = {"data": "before", "lists": lists}
    store.add(key_of("study", recipe), recipe, lambda folder: (folder / "x").touch(), facts)
    store.set_name("after", key)
    store.remove_name("before")
    st.cache_data.clear()
    (study,) = services.studies("card", "after")
    assert study.facts == facts | {"data": "after"}
