"""The benchmark page in every state: empty, stored, other conventions, at work, failed."""

import io
import zipfile
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
import streamlit as st

from shuffleproof.app import benchmarks, exports, report
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import picture
from shuffleproof.app.views.benchmark import form as benchmark_run
from shuffleproof.app.views.benchmark import page as view
from shuffleproof.app.views.benchmark.page import BenchmarkView
from shuffleproof.core import jobs
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.rankers.name import with_display_names
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.studies.kinds.benchmark import outside_runs, sections
from shuffleproof.core.studies.kinds.benchmark import table as benchmark_table
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import View
from tests import app_folded as folded
from tests import app_pages
from tests import app_tables as tables
from tests.app_jobs import announce, state_of
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


def test_the_table_says_with_how_many_trials_a_row_was_tuned(stored):
    result = StudyResult.open(stored.path)
    cells = sections.cells(result, View(("NDCG@10",), baselines=()))
    facts = result.facts | {"trials": {"dlcm": 40}}
    table = benchmark_run.printed_table(cells, ["lambdamart", "dlcm"], facts, ["NDCG@10"])
    rows = [name for name in table.index if not name.startswith("*")]
    assert rows == ["LambdaMART", escaped("DLCM (tuned with 40 trials)")]


def test_letters_say_who_is_above_whom(stored):
    test = opened(letters=["initial ranking", "random"])
    table = test.table[0].value
    assert " ab" in table.loc["DLCM", "NDCG@10"]
    assert "(b)" not in table.loc["DLCM", "NDCG@10"]
    assert escaped("(a)") in table.loc[":gray[random]", "NDCG@10"]
    assert "a above initial ranking, (a) below, b above random, (b) below" in words(test)
    test.segmented_control(key="marks").set_value("daggers").run()
    assert escaped("+†") in test.table[0].value.loc["DLCM", "NDCG@10"]
    assert "+ above initial ranking, (+) below, † above random" in words(test)
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
    expected = benchmark_table.against_baseline(result, wanted, "initial ranking").set_index(
        "ranker"
    )
    np.testing.assert_allclose(frame["difference"], expected["difference"])


def test_measure_columns_baseline_and_test_are_choices(stored):
    test = opened(measure="NDCG@3", columns=["NDCG@1", "NDCG@3"], baseline="dlcm",
                  test="randomisation")  # fmt: skip
    assert list(test.table[0].value.columns) == ["NDCG@1", "NDCG@3"]
    assert "DLCM" not in list(test.dataframe[0].value["ranker"])
    assert "randomisation, Holm" in words(test)


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
    assert "No mean rank is defined" in said
    assert set(test.table[0].value.to_numpy().ravel()) <= {"", "–", ":gray[–]"}
    frame = test.dataframe[0].value
    assert frame["difference"].isna().all()
    assert (frame[["wins", "ties", "losses"]].sum(axis=1) == frame["n"]).all()
    left_out = opened(empty="skip")
    bounds = zip(fold.test.offsets[:-1], fold.test.offsets[1:], strict=True)
    none = sum(not labels[first:last].any() for first, last in bounds)
    expected = f"N = {40 - none} queries ({none} without relevant documents left out)"
    assert expected in words(left_out)


def test_one_of_references_alone_breaks_nothing_and_is_not_shown_first(store, fold, monkeypatch):
    with monkeypatch.context() as patched:
        references = {name: tables.NOISE[name] for name in ("ideal", "initial ranking", "random")}
        patched.setattr(tables, "NOISE", references)
        bare = tables.benchmark_in(store, fold)
    test = opened()
    assert "There is nobody to compare with initial ranking here" in words(test)
    assert "No ranker has been measured yet" in words(test)
    assert "As the paper" not in words(test)
    report.report([bare.path])
    whole = tables.benchmark_in(store, fold)
    now = benchmarks.stored_benchmarks(tables.DATA)
    assert list(now) == [str(whole.key), str(bare.key)]
    older = {**now, str(bare.key): replace(now[str(bare.key)], created="1999-01-01T00:00:00+00:00")}
    assert min(older.values(), key=benchmarks.shown_first).key == whole.key


def test_columns_that_differ_say_so_under_the_table(stored):
    said = words(opened(columns=["NDCG@10", "NDCG@5"]))
    assert "my_set · N = 40 queries · mean ± standard deviation of 2 seeds" in said
    assert "bold: best of the trained rows" in said
    mixed = sections.table_notes(
        StudyResult.open(stored.path), View(("NDCG(empty=one)@10", "NDCG@5"))
    )
    assert [line.partition(": ")[0] for line in mixed[1:3]] == ["NDCG(empty=one)@10", "NDCG@5"]
    text = report.report([stored.path])
    assert "best of the trained rows" in text


def test_two_rankers_by_query_and_one_query_as_they_answered_it(stored, fold):
    test = opened(ranker="gsf", minus="dlcm")
    result = StudyResult.open(stored.path)
    frame = benchmark_table.deltas(result, "gsf", "dlcm", "NDCG@10")
    better = int((frame.difference > 0).sum())
    assert f"of 40 queries and rises on {better}; query" in words(test)
    query = str(frame["query"].iloc[-1])
    test.selectbox(key="of").set_value(query).run()
    assert not test.exception
    assert f"Query {query} of my_set · seed 0" in words(test)
    test.selectbox(key="seed").set_value(1).run()
    assert f"Query {query} of my_set · seed 1" in words(test)
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


def test_a_click_chooses_ranker_and_query(monkeypatch):
    point = {"selection": {"points": [{"customdata": ["dlcm", 0.1, 0.2]}]}}
    state = {view.CHART: point}
    monkeypatch.setattr(view.st, "session_state", state)
    picture.follow_click(view.CHART, view.CLICK)
    assert state["ranker"] == "dlcm"
    state[view.BARS] = {"selection": {"points": [{"customdata": ["q7", "fold2"]}]}}
    picture.follow_click(view.BARS, view.OPEN_QUERY)
    assert (state["of"], state["fold of"]) == ("q7", "fold2")


def test_printed_rows_stand_beside_where_the_set_is_recognised(store, fold, monkeypatch):
    sizes = {"queries": 33_018, "documents": 10_454_629, "features": 220, "top_label": 4}
    facts_of = tables.facts_of
    monkeypatch.setattr(tables, "facts_of", lambda *given: facts_of(*given) | {"sizes": [sizes]})
    tables.benchmark_in(store, fold)
    test = opened()
    said = words(test)
    assert "As the paper printed it" in [one.value for one in test.subheader]
    assert "SIGIR 2020, Table 2, Istella" in said
    assert "ideal: judged · no relevant: 0 · ties: not stated · top 40 by LambdaMART" in said
    measured, printed = (one.value for one in test.table)
    result = StudyResult.open(
        benchmarks.path(next(iter(benchmarks.stored_benchmarks(tables.DATA))))
    )
    own = benchmark_table.means(result, ["NDCG@10"]).set_index("ranker")["mean"]["gsf"]
    assert printed.loc["gsf", "NDCG@10"] == f"0.6508 :gray[:small[here\u00a0{own:.4f}]]"
    assert printed.loc["rankboost", "NDCG@1"] == "0.4457"  # not measured here
    assert not any("**" in cell for cell in printed.to_numpy().ravel())
    assert "rankboost" not in measured.index
    assert sum("**" in cell for cell in measured["NDCG@10"]) == 1


def test_an_address_that_asks_for_what_is_not_there_is_told(stored):
    test = opened({"baseline": "nobody", "study": "study-0000000000000000"})
    assert "ranker nobody" in words(test)
    assert "study study-0000000000000000" in words(test)


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


def test_the_report_holds_picture_finding_and_table(stored):
    text = report.report([stored.path])
    StudyResult.open(stored.path)
    assert "<b>" in text
    assert "question = Benchmark(" in text


def test_the_form_says_the_cost_and_hands_the_benchmark_in(store):
    test = opened()
    test.multiselect(key="new.rankers").set_value(["mart", "lambdamart", "feature:1"])
    test.number_input(key="new.seeds").set_value(2)
    test.run()
    said = words(test)
    assert "**6 trainings, " in said
    test.multiselect(key="new.combine.members").set_value(["mart", "ranksvm"]).run()
    assert "2 scorings of every list for one answer, one a member; run at every seed" in words(test)
    test.button(key="new.combine.add").click().run()
    assert "**7 trainings, " in words(test)
    test.button(key="new.run").click().run()
    (job,) = jobs.jobs_of(store).list()
    assert (job.kind, job.state) == ("benchmark", "waiting")
    assert job.parameters["rankers"] == ["mart", "lambdamart", "feature:1", "rrf:mart+ranksvm"]
    assert (job.parameters["seeds"], job.parameters["preset"]) == (2, "small")
    assert job.parameters["lists"]["initial"] == ["lambdamart@small"]
    assert "Waiting for a free worker" in test.get("progress")[0].proto.text


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("measures", "NDGC@10", "no measure is called"),
        ("rankers", ["dlmc"], "no ranker is called"),
        ("rankers", ["dlcm#abc"], "no such ranker in the store"),
        ("rankers", ["random", "ideal"], "no ranker is named"),
        ("rankers", ["feature:77"], "the data has no such feature"),
    ],
)
def test_wrong_entries_are_sentences_and_hand_nothing_in(store, field, value, said):
    test = opened(**{f"new.{field}": value})
    assert said in words(test)
    assert not [button for button in test.button if button.key == "new.run"]


def test_the_whole_table_is_one_click_whatever_was_run_before(stored):
    test = opened(**{"run opened": True})
    test.run()
    assert test.multiselect(key="new.rankers").value == ["lambdamart", "dlcm", "gsf"]
    test.button(key="new.table2").click().run()
    assert not test.exception
    assert test.multiselect(key="new.rankers").value == ["table2"]


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


def handed_in(store):
    asked = {"data": tables.DATA, "rankers": ["lambdamart", "dlcm", "gsf"], "preset": "small"}
    return jobs.submit(store, "benchmark", asked)


def test_a_running_benchmark_shows_its_first_rows_and_is_cancelled(store, fold):
    made, judged = tables.plan(), tables.lists_of(fold)
    done = tables.cells_of(made, judged)
    for cell in made.cells()[:5]:
        store.records.put(cell.digest, *done[cell.digest])
    facts = tables.facts_of(fold, judged)
    key = key_of("study", made.recipe())
    job = handed_in(store)
    announce(job, key, made, list(fold.test.query_ids), facts)
    told = '{"done": 3, "total": 30, "unit": "epochs of dlcm, seed 0", "values": {}}'
    state_of(store, job, state="running", started=1.0, progress=told)
    test = opened()
    assert "Running: 3 of at most 30 epochs of DLCM, seed 0" in test.get("progress")[0].proto.text
    rows = list(test.table[0].value.index)
    assert "DLCM" in rows
    assert "gsf" not in rows
    assert f"5 of {len(made.cells())} trainings" in words(test)
    test.button(key=f"cancel {job.id[:16]}").click().run()
    assert jobs.jobs_of(store).get(job.id).cancel_wanted


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
    assert "bm25 ranks first: NDCG@10 " in words(test)
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
    test.selectbox(key="of").set_value("1").run()


def test_a_study_asked_under_other_conventions_shows_those_first(store, tmp_path):
    (tmp_path / "q.txt").write_text("1 0 a 1\n1 0 b 0\n1 0 c 2\n")
    (tmp_path / "x.run").write_text("1 Q0 a 1 2 x\n1 Q0 b 2 1 x\n1 Q0 c 3 1 x\n")
    asked = ("NDCG(gain=linear,ties=trec)@10", "AP(ties=trec)")
    compared = outside_runs.compare_runs(tmp_path / "q.txt", [tmp_path / "x.run"], asked)
    test = opened({"study": str(outside_runs.keep(compared, store).key)})
    assert "NDCG@10 · gain: y · ideal: judged · no relevant: 0 · ties: by document id" in words(
        test
    )
    assert f"{compared.summary()['mean'][0]:.3f}" in test.table[0].value.loc["x", "NDCG@10"]
    assert not [one for one in test.segmented_control if one.key == "ideal"]
    test.toggle(key="asked").set_value(False).run()
    assert not test.exception
    assert "NDCG@10 · gain: 2^y − 1 · ideal: judged" in words(test)
    assert "AP(ties=trec)" in test.table[0].value.columns  # not stored under another


def test_what_this_session_handed_in_is_shown_when_it_is_done(store, stored):
    job = handed_in(store)
    result = f'{{"artefact": "{stored.key.kind}-{stored.key.digest}"}}'
    state_of(store, job, state="done", finished=2.0, result=result)
    mine = benchmark_run.FORM.panel.session_key
    test = opened(**{mine: job.id})
    assert str(stored.key) in test.query_params["study"]
    assert mine not in test.session_state


def test_names_of_users_are_shown_letter_by_letter(store, fold, monkeypatch):
    odd = "feature:3 ![x](http://e.org/x)"
    groups = tables.GROUPS | {odd: "each document by itself"}
    monkeypatch.setattr(tables, "GROUPS", groups)
    monkeypatch.setattr(tables, "NOISE", tables.NOISE | {odd: 0.4})
    tables.benchmark_in(store, fold)
    test = opened()
    assert escaped(odd) in list(test.table[0].value.index)
    assert odd not in markdown(test)


def test_a_benchmark_of_another_set_is_not_shown(stored, store):
    other = replace(stored, facts=stored.facts)
    assert benchmarks.stored_benchmarks(tables.DATA).keys() == {str(other.key)}
    assert str(other.key) not in benchmarks.stored_benchmarks("sample")
    assert benchmarks.stem("mq2008-fold3") == "mq2008"
