"""The page of a kind that has none of its own: any study is shown, the form asks the question."""

import json

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from shuffleproof.app.plain import escaped
from shuffleproof.core import jobs
from shuffleproof.core.job_kinds import StudyJob
from shuffleproof.core.rankers.name import with_display_names
from shuffleproof.core.studies.registry import STUDIES
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import Finding, Picture, View
from shuffleproof.core.studies.tables import Table
from tests import app_tables as tables
from tests.app_pages import words


@pytest.fixture
def stored(every_study, monkeypatch):
    monkeypatch.setenv("SHUFFLEPROOF_HOME", str(every_study[0].root))
    st.cache_resource.clear()
    st.cache_data.clear()
    yield every_study[1]
    st.cache_resource.clear()
    st.cache_data.clear()


def shown(key):
    from shuffleproof.app import services
    from shuffleproof.app.study import plain_page

    plain_page.study({key: services.store().resolve(key)})


def page_of(kind):
    from shuffleproof.app.navigation import Page

    Page.plain("A page", kind, "study of ours", "what is asked").draw()


def drawn(page, data=tables.DATA, **given):
    test = AppTest.from_function(page, default_timeout=120, kwargs=given)
    test.session_state["data"] = data
    test.run()
    assert not test.exception, test.exception
    return test


@pytest.mark.parametrize("kind", STUDIES)
def test_answer_findings_pictures_and_tables_of_every_kind_are_shown(kind, stored):
    artefact, telling = stored[kind], STUDIES[kind].telling()
    result = StudyResult.open(artefact.path)
    sections = list(telling.sections(result, View()))
    test = drawn(shown, key=str(artefact.key))
    texts = " ".join(one.value for one in (*test.markdown, *test.caption))
    assert escaped(telling.headline(result, View()).text) in texts
    for one in sections:
        if isinstance(one, Finding):
            assert escaped(with_display_names(one.text)) in texts
    drawings = [one for one in sections if isinstance(one, Picture)]
    assert len(test.get("plotly_chart")) == len(drawings)
    labels = [json.loads(one.proto.columns or "{}") for one in test.dataframe]
    known = [{column.get("label") for column in columns.values()} for columns in labels]
    for table in [one for one in sections if isinstance(one, Table) and not one.folded]:
        assert any({column.label for column in table.visible_columns} <= own for own in known), (
            table.title
        )


@pytest.mark.parametrize("kind", ["invariance", "benchmark"])
def test_nothing_stored_is_said_and_the_form_hands_in_what_is_asked(kind, store):
    test = drawn(page_of, kind=kind)
    assert test.title[0].value == "A page"
    assert STUDIES[kind].title in words(test)
    assert "No study of ours is stored" in test.info[0].value
    test.button(key="new.run").click().run()
    (job,) = jobs.jobs_of(store).list()
    question, scope = StudyJob(STUDIES[kind]).question_of(store, job.parameters)
    assert isinstance(question, STUDIES[kind])
    assert scope.data == tables.DATA
