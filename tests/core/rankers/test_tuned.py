"""The choice of the preset `tuned`, with one data set left out at a time."""

import numpy as np
import pytest

from shuffleproof.core.bench import tuned
from shuffleproof.core.data.dataset import Fold
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.registry import HELD_OUT, RANKERS
from shuffleproof.core.seeds import generator

absent = pytest.mark.skipif(
    tuned.sets_in() != list(tuned.SETS), reason="real data: ../shared/data is absent"
)


@pytest.fixture(scope="module")
def sets():
    return {name: tuned.open_fold(name) for name in tuned.SETS}


@absent
def test_real_sets_share_no_query_between_their_parts(sets):
    sizes = {name: (f.train.queries, f.valid.queries, f.test.queries) for name, f in sets.items()}
    assert sizes == {
        "mq2008": (314, 157, 157), "clueweb09": (12, 12, 12), "lightgbm": (161, 40, 50),
        "mslr-sample": (11, 3, 4),
    }  # fmt: skip
    for fold in sets.values():
        ids = [set(part.query_ids) for part in (fold.train, fold.valid, fold.test)]
        assert len(set().union(*ids)) == sum(map(len, ids))
        assert fold.train.feature_ids == fold.valid.feature_ids == fold.test.feature_ids
        whole = tuned.development(fold)
        np.testing.assert_array_equal(whole.features[: fold.train.documents], fold.train.features)
        assert whole.query_ids == fold.train.query_ids + fold.valid.query_ids


@absent
@pytest.mark.slow
@pytest.mark.parametrize("ranker", ["ranksvm", "irsvm"])
def test_what_is_chosen_on_other_sets_is_not_below_paper_on_the_set_left_out(sets, ranker):
    some = {name: sets.get(name) or tuned.open_fold(name) for name in ("sample", "lightgbm")}
    rows = [row for row in tuned.left_out_rows(ranker, some) if row.floor is not None]
    assert len(rows) == 2 * len(tuned.MEASURES)
    assert [row.job for row in rows if row.ratio < row.floor] == []


def test_a_setting_is_chosen_without_the_set_that_it_is_measured_on(monkeypatch):
    """A setting that gains .5 on the set left out and loses .1 elsewhere is not chosen for it."""
    gains = {"a": (0.5, 0.0), "b": (-0.1, 0.0), "c": (-0.1, 0.2)}
    monkeypatch.setitem(tuned.SETTINGS, "ranksvm", [{"cost": 1.0}, {"cost": 2.0}])

    part = tuned.RankingDataset(
        np.ones((1, 1), np.float32), np.ones(1, np.float32), np.array([0, 1]), ("q",), (1,)
    )
    folds = {name: Fold(part, part, part) for name in gains}

    def values(spec, fold):
        (name,) = (name for name, one in folds.items() if one is fold)
        gain = {1.0: gains[name][0], 2.0: gains[name][1]}.get(spec.cost, 0.0)
        return np.full((len(tuned.MEASURES), 200), 0.3 + gain)

    monkeypatch.setattr(tuned, "held_out", values)
    rows = {row.job: row for row in tuned.left_out_rows("ranksvm", folds)}
    assert "'cost': 2.0" in rows["tuned ranksvm a left out NDCG@10"].note
    assert rows["tuned ranksvm a left out NDCG@10"].ratio == pytest.approx(1.0)
    assert "'cost': 1.0" in rows["tuned ranksvm c left out NDCG@10"].note
    assert (
        rows["tuned ranksvm c left out NDCG@10"].ratio
        < rows["tuned ranksvm c left out NDCG@10"].floor
    )


@pytest.mark.parametrize("ranker", ["rankboost", "frank-additive"])
def test_tuned_is_paper_where_it_lost_on_a_set_left_out(ranker):
    assert registry.spec(ranker, "tuned") == registry.spec(ranker, "paper")
    assert "the same recipe as paper" in RANKERS[ranker].how_tuned


def test_held_out_queries_are_ranked_by_what_did_not_see_them(monkeypatch):
    draws = generator(0, "held out")
    one = tuned.RankingDataset(
        draws.normal(size=(60, 2)).astype(np.float32),
        np.tile([0, 1, 2], 20).astype(np.float32),
        np.arange(0, 61, 3),
        tuple(f"q{query}" for query in range(20)),
        (1, 2),
    )
    fold = Fold(one.select(np.arange(12)), one.select(np.arange(12, 20)), one)
    seen, real = [], tuned.values_of

    def fitted(spec, train, valid):
        assert spec is recipe
        assert not set(train.query_ids) & set(valid.query_ids)
        seen.append(set(train.query_ids) | set(valid.query_ids))
        return registry.spec("ideal").ranker

    def values_of(ranker, asked):
        assert not seen[-1] & set(asked.query_ids)
        assert len(seen[-1]) + asked.queries == 20
        return real(ranker, asked)

    recipe = registry.spec("ranksvm", "tuned")
    monkeypatch.setattr(tuned, "_fitted", fitted)
    monkeypatch.setattr(tuned, "values_of", values_of)
    np.testing.assert_allclose(tuned.held_out(recipe, fold), 1)
    assert len(seen) == tuned.PARTS


def test_what_is_said_to_be_compared_is_what_the_bench_compares():
    said = {name for name, entry in RANKERS.items() if entry.how_tuned == HELD_OUT}
    assert said <= set(tuned.RANKERS)


def test_without_real_data_the_bench_says_so(monkeypatch):
    monkeypatch.setattr(tuned, "sets_in", list)
    (row,) = tuned.tuned(quick=True)
    assert row.ratio is None
    assert "no real data" in row.note
