"""The preset `tuned` beside `paper` on real sets: no worse in the mean, nor beyond chance."""

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
@pytest.mark.parametrize("ranker", ["ranksvm", "irsvm", "rankboost"])
def test_tuned_is_no_worse_than_paper_over_the_sets(sets, ranker):
    rows = list(tuned.rows_of(ranker, sets))
    assert len(rows) == 2 * (len(sets) + 1) * len(tuned.MEASURES)
    worse = [row.job for row in rows if row.floor is not None and row.ratio < row.floor]
    assert not worse, "beyond chance on a set, or in the mean"
    means = [row for row in rows if f"{tuned.TOGETHER} held out" in row.job]
    assert [row.floor for row in means] == [1.0] * len(tuned.MEASURES)


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
