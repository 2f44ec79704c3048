"""Weights on request against the fast path and torch, measures against hand formulas and scipy."""

import math
from typing import get_args

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import entropy as scipy_entropy

from shuffleproof.core.data.features import fit as fit_normalisation
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import UnknownNameError, UsageError
from shuffleproof.core.models import attend
from shuffleproof.core.rankers.attention import kinds as attention_kinds
from shuffleproof.core.rankers.attention import measures
from shuffleproof.core.rankers.attention import order as attention_order
from shuffleproof.core.rankers.attention.maps import by_document, gate_paths, record_maps
from shuffleproof.core.rankers.attention.summary import _head_measures
from shuffleproof.core.rankers.neural.ranker import NeuralRanker
from shuffleproof.core.rankers.neural.recipes import FIXED, NeuralSpec
from tests import synthetic

FOLD = synthetic.planted(queries=(4, 2, 3), seed=5)
NAMES = (
    "setrank-msab", "setrank-imsab", "setrank-msab-init", "setrank-imsab-init", "dlcm",
    "dlcm-without-init",
)  # fmt: skip
SETS = [name for name in NAMES if name.startswith("setrank")]


def ranker_of(name, **changes):
    spec = NeuralSpec.preset(name, "small", **changes)
    normalisation = fit_normalisation(spec.training.normalisation, FOLD.train)
    ranker = NeuralRanker.untrained(spec, normalisation, FOLD.train.feature_ids, "cpu")
    with torch.no_grad():  # first weights are so small that every map would be flat
        for parameter in ranker.network.parameters():
            if parameter.dim() > 1:
                parameter.mul_(3)
    return ranker


def one_list(query=0):
    test = FOLD.test
    scores = test.feature(3)[:, None].astype(np.float32)
    return JudgedLists(test, CandidateLists.ranked_by(test, scores).select(np.array([query])))


def shuffled(judged, seed=1):
    order = np.random.default_rng(seed).permutation(len(judged.lists.rows))
    return JudgedLists(judged.dataset, judged.lists.shown_as(order)), order


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("threshold", [1, 10**9])
def test_recorded_scores_are_those_of_the_fast_path(monkeypatch, name, threshold):
    monkeypatch.setattr(attend, "FUSED_FROM", threshold)  # torch's fused attention, or ours
    ranker, judged = ranker_of(name), one_list()
    record = record_maps(ranker, judged)
    fast = ranker.score(judged.dataset, judged.lists)
    np.testing.assert_allclose(record.scores, fast, atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize("name", SETS)
def test_the_output_follows_from_the_recorded_weights(name):
    """Every block again by hand: weights times values, residual, norm, feed-forward."""
    ranker, judged = ranker_of(name), one_list()
    record, network = record_maps(ranker, judged), ranker.network
    batch = ranker._held_lists(judged.dataset, judged.lists, "cpu").batch(np.array([0]))
    with torch.inference_mode():
        x = network.embed(batch.features)
        ordinal = network.ordinals(batch.ranks, batch.tied)
        x = x if ordinal is None else x + ordinal
        for at, block in enumerate(network.blocks):
            if network.config.block == "msab":
                x = again(block.block, x, x, record.block("documents", at))
                continue
            centres = again(block.gather, block.points[None], x, record.block("gather", at))
            x = again(block.spread, x, centres, record.block("spread", at))
        scores = network.output(x)[0, :, 0].numpy()
    np.testing.assert_allclose(record.scores, scores, atol=2e-5, rtol=1e-5)


def again(block, queries, keys, weights):
    module = block.attention
    width = module.weight.shape[1]
    value = torch.nn.functional.linear(keys, module.weight[2 * width :])
    value = value.view(1, keys.shape[1], module.heads, -1).transpose(1, 2)
    gathered = (torch.from_numpy(weights.copy())[None] @ value).transpose(1, 2).flatten(2)
    normed = block.norm(queries + gathered)
    return normed if block.feed_forward is None else block.feed_forward(normed)


@pytest.mark.parametrize("name", NAMES)
def test_rows_are_distributions_where_they_should_be(name):
    record = record_maps(ranker_of(name), one_list())
    for kind, _, weights in record.network_maps():
        assert np.isfinite(weights).all()
        if kind in {"documents", "gather", "spread"}:
            np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
        if kind in {"paths", "update", "reset"}:
            assert (weights >= 0).all()
            assert (weights <= 1).all()


@pytest.mark.parametrize("name", SETS)
def test_after_re_indexing_another_order_shown_changes_nothing(name):
    ranker, judged = ranker_of(name), one_list()
    other, order = shuffled(judged)
    before, after = record_maps(ranker, judged), by_document(record_maps(ranker, other), order)
    for (kind, block, left), (_, _, right) in zip(
        before.network_maps(), after.network_maps(), strict=True
    ):
        assert attention_order.largest_change(left, right) < 1e-5, (kind, block)
    np.testing.assert_allclose(before.scores, after.scores, atol=1e-4)


def test_dlcm_changes_with_the_order_shown_and_setrank_with_ordinals_with_the_ranking():
    judged = one_list()
    ranker = ranker_of("dlcm")
    other, order = shuffled(judged)
    before, after = record_maps(ranker, judged), by_document(record_maps(ranker, other), order)
    assert attention_order.largest_change(before.map_of("paths"), after.map_of("paths")) > 0.05
    reversed_prior = judged.lists.reranked(-judged.lists.prior)
    places = {row: at for at, row in enumerate(judged.lists.rows.tolist())}
    order = np.array([places[row] for row in reversed_prior.rows.tolist()])
    for name, least, most in (("setrank-msab", 0, 1e-5), ("setrank-msab-init", 1e-4, 1)):
        ranker = ranker_of(name)
        changed = record_maps(ranker, JudgedLists(judged.dataset, reversed_prior))
        left = record_maps(ranker, judged).block("documents", 0)
        change = attention_order.largest_change(
            left, by_document(changed, order).block("documents", 0)
        )
        assert least <= change <= most, name


@pytest.mark.parametrize("changes", [{}, {"two_directions": True}, {"direction": "highest-first"}])
@pytest.mark.parametrize("reset", ["before", "after"])
def test_what_each_document_wrote_into_the_state_is_a_tanh(changes, reset):
    """n of h = (1 − z) h' + z n in every unit, with z as recorded."""
    ranker = ranker_of("dlcm", reset=reset, **changes)
    judged, network = one_list(), ranker.network
    batch = ranker._held_lists(judged.dataset, judged.lists, "cpu").batch(np.array([0]))
    record = record_maps(ranker, judged)
    with torch.inference_mode():
        parts = network.embed(batch.features).chunk(len(network.recurrences), -1)
        for at, (walk, part) in enumerate(zip(network.recurrences, parts, strict=True)):
            states = walk(part, None)[0][0]
            zero = torch.zeros_like(states[:1])
            back = walk.backwards
            before = torch.cat((states[1:], zero)) if back else torch.cat((zero, states[:-1]))
            update = torch.from_numpy(record.map_of("update", at))
            wrote = (states - (1 - update) * before) / update  # n = (h − z h') / (1 − z)
            assert wrote.abs().max() <= 1 + 1e-3, "a tanh"


def test_paths_of_gates_by_the_product_formula():
    generator = torch.Generator().manual_seed(3)
    enters, keeps = torch.rand(2, 5, 4, generator=generator)
    forwards = gate_paths(enters, keeps, backwards=False)
    for row in range(5):
        for column in range(5):
            due = torch.zeros(())
            if column <= row:
                due = (enters[column] * keeps[column + 1 : row + 1].prod(0)).mean()
            assert forwards[row, column] == pytest.approx(float(due), abs=1e-6)
    turned = gate_paths(enters.flip(0), keeps.flip(0), backwards=True)
    torch.testing.assert_close(turned.flip(0, 1), forwards)


@pytest.mark.parametrize("context", ["multiply", "add"])
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_parts_of_phi_sum_to_the_score(context, cell):
    ranker, judged = ranker_of("dlcm", context=context, cell=cell), one_list()
    record = record_maps(ranker, judged)
    fast = ranker.score(judged.dataset, judged.lists)
    np.testing.assert_allclose(record.map_of("phi").sum(-1), fast, atol=1e-5, rtol=1e-4)
    assert ("forget" in record.kinds) == (cell == "lstm")


@pytest.mark.parametrize("name", sorted(FIXED))
def test_what_attends_can_be_recorded_and_nothing_else(name):
    if name == "setrank-imsab-multi-init":
        pytest.skip("the lists here have one initial ranking")
    ranker, judged = ranker_of(name), one_list()
    if attention_kinds.attends(name):
        record = record_maps(ranker, judged)
        assert record.kinds
        with pytest.raises(UnknownNameError):
            record.map_of("forget")
    else:
        with pytest.raises(UsageError, match="choose a SetRank or a DLCM"):
            record_maps(ranker, judged)


@pytest.mark.parametrize("name", NAMES)
def test_lists_of_one_document(name):
    ranker, judged = ranker_of(name), one_list()
    single = CandidateLists(
        np.array([0, 1]), judged.lists.queries, judged.lists.rows[:1].copy(),
        np.zeros((1, 1), np.int32), judged.lists.prior[:1].copy(),
    )  # fmt: skip
    record = record_maps(ranker, JudgedLists(judged.dataset, single))
    assert record.map_of(record.kinds[0]).shape[0] == 1
    np.testing.assert_allclose(measures.entropy(record.map_of(record.kinds[0])), 0, atol=1e-6)


rows = arrays(np.float64, (2, 3, 5), elements=st.floats(0.0, 1.0)).filter(
    lambda found: (found.sum(-1) > 1e-3).all()
)


@given(rows)
def test_measures_against_scipy_and_their_bounds(weights):
    np.testing.assert_allclose(
        measures.entropy(weights), scipy_entropy(weights, axis=-1), atol=1e-9
    )
    neighbours = np.exp(measures.entropy(weights))
    assert (neighbours >= 1 - 1e-9).all()
    assert (neighbours <= 5 + 1e-9).all()


def test_equal_weights_put_on_relevant_documents_what_chance_puts():
    labels = np.array([0.0, 1.0, 2.0, 0.0, 3.0])
    equal = np.full((2, 4, 5), 0.2)
    np.testing.assert_allclose(measures.relevant_mass(equal, labels), 0.6)
    assert measures.relevant_chance(labels) == 0.6
    assert math.isnan(measures.relevant_chance(labels[:0]))


def test_rollout_by_hand():
    first, last = np.array([[0.5, 0.5], [0.0, 1.0]]), np.array([[1.0, 0.0], [0.5, 0.5]])
    identity = np.eye(2)
    due = ((last + identity) / 2) @ ((first + identity) / 2)
    np.testing.assert_allclose(measures.rollout([first, last]), due)
    np.testing.assert_allclose(measures.rollout([first, last], residual=0.0), last @ first)


@given(st.permutations(range(6)))
def test_re_indexing_undoes_the_order_shown(order):
    by_docs = np.arange(36.0).reshape(6, 6)
    order = np.array(order)
    shown, place = by_docs[np.ix_(order, order)], np.argsort(order)
    assert np.array_equal(attention_order.reindex_by_document(shown, place, (-2, -1)), by_docs)
    assert np.array_equal(
        attention_order.reindex_by_document(by_docs[order], place, (-2,)), by_docs
    )


@pytest.mark.parametrize("by", get_args(attention_order.Sorting))
def test_sortings_are_orders_of_all_documents(by):
    labels, scores = np.array([0.0, 2.0, 1.0, 2.0]), np.array([0.5, -1.0, 3.0, 0.5])
    shown = np.array([3, 1, 0, 2])
    found = attention_order.sorted_documents(by, labels, scores, shown)
    assert sorted(found.tolist()) == [0, 1, 2, 3]
    due = {"shown": [3, 1, 0, 2], "label": [3, 1, 2, 0], "score": [2, 3, 0, 1]}
    assert found.tolist() == due[by]


@given(st.integers(1, 200), st.integers(1, 60))
def test_bins_cover_everything_once_and_keep_the_mean(count, most):
    bounds = attention_order.bounds(count, most)
    assert bounds[0] == 0
    assert bounds[-1] == count
    sizes = np.diff(bounds)
    assert len(sizes) == min(count, most)
    assert sizes.min() >= 1
    assert np.ptp(sizes) <= 1
    weights = np.random.default_rng(count).random((count, 7))
    columns = attention_order.bounds(7, 3)
    found = attention_order.bin_means(weights, bounds, columns)
    total = (found * np.outer(sizes, np.diff(columns))).sum()
    assert total == pytest.approx(weights.sum())


def test_a_heads_numbers_mean_nothing_where_there_is_nothing_to_attend_to():
    """Rows that look at points, and lists without a relevant document, have no relevant mass."""
    weights = np.full((2, 3, 3), 1 / 3, np.float32)
    found = _head_measures("documents", weights, np.float32([0, 2, 1]))
    assert found[:, :4] == pytest.approx(np.tile([np.log(3), 3, 2 / 3, 2 / 3], (2, 1)), rel=1e-6)
    assert np.isnan(_head_measures("documents", weights, np.float32([0, 0, 0]))[:, 2:4]).all()
    points = np.full((2, 3, 5), 1 / 5, np.float32)
    assert np.isnan(_head_measures("spread", points, np.float32([0, 2, 1]))[:, 2:4]).all()
