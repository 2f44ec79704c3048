"""Damaged LightGBM and XGBoost model files through the border that reads foreign ones.

`python -m tests.soak.fuzz_models 40`; each starts a process, so dozens are much. A file that is
accepted gives one finite score a document; any other is refused in a sentence, crashes included.
"""

import json
import os
from functools import lru_cache
from importlib import import_module
from pathlib import Path

import numpy as np

from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.data.synthetic import planted
from shuffleproof.core.rankers.outside import file_ranker
from tests.soak import fuzzing
from tests.soak.fuzzing import WrongError

PLACE = "SHUFFLEPROOF_FUZZED_MODELS"
BOUNDS = fuzzing.Bounds(patience=300.0)
TOKENS = (b"nan", b"inf", b"-1", b"0", b"1e999", b"9" * 30, b"=", b" ", b"\n", b"{", b"}", b"[",
          b"null", b"\0", b"\xff", b"Tree=0\n", b"tree_sizes=1\n",
          b"num_leaves=99999\n")  # fmt: skip


def prepared(folder: Path) -> None:
    """Fit one model of each library, once for all processes."""
    fold = planted(queries=(20, 2, 4), seed=1, documents=8)
    features, labels = np.array(fold.train.features), np.array(fold.train.labels)
    lightgbm, xgboost = import_module("lightgbm"), import_module("xgboost")
    given = {"verbosity": -1, "num_threads": 1, "min_data_in_leaf": 2}
    found = lightgbm.train(given, lightgbm.Dataset(features, labels), 4)
    (folder / "lightgbm").write_text(found.model_to_string())
    booster = xgboost.train({"nthread": 1}, xgboost.DMatrix(features, labels), 4)
    booster.save_model(folder / "model.json")
    (folder / "model.json").rename(folder / "xgboost")
    os.environ[PLACE] = str(folder)


@lru_cache(maxsize=2)
def sound(kind: str) -> bytes:
    """The model that all others of its kind are made from."""
    return (Path(os.environ[PLACE]) / kind).read_bytes()


def attempt(generator: np.random.Generator, room: Path) -> None:
    """Score a few documents by one model file."""
    kind = ("lightgbm", "xgboost")[int(generator.integers(0, 2))]
    text, whole = sound(kind), not generator.integers(0, 8)
    if not whole:
        json_too = kind == "xgboost" and generator.integers(0, 2)
        text = spoilt(text, generator) if json_too else fuzzing.damaged(text, generator, TOKENS)
    (room / "model.json").write_bytes(text)
    data = planted(queries=(20, 2, 4), seed=1, documents=8).test
    lists = CandidateLists.all_documents(data)
    try:
        ranker = file_ranker.file_ranker(f"{kind}:{room / 'model.json'}", data)
        scores = ranker.score(data, lists)
    except fuzzing.ShuffleproofError as error:
        if whole:
            raise WrongError(f"a sound {kind} model is refused: {error}") from error
        if str(room) in str(error):
            raise fuzzing.UnclearError(f"it names a folder of ours: {error}") from error
        raise
    if scores.shape != (data.documents,) or not np.isfinite(scores).all():
        raise WrongError(f"{kind}: no finite score for every document")


def spoilt(text: bytes, generator: np.random.Generator) -> bytes:
    """A value somewhere in a JSON model replaced by another."""
    values = (None, "x", -1, 10**12, 1e300, [], {}, [0] * 1000, True, "nan")
    place = told = json.loads(text)
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = keys[int(generator.integers(0, len(keys)))]
        if not (isinstance(place[key], dict | list) and place[key]) or not generator.integers(0, 6):
            break
        place = place[key]
    place[key] = values[int(generator.integers(0, len(values)))]
    return json.dumps(told).encode()


if __name__ == "__main__":
    fuzzing.main(attempt, __doc__, 40, warm=0, bounds=BOUNDS, prepared=prepared)
