"""What every ranker that learns from rows of features keeps, on one planted set."""

import numpy as np
import pytest

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.data.ragged import order_within
from shuffleproof.core.errors import DataError, ShapeError, UnknownNameError
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate
from shuffleproof.core.metrics.significance import t_interval
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers import registry, univariate
from shuffleproof.core.rankers.fit_cache import quality
from tests import loading, places
from tests.synthetic import planted

FOLD = planted((40, 15, 5), seed=3, documents=25)
MQ2008 = places.DATA / "mq2008"
TREES = {"trees": 12, "leaves": 6, "leaf_documents": 5}
QUICK = {
    "lambdamart": TREES, "mart": TREES, "ranksvm": {}, "irsvm": {},
    "rankboost": {"rounds": 30}, "frank-additive": {"rounds": 30},
}  # fmt: skip
SELECTING = {
    "lambdamart": {"patience": 3, "feature_share": 0.5}, "mart": {"patience": 3},
    "ranksvm": {"tried": 2, "normalisation": "quantile"}, "irsvm": {"tried": 2},
    "rankboost": {"patience": 10, "bins": 64}, "frank-additive": {"patience": 10},
}  # fmt: skip


def judged(dataset):
    return JudgedLists(dataset, CandidateLists.all_documents(dataset))


def fitted(spec, train=FOLD.train, valid=FOLD.valid, watch=None):
    return run_to_end(spec.fit(judged(train), judged(valid)), watch)


def quick(name, *parts, **changes):
    return fitted(registry.spec(name, "paper", **QUICK[name] | changes), *parts)


def scores_of(ranker, dataset):
    return ranker.score(dataset, CandidateLists.all_documents(dataset))


def changed(dataset, features=None, labels=None):
    return RankingDataset(
        np.array(dataset.features if features is None else features, np.float32),
        np.array(dataset.labels if labels is None else labels, np.float32),
        dataset.offsets.copy(),
        dataset.query_ids,
        dataset.feature_ids,
    )


def reordered(dataset, seed):
    """The data set with its queries, and the rows of each, in another order."""
    draws = np.random.default_rng(seed)
    moved = dataset.select(draws.permutation(dataset.queries))
    rows = order_within(moved.offsets, draws.random(moved.documents))
    return changed(moved, moved.features[rows], moved.labels[rows])


def ndcg_at_10(ranker, dataset):
    """NDCG@10 of every query, over all its documents."""
    lists = judged(dataset).lists
    scores = ranker.score(dataset, lists)
    return evaluate([Measure.parse("NDCG@10")], dataset, lists, scores)[0].astype(np.float64)


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_order_of_the_file_changes_no_score(name, seed):
    usual = quick(name, **SELECTING[name])
    other = quick(name, reordered(FOLD.train, seed), reordered(FOLD.valid, seed), **SELECTING[name])
    np.testing.assert_array_equal(scores_of(other, FOLD.test), scores_of(usual, FOLD.test))


@pytest.mark.parametrize("name", QUICK)
def test_what_teaches_nothing_gives_equal_scores(name):
    zeros = np.zeros(FOLD.train.documents)
    for part in (
        changed(FOLD.train, labels=zeros),
        changed(FOLD.train, labels=zeros + 2),
        changed(FOLD.train, features=np.ones_like(FOLD.train.features)),
    ):
        assert np.ptp(scores_of(quick(name, part), FOLD.test)) == 0


@pytest.mark.parametrize("name", QUICK)
def test_what_cannot_be_fitted_or_scored_is_explained(name):
    with pytest.raises(DataError, match="no documents"):
        quick(name, FOLD.train.select(np.zeros(0, np.int64)))
    narrow = RankingDataset(
        np.zeros((2, 1), np.float32), np.zeros(2, np.float32), np.array([0, 2]), ("q",), (1,)
    )
    with pytest.raises(ShapeError, match="features"):
        scores_of(quick(name), narrow)
    with pytest.raises(UnknownNameError, match="paper"):
        registry.spec(name, "best")


@pytest.mark.skipif(not MQ2008.is_dir(), reason="real data: ../shared/data/mq2008 is absent")
@pytest.mark.parametrize("name", ["ranksvm", "irsvm", "rankboost", "frank-additive"])
def test_mq2008_holds_beside_the_single_feature_that_was_best_in_training(name):
    files = [MQ2008 / f"S{part}.txt.gz" for part in (1, 2, 3, 4)]
    fold = loading.load_files(files[:2], files[2:3], files[3:])
    few_bins = {"rounds": 150, "bins": 8, "pair_weights": "queries", "learning_rate": 0.3}
    svm = name.endswith("svm")
    spec = registry.spec(name, "tuned") if svm else registry.spec(name, "paper", **few_bins)
    ranker, train = fitted(spec, fold.train, fold.valid), judged(fold.train)
    singles = [univariate.FeatureRanker(feature) for feature in fold.train.feature_ids]
    best = max(singles, key=lambda one: quality(one, train)["NDCG@10"])
    ours, single = (ndcg_at_10(one, fold.valid) for one in (ranker, best))
    assert t_interval(ours - single)[1] > 0, "nothing was picked on these queries"
    chance = ndcg_at_10(univariate.RandomRanker(0), fold.valid)
    assert t_interval(ours - chance)[0] > 0
