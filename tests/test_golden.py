"""Every kind of study gives what was written down: keys, values, commands, texts, pages."""

import json
import shutil

import numpy as np
import pytest
import streamlit as st

from shuffleproof.core import jobs
from tests import every_study as studies_of_tests
from tests.every_study import KINDS, RUNS
from tests.golden import facts, written

pytestmark = pytest.mark.usefixtures("components_scanned_once")
TOLERANCE = 2e-3  # of means: networks are trained for two steps, on whatever processor there is


@pytest.fixture(scope="module")
def every_study(made_once, tmp_path_factory):
    """Of its own: other tests add studies to the one they share, and pages offer these."""
    place = made_once("studies", studies_of_tests.made)
    return studies_of_tests.opened(shutil.copytree(place, tmp_path_factory.mktemp("gold") / "own"))


@pytest.fixture(autouse=True)
def on_this_store(every_study, monkeypatch):
    monkeypatch.setenv("SHUFFLEPROOF_HOME", str(every_study[0].root))
    monkeypatch.setattr(jobs, "start_waiting", lambda _store: True)
    st.cache_resource.clear()
    st.cache_data.clear()
    yield
    st.cache_resource.clear()
    st.cache_data.clear()


@pytest.mark.parametrize("kind", KINDS)
def test_a_result_carries_the_facts_that_methods_and_commands_are_told_from(kind, every_study):
    more = {"missing", "unjudged"} if kind == RUNS else {"lists", "preset"}
    assert {"data", "queries", *more} <= set(every_study[1][kind].facts)


@pytest.mark.parametrize("kind", KINDS)
def test_a_study_gives_what_is_written_down(kind, every_study):
    store, studies, _ = every_study
    assert written(kind).exists(), "`python -m tests.golden` writes down what a new kind gives"
    expected = json.loads(written(kind).read_text())
    found = json.loads(json.dumps(facts(kind, studies[kind], store.root)))
    means = (
        [list(map(float, row.split())) for row in one.pop("means")] for one in (found, expected)
    )
    np.testing.assert_allclose(*means, atol=TOLERANCE)
    for one in (found, expected):  # argparse breaks lines elsewhere from Python 3.13 on
        one["help"] = " ".join(one["help"]).split()
    for name, value in expected.items():
        assert found[name] == value, f"{name}: `python -m tests.golden` writes it down anew"
    assert set(found) == set(expected)
