"""Training of LightGBM, XGBoost and CatBoost by their own parameters, in a disposable process.

Without an objective, that of the library's ranker class is used. Rows are learnt as they come.
"""

import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from shuffleproof.core.rankers.outside.columns import ModelError

SEED = "random_state"  # a name that all three know
SEEDS = frozenset({"seed", "random_seed", SEED})
THREADS = frozenset({"num_threads", "num_thread", "nthread", "nthreads", "n_jobs", "thread_count"})
STOPPING = frozenset({
    "early_stopping_round", "early_stopping_rounds", "early_stopping", "n_iter_no_change",
    "od_type", "od_wait", "od_pval",
})  # fmt: skip
OBJECTIVES = frozenset({
    "objective", "objective_type", "app", "application", "loss", "loss_function",
})  # fmt: skip
"""Names of a parameter in any of the libraries."""

USUAL = {"lightgbm": "lambdarank", "xgboost": "rank:ndcg", "catboost": "YetiRank"}
PRINTING = frozenset({"verbosity", "verbose", "logging_level", "silent", "metric_period"})
"""Parameters that are left out: they could hide which names are unknown."""

Part = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Features, labels, and documents of each list."""


def train(kind: str, module: Any, given: Mapping[str, Any], parts: list[Part], out: Path) -> int:
    """Train a model, write its file, and return its number of trees.

    Args:
        kind: of USUAL.
        module: of the library.
        given: parameters of the file.
        parts: training, and validation if the file asks to stop early.
        out: file of the model.

    Raises:
        ModelError: a parameter that the library does not know.
    """
    values = {name: value for name, value in given.items() if name not in PRINTING}
    if not OBJECTIVES & values.keys():
        values["objective"] = USUAL[kind]
    return {"lightgbm": _lightgbm, "xgboost": _xgboost, "catboost": _catboost}[kind](
        module, values, parts, out
    )


def _lightgbm(lightgbm: Any, values: dict[str, Any], parts: list[Part], out: Path) -> int:
    lines: list[str] = []
    lightgbm.register_logger(SimpleNamespace(info=lines.append, warning=lines.append))
    data, *watched = [lightgbm.Dataset(one, labels, group=lists) for one, labels, lists in parts]
    for valid in watched:
        valid.set_reference(data)
    booster = lightgbm.train({**values, "verbosity": 0}, data, valid_sets=watched)
    _refuse_unknown("LightGBM", re.findall(r"Unknown parameter: (\S+)", "\n".join(lines)))
    booster.save_model(str(out))
    return int(booster.num_trees())


def _xgboost(xgboost: Any, values: dict[str, Any], parts: list[Part], out: Path) -> int:
    data, *watched = [xgboost.DMatrix(one, labels, group=lists) for one, labels, lists in parts]
    # Rounds are no parameters of XGBoost's own, but of its ranker class
    rounds = values.pop("n_estimators", 0) or values.pop("num_boost_round", 100)
    patience = values.pop("early_stopping_rounds", None)
    with warnings.catch_warnings(record=True) as received:
        warnings.simplefilter("always")
        booster = xgboost.train(
            values, data, rounds, verbose_eval=False,
            evals=[(valid, "valid") for valid in watched], early_stopping_rounds=patience,
        )  # fmt: skip
    words = "\n".join(str(one.message) for one in received)
    unused = re.findall(r"Parameters: \{(.*)\} are not", words)
    _refuse_unknown("XGBoost", re.findall(r'"(.*?)"', " ".join(unused)))
    out.write_bytes(booster.save_raw())
    return int(booster.num_boosted_rounds())


def _catboost(catboost: Any, values: dict[str, Any], parts: list[Part], out: Path) -> int:
    data, *watched = [
        catboost.Pool(one, labels, group_id=np.repeat(np.arange(len(lists)), lists))
        for one, labels, lists in parts
    ]
    # CatBoost would write a folder next to the user's files
    model = catboost.CatBoost({"allow_writing_files": False, **values})
    model.fit(data, eval_set=watched or None, logging_level="Silent")
    model.save_model(str(out))
    return int(model.tree_count_)


def _refuse_unknown(library: str, names: list[str]) -> None:
    if names:
        found = ", ".join(dict.fromkeys(names))
        raise ModelError(f"{library} knows no parameter {found}", "Correct or remove it.")
