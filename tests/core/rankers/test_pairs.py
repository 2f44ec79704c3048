"""Preference functions that are trained, and the orders that aggregators make of them."""

from functools import lru_cache
from itertools import pairwise

import numpy as np
import pytest

from shuffleproof.core.aggregate.consistency import triads
from shuffleproof.core.aggregate.preferences import pairs_of_matrix
from shuffleproof.core.aggregate.registry import AGGREGATORS
from shuffleproof.core.aggregate.scores import beats
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import ArtefactError, DataError, UsageError
from shuffleproof.core.perturb.registry import perturbation
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.canonical import CanonicalLists
from shuffleproof.core.rankers.combining import ORDERS, Pairwise
from shuffleproof.core.rankers.ensemble.rankers import combine
from shuffleproof.core.rankers.fit_cache import quality
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.rankers.pairs.function import preferences_of
from shuffleproof.core.rankers.pairs.training_pairs import TrainingPairs
from shuffleproof.core.seeds import generator
from tests.synthetic import planted

FOLD = planted((40, 6, 12), seed=3, documents=12)
FUNCTIONS = ("pair-net", "pair-trees")


def all_of(dataset):
    return JudgedLists(dataset, CandidateLists.all_documents(dataset))


@lru_cache
def fitted(name):
    return run_to_end(registry.spec(name, "small").fit(all_of(FOLD.train), all_of(FOLD.valid)))


def matrices(ranker):
    return list(preferences_of(ranker, FOLD.test, CandidateLists.all_documents(FOLD.test)))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_trained_function_contradicts_itself_and_ranks_better_than_chance(name):
    found = matrices(fitted(name))
    assert all(((one >= 0) & (one <= 1) | np.eye(len(one), dtype=bool)).all() for one in found)
    gaps = np.concatenate([(one + one.T - 1)[~np.eye(len(one), dtype=bool)] for one in found])
    assert np.abs(gaps).max() > 0.01, "not antisymmetric by construction"
    reached = quality(fitted(name), all_of(FOLD.test))["NDCG@10"]
    chance = quality(fitted("random"), all_of(FOLD.test))["NDCG@10"]
    assert reached > chance + 0.05


def test_preferences_of_scores_have_no_cyclic_triads_and_those_of_a_net_have():
    cyclic = {
        name: sum(triads(beats(pairs_of_matrix(one).weights))[1] for one in matrices(fitted(name)))
        for name in ("ranksvm", *FUNCTIONS)
    }
    assert cyclic["ranksvm"] == 0
    assert max(cyclic.values()) > 0


def test_lessons_are_the_pairs_of_unequal_grades_balanced_by_grade():
    labels = np.array([0, 0, 0, 1, 2, 0, 0], np.float32)
    lists = CanonicalLists(np.zeros((7, 1), np.float32), labels, np.array([5, 2]))
    every = TrainingPairs.of(lists, None, balanced=True, seed=0)
    half = len(every.better) // 2
    assert half == 3 + 3 + 1, "the second list has one grade and teaches nothing"
    assert (labels[every.document[:half]] > labels[every.other[:half]]).all()
    assert every.document[half:].tolist() == every.other[:half].tolist()
    kinds = labels[every.document[:half]] * 10 + labels[every.other[:half]]
    totals = [every.weights[:half][kinds == kind].sum() for kind in (10, 20, 21)]
    assert totals == pytest.approx([7 / 3] * 3)
    drawn = TrainingPairs.of(lists, 4, balanced=True, seed=1)
    assert len(drawn.better) == 8
    assert len(set(zip(drawn.document.tolist(), drawn.other.tolist(), strict=True))) == 8
    plain = TrainingPairs.of(lists, None, balanced=False, seed=0)
    assert (plain.weights == 1).all()


def test_a_net_that_was_killed_goes_on_to_the_same_weights(tmp_path):
    spec = registry.spec("pair-net", "small", epochs=3)
    whole = run_to_end(spec.fit(all_of(FOLD.train), all_of(FOLD.valid)))
    begun = spec.fit(all_of(FOLD.train), all_of(FOLD.valid), tmp_path)
    next(begun)
    begun.close()
    steps = spec.fit(all_of(FOLD.train), all_of(FOLD.valid), tmp_path)
    assert next(steps).done == 2
    resumed = run_to_end(steps)
    for name, own in whole.function.arrays.items():
        np.testing.assert_array_equal(resumed.function.arrays[name], own)
    (tmp_path / "pair-net.safetensors").write_bytes(b"cut short")
    with pytest.raises(ArtefactError, match=r"cannot be read.*Remove it"):
        run_to_end(spec.fit(all_of(FOLD.train), all_of(FOLD.valid), tmp_path))


def test_lists_of_one_grade_teach_no_function():
    flat = FOLD.train.labels * 0
    same = type(FOLD.train)(
        FOLD.train.features, flat, FOLD.train.offsets, FOLD.train.query_ids, FOLD.train.feature_ids
    )
    with pytest.raises(DataError, match="different labels"):
        run_to_end(registry.spec("pair-net", "small").fit(all_of(same), all_of(FOLD.valid)))


def test_names_of_rankers_know_every_aggregator():
    assert set(ORDERS) == set(AGGREGATORS)
    with pytest.raises(UsageError, match="goa"):
        RankerName.parse("pairwise-gao:pair-net")


def in_shown_order(ranker, seed):
    """The scores by row, shown in a random order."""
    lists = CandidateLists.all_documents(FOLD.test)
    shown = perturbation("shuffle-shown", 1)(lists, generator(seed))
    scores = np.empty(FOLD.test.documents, np.float32)
    scores[shown.rows] = ranker.score(FOLD.test, shown)
    return scores


@pytest.mark.parametrize("name", ORDERS)
def test_pairwise_rankers_follow_the_order_shown_where_their_aggregator_does(name, tmp_path):
    ranker = combine([fitted("pair-trees")], Pairwise(name))
    first, *others = (in_shown_order(ranker, seed) for seed in range(4))
    assert ("order" in ranker.reads) == (not AGGREGATORS[name].equivariant)
    if AGGREGATORS[name].equivariant:
        for other in others:
            np.testing.assert_array_equal(first, other)
    if name == "quicksort":
        assert any((first != other).any() for other in others), "the input order"
        drawn = [in_shown_order(combine([fitted("pair-trees")], Pairwise(name, seed)), 0)
                 for seed in (0, 1, 2)]  # fmt: skip
        assert any((drawn[0] != other).any() for other in drawn[1:]), "the seed"
    for start, end in pairwise(FOLD.test.offsets.tolist()):
        assert sorted(first[start:end]) == list(range(end - start))
    ranker.save(tmp_path)
    np.testing.assert_array_equal(in_shown_order(registry.load(tmp_path), 0), first)


@pytest.mark.parametrize("name", sorted(set(ORDERS) - {"heap-top-k", "sliding-window"}))
def test_every_aggregator_gives_back_the_order_of_scores(name):
    ranker = combine([fitted("ranksvm")], Pairwise(name))
    lists = CandidateLists.all_documents(FOLD.test)
    scores, found = fitted("ranksvm").score(FOLD.test, lists), ranker.score(FOLD.test, lists)
    for start, end in pairwise(lists.offsets.tolist()):
        own = scores[start:end]
        if len(np.unique(own)) == len(own):
            assert np.argsort(-own).tolist() == np.argsort(-found[start:end]).tolist()
