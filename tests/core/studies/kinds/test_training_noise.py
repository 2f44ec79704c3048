"""Training noise: what is shuffled changes training alone, spreads follow from the values."""

import json

import numpy as np
import pytest
from scipy.stats import chi2

from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import UsageError
from shuffleproof.core.perturb.system import columns_reordered, reordered
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.kinds.training_noise.question import TrainingNoise
from shuffleproof.core.studies.kinds.training_noise.sections import (
    answer,
    differences,
    headline,
    points,
    spreads,
)
from shuffleproof.core.studies.question import Scope
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import View
from shuffleproof.core.studies.workbench import Workbench
from tests.synthetic import planted

pytestmark = pytest.mark.filterwarnings("ignore")  # the libraries' own

REPEATS = 3
BAGGED = {
    "num_iterations": 10, "num_leaves": 4, "bagging_fraction": 0.5, "bagging_freq": 1,
    "feature_fraction": 0.5,
}  # fmt: skip


@pytest.fixture(scope="module")
def workbench(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("noise"))
    lists = ListRecipe(("feature:3",), 15, "in-sample")
    return run_to_end(Workbench.open("sample", lists, store, "small"))


@pytest.fixture(scope="module")
def labels(tmp_path_factory):
    file = tmp_path_factory.mktemp("files") / "bagged.json"
    file.write_text(json.dumps(BAGGED))
    return ("lambdamart", f"lightgbm-config:{file}", "feature:2")


@pytest.fixture(scope="module")
def result(workbench, labels):
    question = TrainingNoise(labels, REPEATS, ("NDCG@10", "RR"))
    return StudyResult.open(run_to_end(question.run(workbench)).path)


@pytest.fixture(scope="module")
def frame(result):
    return spreads(result, ["NDCG@10", "RR"])


def test_rows_are_spreads_of_the_trainings(result, frame, labels):
    for row in frame.itertuples():
        values = result.draws(row.ranker, row.source, 0.0, row.measure).mean(axis=1)
        assert row.n == len(values) == REPEATS
        assert row.mean == pytest.approx(values.mean(), abs=1e-6)
        assert row.sd == pytest.approx(np.std(values, ddof=1), abs=1e-6)
        assert row.range == pytest.approx(values.max() - values.min(), abs=1e-6)
    bagged = frame[frame["ranker"] == labels[1]]
    assert set(bagged["source"]) == {"rows", "queries", "columns", "seeds"}
    assert (bagged["sd"] > 0).all()
    assert bagged["changed"].between(0.001, 0.9).all()


def test_a_canonical_row_order_is_really_trained_and_gives_exactly_0(result, frame, labels):
    trees = frame[(frame["ranker"] == labels[0]) & frame["source"].isin(("rows", "queries"))]
    assert len(trees) == 4
    assert not trees[["sd", "range", "changed"]].to_numpy().any()
    usual = result.draws(labels[0], "as trained", 0.0, "RR")
    assert np.array_equal(result.draws(labels[0], "rows", 0.0, "RR"), np.tile(usual, (REPEATS, 1)))


def test_what_learns_nothing_changes_by_nothing_and_has_no_seed(frame, labels):
    feature = frame[frame["ranker"] == labels[2]]
    assert set(feature["source"]) == {"rows", "queries", "columns"}
    assert not feature[["sd", "range", "changed"]].to_numpy().any()


def test_interval_and_differences_follow_from_sd(frame):
    row = frame[frame["sd"] > 0].iloc[0]
    assert row["low"] == pytest.approx(row["sd"] * np.sqrt(2 / chi2.ppf(0.975, 2)))
    assert row["high"] == pytest.approx(row["sd"] * np.sqrt(2 / chi2.ppf(0.025, 2)))
    pairs = differences(frame)
    one = frame.set_index(["ranker", "source", "measure"])
    for pair in pairs.itertuples():
        a, b = (one.loc[name, pair.source, pair.measure] for name in (pair.ranker, pair.other))
        assert pair.difference == pytest.approx(a["mean"] - b["mean"])
        assert pair.spread == pytest.approx(np.sqrt(a["sd"] ** 2 + b["sd"] ** 2))


def test_the_headline_names_spread_range_and_number(result, frame):
    told = headline(result, View()).text
    rows = frame[(frame["source"] == "rows") & (frame["measure"] == "NDCG@10")]
    worst = rows.loc[rows["sd"].idxmax()]
    assert f"sd {worst['sd']:.4f} (range {worst['range']:.4f}, 3 trainings)" in told
    assert "times the spread" in told
    alone = headline(result, View(rankers=("feature:2",))).text
    assert alone.startswith("No order of rows")


def test_json_has_a_row_of_every_source_and_the_same_again_is_found(result, workbench, labels):
    told = answer(result, View())
    names = {"ranker", "source", "measure", "mean", "sd", "low", "high", "range", "changed", "n"}
    assert all(set(row) == names for row in told["rows"])
    again = run_to_end(TrainingNoise(labels, REPEATS, ("NDCG@10", "RR")).run(workbench))
    assert StudyResult.open(again.path).recipe == result.recipe
    assert set(points(result, "RR")["source"]) >= {"as trained", "rows", "seeds"}


def test_sources_change_what_they_say_and_nothing_else():
    data = planted((5, 1, 1), seed=3, documents=8).train
    judged = JudgedLists(data, CandidateLists.all_documents(data))
    rows = reordered(judged, generator(0, "a"), queries_move=False).dataset
    queries = reordered(judged, generator(0, "a"), rows_move=False).dataset
    assert rows.query_ids == data.query_ids
    assert queries.query_ids != data.query_ids
    assert not np.array_equal(rows.features, data.features)
    for at, query in enumerate(queries.query_ids):
        before = data.query_ids.index(query)
        of_query = [one.features[one.offsets[place] : one.offsets[place + 1]]
                    for one, place in ((queries, at), (data, before))]  # fmt: skip
        assert np.array_equal(*of_query)
    order = np.arange(len(data.feature_ids))[::-1]
    columns = columns_reordered(judged, order).dataset
    assert columns.fingerprint != data.fingerprint
    for feature in data.feature_ids:
        assert np.array_equal(columns.feature(feature), data.feature(feature))


@pytest.mark.parametrize("name", ["lightgbm:model.txt", "rrf:mart+dlcm", "mart#0123ab"])
def test_what_has_no_recipe_is_refused(name, tmp_path):
    with pytest.raises(UsageError, match=r"cannot be trained again.*lightgbm-config:FILE"):
        TrainingNoise((name,)).refuse(Scope(Store(tmp_path)))
