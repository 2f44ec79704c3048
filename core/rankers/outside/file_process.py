"""The process that loads a foreign model file, answers once and ends.

`python -m core.rankers.outside.file_process lightgbm|xgboost MODEL GIVEN.npz ANSWER.npy` scores;
`python -m core.rankers.outside.file_process rankers DIRECTORY …` opens rankers that somebody saved.

Foreign libraries name places in their own source; what is said of a file here is what it is, and
what to do (`ModelError`). What a file is shows in its first bytes, and what failed in the step that
it failed at; the library's own sentence stands behind that.
"""

import json
import re
import resource
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32, Int64

from shuffleproof.core.rankers.library_words import in_its_words

FEATURES, IDS = "features", "ids"
UNUSED = ("dask", "graphviz", "matplotlib", "pandas", "pyarrow", "sklearn")
"""What LightGBM and XGBoost load where it is installed, in a second or two; no file asks for it."""
MOST_BYTES = 4 << 30
"""Memory for opening rankers: trees whose branches meet again grow without end when walked."""

LIGHTGBM, XGBOOST = "LightGBM", "XGBoost"
SAVED = {
    LIGHTGBM: "Save it as text: booster.save_model('model.txt').",
    XGBOOST: "Save it as JSON or UBJSON: booster.save_model('model.json').",
}
"""How each library writes what is read here."""

FORMAT = 4
"""The version of LightGBM's text that is known here."""

BEGINNINGS = (
    (rb"$", "empty"),
    (rb"\x80[\x02-\x05]", "a pickle"),
    (rb"binf", "in XGBoost's old binary format"),
    (rb"booster\[", "a dump for people, as dump_model writes"),
    (rb'\{"name"|\[\s*\{\s*"nodeid"', "a dump, as dump_model writes"),
    (rb'\{"learner":\{"generic_param"|\{.{0,400}"generic_param"', "a configuration, without trees"),
    (rb"tree\s", f"{LIGHTGBM}'s text"),
    (rb'\{"learner"|\{L', f"{XGBOOST}'s JSON"),
)
"""How files begin, and what they are then."""

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


def unreadable(library: str, path: Path, error: Exception, version: str) -> ModelError:
    """A file that its library did not read.

    Args:
        library: LIGHTGBM or XGBOOST.
        path: of the file.
        error: what the library raised.
        version: of the library.
    """
    with path.open("rb") as file:
        head = file.read(HEAD)
        file.seek(max(path.stat().st_size - HEAD, 0))
        tail = file.read()
    finding, remedy = _kind(library, head), SAVED[library]
    if newer := _newer_version(library, head + tail, version):
        finding, remedy = newer, f"Install that version, or save it by {version}."
    for other_library in SAVED.keys() - {library}:
        if other_library in finding and "'s" in finding:
            remedy = f"Name it {other_library.lower()}:{path.name}."
    message = str(error).replace(
        f"{path.parent}/", ""
    )  # where a file lies for now is nobody's business
    return ModelError(finding, f"{remedy} {in_its_words(library, message)}.")


def scoring_error(library: str, error: Exception) -> ModelError:
    """A model that was read, and did not score the features."""
    names = re.search(r"fields are expected: (.+)", str(error))
    finding, remedy = (
        "it does not score these features",
        "Train it on the features of the data set.",
    )
    if names:
        finding = f"its columns have names ({names[1][:60]}), the data set's have none"
        remedy = "Where they stand in the features' order: booster.feature_names = None, and save."
    return ModelError(finding, f"{remedy} {in_its_words(library, error)}.")


def check_outputs(library: str, scores: Any) -> None:
    """Refuse a model of several classes.

    Raises:
        ModelError: it gives a document several numbers.
    """
    if scores.ndim > 1:
        raise ModelError(
            f"it gives {scores.shape[1]} numbers a document, one a class",
            f"Bring a model of {library} with one output: a ranking or regression objective.",
        )


def _kind(library: str, head: bytes) -> str:
    """What a file is by its first bytes, where that tells; else that it is damaged, or no model."""
    for begins, words in BEGINNINGS:
        if re.match(begins, head.lstrip()):
            is_own_format = words.startswith(library)
            return "it is damaged, or cut short" if is_own_format else f"it is {words}"
    return f"it is no model of {library}"


def _newer_version(library: str, text: bytes, version: str) -> str:
    """That a file was written by a newer version than what is here; empty where it was not."""
    if library == LIGHTGBM:
        match = re.search(rb"^version=v(\d+)", text, re.MULTILINE)
        if match and int(match[1]) > FORMAT:
            return f"its text is of version {int(match[1])}, {library} {version} reads {FORMAT}"
        return ""
    match = re.search(rb'"version"\s*:\s*\[(\d+),\s*(\d+)', text)
    if match and (int(match[1]), int(match[2])) > tuple(map(int, version.split(".")[:2])):
        return f"it was saved by {library} {int(match[1])}.{int(match[2])}, {version} is installed"
    return ""


def main(arguments: list[str]) -> int:
    """Score the given features, or open rankers; 0 done, 1 with the reason on stderr."""
    kind, *paths = arguments
    absent: Any = None
    sys.modules.update(dict.fromkeys(UNUSED, absent))
    try:
        if kind == "rankers":
            open_rankers([Path(text) for text in paths])
        else:
            score(kind, *map(Path, paths))
    except ModelError as error:
        print(json.dumps([error.finding, error.remedy]), file=sys.stderr)  # noqa: T201
        return 1
    except Exception as error:  # noqa: BLE001 (whatever a foreign file makes its library raise)
        words = " ".join(str(error).partition("Stack trace")[0].split())
        for text in paths:  # where a file lies for now is nobody's business
            words = words.replace(f"{Path(text).parent}/", "")
        print(f"{type(error).__name__}: {words[:200]}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


def open_rankers(directories: list[Path]) -> None:
    """Open rankers and the members in them as whoever works with them will; trees are walked.

    Raises:
        ValueError: trees of LightGBM that reach outside of themselves.
    """
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
    package = "shuffleproof.core.rankers"
    registry, trees, tabular = (
        import_module(f"{package}.{name}") for name in ("registry", "boosting.trees", "tabular")
    )
    for directory in directories:
        registry.load(directory)
        for head in directory.rglob(tabular.FILE):
            ranker = registry.load(head.parent)
            if isinstance(ranker, trees.LambdaMART):
                ranker.check()


def score(kind: str, model: Path, given: Path, answer: Path) -> None:
    """Write the scores that a model file gives to features."""
    with np.load(given, allow_pickle=False) as arrays:
        features, ids = arrays[FEATURES], arrays[IDS]
    readers = {"lightgbm": lightgbm_scores, "xgboost": xgboost_scores}
    np.save(answer, np.asarray(readers[kind](model, features, ids), dtype=np.float32))


def lightgbm_scores(
    model: Path, features: Float32[np.ndarray, "docs features"], ids: Int64[np.ndarray, " features"]
) -> Any:
    """Raw scores of a LightGBM text model.

    Raises:
        ModelError: it is none, or not of these features.
    """
    lightgbm = import_module("lightgbm")
    try:
        booster = lightgbm.Booster(model_file=str(model), params={"verbosity": -1})
    except Exception as error:
        raise unreadable(LIGHTGBM, model, error, lightgbm.__version__) from error
    matrix = columns(features, ids, booster.num_feature())
    infos = booster.dump_model(num_iteration=1)["feature_infos"]
    names = booster.feature_name()
    check_categories(
        matrix, [at for at, name in enumerate(names) if infos.get(name, {}).get("values")]
    )
    try:
        scores = booster.predict(matrix, num_threads=1)
    except Exception as error:
        raise scoring_error(LIGHTGBM, error) from error
    check_outputs(LIGHTGBM, scores)
    return scores


def xgboost_scores(
    model: Path, features: Float32[np.ndarray, "docs features"], ids: Int64[np.ndarray, " features"]
) -> Any:
    """Margins of an XGBoost model in JSON.

    Raises:
        ModelError: it is none, or not of these features, or XGBoost is not installed.
    """
    try:
        xgboost = import_module("xgboost")
    except ModuleNotFoundError as error:
        finding = "XGBoost, which reads it, is not installed"
        raise ModelError(finding, "pip install xgboost-cpu (or xgboost).") from error
    try:
        booster = xgboost.Booster(params={"nthread": 1})
        whole = model.read_bytes()  # JSON and UBJSON are told by their content, whatever the name
        booster.load_model(bytearray(whole) if whole.startswith(b"{") else str(model))
    except Exception as error:
        raise unreadable(XGBOOST, model, error, xgboost.__version__) from error
    matrix = columns(features, ids, booster.num_features())
    kinds = booster.feature_types or []
    check_categories(matrix, [at for at, kind in enumerate(kinds) if kind == "c"])
    try:
        scores = booster.predict(xgboost.DMatrix(matrix, nthread=1), output_margin=True)
    except Exception as error:
        raise scoring_error(XGBOOST, error) from error
    check_outputs(XGBOOST, scores)
    return scores


def columns(
    features: Float32[np.ndarray, "docs features"], ids: Int64[np.ndarray, " features"], wanted: int
) -> Float32[np.ndarray, "docs wanted"]:
    """The features as the model numbers its columns.

    A model of as many columns takes them in order; one of highest id + 1 columns was fitted on
    svmlight text, where column i is feature i, and gets zeros where there is none.

    Raises:
        ModelError: neither fits.
    """
    if wanted == features.shape[1]:
        return features
    if len(ids) and wanted == ids.max() + 1:
        whole = np.zeros((len(features), wanted), dtype=np.float32)
        whole[:, ids] = features
        return whole
    raise ModelError(
        f"the model has {wanted} columns, the data set {features.shape[1]} features",
        "Train it on the features of this data set, or bring it to its own.",
    )


def check_categories(
    features: Float32[np.ndarray, "docs features"], categories: Sequence[int]
) -> None:
    """Refuse features that are no categories where a model splits by categories.

    Raises:
        ModelError: a value is no whole number from 0 on, as the codes of categories are.
    """
    for column in categories:
        values = features[:, column]
        wrong = values[(values < 0) | (values != np.floor(values))]
        if len(wrong):
            finding = (
                f"it splits column {column + 1} by category, and the data has {wrong[0]:g} there"
            )
            raise ModelError(finding, "Give the column the whole numbers that it was trained on.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
