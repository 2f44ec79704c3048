"""Per-query rankings of a benchmark's rows, from its stored scores.

Documents of runs from files have a name and a grade, and a score in every run that retrieved them,
but no features. They are stored with the comparison so that two runs can be compared per query.
"""

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int64
from safetensors import safe_open
from safetensors.numpy import load_file

from shuffleproof.core.answers.shown_order import document_names
from shuffleproof.core.data import trec
from shuffleproof.core.data.catalogue import KIND, SAMPLE, find
from shuffleproof.core.data.dataset import Fold, RankingDataset
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.data.mapped_file import open_fold
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.errors import DataError
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.kinds.benchmark.study import RUNS
from shuffleproof.core.studies.result import StudyResult


@dataclass(frozen=True)
class Place:
    """Fold of a query, and index of its list in the fold; both from 0."""

    fold: int
    query: int


def place_of(result: StudyResult, query: str, fold: str) -> Place:
    """Place of a query.

    Raises:
        DataError: the fold has no such query.
    """
    for index, part in enumerate(result.facts["folds"]):
        queries = list(result.query_ids[part["start"] : part["stop"]])
        if part["name"] == fold and query in queries:
            return Place(index, queries.index(query))
    raise DataError(f"query {query!r}", f"not in the test part of {fold}", "Choose another.")


def answers(  # noqa: PLR0913 (which query, of whom, and what stands beside)
    study: Path,
    part: RankingDataset,
    place: Place,
    rankers: Sequence[str],
    *,
    seed: int = 0,
    features: Sequence[int] = (),
) -> pd.DataFrame:
    """Documents of a query in initial-ranking order, with their positions under each ranker.

    Args:
        study: the stored benchmark's directory.
        part: the test part of the query's fold.
        place: of the query.
        rankers: labels of the rankers to show.
        seed: of rankers with several seeds.
        features: ids of the features to add for each document.

    Returns:
        Columns document, label, initial (position from 1); per ranker its name with the position
        and `score of` its name with the score; `feature` and its id for every feature.
        Ties are in the order of the data set's rows.
    """
    with safe_open(study / RUNS, framework="np") as file:
        inside, rows = _list_in(file, str(place.fold), place.query)
        positions, scores, names = {}, {}, set(file.keys())
        for ranker in rankers:
            name = f"scores/{ranker}/{seed}/{place.fold}"
            name = name if name in names else f"scores/{ranker}/0/{place.fold}"
            ranker_scores = np.asarray(file.get_slice(name)[inside])
            scores[f"score of {ranker}"] = ranker_scores
            positions[ranker] = positions_of(ranker_scores, rows)
    documents = {
        "document": document_names(part.doc_ids, rows),
        "label": part.labels[rows],
        "initial": np.arange(1, len(rows) + 1),
    }
    columns = {f"feature {feature}": part.feature(feature)[rows] for feature in features}
    return pd.DataFrame(documents | positions | scores | columns)


def _list_in(file: Any, name: str, query: int) -> tuple[slice, Int64[np.ndarray, " docs"]]:
    """Slice of a query's list in a stored fold or run, and the rows of its documents."""
    inside = slice(*map(int, file.get_slice(f"offsets/{name}")[query : query + 2]))
    return inside, np.asarray(file.get_slice(f"rows/{name}")[inside], dtype=np.int64)


def positions_of(
    scores: Float[np.ndarray, " docs"], rows: Int64[np.ndarray, " docs"]
) -> Int64[np.ndarray, " docs"]:
    """Positions from 1 by falling score, ties by row.

    >>> positions_of(np.float32([0.5, 0.9, 0.5]), np.array([7, 8, 2])).tolist()
    [3, 1, 2]
    """
    positions = np.empty(len(rows), dtype=np.int64)
    # `lexsort` sorts by its last key first: score, then row
    positions[np.lexsort((rows, -scores))] = np.arange(1, len(rows) + 1)
    return positions


FILE = "retrieved.safetensors"
"""File of the retrieved documents of runs, stored with their comparison."""


def arrays_of(
    dataset: RankingDataset, lists: Mapping[str, CandidateLists], scores: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Arrays of document names, grades, topic bounds, and every run's rows, bounds and scores."""
    names = dataset.doc_ids or TextColumn.of([])
    arrays = {
        "labels": dataset.labels, "bounds": dataset.offsets,
        "blob": names.blob, "starts": names.starts, "ends": names.ends,
    }  # fmt: skip
    for label, candidates in lists.items():
        arrays |= {f"rows/{label}": candidates.rows, f"offsets/{label}": candidates.offsets}
        arrays[f"scores/{label}"] = scores[label]
    return {name: np.array(array) for name, array in arrays.items()}


def judged_by(study: Path, topics: tuple[str, ...]) -> tuple[RankingDataset, dict[str, np.ndarray]]:
    """Judged documents of a stored comparison, and all arrays stored with it.

    Raises:
        DataError: the comparison was stored without them, or without the topics' bounds.
    """
    arrays = load_file(study / FILE) if (study / FILE).is_file() else {}
    if "bounds" not in arrays:
        remedy = "Compare the files again."
        raise DataError("these runs", "stored without the values that this measure needs", remedy)
    dataset = RankingDataset(
        np.zeros((len(arrays["labels"]), 0), dtype=np.float32), arrays["labels"],
        arrays["bounds"], topics, (),
        TextColumn(*(arrays[name] for name in ("blob", "starts", "ends"))),
    )  # fmt: skip
    return dataset, arrays


def retrieved_documents(study: Path, place: Place, pair: tuple[str, str]) -> pd.DataFrame:
    """Documents of a topic that at least one of two runs retrieved, with positions and scores.

    Returns:
        Columns document, label; per run its name with the position (from 1) and `score of` its
        name with the score, both NaN if the run did not retrieve the document. The order is that
        of the first run, then of the second.

    Raises:
        DataError: the comparison was stored without them.
    """
    if not (study / FILE).is_file():
        remedy = "Compare the files again."
        raise DataError("these runs", "stored without their documents", remedy)
    with safe_open(study / FILE, framework="np") as file:
        by_run = {label: _answer(file, place.query, label) for label in pair}
        names = TextColumn(*(file.get_tensor(name) for name in ("blob", "starts", "ends")))
        frame = by_run[pair[0]].join(by_run[pair[1]], how="outer")
        frame = frame.sort_values(list(pair))
        rows = frame.index.to_numpy(np.int64)
        frame.insert(0, "document", [names[int(row)] for row in rows])
        frame.insert(1, "label", np.maximum(file.get_tensor("labels")[rows], 0))
    return frame.reset_index(drop=True)


def _answer(file: Any, query: int, label: str) -> pd.DataFrame:
    inside, rows = _list_in(file, label, query)
    scores = np.asarray(file.get_slice(f"scores/{label}")[inside])
    return pd.DataFrame({label: positions_of(scores, rows), f"score of {label}": scores}, rows)


def made_on(facts: Mapping[str, Any], store: Store) -> list[Fold]:
    """Stored folds of a benchmark in its order, found by content, not by name.

    Raises:
        DataError: a fold is no longer stored.
    """
    stored = [*store.artefacts(KIND), find(SAMPLE, store)]
    by_fingerprint = {artefact.facts.get("fingerprint"): artefact for artefact in stored}
    folds = []
    for fold, fingerprint in zip(facts["folds"], facts["fingerprints"], strict=True):
        if fingerprint not in by_fingerprint:
            remedy = "Read its files again."
            raise DataError(fold["name"], "this data set is no longer stored", remedy)
        folds.append(open_fold(by_fingerprint[fingerprint].path))
    return folds


def write(study: Path, folds: Sequence[Fold], out: Path) -> list[str]:
    """Write every row, seed and fold as a run, and every fold's judgments; returns file names.

    Raises:
        DataError: the folds are not those of the benchmark.
    """
    result = StudyResult.open(study)
    if [fold.fingerprint for fold in folds] != list(result.facts["fingerprints"]):
        raise DataError(result.facts["data"], "other data than the study's", "Give its own folds.")
    arrays = load_file(study / RUNS)
    names = []
    with TemporaryDirectory() as folder, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:

        def add(path: Path) -> None:
            archive.write(path, path.name)
            path.unlink()
            names.append(path.name)

        for part, fold in enumerate(folds):
            ending = f".fold{part + 1}" if len(folds) > 1 else ""
            qrels = Path(folder) / f"qrels{ending}.txt"
            trec.write_qrels(qrels, fold.test)
            add(qrels)
            lists = CandidateLists.unranked(arrays[f"offsets/{part}"], arrays[f"rows/{part}"])
            for name in sorted(name for name in arrays if name.startswith("scores/")):
                label, seed, of_part = name.removeprefix("scores/").rsplit("/", 2)
                if int(of_part) == part:
                    tag = f"{label.replace(' ', '-').replace(':', '-')}.seed{seed}"
                    run = Path(folder) / f"{tag}{ending}.run"
                    trec.write_run(run, fold.test, lists, arrays[name], tag)
                    add(run)
    return names
