"""Crafted preference files: pairs, battles, matrices, rankings, logs of judges.

`python -m tests.soak.fuzz_preferences 300 --seed 7`; the test suite runs a slice. A sound file must
give the preferences that it holds.
"""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import feather, parquet

from shuffleproof.core.aggregate import preference_store
from shuffleproof.core.aggregate.reading import PreferenceFormat, read
from shuffleproof.core.errors import DataError
from shuffleproof.core.store.artefacts import Store
from tests.soak import fuzzing
from tests.soak.fuzzing import WrongError

TOKENS = (
    b"\xff", b"\\xff", b"\0", b'"', b'""', b",", b";", b"\t", b"\n", b"\r", b"9" * 400, b"9" * 5000,
    b"1e400", b"NaN", b"-1", b"2", b"[[A]]", b"A>B", b"tie", b"model_a", b'{"query":' * 3000,
    b"[" * 100_000, b'"\\ud800"', b"null", b"[]", b"--- q x y\n", b"Response:" + b" " * 300_000,
    b" qid:1 1:NULL", b"PAR1",
)  # fmt: skip
VALUES = (
    None, [1], {"a": 1}, True, 10**400, "9" * 5000, float("nan"), float("inf"), -1, 2, "", " ",
    "[[C]]", "B>A", "x" * 100_000, "\ud800", "\x1b[2J", "query", 0.5,
)  # fmt: skip
NAMES = (("query", "a", "b", "preference"), ("question_id", "model_a", "model_b", "winner"))
ENDINGS = ("csv", "jsonl", "parquet", "arrow")
BOUNDS = fuzzing.Bounds(seconds=5.0, patience=90.0)
"""Seconds include those of the guarded processes."""


def sound(generator: np.random.Generator) -> pd.DataFrame:
    """Every pair of some items of a few queries, once."""
    items = [f"d{at}" for at in range(int(generator.integers(2, 6)))]
    rows = [
        (f"q{query}", a, b, float(generator.choice([0.0, 0.25, 0.5, 1.0])))
        for query in range(int(generator.integers(1, 4)))
        for at, a in enumerate(items)
        for b in items[at + 1 :]
    ]
    return pd.DataFrame(rows, columns=list(NAMES[int(generator.integers(0, 2))]))


def written(frame: pd.DataFrame, ending: str) -> bytes:
    """The table as a file; what the format cannot hold is text."""
    if ending == "jsonl":
        rows = frame.astype(object).to_dict("records")
        return "\n".join(json.dumps(row, default=repr) for row in rows).encode()
    if ending == "csv":
        text = io.StringIO()
        out = csv.writer(text, lineterminator="\n")
        out.writerow(frame.columns)
        out.writerows(frame.itertuples(index=False))
        return text.getvalue().encode(errors="surrogatepass")
    out = io.BytesIO()
    write = frame.to_parquet if ending == "parquet" else frame.to_feather
    try:
        write(out)
    except Exception:  # noqa: BLE001 (whatever the format cannot hold)
        out = io.BytesIO()
        columns = [pa.array(frame.iloc[:, at].map(ascii)) for at in range(frame.shape[1])]
        plain = pa.table(columns, [*frame.columns])  # two columns of one name stay two
        (parquet.write_table if ending == "parquet" else feather.write_feather)(plain, out)
    return out.getvalue()


def changed(frame: pd.DataFrame, generator: np.random.Generator) -> pd.DataFrame:
    """A table with one thing that is not as it should be."""
    column = str(generator.choice(frame.columns))
    kind = int(generator.integers(0, 5))
    if kind < 3:
        value = VALUES[int(generator.integers(0, len(VALUES)))]
        cells = frame[column].astype(object).tolist()
        cells[int(generator.integers(0, len(cells)))] = value
        return frame.assign(**{column: pd.Series(cells, dtype=object)})
    if kind == 3:
        return frame.rename(columns={column: str(generator.choice(["", "a", "x" * 3000]))})
    return pd.concat([frame, frame.iloc[:, ::-1]]) if generator.integers(0, 2) else frame.iloc[:0]


def matrix(generator: np.random.Generator) -> bytes:
    """A matrix as NumPy stores it, or something like one."""
    size, out = int(generator.integers(2, 6)), io.BytesIO()
    values = generator.random((size, size + int(generator.integers(0, 2))))
    kind = int(generator.integers(0, 5))
    if kind == 0:
        np.savez(out, values)
    elif kind == 1:
        np.save(out, values.astype(generator.choice(["c16", "U8", "i1", "f4", "V4"])))
    elif kind == 2:
        np.save(out, np.array([[{}, []]] * 2, dtype=object))
    else:
        np.save(out, values)
    text = out.getvalue()
    large = b"'shape': (" + b"9" * int(generator.choice([4, 12, 30])) + b", "
    return text.replace(b"'shape': (", large) if kind == 3 else text


def others(generator: np.random.Generator) -> bytes:
    """Rankings, logs of judges, or runs."""
    kind = int(generator.integers(0, 4))
    if kind == 0:
        cells = " ".join(f"{at}:{generator.choice(['1', '2', 'NULL'])}" for at in range(1, 4))
        return "".join(f"{at % 2} qid:1 {cells} #docid = d{at}\n" for at in range(4)).encode()
    if kind == 1:
        return b"--- q x y\nWhich?\nResponse: 1\nResponse: 2\n" * int(generator.integers(1, 4))
    if kind == 2:
        return b"1 Q0 d1 1 2 s\n1 Q0 d2 2 1 s\n"
    return b"query,ranker,item,rank\nq,r,x,1\nq,r,y,2\nq,s,x,\n"


def attempt(generator: np.random.Generator, room: Path) -> None:
    """One file, sound, changed or damaged; see `fuzzing`."""
    ending, kind = str(generator.choice(ENDINGS)), int(generator.integers(0, 8))
    frame = sound(generator)
    text = written(frame, ending)
    if 0 < kind < 4:
        text = written(changed(frame, generator), ending)
    elif kind == 4:
        text, ending = matrix(generator), "npy"
    elif kind >= 5:
        text = others(generator) if kind == 5 else text
        text = fuzzing.damaged(text, generator, TOKENS)
    path = room / f"p.{ending}"
    path.write_bytes(text if kind == 0 or ending == "npy" else fuzzing.packed(text, generator))
    reading = PreferenceFormat(
        direction=str(generator.choice(["", "small"])),
        nulls=str(generator.choice(["", "last"])),
        repeats=str(generator.choice(["error", "votes", "last"])),
        malformed=str(generator.choice(["error", "skip"])),
    )
    try:
        if generator.integers(0, 2) and kind:
            preference_store.ingest([path], "x", Store(room / "store"), reading)
        else:
            found = read([path], reading)
    except DataError:
        if kind == 0:
            raise WrongError("a sound file is refused") from None
        raise
    if kind == 0:
        values = [found.pairs(query).values for query in range(found.queries)]
        stated = [value[np.triu_indices(len(value), 1)] for value in values]
        if np.concatenate(stated).tolist() != frame.iloc[:, 3].tolist():
            raise WrongError("preferences")


if __name__ == "__main__":
    fuzzing.main(attempt, __doc__, 300, warm=2, bounds=BOUNDS)
