"""Training of LightGBM, XGBoost and CatBoost by their own parameters, in a disposable process.

Defaults are those of the libraries' ranker classes: a ranking objective, and the rows as they come.
"""

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32, Int64

from shuffleproof.core.rankers.outside.columns import ModelError

QUIET = frozenset({"verbosity", "verbose", "logging_level", "silent", "metric_period"})
"""Parameters that only change what a library prints; wrong names would not be reported."""


@dataclass(frozen=True)
class Documents:
    """Features, labels and list lengths of one part."""

    features: Float32[np.ndarray, "docs features"]
    labels: Float32[np.ndarray, " docs"]
    lengths: Int64[np.ndarray, " lists"]


@dataclass(frozen=True)
class Names:
    """Names of a library's parameters, the usual one first.

    Attributes:
        objective: what it learns.
        ranks: objective of a file that names none.
        seed: of its random draws.
        threads: that it works with.
        stopping: rounds without improvement on validation queries, after which it stops.
    """

    objective: tuple[str, ...]
    ranks: str
    seed: tuple[str, ...]
    threads: tuple[str, ...]
    stopping: tuple[str, ...]


NAMES: Mapping[str, Names] = {
    "lightgbm": Names(
        ("objective", "objective_type", "app", "application", "loss"),
        "lambdarank",
        ("seed", "random_seed", "random_state"),
        ("num_threads", "num_thread", "nthread", "nthreads", "n_jobs"),
        ("early_stopping_round", "early_stopping_rounds", "early_stopping", "n_iter_no_change"),
    ),
    "xgboost": Names(
        ("objective",),
        "rank:ndcg",
        ("seed", "random_state"),
        ("nthread", "n_jobs"),
        ("early_stopping_rounds",),
    ),
    "catboost": Names(
        ("loss_function", "objective"),
        "YetiRank",
        ("random_seed", "random_state"),
        ("thread_count",),
        ("early_stopping_rounds", "od_wait", "od_type", "od_pval"),
    ),
}


def first_given(parameters: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """The name under which a file gives a parameter; empty if it gives none."""
    return next((name for name in names if name in parameters), "")


def train(
    kind: str,
    module: Any,
    parameters: Mapping[str, Any],
    parts: Sequence[Documents | None],
    out: Path,
) -> int:
    """Train a model, write its file, and return its number of trees.

    Args:
        kind: of NAMES.
        module: of the library.
        parameters: of the file, with the number of threads.
        parts: documents to learn from, and those of validation; None: all rounds are kept.
        out: file of the model.

    Raises:
        ModelError: a parameter that the library does not know.
    """
    names = NAMES[kind]
    values = {name: value for name, value in parameters.items() if name not in QUIET}
    if not first_given(values, names.objective):
        values[names.objective[0]] = names.ranks
    return TRAINERS[kind](module, values, *parts, out)


def _refuse_unknown(library: str, unknown: list[str]) -> None:
    if unknown:
        found = ", ".join(dict.fromkeys(unknown))
        raise ModelError(f"{library} knows no parameter {found}", "Correct or remove it.")


class _LogLines:
    """Receiver of LightGBM's log lines, which name unknown parameters."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def info(self, line: str) -> None:
        """Receive a line; those of LightGBM's own C++ code, with its warnings, are all `info`."""
        self.lines.append(line)

    warning = info


def _lightgbm(
    lightgbm: Any,
    values: dict[str, Any],
    learning: Documents,
    stopping: Documents | None,
    out: Path,
) -> int:
    received = _LogLines()
    lightgbm.register_logger(received)

    def data(part: Documents, **more: Any) -> Any:
        return lightgbm.Dataset(part.features, part.labels, group=part.lengths, **more)

    def check(_state: Any) -> None:
        """Stop before the first tree."""
        found = (re.search(r"Unknown parameter: (\S+)", line) for line in received.lines)
        _refuse_unknown("LightGBM", [match[1] for match in found if match])

    check.before_iteration = True  # type: ignore[attr-defined]
    train_data = data(learning)
    watched = [] if stopping is None else [data(stopping, reference=train_data)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "Found num_iterations in params": that is what files do
        booster = lightgbm.train(
            values | {"verbosity": 0}, train_data, valid_sets=watched, callbacks=[check]
        )
    booster.save_model(str(out))
    return int(booster.best_iteration if booster.best_iteration > 0 else booster.num_trees())


def _xgboost(
    xgboost: Any,
    values: dict[str, Any],
    learning: Documents,
    stopping: Documents | None,
    out: Path,
) -> int:
    def data(part: Documents) -> Any:
        matrix = xgboost.DMatrix(part.features, label=part.labels)
        matrix.set_group(part.lengths)
        return matrix

    rounds = first_given(values, ("n_estimators", "num_boost_round"))
    count = values.pop(rounds) if rounds else 100
    patience = values.pop("early_stopping_rounds", None)
    watched = [] if stopping is None else [(data(stopping), "valid")]
    with warnings.catch_warnings(record=True) as received:
        warnings.simplefilter("always")
        booster = xgboost.train(
            values,
            data(learning),
            count,
            evals=watched,
            early_stopping_rounds=patience,
            verbose_eval=False,
        )
    unused = (re.search(r"Parameters: \{(.*)\} are not used", str(one.message)) for one in received)
    _refuse_unknown(
        [name for match in unused if match for name in re.findall(r'"(.*?)"', match[1])]
    )
    out.write_bytes(booster.save_raw())
    return int(booster.num_boosted_rounds())


def _catboost(
    catboost: Any,
    values: dict[str, Any],
    learning: Documents,
    stopping: Documents | None,
    out: Path,
) -> int:
    def data(part: Documents) -> Any:
        lists = np.repeat(np.arange(len(part.lengths)), part.lengths)
        return catboost.Pool(part.features, part.labels, group_id=lists)

    # Without a folder of its own, CatBoost would write one next to the user's files
    model = catboost.CatBoost({"allow_writing_files": False, **values})
    watched = None if stopping is None else data(stopping)
    model.fit(data(learning), eval_set=watched, logging_level="Silent")
    model.save_model(str(out))
    return int(model.tree_count_)


TRAINERS: Mapping[str, Callable[..., int]] = {
    "lightgbm": _lightgbm,
    "xgboost": _xgboost,
    "catboost": _catboost,
}
