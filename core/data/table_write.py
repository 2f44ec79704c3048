"""A data set as one table, a row a document, for CSV and Parquet."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from shuffleproof.core.data import csv_text, ragged
from shuffleproof.core.data.dataset import RankingDataset

ROWS = 1 << 15
"""Rows that are turned into text or columns at a time."""

Parts = Mapping[str, RankingDataset]


def write_csv(parts: Parts, path: Path) -> None:
    """Write the parts below one another, numbers with the fewest digits that read back the same.

    Columns: part, query, document and comment where there are any, label, and `feature_<id>` for
    every feature.

    Args:
        parts: data sets by the name of the part; they share their features.
        path: of the file, which appears when it is complete.
    """
    with _partial_file(path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        for index, frame in enumerate(_frames(parts)):
            file.write(csv_text.csv(frame, header=index == 0))


def write_parquet(parts: Parts, path: Path) -> None:
    """Write the parts below one another; arguments and columns as `write_csv`'s."""
    with _partial_file(path) as partial:
        schema = pa.Schema.from_pandas(next(_frames(parts)), preserve_index=False)
        with pq.ParquetWriter(partial, schema) as file:
            for frame in _frames(parts):
                file.write_table(pa.Table.from_pandas(frame, schema, preserve_index=False))


WRITERS: Mapping[str, Callable[[Parts, Path], None]] = {
    "csv": write_csv,
    "parquet": write_parquet,
}


@contextmanager
def _partial_file(path: Path) -> Iterator[Path]:
    partial = path.with_name(path.name + ".partial")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _frames(parts: Parts) -> Iterator[pd.DataFrame]:
    """The rows of all parts, some at a time; at least one frame, if an empty one."""
    columns = {
        name: any(getattr(part, name) is not None for part in parts.values())
        for name in ("doc_ids", "comments")
    }
    for name, part in parts.items():
        owners = ragged.segment_ids(part.offsets)
        for start in range(0, max(part.documents, 1), ROWS):
            rows = np.arange(start, min(start + ROWS, part.documents))
            texts = {"part": [name] * len(rows)}
            texts["query"] = [part.query_ids[query] for query in owners[rows].tolist()]
            for column, header in (("doc_ids", "document"), ("comments", "comment")):
                if columns[column]:
                    values = getattr(part, column)
                    texts[header] = ["" if values is None else values[row] for row in rows.tolist()]
            head = pd.DataFrame({key: pd.Series(text, dtype="str") for key, text in texts.items()})
            head["label"] = part.labels[rows]
            features = [f"feature_{feature}" for feature in part.feature_ids]
            yield pd.concat([head, pd.DataFrame(part.features[rows], columns=features)], axis=1)
