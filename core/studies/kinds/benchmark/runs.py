"""The rows of a benchmark as TREC runs, with the judgments, in one zip."""

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from shuffleproof.core.data import trec
from shuffleproof.core.data.catalogue import KIND, SAMPLE, find
from shuffleproof.core.data.dataset import Fold
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.data.stored import open_fold
from shuffleproof.core.errors import DataError
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.kinds.benchmark.study import RUNS
from shuffleproof.core.studies.result import StudyResult


def made_on(facts: Mapping[str, Any], store: Store) -> list[Fold]:
    """The stored folds that a benchmark was made on, in its order, whatever they are called now.

    Args:
        facts: of the benchmark.
        store: where the data is kept.

    Raises:
        DataError: one of them is not stored any more.
    """
    known = {one.facts.get("fingerprint"): one for one in [*store.artefacts(KIND)]}
    sample = find(SAMPLE, store)
    known[sample.facts.get("fingerprint")] = sample
    folds = []
    for fold, fingerprint in zip(facts["folds"], facts["fingerprints"], strict=True):
        if fingerprint not in known:
            remedy = "Read its files again."
            raise DataError(fold["name"], "this data set is not stored any more", remedy)
        folds.append(open_fold(known[fingerprint].path))
    return folds


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
            lists = lists_of(arrays[f"rows/{part}"], arrays[f"offsets/{part}"])
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


def lists_of(rows: np.ndarray, offsets: np.ndarray) -> CandidateLists:
    """The lists that the scores are of; their initial rankings are not needed."""
    return CandidateLists(
        offsets=offsets.copy(),
        queries=np.arange(len(offsets) - 1, dtype=np.int64),
        rows=rows.copy(),
        ranks=np.zeros((len(rows), 0), dtype=np.int32),
        prior=np.zeros((len(rows), 0), dtype=np.float32),
    )
