"""The planted data are reproduced bit for bit."""

import gzip

from tests import places, synthetic

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
