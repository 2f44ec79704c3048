"""The benchmark page in every state: empty, stored, other conventions, at work, failed."""

import io
import zipfile
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
import streamlit as st

from shuffleproof.app import benchmarks, exports
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import picture
from shuffleproof.app.study.sample_result import shipped_study
from shuffleproof.app.views.benchmark import page as view
from shuffleproof.app.views.benchmark.page import BenchmarkView
from shuffleproof.core import jobs
from shuffleproof.core.gate import differences
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.rankers.name import with_display_names
from shuffleproof.core.studies.kinds.benchmark import outside_runs, sections
from shuffleproof.core.studies.kinds.benchmark import table as benchmark_table
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import View
from tests import app_folded as folded
from tests import app_pages
from tests import app_tables as tables
from tests.app_pages import markdown, words


@pytest.fixture
def stored(store, fold):
    return tables.benchmark_in(store, fold)


opened = partial(app_pages.opened, "benchmark")


def test_a_stored_benchmark_is_drawn_said_and_tabulated(stored):
    test = opened()
    result = StudyResult.open(stored.path)
    assert str(stored.key) in test.query_params["study"]
    table = test.table[0].value
    means = benchmark_table.means(result, ["NDCG@10"]).set_index("ranker")["mean"]
    best = means[["lambdamart", "dlcm", "gsf"]].idxmax()
    assert f"**{means[best]:.3f}**" in table.loc[with_display_names(best), "NDCG@10"]
    ideal = result.per_query("ideal", "benchmark", 0.0, "NDCG@5").mean()
    assert table.loc[":gray[ideal]", "NDCG@5"].startswith(f":gray[{ideal:.3f}]")
    assert list(table.index).index("LambdaMART") > list(table.index).index(":gray[random]")
    assert sum("**" in cell for cell in table["NDCG@5"]) == 1
    folded.menus(test)
    labels = {button.label for button in test.get("download_button")}
    assert {"HTML", "SVG", "PDF", "PNG", "CSV", "Parquet", "LaTeX", "Markdown",
            "Recipe (JSON)", "Report (HTML)", "TREC runs and qrels (zip)"} <= labels  # fmt: skip
    assert any("shuffleproof study benchmark" in code.value for code in test.code)


def test_letters_say_who_is_above_whom(stored):
    test = opened(letters=["initial ranking", "random"])
    table = test.table[0].value
    assert " ab" in table.loc["DLCM", "NDCG@10"]
    assert "(b)" not in table.loc["DLCM", "NDCG@10"]
    assert escaped("(a)") in table.loc[":gray[random]", "NDCG@10"]
    assert "a above initial ranking, (a) below, b above random, (b) below" in words(test)
    none = opened(letters=[])
    assert " a" not in none.table[0].value.loc["DLCM", "NDCG@10"]
    assert "Marks:" not in words(none)


def test_conventions_change_the_whole_table_at_once(stored):
    test = opened()
    test.segmented_control(key="ideal").set_value("shown")
    test.segmented_control(key="empty").set_value("one")
    test.segmented_control(key="discount").set_value("letor")
    test.run()
    assert not test.exception
    assert "NDCG@10 · gain: 2^y − 1 · discount: letor · ideal: shown · no relevant: 1" in words(
        test
    )
    wanted = "NDCG(discount=letor,ideal=shown,empty=one)@10"
    result = StudyResult.open(stored.path)
    means = benchmark_table.means(result, [wanted]).set_index("ranker")["mean"]
    cell = test.table[0].value.loc["LambdaMART", "NDCG@10"]
    assert f"{means['lambdamart']:.3f}" in cell
    frame = test.dataframe[0].value.set_index("ranker")
    best = sections.best_of(result, "NDCG@10")
    expected = benchmark_table.against_baseline(result, wanted, best).set_index("ranker")
    np.testing.assert_allclose(frame["difference"], expected["difference"])


def test_what_is_undefined_is_said_and_neither_drawn_nor_marked(store, fold):
    labels = fold.test.labels.copy()
    labels[fold.test.offsets[3] : fold.test.offsets[4]] = 0
    bare = replace(fold, test=replace(fold.test, labels=labels))
    tables.benchmark_in(store, bare)
    test = opened(empty="nan")
    said = words(test)
    assert "Under this convention the means are undefined" in said
    assert "N = 40 queries (means are undefined: some have no relevant document)" in said
    assert "Nothing is drawn: some queries have no relevant document" in said
    assert "Full marks" not in said
    assert set(test.table[0].value.to_numpy().ravel()) <= {"", "–", ":gray[–]"}
    frame = test.dataframe[0].value
    assert frame["difference"].isna().all()
    assert (frame[["wins", "ties", "losses"]].sum(axis=1) == frame["n"]).all()
    left_out = opened(empty="skip")
    bounds = zip(fold.test.offsets[:-1], fold.test.offsets[1:], strict=True)
    none = sum(not labels[first:last].any() for first, last in bounds)
    expected = f"N = {40 - none} queries ({none} without relevant documents left out)"
    assert expected in words(left_out)


def test_two_rankers_by_query_and_one_query_as_they_answered_it(stored, fold):
    test = opened(ranker="gsf", minus="dlcm")
    result = StudyResult.open(stored.path)
    frame = benchmark_table.deltas(result, "gsf", "dlcm", "NDCG@10")
    query = str(frame["query"].iloc[-1])
    test.selectbox(key="query").set_value(query).run()
    assert not test.exception
    assert f"Query {query} of my_set, seed 0" in words(test)
    test.selectbox(key="seed").set_value(1).run()
    assert f"Query {query} of my_set, seed 1" in words(test)
    test.session_state["documents opened"] = True
    test.run()
    test.multiselect(key="features").set_value([2, 3]).run()
    documents = next(one.value for one in test.dataframe if "document" in one.value)
    at = list(fold.test.query_ids).index(query)
    rows = slice(*fold.test.offsets[at : at + 2])
    np.testing.assert_array_equal(
        np.sort(documents["feature 3"]), np.sort(fold.test.feature(3)[rows])
    )
    assert list(documents.sort_values("gsf")["score of gsf"]) == sorted(
        documents["score of gsf"], reverse=True
    )
    queries = next(
        one.value for one in test.dataframe if "difference" in one.value and "query" in one.value
    )
    assert list(queries["query"]) == list(frame["query"])


def test_a_click_chooses_the_ranker(monkeypatch):
    point = {"selection": {"points": [{"customdata": ["dlcm", 0.1, 0.2]}]}}
    state = {view.CHART: point}
    monkeypatch.setattr(view.st, "session_state", state)
    picture.follow_click(view.CHART, view.CLICK)
    assert state["ranker"] == "dlcm"


def chosen_of(artefact):
    columns = ("NDCG@5", "NDCG@10")
    measure = Measure.parse("NDCG@10")
    return BenchmarkView(artefact, measure, columns, "initial ranking", "paired t")


def test_files_hold_the_table_and_the_runs(stored):
    services_store = benchmarks.path(str(stored.key))
    assert services_store == stored.path
    chosen = chosen_of(stored)
    shown = View(chosen.columns, baselines=("random",), test=chosen.test)
    files = {file.label: file for file in view.table_files(chosen, shown)}
    latex = files["LaTeX"].make().decode()
    assert r"\toprule" in latex
    assert latex.count(r"\bfseries") == 2
    assert "a above random" in files["Markdown"].make().decode()
    exact = pd.read_parquet(io.BytesIO(files["Parquet"].make()))
    means = benchmark_table.means(StudyResult.open(stored.path), ["NDCG@5", "NDCG@10"])
    np.testing.assert_array_equal(exact["mean"], means["mean"])
    assert set(exact["marks"]) <= {"", "a", "(a)"}
    assert exact[exact.ranker == "random"]["p"].isna().all()
    assert {"sd", "runs", "n", "against", "p", "effect", "wins", "low"} <= set(exact.columns)
    assert files["CSV"].make().decode().count("\n") == 1 + len(means)
    with zipfile.ZipFile(io.BytesIO(benchmarks.runs(str(stored.key)))) as archive:
        assert {"qrels.txt", "dlcm.seed0.run", "dlcm.seed1.run"} <= set(archive.namelist())
    assert exports.File("runs", "x.zip", lambda: b"").mime == "application/zip"


def test_folds_of_one_name_are_run_together(store):
    for number in (1, 2):
        store.set_name(f"other-fold{number}", store.names()[tables.DATA])
    st.cache_data.clear()
    test = opened(data="other-fold2")
    test.multiselect(key="new.rankers").set_value(["mart"])
    test.run()
    assert not test.exception
    assert " first, then " in words(test)
    test.button(key="new.run").click().run()
    (job,) = jobs.jobs_of(store).list()
    assert job.parameters["data"] == "other"


def test_runs_from_files_open_like_any_benchmark_without_what_they_lack(store, tmp_path):
    qrels, runs = tmp_path / "judged.txt", []
    qrels.write_text("".join(f"{topic} 0 d{n} {n % 2}\n" for topic in "123" for n in range(4)))
    for name, topics in (("bm25", "123"), ("ql", "12")):
        runs.append(tmp_path / f"{name}.run")
        order = (3, 1, 0, 2) if name == "bm25" else (0, 2, 1, 9)
        lines = [f"{topic} Q0 d{n} {at + 1} {9 - at} {name}\n"
                 for topic in topics for at, n in enumerate(order)]  # fmt: skip
        runs[-1].write_text("".join(lines))
    kept = outside_runs.keep(outside_runs.compare_runs(qrels, runs), store)
    nothing = opened()
    assert "No benchmark of my_set is stored yet" in words(nothing)
    show = next(button for button in nothing.button if button.key == f"show {kept.key}")
    assert show.label.startswith("Show the comparison of")
    test = opened({"study": str(kept.key)})
    assert "bm25 is best: NDCG@10 " in words(test)
    assert "ql answers 2 of the 3 judged topics: the other 1 counts as nothing retrieved" in words(
        test
    )
    assert list(test.table[0].value.index) == ["*from outside*", "bm25", "ql"]
    assert not [one for one in test.button if one.key == "new.run"]  # nothing is trained for it
    folded.menus(test)
    labels = {button.label for button in test.get("download_button")}
    assert "Report (HTML)" in labels
    assert "TREC runs and qrels (zip)" not in labels
    assert any("shuffleproof runs --qrels judged.txt" in code.value for code in test.code)
    test.selectbox(key="query").set_value("1").run()
    test.session_state["published"] = True
    test.run()
    test.selectbox(key="published run").set_value("ql")
    test.text_input(key="published measure").set_value("P@2")
    test.text_input(key="published value").set_value("0.000").run()
    assert not test.exception
    assert [one.value for one in test.success] == [escaped("0.000 is P@2 by trec_eval.")]
    test.text_input(key="published value").set_value("much").run()
    assert "like .2294" in test.warning[-1].value


def test_names_of_users_are_shown_letter_by_letter(store, fold, monkeypatch):
    odd = "feature:3 ![x](http://e.org/x)"
    groups = tables.GROUPS | {odd: "each document by itself"}
    monkeypatch.setattr(tables, "GROUPS", groups)
    monkeypatch.setattr(tables, "NOISE", tables.NOISE | {odd: 0.4})
    tables.benchmark_in(store, fold)
    test = opened()
    assert escaped(odd) in list(test.table[0].value.index)
    assert odd not in markdown(test)


def test_rankers_of_a_stored_benchmark_are_compared_by_query():
    result = StudyResult.open(shipped_study("benchmark").path)
    board = differences.of_benchmark(result, "NDCG@10")
    means = {
        label: np.nanmean(values)
        for label, values in benchmark_table.per_query(result, "NDCG@10").items()
    }
    scores = board.rows.set_index("system")["score"]
    assert not {"ideal", "random"} & {*scores.index}
    for label, score in scores.items():
        assert score == pytest.approx(means[label])
    assert {*board.removal["tasks"]} <= {*result.query_ids}
