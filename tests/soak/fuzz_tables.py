"""Crafted tables, read through every door: as documents, as texts of pages, as plain columns.

`python -m tests.soak.fuzz_tables 500 --seed 7`; the test suite runs a slice. A sound table must
give the numbers that it holds.
"""

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from shuffleproof.core.data import display_texts, document_tables, tables
from shuffleproof.core.data.letor.read import check_start
from shuffleproof.core.errors import DataError
from tests import loading
from tests.soak import fuzz_preferences, fuzzing
from tests.soak.fuzzing import WrongError

QUERIES, DOCUMENTS = 6, 4
ROWS = QUERIES * DOCUMENTS
TOKENS = (
    b"\xff\xff\xff\x7f", b"\xff" * 8, b"\0" * 8, b"PAR1", b"ARROW1", b"[" * 5000, b'{"a":' * 3000,
    b"9" * 400, b"9" * 5000, b"1e400", b"NaN", b"null", b"\x1b[2J", b'"', b",", b"\n",
    b"\xed\xa0\x80", b'"\\ud800"', b"true", b"{}", b"[]",
)  # fmt: skip
ENDINGS = ("parquet", "arrow", "arrows", "jsonl", "csv")
BOUNDS = fuzzing.Bounds(seconds=5.0, patience=90.0)
"""Seconds include those of the guarded processes."""


def sound(generator: np.random.Generator) -> pd.DataFrame:
    """A table of documents."""
    frame = pd.DataFrame(
        {
            "query": np.repeat([f"q{at}" for at in range(QUERIES)], DOCUMENTS),
            "docid": [f"d{at}" for at in range(ROWS)],
            "label": generator.integers(0, 3, ROWS),
            "bm25": generator.random(ROWS).astype(np.float32).astype(float),
            "clicks": generator.integers(0, 9, ROWS),
            "title": [f"about {at}" for at in range(ROWS)],
        }
    )
    return frame.drop(columns="title") if generator.integers(0, 2) else frame


def _cells(generator: np.random.Generator, value: object, column: str):
    """A change of some cells of a column to a value."""
    rows = set(generator.integers(0, ROWS, 1 + int(generator.integers(0, ROWS))).tolist())

    def changed(frame: pd.DataFrame) -> pd.DataFrame:
        cells = enumerate(frame[column].astype(object).tolist())
        new = [value if at in rows else cell for at, cell in cells]
        return frame.assign(**{column: pd.Series(new, frame.index, dtype=object)})

    return changed


VALUES = (
    None, float("nan"), float("inf"), -1e308, 10**30, 10**400, True, "x", "", "a b", "#", "\x1b[2J",
    "a\nb", [1, 2], [[1], [2]], {"a": 1}, b"\xff\xfe", "9" * 400, "\ud800", 2**63, -(2**63), 0.5,
    [1.0] * 300_000, {str(at): at for at in range(3000)}, "long " * 100_000, "train", "test",
)  # fmt: skip


def changed(  # noqa: PLR0911 (a change a branch)
    frame: pd.DataFrame, generator: np.random.Generator
) -> pd.DataFrame:
    """A table with one thing that is not as it should be."""
    column = str(generator.choice(["query", "docid", "label", "bm25", "clicks"]))
    kind = int(generator.integers(0, 12))
    if kind < 5:
        value = VALUES[int(generator.integers(0, len(VALUES)))]
        return _cells(generator, value, column)(frame)
    if kind == 5:
        return frame.rename(
            columns={column: str(generator.choice(["query", "\x1b[2J", "x" * 3000, ""]))}
        )
    if kind == 6:
        lists = [generator.random(int(generator.integers(0, 4))).tolist() for _ in range(ROWS)]
        return frame.assign(features=lists)
    if kind == 7:
        return frame.assign(
            part=generator.choice(["train", "test", "valid", "", "bogus", None], ROWS)
        )
    if kind == 8:
        return frame.rename(
            columns={"bm25": f"feature_{int(generator.choice([0, 1, 70000, 999999999]))}"}
        )
    if kind == 9:
        wide = pd.DataFrame(np.zeros((ROWS, int(generator.choice([300, 3000])))))
        return pd.concat([frame, wide.add_prefix("f")], axis=1)
    if kind == 10:
        return frame.assign(when=pd.Timestamp("2026-01-01"), of=pd.Categorical(["a"] * ROWS))
    return frame.iloc[: int(generator.integers(0, 2))]


def written(frame: pd.DataFrame, ending: str, generator: np.random.Generator) -> bytes:
    """A table as a file; what the format cannot hold is text."""
    if ending in ("jsonl", "csv"):
        return fuzz_preferences.written(frame, ending)
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError, TypeError, ValueError):
        columns = [frame.iloc[:, at].map(ascii) for at in range(frame.shape[1])]
        table = pa.table([pa.array([*map(ascii, one)]) for one in columns], [*frame.columns])
    return of_arrow(table, ending, generator)


def of_arrow(table: pa.Table, ending: str, generator: np.random.Generator) -> bytes:
    """A table of Arrow as a file."""
    out = io.BytesIO()
    if ending == "parquet":
        pq.write_table(table, out, row_group_size=int(generator.choice([3, 1000])))
        return out.getvalue()
    packing = ["zstd", "lz4", None][int(generator.integers(0, 3))]
    options = pa.ipc.IpcWriteOptions(compression=packing)
    opened = pa.ipc.new_file if ending == "arrow" else pa.ipc.new_stream
    with opened(out, table.schema, options=options) as file:
        file.write_table(table, max_chunksize=int(generator.choice([3, 1000])))
    return out.getvalue()


def crafted(  # noqa: PLR0911 (a craft a branch)
    ending: str, generator: np.random.Generator
) -> bytes:
    """A table that no program writes by accident."""
    frame, kind = sound(generator), int(generator.integers(0, 8))
    rows = frame.to_dict("records")
    if kind == 0:  # a new key in each row
        return b"\n".join(
            json.dumps({**rows[0], f"key {at} {generator.integers(0, 9)}": 1}).encode()
            for at in range(int(generator.choice([50, 20_000])))
        )
    if kind == 1:  # nested deep
        deep = "[" * int(generator.choice([500, 100_000]))
        return json.dumps(rows[0]).encode() + b'\n{"query": ' + deep.encode()
    if kind == 2:  # millions of equal rows in little space
        many = {"query": pa.array(["q"] * 1000), "label": pa.array([0] * 1000)}
        table = pa.table(many | {"x": pa.array([0.0] * 1000)})
        out = io.BytesIO()
        with pq.ParquetWriter(out, table.schema, compression="zstd") as file:
            big = pa.concat_tables([table] * 500)
            for _ in range(int(generator.choice([2, 40]))):
                file.write_table(big, row_group_size=len(big))
        return out.getvalue()
    if kind == 3:  # false words for pandas
        false = {b"pandas": [b"{}", b"[" * 999, b'{"index_columns": [7], "columns": [{}]}'][
            int(generator.integers(0, 3))]}  # fmt: skip
        table = pa.Table.from_pandas(frame).replace_schema_metadata(false)
        return of_arrow(table, ending if ending in ENDINGS[:3] else "parquet", generator)
    if kind == 4:  # equal names
        names = ["query", "docid", "label", "x", "x", "title"][: len(frame.columns)]
        table = pa.Table.from_pandas(frame, preserve_index=False).rename_columns(names)
        return of_arrow(table, "arrow" if ending == "arrow" else "arrows", generator)
    if kind == 5:  # arrays of NumPy under another name
        out = io.BytesIO()
        np.savez(out, frame["bm25"]) if generator.integers(0, 2) else np.save(out, frame["bm25"])
        return out.getvalue()
    if kind == 6:  # wrong offsets of texts and lists
        table = pa.Table.from_pandas(frame[["query", "label", "bm25"]], preserve_index=False)
        out = io.BytesIO()
        with pa.ipc.new_stream(out, table.schema) as file:
            file.write_table(table)
        column = table.column("query").chunk(0)
        bounds = np.frombuffer(column.buffers()[1], np.int32)[: ROWS + 1]
        wrong = bounds.copy()
        wrong[int(generator.integers(0, ROWS + 1))] = int(
            generator.choice([-1, 2**31 - 1, 1 << 20])
        )
        return out.getvalue().replace(bounds.tobytes(), wrong.tobytes())
    nested = pa.array([[{"a": [1, None]}]] * ROWS)
    table = pa.table({"query": frame["query"], "label": nested, "x": frame["bm25"]})
    return of_arrow(table, ending if ending in ENDINGS[:3] else "arrow", generator)


def attempt(generator: np.random.Generator, room: Path) -> None:
    """One table, sound, changed, crafted or damaged; see `fuzzing`."""
    ending, kind = str(generator.choice(ENDINGS)), int(generator.integers(0, 8))
    frame = sound(generator)
    if kind == 0:
        text = written(frame, ending, generator)
    elif kind < 4:
        text = written(changed(frame, generator), ending, generator)
    elif kind < 6:
        text = crafted(ending, generator)
    else:
        text = fuzzing.damaged(written(frame, ending, generator), generator, TOKENS)
    if kind:
        text = fuzzing.packed(text, generator)
    path = room / f"table.{ending}"
    path.write_bytes(text)
    try:
        _read(path, frame, int(generator.integers(0, 4)), sound=kind == 0)
    except DataError:
        if kind == 0:
            raise WrongError("a sound table is refused") from None
        raise


def _read(path: Path, frame: pd.DataFrame, door: int, *, sound: bool) -> None:
    """Read a table through one of the doors; a sound one must hold what was written."""
    titled = "title" in frame
    if door == 0 and (titled or not sound):
        side = display_texts.read_side_file(path, "documents")
        if sound and side.rows["title"].tolist() != frame["title"].tolist():
            raise WrongError("titles")
    elif door == 1:
        found = tables.read_table(path, path.name, texts=["query", "docid", "title"])
        if sound and [*found["query"]] != frame["query"].tolist():
            raise WrongError("queries")
    elif not sound and door == 2:
        check_start(path, path.name, "error", with_query=True)
        document_tables.has_parts(path)
    elif not (sound and titled):  # a title is no feature
        (loaded,) = loading.load(path)
        parts = (loaded.fold.train, loaded.fold.valid, loaded.fold.test)
        read = sorted(value for part in parts for value in part.features[:, 0].tolist())
        if sound and not np.allclose(read, sorted(frame["bm25"]), atol=1e-6):
            raise WrongError("features")


if __name__ == "__main__":
    fuzzing.main(attempt, __doc__, 500, warm=2, bounds=BOUNDS)
