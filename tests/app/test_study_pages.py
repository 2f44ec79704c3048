"""Every page of a kind of study: nothing stored, handed in, under way, failed, ended, unknown."""

import importlib
import shlex
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from shuffleproof.app import study_access as stored
from shuffleproof.app.navigation import PAGES
from shuffleproof.app.study import job_panel
from shuffleproof.core import jobs
from shuffleproof.core.cli.arguments import parser
from shuffleproof.core.cli.flags import question_of
from shuffleproof.core.job_kinds import StudyJob
from shuffleproof.core.studies.question import preset_of
from shuffleproof.core.studies.registry import STUDIES
from tests import app_tables as tables
from tests.app_jobs import state_of
from tests.app_pages import opened, words

NO_FORM = {"invariance"}
"""Kinds whose page offers the study of the rankers that it shows, without a form."""


def _forms():
    for path, page in PAGES.items():
        if path in STUDIES and path not in NO_FORM:
            yield path, _form_of(page.draw)


def _form_of(draw):
    """The form of the page's module, or of the module `form` in its folder."""
    own = importlib.import_module(draw.__module__)
    alone = f"{draw.__module__.rpartition('.')[0]}.form"
    return own.FORM if hasattr(own, "FORM") else importlib.import_module(alone).FORM


FORMS = dict(_forms())


def handed_in(store, test):
    test.button(key="new.run").click().run()
    (job,) = jobs.jobs_of(store).list()
    return job


def test_every_kind_with_a_page_is_walked():
    assert set(FORMS) | NO_FORM == set(STUDIES)
    assert {form.panel.kind for form in FORMS.values()} == set(FORMS)


@pytest.mark.parametrize("kind", FORMS)
def test_an_empty_page_refuses_what_cannot_be_run_and_its_job_is_followed_to_its_end(store, kind):
    test = opened(kind)
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
    assert f"The last {FORMS[kind].panel.noun} failed: the disk is <full>" in words(test)
    test.button(key="retry").click().run()
    assert jobs.jobs_of(store).get(job.id).state == "waiting"
    state_of(store, job, state="failed", reason="again", finished=3.0)
    opened(kind).button(key="forget").click().run()
    assert not jobs.jobs_of(store).list()


def test_what_waits_tells_its_place_and_can_run_next(store):
    jobs.jobs_of(store).submit("train", {"data": tables.DATA, "ranker": "dlcm"})
    test = opened("benchmark")
    test.button(key="new.run").click().run()
    (mine,) = [job for job in jobs.jobs_of(store).list() if job.kind == "benchmark"]
    assert "1 job before it" in test.get("progress")[0].proto.text
    test.button(key=f"sooner {mine.id[:16]}").click().run()
    assert "before it" not in test.get("progress")[0].proto.text
    assert jobs.jobs_of(store).list("waiting")[0].id == mine.id


def test_no_long_job_is_before_a_short_one(store):
    queue = jobs.jobs_of(store)
    kinds = ("train", "runs", "invariance", "benchmark")
    handed = {kind: queue.submit(kind, {"data": tables.DATA}) for kind in kinds}
    before = {kind: job_panel.before(job) for kind, job in handed.items()}
    assert before == {"train": 0, "runs": 0, "invariance": 1, "benchmark": 3}


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
