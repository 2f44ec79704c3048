"""RankBoost and FRank's additive model: a round is linear in documents, whatever their order."""

from itertools import product
from math import atanh, exp, log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.data.ragged import offsets_of
from shuffleproof.core.data.synthetic import planted
from shuffleproof.core.errors import UsageError
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate, mean_of
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.boosting import fit as boosting
from shuffleproof.core.rankers.boosting.bins import BinnedDocuments, thresholds_of
from shuffleproof.core.rankers.boosting.fit import FRankAdditiveSpec, RankBoostSpec
from shuffleproof.core.rankers.boosting.rounds import GradedLists
from tests.core.rankers.test_tabular import FOLD, changed, fitted, judged, scores_of

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


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), scale=st.sampled_from([0.1, 3.0, 500.0]))
def test_sums_by_document_are_sums_over_pairs(seed, scale):
    draws = np.random.default_rng(seed)
    lengths, levels = draws.integers(1, 8, 5), 4
    grades = draws.integers(0, levels, lengths.sum())
    lists = GradedLists(offsets_of(lengths), grades, draws.random(5), levels)
    scores = np.clip(draws.normal(scale=scale, size=len(grades)), -140, 140)
    boost, slopes, total, loss = np.zeros(len(grades)), np.zeros(len(grades)), 0.0, 0.0
    above = draws.random((len(grades), 3)) < 0.5
    agreement, after, factors = np.zeros((2, 3)), np.zeros(3), draws.normal(size=3)
    for one, weight in enumerate(lists.weights):
        inside = range(lists.offsets[one], lists.offsets[one + 1])
        for i, j in product(inside, inside):
            if grades[i] <= grades[j]:
                continue
            gap = scores[i] - scores[j]
            boost[[i, j]] += weight * exp(-gap) * np.array([1, -1])
            total += weight * exp(-gap)
            p = 1 / (1 + exp(-gap))
            slopes[[i, j]] += weight * 0.5 * sqrt(p) * (1 - p) * np.array([1, -1])
            loss += weight * (1 - sqrt(p))
            for c in range(3):
                said = int(above[i, c]) - int(above[j, c])
                if said:
                    agreement[0 if said > 0 else 1, c] += weight * 0.5 * sqrt(p) * (1 - p)
                after[c] += weight * (1 - sqrt(1 / (1 + exp(-gap - factors[c] * said))))
    potentials, found = lists.exponential(scores)
    assert np.allclose(potentials, boost, rtol=1e-9, atol=1e-9 * max(total, 1e-30))
    assert found == pytest.approx(total, rel=1e-9)
    potentials, found = lists.fidelity(scores)
    assert np.allclose(potentials, slopes, atol=1e-12)
    assert found == pytest.approx(loss, abs=1e-12)
    assert np.allclose(lists.agreement(scores, above), agreement, atol=1e-12)
    assert np.allclose(lists.fidelity_after(scores, above, factors), after, atol=1e-12)


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


def test_the_fidelity_loss_falls_every_round():
    losses = []
    fitted(FRankAdditiveSpec(rounds=40), watch=lambda report: losses.append(report.values["loss"]))
    assert len(losses) == 40
    assert losses[0] < 1 - sqrt(0.5)
    assert (np.diff(losses) < 0).all()


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


@pytest.mark.parametrize("kind", KINDS)
def test_what_teaches_nothing_has_no_rounds(kind, tmp_path):
    flat = changed(FOLD.train, features=np.ones_like(FOLD.train.features))
    ranker = fitted(kind(rounds=5, patience=2), flat)
    assert np.ptp(scores_of(ranker, FOLD.test)) == 0
    ranker.save(tmp_path)
    assert len(registry.load(tmp_path).stumps.columns) == 0
    top = np.zeros((FOLD.train.documents, 1), np.float32)
    ones = JudgedLists(FOLD.train, CandidateLists.ranked_by(FOLD.train, top, depth=1))
    assert len(run_to_end(kind(rounds=5).fit(ones, judged(FOLD.valid))).stumps.columns) == 0


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


def test_presets_and_bounds():
    paper = boosting.spec("rankboost")
    assert (paper.rounds, paper.patience, paper.learning_rate) == (1000, None, 1.0)  # PAPERS.md
    assert paper.pair_weights == "pairs"
    assert boosting.spec("frank-additive").pair_weights == "queries"
    assert boosting.spec("frank-additive", "small", tried="3").tried == 3
    assert boosting.spec("rankboost", "small", patience="none", rounds="7").rounds == 7
    for wrong in ({"rounds": 0}, {"bins": 257}, {"pair_weights": "lists"}, {"tried": "3"}):
        with pytest.raises(UsageError):
            boosting.spec("rankboost", **wrong)


@pytest.mark.parametrize("ranker", ["rankboost", "frank-additive"])
def test_tuned_is_paper_where_it_lost_on_a_set_left_out(ranker):
    assert registry.spec(ranker, "tuned") == registry.spec(ranker, "paper")
    assert "the same recipe as paper" in registry.RANKERS[ranker].how_tuned
