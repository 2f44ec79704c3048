"""Data sets by name: stored once, found by name, key and path, folds named, nothing half-stored."""

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shuffleproof.core.data.catalogue import ReadingOptions, find, ingest, resolve
from shuffleproof.core.data.layout import Parts
from shuffleproof.core.data.letor.write import write
from shuffleproof.core.errors import ArtefactError, DataError
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.workbench import run_to_end
from tests.synthetic import planted


@pytest.fixture(scope="module")
def fold():
    return planted(queries=(6, 3, 3), seed=4, documents=5)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def written(fold, folder):
    folder.mkdir(parents=True)
    for part, name in ((fold.train, "train"), (fold.valid, "vali"), (fold.test, "test")):
        write(part, folder / f"{name}.txt")
    return folder


def test_a_folder_is_stored_once_and_found_by_name_key_and_path(fold, store, tmp_path):
    folder = written(fold, tmp_path / "set")
    (first,) = run_to_end(ingest(folder, "mine", store))
    (second,) = run_to_end(ingest(folder, "also-mine", store))
    assert first.key == second.key
    for text in ("mine", "also-mine", str(first.key), str(folder)):
        opened = resolve(text, store)
        assert opened.fingerprint == first.facts["fingerprint"]
        np.testing.assert_array_equal(opened.test.features, fold.test.features)
    assert len(list(store.artefacts("data"))) == 1
    assert first.facts["queries"] == 12
    assert first.facts["parts"]["valid"]["queries"] == 3


def test_changed_bytes_or_another_reading_are_another_data_set(fold, store, tmp_path):
    folder = written(fold, tmp_path / "set")
    (before,) = run_to_end(ingest(folder, None, store))
    text = (folder / "test.txt").read_text()
    (folder / "test.txt").write_text(text.replace("1:", "1:1", 1))
    (after,) = run_to_end(ingest(folder, None, store))
    (zeros,) = run_to_end(ingest(folder, None, store, ReadingOptions(missing="zero")))
    assert len({before.key, after.key, zeros.key}) == 3


def test_named_files_and_a_group_file_beside_them(store, tmp_path):
    rows = "1 1:0.5\n0 1:0.1\n2 1:0.9\n"
    for part in ("train", "test"):
        (tmp_path / f"rank.{part}").write_text(rows)
        with gzip.open(tmp_path / f"rank.{part}.query.gz", "wt") as file:
            file.write("1\n2\n" if part == "test" else "3\n")
    parts = Parts("rank", (tmp_path / "rank.test",), (), (tmp_path / "rank.train",))
    (artefact,) = run_to_end(ingest(parts, "rank", store))
    assert artefact.facts["parts"]["test"]["queries"] == 1
    (tmp_path / "rank.train.query.gz").unlink()
    (tmp_path / "rank.train.query").write_text("1\n2\n")
    (other,) = run_to_end(ingest(parts, "rank", store))
    assert other.facts["parts"]["test"]["queries"] == 2


def test_a_device_that_never_ends_is_refused_unread(store):
    endless = Path("/dev/zero")
    for parts in (endless, Parts("endless", (endless,), (), (endless,))):
        with pytest.raises(DataError, match="a pipe or a device, not a file"):
            run_to_end(ingest(parts, "endless", store))


def test_the_sample_and_the_unknown(store):
    assert resolve("sample", store).train.queries == 400
    with pytest.raises(ArtefactError, match="nobody"):
        find("nobody", store)


SPARSE = "1 qid:1 1:0.5 3:1\n0 qid:1 2:2\n0 qid:2 1:1 2:1 3:1\n1 qid:2 2:1\n"


def test_absent_cells_are_kept_written_and_read_back(store, tmp_path):
    for part in ("train", "vali", "test"):
        (tmp_path / f"{part}.txt").write_text(SPARSE)
    (artefact,) = run_to_end(ingest(tmp_path, "sparse", store))
    test = resolve("sparse", store).test
    absent = [[False, True, False], [True, False, True], [False] * 3, [True, False, True]]
    assert test.absent_cells().tolist() == absent
    assert not test.features[test.absent_cells()].any()
    assert artefact.facts["keeps"] == ["absent cells"]
    (tmp_path / "again").mkdir()
    for part in ("train", "vali", "test"):
        write(test, tmp_path / "again" / f"{part}.txt")
    (again,) = run_to_end(ingest(tmp_path / "again", None, store))
    assert again.facts["fingerprint"] == artefact.facts["fingerprint"]
    dense = replace(test, absent=None, fingerprint="")
    assert dense.fingerprint != test.fingerprint
    selected = test.select(np.array([1]))
    assert selected.absent_cells().tolist() == absent[2:]


def test_a_table_keeps_the_names_of_its_features(store, tmp_path, tables_read_here):
    rows = [f"{at // 3},{at % 2},{at},{at * 2}" for at in range(30)]
    (tmp_path / "t.csv").write_text("\n".join(["qid,label,bm25,\x1b[2J", *rows]))
    run_to_end(ingest(tmp_path / "t.csv", "t", store))
    test = resolve("t", store).test
    assert test.names == ("bm25", "\x1b[2J")
    assert [*map(test.feature_label, (1, 2))] == ["1 (bm25)", r"2 ('\x1b[2J')"]
    (tmp_path / "t.txt").write_text(
        "# feature names: [1, 2]\n0 qid:1 1:1 2:1\n" + SPARSE + "1 qid:3 1:2\n"
    )
    run_to_end(ingest(tmp_path / "t.txt", "text", store))
    assert resolve("text", store).test.feature_names is None, "another comment"
