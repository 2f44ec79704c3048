"""The page of set size in every state: empty, stored, other conventions, at work, failed."""

from functools import partial

import numpy as np
import pytest

from shuffleproof.app import report, rescoring
from shuffleproof.app.plain import escaped
from shuffleproof.app.study.picture import follow_click
from shuffleproof.app.study_access import compute
from shuffleproof.app.views import set_size as run
from shuffleproof.core import jobs
from shuffleproof.core.rankers.name import with_display_names
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.studies.kinds.set_size import sections
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.words import signed
from tests import app_folded as folded
from tests import app_pages
from tests import app_sizes as made
from tests import app_tables as tables
from tests.app_jobs import announce, state_of
from tests.app_pages import words


@pytest.fixture(scope="module")
def home(tmp_path_factory, fold):
    """A store with a study, which no test changes."""
    folder = tmp_path_factory.mktemp("sizes")
    tables.data_set(Store(folder), fold)
    return folder, made.sizes_in(Store(folder), fold)


@pytest.fixture
def stored(home, dashboard):
    dashboard(home[0])
    return home[1]


opened = partial(app_pages.opened, "set-size")


def test_curves_map_finding_verdict_and_exports(stored):
    test = opened(drawn="mean")
    result = StudyResult.open(stored.path)
    said = sections.sentences(result, "NDCG@5")
    assert with_display_names(said.losses) in words(test)
    assert with_display_names(said.candidates) in words(test)
    assert with_display_names(said.verdict) in words(test)
    assert str(stored.key) in test.query_params["study"]
    assert "7 of 40 lists have fewer than 12 documents and stay as they are" in words(test)
    assert "DLCM <was> left" in words(test)
    assert escaped("<was>") in " ".join(one.value for one in test.caption)
    folded.menus(test)
    labels = {button.label for button in test.get("download_button")}
    assert {"HTML", "SVG", "CSV", "LaTeX", "Recipe (JSON)", "Report (HTML)"} <= labels
    assert any("--trained-on 3,6" in one.value for one in test.code)


def test_conventions_and_the_size_trained_on_change_at_once(stored):
    test = opened(drawn="mean", home=6, ideal="shown", measure="NDCG@10", cells="shift")
    frame = compute(str(stored.key), sections.curves, "NDCG(ideal=shown)@10")
    frame = frame.set_index(["ranker", "trained_on", "size"])["mean"]
    relevant = (frame["ideal", "any", 3] * 40).round(4)  # 1 where a relevant document is shown
    assert relevant == int(relevant)
    assert "NDCG@10 · gain: 2^y − 1 · ideal: shown" in words(test)


def test_behind_a_cell_stand_its_queries(stored):
    test = opened(cell="dlcm-without-init|3|12")
    key, point = str(stored.key), ("dlcm-without-init", "3", 12)
    at, frame = compute(key, sections.queries, point, "NDCG@5")
    assert at == ("3", 3)
    assert f"query {frame['query'][0]} loses most: {signed(frame['change'][0])}" in words(test)
    table = next(one.value for one in test.dataframe if "home" in one.value)
    assert list(table["query"]) == list(frame["query"])
    assert test.query_params["cell"] == "dlcm-without-init|3|12"
    test.selectbox(key="against").set_value("6|12").run()
    _, other = compute(key, sections.queries, point, "NDCG@5", ("6", 12))
    table = next(one.value for one in test.dataframe if "home" in one.value)
    assert list(table["change"]) == list(other["change"])
    assert "From trained on 6, lists of 12 to trained on 3, lists of 12" in words(test)
    assert "cell" not in opened(cell="nobody|3|12").query_params


def test_behind_a_query_stand_both_answers(stored, monkeypatch):
    test = opened(cell="setrank-msab|3|12", of="q5")
    query = test.selectbox(key="of").options[0]
    test.selectbox(key="of").set_value(query).run()
    assert "is not stored, so it cannot be asked again here" in words(test)
    asked = []

    def moves(function, _artefact, query, **question):
        asked.append((function.rpartition(":")[2], question | {"query": query}))
        return tables.two_answers()

    monkeypatch.setattr(rescoring, "ranker_of", lambda _trials, _seed: "ranker-1")
    monkeypatch.setattr(rescoring, "moves", moves)
    monkeypatch.setattr(rescoring, "features", lambda: (7,))
    folded.tables(test)
    assert not test.exception, test.exception
    ((what, question),) = asked
    assert (what, question["query"]) == ("sizes", query)
    assert (question["now"], question["before"]) == (["ranker-1", 12], ["ranker-1", 3])
    assert "1 document joined the list" in words(test)
    table = next(one.value for one in test.dataframe if "kind" in one.value)
    assert list(table["feature 7"]) == [0.5, 0.25, 0.125]


def test_a_click_chooses_its_cell(monkeypatch):
    points = [{"customdata": ["dlcm", "3", 12, 0.5]}]
    state = {run.MAP: {"selection": {"points": points}}}
    monkeypatch.setattr(run.st, "session_state", state)
    follow_click(run.MAP, run.choose)
    assert state["cell"] == "dlcm|3|12"


def test_an_address_that_names_what_is_not_here_is_answered(stored):
    test = opened({"study": "study-0000000000000000"})
    assert "Not found here: study study-0000000000000000" in words(test)
    test = opened({"measure": "NDCC@10"})
    assert "Not found here: measure NDCC@10" in words(test)
    assert "Not found here" not in words(opened({"measure": "NDCG@10"}))


def test_wrong_sizes_are_sentences(store):
    test = opened()
    test.text_input(key="new.sizes").set_value("3, many").run()
    assert "whole numbers, comma-separated" in words(test)
    assert not [button for button in test.button if button.key == "new.run"]
    test.text_input(key="new.sizes").set_value("0").run()
    assert "at least 1" in words(test)
    test.text_input(key="new.sizes").set_value("3, 3, 40").run()
    assert [button for button in test.button if button.key == "new.run"]


def test_the_study_is_handed_in(store):
    test = opened()
    test.multiselect(key="new.rankers").set_value(["setrank-imsab", "lambdamart"])
    test.text_input(key="new.trained_on").set_value("3, 6")
    test.number_input(key="new.seeds").set_value(2).run()
    assert "**10 trainings, " in words(test)
    combined = ["rrf:setrank-imsab+lambdamart", "setrank-imsab"]
    test.multiselect(key="new.rankers").set_value(combined).run()
    assert "**9 trainings, " in words(test)
    test.multiselect(key="new.rankers").set_value(["scores#12ab"]).run()
    assert "no such ranker in the store" in words(test)
    test.multiselect(key="new.rankers").set_value(["rrf:dlcm"]).run()
    assert "name two or more rankers" in words(test)
    test.multiselect(key="new.rankers").set_value(["setrank-imsab", "lambdamart"]).run()
    test.button(key="new.run").click().run()
    (job,) = jobs.jobs_of(store).list()
    assert (job.kind, job.state) == ("set-size", "waiting")
    given = job.parameters
    assert (given["rankers"], given["trained_on"]) == (["setrank-imsab", "lambdamart"], [3, 6])
    assert (given["sizes"], given["seeds"], given["measures"]) == ([3, 6, 13], 2, ["NDCG@10"])
    assert "Waiting for a free worker" in test.get("progress")[0].proto.text


def asked():
    return {
        "data": tables.DATA, "rankers": list(made.FOLLOWS), "trained_on": [3, 6],
        "sizes": list(made.SIZES), "measures": list(made.ASKED),
    }  # fmt: skip


def test_a_running_study_shows_its_first_curves(store, fold):
    plan = made.sizes_plan(fold)
    facts = made.sizes_facts(fold)
    done = made.sizes_cells(plan, fold)
    for cell in plan.cells()[:9]:
        store.records.put(cell.digest, *done[cell.digest])
    key = key_of("study", plan.recipe())
    job = jobs.submit(store, "set-size", asked())
    announce(job, key, plan, list(fold.test.query_ids), facts)
    state_of(store, job, state="running", started=1.0,
             progress='{"done": 9, "total": 24, "unit": "cells", "values": {}}')  # fmt: skip
    test = opened()
    assert "Running: 9 of at most 24 cells" in test.get("progress")[0].proto.text
    (_chart,) = test.get("plotly_chart")
    assert "First results: 9" in words(test)
    test.button(key=f"cancel {job.id[:16]}").click().run()
    assert jobs.jobs_of(store).get(job.id).cancel_wanted


def test_sizes_are_proposed_as_long_as_lists_are(store):
    assert run.usual_values(tables.DATA)["sizes"] == (3, 6, 13)  # its longest test list
    assert run.usual_values("nothing of the kind")["sizes"] == (40, 240, 500)


def test_the_report_has_pictures_verdict_methods_and_references(stored):
    text = report.report([stored.path])
    assert text.count("<figure") == 2 * 3 + 4  # two sizes, drawn in three ways; four maps
    assert "drops least" in text
    assert "trained on 3 and 6 candidates; all are tested on 3, 6 and 12" in text
    assert "SetRank: Learning a permutation-invariant" in text
    assert "DLCM &lt;was&gt; left" in text
    assert "question = SetSize(" in text


def test_the_drawn_values_are_those_stored(stored):
    frame = compute(str(stored.key), sections.curves, "NDCG@5")
    values = StudyResult.open(stored.path).per_query("setrank-imsab", "3", 6.0, "NDCG@5")
    row = frame[
        (frame.ranker == "setrank-imsab") & (frame.trained_on == "3") & (frame["size"] == 6)
    ]
    assert row["mean"].item() == pytest.approx(float(np.mean(values, dtype=float)), abs=1e-6)
