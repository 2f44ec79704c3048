"""The planted data are reproduced bit for bit."""

import gzip

import numpy as np

from tests import places, synthetic
from tests.synthetic import planted

SAMPLE = places.ROOT / "sample_data"


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
