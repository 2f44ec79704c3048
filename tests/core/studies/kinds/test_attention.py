"""The study of attention: what is said of heads and points, by numbers counted by hand."""

from argparse import Namespace

import numpy as np
import pandas as pd
import pytest

from shuffleproof.core.cli.attention import _map
from shuffleproof.core.data import synthetic
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import ParameterError
from shuffleproof.core.rankers.attention.kinds import AttentionRecord
from shuffleproof.core.rankers.attention.summary import MEASURES
from shuffleproof.core.studies.kinds.attention import one_list as attention_one_list
from shuffleproof.core.studies.kinds.attention import sections
from shuffleproof.core.studies.kinds.attention import study as attention_study
from shuffleproof.core.studies.kinds.attention.study import THUMBNAIL, AttendedList, ListEdit
from shuffleproof.core.studies.result import StudyResult


def of_two_heads(
    relevant=((0.5, 0.7, 0.6), (0.3, 0.5, 0.4)), dead=((1, 1, 1, 0.9), (0, 0.25, 0.25, 0))
):
    """A study of one ranker's first block, and two points of its second, on four queries."""
    rows = [("through", 0, 0), ("through", 0, 1), ("point", 1, 0), ("point", 1, 2)]
    trials = pd.DataFrame(rows, columns=["map", "block", "head"]).assign(ranker="setrank-imsab")
    values = dict.fromkeys(MEASURES, np.nan) | {"entropy": 1.0, "redundancy": 0.25}
    cube = np.stack([np.full((4, 4), value, np.float32) for value in values.values()], axis=1)
    put = {name: cube[:, place] for place, name in enumerate(MEASURES)}
    put["neighbours"][:2] = [[2, 4, 3, 3], [6, 8, 7, 7]]
    put["relevant"][:2, :3] = relevant
    put["chance"][:2, :3] = [0.2, 0.3, 0.25]
    put["received"][2:], put["dead"][2:] = 0.5, dead
    cube[2:, [MEASURES.index("entropy"), MEASURES.index("redundancy")]] = np.nan
    return StudyResult({}, trials, cube, ("a", "b", "c", "d"), {"set_size": 10.0})


def test_a_study_is_told_by_numbers_counted_by_hand():
    result = of_two_heads()
    table = sections.table(result)
    assert table[["block", "head", "queries"]].to_numpy().tolist() == [[1, 1, 4], [1, 2, 4]]
    assert table["neighbours"].tolist() == [3, 7]
    assert table["lift"].to_numpy() == pytest.approx([0.6 / 0.25, 0.4 / 0.25])
    points = sections.points(result, "setrank-imsab")
    assert points[["block", "point"]].to_numpy().tolist() == [[2, 1], [2, 3]]
    assert points[["received", "dead"]].to_numpy() == pytest.approx(
        np.array([[0.5, 0.975], [0.5, 0.125]])
    )
    # differences .2, .3, .25: mean .25, Student's half width 4.303 · .05 / √3 = .1242
    assert sections.finding(result, "setrank-imsab") == (
        "SetRank IMSAB: a document draws on 5.0 of 10 documents (effective neighbours, mean over "
        "2 heads). Relevant documents get 0.500 of the mass, more than chance gives them (0.250; "
        "difference +0.2500, 95 % interval [+0.1258, +0.3742], n = 3), most in block 1 head 1 "
        "(2.40 times chance). A head shares 0.25 of its mass with the most similar head of its "
        "block. 1 of 2 induced points are dead: next to nothing in 95 % of queries and heads or "
        "more."
    )


@pytest.mark.parametrize(
    ("relevant", "said"),
    [
        ((0.5, 0.7, 0.6), "more than chance"),
        ((0.0, 0.1, 0.05), "less than chance"),
        ((0.0, 0.6, 0.3), "not told apart from what chance"),
    ],
)
def test_relevant_documents_get_more_or_less_than_chance_or_neither(relevant, said):
    result = of_two_heads((relevant, relevant))
    assert f"of the mass, {said} gives them" in sections.finding(result, "setrank-imsab")


@pytest.mark.parametrize(
    ("dead", "said"),
    [
        (np.zeros((2, 4)), "None of 2 induced points is ever dead."),
        (
            [[0, 0, 0, 0.4], [0.5, 0.5, 0, 0]],
            "dead; block 2 point 3 gets next to nothing in 25 % of queries and heads.",
        ),
        ([[0, 0, 0, 0], [1, 1, 1, 0.8]], "1 of 2 induced points are dead"),
    ],
)
def test_points_are_dead_from_95_percent_on(dead, said):
    assert said in sections.finding(of_two_heads(dead=dead), "setrank-imsab")


def test_the_block_of_the_largest_change_is_told_where_there_are_several():
    change = ListEdit.parse("-initial")
    said = sections.verdict("dlcm", ("order",), change, [("paths", 0, 0.1), ("paths", 1, 0.2)]).text
    assert said.startswith("After re-indexing the largest change of a weight is 0.200 (")
    assert ", block 2)" in said
    said = sections.verdict("dlcm", ("order",), change, [("paths", 0, 0.1)]).text
    assert "block" not in said


def test_two_documents_are_compared_by_the_features_that_differ_most(monkeypatch):
    fold = synthetic.planted(queries=(4, 2, 3), seed=5)
    judged = JudgedLists(fold.test, CandidateLists.all_documents(fold.test).select(np.array([0])))
    monkeypatch.setattr(attention_one_list.scoring, "list_for", lambda _: judged)
    values = judged.dataset.features[judged.lists.rows].astype(np.float64)
    for documents, other in (([0, 1], values[1]), ([0, 0], values.mean(axis=0))):
        found = attention_one_list.pair({"documents": documents})["features"]
        apart = (values[0] - other) / values.std(axis=0)
        order = np.argsort(-np.abs(apart), kind="stable")[: len(found)]
        assert [row[0] for row in found] == [judged.dataset.feature_ids[at] for at in order]
        expected = np.stack([values[0], other, apart], axis=1)[order]
        np.testing.assert_allclose([row[1:] for row in found], expected)


def test_the_command_counts_blocks_and_heads_from_one():
    def record(value):
        weights = value + np.arange(8, dtype=np.float32).reshape(2, 2, 2)
        return AttentionRecord({"documents": (weights, weights + 10)}, np.zeros(2, np.float32))

    def asked(block, head=None):
        arguments = Namespace(map=None, block=block, head=head)
        return _map(record(0), record(100), arguments)

    found = asked(2, 2)
    assert (found["map"], found["block"], found["head"]) == ("documents", 2, 2)
    assert found["before"] == [[14, 15], [16, 17]]
    assert found["after"] == [[114, 115], [116, 117]]
    assert asked(1, 1)["before"] == [[0, 1], [2, 3]]
    assert asked(1)["before"] == [[2, 3], [4, 5]]  # the mean over the heads
    for block, head in ((3, 1), (1, 3)):
        with pytest.raises(ParameterError, match="1 to 2"):
            asked(block, head)


def test_a_trial_is_a_head_or_a_point():
    rows = [("through", 0, 2), ("point", 1, 4)]
    frame = attention_study._trials("dlcm", rows, 3.0, 12.5)
    assert frame[["map", "block", "head"]].to_numpy().tolist() == [list(row) for row in rows]
    assert frame["family"].tolist() == ["through block 1 head 3", "point block 2 point 5"]
    assert frame["seconds"].tolist() == [1.5, 1.5]


def test_small_pictures_of_induced_attention_pool_documents_and_no_points():
    """The mean of a product is the product of means over documents, point by point."""
    draws, docs, points = np.random.default_rng(3), 2 * THUMBNAIL, THUMBNAIL + 5
    spread, gather = draws.random((1, docs, points)), draws.random((1, points, docs))
    weights = {"spread": (np.float32(spread),), "gather": (np.float32(gather),)}
    zeros, order = np.zeros(docs, np.float32), np.arange(docs)
    look = AttendedList(AttentionRecord(weights, zeros), order, zeros, order, 0)
    whole = (spread @ gather)[0].reshape(THUMBNAIL, 2, THUMBNAIL, 2).mean(axis=(1, 3))
    np.testing.assert_allclose(look.small[0][0], whole, rtol=1e-5)
