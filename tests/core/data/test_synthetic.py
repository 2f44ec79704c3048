"""The planted data: reproduced bit for bit, exact as text, and solved only by reading the list."""

import gzip
import io

import lightgbm
import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file
from sklearn.metrics import ndcg_score

from shuffleproof.core.data import ragged, synthetic
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.synthetic import letor_text, oracle, planted
from tests import places

SAMPLE = places.ROOT / "sample_data"


@pytest.fixture(scope="module")
def fold():
    return planted()


def mean_ndcg(dataset: RankingDataset, scores: np.ndarray) -> float:
    """NDCG@10 with gain 2^y − 1, over the queries with a relevant document."""
    values = []
    for start, end in zip(dataset.offsets[:-1], dataset.offsets[1:], strict=True):
        gains = 2.0 ** dataset.labels[start:end] - 1
        if gains.max() > 0:
            values.append(ndcg_score([gains], [scores[start:end]], k=10))
    return float(np.mean(values))


def test_the_sample_is_reproduced_bit_for_bit(tmp_path):
    synthetic.write_sample(tmp_path / "first")
    synthetic.write_sample(tmp_path / "second")
    total = 0
    for name in ("train.txt.gz", "vali.txt.gz", "test.txt.gz"):
        committed = (SAMPLE / name).read_bytes()
        ours = (tmp_path / "first" / name).read_bytes()
        assert gzip.decompress(ours) == gzip.decompress(committed)
        assert ours == (tmp_path / "second" / name).read_bytes()
        total += len(committed)
    assert total <= 2e6


def test_text_reads_back_exactly_with_an_independent_reader(fold):
    text = letor_text(fold.valid).encode()
    values, labels, queries = load_svmlight_file(
        io.BytesIO(text), n_features=10, query_id=True, zero_based=False
    )
    assert np.array_equal(values.toarray().astype(np.float32), fold.valid.features)
    assert np.array_equal(labels, fold.valid.labels)
    owner = ragged.segment_ids(fold.valid.offsets)
    assert queries.tolist() == [int(fold.valid.query_ids[query]) for query in owner]
    assert text.count(b"#docid = D") == fold.valid.documents


def test_shape_and_grades(fold):
    assert (fold.train.queries, fold.valid.queries, fold.test.queries) == (400, 100, 150)
    ids = fold.train.query_ids + fold.valid.query_ids + fold.test.query_ids
    assert len(set(ids)) == 650
    lengths = np.diff(fold.train.offsets)
    assert (lengths.min(), lengths.max()) == (36, 44)
    shares = np.bincount(fold.train.labels.astype(int)) / fold.train.documents
    assert len(shares) == 5
    assert shares.min() > 0.02
    assert len(set(fold.train.doc_ids)) == fold.train.documents
    best = np.maximum.reduceat(fold.train.labels, fold.train.offsets[:-1])
    assert 0.05 < (best == 0).mean() < 0.2


def test_seeds_and_query_numbers_decide():
    small = planted((4, 2, 2), seed=5, documents=12)
    assert planted((4, 2, 2), seed=5, documents=12).fingerprint == small.fingerprint
    assert planted((4, 2, 2), seed=6, documents=12).fingerprint != small.fingerprint
    longer = planted((6, 1, 1), seed=5, documents=12).train
    assert np.array_equal(longer.features[: small.train.documents], small.train.features)
    assert np.array_equal(longer.select(np.array([4, 5])).labels, small.valid.labels)


@pytest.mark.parametrize("documents", [1, 2, 10])
def test_short_lists(documents):
    part = planted((30, 1, 1), seed=3, documents=documents).train
    assert np.isfinite(oracle(part)).all()
    assert np.diff(part.offsets).min() >= 1


def test_row_order_tells_nothing(fold):
    places = ragged.places_of(fold.train.offsets)
    correlation = np.corrcoef(places, fold.train.labels)[0, 1]
    assert abs(correlation) < 4 / np.sqrt(fold.train.documents)
    draws = np.random.default_rng(0)
    random = [mean_ndcg(fold.train, draws.random(fold.train.documents)) for _ in range(10)]
    assert abs(mean_ndcg(fold.train, -places.astype(float)) - np.mean(random)) < 0.04


def test_the_sign_is_certain_in_the_list_and_weak_in_a_document(fold):
    part = fold.train
    owner = ragged.segment_ids(part.offsets)
    means = np.add.reduceat(part.features[:, 1], part.offsets[:-1]) / np.diff(part.offsets)
    per_query = np.array(
        [
            np.corrcoef(part.features[start:end, 0], oracle(part)[start:end])[0, 1]
            for start, end in zip(part.offsets[:-1], part.offsets[1:], strict=True)
        ]
    )
    assert np.array_equal(means > 0, per_query > 0)
    right = np.sign(part.features[:, 1]) == np.sign(means[owner])
    assert 0.6 < right.mean() < 0.72
    assert 0.4 < (means > 0).mean() < 0.6


def test_oracle_is_the_planted_formula(fold):
    part = fold.test
    strong, hint, heavy, plain, large, bent, *_ = part.features.astype(np.float64).T
    for start, end in zip(part.offsets[:-1], part.offsets[1:], strict=True):
        own = slice(start, end)
        sign = np.sign(hint[own].mean())
        useful = 3 * sign * strong[own] + 2 * heavy[own] + plain[own] + np.maximum(bent[own], 0)
        expected = useful + large[own] / 1000 - 4
        np.testing.assert_allclose(oracle(part)[own], expected, atol=0.011)  # of whole hundredths


def test_oracle_is_blind_to_row_order(fold):
    part = fold.valid
    order = ragged.order_within(part.offsets, np.random.default_rng(1).random(part.documents))
    shuffled = RankingDataset(
        part.features[order], part.labels[order], part.offsets, part.query_ids, part.feature_ids
    )
    assert np.array_equal(oracle(shuffled), oracle(part)[order])


def lambdamart_ndcg(fold, *, extended: bool) -> float:
    def columns(part: RankingDataset) -> np.ndarray:
        if not extended:
            return part.features
        means = np.add.reduceat(part.features[:, 1], part.offsets[:-1]) / np.diff(part.offsets)
        return np.column_stack([part.features, means[ragged.segment_ids(part.offsets)]])

    data = lightgbm.Dataset(
        columns(fold.train), fold.train.labels, group=np.diff(fold.train.offsets)
    )
    recipe = {
        "objective": "lambdarank",
        "num_leaves": 20,
        "learning_rate": 0.1,
        "verbose": -1,
        "num_threads": 2,
        "deterministic": True,
        "seed": 1,
    }
    model = lightgbm.train(recipe, data, num_boost_round=80)
    return mean_ndcg(fold.test, model.predict(columns(fold.test), num_threads=2))


def test_reading_the_list_pays_clearly(fold):
    single = max(
        mean_ndcg(fold.test, sign * fold.test.features[:, column])
        for column in range(10)
        for sign in (1, -1)
    )
    alone = lambdamart_ndcg(fold, extended=False)
    with_list = lambdamart_ndcg(fold, extended=True)
    best = mean_ndcg(fold.test, oracle(fold.test))
    assert single + 0.15 < alone < with_list - 0.1
    assert with_list < best
    assert best > 0.84
