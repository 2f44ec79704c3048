"""A judged ranking data set: one feature matrix, labels, and the bounds of its queries."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float32, Int32, Int64, UInt8

from shuffleproof.core.data import ragged
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.errors import ShapeError, shown
from shuffleproof.core.words import counted


class _ComputedWhenRead:
    """A data set's fingerprint as a field: what was given, else computed once, when it is read."""

    def __get__(self, dataset: "RankingDataset | None", owner: type) -> str:
        if dataset is None:
            return ""  # the default of the field
        given: str = dataset.__dict__["_fingerprint"]
        if not given:
            given = dataset.__dict__["_fingerprint"] = _fingerprint(dataset)
        return given

    def __set__(self, dataset: "RankingDataset", given: str) -> None:
        dataset.__dict__["_fingerprint"] = given


def names_of_ids(feature_ids: Sequence[int]) -> tuple[str, ...]:
    """The names of features that have none of their own.

    >>> names_of_ids([1, 7])
    ('feature_1', 'feature_7')
    """
    return tuple(f"feature_{feature}" for feature in feature_ids)


@dataclass(frozen=True, eq=False)
class RankingDataset:
    """Documents of many queries, the documents of a query in consecutive rows.

    Attributes:
        features: one row a document; row-major; may be memory-mapped; read-only.
        labels: graded relevance, 0 = not relevant.
        offsets: rows of query q are `offsets[q] … offsets[q + 1] − 1`.
        query_ids: one id a query.
        feature_ids: the id (1-based in LETOR files) of every feature column.
        doc_ids: one id a document, where the source names them.
        comments: what followed `#` on each line, where there was anything.
        texts: what every document says, where `ingest` was given that; only functions read it.
        feature_names: one name a feature column, where the source has names; no ranker reads them.
        absent: bits, a row of bytes a document: 1 where the source left a cell out, which is 0 in
            `features`. XGBoost models read such cells as missing. None: no cell was left out.
        missing: all models that know missing values read absent cells as missing, as after
            `ingest --nulls missing`; else XGBoost's alone do.
        source_rows: for every document its row of the source, counted from 0, where the rows of
            queries were scattered there; scores of files are in that order. None: the order is
            that of the source.
        query_texts: text of every query, from `ingest --query-texts`; only functions and live
            rerankers read it.
        fingerprint: digest of features, labels, offsets, ids, comments and absent cells; computed
            when it is first read, where none was given.
    """

    features: Float32[np.ndarray, "docs features"]
    labels: Float32[np.ndarray, " docs"]
    offsets: Int64[np.ndarray, " bounds"]
    query_ids: tuple[str, ...]
    feature_ids: tuple[int, ...]
    doc_ids: TextColumn | None = None
    comments: TextColumn | None = None
    texts: TextColumn | None = None
    feature_names: tuple[str, ...] | None = None
    absent: UInt8[np.ndarray, "docs bytes"] | None = None
    missing: bool = False
    source_rows: Int32[np.ndarray, " docs"] | Int64[np.ndarray, " docs"] | None = None
    query_texts: tuple[str, ...] | None = None
    fingerprint: str = _ComputedWhenRead()  # type: ignore[assignment]

    def __post_init__(self) -> None:
        """Check that the arrays belong together and make them read-only."""
        docs, features = self.features.shape
        for name, found, due in (
            ("labels", len(self.labels), docs),
            ("feature_ids", len(self.feature_ids), features),
            ("feature_names", len(self.names), features),
            ("query_ids", len(self.query_ids), len(self.offsets) - 1),
        ):
            if found != due:
                raise ShapeError(name, str(found), str(due))
        if self.absent is not None and self.absent.shape != (docs, -(-features // 8)):
            raise ShapeError("absent", f"{self.absent.shape}", f"a bit for each of {docs} rows")
        rising = bool(np.all(np.diff(self.offsets) >= 0))
        if self.offsets[0] != 0 or self.offsets[-1] != docs or not rising:
            raise ShapeError("offsets", "bounds that do not rise from 0 to docs", f"0 … {docs}")
        for array in (self.features, self.labels, self.offsets):
            array.flags.writeable = False

    def __repr__(self) -> str:
        """Its sizes, in one line."""
        sizes = (counted(self.queries, "query"), counted(self.documents, "document"))
        return f"RankingDataset({', '.join(sizes)}, {counted(len(self.feature_ids), 'feature')})"

    @property
    def queries(self) -> int:
        """The number of queries."""
        return len(self.query_ids)

    @property
    def documents(self) -> int:
        """The number of documents, over all queries."""
        return len(self.labels)

    @property
    def names(self) -> tuple[str, ...]:
        """The name of every feature column: `feature_` and its id where it has no other."""
        return self.feature_names or names_of_ids(self.feature_ids)

    @property
    def rows_of_source(self) -> Int64[np.ndarray, " docs"]:
        """The rows in the order of the source."""
        if self.source_rows is None:
            return np.arange(self.documents)
        return np.argsort(self.source_rows, kind="stable")

    def absent_cells(
        self, rows: Int64[np.ndarray, " rows"] | slice = slice(None)
    ) -> Bool[np.ndarray, "rows features"] | None:
        """True where the source left a cell out, in these rows; None: it left none out."""
        if self.absent is None:
            return None
        count = len(self.feature_ids)
        return np.unpackbits(self.absent[rows], axis=1, count=count).astype(bool)

    def feature_label(self, feature_id: int) -> str:
        """Label of a feature: its id, and its name where it has one.

        Raises:
            ValueError: the data set has names, but no feature of that id.
        """
        if self.feature_names is None:
            return str(feature_id)
        return f"{feature_id} ({shown(self.feature_names[self.feature_ids.index(feature_id)])})"

    def feature(self, feature_id: int) -> Float32[np.ndarray, " docs"]:
        """One feature's column by its id.

        Raises:
            ShapeError: the data set has no feature of that id.
        """
        if feature_id not in self.feature_ids:
            bounds = f"ids {min(self.feature_ids)} … {max(self.feature_ids)}"
            raise ShapeError("feature", f"id {feature_id}", bounds)
        return self.features[:, self.feature_ids.index(feature_id)]

    def select(self, queries: Int64[np.ndarray, " chosen"]) -> "RankingDataset":
        """The data set of these queries, in the order given; copies their rows."""
        return self.arranged(queries, ragged.elements_of(self.offsets, queries))

    def arranged(
        self, queries: Int64[np.ndarray, " chosen"], rows: Int64[np.ndarray, " rows"]
    ) -> "RankingDataset":
        """Data set of these queries, in this order.

        `rows` are all rows of the first of them in any order, then those of the next one.
        """
        columns: dict[str, Any] = {
            name: None if (column := getattr(self, name)) is None else column.take(rows)
            for name in ("doc_ids", "comments", "texts")
        }
        texts = self.query_texts
        return RankingDataset(
            features=self.features[rows],
            labels=self.labels[rows],
            offsets=ragged.offsets_of(np.diff(self.offsets)[queries]),
            query_ids=tuple(self.query_ids[query] for query in queries),
            feature_ids=self.feature_ids,
            feature_names=self.feature_names,
            absent=None if self.absent is None else self.absent[rows],
            missing=self.missing,
            query_texts=None if texts is None else tuple(texts[query] for query in queries),
            **columns,
        )


@dataclass(frozen=True)
class Fold:
    """One train / validation / test split; the three share their feature columns."""

    train: RankingDataset
    valid: RankingDataset
    test: RankingDataset

    @property
    def parts(self) -> dict[str, RankingDataset]:
        """The parts by name."""
        return {"train": self.train, "valid": self.valid, "test": self.test}

    @property
    def fingerprints(self) -> tuple[str, str, str]:
        """Of the training, validation and test part."""
        return self.train.fingerprint, self.valid.fingerprint, self.test.fingerprint

    @property
    def fingerprint(self) -> str:
        """Digest of the three parts."""
        return hashlib.sha256("".join(self.fingerprints).encode()).hexdigest()


def _fingerprint(dataset: RankingDataset) -> str:
    digest = hashlib.sha256()
    for array in (dataset.features, dataset.labels, dataset.offsets):
        digest.update(repr(array.shape).encode())
        digest.update(np.ascontiguousarray(array).data)
    digest.update(repr((dataset.query_ids, dataset.feature_ids)).encode())
    for column in (dataset.doc_ids, dataset.comments):
        digest.update(b"-" if column is None else b"+")
        for lengths, text in () if column is None else column.pieces():
            digest.update(lengths.data)
            digest.update(np.ascontiguousarray(text).data)
    if dataset.absent is not None:
        digest.update(b"missing" if dataset.missing else b"absent")
        digest.update(np.ascontiguousarray(dataset.absent).data)
    return digest.hexdigest()
