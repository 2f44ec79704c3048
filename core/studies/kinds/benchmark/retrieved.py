"""What runs from files retrieved, kept beside their comparison so that two can be laid over.

Such documents have a name, a grade and a score in every run that found them, and no features.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from safetensors import safe_open
from safetensors.numpy import load_file

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.errors import DataError
from shuffleproof.core.studies.kinds.benchmark.query import Place, positions_of

FILE = "retrieved.safetensors"


def arrays_of(
    dataset: RankingDataset, lists: Mapping[str, CandidateLists], scores: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """The documents' names, grades and topics' bounds, and every run's rows, bounds and scores.

    Args:
        dataset: a document a row.
        lists: what each run retrieved, by its name.
        scores: of each run's candidates.
    """
    names = dataset.doc_ids or TextColumn.of([])
    found = {
        "labels": dataset.labels, "bounds": dataset.offsets,
        "blob": names.blob, "starts": names.starts, "ends": names.ends,
    }  # fmt: skip
    for label, own in lists.items():
        found |= {f"rows/{label}": own.rows, f"offsets/{label}": own.offsets}
        found[f"scores/{label}"] = scores[label]
    return {name: np.array(array) for name, array in found.items()}


def judged_by(study: Path, topics: tuple[str, ...]) -> tuple[RankingDataset, dict[str, np.ndarray]]:
    """The judged documents of a stored comparison, and all arrays that were kept of it.

    Args:
        study: the stored comparison's directory.
        topics: their ids.

    Raises:
        DataError: a comparison that was stored without them, or without the topics' bounds.
    """
    arrays = load_file(study / FILE) if (study / FILE).is_file() else {}
    if "bounds" not in arrays:
        remedy = "Compare the files again."
        raise DataError("these runs", "stored without what this measure needs", remedy)
    dataset = RankingDataset(
        np.zeros((len(arrays["labels"]), 0), dtype=np.float32), arrays["labels"],
        arrays["bounds"], topics, (),
        TextColumn(*(arrays[name] for name in ("blob", "starts", "ends"))),
    )  # fmt: skip
    return dataset, arrays


def retrieved(study: Path, place: Place, pair: tuple[str, str]) -> pd.DataFrame:
    """The documents of a topic that either of two runs retrieved, and where.

    Args:
        study: the stored comparison's directory.
        place: of the topic.
        pair: the two runs.

    Returns:
        Columns document, label; for each run its name with the position that it gave (from 1) and
        `score of` its name, both NaN where it did not retrieve the document. The first run's
        order, then the second's.

    Raises:
        DataError: a comparison that was stored without them.
    """
    if not (study / FILE).is_file():
        remedy = "Compare the files again."
        raise DataError("these runs", "stored without what they retrieved", remedy)
    with safe_open(study / FILE, framework="np") as file:
        found = {label: _answer(file, place.query, label) for label in pair}
        names = TextColumn(*(file.get_tensor(name) for name in ("blob", "starts", "ends")))
        frame = found[pair[0]].join(found[pair[1]], how="outer")
        frame = frame.sort_values(list(pair))
        rows = frame.index.to_numpy(np.int64)
        frame.insert(0, "document", [names[int(row)] for row in rows])
        frame.insert(1, "label", file.get_tensor("labels")[rows])
    return frame.reset_index(drop=True)


def _answer(file: Any, query: int, label: str) -> pd.DataFrame:
    offsets = file.get_slice(f"offsets/{label}")
    start, stop = (int(bound) for bound in offsets[query : query + 2])
    rows = np.asarray(file.get_slice(f"rows/{label}")[start:stop], dtype=np.int64)
    scores = np.asarray(file.get_slice(f"scores/{label}")[start:stop])
    return pd.DataFrame({label: positions_of(scores, rows), f"score of {label}": scores}, rows)
