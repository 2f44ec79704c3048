"""Tables as doors for data sets: the same set whatever the table, every fault by row and column."""

import gzip
import io
import json
import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from shuffleproof.core.data import tables
from shuffleproof.core.data.letor.read import check_start
from shuffleproof.core.data.letor.write import write
from shuffleproof.core.errors import DataError
from tests import loading
from tests.loading import read

pytestmark = pytest.mark.usefixtures("tables_read_here")


def frame(queries=7, documents=5, seed=0):
    draws = np.random.default_rng(seed)
    rows = queries * documents
    return pd.DataFrame(
        {
            "qid": np.repeat([f"q{one}" for one in range(queries)], documents),
            "bm25": draws.random(rows).astype(np.float32),
            "relevance": draws.integers(0, 3, rows),
            "docid": [f"d{one}" for one in range(rows)],
            "clicks": draws.integers(0, 9, rows),
        }
    )


def _parquet(table, path):
    pq.write_table(pa.Table.from_pandas(table, preserve_index=False), path, row_group_size=8)


def _feather(table, path):
    feather.write_feather(table, path, chunksize=8)


def _json(table, path):
    path.write_text(table.to_json(orient="records", lines=True, double_precision=15))


def _json_gz(table, path):
    path.write_bytes(gzip.compress(table.to_json(orient="records", lines=True).encode()))


def _stream(table, path):
    rows = pa.Table.from_pandas(table, preserve_index=False)
    with pa.ipc.new_stream(path, rows.schema) as file:
        file.write_table(rows, max_chunksize=8)


WRITERS = {"a.parquet": _parquet, "a.arrow": _feather, "a.arrows": _stream, "a.jsonl": _json}


@pytest.mark.parametrize("rows", [3, 8, 4096])
@pytest.mark.parametrize("name", WRITERS)
def test_a_table_is_read_as_its_letor_text_would_be(tmp_path, monkeypatch, name, rows):
    """Blocks of rows end within queries; features are numbered by their columns."""
    monkeypatch.setattr(tables, "ROWS", rows)
    WRITERS[name](frame(), tmp_path / name)
    found = read(tmp_path / name).dataset
    write(found, tmp_path / "again.txt")
    assert read(tmp_path / "again.txt").dataset.fingerprint == found.fingerprint
    assert found.query_ids == tuple(f"q{one}" for one in range(7))
    assert found.feature_ids == (1, 2)
    assert np.array_equal(found.features[:, 1], frame()["clicks"].to_numpy(np.float32))
    assert np.allclose(found.features[:, 0], frame()["bm25"], rtol=0, atol=1e-7)
    assert found.labels.tolist() == frame()["relevance"].tolist()
    assert [found.doc_ids[at] for at in (0, 34)] == ["d0", "d34"]
    check_start(tmp_path / name, name, "error", with_query=True)


def test_packed_json_lines_and_lists_of_features(tmp_path):
    table = frame().rename(columns={"qid": "query", "relevance": "label"})
    wide = table[["query", "label"]].assign(features=table[["bm25", "clicks"]].values.tolist())
    _json_gz(wide, tmp_path / "a.jsonl.gz")
    _parquet(wide, tmp_path / "a.parquet")
    packed, plain = (read(tmp_path / one).dataset for one in ("a.jsonl.gz", "a.parquet"))
    assert packed.feature_ids == plain.feature_ids == (1, 2)
    assert np.allclose(packed.features, plain.features, atol=1e-6)
    assert np.array_equal(plain.features[:, 1], table["clicks"].to_numpy(np.float32))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (frame().drop(columns="relevance"), "no column for the label"),
        (frame().drop(columns="qid"), "no column for the query.*, q_id, or say --columns query="),
        (
            frame().assign(label=1),
            r"for the label .label, relevance.* all but one, or say --columns label=",
        ),
        (frame().assign(query_id=1), "several columns for the query"),
        (frame().assign(did=1), "several columns for the document"),
        (frame().assign(bm25="many"), "column bm25 holds"),
        (frame().assign(bm25=frame()["bm25"].where(frame().index != 20)), "row 21 of column bm25"),
        (frame().assign(qid="a b"), "qid is 1 to 255 bytes"),
        (frame().assign(docid="a b"), "the document id 'a b'. An id in LETOR text holds no blanks"),
    ],
)
def test_what_is_no_table_of_documents_is_told_with_row_and_column(tmp_path, changed, said):
    for name, writer in WRITERS.items():
        writer(changed, tmp_path / name)
        with pytest.raises(DataError, match=said) as told:
            read(tmp_path / name, name=name)
        assert str(told.value).startswith(name)


def test_ids_of_bytes_are_text_and_blank_lines_end_nothing(tmp_path, monkeypatch):
    table = frame()
    _parquet(table, tmp_path / "a.parquet")
    whole = read(tmp_path / "a.parquet").dataset
    of_bytes = table.assign(**{name: table[name].map(str.encode) for name in ("qid", "docid")})
    _parquet(of_bytes, tmp_path / "b.parquet")
    assert read(tmp_path / "b.parquet").dataset.fingerprint == whole.fingerprint
    monkeypatch.setattr(tables, "ROWS", 3)
    _json(table, tmp_path / "a.jsonl")
    text = (tmp_path / "a.jsonl").read_text().split("\n", 5)
    (tmp_path / "a.jsonl").write_text("\n".join([*text[:5], "\n" * 9, text[5]]))
    assert read(tmp_path / "a.jsonl").dataset.documents == 35


def test_documents_without_an_id_have_none(tmp_path):
    for name, writer in WRITERS.items():
        for ids in (pd.Series(range(35)), pd.Series([f"d{one}" for one in range(35)])):
            writer(frame().assign(docid=ids.where(ids.index > 1)), tmp_path / name)
            found = read(tmp_path / name).dataset.doc_ids
            assert [found[at] for at in (0, 1, 2)] == ["", "", str(ids[2])]


def test_damaged_tables_are_told_by_name(tmp_path):
    for name, writer in WRITERS.items():
        writer(frame(40), tmp_path / name)
        whole = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(whole[: len(whole) // 2 - 9])
        with pytest.raises(DataError, match=rf"^{name}.*damaged table"):
            read(tmp_path / name, name=name)
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"PAR1" + whole))
    with pytest.raises(DataError, match=r"^a\.gz.*damaged table"):
        read(tmp_path / "a.gz", name="a.gz")


def test_parts_whose_columns_differ_are_no_data_set(tmp_path):
    """Features are numbered by place: another order would be other features under their numbers."""
    _parquet(frame(), tmp_path / "train.parquet")
    _json(frame()[["qid", "clicks", "relevance", "bm25"]], tmp_path / "test.jsonl")
    with pytest.raises(DataError, match=r"test\.jsonl.*clicks, bm25.*bm25, clicks.*same order"):
        loading.load(tmp_path)
    _json(frame()[["bm25", "qid", "clicks", "relevance"]], tmp_path / "test.jsonl")
    assert loading.load(tmp_path)[0].fold.test.documents == 35
    (tmp_path / "test.jsonl").unlink()
    (tmp_path / "test.txt").write_text("1 qid:1 1:0.5 2:3\n0 qid:1 1:0.25\n")
    assert loading.load(tmp_path)[0].fold.test.documents == 2


def test_rows_of_other_columns_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "ROWS", 5)
    rows = [{"query": 1, "label": 0, "a": 1.5, "b": 2}] * 5 + [{"query": 2, "label": 0, "a": 1.0}]
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    with pytest.raises(DataError, match="rows 6 to 6 differ in column b"):
        read(tmp_path / "a.jsonl")


@pytest.mark.parametrize("missing", ["zero", "mean", "largest"])
@pytest.mark.parametrize("name", WRITERS)
def test_empty_cells_and_values_beyond_float32_mean_what_they_mean_in_text(tmp_path, missing, name):
    """Istella writes 1.797e308 where nothing is known; a column may be empty in all its rows."""
    table = frame().assign(length=np.nan)
    table["clicks"] = table["clicks"].astype(float)
    table.loc[[2, 20], "clicks"] = np.nan
    table.loc[3, "clicks"] = 1.797e308
    WRITERS[name](table, tmp_path / name)
    clicks = table["clicks"].map(lambda value: "NULL" if np.isnan(value) else value)
    lines = [
        f"{row.relevance} qid:{row.qid} 1:{row.bm25!s} 2:{cell} 3:NULL # docid = {row.docid}"
        for row, cell in zip(table.itertuples(), clicks, strict=True)
    ]
    (tmp_path / "a.txt").write_text("\n".join(lines) + "\n")
    found, due = (read(tmp_path / one, missing=missing) for one in (name, "a.txt"))
    assert found.missing_cells == due.missing_cells == 3 + len(table)
    assert np.isfinite(found.dataset.features).all()
    assert np.array_equal(found.dataset.features[:, 1:], due.dataset.features[:, 1:])
    assert np.allclose(found.dataset.features[:, 0], due.dataset.features[:, 0], atol=1e-6)
    known = table["clicks"][table["clicks"] < 10]
    filled = {"zero": 0.0, "mean": known.mean(), "largest": known.max()}[missing]
    assert found.dataset.features[[2, 3, 20], 1].tolist() == [np.float32(filled)] * 3
    with pytest.raises(DataError, match=r"row 3 of column clicks is nan.*--nulls"):
        read(tmp_path / name, name=name)


def test_tables_without_a_policy_cut_large_values_and_refuse_infinite_ones(tmp_path):
    table = frame().assign(clicks=1.0)
    table.loc[4, "clicks"] = -1.797e308
    _parquet(table, tmp_path / "a.parquet")
    found = read(tmp_path / "a.parquet")
    assert found.clipped_cells == 1
    assert found.notes[0].startswith("1 value was cut")
    assert found.dataset.features[4, 1] == np.finfo(np.float32).min
    table.loc[5, "clicks"] = np.inf
    _parquet(table, tmp_path / "a.parquet")
    for missing in ("error", "mean"):
        with pytest.raises(DataError, match="row 6 of column clicks is inf"):
            read(tmp_path / "a.parquet", missing=missing)
    wide = frame()[["qid", "relevance"]].assign(
        features=[[1.0, None], [2.0, 1.797e308]] * 17 + [[3.0, 4.0]]
    )
    _parquet(wide, tmp_path / "a.parquet")
    filled = read(tmp_path / "a.parquet", missing="largest").dataset.features
    assert filled[:, 1].tolist() == [4.0] * 35


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([0.5, 1, "x", True, 2.0], r"row 3 of column a holds 'x' \(str\), no number.*Correct"),
        ([0.5, None, 1.0, True, "x"], r"row 4 of column a holds True \(bool\)"),
        ([0.5, 1.0, 2.0, [1.0], 3.0], r"row 4 of column a holds \[1\.0\] \(list\)"),
        ([0.5, 1.0, 2.0, 10**400, 3.0], r"row 4 of column a holds 10+ \(int\)"),
    ],
)
def test_a_cell_that_is_no_number_is_told_with_its_row(tmp_path, cells, said):
    rows = [{"qid": 1, "label": 0, "a": cell} for cell in cells]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(DataError, match=said):
        read(tmp_path / "a.jsonl", missing="zero")


@pytest.mark.parametrize("rows", [3, 4096])
def test_a_list_of_another_length_is_told_with_its_row(tmp_path, monkeypatch, rows):
    monkeypatch.setattr(tables, "ROWS", rows)
    for cell, said in (
        ([1.0], r"row 6 of column features holds 1 number, row [14] 2\. Give"),
        (["x", 1.0], "row 6 of column features holds no list of numbers"),
        (None, "row 6 of column features holds"),
    ):
        lists = [[0.5, 1.0]] * 5 + [cell, [0.5, 1.0]]
        lines = [json.dumps({"qid": 1, "label": 0, "features": each}) for each in lists]
        (tmp_path / "a.jsonl").write_text("\n".join(lines))
        for reads in (read, loading.load):
            with pytest.raises(DataError, match=said):
                reads(tmp_path / "a.jsonl")
    lists[5:] = [[1.0]] * 2
    lines = [json.dumps({"qid": 1, "label": 0, "features": each}) for each in lists * 2]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    with pytest.raises(DataError, match=r"row 6 of column|differ in column features 2"):
        read(tmp_path / "a.jsonl")


@pytest.mark.parametrize("name", WRITERS)
def test_tables_may_be_packed(tmp_path, name):
    WRITERS[name](frame(), tmp_path / name)
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress((tmp_path / name).read_bytes()))
    assert read(packed).dataset.fingerprint == read(tmp_path / name).dataset.fingerprint
    whole = packed.read_bytes()
    packed.write_bytes(whole[: len(whole) // 2])
    for reads in (read, loading.load):
        with pytest.raises(DataError, match="damaged"):
            reads(packed)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"qid": 1, "label": 0,', "Expecting property name enclosed in double quotes"),
        (b'{"qid": "\xff"}', "'utf-8' codec can't decode byte 0xff"),
    ],
)
def test_a_line_that_is_no_json_is_told_by_its_number_alone(tmp_path, line, why):
    _json(frame(), tmp_path / "a.jsonl")
    lines = (tmp_path / "a.jsonl").read_bytes().splitlines()
    (tmp_path / "a.jsonl").write_bytes(b"\n".join([*lines[:5], line, *lines[5:]]))
    with pytest.raises(DataError, match=f"line 6 is no JSON: {why}") as told:
        read(tmp_path / "a.jsonl")
    assert str(told.value).count("line ") == 1


def test_a_tar_archive_is_told(tmp_path):
    (tmp_path / "a.txt").write_text("1 qid:1 1:0.5\n")
    for form, ending in (("tar", "tar"), ("gztar", "tar.gz")):
        shutil.make_archive(tmp_path / "b", form, tmp_path, "a.txt")
        with pytest.raises(DataError, match=r"a tar archive.*Unpack it, or make a zip"):
            read(tmp_path / f"b.{ending}")


def test_a_byte_order_mark_before_json_lines_is_no_text(tmp_path):
    _json(frame(), tmp_path / "a.jsonl")
    text = (tmp_path / "a.jsonl").read_bytes()
    (tmp_path / "b.jsonl").write_bytes(b"\xef\xbb\xbf" + text)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b"\xef\xbb\xbf" + text))
    due = read(tmp_path / "a.jsonl").dataset.fingerprint
    assert read(tmp_path / "b.jsonl").dataset.fingerprint == due
    assert read(tmp_path / "b.jsonl.gz").dataset.fingerprint == due


@pytest.mark.parametrize(
    "text",
    [
        b"query,label,x\n007,0,0.5\n",
        b"\xef\xbb\xbfquery;label;x\r\n007;0;0,5\r\n",
        b"\nquery\tlabel\tx\n007\t0\t0.5\n",
        b'"query","label","x"\n"007","0","0.5"\n\n',
        b",query,label,x\n0,007,0,0.5\n",
        b'query,label,x,comment\n007,0,0.5,"a, b"\n',
    ],
)
def test_csv_is_read_as_any_table(tmp_path, text):
    (tmp_path / "a.csv").write_bytes(text)
    found = read(tmp_path / "a.csv").dataset
    assert (found.query_ids, found.feature_names) == (("007",), ("x",))
    assert found.features.tolist() == [[0.5]]
    assert found.comments is None or list(found.comments) == ["a, b"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"0,10,0.5\n1,10,0.25\n", "no column for the query; there are 0, 10, 0.5"),
        (b"query,label,x\n1,0,0.5\n1,0\n", "row 2 of column x is nan"),
        (b"query,label,x\n1,0,0.5\n1,0,2,3\n", "row 2 has 4 cells, where 3 are due"),
        (b"query,label,x\n1,0,0.5,9\n", "Length of header"),
        (b'query,label,x\n1,0,"0.5\n', "damaged table"),
        (b"query,label,x\n1,0,many\n", "row 1 of column x holds 'many'"),
        (b"query,label,x\n1,Good,1\n", "column label holds 'Good'.*Write labels as numbers"),
        (b"query,label,x,x\n1,0,1,2\n", "two columns are called x"),
        (b"query,label,\x1b[2J\n1,0,\xff\n", "not UTF-8"),
        (b"query,label,\x1b[2J\n1,0,many\n", r"column '\\x1b\[2J' holds"),
    ],
)
def test_csv_that_is_no_table_of_documents_is_told(tmp_path, text, said):
    (tmp_path / "a.csv").write_bytes(text)
    with pytest.raises(DataError, match=said):
        read(tmp_path / "a.csv")


def test_a_json_array_is_told_with_a_remedy(tmp_path):
    (tmp_path / "a.json").write_bytes(b'\n [{"query": 1, "label": 0, "x": 0.5}]')
    with pytest.raises(DataError, match=r"a\.json: a JSON array, which is not read.*lines=True"):
        read(tmp_path / "a.json")


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        (b"1 qid:a,b,c 1:2\n", None),
        (b"0\t\t\n1\t1:2\t2:1\n", b"2\n"),
        (b"1 1:2 # a, b, c\n", b"1\n"),
        (b"# a, b, c\n0 1:1\n", b"1\n"),
    ],
)
def test_commas_and_tabs_in_letor_text_are_no_csv(tmp_path, text, groups):
    (tmp_path / "a").write_bytes(text)
    sizes = None if groups is None else io.BytesIO(groups)
    assert read(tmp_path / "a", groups=sizes).dataset.documents > 0
