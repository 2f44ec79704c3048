"""trec_eval's order of documents whose scores are equal: by document id as text, the last first.

`qsort` in trec_eval's form_res_rels.c compares ids byte by byte (strcmp) where scores are equal.
"""

import itertools
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from jaxtyping import Int64

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.errors import DataError


class DocumentOrder(NamedTuple):
    """Every query's rows sorted by falling document id, within the query's own rows.

    Attributes:
        rows: the data set row that stands at each place.
        places: the place of each data set row.
    """

    rows: Int64[np.ndarray, " docs"]
    places: Int64[np.ndarray, " docs"]


_KNOWN: WeakKeyDictionary[RankingDataset, DocumentOrder] = WeakKeyDictionary()
"""Sorted once for as long as somebody holds the data set."""


def document_order(dataset: RankingDataset) -> DocumentOrder:
    """The order in which trec_eval has tied documents; equal ids stand by row.

    Raises:
        DataError: a document without an id.

    >>> from shuffleproof.core.data.text import TextColumn
    >>> none, two = np.zeros((2, 0), np.float32), np.array([0, 2])
    >>> names = TextColumn.of(["a", "b"])
    >>> dataset = RankingDataset(none, np.zeros(2, np.float32), two, ("1",), (), names)
    >>> document_order(dataset).rows.tolist()
    [1, 0]
    """
    known = _KNOWN.get(dataset)
    if known is not None:
        return known
    ids = dataset.doc_ids
    nameless = dataset.documents if ids is None else int((ids.starts == ids.ends).sum())
    if ids is None or nameless:
        found = f"{nameless:,} of {dataset.documents:,} have no id, by which ties=trec orders them"
        raise DataError("documents", found, "Take ties=averaged or ties=row.")
    blob = ids.blob.tobytes()
    names = [blob[start:end] for start, end in zip(ids.starts, ids.ends, strict=True)]
    rows = np.empty(dataset.documents, dtype=np.int64)
    for start, stop in itertools.pairwise(dataset.offsets.tolist()):
        rows[start:stop] = sorted(range(start, stop), key=names.__getitem__, reverse=True)
    places = np.empty_like(rows)
    places[rows] = np.arange(len(rows))
    found_order = _KNOWN[dataset] = DocumentOrder(rows, places)
    return found_order
