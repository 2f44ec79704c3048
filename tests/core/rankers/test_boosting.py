"""RankBoost and FRank's additive model: a round is linear in documents, whatever their order."""

from itertools import product
from math import atanh, exp, log

import numpy as np
import pytest

from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate, mean_of
from shuffleproof.core.rankers.boosting.bins import BinnedDocuments, thresholds_of
from shuffleproof.core.rankers.boosting.fit import FRankAdditiveSpec, RankBoostSpec
from tests.core.rankers.test_tabular import FOLD, changed, fitted, scores_of
from tests.synthetic import planted

TINY = planted((6, 2, 2), seed=5, documents=7)
KINDS = (RankBoostSpec, FRankAdditiveSpec)


def pairs_of(dataset, by_query):
    """(better row, worse row, weight) of every pair; the weights sum to 1."""
    found = []
    for first, last in zip(dataset.offsets[:-1], dataset.offsets[1:], strict=True):
        rows = product(range(first, last), repeat=2)
        own = [(i, j) for i, j in rows if dataset.labels[i] > dataset.labels[j]]
        found += [(i, j, 1 / len(own) if by_query else 1.0) for i, j in own]
    total = sum(weight for *_, weight in found)
    return [(i, j, weight / total) for i, j, weight in found]


def candidates_of(dataset):
    """(column, threshold, who is above) of every threshold that parts the documents."""
    return [
        (column, threshold, dataset.features[:, column] > threshold)
        for column in range(dataset.features.shape[1])
        for threshold in np.unique(dataset.features[:, column])[:-1]
    ]


def plain_rankboost(dataset, rounds, by_query):
    """RankBoost as printed: one weight a pair, every threshold compared by its sum over pairs."""
    weights = {(i, j): weight for i, j, weight in pairs_of(dataset, by_query)}
    stumps = []
    for _ in range(rounds):
        best = max(
            (
                (sum(w * (above[i].item() - above[j].item()) for (i, j), w in weights.items()), c)
                for c, (_, _, above) in enumerate(candidates_of(dataset))
            ),
            key=lambda found: abs(found[0]),
        )
        r = best[0]
        column, threshold, above = candidates_of(dataset)[best[1]]
        factor = 0.5 * log((1 + r) / (1 - r))
        stumps.append((column, threshold, factor))
        for i, j in weights:
            weights[i, j] *= exp(factor * (above[j].item() - above[i].item()))
        total = sum(weights.values())
        weights = {pair: weight / total for pair, weight in weights.items()}
    return stumps


@pytest.mark.parametrize("by_query", [False, True])
def test_rankboost_is_the_plain_algorithm_over_pairs(by_query):
    spec = RankBoostSpec(rounds=12, pair_weights="queries" if by_query else "pairs")
    assert len(np.unique(TINY.train.labels)) > 2
    stumps = fitted(spec, TINY.train, TINY.valid).stumps
    expected = plain_rankboost(TINY.train, 12, by_query)
    assert stumps.columns.tolist() == [column for column, *_ in expected]
    assert np.array_equal(stumps.thresholds, [threshold for _, threshold, _ in expected])
    assert np.allclose(stumps.factors, [factor for *_, factor in expected], rtol=1e-9)
    assert (stumps.factors < 0).any()  # both directions


def plain_frank(dataset, rounds):
    """FRank over all thresholds: the closed-form factor of each, the least loss is kept."""
    pairs, scores, stumps = pairs_of(dataset, by_query=True), np.zeros(dataset.documents), []

    def loss(after):
        return sum(w * (1 - (1 + exp(after[j] - after[i])) ** -0.5) for i, j, w in pairs)

    for _ in range(rounds):
        tried = []
        for column, threshold, above in candidates_of(dataset):
            sums = {1: 0.0, -1: 0.0, 0: 0.0}
            for i, j, weight in pairs:
                odds = exp(scores[j] - scores[i])
                slope = odds / (1 + odds) ** 1.5 / 2
                sums[int(above[i]) - int(above[j])] += weight * slope
            right, wrong = sums[1], sums[-1]
            r = (
                np.clip((right - wrong) / (right + wrong), 1e-6 - 1, 1 - 1e-6)
                if right + wrong
                else 0
            )
            after = scores + atanh(r) * above
            tried.append((loss(after), column, threshold, atanh(r), after))
        best = min(tried, key=lambda found: found[0])
        scores = best[4]
        stumps.append((best[0], *best[1:4]))
    return stumps


def test_frank_takes_the_threshold_of_least_fidelity_loss():
    spec = FRankAdditiveSpec(rounds=8, tried=100)  # one threshold a feature: all are tried
    halves = changed(TINY.train, TINY.train.features > np.median(TINY.train.features, axis=0))
    reports = []
    stumps = fitted(spec, halves, TINY.valid, reports.append).stumps
    expected = plain_frank(halves, 8)
    assert stumps.columns.tolist() == [column for _, column, *_ in expected]
    assert np.allclose(stumps.factors, [factor for *_, factor in expected], rtol=1e-6)
    losses = [report.values["loss"] for report in reports]
    assert np.allclose(losses, [loss for loss, *_ in expected], rtol=1e-9)


def test_thresholds_are_quantiles_that_occur():
    values = np.repeat(np.arange(10, dtype=np.float32), 10)
    assert thresholds_of(values, 256).tolist() == list(range(9))
    assert thresholds_of(values, 5).tolist() == [1, 3, 5, 7]  # 20 documents a bin
    skewed = np.concatenate([np.zeros(90), np.arange(1, 11)]).astype(np.float32)
    assert thresholds_of(skewed, 4).tolist() == [0]
    assert thresholds_of(np.ones(5, np.float32), 4).tolist() == []
    features = np.array([[np.nan], [-np.inf], [0], [np.inf]], np.float32)
    documents = BinnedDocuments.of(features, 256)
    assert documents.bins.tolist() == [[0, 0, 1, 2]]


def test_a_feature_with_256_bins_keeps_all():
    features = np.arange(1000, dtype=np.float32)[:, None]
    documents = BinnedDocuments.of(features, 256)
    assert len(documents.thresholds[0]) == 255
    assert np.bincount(documents.bins[0]).min() >= 3
    weights = np.zeros(1000)
    weights[0], weights[-1] = -1, 1
    _, sums = documents.strongest(weights)
    assert sums.tolist() == [1.0]


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_the_sums_of_what_was_fitted(kind):
    ranker = fitted(kind(rounds=25))
    stumps, features = ranker.stumps, FOLD.test.features
    expected = sum(
        factor * (features[:, column] > threshold)
        for column, threshold, factor in zip(
            stumps.columns, stumps.thresholds, stumps.factors, strict=True
        )
    )
    assert np.allclose(scores_of(ranker, FOLD.test), expected, atol=1e-6)


def test_a_feature_that_orders_every_pair_ends_the_fit():
    features = FOLD.train.features.copy()
    features[:, 4] = FOLD.train.labels > 0
    graded = changed(FOLD.train, features, np.minimum(FOLD.train.labels, 1))
    stumps = fitted(RankBoostSpec(rounds=50), graded).stumps
    assert stumps.columns.tolist() == [4]
    assert stumps.factors[0] == pytest.approx(atanh(1 - 1e-6))  # |r| is clipped below 1


def test_missing_and_infinite_features_are_survived():
    features = FOLD.train.features.copy()
    features[::3, 0], features[1::3, 1], features[2::3, 2] = np.nan, np.inf, -np.inf
    ranker = fitted(RankBoostSpec(rounds=30), changed(FOLD.train, features))
    assert np.isfinite(scores_of(ranker, FOLD.test)).all()
    holes = changed(FOLD.test, np.full_like(FOLD.test.features, np.nan))
    assert np.ptp(scores_of(ranker, holes)) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_the_best_rounds_on_validation_are_kept(kind):
    reports = []
    ranker = fitted(kind(rounds=300, patience=15), watch=reports.append)
    values = [report.values["valid"] for report in reports]
    best = int(np.argmax(values))
    assert len(ranker.stumps.columns) == best + 1
    assert len(reports) == best + 1 + 15 < 300
    assert [report.done for report in reports] == list(range(1, len(reports) + 1))
    measure = Measure.parse("NDCG@10")
    lists = CandidateLists.all_documents(FOLD.valid)
    ours = evaluate([measure], FOLD.valid, lists, scores_of(ranker, FOLD.valid))
    assert values[best] == pytest.approx(mean_of(measure, ours[0]), abs=1e-9)


def test_a_learning_rate_takes_a_share_of_the_factor():
    whole = fitted(RankBoostSpec(rounds=1)).stumps
    share = fitted(RankBoostSpec(rounds=1, learning_rate=0.25)).stumps
    assert share.factors[0] == pytest.approx(whole.factors[0] / 4)
