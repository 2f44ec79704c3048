"""The page about data: empty, sample, uploaded and failed states; users' text stays text."""

import json
import re
from io import BytesIO

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from shuffleproof.app import data_sets, services
from shuffleproof.app.plain import JOINER
from shuffleproof.core import jobs
from shuffleproof.core.data import catalogue, display_texts, examination
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.workbench import run_to_end
from tests import app_jobs

MARKUP = "![x](http://e.org/x.png)<b>"
LETOR = "".join(
    f"{row % 3} qid:{MARKUP}{row // 6} 1:0.{row} 2:7 3:{row * 1e6:.0f} #docid = D{row}<i>{MARKUP}\n"
    for row in range(90)
)


def script():
    from shuffleproof.app import state
    from shuffleproof.app.views.data import page as data

    state.choose_data()
    data.page()


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("SHUFFLEPROOF_HOME", str(tmp_path / "store"))
    monkeypatch.setattr(jobs, "start_waiting", lambda _store: False)
    services.store.clear()
    services.shipped_key.clear()
    return Store(tmp_path / "store")


def page(view="Facts", data=None, **query):
    test = AppTest.from_function(script, default_timeout=60)
    test.session_state["view"] = view
    if data:
        test.session_state["data"] = data
    for name, value in query.items():
        test.query_params[name] = value
    test.run()
    assert not test.exception
    return test


def words(test):
    shown = [*test.markdown, *test.caption, *test.info, *test.error, *test.success, *test.warning]
    return " ".join(one.value for one in shown)


def plain(test):
    return words(test).replace("\\", "")


def ingested(store, tmp_path, name="mine"):
    path = tmp_path / f"{name}.txt"
    path.write_text(LETOR)
    (artefact,) = run_to_end(catalogue.ingest(path, name, store))
    return artefact


def test_the_sample_is_there_with_its_facts_findings_and_pictures(store):
    test = page()
    assert "sample holds 650 queries" in plain(test)
    assert "without a relevant document" in plain(test)
    assert len(test.get("plotly_chart")) == 2
    assert [artefact.key.kind for artefact in store.artefacts()] == ["data", "examination"]


def test_forms_repeat_that_the_doctor_found_problems(store, tmp_path):
    def form():
        import streamlit as st

        from shuffleproof.app import data_sets

        st.navigation([st.Page(lambda: None, url_path="data", title="Data")])
        data_sets.draw_problems("mine")

    path = tmp_path / "mine.txt"
    path.write_text("".join(f"1 qid:{row // 6} 1:{row}\n" for row in range(90)))
    (artefact,) = run_to_end(catalogue.ingest(path, "mine", store))
    run_to_end(examination.examine(artefact, store))
    shown = AppTest.from_function(form, default_timeout=60).run()
    assert not shown.exception
    (link,) = shown.get("page_link")
    assert "The doctor found" in link.proto.label


def test_two_data_sets_are_compared(store, tmp_path):
    ingested(store, tmp_path)
    test = page("Compare", "sample", other="mine")
    table = test.dataframe[0].value.set_index("fact")
    assert list(table.columns) == ["sample", "mine"]
    assert table.loc["queries, test", "sample"] == "150"
    assert table.loc["features", "mine"] == "3"


def test_a_finding_leads_to_its_queries_and_back(store):
    test = page()
    door = next(button for button in test.button if button.label.endswith("queries"))
    count = int(door.label.split()[-2])
    door.click().run()
    assert test.session_state["view"] == "Queries"
    assert test.query_params["finding"] == "no-relevant"
    assert len(test.dataframe[0].value) == count
    assert (test.dataframe[0].value["relevant"] == 0).all()
    next(button for button in test.button if button.label == "Show all").click().run()
    assert len(test.dataframe[0].value) > count


def test_the_address_opens_part_search_and_query(store):
    test = page("Queries", query="1")
    test.session_state["part"] = "train"
    test.run()
    frame = test.dataframe[0].value
    query = frame["query"].iloc[3]
    test = page("Queries", query=query)
    test.session_state["part"], test.session_state["find"] = "train", query
    test.run()
    assert test.dataframe[0].value["query"].iloc[0] == query
    assert test.subheader[0].value.replace("\\", "") == f"Query {query}"
    assert len(test.dataframe[1].value) == frame["documents"].iloc[3]
    assert "not in this part" in plain(page("Queries", query="nowhere"))


@pytest.mark.parametrize("view", ["Facts", "Queries", "Features", "Manage"])
def test_names_ids_and_comments_stay_text(store, tmp_path, view):
    ingested(store, tmp_path)
    ingested(store, tmp_path, "a_b_ ok@e.org")
    page("Facts", "mine")
    test = page(view, "mine", query=f"{MARKUP}1")
    test.session_state["find"] = MARKUP
    test.run()
    assert not test.exception
    assert not re.search(r"(?<!\\)!\[|(?<!\\)<[bi]>", words(test))
    headings = " ".join(one.value for one in [*test.subheader, *test.title])
    assert not re.search(r"(?<!\\)!\[|(?<!\\)<[bi]>", headings)
    buttons = " ".join(button.label for button in test.button)
    assert not re.search(r"(?<!\\)!\[", buttons)


def test_texts_of_a_side_file_stand_beside_ids_and_stay_text(store, tmp_path):
    artefact = ingested(store, tmp_path)
    assert "None yet" in plain(page("Manage", "mine"))
    (tmp_path / "d.csv").write_text(
        "docid,title,url\n"
        + "".join(f"D{row}<i>{MARKUP},{MARKUP} {row},https://e.org/{row}\n" for row in range(90))
    )
    (tmp_path / "q.jsonl").write_text(
        json.dumps({"qid": f"{MARKUP}1", "text": MARKUP, "tag": "web"})
    )
    files = {"documents": "d.csv", "queries": "q.jsonl"}.items()
    sides = [display_texts.read_side_file(tmp_path / name, kind) for kind, name in files]
    display_texts.attach(artefact, store, sides)
    assert "texts of 90 documents and 1 query" in plain(page("Manage", "mine"))
    dataset = services.fold(str(artefact.key))
    part = next(
        p for p in ("train", "valid", "test") if f"{MARKUP}1" in getattr(dataset, p).query_ids
    )
    test = page("Queries", "mine", query=f"{MARKUP}1")
    test.session_state["part"] = data_sets.WORDS[part]
    test.run()
    queries, documents = (each.value for each in test.dataframe[:2])
    assert queries.set_index("query").loc[f"{MARKUP}1", ["text", "tag"]].tolist() == [MARKUP, "web"]
    assert documents["title"].tolist() == [f"{MARKUP} {row}" for row in range(6, 12)]
    assert json.loads(test.dataframe[1].proto.columns)["url"]["type_config"]["type"] == "link"
    assert not re.search(r"(?<!\\)!\[|(?<!\\)<b>", words(test))


def test_features_are_drawn_and_marked(store, tmp_path):
    ingested(store, tmp_path)
    page("Facts", "mine")
    test = page("Features", "mine")
    table = test.dataframe[0].value
    assert table["marks"].tolist() == ["", "constant", "huge"]
    assert table["first"].iloc[1] == "", "what is constant ranks nothing either way"
    assert "2 of 3 features are marked: 2, 3" in plain(test)
    test.session_state["feature"] = 3
    test.run()
    assert "Feature 3 runs from" in plain(test)
    dataset = services.fold(str(store.names()["mine"])).test
    lists = CandidateLists.all_documents(dataset)
    measure = Measure.parse("NDCG(empty=skip)@10")
    means = {
        way: np.nanmean(evaluate([measure], dataset, lists, sign * dataset.feature(3))[0])
        for sign, way in ((1, "high"), (-1, "low"))
    }
    third = test.dataframe[0].value.iloc[2]
    assert third["NDCG@10"] == pytest.approx(max(means.values()))
    assert third["first"] == max(means, key=means.get)


def chosen(test, files):
    for name, text in files:
        test.file_uploader[0].set_value([(name, text.encode(), "text/plain")])
        test.run()
    assert not test.exception
    return test


def test_files_are_uploaded_read_in_and_opened(store):
    test = page("Add data")
    test.text_input(key="upload name").set_value("mine").run()
    chosen(test, [("train.txt", LETOR), ("vali.txt", LETOR), ("test.txt", LETOR)])
    assert len(re.findall(r"\([\d.,]+ (?:bytes|KB|MB)\)", plain(test))) == 3
    assert "upload files" not in test.session_state, "they left the memory"
    next(button for button in test.button if button.label == "Import").click().run()
    assert [job.kind for job in jobs.jobs_of(store).list("waiting")] == ["ingest"]
    app_jobs.worked(store)
    test.run()
    again = page("Add data", **{"import": test.query_params["import"]})
    for shown in (test, again):  # success survives a reload
        assert "mine is imported and checked" in plain(shown).replace("*", "")
    assert not list((store.root / "uploads").iterdir()), "nothing stays behind"
    next(button for button in test.button if button.label == "Open mine").click().run()
    assert test.session_state["data"] == "mine"
    assert "mine holds 45 queries" in plain(test)


def test_a_bad_file_gives_its_line_and_the_form_keeps_what_was_typed(store):
    test = page("Add data")
    test.text_input(key="upload name").set_value("mine").run()
    bad = LETOR * 40 + f"1 qid:7 1:{MARKUP}\n" + f"1 qid:{MARKUP} 1:1e999\n" * 2
    chosen(test, [("train.txt", bad), ("vali.txt", LETOR), ("test.txt", LETOR)])
    test.selectbox(key="upload missing").set_value("zero").run()
    next(button for button in test.button if button.label == "Import").click().run()
    app_jobs.worked(store)
    test.run()
    error = test.error[0].value
    assert "train/train.txt:3601" in error.replace("\\", "").replace(JOINER, "")
    assert "value that is not a number" in error
    assert not re.search(r"(?<!\\)!\[", error)
    assert "3 malformed lines" in test.code[0].value, "all of them in one go"
    assert "line 3603: an infinite value" in test.code[0].value
    assert not page("Add data").error, "another window is not told"
    again = page("Add data", **{"import": test.query_params["import"]})
    assert "train.txt:3601" in again.error[0].value.replace("\\", "").replace(JOINER, "")
    assert test.text_input(key="upload name").value == "mine"
    assert test.selectbox(key="upload missing").value == "zero"
    assert len(re.findall(r"\([\d.,]+ (?:bytes|KB|MB)\)", plain(test))) == 3
    assert store.names() == {}
    assert not list(store.artefacts("data"))
    assert len(list((store.root / "uploads").iterdir())) == 2, "the form's files and the job's"
    remove = next(button for button in test.button if button.label == "Remove")
    remove.click().run()
    next(button for button in test.button if button.label == "Dismiss").click().run()
    assert not test.error
    assert jobs.jobs_of(store).list() == ()
    assert len(list((store.root / "uploads").iterdir())) == 1, "the form's own files"


@pytest.mark.parametrize(("files", "name"), [
    (["clicks.txt"], "clicks"), (["train.txt"], "mine"), (["train.txt", "test.txt"], "mine"),
    (["sample.txt"], "mine"),
])  # fmt: skip
def test_data_without_a_name_get_that_of_their_file_or_a_free_one(store, files, name):
    test = page("Add data")
    chosen(test, [(file, LETOR) for file in files])
    assert test.text_input(key="upload name").placeholder == name
    next(button for button in test.button if button.label == "Import").click().run()
    app_jobs.worked(store)
    assert [*store.names()] == [name]
    test = page("Add data")
    chosen(test, [("train.txt", LETOR)])
    assert test.text_input(key="upload name").placeholder == (
        "mine-2" if name == "mine" else "mine"
    )


@pytest.mark.parametrize("name", ["clicks.txt", "train.txt", "test.txt"])
def test_a_single_file_is_split_by_query_until_another_comes(store, name):
    test = page("Add data")
    test.text_input(key="upload name").set_value("mine").run()
    chosen(test, [(name, LETOR)])
    assert test.number_input(key="upload train").value == 60
    next(button for button in test.button if button.label == "Import").click().run()
    (job,) = jobs.jobs_of(store).list("waiting")
    assert job.parameters["files"] is None
    app_jobs.worked(store)
    (artefact,) = store.artefacts("data")
    assert [artefact.facts["parts"][part]["queries"] for part in ("train", "valid", "test")] == [
        9,
        3,
        3,
    ]
    test = page("Add data")
    chosen(test, [("train.txt", LETOR), ("test.txt", LETOR)])
    assert "upload train" not in [one.key for one in test.number_input]


def test_files_stored_already_are_opened_by_the_name_just_given(store):
    for name in ("anders", "zweite"):
        test = page("Add data")
        test.text_input(key="upload name").set_value(name).run()
        chosen(test, [("all.txt", LETOR)])
        next(button for button in test.button if button.label == "Import").click().run()
        app_jobs.worked(store)
        test.run()
    assert [*store.names()] == ["anders", "zweite"]
    opening = [button.label for button in test.button if button.label.startswith("Open ")]
    assert opening == ["Open zweite"]


def table_of_parts(parts):
    text = BytesIO()
    pd.DataFrame({"part": parts, "query": range(6), "label": 1, "x": 0.5}).to_parquet(text)
    return text.getvalue()


@pytest.mark.parametrize("name", ["all.parquet", "test.parquet"])
def test_a_table_that_names_its_parts_is_taken_as_it_says(store, name):
    test = page("Add data")
    assert "Parquet" in plain(test)
    test.text_input(key="upload name").set_value("mine").run()
    table = table_of_parts(["train"] * 3 + ["valid", "test", "test"])
    test.file_uploader[0].set_value([(name, table, "application/octet-stream")])
    test.run()
    assert not test.error
    assert "column part says the part of each row" in plain(test).replace("`", "")
    assert not [each for each in test.selectbox if each.key.startswith("part of")]
    assert not test.number_input, "nothing is split"
    next(button for button in test.button if button.label == "Import").click().run()
    app_jobs.worked(store)
    (artefact,) = store.artefacts("data")
    assert [part["queries"] for part in artefact.facts["parts"].values()] == [3, 1, 2]


def test_a_large_set_without_an_examination_names_the_command(store, tmp_path, monkeypatch):
    monkeypatch.setattr(data_sets, "AT_ONCE", 10)
    data_sets._examined.clear()
    ingested(store, tmp_path)
    test = page("Facts", "mine")
    assert not test.get("plotly_chart")
    assert "shuffleproof doctor 'mine'" in " ".join(code.value for code in test.code)


def test_a_broken_store_is_a_sentence(store, tmp_path):
    artefact = ingested(store, tmp_path)
    (artefact.path / "test.safetensors").write_bytes(b"x")
    services.fold.clear()
    test = page("Queries", "mine")
    assert test.error or "not what" in plain(test)


def test_one_drop_zone_sorts_files_by_name_and_checks_their_first_lines(store):
    test = page("Add data")
    test.text_input(key="upload name").set_value("mine").run()
    assert len(test.file_uploader) == 1
    bad = f"1 qid:{MARKUP} 1:x\n2 qid:1 1:NULL\n" + LETOR
    chosen(test, [("set1.train.txt", LETOR), ("odd.txt", LETOR), ("vali.txt", bad)])
    parts = {each.key.split()[-1]: each for each in test.selectbox if each.key[:7] == "part of"}
    assert [parts[name].value for name in ("set1.train.txt", "vali.txt")] == ["train", "valid"]
    error = test.error[0].value.replace("\\", "").replace(JOINER, "")
    assert "vali.txt:1: a value that is not a number" in error, "before anything is handed in"
    assert "line 2: a NULL or NaN cell" in test.code[0].value
    assert not re.search(r"(?<!\\)!\[", test.error[0].value)
    assert not jobs.jobs_of(store).list()
    for told in ("Choose the part of each file.", "Correct or remove the file"):
        assert next(button for button in test.button if button.label == "Import").disabled
        assert told in plain(test)
        parts["odd.txt"].set_value("test").run()
    assert "Choose the part" not in plain(test)
    test.selectbox(key="upload missing").set_value("zero").run()
    assert "NULL" not in words(test) + "".join(each.value for each in test.code)


def test_the_form_names_the_columns_of_a_table(store, tables_read_here):
    rows = [f"{at // 3},{at % 2},{at}" for at in range(60)]
    table = "\n".join(["session,target,x", *rows])
    test = page("Add data")
    test.text_input(key="upload name").set_value("mine").run()
    chosen(test, [("t.csv", table)])
    assert "no column for the query" in test.error[0].value
    test.text_input(key="upload columns").set_value("query=session,label=target").run()
    assert not test.error
    next(button for button in test.button if button.label == "Import").click().run()
    app_jobs.worked(store)
    assert "mine" in store.names()
