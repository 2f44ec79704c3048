"""Subset smoothing: scores are means over sets, and its networks learn from sets."""

from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import ClassVar

import numpy as np
import pytest

from shuffleproof.core.data.batches import drawn_sets, on_device
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.data.ragged import segment_ids
from shuffleproof.core.errors import DataError, ParameterError
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.combining import ShuffleOptions, SubsetOptions
from shuffleproof.core.rankers.ensemble import subset
from shuffleproof.core.rankers.ensemble.fit_cache import member_changes
from shuffleproof.core.rankers.ensemble.rankers import combine
from shuffleproof.core.rankers.ensemble.subset import SubsetRanker, softmax_shares
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.rankers.univariate import FeatureRanker
from shuffleproof.core.seeds import generator
from tests.synthetic import planted

FOLD = planted((6, 4, 5), seed=3, documents=7)
TEST = FOLD.test
ALL = CandidateLists.ranked_by(TEST, TEST.features[:, 1:2])


@dataclass(frozen=True)
class AgainstTheMean:
    """A set ranker: the square of a feature's distance from the mean of the set, and the rank."""

    name: ClassVar[str] = "against-the-mean"
    reads: ClassVar[frozenset[str]] = frozenset({"features", "neighbours", "ranks"})
    rankings: ClassVar[int] = 1

    def score(self, dataset, lists):
        value, places = dataset.features[lists.rows, 2], segment_ids(lists.offsets)
        means = np.bincount(places, value) / np.maximum(lists.lengths, 1)
        return ((value - means[places]) ** 2 + lists.ranks[:, 0]).astype(np.float32)


@pytest.mark.parametrize("size", [2, 3])
def test_a_score_is_the_mean_share_over_all_sets(size):
    scores = SubsetRanker(AgainstTheMean(), SubsetOptions(size, temperature=0.3)).score(TEST, ALL)
    for first, last in pairwise(ALL.offsets.tolist()):
        shares = {place: [] for place in range(first, last)}
        for chosen in combinations(range(first, last), size):
            value, prior = TEST.features[ALL.rows[[*chosen]], 2], ALL.prior[[*chosen], 0]
            ranks = (prior[:, None] < prior).sum(1)
            powers = np.exp(((value - value.mean()) ** 2 + ranks) / 0.3)
            for place, power in zip(chosen, powers, strict=True):
                shares[place].append(power / powers.sum())
        expected = [np.mean(of_document) for of_document in shares.values()]
        assert scores[first:last] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_the_input_order_changes_no_bit(size):
    ranker = SubsetRanker(AgainstTheMean(), SubsetOptions(size, 8))
    order = np.concatenate([np.arange(a, b)[::-1] for a, b in pairwise(ALL.offsets)])
    assert np.array_equal(ranker.score(TEST, ALL)[order], ranker.score(TEST, ALL.shown_as(order)))
    assert "order" not in ranker.reads


def test_drawn_sets_count_every_document_once_a_round():
    ranker = SubsetRanker(AgainstTheMean(), SubsetOptions(5, 40))
    for scored in ranker.sets(TEST, ALL):
        assert scored.members.shape == (80, 5)
        assert all(len(set(one)) == 5 for one in scored.members.tolist())
        counts = np.bincount(scored.members.ravel(), scored.counted.ravel())
        assert counts.tolist() == [40] * 7
    # The mean over many rounds is the mean over all sets
    many = SubsetRanker(AgainstTheMean(), SubsetOptions(5, 4000)).score(TEST, ALL)
    first = slice(*ALL.offsets[:2])
    sets = np.array([*combinations(range(7), 5)])
    shares = softmax_shares(AgainstTheMean().score(TEST, ALL.subsets(sets)).reshape(-1, 5), 0.05)
    exact = np.bincount(sets.ravel(), shares.ravel()) / np.bincount(sets.ravel())
    assert many[first] == pytest.approx(exact, abs=0.03)


@pytest.mark.parametrize("size", [3, 10])
def test_short_lists_are_one_set(size):
    top = CandidateLists.ranked_by(TEST, TEST.features[:, 1:2], depth=2)
    ranker = SubsetRanker(AgainstTheMean(), SubsetOptions(size))
    shares = softmax_shares(AgainstTheMean().score(TEST, top).reshape(-1, 2), 0.05)
    assert ranker.score(TEST, top) == pytest.approx(shares.ravel())
    assert ranker.score(TEST, ALL.select(np.zeros(0, np.int64))).shape == (0,)


def test_parts_of_the_sets_change_nothing(monkeypatch):
    ranker = SubsetRanker(AgainstTheMean(), SubsetOptions(3))
    whole = ranker.score(TEST, ALL)
    monkeypatch.setattr(subset, "AT_ONCE", 10)
    assert np.array_equal(ranker.score(TEST, ALL), whole)


def test_rankers_of_single_documents_are_refused():
    with pytest.raises(ParameterError, match="ranker of sets"):
        combine([FeatureRanker(1)], SubsetOptions(3))
    with pytest.raises(ParameterError, match="a ranker of sets"):
        combine([SubsetRanker(AgainstTheMean(), SubsetOptions(2))], SubsetOptions(3))


def test_drawn_sets_are_parts_of_their_lists_with_ranks_of_their_own():
    held = on_device(ALL, TEST.features[ALL.rows], TEST.labels[ALL.rows])
    sets, plan = drawn_sets(held, [np.array([3, 0]), np.array([3])], 3, generator(1))
    assert [one.tolist() for one in plan] == [[0, 1, 2, 3], [4, 5]]
    source = sets.source.numpy()[:-1].reshape(-1, 3)
    assert (source // 7).tolist() == [[3] * 3, [3] * 3, [0] * 3, [0] * 3, [3] * 3, [3] * 3]
    assert all(len(np.unique(source[[at, at + 1]])) == 6 for at in (0, 2, 4))
    assert not np.array_equal(source[:2], source[4:])  # drawn again
    prior = ALL.prior[source, 0]
    ranks = (prior[:, :, None] < prior[:, None]).sum(2)
    assert np.array_equal(sets.ranks.numpy()[:-1, 0].reshape(-1, 3), ranks)
    batch = sets.batch(plan[0])
    assert batch.full
    assert np.array_equal(batch.labels.numpy(), TEST.labels[ALL.rows][source[:4]])


def test_ties_share_a_rank_in_a_set():
    flat = CandidateLists.ranked_by(TEST, np.zeros((TEST.documents, 1), np.float32))
    held = on_device(flat, TEST.features[flat.rows], TEST.labels[flat.rows])
    sets, _ = drawn_sets(held, [np.array([0])], 3, generator(1))
    assert sets.ranks[:-1].unique().tolist() == [0]
    assert sets.tied[:-1].unique().tolist() == [3]
    assert sets.ties.all()


@pytest.mark.parametrize("name", ["setrank-imsab", "setrank-imsab-init", "dlcm", "gsf"])
def test_networks_learn_from_sets(name, tmp_path):
    spec = registry.spec(name, "small", documents=3, epochs=2)
    lists = CandidateLists.ranked_by(FOLD.train, FOLD.train.features[:, 1:2])
    train = JudgedLists(FOLD.train, lists)
    member = run_to_end(spec.fit(train, JudgedLists(TEST, ALL)))
    ranker = SubsetRanker(member, SubsetOptions(3))
    ranker.save(tmp_path)
    again = registry.load(tmp_path)
    assert again.name == f"subset-3:{name}"
    assert again.member.spec.training.documents == 3
    assert np.array_equal(again.score(TEST, ALL), ranker.score(TEST, ALL))
    whole = run_to_end(registry.spec(name, "small", epochs=2).fit(train, JudgedLists(TEST, ALL)))
    assert not np.array_equal(whole.score(TEST, ALL), member.score(TEST, ALL))


def test_lists_shorter_than_the_sets_are_refused():
    lists = CandidateLists.ranked_by(FOLD.train, FOLD.train.features[:, 1:2], depth=4)
    short = JudgedLists(FOLD.train, lists)
    with pytest.raises(DataError, match="5 documents"):
        run_to_end(registry.spec("gsf", "small", documents=5).fit(short, short))


def test_a_member_learns_from_sets_of_its_size(trained_sample):
    _, workbench = trained_sample
    name, asked = RankerName.parse("subset-2:gsf@small"), []

    def briefly(part, changes):
        asked.append((str(part), changes))
        return workbench.train(part, {**changes, "epochs": "1", "steps_per_epoch": "2"})

    trained = run_to_end(workbench.combined(name.parts, name.options, briefly))
    assert asked == [("gsf@small", {"documents": "2"})]
    assert trained.ranker.member.spec.training.documents == 2
    assert trained.artefact.facts["valid"]["NDCG@10"] > 0
    assert run_to_end(workbench.combined(name.parts, name.options, briefly)).cached
    assert member_changes(RankerName.parse("gsf#12ab"), name.options) == {}
    assert member_changes(RankerName.parse("gsf"), ShuffleOptions()) == {}


def test_documents_that_are_equal_share_scores():
    same = RankingDataset(
        np.ones_like(TEST.features), TEST.labels.copy(), TEST.offsets.copy(), TEST.query_ids,
        TEST.feature_ids,
    )  # fmt: skip
    lists = CandidateLists.ranked_by(same, np.zeros((same.documents, 1), np.float32))
    scores = SubsetRanker(AgainstTheMean(), SubsetOptions(3)).score(same, lists)
    assert scores == pytest.approx(np.full(len(scores), 1 / 3))
