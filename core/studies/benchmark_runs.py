"""The rows of a benchmark as TREC runs, with the judgments, in one zip."""

import zipfile
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from safetensors.numpy import load_file

from core.data import trec
from core.data.dataset import Fold
from core.data.lists import CandidateLists
from core.errors import DataError
from core.studies.benchmark import RUNS
from core.studies.result import StudyResult


def write(study: Path, folds: Sequence[Fold], out: Path) -> list[str]:
    """Write every row, seed and fold as a run, and every fold's judgments; returns the names.

    Args:
        study: the stored benchmark's directory.
        folds: the data it was made on, in its order.
        out: the zip to write.

    Raises:
        DataError: the folds are not those of the study.
    """
    result = StudyResult.open(study)
    made_on = list(result.facts["fingerprints"])
    if [fold.fingerprint for fold in folds] != made_on:
        raise DataError(result.facts["data"], "other data than the study's", "Give its own folds.")
    arrays = load_file(study / RUNS)
    names = []
    with TemporaryDirectory() as room, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, fold in enumerate(folds):
            ending = f".fold{part + 1}" if len(folds) > 1 else ""
            path = Path(room) / f"qrels{ending}.txt"
            trec.write_qrels(path, fold.test)
            lists = _lists(arrays[f"rows/{part}"], arrays[f"offsets/{part}"])
            made = [path]
            for name in sorted(name for name in arrays if name.startswith("scores/")):
                label, seed, of_part = name.removeprefix("scores/").rsplit("/", 2)
                if int(of_part) == part:
                    tag = f"{label.replace(' ', '-').replace(':', '-')}.seed{seed}"
                    made.append(Path(room) / f"{tag}{ending}.run")
                    trec.write_run(made[-1], fold.test, lists, arrays[name], tag)
            for path in made:
                archive.write(path, path.name)
                path.unlink()
            names += [path.name for path in made]
    return names


def _lists(rows: np.ndarray, offsets: np.ndarray) -> CandidateLists:
    """The lists that the scores are of; their initial rankings are not needed."""
    return CandidateLists(
        offsets=offsets.copy(),
        queries=np.arange(len(offsets) - 1, dtype=np.int64),
        rows=rows.copy(),
        ranks=np.zeros((len(rows), 0), dtype=np.int32),
        prior=np.zeros((len(rows), 0), dtype=np.float32),
    )
