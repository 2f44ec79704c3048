"""One document above another: closed forms, planted company, and what is stated about it."""

import numpy as np
import pytest

from shuffleproof.core.answers.margin import explain
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.errors import DataError, ParameterError
from shuffleproof.core.seeds import generator

WEIGHTS = np.float32([2, -1, 0.5, 0, 3])


class Planted:
    """A ranker of a function of each list's features."""

    name, rankings = "planted", 0

    def __init__(self, scores, *reads):
        self.scores, self.reads = scores, frozenset({"features", *reads})

    def score(self, dataset, lists):
        rows = np.split(lists.rows, lists.offsets[1:-1])
        return np.concatenate([self.scores(dataset.features[one]) for one in rows]).astype("f4")


def lists(features=5, documents=8, seed=0):
    """The second of two queries, all its documents, the last first."""
    cells = generator(seed, "margins").normal(size=(documents + 3, features)).astype("f4")
    ids = TextColumn.of([f"d{row - 3}" for row in range(documents + 3)])
    dataset = RankingDataset(
        cells, np.zeros(len(cells), "f4"), np.array([0, 3, len(cells)]), ("p", "q"),
        tuple(range(1, features + 1)), ids,
    )  # fmt: skip
    both = CandidateLists.all_documents(dataset)
    one = both.select(np.array([1]))
    return JudgedLists(dataset, one.shown_as(np.arange(documents)[::-1]))


def cells_of(judged):
    """Features by name of the document."""
    rows = judged.lists.rows
    return {judged.dataset.doc_ids[row]: judged.dataset.features[row] for row in rows}


LINEAR = Planted(lambda features: features @ WEIGHTS)


@pytest.mark.parametrize("reads", [(), ("neighbours",)])
def test_a_linear_ranker_has_the_closed_form(reads):
    judged = lists()
    found = explain(Planted(LINEAR.scores, *reads), judged, [2, 5])
    cells = cells_of(judged)
    due = WEIGHTS * (cells[found.above] - cells[found.below])
    effects = found.features.set_index("feature")["effect"]
    names = [f"feature_{at + 1}" for at in range(5)]
    assert effects[names].to_numpy() == pytest.approx(due, abs=1e-5)
    assert found.margin == pytest.approx(due.sum(), abs=1e-5)
    assert found.rest == pytest.approx(0, abs=1e-6)
    assert found.alone == (not reads)


def test_sampled_effects_of_a_linear_ranker_have_the_closed_form():
    judged, weights = lists(features=30), np.linspace(-1, 1, 30).astype("f4")
    found = explain(Planted(lambda features: features @ weights), judged)
    cells = cells_of(judged)
    due = weights * (cells[found.above] - cells[found.below])
    effects = found.features.set_index("feature")["effect"]
    assert effects[list(judged.dataset.names)].to_numpy() == pytest.approx(due, abs=1e-4)
    assert (found.features["high"] >= found.features["low"]).all()


def test_a_planted_document_is_found_and_no_other():
    judged = lists()
    target = judged.dataset.features[3 + 4]

    def scores(features):
        present = (features == target).all(axis=1).any()
        return np.where(present, 1, -1) * features[:, 1]

    found = explain(Planted(scores, "neighbours"), judged, [0, 1])
    assert found.documents["document"][found.documents["swaps"]].tolist() == ["d4"]
    assert found.documents["effect"][0] == pytest.approx(2 * found.margin)
    assert not found.documents["effect"][1:].any()
    assert f"because of d4 in the list: without d4, {found.below} would lead" in repr(found)


def test_features_and_rest_add_up_to_the_margin():
    def scores(features):
        spread = np.tanh(features).sum(axis=1) * features[:, 0]
        return spread + features.max() * features[:, 3] + np.arange(len(features)) ** 0.5

    ranker = Planted(scores, "neighbours", "order")
    for judged in (lists(), lists(features=14)):
        found = explain(ranker, judged, [1, 6])
        total = found.features["effect"].sum() + found.rest
        assert total == pytest.approx(found.margin, abs=1e-5)
        assert abs(found.rest) > 0.1
        assert "With equal features the margin is" in repr(found)


def test_equal_features_have_equal_effects():
    judged = lists()
    cells = judged.dataset.features.copy()
    cells[:, 1] = cells[:, 0]
    dataset = RankingDataset(
        cells, judged.dataset.labels, judged.dataset.offsets, ("p", "q"), (1, 2, 3, 4, 5)
    )
    product = Planted(lambda features: features[:, 0] * features[:, 1] + features[:, 4])
    effects = explain(product, JudgedLists(dataset, judged.lists)).features.set_index("feature")
    one, other = effects["effect"][["feature_1", "feature_2"]]
    assert one == pytest.approx(other, abs=1e-6)
    assert abs(one) > 0.01


def test_a_ranker_of_single_documents_has_no_effect_of_others():
    found = explain(LINEAR, lists())
    assert found.alone
    assert (found.documents["effect"] == 0).all()
    assert not found.documents["swaps"].any()
    assert "No other document plays a part" in repr(found)


def test_a_declaration_is_checked():
    liar = Planted(lambda features: features[:, 0] * features.max())
    found = explain(liar, lists(), [0, 4])
    assert not found.alone
    assert found.documents["effect"].abs().max() > 0.01


def test_features_of_a_group_are_one_player():
    judged = lists()
    found = explain(LINEAR, judged, groups={"first": [1, 2], "last": [5]})
    assert set(found.features["feature"]) == {"first", "last", "feature_3", "feature_4"}
    singles = explain(LINEAR, judged).features.set_index("feature")["effect"]
    together = found.features.set_index("feature")["effect"]
    assert together["first"] == pytest.approx(singles["feature_1"] + singles["feature_2"], abs=1e-5)


def test_one_document_is_compared_with_the_next_of_the_ranking():
    judged = lists()
    cells = cells_of(judged)
    ranking = sorted(cells, key=lambda name: -(cells[name] @ WEIGHTS))
    for at, row in enumerate(judged.lists.rows):
        found = explain(LINEAR, judged, [at])
        place = min(ranking.index(judged.dataset.doc_ids[row]), len(ranking) - 2)
        assert [found.above, found.below] == ranking[place : place + 2]
    found = explain(LINEAR, judged)
    assert [found.above, found.below] == ranking[:2]


def test_a_list_of_two_documents_has_no_others():
    found = explain(Planted(LINEAR.scores, "neighbours"), lists(documents=2))
    assert found.documents.empty
    assert found.features["effect"].sum() + found.rest == pytest.approx(found.margin)


def test_equal_scores_are_a_tie():
    constant = Planted(lambda features: np.ones(len(features)))
    assert "ties" in repr(explain(constant, lists()))


@pytest.mark.parametrize(
    "wrong", [{"pair": [1, 1]}, {"pair": [1, 2, 3]}, {"groups": {"a": [9]}},
              {"groups": {"a": [1], "b": [1]}}],
)  # fmt: skip
def test_other_pairs_and_groups_are_refused(wrong):
    with pytest.raises(ParameterError):
        explain(LINEAR, lists(), **wrong)


def test_lists_without_a_margin_are_refused():
    with pytest.raises(DataError, match="single document"):
        explain(LINEAR, lists(documents=1))
    with pytest.raises(DataError, match="infinite"):
        explain(Planted(lambda features: np.full(len(features), -np.inf)), lists())
