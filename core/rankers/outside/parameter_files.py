"""Rankers that LightGBM, XGBoost and CatBoost train by a file of their own parameters.

A disposable process trains and writes the library's model file, which is scored like every model
file (`file_ranker`). The recipe holds the parameters, not the file. Rows are learnt in the order of
the data set.
"""

import json
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np

from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import DataError, UnknownNameError, no_file
from shuffleproof.core.execution.worker_process import WorkerError, WorkerProcess
from shuffleproof.core.numerals import is_count
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.base import Input
from shuffleproof.core.rankers.boosting.trees import threads
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.rankers.outside import library_training as names
from shuffleproof.core.rankers.outside.columns import ORDER
from shuffleproof.core.rankers.outside.file_ranker import (
    ALONE,
    SAVED_MODEL,
    SERVER,
    OutsideModel,
    finding_of,
    library_of,
)
from shuffleproof.core.rankers.outside.model_files import LIBRARIES
from shuffleproof.core.rankers.tabular import refuse_no_documents
from shuffleproof.core.store.keys import canonical_json, file_digest
from shuffleproof.core.store.plain_json import read_object

LONGEST = 86_400.0  # seconds of a training
EXAMPLE = 'Write a JSON object, like {"learning_rate": 0.1}.'


@dataclass(frozen=True)
class ConfigSpec:
    """Recipe of a ranker of another library.

    Attributes:
        name: one of `name.CONFIGS`.
        parameters: of the library, as canonical JSON.
        seed: among them; 0: none.
        place: file of the parameters, for messages.
    """

    name: str
    parameters: str
    seed: int
    place: str
    reads: ClassVar[frozenset[Input]] = ALONE
    rankings: ClassVar[int] = 0
    fits_documents: ClassVar[bool] = True

    def recipe(self) -> dict[str, Any]:
        """Parameters and seed; the file's name and folder play no part."""
        return {"name": self.name, "parameters": json.loads(self.parameters), "seed": self.seed}

    def fit(
        self, train: JudgedLists, valid: JudgedLists, workspace: Path | None = None
    ) -> Generator[Progress, None, OutsideModel]:
        """Train in a process of its own; `valid` is read if the parameters stop early.

        Raises:
            DataError: the library refuses a parameter or the data, crashed or hung.
        """
        del workspace
        refuse_no_documents(train)
        kind, parameters = library_of(self.name), json.loads(self.parameters)
        missing = train.dataset.missing or LIBRARIES[kind].missing
        request = _documents("train", train, missing=missing)
        if not names.THREADS & parameters.keys():
            name = "thread_count" if kind == "catboost" else "n_jobs"
            parameters[name] = threads(request["train_features"])
        if names.STOPPING & parameters.keys():
            request |= _documents("valid", valid, missing=missing)
        folder = TemporaryDirectory(prefix="parameter-file-")
        path = Path(folder.name) / SAVED_MODEL
        request |= {"kind": kind, "parameters": parameters, "out": str(path)}
        process = WorkerProcess(SERVER, LONGEST, quiet=True)
        try:
            answer = process.ask("train", **request)
        except WorkerError as error:
            remedy = error.remedy or "Correct the parameters, or look the data over (`doctor`)."
            raise DataError(self.place, finding_of(error), remedy) from error
        finally:
            process.close()
        # Recorded times count the reports: one a tree, as for our own trees
        trees = answer["trees"]
        yield from (Progress(tree, trees, "trees") for tree in range(1, trees + 1))
        # Columns by their order: the lists to score have those of the training
        return OutsideModel(self.name, path, file_digest(path), ORDER, _folder=folder)


def _documents(part: str, judged: JudgedLists, *, missing: bool) -> dict[str, Any]:
    """Documents of lists as arrays of a request; `missing`: absent cells are NaN."""
    dataset, rows = judged.dataset, judged.lists.rows
    features, lengths = dataset.features[rows], judged.lists.lengths
    if missing and (absent := dataset.absent_cells(rows)) is not None:
        features = np.where(absent, np.float32(np.nan), features)
    arrays = {"features": features, "labels": dataset.labels[rows], "lengths": lengths[lengths > 0]}
    return {f"{part}_{name}": np.asarray(array) for name, array in arrays.items()}


def spec(name: RankerName, **changes: Any) -> ConfigSpec:
    """Recipe of a file of parameters, like `lightgbm-config:params.json`.

    Args:
        name: of library and file.
        changes: `seed` alone; everything else is set in the file.

    Raises:
        DataError: no file, no JSON object in it, or a seed that is no whole number.
        UnknownNameError: another change.
    """
    if unknown := sorted(changes.keys() - {"seed"}):
        raise UnknownNameError(f"field of {name.head}", unknown[0], ["seed"])
    file = Path(name.path).expanduser()
    if not file.is_file():
        raise no_file(file)
    parameters = read_object(file, EXAMPLE)
    if "seed" in changes:
        parameters = {key: parameters[key] for key in parameters.keys() - names.SEEDS}
        parameters[names.SEED] = changes["seed"]
    for key in names.SEEDS & parameters.keys():
        if not is_count(str(parameters[key])):
            finding = f"the seed is {parameters[key]!r}"
            raise DataError(name.path, finding, "Give a whole number from 0 on.")
        parameters[key] = int(parameters[key])
    seed = next((parameters[key] for key in names.SEEDS & parameters.keys()), 0)
    return ConfigSpec(name.head, canonical_json(parameters), seed, name.path)
