import gzip

import numpy as np
import pytest

from shuffleproof.core.data import layout, source
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.errors import DataError, ParameterError
from tests import loading, places

DATA = places.DATA
needs_data = pytest.mark.skipif(not DATA.exists(), reason="needs the real data folder")


def text(queries: range, feature: int) -> str:
    return "".join(f"{q % 2} qid:{q} 1:{q} {feature}:{doc}\n" for q in queries for doc in (1, 2))


def test_parts_share_their_columns(tmp_path):
    (tmp_path / "train.txt").write_text(text(range(4), 3))
    (tmp_path / "vali.txt.gz").write_bytes(gzip.compress(text(range(4, 6), 7).encode()))
    (tmp_path / "test.txt").write_text(text(range(6, 8), 2))
    (tmp_path / "README").write_text("nothing")
    (loaded,) = loading.load(tmp_path)
    fold = loaded.fold
    for part in (fold.train, fold.valid, fold.test):
        assert part.feature_ids == (1, 2, 3, 7)
    assert fold.train.features[0].tolist() == [0, 0, 1, 0]
    assert fold.valid.features[1].tolist() == [4, 0, 0, 2]
    assert fold.test.query_ids == ("6", "7")
    (tmp_path / "vali.txt.gz").unlink()
    *said, unread = loading.load(tmp_path)[0].notes
    assert unread == "Not read: README."
    said = [note.partition(" ")[0] for note in said]
    assert said == ["train:", "test:", "No"], "what is split off was told with the training file"


def test_folds_in_order_of_their_number(tmp_path):
    for number in (10, 2, 1):
        folder = tmp_path / f"Fold{number}"
        folder.mkdir()
        for name in ("train", "vali", "test"):
            (folder / f"{name}.txt").write_text(text(range(number, number + 3), 2))
    assert [parts.name for parts in layout.find(tmp_path)] == ["Fold1", "Fold2", "Fold10"]
    assert [loaded.fold.train.query_ids[0] for loaded in loading.load(tmp_path)] == ["1", "2", "10"]


def test_files_of_a_part_are_read_one_after_the_other(tmp_path):
    files = []
    for part in range(4):
        files.append(tmp_path / f"S{part}.txt")
        files[-1].write_text(text(range(3 * part, 3 * part + 3), part + 2))
    files[1].write_text("2 qid:2 1:9\n" + files[1].read_text())
    fold = loading.load_files(train=files[:2], valid=files[2:3], test=files[3:])
    assert fold.train.query_ids == ("0", "1", "2", "3", "4", "5")
    assert np.diff(fold.train.offsets).tolist() == [2, 2, 3, 2, 2, 2]
    assert fold.train.labels[4:7].tolist() == [0, 0, 2]
    assert fold.test.feature_ids == (1, 2, 3, 4, 5)


@pytest.mark.parametrize("fractions", [(0.6, 0.2, 0.2), (0.3, 0.1, 0.2)])
def test_a_file_split_while_read_equals_the_whole_split_afterwards(tmp_path, fractions):
    rows = [
        f"{q % 3} qid:{q} 1:{q} 2:{doc} #docid = D{q}-{doc}\n"
        for doc in (1, 2, 3)
        for q in range(20)
    ]
    (tmp_path / "whole.txt").write_text("".join(rows[:47]))
    (loaded,) = loading.load(tmp_path / "whole.txt", seed=3, fractions=fractions)
    whole = loading.read(tmp_path / "whole.txt").dataset
    expected = source.split(whole, 3, fractions)
    for part in ("train", "valid", "test"):
        found, wanted = getattr(loaded.fold, part), getattr(expected, part)
        assert found.query_ids == wanted.query_ids
        assert np.array_equal(found.features, wanted.features)
        assert list(found.doc_ids) == list(wanted.doc_ids)
        assert found.fingerprint == wanted.fingerprint
    assert "20 queries were scattered" in loaded.notes[0]


@pytest.mark.parametrize("gap", ["NULL", "6"])
def test_means_of_missing_cells_are_the_training_parts(tmp_path, gap):
    train = f"0 qid:1 1:{gap} 2:1\n0 qid:1 1:4 2:1\n0 qid:1 1:8 2:1\n"
    (tmp_path / "train.txt").write_text(train)
    (tmp_path / "valid.txt").write_text("0 qid:2 1:100 2:1\n")
    (tmp_path / "test.txt").write_text("0 qid:3 1:NULL 2:1\n")
    (loaded,) = loading.load(tmp_path, missing="mean")
    assert loaded.fold.train.features[0, 0] == 6
    assert loaded.fold.test.features[0, 0] == 6
    assert any("test: 1 missing" in note for note in loaded.notes)


@pytest.mark.parametrize("of_parts", [False, True])
def test_means_of_missing_cells_are_those_of_the_queries_learnt_from(tmp_path, of_parts):
    path, other = tmp_path / "all.txt", tmp_path / "other.txt"
    rows = [f"0 qid:{query} 1:{query}\n1 qid:{query} 1:NULL\n" for query in range(1, 31)]
    path.write_text("".join(rows))
    other.write_text("0 qid:99 1:500\n1 qid:99 1:NULL\n")
    if of_parts:
        fold = loading.load_files([path], [], [other], missing="mean")
    else:
        fold = loading.load(path, missing="mean")[0].fold
    mean = np.float32(np.mean([int(query) for query in fold.train.query_ids]))
    for part in (fold.train, fold.valid, fold.test):
        assert (part.features[part.labels == 1] == mean).all()


def _queries(part: RankingDataset) -> set[str]:
    return set(part.query_ids)


def test_one_file_is_split_by_query(tmp_path):
    path = tmp_path / "all.txt"
    path.write_text(text(range(50), 2))
    one, again, other = (loading.load(path, seed=seed)[0].fold for seed in (1, 1, 2))
    assert one.fingerprint == again.fingerprint != other.fingerprint
    parts = [_queries(part) for part in (one.train, one.valid, one.test)]
    assert [len(part) for part in parts] == [30, 10, 10]
    assert set.union(*parts) == {str(query) for query in range(50)}
    with pytest.raises(ParameterError):
        loading.load(path, fractions=(0.5, 0.5, 0.5))
    path.write_text(text(range(3), 2))
    assert loading.load(path, fractions=(0.9, 0.05, 0.05))[0].fold.train.queries == 1
    path.write_text(text(range(2), 2))
    with pytest.raises(DataError, match="2 queries for 3 parts"):
        loading.load(path)


def test_folders_that_cannot_be_read_say_why(tmp_path):
    with pytest.raises(DataError, match="no train and test files, but nothing"):
        loading.load(tmp_path)
    for name in ("train.txt", "train.dat", "test.txt"):
        (tmp_path / name).write_text(text(range(2), 2))
    with pytest.raises(DataError, match=r"several train files.*name the files of each part"):
        loading.load(tmp_path)
    with pytest.raises(DataError, match="nowhere"):
        loading.load(tmp_path / "nowhere")


@needs_data
def test_the_published_example_with_group_files_and_no_validation():
    (loaded,) = loading.load(DATA / "lightgbm_rank")
    fold = loaded.fold
    assert fold.train.queries + fold.valid.queries == 201
    assert fold.train.documents + fold.valid.documents == 3005
    assert (fold.test.queries, fold.test.documents) == (50, 768)
    assert fold.train.feature_ids == fold.test.feature_ids
    assert "a fifth of the training queries" in loaded.notes[-1]
