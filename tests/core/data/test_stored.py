import io
import json

import numpy as np
import pytest
from safetensors.numpy import load_file

from shuffleproof.core.data import mapped_file
from shuffleproof.core.data.dataset import Fold, RankingDataset
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.errors import DataError
from tests import loading

TEXT = (
    b"2 qid:7 1:0.5 3:-2 #docid = GX1 inc = 1\n0 qid:7 2:0.25 # docid = \xc3\xa4\n"
    b"1 qid:x\xc3\xbc 5:1e-3\n"
)


@pytest.fixture
def dataset():
    return loading.read(io.BytesIO(TEXT)).dataset


def same(one: RankingDataset, other: RankingDataset) -> bool:
    return (
        one.features.tobytes() == other.features.tobytes()
        and one.features.shape == other.features.shape
        and one.labels.tobytes() == other.labels.tobytes()
        and one.offsets.tolist() == other.offsets.tolist()
        and (one.query_ids, one.feature_ids) == (other.query_ids, other.feature_ids)
        and list(one.doc_ids or ()) == list(other.doc_ids or ())
        and list(one.comments or ()) == list(other.comments or ())
        and (one.comments is None) == (other.comments is None)
        and one.fingerprint == other.fingerprint
    )


def test_what_is_saved_opens_alike(dataset, tmp_path):
    fields = {name: getattr(dataset, name) for name in dataset.__dataclass_fields__}
    named = {"doc_ids": TextColumn.of(["a", "", "ö"]), "fingerprint": ""}
    empty = dataset.select(np.zeros(0, np.int64))
    for one in (dataset, dataset.select(np.array([1, 0])), RankingDataset(**fields | named), empty):
        mapped_file.save(one, tmp_path / "a.safetensors")
        back = mapped_file.open_(tmp_path / "a.safetensors")
        assert same(one, back)
        assert not back.features.flags.writeable
        for array in (back.features, back.labels, back.offsets):
            assert not len(array) or array.ctypes.data % mapped_file.ALIGNMENT == 0
    mapped_file.save(dataset, tmp_path / "a.safetensors")
    back = mapped_file.open_(tmp_path / "a.safetensors")
    assert not back.features.flags.owndata
    assert back.comments.blob is back.doc_ids.blob
    assert [file.name for file in tmp_path.iterdir()] == ["a.safetensors"]


def test_the_fingerprint_is_stored_and_not_recomputed(dataset, tmp_path):
    fields = {name: getattr(dataset, name) for name in dataset.__dataclass_fields__}
    mapped_file.save(RankingDataset(**fields | {"fingerprint": "told"}), tmp_path / "a")
    assert mapped_file.open_(tmp_path / "a").fingerprint == "told"


def test_any_safetensors_reader_reads_it(dataset, tmp_path):
    mapped_file.save(dataset, tmp_path / "a")
    arrays = load_file(tmp_path / "a")
    assert arrays["features"].tolist() == dataset.features.tolist()
    assert arrays["labels"].tolist() == dataset.labels.tolist()


def test_folds(dataset, tmp_path):
    parts = [dataset.select(np.array(queries)) for queries in ([0], [1], [0, 1])]
    fold = Fold(*parts)
    mapped_file.save_fold(fold, tmp_path / "fold")
    back = mapped_file.open_fold(tmp_path / "fold")
    assert back.fingerprint == fold.fingerprint
    assert same(back.test, parts[2])
    mapped_file.save(parts[0], tmp_path / "fold" / "test.safetensors")
    with pytest.raises(DataError, match="parts of different folds"):
        mapped_file.open_fold(tmp_path / "fold")
    with pytest.raises(DataError, match=r"fold\.json"):
        mapped_file.open_fold(tmp_path)


def test_damaged_files_are_refused(dataset, tmp_path):
    path = tmp_path / "a"
    mapped_file.save(dataset, path)
    whole = path.read_bytes()
    length = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + length])
    header["features"]["shape"] = [3, 99]
    lying = json.dumps(header).encode()
    cases = [
        b"",
        whole[:5],
        whole[: length // 2],
        whole[:-30],
        b"\xff" * 100,
        b"\0" * 200,
        len(lying).to_bytes(8, "little") + lying + whole[8 + length :],
        whole.replace(mapped_file.FORMAT.encode(), b"shuffleproof-dataset-0"),
    ]
    for case in cases:
        path.write_bytes(case)
        with pytest.raises(DataError, match="Ingest the data again"):
            mapped_file.open_(path)
    with pytest.raises(DataError, match="nowhere"):
        mapped_file.open_(tmp_path / "nowhere")
