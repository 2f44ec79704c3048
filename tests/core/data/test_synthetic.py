"""The planted data: reproduced bit for bit, exact as text, and solved only by reading the list."""

import gzip

import numpy as np
import pytest

from shuffleproof.core.data import synthetic
from shuffleproof.core.data.synthetic import oracle, planted
from tests import places

SAMPLE = places.ROOT / "sample_data"


@pytest.fixture(scope="module")
def fold():
    return planted()


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


def test_oracle_is_the_planted_formula(fold):
    part = fold.test
    strong, hint, heavy, plain, large, bent, *_ = part.features.astype(np.float64).T
    for start, end in zip(part.offsets[:-1], part.offsets[1:], strict=True):
        own = slice(start, end)
        sign = np.sign(hint[own].mean())
        useful = 3 * sign * strong[own] + 2 * heavy[own] + plain[own] + np.maximum(bent[own], 0)
        expected = useful + large[own] / 1000 - 4
        np.testing.assert_allclose(oracle(part)[own], expected, atol=0.011)  # of whole hundredths
