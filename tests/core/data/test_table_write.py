"""Data sets as tables and folders: every number reads back, all parts or the one asked for."""

import io
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from shuffleproof.core.cli.arguments import main
from shuffleproof.core.data import catalogue, document_tables, frames, layout, source
from shuffleproof.core.data import tables as data_tables
from shuffleproof.core.data.letor.read import check_start
from shuffleproof.core.data.letor.write import write
from shuffleproof.core.errors import DataError
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies import table_text, tables
from tests import loading
from tests.loading import read
from tests.synthetic import planted

pytestmark = pytest.mark.usefixtures("tables_read_here")

FOLD = planted(queries=(6, 3, 4), seed=4, documents=5)
PARTS = {"train": FOLD.train, "valid": FOLD.valid, "test": FOLD.test}
FILES = {"train": "train.txt", "valid": "vali.txt", "test": "test.txt"}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    for name, part in PARTS.items():
        write(part, tmp_path / "in" / FILES[name])
    return tmp_path / "in"


@pytest.fixture
def exported(capsys, tmp_path, folder):
    def run(*arguments):
        store = ("--store", str(tmp_path / "store"), "--json")
        code = main(["export", str(folder), *map(str, arguments), *store])
        told = capsys.readouterr()
        assert code == 0, told.err
        return json.loads(told.out)

    return run


def opened(path):
    if path.suffix == ".parquet":
        return pd.read_parquet(path)
    if path.suffix in {".arrow", ".feather"}:
        return pd.read_feather(path)
    if path.suffix == ".jsonl":
        return pd.DataFrame([json.loads(line) for line in path.read_text().splitlines()])
    kinds = dict.fromkeys(("part", "query", "document", "comment"), "str")
    return pd.read_csv(path, dtype=kinds, keep_default_na=False)


@pytest.mark.parametrize("rows", [7, 1 << 15])
@pytest.mark.parametrize("kind", frames.KINDS)
def test_a_table_holds_every_row_of_every_part(tmp_path, monkeypatch, kind, rows):
    monkeypatch.setattr(frames, "ROWS", rows)
    path = tmp_path / f"all.{kind}"
    frames.write_table(PARTS, path, kind)
    table = opened(path)
    assert table.part.tolist() == [name for name, part in PARTS.items() for _ in part.labels]
    features = [f"feature_{feature}" for feature in FOLD.train.feature_ids]
    assert list(table.columns) == ["part", "query", "document", "label", *features]
    for name, part in PARTS.items():
        rows_of_part = table[table.part == name]
        owners = np.repeat(part.query_ids, np.diff(part.offsets))
        assert rows_of_part["query"].tolist() == owners.tolist()
        assert rows_of_part.document.tolist() == list(part.doc_ids)
        assert np.array_equal(rows_of_part.label.astype(np.float32), part.labels)
        assert np.array_equal(rows_of_part[features].to_numpy(np.float32), part.features)
    assert [path.name for path in tmp_path.iterdir()] == [path.name]


def test_export_writes_all_parts_or_the_one_named(exported, tmp_path):
    documents = {name: part.documents for name, part in PARTS.items()}
    told = exported(tmp_path / "all.csv")
    assert told == {
        "schema": "shuffleproof export",
        "version": 3,
        "out": str(tmp_path / "all.csv"),
        "bytes": (tmp_path / "all.csv").stat().st_size,
        "part": "all",
    }
    assert opened(tmp_path / "all.csv").part.value_counts().to_dict() == documents
    assert "comment" in opened(tmp_path / "all.csv")
    told = exported(tmp_path / "valid.parquet", "--part", "valid")
    assert told["part"] == "valid"
    assert opened(tmp_path / "valid.parquet").part.tolist() == ["valid"] * documents["valid"]
    exported(tmp_path / "test.qrels")
    exported(tmp_path / "all.qrels", "--part", "all")
    lines = (tmp_path / "all.qrels").read_text().splitlines()
    assert len(lines) == sum(documents.values())
    assert lines[-documents["test"] :] == (tmp_path / "test.qrels").read_text().splitlines()


def test_a_folder_of_letor_text_is_the_whole_set_and_reads_back(exported, tmp_path, folder):
    told = exported(tmp_path / "out")
    assert told["part"] == "all"
    assert told["bytes"] == sum(path.stat().st_size for path in (tmp_path / "out").iterdir())
    (again,) = loading.load(tmp_path / "out")
    (before,) = loading.load(folder)
    assert again.fold.fingerprint == before.fold.fingerprint
    assert exported(tmp_path / "one.txt")["part"] == "test"


@pytest.mark.parametrize("ending", ["parquet", "arrow", "feather", "jsonl"])
def test_a_table_of_all_parts_reads_back(exported, tmp_path, folder, monkeypatch, ending):
    """With ids of features that are not 1, 2, …, ids of documents and comments."""
    ids = tuple(7 * feature for feature in FOLD.train.feature_ids)
    for name, part in PARTS.items():
        write(replace(part, feature_ids=ids), folder / FILES[name])
    path = tmp_path / f"all.{ending}"
    exported(path)
    (before,) = loading.load(folder)
    for rows in (7, 4096):
        monkeypatch.setattr(data_tables, "ROWS", rows)
        store = Store(tmp_path / f"other {rows}")
        (ingested,) = run_to_end(catalogue.ingest(path, "all", store))
        assert ingested.facts["fingerprint"] == before.fold.fingerprint
        assert ingested.facts["name"] == "all"
        assert not [*(store.root / "incoming").iterdir()]


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (["train"] * 3 + ["bogus", "test"], r"row 4 of column part holds 'bogus'.*train, valid or"),
        (["train"] * 3 + [None, "test"], "row 4 of column part holds"),
        ([1, 1, 2, 2, 3], "row 1 of column part holds '1'"),
        ([["train"], ["train"], ["test"], ["test"], ["test"]], "row 1 of column part holds"),
        (["valid"] * 2 + ["test"] * 3, "no rows of part train, but of test, valid"),
        (["train"] * 5, "no rows of part test, but of train.*drop the column"),
        (["Training", " train ", b"TRAIN".decode(), "dev", "test"], ""),
    ],
)
def test_a_column_part_says_train_valid_or_test_of_every_row(tmp_path, parts, said):
    frame = pd.DataFrame({"part": parts, "qid": [1, 1, 2, 3, 4], "label": 1, "x": 0.5})
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=2)
    assert document_tables.has_parts(tmp_path / "t.parquet")
    if not said:
        work = catalogue.ingest(tmp_path / "t.parquet", "t", Store(tmp_path / "store"))
        (found,) = run_to_end(work)
        sizes = {part: sizes["documents"] for part, sizes in found.facts["parts"].items()}
        assert sizes == {"train": 3, "valid": 1, "test": 1}
        return
    with pytest.raises(DataError, match=said):
        document_tables.parts_in(tmp_path / "t.parquet")


@pytest.mark.parametrize("name", ["all.parquet", "all.arrow"])
@pytest.mark.parametrize("with_parts", [True, False])
def test_a_table_alone_in_a_zip_is_read_as_it_lies(tmp_path, name, with_parts):
    table = pd.DataFrame({"part": [*PARTS, "train"], "qid": [1, 2, 3, 4], "label": 1, "x": 0.5})
    table = table if with_parts else table.drop(columns="part")
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / name
    table.to_parquet(path) if name.endswith("parquet") else table.to_feather(path)
    packed = shutil.make_archive(tmp_path / "all", "zip", tmp_path / "in")
    alone, unpacked = (
        run_to_end(catalogue.ingest(place, None, Store(tmp_path / "store")))[0].facts
        for place in (Path(packed), path)
    )
    assert alone["fingerprint"] == unpacked["fingerprint"]
    if not with_parts:
        named = layout.Parts("ours", *((Path(packed),) for _ in PARTS))
        assert run_to_end(source.loading(named)).fold.test.documents == 4


def test_a_file_read_as_a_part_gives_its_rows_of_that_part(exported, tmp_path, folder):
    whole = tmp_path / "all.parquet"
    exported(whole)
    named = layout.Parts("ours", (whole,), (whole,), (whole,))
    (before,) = loading.load(folder)
    assert run_to_end(source.loading(named)).fold.fingerprint == before.fold.fingerprint
    table = pd.read_parquet(whole)
    table.drop(columns="part")[table["part"] == "test"].to_parquet(tmp_path / "test.parquet")
    named = layout.Parts("ours", (whole,), (whole,), (tmp_path / "test.parquet",))
    assert run_to_end(source.loading(named)).fold.fingerprint == before.fold.fingerprint
    table.assign(part=1.5).to_parquet(tmp_path / "test.parquet")
    with pytest.raises(DataError, match="its features are part, "):
        run_to_end(source.loading(named))


def test_an_empty_cell_of_a_table_of_parts_is_told_by_its_row(tmp_path):
    """And not by a line of the text that is made of it; a policy fills it."""
    parts = ["train", "train", "test", "test", "valid"]
    table = pd.DataFrame({"part": parts, "qid": [1, 1, 2, 3, 4], "label": 1, "x": 0.5, "y": 1})
    table.loc[3, "x"] = np.nan
    path = tmp_path / "t.parquet"
    table.to_parquet(path)
    store = Store(tmp_path / "store")
    with pytest.raises(DataError, match=r"t\.parquet: row 4 of column x is nan\..*--nulls"):
        run_to_end(catalogue.ingest(path, "t", store))
    with pytest.raises(DataError, match=r"t\.parquet: row 4 of column x is nan\..*--nulls"):
        check_start(path, str(path), "error", with_query=True)
    check_start(path, str(path), "zero", with_query=True)
    reading = catalogue.ReadingOptions(missing="zero")
    run_to_end(catalogue.ingest(path, "t", store, reading))
    assert catalogue.resolve("t", store).test.features[:, 0].tolist() == [0.5, 0.0]


def test_all_parts_do_not_fit_in_one_letor_file_or_run(tmp_path, folder):
    store = ("--store", str(tmp_path / "store"), "--part", "all")
    assert main(["export", str(folder), str(tmp_path / "all.txt"), *store]) == 2
    assert main(["export", "feature:1", str(tmp_path / "x.run"), *store]) == 2


def test_a_packed_file_is_letor_text_or_refused(exported, tmp_path, folder, capsys):
    for name in ("all.jsonl.gz", "all.csv.gz", "all.parquet.gz"):
        assert main(["export", str(folder), str(tmp_path / name)]) == 2
        assert "names no format: give one of .run" in capsys.readouterr().err
        assert not (tmp_path / name).exists()
    for name in ("test.txt.gz", "test.gz"):
        exported(tmp_path / name)
        assert read(tmp_path / name).dataset.documents == FOLD.test.documents


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t", "\r"])
def test_no_text_is_a_formula_in_a_spreadsheet(first):
    text = f"{first}cmd|' /C calc'!A0"
    frame = pd.DataFrame({text: [text, "-3", "q"], "value": [-1.5, 0.0, 2.0]})
    for written in (frames.csv(frame), table_text.exact(frame, "csv").decode()):
        found = pd.read_csv(io.StringIO(written, newline=""), dtype={0: str})
        assert list(found.columns) == [f"'{text}", "value"]
        assert found.iloc[:, 0].tolist() == [f"'{text}", "-3", "q"]
        assert found["value"].tolist() == [-1.5, 0.0, 2.0]


@pytest.mark.parametrize("kind", ["tex", "md"])
def test_a_line_break_in_a_cell_ends_no_row(kind):
    frame = pd.DataFrame({"a\nb": ["x\r\ny \N{LINE SEPARATOR}z", "w"]})
    text = table_text.table_bytes(tables.infer_columns(frame, ""), kind).decode()
    assert "a b" in text
    assert "x y z" in text
    assert len(text.splitlines()) == len(
        table_text.table_bytes(
            tables.infer_columns(pd.DataFrame({"a": ["x", "w"]}), ""), kind
        ).splitlines()
    )


def test_a_table_of_parts_without_rows_is_told(tmp_path):
    empty = pd.DataFrame({"part": [], "qid": [], "label": [], "x": []}).astype({"part": "str"})
    empty.to_parquet(tmp_path / "t.parquet")
    with pa.ipc.new_stream(tmp_path / "t.arrows", pa.Schema.from_pandas(empty)) as file:
        file.write_batch(pa.RecordBatch.from_pandas(empty))
    for name in ("t.parquet", "t.arrows"):
        with pytest.raises(DataError, match=r"no rows|no documents"):
            read(tmp_path / name)
        with pytest.raises(DataError, match="no "):
            run_to_end(catalogue.ingest(tmp_path / name, "t", Store(tmp_path / "store")))
