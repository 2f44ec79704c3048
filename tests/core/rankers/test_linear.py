"""RankSVM and IR-SVM: all pairs of a query, never materialised, whatever the order of the rows."""

from dataclasses import replace
from itertools import combinations, pairwise, product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.data.ragged import offsets_of
from shuffleproof.core.errors import DataError
from shuffleproof.core.losses.weights import delta_ndcg
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.fit_cache import quality
from shuffleproof.core.rankers.linear import fit as linear
from shuffleproof.core.rankers.linear import weights as linear_weights
from shuffleproof.core.rankers.linear.fit import IRSVMSpec, RankSVMSpec
from shuffleproof.core.rankers.linear.pairs import PairedLists
from tests.core.rankers.test_tabular import FOLD, changed, fitted, judged
from tests.synthetic import planted

SOLVED = linear._conjugate_gradients

KINDS = (RankSVMSpec, IRSVMSpec)


def all_pairs(pairs):
    """(better, worse, weight) of every pair, one by one."""
    for one in range(len(pairs.list_weights)):
        inside = range(pairs.offsets[one], pairs.offsets[one + 1])
        for i, j in product(inside, inside):
            if pairs.grades[i] > pairs.grades[j]:
                weight = pairs.grade_weights[pairs.grades[i], pairs.grades[j]]
                yield i, j, weight * pairs.list_weights[one]


def random_pairs(draws, ties):
    lengths = draws.integers(0, 9, 6)
    grades = draws.integers(0, 4, lengths.sum())
    scores = draws.normal(scale=2, size=lengths.sum())
    if ties:
        scores = np.round(scores)  # ties, and differences of exactly one
    weights = draws.random((4, 4)), draws.random(6)
    return PairedLists(offsets_of(lengths), grades, *weights), scores


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), ties=st.booleans())
def test_loss_gradient_and_curvature_are_those_of_all_pairs(seed, ties):
    draws = np.random.default_rng(seed)
    pairs, scores = random_pairs(draws, ties)
    direction = draws.normal(size=len(scores))
    loss, gradient, curved = 0.0, np.zeros(len(scores)), np.zeros(len(scores))
    for i, j, weight in all_pairs(pairs):
        margin = 1 - (scores[i] - scores[j])
        if margin > 0:
            loss += weight * margin**2
            gradient[[i, j]] += 2 * weight * margin * np.array([-1, 1])
            curved[[i, j]] += 2 * weight * (direction[i] - direction[j]) * np.array([1, -1])
    point = pairs.at(scores)
    assert point.loss == pytest.approx(loss, rel=1e-9, abs=1e-9)
    assert np.allclose(point.gradient, gradient, rtol=1e-9, atol=1e-9)
    assert np.allclose(point.curved(direction), curved, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("cost", [0.001, 0.1, 10.0])
def test_weights_are_those_of_linear_svc_on_explicit_pairs(cost):
    from sklearn.svm import LinearSVC

    spec = RankSVMSpec(cost=cost, cost_of="pair", normalisation="none", tolerance=1e-9)
    train = planted((15, 1, 1), seed=1, documents=12).train
    differences = [
        train.features[i].astype(float) - train.features[j]
        for first, last in zip(train.offsets[:-1], train.offsets[1:], strict=True)
        for i, j in product(range(first, last), repeat=2)
        if train.labels[i] > train.labels[j]
    ]
    signs = np.where(np.arange(len(differences)) % 2, -1.0, 1.0)
    peer = LinearSVC(C=cost, fit_intercept=False, dual=False, tol=1e-10, max_iter=10_000)
    peer.fit(np.array(differences) * signs[:, None], signs)
    theirs = peer.coef_[0]
    ours = fitted(spec, train).weights
    assert np.linalg.norm(ours - theirs) < 1e-4 * np.linalg.norm(theirs)


def test_svmranks_c_is_divided_by_the_number_of_queries():
    whole = RankSVMSpec(cost=20.0, tolerance=1e-9)
    pair = RankSVMSpec(cost=20.0 / 40, cost_of="pair", tolerance=1e-9)
    assert np.allclose(fitted(whole).weights, fitted(pair).weights, rtol=1e-9)
    empty = changed(FOLD.train)
    longer = RankingDataset(
        empty.features, empty.labels, np.append(empty.offsets, empty.documents),
        (*empty.query_ids, "none"), empty.feature_ids,
    )  # fmt: skip
    assert np.array_equal(fitted(whole, longer).weights, fitted(whole).weights)


def dcg(labels, cutoff):
    gains = 2.0 ** np.asarray(labels) - 1
    return sum(gain / np.log2(place + 2) for place, gain in enumerate(gains[:cutoff]))


@pytest.mark.parametrize("cutoff", [1, 3, 10])
def test_grade_weights_are_the_mean_loss_of_every_exchange_in_the_ideal_list(cutoff):
    lists = [[2, 1, 0, 0], [1, 1, 0], [0, 0], [3, 2, 2, 0, 0, 1], [3, 1]]
    lost = {}
    for labels in lists:
        ideal = sorted(labels, reverse=True)
        best, own = dcg(ideal, cutoff), {}
        for one, other in combinations(range(len(ideal)), 2):
            if best > 0 and ideal[one] > ideal[other]:
                swapped = ideal.copy()
                swapped[one], swapped[other] = swapped[other], swapped[one]
                loss = 1 - dcg(swapped, cutoff) / best
                own.setdefault((ideal[one], ideal[other]), []).append(loss)
        for grades, losses in own.items():
            lost.setdefault(grades, []).append(np.mean(losses))
    labels = np.concatenate(lists).astype(np.float32)
    lengths = np.array([len(one) for one in lists])
    counts = linear_weights.grade_counts(labels.astype(np.int64), offsets_of(lengths), 4)
    found = linear_weights.exchange_losses(counts, np.arange(4.0), cutoff)
    for better, worse in product(range(4), repeat=2):
        expected = np.mean(lost.get((better, worse), [0.0]))
        assert found[better, worse] == pytest.approx(expected, abs=1e-12)
    pairs = linear_weights.by_exchange(labels, lengths, 1.0, cutoff)
    unweighed = PairedLists(pairs.offsets, pairs.grades, pairs.grade_weights, np.ones(5))
    assert np.mean([weight for *_, weight in all_pairs(unweighed)]) == pytest.approx(1)
    # largest number of pairs (13, of the fourth list) over the list's own
    assert pairs.list_weights == pytest.approx([13 / 5, 13 / 2, 0, 1, 13])


def test_a_negative_label_gains_nothing_here_as_in_the_measures():
    labels, nothing = np.array([1, 0, -2], np.float32), np.array([1, 0, 0], np.float32)
    counts, levels = np.ones((1, 3)), np.array([-2.0, 0.0, 1.0])
    lost = linear_weights.exchange_losses(counts, levels, 10)
    assert lost[1, 0] == 0  # grade 0 above grade −2: no gain is lost
    scores, mask = torch.tensor([[0.1, 0.3, 0.2]]), torch.ones(1, 3).bool()
    deltas = [delta_ndcg(scores, torch.tensor(one)[None], mask)[0] for one in (labels, nothing)]
    assert torch.allclose(*deltas)
    assert deltas[0][1, 2] == 0


def test_labels_of_any_numbers_are_grades():
    usual = fitted(IRSVMSpec()).weights
    below = fitted(IRSVMSpec(), changed(FOLD.train, labels=1000 * FOLD.train.labels)).weights
    assert np.isfinite(below).all()
    halves = fitted(RankSVMSpec(), changed(FOLD.train, labels=FOLD.train.labels / 2 - 1)).weights
    assert np.allclose(halves, fitted(RankSVMSpec()).weights, rtol=1e-3, atol=1e-6)
    assert not np.array_equal(usual, below)


@pytest.mark.parametrize("kind", KINDS)
def test_lists_of_one_document_teach_nothing(kind):
    single = FOLD.train.offsets[:-1]
    ones = CandidateLists.all_documents(FOLD.train)
    top = np.zeros((FOLD.train.documents, 1), np.float32)
    ones = CandidateLists.ranked_by(FOLD.train, top, depth=1)
    assert len(ones.rows) == len(single)
    ranker = run_to_end(kind().fit(JudgedLists(FOLD.train, ones), judged(FOLD.valid)))
    assert not ranker.weights.any()


def test_wild_features_are_survived():
    features = FOLD.train.features.copy()
    features[0, 0], features[1, 1], features[2, 2] = 3e38, np.nan, -np.inf
    ranker = fitted(RankSVMSpec(), changed(FOLD.train, features=features))
    assert np.isfinite(ranker.weights).all()


def test_the_best_c_on_validation_is_kept():
    spec = RankSVMSpec(cost=100.0, tried=4)
    values = [
        quality(fitted(RankSVMSpec(cost=cost)), judged(FOLD.valid))["NDCG@10"]
        for cost in (100.0, 10.0, 1.0, 0.1)
    ]
    found = quality(fitted(spec), judged(FOLD.valid))["NDCG@10"]
    assert found == pytest.approx(max(values), abs=2e-3)  # from other first weights
    nothing = FOLD.valid.select(np.zeros(0, np.int64))
    with pytest.raises(DataError, match="validation"):
        fitted(spec, valid=nothing)
    assert np.array_equal(
        fitted(RankSVMSpec(), valid=nothing).weights, fitted(RankSVMSpec()).weights
    )


def test_every_step_lowers_the_objective():
    reports = []
    run_to_end(
        IRSVMSpec(tolerance=1e-9).fit(judged(FOLD.train), judged(FOLD.valid)), reports.append
    )
    objectives = [report.values["loss"] for report in reports]
    assert all(later <= before for before, later in pairwise(objectives))
    assert [report.done for report in reports] == list(range(1, len(reports) + 1))
    assert reports[-1].values["gradient"] <= 1e-6 * reports[0].values["gradient"]


def test_no_newton_step_is_computed_to_be_thrown_away_and_running_out_is_said(
    monkeypatch, tmp_path
):
    solved = []
    monkeypatch.setattr(
        linear, "_conjugate_gradients", lambda *one: solved.append(0) or SOLVED(*one)
    )
    few = RankSVMSpec(steps=2, tolerance=1e-9)
    reports = []
    ranker = run_to_end(few.fit(judged(FOLD.train), judged(FOLD.valid)), reports.append)
    assert len(solved) == 2
    assert [report.unit for report in reports] == ["steps", "steps", linear.UNFINISHED]
    assert "ranksvm stopped after 2 Newton steps" in ranker.warning
    ranker.save(tmp_path)
    assert registry.load(tmp_path).warning == ranker.warning
    whole = run_to_end(replace(few, steps=30).fit(judged(FOLD.train), judged(FOLD.valid)))
    assert whole.finished
    assert whole.warning == ""


def test_too_many_different_labels_are_refused():
    draws = np.random.default_rng(0)
    many = RankingDataset(
        np.zeros((2000, 1), np.float32),
        draws.permutation(2000).astype(np.float32),
        np.array([0, 2000]),
        ("q",),
        (1,),
    )
    with pytest.raises(DataError, match="2000 different labels"):
        fitted(RankSVMSpec(), many)
