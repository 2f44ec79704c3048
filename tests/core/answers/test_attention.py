"""Weights of one list: features of two documents, and small pictures of heads."""

import numpy as np

from shuffleproof.core.answers import attention
from shuffleproof.core.answers.attention import THUMBNAIL, AttendedList
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.rankers.attention.kinds import AttentionRecord
from tests import synthetic


def test_two_documents_are_compared_by_the_features_that_differ_most(monkeypatch):
    fold = synthetic.planted(queries=(4, 2, 3), seed=5)
    judged = JudgedLists(fold.test, CandidateLists.all_documents(fold.test).select(np.array([0])))
    monkeypatch.setattr(attention.scoring, "list_for", lambda _: judged)
    values = judged.dataset.features[judged.lists.rows].astype(np.float64)
    for documents, other in (([0, 1], values[1]), ([0, 0], values.mean(axis=0))):
        found = attention.pair({"documents": documents})["features"]
        apart = (values[0] - other) / values.std(axis=0)
        order = np.argsort(-np.abs(apart), kind="stable")[: len(found)]
        assert [row[0] for row in found] == [judged.dataset.feature_ids[at] for at in order]
        expected = np.stack([values[0], other, apart], axis=1)[order]
        np.testing.assert_allclose([row[1:] for row in found], expected)


def test_small_pictures_of_induced_attention_pool_documents_and_no_points():
    """The mean of a product is the product of means over documents, point by point."""
    draws, docs, points = np.random.default_rng(3), 2 * THUMBNAIL, THUMBNAIL + 5
    spread, gather = draws.random((1, docs, points)), draws.random((1, points, docs))
    weights = {"spread": (np.float32(spread),), "gather": (np.float32(gather),)}
    zeros, order = np.zeros(docs, np.float32), np.arange(docs)
    look = AttendedList(AttentionRecord(weights, zeros), order, zeros, order, 0)
    whole = (spread @ gather)[0].reshape(THUMBNAIL, 2, THUMBNAIL, 2).mean(axis=(1, 3))
    np.testing.assert_allclose(look.small[0][0], whole, rtol=1e-5)
