"""Candidate lists of a fold: cut, ranked, cross-fitted, cached."""

from collections import Counter
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest

from shuffleproof.core.data.dataset import Fold, RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.data.ragged import competition_ranks, order_within
from shuffleproof.core.errors import DataError, ParameterError, UnknownNameError, UsageError
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate, mean_of
from shuffleproof.core.rankers import initial
from shuffleproof.core.rankers.boosting.trees import LambdaMARTSpec
from shuffleproof.core.rankers.initial import ListRecipe, initial_spec, part_of_query, prepare
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.store.artefacts import Store
from tests import loading, places
from tests.synthetic import planted

FOLD = planted((24, 6, 8), seed=4, documents=15)
QUICK = LambdaMARTSpec(trees=8, leaves=5, leaf_documents=5)
RECIPE = ListRecipe(initial=("lambdamart@quick", "feature:1", "random"), depth=10, folds=4)
MQ2008 = places.DATA / "mq2008"


def quick(name, seed=0):
    return QUICK if name.preset == "quick" else initial_spec(name, seed)


def made(recipe, root, fold=FOLD, spec_of=quick):
    """(prepared fold, reports)."""
    reports, making = [], prepare(fold, recipe, Store(root))
    with patch.object(initial, "initial_spec", spec_of):
        while True:
            try:
                reports.append(next(making))
            except StopIteration as finished:
                return finished.value, reports


def run(fitting):
    while True:
        try:
            next(fitting)
        except StopIteration as finished:
            return finished.value


def judged(dataset, queries=None):
    lists = CandidateLists.all_documents(dataset)
    return JudgedLists(dataset, lists if queries is None else lists.select(queries))


def scores_by_row(part, column=0):
    """All documents' prior scores in the data set's order; the lists must be uncut."""
    scores = np.empty(part.dataset.documents, np.float32)
    scores[part.lists.rows] = part.lists.prior[:, column]
    return scores


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    return made(replace(RECIPE, depth=None), tmp_path_factory.mktemp("store"))[0]


def test_lists_are_cut_by_the_first_ranking_and_carry_all(tmp_path):
    cut, _ = made(RECIPE, tmp_path)
    whole, _ = made(replace(RECIPE, depth=None), tmp_path)
    for name in ("train", "valid", "test"):
        dataset, lists = getattr(FOLD, name), getattr(cut, name).lists
        assert getattr(cut, name).dataset is dataset
        assert np.array_equal(lists.lengths, np.minimum(np.diff(dataset.offsets), 10))
        scores = scores_by_row(getattr(whole, name))
        order = order_within(dataset.offsets, -scores)
        best = [order[low : low + 10] for low in dataset.offsets[:-1]]
        assert np.array_equal(lists.rows, np.concatenate(best))
        assert np.array_equal(lists.prior[:, 1], dataset.features[lists.rows, 0])
        for column in range(3):
            ranks = competition_ranks(lists.offsets, lists.prior[:, column])
            assert np.array_equal(lists.ranks[:, column], ranks)


def test_equal_initial_scores_share_a_rank(tmp_path):
    features = np.round(FOLD.train.features / 2).astype(np.float32)
    tied = RankingDataset(
        features, FOLD.train.labels, FOLD.train.offsets, FOLD.train.query_ids,
        FOLD.train.feature_ids,
    )  # fmt: skip
    fold = Fold(tied, FOLD.valid, FOLD.test)
    lists = made(ListRecipe(initial=("feature:1",), depth=None), tmp_path, fold)[0].train.lists
    own = lists.prior[lists.offsets[0] : lists.offsets[1], 0]
    ranks = lists.ranks[lists.offsets[0] : lists.offsets[1], 0]
    expected = [int((own > value).sum()) for value in own]
    assert ranks.tolist() == expected
    assert max(Counter(expected).values()) > 1


def test_held_out_scores_come_from_models_that_did_not_see_the_query(prepared):
    parts = part_of_query(FOLD.train.query_ids, RECIPE.folds, RECIPE.seed)
    scores = scores_by_row(prepared.train)
    for part in range(RECIPE.folds):
        without = judged(FOLD.train, np.flatnonzero(parts != part))
        ranker = run(QUICK.fit(without, judged(FOLD.valid)))
        held = judged(FOLD.train, np.flatnonzero(parts == part))
        assert np.array_equal(ranker.score(FOLD.train, held.lists), scores[held.lists.rows])
    everyone = run(QUICK.fit(judged(FOLD.train), judged(FOLD.valid)))
    for name in ("valid", "test"):
        dataset = getattr(FOLD, name)
        expected = everyone.score(dataset, CandidateLists.all_documents(dataset))
        assert np.array_equal(scores_by_row(getattr(prepared, name)), expected)


@pytest.mark.parametrize("scores", ["cross-fitted", "in-sample"])
def test_a_querys_own_labels_reach_its_scores_only_in_sample(scores, tmp_path):
    recipe = replace(RECIPE, initial=("lambdamart@quick",), scores=scores, depth=None)
    own = slice(0, FOLD.train.offsets[1])
    labels = FOLD.train.labels.copy()
    labels[own] = 4 - labels[own]
    changed = RankingDataset(
        FOLD.train.features, labels, FOLD.train.offsets, FOLD.train.query_ids,
        FOLD.train.feature_ids,
    )  # fmt: skip
    before, after = (
        scores_by_row(made(recipe, tmp_path, Fold(train, FOLD.valid, FOLD.test))[0].train)
        for train in (FOLD.train, changed)
    )
    assert np.array_equal(before[own], after[own]) == (scores == "cross-fitted")
    assert not np.array_equal(before, after)


def test_the_order_of_the_file_changes_no_score(prepared, tmp_path):
    queries = np.random.default_rng(0).permutation(FOLD.train.queries)
    moved = FOLD.train.select(queries)
    fold = Fold(moved, FOLD.valid, FOLD.test)
    again, _ = made(replace(RECIPE, depth=None), tmp_path, fold)
    rows = CandidateLists.all_documents(FOLD.train).select(queries).rows
    for column in range(3):
        assert np.array_equal(
            scores_by_row(again.train, column), scores_by_row(prepared.train, column)[rows]
        )


def test_what_was_made_is_found_again(tmp_path):
    first, reports = made(RECIPE, tmp_path)
    # 8 trees of the model of all queries and of 4 without one part each
    assert len(reports) == 5 * 8
    assert reports[-1].unit == "trees of lambdamart, part 4 of 4"
    again, nothing = made(RECIPE, tmp_path)
    assert not nothing
    assert np.array_equal(again.train.lists.prior, first.train.lists.prior)
    kinds = Counter(artefact.key.kind for artefact in Store(tmp_path).artefacts())
    assert kinds == {"ranker": 5, "scores": 1}
    assert not made(replace(RECIPE, depth=3), tmp_path)[1]
    assert not made(replace(RECIPE, scores="in-sample"), tmp_path)[1]
    assert len(made(replace(RECIPE, seed=1), tmp_path)[1]) == 4 * 8


def test_a_killed_preparation_goes_on_where_it_was(tmp_path):
    making = prepare(FOLD, RECIPE, Store(tmp_path))
    with patch.object(initial, "initial_spec", quick):
        for _ in range(8 * 2 + 3):
            next(making)
    making.close()
    _, reports = made(RECIPE, tmp_path)
    assert len(reports) == 3 * 8


def test_parts_are_even_and_know_ids_alone():
    ids = tuple(f"q{number}" for number in range(23))
    parts = part_of_query(ids, 5, 0)
    assert sorted(np.bincount(parts)) == [4, 4, 5, 5, 5]
    order = np.random.default_rng(0).permutation(23)
    moved = part_of_query(tuple(ids[place] for place in order), 5, 0)
    assert np.array_equal(moved, parts[order])
    assert not np.array_equal(part_of_query(ids, 5, 1), parts)


def test_every_univariate_ranker_and_empty_parts_will_do(tmp_path):
    fold = Fold(FOLD.train, FOLD.valid.select(np.zeros(0, np.int64)), FOLD.test)
    names = ("file-order", "ideal", "feature:2", "random", "mart@small", "lambdamart@quick")
    done, _ = made(replace(RECIPE, initial=names), tmp_path, fold)
    assert done.train.lists.rankings == done.valid.lists.rankings == 6
    assert len(done.valid.lists) == 0
    assert done.test.lists.rows[0] == 0
    measure = Measure.parse("NDCG@10")
    ideal = done.test.lists.prior[:, 1].copy()
    values = evaluate([measure], FOLD.test, done.test.lists, ideal)
    assert mean_of(measure, values[0]) > 0.5


def test_what_cannot_be_an_initial_ranking_is_refused(tmp_path):
    for name in ("setrank-msab-init@small", "dlcm@small"):
        with pytest.raises(UsageError, match="cannot be the initial one"):
            initial_spec(RankerName.parse(name))
    with pytest.raises(UnknownNameError, match="lambdamart"):
        made(replace(RECIPE, initial=("lambdamarts",)), tmp_path)
    one = Fold(FOLD.train.select(np.array([0])), FOLD.valid, FOLD.test)
    with pytest.raises(DataError, match="in-sample"):
        made(RECIPE, tmp_path, one)
    with pytest.raises(ParameterError, match="initial"):
        ListRecipe(initial=())
    with pytest.raises(ParameterError, match="folds"):
        ListRecipe(folds=1)


@pytest.mark.skipif(not MQ2008.is_dir(), reason="real data: ../shared/data/mq2008 is absent")
def test_mq2008_initial_rankers_beat_chance_by_far(tmp_path):

    train, valid, test = (loading.read(MQ2008 / f"S{part}.txt.gz").dataset for part in (1, 3, 4))
    recipe = ListRecipe(initial=("feature:39", "lambdamart@small", "random"), depth=40)
    done, _ = made(recipe, tmp_path, Fold(train, valid, test))
    measure = Measure.parse("NDCG(empty=skip)@10")
    means = [
        mean_of(measure, evaluate([measure], test, done.test.lists, column.copy())[0])
        for column in done.test.lists.prior.T
    ]
    assert means[0] == pytest.approx(0.7202, abs=0.002)  # measured by an own parser
    assert means[1] > 0.65
    assert means[2] < 0.55
