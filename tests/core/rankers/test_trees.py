"""LambdaMART and MART: LightGBM's model, whatever the order of the rows."""

import tempfile
from dataclasses import replace

import numpy as np
import pytest

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.errors import DataError, ParameterError
from shuffleproof.core.execution import machine
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate, mean_of
from shuffleproof.core.rankers import canonical
from shuffleproof.core.rankers.boosting import trees
from shuffleproof.core.rankers.boosting.trees import LambdaMARTSpec, MARTSpec
from shuffleproof.core.rankers.canonical import CanonicalLists, Grades
from tests.core.rankers.test_tabular import FOLD, changed, judged, scores_of

QUICK = {"trees": 12, "leaves": 6, "leaf_documents": 5}
KINDS = (LambdaMARTSpec, MARTSpec)


def fitted(spec, train=FOLD.train, valid=FOLD.valid):
    reports, fitting = [], spec.fit(judged(train), judged(valid))
    while True:
        try:
            reports.append(next(fitting))
        except StopIteration as finished:
            return finished.value, reports


def test_a_large_copy_of_training_rows_lies_in_a_file_and_is_the_same(monkeypatch, tmp_path):
    """So that memory holds what is learnt from once: more of it than there is memory."""
    usual = CanonicalLists.of(judged(FOLD.train))
    model = fitted(LambdaMARTSpec(**QUICK, patience=5))[0].text
    monkeypatch.setattr(canonical, "LARGE", 0)
    monkeypatch.setattr(canonical, "AT_ONCE", 7)
    files, make = [], tempfile.TemporaryFile
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda: files.append(1) or make(dir=tmp_path))
    large = CanonicalLists.of(judged(FOLD.train))
    assert files, "no file was made"
    assert np.array_equal(large.features, usual.features)
    assert list(tmp_path.iterdir()) == [], "it has no name, and ends with its use"
    assert fitted(LambdaMARTSpec(**QUICK, patience=5))[0].text == model


def test_documents_that_differ_in_the_label_alone_have_one_order():
    features = np.zeros((6, 2), np.float32)
    labels = np.array([0, 1, 2, 0, 1, 2], np.float32)
    for order in ([0, 1, 2, 3, 4, 5], [4, 2, 0, 5, 3, 1]):
        data = RankingDataset(features, labels[order], np.array([0, 0, 6]), ("e", "q"), (1, 2))
        found = CanonicalLists.of(judged(data))
        first = found.labels if order[0] == 0 else first
        assert np.array_equal(found.labels, first)
        assert found.lengths.tolist() == [6]


@pytest.mark.parametrize("kind", KINDS)
def test_the_model_is_lightgbms_own(kind):
    import lightgbm

    spec = kind(**QUICK, truncation=10, l2=1.5, bins=63)
    ranker, _ = fitted(spec)
    ours = CanonicalLists.of(judged(FOLD.train))
    settings = {
        "objective": kind.objective, "num_leaves": 6, "min_data_in_leaf": 5, "lambda_l2": 1.5,
        "learning_rate": 0.1, "lambdarank_truncation_level": 10, "max_bin": 63, "verbosity": -1,
        "deterministic": True, "force_row_wise": True, "num_threads": 1,
    }  # fmt: skip
    data = lightgbm.Dataset(ours.features, ours.labels, group=ours.lengths)
    peer = lightgbm.train(settings, data, 12)
    assert np.allclose(scores_of(ranker, FOLD.test), peer.predict(FOLD.test.features), atol=1e-6)


def test_the_number_of_threads_changes_nothing(monkeypatch):
    one, _ = fitted(LambdaMARTSpec(**QUICK))
    monkeypatch.setattr(trees, "SINGLE_THREAD", 0)
    many, _ = fitted(LambdaMARTSpec(**QUICK))
    assert "[num_threads: 1]" in one.text
    assert many.text == one.text.replace("[num_threads: 1]", "[num_threads: 0]")


def test_the_best_trees_on_validation_are_kept():
    spec = LambdaMARTSpec(trees=200, leaves=8, leaf_documents=5, learning_rate=0.3, patience=15)
    ranker, reports = fitted(spec)
    values = [report.values["valid"] for report in reports]
    best = int(np.argmax(values))
    assert ranker.trees == best + 1
    assert len(reports) == best + 1 + 15 < 200
    assert [report.done for report in reports] == list(range(1, len(reports) + 1))
    measure = Measure.parse("NDCG@10")
    lists = CandidateLists.all_documents(FOLD.valid)
    ours = evaluate([measure], FOLD.valid, lists, scores_of(ranker, FOLD.valid))
    assert values[best] == pytest.approx(mean_of(measure, ours[0]), abs=0.003)  # ties apart


def test_the_first_trees_do_not_count_where_that_is_asked_for():
    spec = LambdaMARTSpec(trees=200, leaves=8, leaf_documents=5, learning_rate=0.3, patience=15)
    early, reports = fitted(spec)
    least = early.trees + 20  # the early best is past
    later, more = fitted(replace(spec, least_trees=least))
    values = [report.values["valid"] for report in more]
    assert values[: len(reports)] == [report.values["valid"] for report in reports]
    best = least - 1 + int(np.argmax(values[least - 1 :]))
    assert later.trees == best + 1
    assert len(more) == min(200, best + 1 + 15)
    assert fitted(replace(spec, least_trees=early.trees))[0].trees == early.trees
    never, all_reports = fitted(replace(spec, trees=10, least_trees=11))
    assert never.trees == len(all_reports) == 10


def test_a_field_that_came_later_changes_no_older_key():
    assert "least_trees" not in LambdaMARTSpec.preset("paper").recipe()
    tuned = LambdaMARTSpec.preset("tuned").recipe()
    assert tuned["least_trees"] == 100
    assert spec_of_recipe(tuned) == LambdaMARTSpec.preset("tuned")


def spec_of_recipe(recipe):
    return LambdaMARTSpec(**{name: value for name, value in recipe.items() if name != "name"})


def test_without_patience_validation_is_not_read():
    ranker, reports = fitted(LambdaMARTSpec(**QUICK))
    nothing = FOLD.valid.select(np.zeros(0, np.int64))
    same, _ = fitted(LambdaMARTSpec(**QUICK), valid=nothing)
    assert same.text == ranker.text
    assert ranker.trees == len(reports) == 12
    stopped, _ = fitted(LambdaMARTSpec(**QUICK, patience=2), valid=nothing)
    assert stopped.trees == 12


@pytest.mark.parametrize(
    "change", [lambda y: 25 * y, lambda y: y / 4, lambda y: y - 1, lambda y: 3000 * y]
)
def test_labels_outside_lightgbms_table_are_learnt(change):
    train = changed(FOLD.train, labels=change(FOLD.train.labels))
    valid = changed(FOLD.valid, labels=change(FOLD.valid.labels))
    for kind in KINDS:
        ranker, _ = fitted(kind(**QUICK, patience=5), train, valid)
        measure = Measure.parse("NDCG@10")
        lists = CandidateLists.all_documents(FOLD.train)
        usual, _ = fitted(kind(**QUICK, patience=5))
        found, expected = (
            mean_of(measure, evaluate([measure], FOLD.train, lists, scores_of(r, FOLD.train))[0])
            for r in (ranker, usual)
        )
        chance = evaluate([measure], FOLD.train, lists, np.zeros(len(lists.rows), np.float32))
        assert found > (mean_of(measure, chance[0]) + expected) / 2


def test_grades_and_gains():
    usual = Grades.of(np.array([0, 4, 30], np.float32))
    assert usual.gains() is None
    assert usual.grade(np.array([4, 30], np.float32)).tolist() == [4, 30]
    odd = Grades.of(np.array([-1, 0.5], np.float32), np.array([2, 32], np.float32))
    assert odd.grade(np.array([2, -1, 32], np.float32)).tolist() == [2, 0, 3]
    # 2^y − 1 over 2^(32 − 30), 0 for a label below 0
    assert odd.gains() == pytest.approx([0, (2**0.5 - 1) / 4, 3 / 4, (2**32 - 1) / 4])


def test_long_queries_are_refused():
    long = RankingDataset(
        np.zeros((10_001, 1), np.float32),
        np.zeros(10_001, np.float32),
        np.array([0, 10_001]),
        ("q7",),
        (1,),
    )
    with pytest.raises(DataError, match=r"q7.*10001 documents"):
        fitted(LambdaMARTSpec(**QUICK), long)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"leaves": 1}, r"LightGBM takes no leaves=1\. Choose another .*LightGBM says"),
        ({"leaves": 200_000}, r"no leaves=200000\. .*says: '\(num_leaves\) <= \(131072\)'\."),
        ({"bins": 1}, "no bins=1"),
        ({"l2": float("nan")}, "no l2=nan"),
        ({"objective": "other"}, r"cannot learn from this\. Look .*Unknown objective"),
    ],
)  # fmt: skip
def test_what_lightgbm_refuses_is_told_by_the_field_of_the_recipe(change, words):
    spec = LambdaMARTSpec(**QUICK)
    for name, value in change.items():
        object.__setattr__(spec, name, value)  # past our own bounds, as other versions' may be
    with pytest.raises(DataError, match=f"^lambdamart: .*{words}"):
        fitted(spec)


def test_what_lightgbm_would_read_as_another_number_is_refused():
    for name in ("leaf_documents", "truncation"):
        with pytest.raises(ParameterError, match="between 1 and"):
            LambdaMARTSpec(**{name: 2**32 + 1})


def test_a_slot_has_the_threads_of_its_environment_and_no_more_than_its_cores(monkeypatch):
    monkeypatch.setattr(machine, "cores", lambda: 4)
    for told, allowed in (("2", 2), ("64", 4), ("0", 4), ("-1", 4), ("", 4), ("many", 4)):
        monkeypatch.setenv("OMP_NUM_THREADS", told)
        assert machine.threads_allowed() == allowed
