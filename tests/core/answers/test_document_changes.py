"""Changes of single documents of a list: what is scored, and in which order."""

import numpy as np
import pytest

from shuffleproof.core.answers import scoring
from shuffleproof.core.answers.document_changes import DocumentChanges
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import ParameterError
from tests import synthetic

REVERSED = [4, 3, 2, 1, 0]


@pytest.fixture(scope="module")
def judged():
    """The first five documents of the second of four queries."""
    dataset = synthetic.planted(queries=(4, 4, 4), seed=3).test
    lists = CandidateLists.all_documents(dataset).select(np.array([1]))
    first = np.arange(5)
    return JudgedLists(
        dataset,
        CandidateLists(
            np.array([0, 5]), lists.queries, lists.rows[first], lists.ranks[first],
            lists.prior[first],
        ),
    )  # fmt: skip


def features(judged, rows):
    return judged.dataset.features[judged.lists.rows[rows]]


def test_without_changes_only_the_order_differs(judged):
    after = DocumentChanges().of(judged, REVERSED)
    assert np.array_equal(features(after, slice(None)), features(judged, REVERSED))
    assert after.dataset.queries == 1


def test_documents_leave_and_copies_follow_their_originals(judged):
    changes = DocumentChanges.parse(["removed:0", "copied:3", "removed:2"])
    assert changes.arranged(REVERSED, 5) == [4, 3, 5, 1]
    after = changes.of(judged, REVERSED)
    assert np.array_equal(features(after, slice(None)), features(judged, [4, 3, 3, 1]))
    labels = judged.dataset.labels[judged.lists.rows]
    assert np.array_equal(after.dataset.labels[after.lists.rows], labels[[4, 3, 3, 1]])


def test_one_cell_changes_and_its_copy_with_it(judged):
    second = judged.dataset.feature_ids[1]
    changes = DocumentChanges.parse([f"feature:3:{second}:7.5", "copied:3"])
    after = changes.of(judged, [0, 1, 2, 3, 4])
    expected = features(judged, [0, 1, 2, 3, 3, 4]).copy()
    expected[[3, 4], 1] = 7.5
    assert np.array_equal(features(after, slice(None)), expected)
    assert not (judged.dataset.features == 7.5).any()


@pytest.mark.parametrize(
    "text",
    ["", "removed", "removed:x", "moved:1", "feature:1:2:", "feature:1:2:1e999x", "copied:-1"],
)
def test_other_texts_are_refused(text):
    with pytest.raises(ParameterError):
        DocumentChanges.parse([text])


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("removed:5", "document is '5'; it must be from 0 to 4"),
        ("copied:9", "document is '9'"),
        ("feature:0:999:1", "feature is '999'"),
    ],
)
def test_documents_and_features_of_another_list_are_refused(judged, text, named):
    with pytest.raises(ParameterError, match=named):
        DocumentChanges.parse([text]).check(5, judged.dataset.feature_ids)


def test_a_list_keeps_one_document():
    every = DocumentChanges.parse(f"removed:{document}" for document in range(3))
    with pytest.raises(ParameterError, match="at least one document"):
        every.check(3, [1])


def test_a_removed_relevant_document_lowers_the_best_ndcg():
    dataset = synthetic.planted(queries=(4, 4, 4), seed=3).test
    relevant = np.add.reduceat(dataset.labels > 0, dataset.offsets[:-1])
    query = np.array([relevant.argmax()])
    whole = JudgedLists(dataset, CandidateLists.all_documents(dataset).select(query))
    gains = 2.0 ** dataset.labels[whole.lists.rows] - 1
    discounts = 1 / np.log2(np.arange(2, 12))
    best = int(gains.argmax())
    left = np.sort(np.delete(gains, best))[::-1][:10] @ discounts
    ideal = np.sort(gains)[::-1][:10] @ discounts
    assert 0 < left < ideal
    changed = DocumentChanges(removed=(best,)).of(whole, [*range(len(gains))])
    assert scoring.best_quality(changed) == pytest.approx(left / ideal, abs=1e-6)
    assert scoring.best_quality(whole) == 1
