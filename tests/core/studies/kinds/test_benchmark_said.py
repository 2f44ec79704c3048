"""What is said and taken of a benchmark: its finding, printed rows, single queries, commands."""

import shlex
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from shuffleproof.core.cli.arguments import main, parser
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.errors import DataError, UsageError
from shuffleproof.core.metrics.randomisation import randomisation_p
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.kinds.benchmark import query as benchmark_query
from shuffleproof.core.studies.kinds.benchmark import study as benchmark
from shuffleproof.core.studies.kinds.benchmark import table as benchmark_table
from shuffleproof.core.studies.kinds.benchmark.question import Benchmark
from shuffleproof.core.studies.reproduce import study_command
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import View
from shuffleproof.core.studies.workbench import Workbench, run_to_end

RANKERS = ("feature:1", "feature:2", "feature:3", "file-order")
RECIPE = ListRecipe(("feature:3",), depth=10, scores="in-sample")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Store(tmp_path_factory.mktemp("said"))


@pytest.fixture(scope="module")
def workbench(store):
    return run_to_end(Workbench.open("sample", RECIPE, store))


@pytest.fixture(scope="module")
def artefact(workbench):
    asked = Benchmark(tuple(RANKERS), 2, ("NDCG@10",))
    return run_to_end(benchmark.run([workbench], asked, "sample"))


@pytest.fixture(scope="module")
def result(artefact):
    return StudyResult.open(artefact.path)


def test_means_over_folds_stand_beside_those_over_queries(result):
    queries = result.facts["queries"]
    folds = [{"name": "a", "start": 0, "stop": 3}, {"name": "b", "start": 3, "stop": queries}]
    two = replace(result, facts=dict(result.facts) | {"folds": folds})
    found = benchmark_table.means(two, ("NDCG@5",)).set_index("ranker")
    own = result.per_query("feature:1", benchmark.KIND, 0.0, "NDCG@5")
    wanted = (own[:3].mean() + own[3:].mean()) / 2
    assert found["mean_of_folds"]["feature:1"] == pytest.approx(wanted, abs=1e-6)
    assert found["mean"]["feature:1"] == pytest.approx(own.mean(), abs=1e-6)


def test_one_query_is_answered_from_the_stored_scores(result, artefact, workbench):
    query = result.query_ids[7]
    place = benchmark_query.place_of(result, query, "sample")
    assert place == benchmark_query.Place(0, 7)
    test = workbench.prepared.test
    pair = ("feature:2", "random")
    stored = artefact.path, workbench.fold.test, place, pair
    found = benchmark_query.answers(*stored, features=(4,))
    rows = test.lists.rows[test.lists.offsets[7] : test.lists.offsets[8]]
    assert list(found.label) == list(test.dataset.labels[rows])
    assert list(found.initial) == list(range(1, len(rows) + 1))
    by_hand = sorted(
        range(len(rows)), key=lambda at: (-test.dataset.feature(2)[rows[at]], rows[at])
    )
    assert [by_hand[place - 1] for place in found["feature:2"]] == list(range(len(rows)))
    for column, feature in (("score of feature:2", 2), ("feature 4", 4)):
        np.testing.assert_array_equal(found[column], test.dataset.feature(feature)[rows])
    other = benchmark_query.answers(*stored, seed=1)
    pd.testing.assert_series_equal(other["feature:2"], found["feature:2"])
    assert not other["random"].equals(found["random"])
    with pytest.raises(DataError, match="not in the test part"):
        benchmark_query.place_of(result, "nobody", "sample")


def test_two_runs_from_files_are_laid_over_each_other(tmp_path):
    offsets = np.array([0, 1, 5])
    dataset = RankingDataset(
        np.zeros((5, 0), np.float32), np.float32([0, 1, 0, 2, 0]), offsets, ("q1", "q2"), (),
        doc_ids=TextColumn.of(["z", "a", "b", "c", "d"]),
    )  # fmt: skip

    def lists(rows):
        none = np.zeros((len(rows), 0))
        return CandidateLists(
            np.array([0, 0, len(rows)]), np.arange(2), np.array(rows),
            none.astype(np.int32), none.astype(np.float32),
        )  # fmt: skip

    own = {"bm25": lists([3, 1]), "ql": lists([1, 4, 2])}
    scores = {"bm25": np.float32([2, 5]), "ql": np.float32([1, 9, 1])}
    frame = pd.DataFrame({"ranker": list(own), "family": "benchmark", "level": 0.0, "draw": 0,
                          "tau": 1.0, "set_size": 2.0})  # fmt: skip
    recipe = {"kind": "benchmark", "measures": ["RR"], "stored": ["RR"]}
    arrays = benchmark_query.arrays_of(dataset, own, scores)
    values = np.zeros((2, 1, 2), np.float32)
    files = {benchmark_query.FILE: arrays}
    made = StudyResult(recipe, frame, values, ("q1", "q2"), {}, files)
    replace(made, facts={"noted": 1}).save(tmp_path)
    assert StudyResult.open(tmp_path).facts == {"noted": 1}
    place = benchmark_query.Place(0, 1)
    found = benchmark_query.retrieved_documents(tmp_path, place, ("bm25", "ql"))
    assert list(found.document) == ["a", "c", "d", "b"]
    assert list(found.label) == [1, 2, 0, 0]
    np.testing.assert_array_equal(found.bm25, [1, 2, np.nan, np.nan])
    np.testing.assert_array_equal(found.ql, [2, np.nan, 1, 3])  # equal scores by row
    np.testing.assert_array_equal(found["score of ql"], [1, np.nan, 9, 1])
    (tmp_path / benchmark_query.FILE).unlink()
    with pytest.raises(DataError, match="stored without their documents"):
        benchmark_query.retrieved_documents(tmp_path, place, ("bm25", "ql"))


def test_many_randomisation_tests_at_once_are_the_single_ones():
    rng = np.random.default_rng(5)
    large = rng.normal([[0.0], [0.1], [0.3]], 1, size=(3, 300))
    large[0, :20] = np.nan
    single = [randomisation_p(row[None], rng)[0] for row in large]
    np.testing.assert_allclose(randomisation_p(large, rng), single, atol=0.015)
    assert randomisation_p(large[2:], rng)[0] == pytest.approx(1e-4, rel=0.1)


def test_marks_and_comparisons_by_randomisation_agree_with_t_where_it_is_clear(result):
    for baseline in ("random", "ideal"):
        view = View(("NDCG@10",), baselines=(baseline,))
        t = benchmark_table.marks(result, view)
        drawn = benchmark_table.marks(result, replace(view, test="randomisation"))
        pd.testing.assert_frame_equal(t, drawn)


def test_a_set_is_asked_for_by_its_name():
    from shuffleproof.core.experiment.ranker_sets import NAMED

    rows = [{"label": name, "seeds": 3} for name in ("ideal", "random", *NAMED["pairwise"])]
    recipe = {"kind": "benchmark", "rows": rows, "measures": list(Benchmark(("mart",)).measures)}
    found = study_command(recipe, {"data": "sample"})
    assert found == "shuffleproof study benchmark --rankers pairwise"


def test_ablations_of_earlier_versions_have_a_command_or_none():
    recipe = {"kind": "ablation", "draws": 2, "seed": 0, "perturbations": [["transpositions", 0.0]],
              "rankers": [["as is", "a"], ["released", "b"], ["paper", "c"]]}  # fmt: skip
    facts = {"data": "mine", "ranker": "dlcm", "sizes": None, "towards": [], "preset": "small"}
    words = shlex.split(study_command(recipe, facts))
    assert parser().parse_args(words[1:]).towards == "released,paper"
    with pytest.raises(UsageError, match="run it again"):
        study_command(recipe, {"data": "mine", "ranker": "dlcm"})


def test_export_writes_the_real_table_and_the_runs(artefact, store, tmp_path):
    for name in ("t.tex", "t.md", "t.zip"):
        arguments = ["export", str(artefact.key), str(tmp_path / name), "--store", str(store.root)]
        assert main(arguments) == 0
    assert r"\toprule" in (tmp_path / "t.tex").read_text(encoding="utf-8")
    assert "| feature:1 |" in (tmp_path / "t.md").read_text(encoding="utf-8")
    with zipfile.ZipFile(tmp_path / "t.zip") as archive:
        assert {"qrels.txt", "feature-1.seed0.run", "random.seed1.run"} <= set(archive.namelist())
    arguments = ["export", str(artefact.key), str(tmp_path / "other.md"), "--measures",
                 "NDCG(empty=one,ties=row)@5", "--against", "random", "--test", "randomisation",
                 "--store", str(store.root)]  # fmt: skip
    assert main(arguments) == 0
    other = (tmp_path / "other.md").read_text(encoding="utf-8")
    assert "| Ranker | NDCG@5 |" in other
    assert "no relevant: 1 · ties: by row" in other
    assert "a above random, (a) below, at p ≤ .05 (randomisation" in other
    assert main(["export", "random", str(tmp_path / "x.zip"), "--store", str(store.root)]) == 2


def test_runs_need_the_data_that_they_were_made_on(artefact, store):
    facts = artefact.facts | {"fingerprints": ["gone"]}
    with pytest.raises(DataError, match="no longer stored"):
        benchmark_query.made_on(facts, store)
    (fold,) = benchmark_query.made_on(artefact.facts, store)
    assert fold.fingerprint == artefact.facts["fingerprints"][0]


def test_intervals_leave_out_0_exactly_where_the_adjusted_test_beside_them_does(result):
    for baseline in benchmark_table.rankers_of(result):
        frame = benchmark_table.against_baseline(result, "NDCG@10", baseline).dropna(subset="p")
        assert len(frame)
        assert (((frame["low"] > 0) | (frame["high"] < 0)) == (frame["p"] <= 0.05)).all()
