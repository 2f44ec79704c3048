"""Rankers that LightGBM, XGBoost and CatBoost train by a file of their own parameters.

A disposable process trains, and writes the library's own model file, which is scored like every
model file (`file_ranker`). The recipe holds the parameters, so that the same text in another file
is the same ranker. Rows are learnt in the order of the data set.
"""

import json
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np

from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import (
    DataError,
    ParameterError,
    UnknownNameError,
    no_file,
    quoted,
)
from shuffleproof.core.execution.worker_process import WorkerError, WorkerProcess
from shuffleproof.core.numerals import is_count
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.base import Input
from shuffleproof.core.rankers.boosting.trees import threads
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.rankers.outside.columns import ORDER
from shuffleproof.core.rankers.outside.file_ranker import (
    ALONE,
    SAVED_MODEL,
    SERVER,
    OutsideModel,
    finding_of,
    library_of,
)
from shuffleproof.core.rankers.outside.library_training import NAMES, first_given
from shuffleproof.core.rankers.tabular import refuse_no_documents
from shuffleproof.core.store.keys import canonical_json, file_digest

LONGEST = 86_400.0
"""Seconds after which a training is ended."""

LARGEST_FILE = 1 << 20  # bytes
EXAMPLE = 'Write a JSON object, like {"learning_rate": 0.1}.'


@dataclass(frozen=True)
class ConfigSpec:
    """Recipe of a ranker of another library.

    Attributes:
        name: one of `name.CONFIGS`.
        parameters: of the library, as JSON with sorted names.
        seed: that the file gives, or that replaces it; 0 without either.
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
        """Train in a process of its own, which then scores; one report at the end.

        Args:
            train: lists to learn from.
            valid: lists to stop on, if the parameters say after how many rounds.
            workspace: not used, a killed fit starts again.

        Raises:
            DataError: the library refuses a parameter or the data, crashed or hung.
        """
        del workspace
        refuse_no_documents(train)
        kind, parameters = library_of(self.name), json.loads(self.parameters)
        request = _documents("learning", train)
        if not first_given(parameters, NAMES[kind].threads):
            parameters[NAMES[kind].threads[0]] = threads(request["learning_features"])
        if first_given(parameters, NAMES[kind].stopping):
            if not len(valid.lists.rows):
                finding = "it stops early, and the data set has no validation queries"
                raise DataError(self.place, finding, "Remove the rounds of early stopping.")
            request |= _documents("stopping", valid)
        folder = TemporaryDirectory(prefix="shuffleproof-")
        path = Path(folder.name) / SAVED_MODEL
        process = WorkerProcess(SERVER, LONGEST, quiet=True)
        try:
            answer = process.ask(
                "train", kind=kind, parameters=parameters, out=str(path),
                missing=train.dataset.missing, **request,
            )  # fmt: skip
        except WorkerError as error:
            process.close()
            folder.cleanup()
            remedy = error.remedy or "Correct the parameters, or look the data over (`doctor`)."
            raise DataError(self.place, finding_of(error), remedy) from error
        process.close()
        yield Progress(answer["trees"], answer["trees"], "trees")
        # Columns by their order: the lists to score have those of the training
        return OutsideModel(self.name, path, file_digest(path), ORDER, _folder=folder)


def _documents(part: str, judged: JudgedLists) -> dict[str, Any]:
    """Documents of lists as arrays of a request."""
    dataset, rows = judged.dataset, judged.lists.rows
    lengths = judged.lists.lengths
    arrays = {
        f"{part}_features": dataset.features[rows],
        f"{part}_labels": dataset.labels[rows],
        f"{part}_lengths": np.array(lengths[lengths > 0]),
    }
    absent = dataset.absent_cells(rows)
    return arrays if absent is None else arrays | {f"{part}_absent": absent}


def spec(name: RankerName, **changes: Any) -> ConfigSpec:
    """Recipe of a file of parameters.

    Args:
        name: like `lightgbm-config:params.json`.
        changes: `seed` alone; other parameters are set in the file.

    Raises:
        DataError: no file, or one that is no JSON object (for LightGBM also `name = value` lines).
        UnknownNameError: another change.
        ParameterError: a seed that is no whole number from 0 on.
    """
    if unknown := sorted(changes.keys() - {"seed"}):
        raise UnknownNameError(f"field of {name.head}", unknown[0], ["seed"])
    file = Path(name.path).expanduser()
    parameters = read_parameters(file, name.head)
    seeds = NAMES[library_of(name.head)].seed
    seed = parameters.get(key := first_given(parameters, seeds), 0)
    if isinstance(seed, bool) or not is_count(str(seed)):
        finding = f"its {key} is {quoted(str(seed))}, no whole number from 0 on"
        raise DataError(str(file), finding, "Correct or remove it.")
    given = changes.get("seed", seed)
    if not is_count(str(given)):
        raise ParameterError("seed", given, "a whole number from 0 on")
    if "seed" in changes:
        parameters = {key: value for key, value in parameters.items() if key not in seeds}
        parameters[seeds[0]] = int(given)
    return ConfigSpec(name.head, canonical_json(parameters), int(given), str(name.path))


def read_parameters(file: Path, head: str) -> dict[str, Any]:
    """Parameters of a file.

    Args:
        file: JSON, or for LightGBM also its own text of lines `name = value`.
        head: one of `name.CONFIGS`.

    Raises:
        DataError: no file, an empty one, or another content.
    """
    if not file.is_file():
        raise no_file(file)
    if file.stat().st_size > LARGEST_FILE:
        raise DataError(str(file), "it has more than 1 MB, so it is no file of parameters", EXAMPLE)
    text = file.read_text(encoding="utf-8", errors="replace").lstrip("\ufeff")
    lines = [
        line for line in (line.partition("#")[0].strip() for line in text.splitlines()) if line
    ]
    if not lines:
        raise DataError(str(file), "it is empty", EXAMPLE)
    if head == "lightgbm-config" and all("=" in line for line in lines):
        pairs = (line.split("=", 1) for line in lines)
        texts = {key.strip(): value.strip() for key, value in pairs}
        # LightGBM reads numbers in texts, but compares the rounds of early stopping itself
        return {key: int(text) if is_count(text) else text for key, text in texts.items()}
    try:
        # NaN and Infinity are no JSON, and no library takes them as text
        values = json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        place = f"{file}, line {error.lineno}"
        raise DataError(place, f"it is no JSON ({error.msg})", EXAMPLE) from error
    except ValueError as error:
        raise DataError(str(file), str(error), EXAMPLE) from error
    if not isinstance(values, dict):
        raise DataError(str(file), "it is JSON, but no object of names and values", EXAMPLE)
    return values


def _refuse(constant: str) -> None:
    raise ValueError(f"it has the value {constant}, which is no JSON")
