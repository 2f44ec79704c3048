"""What a level of the ranking, set, feature and label families means, by formula."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chisquare

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.data.ragged import offsets_of
from shuffleproof.core.errors import ParameterError, ShapeError
from shuffleproof.core.perturb import growth, labels
from shuffleproof.core.perturb.base import origins, perturb
from shuffleproof.core.perturb.registry import PERTURBATIONS, parse
from shuffleproof.core.seeds import generator


def judged_of(count, length, *, grades=None, features=None, prior=None):
    """Equal lists of all documents, ranked and shown by row unless told otherwise."""
    total = count * length
    offsets = offsets_of(np.full(count, length))
    if prior is None:
        prior = -np.tile(np.arange(length), count)
    dataset = RankingDataset(
        features=np.zeros((total, 1), np.float32) if features is None else features,
        labels=np.zeros(total, np.float32) if grades is None else np.float32(grades),
        offsets=offsets,
        query_ids=tuple(map(str, range(count))),
        feature_ids=tuple(range(1, 2 if features is None else features.shape[1] + 1)),
    )
    scores = np.asarray(prior, np.float32).reshape(-1, 1)
    return JudgedLists(dataset, CandidateLists.ranked_by(dataset, scores))


def after(text, judged, seed=0):
    return perturb(parse(text), judged, generator(seed, text))


def shown(judged, length):
    return judged.lists.rows.reshape(-1, length) % length


@pytest.mark.parametrize(
    ("list_grades", "reversible"),
    [
        (
            [1, 0, 2, 0, 0, 0],
            4 + 3,
        ),  # four non-relevant ones below the first, three below the third
        ([1, 0, 2, 0, 1, 0], 3 + 2 + 1),
    ],
)
def test_reversed_pairs_put_relevant_documents_below(list_grades, reversible):
    grades = np.tile(list_grades, 3000)
    judged = judged_of(3000, 6, grades=grades)
    once = after("reversed-pairs:1", judged)
    pairs = []
    for order in shown(once, 6):
        moved = np.flatnonzero(order != np.arange(6))
        assert len(moved) == 2
        upper, lower = moved
        assert grades[upper] >= 1 > grades[lower]
        pairs.append(upper * 6 + lower)
    _, counts = np.unique(pairs, return_counts=True)
    assert len(counts) == reversible
    assert chisquare(counts).pvalue > 1e-4
    many = after("reversed-pairs:50", judged)
    relevant = np.count_nonzero(list_grades)
    assert np.all(judged.dataset.labels[many.lists.rows].reshape(-1, 6)[:, -relevant:] > 0)


def test_the_only_pair_is_always_reversed():
    judged = judged_of(50, 3, grades=np.tile([0, 1, 0], 50))
    assert shown(after("reversed-pairs:1", judged), 3).tolist() == [[0, 2, 1]] * 50


def test_promote_and_demote_put_documents_where_the_level_says():
    grades = np.tile([2, 0, 1, 0, 0], 2000)
    judged = judged_of(2000, 5, grades=grades)
    promoted = shown(after("promote:1", judged), 5)
    first, counts = np.unique(promoted[:, 0], return_counts=True)
    assert first.tolist() == [1, 3, 4]
    assert chisquare(counts).pvalue > 1e-4
    for order in promoted:
        rest = [document for document in order if document != order[0]]
        assert rest == sorted(rest)
    assert np.array_equal(shown(after("promote:5", judged), 5), shown(judged, 5))
    assert shown(after("demote-best:3", judged), 5)[0].tolist() == [1, 2, 3, 0, 4]
    assert shown(after("demote-best:99", judged), 5)[0].tolist() == [1, 2, 3, 4, 0]
    none = judged_of(2, 5)
    assert np.array_equal(shown(after("demote-best:3", none), 5), shown(none, 5))


def test_top_and_tail_swaps_stay_on_their_side():
    judged = judged_of(200, 25)
    top, tail = shown(after("top-swaps:6", judged), 25), shown(after("tail-swaps:6", judged), 25)
    assert np.array_equal(top[:, 10:], np.tile(np.arange(10, 25), (200, 1)))
    assert np.array_equal(tail[:, :10], np.tile(np.arange(10), (200, 1)))
    assert (top[:, :10] != np.arange(10)).any(axis=1).mean() > 0.9
    short = judged_of(3, 10)
    assert np.array_equal(after("tail-swaps:6", short).lists.rows, short.lists.rows)


def test_plackett_luce_draws_with_the_odds_of_the_scores():
    prior = np.tile(np.array([2, 1, 0]), 20_000)
    judged = judged_of(20_000, 3, prior=prior)
    first = shown(after("plackett-luce:0.7", judged), 3)[:, 0]
    odds = np.exp(np.array([2, 1, 0]) / np.sqrt(2 / 3) / 0.7)
    expected = odds / odds.sum() * 20_000
    assert chisquare(np.bincount(first, minlength=3), expected).pvalue > 1e-4


@pytest.mark.parametrize(("share", "tied"), [(0.2, 2), (0.5, 5), (1.0, 10)])
def test_a_tie_storm_ties_one_run_of_that_many(share, tied):
    storm = after(f"tie-storm:{share}", judged_of(50, 10))
    for prior in storm.lists.prior.reshape(50, 10):
        values, counts = np.unique(prior, return_counts=True)
        assert max(counts) == tied
        assert len(values) == 10 - tied + 1
    assert np.array_equal(shown(storm, 10), shown(judged_of(50, 10), 10))


def test_blocks_and_rotations_shown():
    judged = judged_of(4000, 7)
    blocks = shown(after("blocks-shown:3", judged), 7)
    kinds = {tuple(order) for order in blocks}
    # equal blocks of seven: 3 + 2 + 2, in every order
    first, second, third = (0, 1, 2), (3, 4), (5, 6)
    assert len(kinds) == 6
    assert (*third, *first, *second) in kinds
    assert shown(after("rotate-shown:2", judged), 7)[0].tolist() == [2, 3, 4, 5, 6, 0, 1]
    assert np.array_equal(shown(after("rotate-shown:7", judged), 7), shown(judged, 7))


def test_sorted_presentations_are_stable():
    grades = np.array([0, 2, 1, 2, 0])
    judged = judged_of(1, 5, grades=grades)
    assert after("label-shown:1", judged).lists.rows.tolist() == [1, 3, 2, 0, 4]
    assert after("label-shown:-1", judged).lists.rows.tolist() == [0, 4, 2, 1, 3]
    turned = after("reverse-shown:1", judged)
    assert after("id-shown:1", turned).lists.rows.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(("share", "left"), [(0.1, 9), (0.25, 7), (0.5, 5), (1.0, 1)])
def test_shares_that_leave(share, left):
    judged = judged_of(30, 10)
    cut, sampled = (after(f"{name}:{share}", judged).lists for name in ("cut", "sample"))
    assert np.all(cut.lengths == left)
    assert np.all(sampled.lengths == left)
    assert np.array_equal(cut.rows.reshape(30, left) % 10, np.tile(np.arange(left), (30, 1)))
    assert np.array_equal(cut.ranks[:left, 0], np.arange(left))


def test_the_top_leaves_and_singletons_stay():
    judged = judged_of(20, 6)
    assert shown(after("remove-top:2", judged), 4)[0].tolist() != [0, 1, 2, 3]
    assert (after("remove-top:2", judged).lists.rows % 6).reshape(20, 4)[3].tolist() == [2, 3, 4, 5]
    assert np.all(after("remove-top:9", judged).lists.rows % 6 == 5)
    assert np.all(after("singleton:1", judged).lists.lengths == 1)


@pytest.mark.parametrize("family", ["distractors", "hard-distractors"])
def test_distractors_are_other_queries_documents(family):
    draws = np.random.default_rng(0)
    features = draws.normal(size=(60, 3)).astype(np.float32)
    judged = judged_of(6, 10, features=features, grades=np.ones(60))
    grown = after(f"{family}:4", judged)
    row = origins(judged, grown)
    new = row < 0
    assert new.reshape(6, 14).sum(axis=1).tolist() == [4] * 6
    assert np.all(grown.dataset.labels[grown.lists.rows[new]] == 0)
    table = {tuple(cells): at for at, cells in enumerate(features)}
    query = np.repeat(np.arange(6), 14)[new]
    places = [table[tuple(cells)] for cells in grown.dataset.features[grown.lists.rows[new]]]
    assert np.all(np.array(places) // 10 != query)
    assert len({(q, place) for q, place in zip(query, places, strict=True)}) == 24
    assert np.array_equal(grown.lists.prior[new, 0], -(np.array(places) % 10).astype(np.float32))
    assert np.all(np.diff(grown.lists.prior[:14, 0]) <= 0)  # each stands where its prior puts it
    if family == "hard-distractors":
        scaled = features / features.std(axis=0)
        for index in range(6):
            away = ((scaled - scaled[index * 10]) ** 2).sum(axis=1)
            away[index * 10 : index * 10 + 10] = np.inf
            assert set(np.argsort(away)[:4]) == set(np.array(places)[query == index])


def test_duplicates_are_copies_and_near_ones_are_near():
    draws = np.random.default_rng(0)
    features = (draws.normal(size=(40, 2)) * [1, 100]).astype(np.float32)
    grades = draws.integers(0, 3, 40)
    judged = judged_of(4, 10, features=features, grades=grades)
    exact, near = after("duplicates:3", judged), after("near-duplicates:3", judged)
    for grown, far in ((exact, 0.0), (near, 0.06)):
        assert np.all(grown.lists.lengths == 13)
        new = origins(judged, grown) < 0
        shown_new = np.flatnonzero(new)
        for place in shown_new:  # a copy has its original's prior score and stands right behind it
            row = grown.lists.rows[place]
            original = grown.lists.rows[place - 1]
            assert grown.lists.prior[place, 0] == grown.lists.prior[place - 1, 0]
            assert grown.lists.ranks[place, 0] == grown.lists.ranks[place - 1, 0]
            assert grown.dataset.labels[row] == grown.dataset.labels[original]
            gap = np.abs(grown.dataset.features[row] - grown.dataset.features[original])
            assert np.all(gap <= far * features.std(axis=0))
            assert (gap > 0).all() == (far > 0)
    assert np.all(after("duplicates:99", judged).lists.lengths == 20)
    assert growth.NEAR == 0.01


def cells_after(text, features, seed=0):
    judged = judged_of(len(features) // 10, 10, features=features)
    return after(text, judged, seed).dataset.features


def test_noise_is_measured_in_deviations_of_the_column():
    draws = np.random.default_rng(0)
    features = (draws.normal(size=(20_000, 3)) * [1, 1000, 0]).astype(np.float32)
    added = cells_after("feature-noise:0.5", features) - features
    assert np.allclose(added.std(axis=0), 0.5 * features.std(axis=0), rtol=0.03)
    factors = cells_after("feature-scale:0.2", features)[:, 0] / features[:, 0]
    assert factors.std() == pytest.approx(0.2, rel=0.03)
    assert factors.mean() == pytest.approx(1, abs=0.01)


def test_coarse_features_by_formula():
    features = np.random.default_rng(0).normal(size=(500, 2)).astype(np.float32)
    step = 0.5 * features.astype(np.float64).std(axis=0)
    rounded = cells_after("feature-quantised:0.5", features)
    assert np.allclose(rounded, np.rint(features / step) * step, atol=1e-6)
    low, high = np.quantile(features.astype(np.float64), [0.1, 0.9], axis=0)
    assert np.allclose(cells_after("feature-clipped:0.1", features), features.clip(low, high))


@pytest.mark.parametrize(("family", "value"), [("missing-mean", None), ("missing-zero", 0.0)])
def test_exactly_that_share_of_the_cells_is_missing(family, value):
    features = np.random.default_rng(0).normal(3, 1, size=(100, 4)).astype(np.float32)
    found = cells_after(f"{family}:0.25", features)
    gone = found != features
    assert gone.sum() == 100
    filling = np.broadcast_to(features.astype(np.float64).mean(axis=0), (100, 4))
    expected = filling[gone] if value is None else value
    assert np.allclose(found[gone], expected)


@pytest.mark.parametrize("level", [1, 2, 9])
def test_so_many_columns_are_hit(level):
    features = np.random.default_rng(0).normal(3, 1, size=(200, 4)).astype(np.float32)
    count = min(level, 4)
    out, error, mixed = (
        cells_after(f"{family}:{level}", features)
        for family in ("group-out", "unit-error", "column-shuffled")
    )
    assert (np.ptp(out, axis=0) == 0).sum() == count
    factors = (error / features).mean(axis=0)
    assert (factors > 900).sum() == count
    assert np.isclose(factors, 1).sum() == 4 - count
    assert (mixed != features).any(axis=0).sum() == count
    assert np.array_equal(np.sort(mixed, axis=0), np.sort(features, axis=0))


GRADES = np.repeat([0.0, 1.0, 2.0], [20_000, 10_000, 10_000])


def relabelled(text, grades=GRADES, length=10):
    judged = judged_of(len(grades) // length, length, grades=grades)
    found = after(text, judged)
    assert np.array_equal(found.lists.rows, judged.lists.rows)
    return found.dataset.labels


def test_labels_flip_to_their_neighbours():
    found = relabelled("label-flips:0.3")
    table = np.array(
        [[np.sum((one == GRADES) & (found == to)) for to in range(3)] for one in range(3)]
    )
    shares = table / table.sum(axis=1, keepdims=True)
    expected = [[0.7, 0.3, 0], [0.15, 0.7, 0.15], [0, 0.3, 0.7]]
    assert np.allclose(shares, expected, atol=0.02)
    assert shares[0, 2] == shares[2, 0] == 0


def test_labels_flip_by_any_matrix():
    matrix = np.array([[0.0, 1.0], [0.25, 0.75]])
    judged = judged_of(2000, 10, grades=np.tile([0.0, 3.0], 10_000))
    found = labels.flips_by(matrix)(judged, 1.0, generator(0))
    assert np.all(found[judged.dataset.labels == 0] == 3)
    assert np.mean(found[judged.dataset.labels == 3] == 0) == pytest.approx(0.25, abs=0.02)
    with pytest.raises(ShapeError, match="grades"):
        labels.flips_by(np.eye(3))(judged, 1.0, generator(0))
    text = "/".join("_".join(map(str, row)) for row in matrix.tolist())
    named = perturb(parse(f"label-flips@{text}:1"), judged, generator(0))
    np.testing.assert_array_equal(named.dataset.labels, found.astype(np.float32))
    assert str(parse(f"label-flips@{text}:0.5")) == f"label-flips@{text}:0.5"
    for wrong in ("0.9_0.2/0_1", "a", "1_0", "2_-1/0_1", "nan_0/0_1"):
        with pytest.raises(ParameterError, match="label-flips matrix"):
            parse(f"label-flips@{wrong}:1")


def test_noise_and_censoring_touch_exactly_their_share():
    noisy = relabelled("label-noise:0.3")
    # a redrawn label is its old one with probability 1/3
    assert np.mean(noisy != GRADES) == pytest.approx(0.3 * 2 / 3, abs=0.01)
    censored = relabelled("label-censored:0.4")
    assert np.sum(censored != GRADES) == 8000
    assert np.all(censored[censored != GRADES] == 0)


def test_clicks_follow_their_models():
    grades = np.tile([2.0, 2.0, 0.0, 2.0], 2500)
    position = relabelled("clicks-position:400", grades, 4).reshape(-1, 4)
    # share of clicks: attraction 1 and .1, examination 1, 1/2, 1/3, 1/4; grade = round(2 · share)
    assert np.all(position[:, 0] == 2)
    assert np.mean(position[:, 1] == 1) > 0.99
    assert np.all(position[:, 2] == 0)
    cascade = relabelled("clicks-cascade:50", np.tile([0.0, 2.0, 2.0], 1000), 3).reshape(-1, 3)
    # one in ten leaves at the first document, all others at the second
    assert np.mean(cascade == [0, 2, 0]) > 0.99
    assert np.all(cascade[:, 2] == 0)
    single = relabelled("clicks-cascade:1", grades, 4).reshape(-1, 4)
    assert np.all(single == [2, 0, 0, 0])


@pytest.mark.parametrize(
    "name", ["cut:0.4", "sample:0.4", "remove-top:2", "demote-best:3", "shuffle:1"]
)
def test_chance_has_a_say_where_two_draws_differ(name):
    judged = judged_of(40, 12, grades=np.tile(np.arange(12) % 3, 40))
    one, other = (
        perturb(parse(name), judged, np.random.default_rng(seed)).lists.rows for seed in (0, 1)
    )
    assert PERTURBATIONS[name.partition(":")[0]].random == (not np.array_equal(one, other))


def test_absent_cells_stay_absent_until_another_number_is_written():
    """XGBoost models read them as missing; a 0 that is written is a number."""
    judged = judged_of(20, 6, features=np.random.default_rng(2).random((120, 3), np.float32) + 1)
    features = np.array(judged.dataset.features)
    absent = np.random.default_rng(0).random(features.shape) < 0.4
    features[absent] = 0
    bits = np.packbits(absent, axis=1)
    dataset = replace(judged.dataset, features=features, absent=bits, fingerprint="")
    judged = replace(judged, dataset=dataset)

    def after(name):
        changed = perturb(parse(name), judged, np.random.default_rng(1)).dataset
        assert changed.fingerprint != dataset.fingerprint
        return changed.features, changed.absent_cells()

    cells, left = after("feature-noise:0.5")
    assert not left[cells != 0].any()
    cells, left = after("missing-zero:0.5")
    np.testing.assert_array_equal(left, absent)
    columns = features.shape[1]
    cells, left = after(f"column-shuffled:{columns}")
    assert (left.sum(axis=0) == absent.sum(axis=0)).all()
    assert (left != absent).any()
    assert not cells[left].any(), "absence moves with its cell"
    copies = perturb(parse("duplicates:1"), judged, np.random.default_rng(1)).dataset
    old = [row.tobytes() for row in features]
    for row, mask in zip(copies.features, copies.absent_cells(), strict=True):
        np.testing.assert_array_equal(mask, absent[old.index(row.tobytes())])
    near = perturb(parse("near-duplicates:1"), judged, np.random.default_rng(1)).dataset
    assert not near.features[near.absent_cells()].any()
