"""Readers in a process of their own: whatever it does, who asks gets arrays or a refusal."""

import gzip
import io
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shuffleproof.core.data import tables
from shuffleproof.core.data.letor.stream import Limits, blocks
from shuffleproof.core.errors import DataError


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("os.abort()", r"crashed the library that reads it \(SIGABRT\)"),
        ("os.kill(os.getpid(), 9)", "took too much memory"),
        ("os._exit(1)", "reading it failed"),
        ("time.sleep(60)", "gave no answer within"),
        ("return {}", "of another kind"),
        ("return {'facts': {'error': ['a', 'b\\x1b[2J', 'c']}}", r"^a: b\\x1b\[2J\. c$"),
    ],
)
def test_a_process_that_does_anything_is_refused_in_words(tmp_path, monkeypatch, program, said):
    lines = ["import os, time", "class Server:", " def start(self, **_): return {}"]
    (tmp_path / "hostile_reader.py").write_text("\n".join([*lines, f" def read(self): {program}"]))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(tables, "SERVER", "hostile_reader:Server")
    monkeypatch.setattr(tables, "SILENCE", 4.0 if "sleep" in program else 20.0)
    with pytest.raises(DataError, match=said):
        [*tables.answers({}, tmp_path, "table.arrow")]


def test_a_table_that_needs_too_much_memory_is_refused(tmp_path):
    """3 GB of texts in less than 1 MB of Parquet."""
    path = tmp_path / "bomb.parquet"
    many = pa.table({"query": pa.array(["q" * 500] * 100_000), "x": pa.array([0.0] * 100_000)})
    with pq.ParquetWriter(path, many.schema, compression="zstd") as file:
        for _ in range(60):
            file.write_table(many)
    assert path.stat().st_size < 1 << 20
    with pytest.raises(DataError, match=r"MiB of values|decompression bomb|MiB of memory"):
        tables.read_table(path, "bomb.parquet", most_bytes=1 << 28)


def test_plain_columns_hold_what_the_table_does(tmp_path):
    frame = pd.DataFrame(
        {
            "text": ["a", None, "é\x1b"],
            "whole": [2**62 + 1, 2, 3],
            "gaps": pd.array([2**62 + 1, None, 3], dtype="Int64"),
            "real": [0.5, np.nan, 1.0],
            "flag": [True, False, True],
            "list": [[1, 2], [], None],
        }
    )
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_feather(tmp_path / "a.arrow")
    for name in ("a.parquet", "a.arrow"):
        found = tables.read_table(tmp_path / name, name)
        assert found["text"] == ["a", None, "é\x1b"]
        assert found["whole"].tolist() == frame["whole"].tolist()
        assert found["gaps"] == [2**62 + 1, None, 3]
        assert found["list"] == [[1, 2], [], None]
        np.testing.assert_array_equal(found["real"], frame["real"])
        assert found["flag"].tolist() == [True, False, True]
    assert [*tables.read_table(tmp_path / "a.arrow", "a", ["real", "none"])] == ["real"]
    assert tables.names_of(tmp_path / "a.arrow", "a") == [*frame]


def _stream(table):
    out = io.BytesIO()
    with pa.ipc.new_stream(out, table.schema) as file:
        file.write_table(table)
    return out.getvalue()


def _wrong_offset():
    table = pa.table({"query": ["one", "two"], "label": [0, 1], "x": [0.5, 1.0]})
    bounds = np.array([0, 3, 6], np.int32).tobytes()
    return _stream(table).replace(bounds, np.array([0, 1 << 30, 6], np.int32).tobytes())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (_wrong_offset(), "damaged table"),
        (_stream(pa.table({"a": [1]}).append_column("a", [[2]])), "two columns are called a"),
        (b'{"a": ' + b"[" * 100_000, "nested too deep"),
        (b'{"a": ' + b"9" * 5000 + b"}", "damaged table"),
        (b"\n".join(json.dumps({f"k{at}": 1}).encode() for at in range(9000)), "MiB of values"),
        (b"\x93NUMPY\x01\x00", "neither Parquet nor Arrow"),
    ],
)
def test_crafted_tables_are_refused(tmp_path, tables_read_here, content, said):
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(DataError, match=said):
        tables.read_table(tmp_path / "a", "a")


def test_what_a_file_says_of_pandas_is_not_believed(tmp_path, tables_read_here):
    table = pa.table({"query": ["q"], "x": [0.5]}).replace_schema_metadata({b"pandas": b"[" * 99})
    (tmp_path / "a").write_bytes(_stream(table))
    assert [*tables.read_table(tmp_path / "a", "a")] == ["query", "x"]


def test_a_packed_table_that_fills_the_memory_is_refused_and_no_text_reader_unpacks_it(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"PAR1" + bytes(1 << 30), 1))
    with pytest.raises(DataError, match=r"MiB of memory"):
        tables.names_of(path, "a.gz")
    with pytest.raises(DataError, match="binary data"):
        next(blocks(path, "a.gz", Limits()))
