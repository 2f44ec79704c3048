"""Model files of other libraries: the table of those that can be read, and the process that does.

Foreign libraries name places in their own source; errors say what a file is, and what to do
(`ModelError`). What a file is shows in its first bytes, and what failed in the step that it failed
at; the library's own sentence stands behind that.
"""

import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float32, Int64

from shuffleproof.core.rankers.library_words import in_its_words
from shuffleproof.core.rankers.outside.columns import ColumnsError, ModelColumns, match_columns

UNUSED = ("dask", "graphviz", "matplotlib", "pandas", "pyarrow", "sklearn")
"""Modules that LightGBM and XGBoost load in a second or two, and that no file needs."""

FORMAT = 4
"""The version of LightGBM's text that is known here."""

BEGINNINGS = (
    (rb"$", "empty"),
    (rb"\x80[\x02-\x05]", "a pickle"),
    (rb"binf", "in XGBoost's old binary format"),
    (rb"booster\[", "a dump for people, as dump_model writes"),
    (rb'\{"name"|\[\s*\{\s*"nodeid"', "a dump, as dump_model writes"),
    (rb'\{"learner":\{"generic_param"|\{.{0,400}"generic_param"', "a configuration, without trees"),
    (rb"tree\s", "LightGBM's text"),
    (rb'\{"learner"|\{L', "XGBoost's JSON"),
)
"""Beginnings of files, and their kinds."""

MOST_DIGITS = 9  # of the number of a round
HEAD = 1 << 16  # bytes of a file, at either end, that tell what it is


@dataclass
class ModelError(Exception):
    """A model file that cannot be scored.

    Attributes:
        finding: what is wrong with it.
        remedy: what to do, and what the library said.
    """

    finding: str
    remedy: str

    def __str__(self) -> str:
        """Both."""
        return f"{self.finding}. {self.remedy}"


@dataclass(frozen=True)
class Library:
    """Reader of the model files of a library.

    Attributes:
        name: for people.
        saved: how it writes what is read here.
        install: how it is installed.
        open: the model of a file, from the library's module.
        columns: of a model.
        categories: places of the columns that a model splits by category.
        predict: from module, model and features: a score a document, and the rounds used where
            these are not all.
        missing: it always reads cells that the data set leaves out as missing values.
    """

    name: str
    saved: str
    install: str
    open: Callable[[Any, Path], Any]
    columns: Callable[[Any], ModelColumns]
    categories: Callable[[Any], Sequence[int]]
    predict: Callable[[Any, Any, np.ndarray], tuple[np.ndarray, Mapping[str, int]]]
    missing: bool


@dataclass(frozen=True)
class GivenData:
    """The documents that a model scores.

    Attributes:
        features: 0 where the data set leaves a cell out.
        ids: of the features.
        names: of the features.
        absent: true where a cell is left out; None: none is.
        rule: how columns are matched; empty: by the only rule that fits.
        missing: absent cells are missing values for every model that knows them.
    """

    features: Float32[np.ndarray, "docs features"]
    ids: Int64[np.ndarray, " features"]
    names: Sequence[str] = ()
    absent: Bool[np.ndarray, "docs features"] | None = None
    rule: str = ""
    missing: bool = False


class ModelServer:
    """Server of the process of a model file."""

    def score(self, kind: str, path: str, **data: Any) -> dict[str, Any]:
        """The `scores` of a model file of LIBRARIES, and `how` it was read; as `model_scores`."""
        absent: Any = None
        # None makes `import` fail at once, and the libraries go on without them
        sys.modules.update(dict.fromkeys(UNUSED, absent))
        scores, how = model_scores(kind, Path(path), GivenData(**data))
        return {"scores": np.asarray(scores, dtype=np.float32), "how": how}

    def open_rankers(self, directories: list[str]) -> dict[str, Any]:
        """Open rankers and their members as their users will; walk all trees.

        Raises:
            ValueError: trees of LightGBM that reach outside of themselves.
        """
        package = "shuffleproof.core.rankers"
        registry, trees, tabular = (
            import_module(f"{package}.{name}") for name in ("registry", "boosting.trees", "tabular")
        )
        for directory in map(Path, directories):
            registry.load(directory)
            for head in directory.rglob(tabular.FILE):
                ranker = registry.load(head.parent)
                if isinstance(ranker, trees.LambdaMART):
                    ranker.check()
        return {}


def model_scores(kind: str, path: Path, data: GivenData) -> tuple[np.ndarray, dict[str, Any]]:
    """The raw scores of a model file, and how it was read.

    That is `columns` (the rule), `absent` columns, `rounds` used, and the `seconds` of scoring.

    Raises:
        ModelError: its library is missing or cannot read it, or it has other features.
    """
    library = LIBRARIES[kind]
    try:
        module = import_module(kind)
    except ModuleNotFoundError as error:
        finding = f"{library.name}, which reads it, is not installed"
        raise ModelError(finding, library.install) from error
    try:
        model = library.open(module, path)
    except Exception as error:
        raise _unreadable(kind, path, error, module.__version__) from error
    try:
        match = match_columns(library.columns(model), data.ids.tolist(), data.names, data.rule)
    except ColumnsError as error:
        raise ModelError(error.finding, error.remedy) from error
    missing, features = library.missing or data.missing, data.features
    if missing and data.absent is not None:
        # The library reads an absent cell of LETOR text as NaN, not as 0
        features = np.where(data.absent, np.float32(np.nan), features)
    matrix = match.of(features, np.nan if missing else 0.0)
    _check_categories(matrix, library.categories(model))
    start = time.perf_counter()
    try:
        # Timed alone: opening the file is no part of scoring
        scores, rounds = library.predict(module, model, matrix)
    except Exception as error:
        remedy = f"Train it on the features of the data set. {in_its_words(library.name, error)}."
        raise ModelError("it does not score these features", remedy) from error
    seconds = time.perf_counter() - start
    if scores.ndim > 1:
        raise ModelError(
            f"it gives {scores.shape[1]} numbers a document, one a class",
            f"Bring a model of {library.name} with one output: a ranking or regression objective.",
        )
    return scores, {**match.plain(), **rounds, "seconds": seconds}


def _unreadable(kind: str, path: Path, error: Exception, version: str) -> ModelError:
    """The error for a file that its library did not read."""
    library = LIBRARIES[kind]
    with path.open("rb") as file:
        head = file.read(HEAD)
        file.seek(max(path.stat().st_size - HEAD, 0))
        tail = file.read()
    finding, remedy = f"it is no model of {library.name}", library.saved
    for begins, description in BEGINNINGS:
        if re.match(begins, head.lstrip()):
            own = description.startswith(library.name)
            finding = "it is damaged, or cut short" if own else f"it is {description}"
            break
    for other, its in LIBRARIES.items():
        if other != kind and finding.startswith(f"it is {its.name}'s"):
            remedy = f"Name it {other}:{path.name}."
    if newer := _newer_version(library.name, head + tail, version):
        finding, remedy = newer, f"Install that version, or save it by {version}."
    # Messages do not show where the file lies.
    message = str(error).replace(f"{path.parent}/", "")
    return ModelError(finding, f"{remedy} {in_its_words(library.name, message)}.")


def _newer_version(library: str, text: bytes, version: str) -> str:
    """That a file was written by a newer version than what is here; empty where it was not."""
    # LightGBM counts versions of its format, XGBoost those of the library
    if library == "LightGBM":
        match = re.search(rb"^version=v(\d+)", text, re.MULTILINE)
        if match and int(match[1]) > FORMAT:
            return f"its text is of version {int(match[1])}, {library} {version} reads {FORMAT}"
        return ""
    match = re.search(rb'"version"\s*:\s*\[(\d+),\s*(\d+)', text)
    if match and (int(match[1]), int(match[2])) > tuple(map(int, version.split(".")[:2])):
        return f"it was saved by {library} {int(match[1])}.{int(match[2])}, {version} is installed"
    return ""


def _lightgbm_categories(booster: Any) -> list[int]:
    infos = booster.dump_model(num_iteration=1)["feature_infos"]
    names = booster.feature_name()
    return [at for at, name in enumerate(names) if infos.get(name, {}).get("values")]


def lightgbm_columns(booster: Any) -> ModelColumns:
    """The columns of a LightGBM model; those that were constant in training say nothing to it."""
    # A column that varied may be read, also where this model never splits on it
    splits = np.flatnonzero(booster.feature_importance("split")).tolist()
    head = booster.model_to_string(num_iteration=1).partition("tree_sizes=")[0]
    infos = re.search(r"^feature_infos=(.*)$", head, re.MULTILINE)
    listed = infos[1].split(" ") if infos else []
    varied = [at for at, info in enumerate(listed) if info != "none"]
    return ModelColumns.of(booster.feature_name(), booster.num_feature(), {*splits, *varied})


def _open_xgboost(xgboost: Any, path: Path) -> Any:
    booster, content = xgboost.Booster(params={"nthread": 1}), path.read_bytes()
    # JSON and UBJSON are told by their content, whatever the name.
    booster.load_model(bytearray(content) if content.startswith(b"{") else str(path))
    return booster


def _xgboost_margins(
    xgboost: Any, booster: Any, matrix: np.ndarray
) -> tuple[np.ndarray, Mapping[str, int]]:
    """Margins; a model that was stopped early scores with its best rounds."""
    rounds = best_rounds(booster)
    data = xgboost.DMatrix(matrix, nthread=1, feature_names=booster.feature_names)
    scores = booster.predict(data, output_margin=True, iteration_range=(0, rounds))
    every = booster.num_boosted_rounds()
    return scores, {"rounds": rounds, "of_rounds": every} if rounds else {}


def xgboost_columns(booster: Any) -> ModelColumns:
    """The columns of an XGBoost model; it uses those that it splits on."""
    width, names = booster.num_features(), booster.feature_names
    places = {name: at for at, name in enumerate(names or [f"f{at}" for at in range(width)])}
    try:
        used = {places[name] for name in booster.get_score(importance_type="weight")}
    except Exception:  # noqa: BLE001 (a model that is not of trees has no such count)
        used = set(range(width))
    return ModelColumns.of(names, width, used, blanks=False)


def best_rounds(booster: Any) -> int:
    """The rounds of an XGBoost model up to its best; 0: all, since it was not stopped early."""
    text = booster.attributes().get("best_iteration", "")
    best = int(text) + 1 if text.isdecimal() and len(text) < MOST_DIGITS else 0
    return best if best < booster.num_boosted_rounds() else 0


def _check_categories(
    features: Float32[np.ndarray, "docs features"], categories: Sequence[int]
) -> None:
    """Refuse features that are no categories where a model splits by categories."""
    for column in categories:
        values = features[:, column]
        known = values[~np.isnan(values)]
        wrong = known[(known < 0) | (known != np.floor(known))]
        if len(wrong):
            finding = (
                f"it splits column {column + 1} by category, and the data has {wrong[0]:g} there"
            )
            raise ModelError(finding, "Give the column the whole numbers that it was trained on.")


LIBRARIES = {
    "lightgbm": Library(
        name="LightGBM",
        saved="Save it as text: booster.save_model('model.txt').",
        install="Install it: pip install lightgbm.",
        open=lambda lightgbm, path: lightgbm.Booster(
            model_file=str(path), params={"verbosity": -1}
        ),
        columns=lightgbm_columns,
        categories=_lightgbm_categories,
        predict=lambda _, booster, matrix: (booster.predict(matrix, num_threads=1), {}),
        missing=False,
    ),
    "xgboost": Library(
        name="XGBoost",
        saved="Save it as JSON or UBJSON: booster.save_model('model.json').",
        install="Install it: pip install xgboost-cpu (or xgboost).",
        open=_open_xgboost,
        columns=xgboost_columns,
        categories=lambda booster: [
            at for at, kind in enumerate(booster.feature_types or ()) if kind == "c"
        ],
        predict=_xgboost_margins,
        missing=True,
    ),
}
"""By the kind of a file's name, which is the library's module too."""
