"""Fusion of rankers, and shuffle-and-aggregate around one that follows the input order."""

from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata

from shuffleproof.core.aggregate.voting import borda, kemeny, margins, mean_ranks
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.data.ragged import offsets_of, order_within, places_of
from shuffleproof.core.errors import UsageError
from shuffleproof.core.perturb.registry import perturbation
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.rankers.combining import AGGREGATES, Fusion, ShuffleOptions
from shuffleproof.core.rankers.ensemble.rankers import FusedRanker, combine
from shuffleproof.core.rankers.ensemble.shuffled import ShuffledRanker
from shuffleproof.core.rankers.linear.fit import RankSVMSpec
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.rankers.univariate import FeatureRanker
from shuffleproof.core.seeds import generator
from shuffleproof.core.studies.kinds.benchmark.study import rows_of
from shuffleproof.core.studies.kinds.invariance.study import certify
from tests.synthetic import planted

FOLD = planted((20, 5, 6), seed=3, documents=12)
TEST = FOLD.test
ALL = CandidateLists.all_documents(TEST)


@dataclass(frozen=True)
class FollowsTheOrder:
    """One feature, and what is shown first gains: as crude as a position bias can be."""

    strength: float = 3.0
    name: ClassVar[str] = "follows"
    reads: ClassVar[frozenset[str]] = frozenset({"features", "order"})
    rankings: ClassVar[int] = 0

    def score(self, dataset, lists):
        shown = places_of(lists.offsets) / np.repeat(lists.lengths, lists.lengths)
        return (dataset.features[lists.rows, 2] - self.strength * shown).astype(np.float32)

    def save(self, directory):
        """Not kept."""


def reordered(dataset, seed):
    """The same queries and documents in other rows, and the old row of each."""
    rows = order_within(dataset.offsets, np.random.default_rng(seed).random(dataset.documents))
    moved = RankingDataset(
        dataset.features[rows],
        dataset.labels[rows],
        dataset.offsets.copy(),
        dataset.query_ids,
        dataset.feature_ids,
    )
    return moved, rows


def in_shown_order(ranker, seed):
    """The scores by row, shown in a random order."""
    shown = perturbation("shuffle-shown", 1)(ALL, generator(seed))
    scores = np.empty(TEST.documents, np.float32)
    scores[shown.rows] = ranker.score(TEST, shown)
    return scores


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6))
def test_ranks_and_points_are_scipys(seed):
    draws = np.random.default_rng(seed)
    lengths = draws.integers(0, 7, 4)
    offsets = offsets_of(lengths)
    votes = draws.integers(0, 4, (3, lengths.sum())).astype(np.float32)
    ranks, points = mean_ranks(offsets, votes[0]), borda(offsets, votes)
    for first, last in pairwise(offsets):
        inside = slice(first, last)
        assert ranks[inside].tolist() == (rankdata(-votes[0, inside]) - 1).tolist()
        beaten = (
            np.mean([rankdata(vote[inside]) - 1 for vote in votes], axis=0) if last > first else []
        )
        assert points[inside] == pytest.approx(beaten)


def agreement(votes, order):
    found = margins(votes)
    return sum(found[above, below] for above, below in combinations(order, 2))


def by_the_book(votes, start):
    """The document that gains from a move takes its best place, the nearest; until none gains."""
    order, moved = list(start), True
    while moved:
        moved = False
        for document in start:
            here, rest = order.index(document), [one for one in order if one != document]
            places = [*range(here, -1, -1), *range(here + 1, len(order))]
            orders = [[*rest[:place], document, *rest[place:]] for place in places]
            gains = [agreement(votes, one) for one in orders]
            order = orders[int(np.argmax(gains))]
            moved = moved or places[int(np.argmax(gains))] != here
    return order


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6))
def test_kemenys_search_moves_a_document_to_its_best_place_and_no_other(seed):
    draws = np.random.default_rng(seed)
    size = int(draws.integers(2, 9))
    votes = draws.integers(0, 6, (int(draws.integers(1, 6)), size)).astype(np.float32)
    start = np.argsort(-borda(np.array([0, size]), votes), kind="stable").tolist()
    found = kemeny(np.array([0, size]), votes)
    assert np.argsort(-found).tolist() == by_the_book(votes, start)


def test_reciprocal_rank_fusion_and_mean_rank_are_their_formulas():
    members = (FeatureRanker(1), FeatureRanker(2), FeatureRanker(3))
    for options in (Fusion("rrf", 7), Fusion("mean-rank")):
        found = FusedRanker(members, options).score(TEST, ALL)
        for first, last in zip(TEST.offsets[:-1], TEST.offsets[1:], strict=True):
            ranks = [rankdata(-TEST.features[first:last, column]) for column in range(3)]
            if options.method == "rrf":
                expected = sum(1 / (7 + rank) for rank in ranks)
            else:
                expected = -(np.mean(ranks, axis=0) - 1)
            assert found[first:last] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("method", ["rrf", "mean-rank"])
def test_a_fusion_of_univariate_rankers_keeps_its_promises(method):
    ranker = FusedRanker((FeatureRanker(1), FeatureRanker(2)), Fusion(method))
    assert isinstance(ranker, Ranker)
    assert ranker.reads == {"features", "neighbours"}
    assert ranker.rankings == 0
    scores = ranker.score(TEST, ALL)
    assert np.array_equal(in_shown_order(ranker, 1), scores)
    moved, rows = reordered(TEST, 2)
    assert np.array_equal(ranker.score(moved, CandidateLists.all_documents(moved)), scores[rows])


def test_a_fusion_reads_what_its_members_read():
    mixed = FusedRanker((FollowsTheOrder(), FeatureRanker(2)), Fusion())
    assert mixed.reads == {"features", "order", "neighbours"}
    assert not np.array_equal(in_shown_order(mixed, 1), in_shown_order(mixed, 2))


@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize("shuffles", [1, 5])
def test_shuffled_does_not_see_the_order_shown_nor_that_of_the_file(aggregate, shuffles):
    ranker = ShuffledRanker(FollowsTheOrder(), ShuffleOptions(shuffles, aggregate))
    assert isinstance(ranker, Ranker)
    assert ranker.reads == {"features", "neighbours"}
    scores = ranker.score(TEST, ALL)
    for seed in (1, 2):
        assert np.array_equal(in_shown_order(ranker, seed), scores)
    moved, rows = reordered(TEST, 3)
    assert np.array_equal(ranker.score(moved, CandidateLists.all_documents(moved)), scores[rows])
    chosen = ALL.select(np.array([4, 1]))  # whatever other lists are asked for
    assert np.array_equal(ranker.score(TEST, chosen), scores[chosen.rows])
    card = run_to_end(certify(ranker, JudgedLists(TEST, ALL), 5, 0)).plain()
    assert card["invariant"]
    assert card["max_score_deviation"] == 0
    assert not run_to_end(certify(FollowsTheOrder(), JudgedLists(TEST, ALL), 5, 0)).plain()[
        "invariant"
    ]


def test_many_shuffles_approach_the_score_without_position():
    lengths = np.repeat(ALL.lengths, ALL.lengths)
    fair = TEST.features[:, 2] - 3.0 * (lengths - 1) / (2 * lengths)  # at the mean place
    spread = {
        shuffles: np.abs(
            ShuffledRanker(FollowsTheOrder(), ShuffleOptions(shuffles)).score(TEST, ALL) - fair
        )
        for shuffles in (4, 256)
    }
    assert spread[256].mean() == pytest.approx(spread[4].mean() / 8, rel=0.3)  # like 1/√S


def test_seed_and_content_choose_the_shuffles():
    one, same, other = (
        ShuffledRanker(FollowsTheOrder(), ShuffleOptions(2, seed=seed)).score(TEST, ALL)
        for seed in (0, 0, 1)
    )
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    renamed = RankingDataset(
        TEST.features.copy(), np.zeros(TEST.documents, np.float32), TEST.offsets.copy(),
        tuple(f"other {query}" for query in TEST.query_ids), TEST.feature_ids,
    )  # fmt: skip
    ranker = ShuffledRanker(FollowsTheOrder(), ShuffleOptions(2))
    assert np.array_equal(ranker.score(renamed, ALL), one)  # neither labels nor names


def test_the_members_ranks_stay_with_their_documents():
    prior = np.stack([TEST.features[:, 4], TEST.features[:, 5]], axis=1)
    lists = CandidateLists.ranked_by(TEST, prior)
    seen = []

    @dataclass(frozen=True)
    class Watches(FollowsTheOrder):
        rankings: ClassVar[int] = 2

        def score(self, dataset, lists):
            seen.append(np.array_equal(lists.prior, prior[lists.rows]) and dataset is TEST)
            return np.zeros(len(lists.rows), np.float32)

    ranker = ShuffledRanker(Watches(), ShuffleOptions(3))
    assert ranker.rankings == 2
    ranker.score(TEST, lists)
    assert seen == [True] * 3


@pytest.mark.parametrize("name", ["rrf:ranksvm+feature:2", "shuffled-borda-4:ranksvm"])
def test_empty_lists_lists_of_one_and_equal_scores(name):
    made = RankerName.parse(name)
    ranker = combine([FeatureRanker(1)] * len(made.parts), made.options)
    none = ALL.select(np.zeros(0, np.int64))
    assert ranker.score(TEST, none).shape == (0,)
    top = CandidateLists.ranked_by(TEST, TEST.features[:, :1], depth=1)
    assert np.ptp(ranker.score(TEST, top)) == 0
    flat = RankingDataset(
        np.ones_like(TEST.features), TEST.labels.copy(), TEST.offsets.copy(), TEST.query_ids,
        TEST.feature_ids,
    )  # fmt: skip
    assert all(
        np.ptp(scores) == 0 for scores in np.split(ranker.score(flat, ALL), ALL.offsets[1:-1])
    )


def test_saved_is_loaded_with_its_members(tmp_path):
    everything = JudgedLists(FOLD.train, CandidateLists.all_documents(FOLD.train))
    member = run_to_end(RankSVMSpec().fit(everything, everything))
    inside = ShuffledRanker(member, ShuffleOptions(2, "borda", 9))
    ranker = FusedRanker((inside, FeatureRanker(2)), Fusion("rrf", 5))
    ranker.save(tmp_path)
    again = registry.load(tmp_path)
    assert again.name == ranker.name == "rrf-5:shuffled-borda-2:ranksvm+feature:2"
    assert again.options == ranker.options
    assert again.members[0].options == inside.options
    assert np.array_equal(again.score(TEST, ALL), ranker.score(TEST, ALL))


def test_a_workbench_combines_by_name(trained_sample):
    _, workbench = trained_sample
    trains = workbench.train(RankerName.parse("dlcm"), {"epochs": "1", "steps_per_epoch": "3"})
    member = f"dlcm#{run_to_end(trains).artefact.key.digest[:12]}"
    first = run_to_end(workbench.train(RankerName.parse(f"shuffled-2:{member}")))
    assert not first.cached
    assert (first.artefact.facts["passes"], first.ranker.reads) == (2, {"features", "neighbours"})
    assert run_to_end(workbench.train(RankerName.parse(f"shuffled-2:{member}"))).cached
    whole_name = RankerName.parse(f"shuffled-2:dlcm#{first.artefact.key.digest[:12]}")
    whole = run_to_end(workbench.train(whole_name))
    assert whole.artefact.key == first.artefact.key  # the digits of the whole
    fused = run_to_end(workbench.train(RankerName.parse(f"rrf:{member}+feature:3+feature:4")))
    assert fused.artefact.key != first.artefact.key
    assert fused.artefact.facts["valid"]["NDCG@10"] > 0
    lists = workbench.test_lists(3)
    assert np.array_equal(
        registry.load(fused.artefact.path).score(lists.dataset, lists.lists),
        fused.ranker.score(lists.dataset, lists.lists),
    )
    with pytest.raises(UsageError, match="--set"):
        run_to_end(workbench.train(RankerName.parse(f"shuffled:{member}"), {"epochs": "1"}))
    assert RankerName.parse(fused.ranker.name).base == fused.ranker.name


def test_a_benchmark_has_rows_of_combinations():
    rows = rows_of(["rrf:mart+ranksvm@tuned", "shuffled:dlcm"], "small", 3)
    fused, shuffled = rows[-2:]
    assert [fused.label, fused.seeds] == ["rrf:mart+ranksvm@tuned", 1]
    assert (fused.group, shuffled.seeds) == ("the set of documents", 3)
    assert fused.ranker["members"][1] == registry.spec("ranksvm", "tuned").recipe()
    assert shuffled.group == "the set and its initial ranking"
    other = rows_of(["shuffled:dlcm"], "tuned", 3)[-1]
    assert other.ranker != shuffled.ranker  # members follow the preset
