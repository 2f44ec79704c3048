"""Table 2: what is trained once, what the table says of stored values, and how it is written."""

import re
import zipfile
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.numpy import load_file
from scipy import stats

from shuffleproof.core.aggregate.voting import mean_ranks
from shuffleproof.core.data import trec
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import DataError, DivergedError, UnknownNameError, UsageError
from shuffleproof.core.experiment import ranker_sets
from shuffleproof.core.metrics.significance import holm
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.studies import engine, table_text
from shuffleproof.core.studies.kinds.benchmark import query, sections
from shuffleproof.core.studies.kinds.benchmark import rows as benchmark_rows
from shuffleproof.core.studies.kinds.benchmark import study as benchmark
from shuffleproof.core.studies.kinds.benchmark import table as benchmark_table
from shuffleproof.core.studies.kinds.benchmark.question import Benchmark
from shuffleproof.core.studies.question import Scope
from shuffleproof.core.studies.registry import STUDIES
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import View
from shuffleproof.core.studies.workbench import Workbench, run_to_end
from tests import small_set

RANKERS = ("feature:1", "feature:2", "feature:3", "lambdamart@small")
FUSED = "mean-rank:random+feature:2"
"""A combination that draws: one of its members does."""

RECIPE = ListRecipe(("feature:3",), depth=10, scores="in-sample")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Store(tmp_path_factory.mktemp("benchmark"))


@pytest.fixture(scope="module")
def workbench(store):
    return run_to_end(Workbench.open("sample", RECIPE, store))


ASKED = Benchmark((*RANKERS, FUSED), 2, ("NDCG@10", "RR"))


@pytest.fixture(scope="module")
def artefact(workbench):
    return run_to_end(benchmark.run([workbench], ASKED, "sample"))


@pytest.fixture(scope="module")
def result(artefact):
    return StudyResult.open(artefact.path)


def test_references_stand_beside_the_rankers_and_only_what_draws_has_seeds(result):
    seeds = result.trials.groupby("ranker").draw.count().to_dict()
    assert seeds == {
        "ideal": 1, "initial ranking": 1, "random": 2, FUSED: 2, **dict.fromkeys(RANKERS, 1),
    }  # fmt: skip
    assert result.query_ids == tuple(result.query_ids[: result.facts["queries"]])


def test_a_row_is_what_its_ranker_scores(result, workbench):
    from shuffleproof.core.metrics.measure import Measure
    from shuffleproof.core.metrics.relevance import evaluate

    test = workbench.prepared.test
    scores = test.dataset.feature(2)[test.lists.rows]
    expected = evaluate([Measure.parse("NDCG@10")], test.dataset, test.lists, scores)[0]
    found = result.per_query("feature:2", benchmark.KIND, 0.0, "NDCG@10")
    np.testing.assert_array_equal(found, expected)


def test_a_combination_is_run_at_the_seeds_of_its_members(result, workbench, artefact):
    test = workbench.prepared.test
    stored = load_file(artefact.path / benchmark.RUNS)
    second = mean_ranks(test.lists.offsets, test.dataset.feature(2)[test.lists.rows])
    for seed in (0, 1):
        first = mean_ranks(test.lists.offsets, stored[f"scores/random/{seed}/0"])
        expected = (-(first + second) / 2).astype(np.float32)
        np.testing.assert_allclose(stored[f"scores/{FUSED}/{seed}/0"], expected, rtol=1e-6)
    row = benchmark_table.means(result, ("NDCG@10",)).set_index("ranker").loc[FUSED]
    own = result.draws(FUSED, benchmark.KIND, 0.0, "NDCG@10").mean(axis=1, dtype=np.float64)
    assert (row["runs"], row["group"]) == (2, "the set of documents")
    assert row["sd"] == pytest.approx(np.std(own, ddof=1), abs=1e-7)
    assert row["sd"] > 0


def test_only_rankers_whose_seed_changes_something_are_trained_again(workbench):
    everything = JudgedLists(
        workbench.fold.train, CandidateLists.all_documents(workbench.fold.train)
    )
    specs = [registry.spec("lambdamart", "small", trees=5, seed=seed) for seed in (0, 1)]
    one, other = (run_to_end(spec.fit(everything, everything)) for spec in specs)
    assert one.text.partition("[seed:")[0] == other.text.partition("[seed:")[0]
    known = dict(zip(RANKERS, benchmark_rows.rows_of(RANKERS, "paper", 3)[3:], strict=True))
    assert [row.seeds for row in known.values()] == [1, 1, 1, 1]
    names = ["ranksvm", "irsvm", "rankboost", "frank-additive", "mart", "rrf:mart+ranksvm"]
    assert {row.seeds for row in benchmark_rows.rows_of(names, "paper", 3)[3:]} == {1}
    names = ["mart@tuned", "gsf", "ranknet", "dlcm", "shuffled:dlcm", "rrf:mart+dlcm"]
    assert {row.seeds for row in benchmark_rows.rows_of(names, "paper", 3)[3:]} == {3}


def test_seeds_that_gave_the_same_are_one_run(result):
    trials = result.trials.replace({"ranker": {"feature:1": "feature:2", "feature:3": "dlcm"}})
    groups = result.facts["groups"] | {"dlcm": "the set and its initial ranking"}
    values = result.values.copy()
    rows = np.flatnonzero(trials.ranker == "feature:2")
    values[rows[1]] = values[rows[0]]
    stored_twice = replace(
        result, trials=trials, values=values, facts=result.facts | {"groups": groups}
    )
    row = benchmark_table.means(stored_twice, ("NDCG@10",)).set_index("ranker").loc["feature:2"]
    assert row["runs"] == 1
    assert np.isnan(row["sd"])


def test_nothing_is_done_twice_and_an_added_ranker_repeats_nothing(workbench, artefact, store):
    assert run_to_end(benchmark.run([workbench], ASKED, "sample")).key == artefact.key
    same = benchmark.plan_benchmark([workbench], ASKED)
    more = benchmark.plan_benchmark(
        [workbench], replace(ASKED, rankers=(*ASKED.rankers, "file-order"))
    )
    old = {cell.digest for cell in same.cells()}
    new = [cell for cell in more.cells() if cell.digest not in old]
    assert [cell.row.ranker for cell in new] == ["file-order"]
    assert all(store.records.get(digest) is not None for digest in old)


def test_folds_stand_side_by_side_and_spread_counts_them(workbench, tmp_path):
    store = Store(tmp_path)
    second = run_to_end(Workbench.open("sample", ListRecipe(("feature:1",), 5, "in-sample"), store))
    work = benchmark.run([workbench, second], Benchmark(("feature:2",), 1, ("NDCG@10",)), "two")
    found = StudyResult.open(run_to_end(work).path)
    means = benchmark_table.means(found, ("NDCG@10",)).set_index("ranker").loc["feature:2"]
    values = found.per_query("feature:2", benchmark.KIND, 0.0, "NDCG@10")
    halves = np.split(values.astype(np.float64), 2)
    assert means["runs"] == 2
    assert means["sd"] == pytest.approx(np.std([half.mean() for half in halves], ddof=1))
    assert means["mean"] == pytest.approx(values.mean(), abs=1e-6)
    assert [fold["stop"] for fold in found.facts["folds"]] == [len(values) // 2, len(values)]


@pytest.mark.parametrize("measure", ["NDCG@10", "NDCG(empty=skip)@10", "NDCG(ideal=shown)@5"])
def test_another_convention_is_another_table_at_once(result, measure):
    means = benchmark_table.means(result, (measure,))
    own = result.per_query("feature:3", benchmark.KIND, 0.0, measure)
    row = means.set_index("ranker").loc["feature:3"]
    assert row["mean"] == pytest.approx(np.nanmean(own), abs=1e-6)
    assert row["n"] == (~np.isnan(own)).sum()
    ranked = means[means.group != "for comparison"]
    assert ranked[ranked.best]["mean"].min() == ranked["mean"].max()


def test_comparisons_are_paired_tests_with_holm(result):
    frame = benchmark_table.against_baseline(result, "NDCG@10", "feature:3").set_index("ranker")
    other = result.per_query("feature:3", benchmark.KIND, 0.0, "NDCG@10").astype(float)
    raw = []
    for label in frame.index:
        own = result.per_query(label, benchmark.KIND, 0.0, "NDCG@10").astype(float)
        same = np.array_equal(own, other)
        raw.append(1.0 if same else stats.ttest_rel(own, other).pvalue)
        row = frame.loc[label]
        assert row["difference"] == pytest.approx((own - other).mean())
        assert row["wins"] == (own > other + 1e-6).sum()
        assert row["wins"] + row["ties"] + row["losses"] == row["n"] == len(own)
        assert row["low"] <= row["difference"] <= row["high"]
    np.testing.assert_allclose(frame["p"], holm(np.array(raw)), atol=1e-12)
    with pytest.raises(UnknownNameError):
        benchmark_table.against_baseline(result, "NDCG@10", "nobody")


def test_marks_say_above_and_below(result):
    marks = benchmark_table.marks(result, View(("NDCG@10",), baselines=("feature:3", "random")))
    of = dict(zip(marks.ranker, marks.marks, strict=True))
    assert of["ideal"] == "ab"
    assert of["random"] == "(a)"
    assert of["initial ranking"] == "b"  # it is feature:3 itself: no difference from a


def test_query_differences_are_sorted_and_complete(result):
    frame = benchmark_table.deltas(result, "lambdamart@small", "feature:3", "NDCG@10")
    assert len(frame) == result.facts["queries"]
    assert all(one >= two for one, two in pairwise(frame.difference))
    np.testing.assert_allclose(frame.difference, frame.ranker - frame.baseline)


def test_runs_of_every_row_read_back_to_the_stored_scores(result, artefact, workbench, tmp_path):
    names = query.write(artefact.path, [workbench.fold], tmp_path / "runs.zip")
    assert len(names) == 1 + len(result.trials)
    with zipfile.ZipFile(tmp_path / "runs.zip") as archive:
        archive.extractall(tmp_path)
    run = trec.read_run(tmp_path / "feature-2.seed0.run")
    judged = trec.read_qrels(tmp_path / "qrels.txt")
    assert set(judged) == set(workbench.fold.test.query_ids)
    assert run.lines == len(workbench.prepared.test.lists.rows)


def test_a_row_that_reads_four_rankings_has_them_for_the_same_candidates(workbench):
    names = ("setrank-imsab-multi-init", "shuffled:setrank-imsab-multi-init", "dlcm", "feature:1")
    plan = benchmark.plan_benchmark([workbench], Benchmark(names, 1, ("NDCG@10",)))
    four = ["feature:3", "lambdamart@small", "mart@small", "ranksvm@small"]
    wider = {row.label: row.ranker.get(benchmark.WIDER) for row in plan.rows[3:]}
    assert wider == dict(zip(names, [four, four, None, None], strict=True))
    own = run_to_end(benchmark.workbench_of_row(workbench, plan.rows[-1]))
    assert (
        own is workbench
    )  # who reads fewer is trained on the lists as they are, and found by them
    made = run_to_end(benchmark.workbench_of_row(workbench, plan.rows[3]))
    for part in ("train", "valid", "test"):
        few, many = (getattr(one.prepared, part).lists for one in (workbench, made))
        assert many.rankings == 4
        np.testing.assert_array_equal(few.rows, many.rows)
        np.testing.assert_array_equal(few.offsets, many.offsets)
        np.testing.assert_array_equal(few.ranks[:, 0], many.ranks[:, 0])
    assert "setrank-imsab-multi-init" in ranker_sets.NAMED["table2"]


def test_one_that_reads_as_many_rankings_as_there_are_is_trained_on_the_lists_as_they_are(
    workbench, monkeypatch
):
    asked = []

    def train(self, name, changes):
        asked.append((self.preset, str(name), changes))
        yield from ()

    monkeypatch.setattr(Workbench, "train", train)
    wide = replace(workbench, preset="paper")
    for seed, text in enumerate(("setrank-imsab-init@small", "setrank-imsab-multi-init@small")):
        run_to_end(benchmark_rows.trained_at(workbench, RankerName.parse(text), seed, wide))
    assert asked == [
        ("small", "setrank-imsab-init@small", {}),
        ("paper", "setrank-imsab-multi-init@small", {"seed": "1"}),
    ]


def test_one_that_reads_more_scores_the_wider_lists(workbench, monkeypatch):
    def minus_the_sum(_dataset, lists):
        return -lists.ranks.sum(axis=1).astype(np.float32)

    def trained(_bench, _label, _seed, wide):
        yield from ()
        artefact = SimpleNamespace(key="ranker", facts={"seconds": 1.0})
        assert wide.recipe.initial == (
            "feature:3",
            "lambdamart@small",
            "mart@small",
            "ranksvm@small",
        )
        return SimpleNamespace(ranker=SimpleNamespace(score=minus_the_sum), artefact=artefact)

    monkeypatch.setattr(benchmark, "trained_at", trained)
    plan = benchmark.plan_benchmark([workbench], Benchmark(("setrank-imsab-multi-init",), 1))
    row = plan.rows[-1]
    cell = next(cell for cell in plan.cells() if cell.row.ranker == row.label)
    _, arrays = run_to_end(benchmark._compute([workbench], plan, cell))
    wide = run_to_end(benchmark.workbench_of_row(workbench, row))
    expected = -wide.prepared.test.lists.ranks.sum(axis=1)
    np.testing.assert_array_equal(arrays["scores"], expected)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("random", "ideal"), "no ranker is named"),
        ((), "no ranker is named"),
        (("feature:1", "feature:99"), "feature:99: the data has no such feature"),
        (("rrf:feature:1+feature:1",), "each ranker once"),
    ],
)
def test_what_cannot_be_a_row_is_refused_before_anything_is_trained(workbench, names, said):
    with pytest.raises(UsageError, match=said):
        benchmark.plan_benchmark([workbench], Benchmark(names, 1, ("NDCG@10",)))


def test_lists_longer_than_ordinals_are_refused_in_the_plan():
    rows = benchmark_rows.rows_of(
        ["mart", "setrank-msab-init", "shuffled:setrank-imsab-init"], "small", 1
    )
    most = benchmark.limits(rows[4].ranker)[1]
    benchmark.check_lengths(rows, most)
    both = "setrank-msab-init, shuffled:setrank-imsab-init read ranks up to"
    with pytest.raises(UsageError, match=f"{both} {most}, and there are lists of {most + 1} cand"):
        benchmark.check_lengths(rows, most + 1)


def test_a_row_that_fails_is_said_to_and_the_others_are_kept(workbench, store, monkeypatch):
    trained_at = benchmark.trained_at

    def diverging(one, name, seed, wide):
        if name.base == "file-order":
            raise DivergedError(name.base, 3, 0.1)
        return (yield from trained_at(one, name, seed, wide))

    monkeypatch.setattr(benchmark, "trained_at", diverging)
    measures = ("NDCG(empty=one)@10",)
    lists = replace(workbench, recipe=replace(RECIPE, seed=5))  # nothing of it is stored
    work = benchmark.run([lists], Benchmark(("file-order", "feature:1"), 1, measures), "sample")
    artefact = run_to_end(work)
    found = StudyResult.open(artefact.path)
    assert "feature:1" in set(found.trials.ranker)
    assert "file-order" not in set(found.trials.ranker)
    told = sections.markdown(found, measures, ())
    assert "file-order failed and is left out of all comparisons. file-order: the training" in told
    assert "failed (the same command tries them again)" in told
    assert re.search(r"file-order +\| +failed", told), told
    names = query.write(artefact.path, [workbench.fold], store.root / "runs.zip")
    assert "feature-1.seed0.run" in names
    with pytest.raises(DivergedError):
        run_to_end(benchmark.run([lists], Benchmark(("file-order",), 1, measures), "sample"))


FLAKY = """import os
def score(features, query):
    if os.path.exists("down") and query[-1] == "7":
        raise ConnectionError("the service is down")
    return features[:, 2]
"""


def test_rows_that_failed_are_tried_again_by_the_same_question(workbench, tmp_path, monkeypatch):
    """And are never found instead of the whole; what else was finished is not done again."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flaky.py").write_text(FLAKY)
    (tmp_path / "down").touch()
    asked = Benchmark(("flaky:score", "feature:3"), 1, ("NDCG@10",))
    keys = []
    for _ in range(2):
        artefact = run_to_end(benchmark.run([workbench], asked, "sample"))
        found = StudyResult.open(artefact.path)
        assert (
            "the service is down (flaky.py:4 in score). Correct it."
            in found.facts["failed"]["flaky:score"]
        )
        assert key_of("study", artefact.recipe) == artefact.key
        assert engine.plan_of(artefact.recipe).rows[3].label == "flaky:score"
        keys.append(artefact.key)
    (tmp_path / "down").unlink()
    whole = run_to_end(benchmark.run([workbench], asked, "sample"))
    assert whole.key not in keys
    result = StudyResult.open(whole.path)
    assert "failed" not in result.facts
    assert {"flaky:score", "feature:3"} <= set(result.trials.ranker)
    assert run_to_end(benchmark.run([workbench], asked, "sample")).created == whole.created
    running = engine.running_studies(workbench.store, "benchmark")
    assert not [one for one in running if "flaky" in str(one.recipe)]
    with pytest.raises(DataError, match="has no function lacking"):
        run_to_end(benchmark.run([workbench], Benchmark(("flaky:lacking",), 1), "sample"))


def test_a_result_that_lacks_rows_and_has_the_whole_ones_key_is_replaced(workbench, monkeypatch):
    """As earlier versions stored it."""
    asked = Benchmark(("feature:2", "feature:3"), 1, ("P@1",))
    plan = benchmark.plan_benchmark([workbench], asked)
    whole = run_to_end(benchmark.run([workbench], asked, "sample"))
    old, store = StudyResult.open(whole.path), workbench.store
    lacking = replace(old, facts=dict(old.facts) | {"failed": {"feature:2": "why"}})
    store.remove(whole.key)
    store.add(whole.key, plan.recipe(), lacking.save, lacking.facts)
    assert "failed" not in run_to_end(benchmark.run([workbench], asked, "sample")).facts


def test_undefined_means_are_compared_with_nothing(result):
    measure = "NDCG(empty=nan)@10"
    frame = benchmark_table.against_baseline(result, measure, "feature:3")
    assert frame[["difference", "low", "high", "p", "effect"]].isna().all(axis=None)
    assert set(benchmark_table.marks(result, View((measure,), baselines=("random",))).marks) == {""}
    line = sections.table_notes(result, View((measure,)))[1]
    assert f"N = {result.facts['queries']} queries (means are undefined" in line
    defined = benchmark_table.against_baseline(result, "NDCG(empty=skip)@10", "feature:3")
    assert defined["difference"].notna().all()


def test_every_baseline_has_a_mark_or_is_refused(result):
    view = View(("NDCG@10",), baselines=["feature:1", "feature:2", "feature:3", "random"])
    marks = benchmark_table.marks(result, view)
    assert dict(zip(marks.ranker, marks.marks, strict=True))["ideal"] == "abcd"
    assert r"$^{\mathrm{abcd}}$" in table_text.latex(sections.table(result, view))
    with pytest.raises(UsageError, match="27 baselines, and letters for 26"):
        benchmark_table.marks(result, replace(view, baselines=["random"] * 27))


def test_stored_rankers_cannot_be_seeded_anew():
    with pytest.raises(UsageError, match="stored ranker"):
        benchmark_rows.rows_of(["dlcm#123456"], "small", 2)


def test_a_folder_is_called_by_its_own_name(tmp_path):
    (tmp_path / "folder").mkdir()
    for part in ("train", "vali", "test"):
        text = small_set.LETOR.replace("qid:", f"qid:{part}")
        (tmp_path / "folder" / f"{part}.txt").write_text(text)
    scope = Scope(Store(tmp_path / "store"), str(tmp_path / "folder"), {"initial": ["feature:1"]})
    found = run_to_end(STUDIES["benchmark"](("feature:2",)).study(scope))
    assert found.facts["data"] == "folder"
