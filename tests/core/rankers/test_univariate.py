"""Rankers that need no fitting."""

import numpy as np
import pytest

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import ParameterError, ShapeError, UnknownNameError
from shuffleproof.core.rankers import univariate

NAMES = ("feature:7", "file-order", "random", "ideal")
OFFSETS = np.array([0, 5, 5, 9], dtype=np.int64)


def dataset(seed=0, query_ids=("a", "none", "b")):
    draws = np.random.default_rng(seed)
    return RankingDataset(
        features=draws.normal(size=(9, 3)).astype(np.float32),
        labels=draws.integers(0, 3, 9).astype(np.float32),
        offsets=OFFSETS.copy(),
        query_ids=query_ids,
        feature_ids=(1, 7, 9),
    )


def fitted(name, data, **changes):
    everything = JudgedLists(data, CandidateLists.all_documents(data))
    fitting = univariate.spec(name, **changes).fit(everything, everything)
    assert next(fitting).done == 1
    with pytest.raises(StopIteration) as finished:
        next(fitting)
    return finished.value.value


@pytest.mark.parametrize("name", NAMES)
def test_saved_is_loaded(name, tmp_path):
    ranker = fitted(name, dataset(), seed=5)
    ranker.save(tmp_path)
    assert univariate.load(tmp_path) == ranker


def test_scores_are_what_the_names_say():
    data = dataset()
    lists = CandidateLists.all_documents(data)
    assert np.array_equal(fitted("feature:7", data).score(data, lists), data.features[:, 1])
    assert np.array_equal(fitted("ideal", data).score(data, lists), data.labels)
    places = fitted("file-order", data).score(data, lists)
    assert places.tolist() == [0, -1, -2, -3, -4, 0, -1, -2, -3]


def test_a_missing_value_comes_last():
    data = dataset()
    features = data.features.copy()
    features[2, 1] = np.nan
    holed = RankingDataset(features, data.labels, OFFSETS, data.query_ids, data.feature_ids)
    scores = fitted("feature:7", holed).score(holed, CandidateLists.all_documents(holed))
    assert np.argmin(scores) == 2
    assert np.isfinite(scores).all()


def test_random_depends_on_seed_query_and_place_alone():
    data = dataset()
    lists = CandidateLists.all_documents(data)
    scores = fitted("random", data).score(data, lists)
    other_content = dataset(seed=9)
    assert np.array_equal(fitted("random", data).score(other_content, lists), scores)
    swapped = data.select(np.array([2, 0]))
    again = fitted("random", data).score(swapped, CandidateLists.all_documents(swapped))
    assert np.array_equal(again, np.concatenate([scores[5:], scores[:5]]))
    renamed = dataset(query_ids=("c", "none", "b"))
    elsewhere = fitted("random", data).score(renamed, lists)
    assert not np.array_equal(elsewhere[:5], scores[:5])
    assert np.array_equal(elsewhere[5:], scores[5:])
    reseeded = fitted("random", data, seed="1").score(data, lists)
    assert not np.array_equal(reseeded, scores)


def test_what_is_not_there_is_refused():
    with pytest.raises(ShapeError, match="id 3"):
        fitted("feature:3", dataset())
    for name in ("feature:x", "feature:", "best"):
        with pytest.raises(UnknownNameError, match="univariate ranker"):
            univariate.spec(name)
    with pytest.raises(ParameterError, match="seed"):
        univariate.spec("random", seed="many")
