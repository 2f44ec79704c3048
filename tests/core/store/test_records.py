"""Records: whole or not there, exact, and safe for several writers."""

import errno
import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from shuffleproof.core.errors import ArtefactError, ParameterError
from shuffleproof.core.store import records
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.records import Records
from tests import places

ROOT = places.ROOT
DIGEST = hashlib.sha256(b"trial").hexdigest()

arrays = npst.arrays(
    dtype=st.sampled_from([np.float32, np.float64, np.int64, np.int32, np.bool_, np.uint8]),
    shape=npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)


@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), arrays, max_size=3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
def test_round_trip_is_exact(tmp_path, content):
    digest = hashlib.sha256(repr(sorted(content.items())).encode()).hexdigest()
    box = Records(tmp_path / digest)
    box.put(digest, {"tau": 0.1, "name": "ü"}, content)
    meta, back = box.get(digest)
    assert meta == {"tau": 0.1, "name": "ü"}
    assert back.keys() == content.keys()
    for name, array in content.items():
        assert back[name].dtype == array.dtype
        assert back[name].shape == array.shape
        assert back[name].tobytes() == array.tobytes()


def test_absent_then_there_then_kept(tmp_path):
    box = Store(tmp_path).records
    assert box.get(DIGEST) is None
    assert DIGEST not in box
    box.put(DIGEST, {"run": 1}, {"values": np.arange(3.0)[::-1]})
    box.put(DIGEST, {"run": 2}, {})
    meta, back = box.get(DIGEST)
    assert (meta, back["values"].tolist()) == ({"run": 1}, [2.0, 1.0, 0.0])
    assert DIGEST in box
    assert not list((box.directory / "incoming").iterdir())


@pytest.mark.parametrize("place", [0, 9, 60, -1])
def test_damage_is_told(tmp_path, place):
    box = Records(tmp_path)
    box.put(DIGEST, {"run": 1}, {"values": np.arange(3.0)})
    (path,) = tmp_path.glob("*/*.safetensors")
    content = bytearray(path.read_bytes())
    content[place] ^= 4
    path.write_bytes(bytes(content))
    with pytest.raises(ArtefactError, match="computed again"):
        box.get(DIGEST)
    path.write_bytes(bytes(content[:50]))
    with pytest.raises(ArtefactError, match="computed again"):
        box.get(DIGEST)


def test_full_disk_leaves_no_record(tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    box = Records(tmp_path)
    monkeypatch.setattr(records.os, "fsync", full)
    with pytest.raises(ArtefactError, match="no space left"):
        box.put(DIGEST, {}, {"values": np.zeros(3)})
    assert box.get(DIGEST) is None
    assert not list((tmp_path / "incoming").iterdir())


def test_abandoned_files_go_after_an_hour_and_young_ones_stay(tmp_path):
    box = Records(tmp_path)
    (tmp_path / "incoming").mkdir(parents=True)
    old, young = tmp_path / "incoming" / "old", tmp_path / "incoming" / "young"
    old.touch()
    young.touch()
    os.utime(old, (0, 0))
    box.put(DIGEST, {}, {})
    assert (old.exists(), young.exists()) == (False, True)


@pytest.mark.parametrize("digest", ["../../x", "", "ABC", "zz" * 16])
def test_digests_only(tmp_path, digest):
    with pytest.raises(ParameterError):
        Records(tmp_path).get(digest)


def test_two_processes_put_the_same_records(tmp_path):
    code = """
import sys, hashlib
from pathlib import Path
import numpy as np
from shuffleproof.core.store.records import Records
box = Records(Path(sys.argv[1]))
for number in range(40):
    digest = hashlib.sha256(bytes([number])).hexdigest()
    box.put(digest, {"number": number}, {"v": np.full(50, number)})
    assert box.get(digest)[0]["number"] == number
assert "torch" not in sys.modules
"""
    workers = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT) for _ in range(2)
    ]
    assert [worker.wait(timeout=60) for worker in workers] == [0, 0]
    box = Records(tmp_path)
    for number in range(40):
        _, back = box.get(hashlib.sha256(bytes([number])).hexdigest())
        assert (back["v"] == number).all()
