"""Model files of other libraries: the table of those that can be read, and the process that does.

Foreign libraries name places in their own source; errors say what a file is, and what to do
(`ModelError`). What a file is shows in its first bytes, and what failed in the step that it failed
at; the library's own sentence stands behind that.
"""

import re
import sys
import time
import warnings
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float32, Int64

from shuffleproof.core.errors import MissingPackageError
from shuffleproof.core.rankers.library_words import in_its_words
from shuffleproof.core.rankers.name import SKLEARN
from shuffleproof.core.rankers.outside import library_training, ranklib
from shuffleproof.core.rankers.outside.columns import ModelColumns, ModelError, match_columns, some
from shuffleproof.core.words import counted

UNUSED = ("dask", "graphviz", "matplotlib", "pandas", "pyarrow", "sklearn")
"""Modules that libraries load in a second or two, and that few files need (`Library.needs`)."""

BEGINNINGS = (
    (rb"$", "empty"),
    (rb"\x80[\x02-\x05]", "a pickle"),
    (rb"x[\x01\x5e\x9c\xda]|\x1f\x8b|BZh|\xfd7zXZ", "compressed, as joblib does"),
    (rb'booster\[|\{"name"|\[\s*\{\s*"nodeid"', "a dump, as dump_model writes"),
)
"""Beginnings of files that no library reads, and their kinds."""

MOST_DIGITS = 9  # of the number of a round
HEAD = 1 << 10  # bytes that show the format of a file
UNPACKED = 4 << 30
"""Bytes that the parts of a zip, which TorchScript and skops write, may have."""


@dataclass(frozen=True)
class Library:
    """Reader of the model files of a library.

    Attributes:
        name: for people.
        saved: how it writes what is read here.
        module: that reads it.
        open: the model of a file, from the module.
        columns: of a model.
        predict: from module, model and features: a score a document, or one a class.
        rounds: that a model scores with, and all that it has, where these differ.
        categories: places of the columns that a model splits by category.
        lists: a model may read the whole list: each is scored by itself, in its input order.
        missing: it always reads cells that the data set leaves out as missing values.
        reads_nan: a model knows missing values, so that it gets them where the data set says so.
        needs: modules of UNUSED that it cannot do without.
        speaker: of its errors; empty: the library.
    """

    name: str
    saved: str
    module: str
    open: Callable[[Any, Path], Any]
    columns: Callable[[Any], ModelColumns]
    predict: Callable[[Any, Any, np.ndarray], np.ndarray]
    rounds: Callable[[Any], Mapping[str, int]] = lambda _: {}
    categories: Callable[[Any], Sequence[int]] = lambda _: ()
    lists: bool = False
    missing: bool = False
    reads_nan: Callable[[Any], bool] = lambda _: True
    needs: tuple[str, ...] = ()
    speaker: str = ""

    def words(self, error: object) -> str:
        """Quotation of an error."""
        return f"{in_its_words(self.speaker or self.name, error)}."


class ModelServer:
    """Server of the process of a model file, which is opened once."""

    def __init__(self) -> None:
        self._opened = lru_cache(maxsize=1)(open_model)

    def train(self, kind: str, parameters: dict[str, Any], out: str, **data: Any) -> dict[str, Any]:
        """Train by a library's own parameters, and write the model's file; returns its `trees`.

        Raises:
            ModelError: the library refuses the parameters or the documents.
        """
        _leave_out_unused(kind)
        library, given = LIBRARIES[kind], ("features", "labels", "lengths")
        parts: list[Any] = [
            tuple(data[f"{part}_{name}"] for name in given)
            for part in ("train", "valid") if f"{part}_features" in data
        ]  # fmt: skip
        try:
            module = import_module(library.module)
            return {"trees": library_training.train(kind, module, parameters, parts, Path(out))}
        except ModelError:
            raise
        except Exception as error:
            if lacking := MissingPackageError.of(error):
                raise lacking from error
            # Not every library says which value it could not read as a number
            texts = [
                f"{key}={value}" for key, value in parameters.items() if isinstance(value, str)
            ]
            finding = f"{library.name} does not train by these parameters on these documents"
            finding += f" (texts: {some(texts)})" if texts else ""
            raise ModelError(finding, f"Correct the file. {library.words(error)}") from error

    def score(self, kind: str, path: str, **data: Any) -> dict[str, Any]:
        """The `scores` of a model file of LIBRARIES, and `how` it was read; as `model_scores`."""
        _leave_out_unused(kind)
        scores, how = model_scores(kind, Path(path), opener=self._opened, **data)
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


def _leave_out_unused(kind: str) -> None:
    absent: Any = None
    # None makes `import` fail at once, and the libraries go on without them
    sys.modules.update(dict.fromkeys(set(UNUSED) - set(LIBRARIES[kind].needs), absent))


def open_model(kind: str, path: Path) -> tuple[Any, Any]:
    """The module of a library, and the model of a file.

    Raises:
        MissingPackageError: the library is missing.
        ModelError: it cannot read the file.
    """
    library = LIBRARIES[kind]
    try:
        module = import_module(library.module)
        _check_unpacked(path)
        return module, library.open(module, path)
    except ModelError:
        raise
    except Exception as error:
        if missing := MissingPackageError.of(error):
            raise missing from error
        raise _unreadable(kind, path, error) from error


def model_scores(  # noqa: PLR0913 (the file, the documents, and how columns are matched)
    kind: str,
    path: Path,
    *,
    features: Float32[np.ndarray, "docs features"],
    ids: Int64[np.ndarray, " features"],
    names: Sequence[str] = (),
    absent: Bool[np.ndarray, "docs features"] | None = None,
    rule: str = "",
    missing: bool = False,
    lengths: Int64[np.ndarray, " lists"] | None = None,
    opener: Callable[[str, Path], tuple[Any, Any]] = open_model,
) -> tuple[np.ndarray, dict[str, Any]]:
    """The raw scores of a model file, and how it was read.

    That is `columns` (the rule), `absent` columns, whether absent cells are `missing`, `rounds`
    used, and the `seconds` of scoring.

    Args:
        kind: of the file.
        path: of the file.
        features: of the documents, 0 where the data set leaves a cell out.
        ids: of the features.
        names: of the features.
        absent: true where a cell is left out; None: none is.
        rule: how columns are matched; empty: by the only rule that fits.
        missing: absent cells are missing values for every model that knows them.
        lengths: documents of each list.
        opener: opens the file.

    Raises:
        MissingPackageError: its library is missing.
        ModelError: its library cannot read it, or it has other features.
    """
    library = LIBRARIES[kind]
    module, model = opener(kind, path)
    columns = library.columns(model)
    match = match_columns(columns, ids.tolist(), names, rule)
    missing = library.missing or (missing and library.reads_nan(model))
    if missing and absent is not None:
        # The library reads an absent cell of LETOR text as NaN, not as 0
        features = np.where(absent, np.float32(np.nan), features)
    matrix = match.of(features, np.nan if missing else 0.0)
    _check_categories(matrix, library.categories(model))
    bounds = np.cumsum(lengths)[:-1] if library.lists and lengths is not None else ()
    start = time.perf_counter()
    try:
        # Timed alone: opening the file is no part of scoring
        answers = [
            _one_a_document(library, library.predict(module, model, part), len(part))
            for part in np.split(matrix, bounds)
            if len(part)
        ]
    except ModelError:
        raise
    except Exception as error:
        remedy = "Train it on the features of the data set"
        if columns.width is None:
            remedy += ", or say how its columns are matched (--columns)"
        finding = "it does not score these features"
        raise ModelError(finding, f"{remedy}. {library.words(error)}") from error
    how = {**match.plain(), **library.rounds(model), "seconds": time.perf_counter() - start}
    how["missing"] = bool(missing and absent is not None)
    return np.concatenate(answers or [np.zeros(0)]), how


def _one_a_document(library: Library, answer: Any, documents: int) -> np.ndarray:
    """The scores in an answer, which may have axes of one more.

    Raises:
        ModelError: several numbers a document, or another number of them.
    """
    scores = np.asarray(answer)
    if scores.size == documents:
        return scores.reshape(documents)
    if scores.ndim > 1 and scores.size % documents == 0:
        raise ModelError(
            f"it gives {scores.size // documents} numbers a document, one a class",
            f"Bring a model of {library.name} with one output: a ranking or regression objective.",
        )
    raise ModelError(
        f"it gives {counted(scores.size, 'number')} for {counted(documents, 'document')}",
        "One score a document is due.",
    )


def _check_unpacked(path: Path) -> None:
    """Refuse a zip that unpacks to far more than it takes."""
    if not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as parts:
        size = sum(part.file_size for part in parts.infolist())
    if size > max(UNPACKED, 2 * path.stat().st_size):
        raise ModelError(f"its parts unpack to {size / 1e9:.0f} GB", "Save a smaller model.")


def _unreadable(kind: str, path: Path, error: Exception) -> ModelError:
    """The error for a file that its library did not read."""
    library = LIBRARIES[kind]
    with path.open("rb") as file:
        head = file.read(HEAD).lstrip()
    usual = f"no model of {library.name}, damaged, or of a newer version"
    found = next((words for begins, words in BEGINNINGS if re.match(begins, head)), usual)
    # Messages do not show where the file lies.
    message = str(error).replace(f"{path.parent}/", "")
    return ModelError(f"it is {found}", f"{library.saved} {library.words(message)}")


def _check_categories(
    features: Float32[np.ndarray, "docs features"], categories: Sequence[int]
) -> None:
    """Refuse features that are no categories where a model splits by them.

    The libraries read 0.5 as category 0 and −1 as a missing value, and say nothing.
    """
    for column in categories:
        values = features[:, column]
        known = values[~np.isnan(values)]
        wrong = known[(known < 0) | (known != np.floor(known))]
        if len(wrong):
            finding = (
                f"it splits column {column + 1} by category, and the data has {wrong[0]:g} there"
            )
            raise ModelError(finding, "Give the column the whole numbers that it was trained on.")


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
    # JSON and UBJSON are recognised by content: XGBoost goes by the suffix of a path.
    booster.load_model(bytearray(content) if content.startswith(b"{") else str(path))
    return booster


def _xgboost_margins(xgboost: Any, booster: Any, matrix: np.ndarray) -> np.ndarray:
    """Margins; a model that was stopped early scores with its best rounds."""
    data = xgboost.DMatrix(matrix, nthread=1, feature_names=booster.feature_names)
    rounds = (0, best_rounds(booster))
    margins: np.ndarray = booster.predict(data, output_margin=True, iteration_range=rounds)
    return margins


def _xgboost_rounds(booster: Any) -> Mapping[str, int]:
    rounds, every = best_rounds(booster), booster.num_boosted_rounds()
    return {"rounds": rounds, "of_rounds": every} if rounds else {}


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


def _open_onnx(onnxruntime: Any, path: Path) -> Any:
    """A session that takes one array of the features of documents."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    # From bytes, so that no other file is read
    session = onnxruntime.InferenceSession(
        path.read_bytes(), options, providers=["CPUExecutionProvider"]
    )
    inputs = session.get_inputs()
    if len(inputs) != 1 or inputs[0].type not in FLOATS or len(inputs[0].shape) not in {2, 3}:
        shapes = [f"{one.type} {one.name} {one.shape}" for one in inputs]
        raise ModelError(
            f"it takes {counted(len(inputs), 'input')}: {some(shapes)}",
            "Export it with one input: float[documents, features], also with an axis of 1 in "
            "front.",
        )
    return session


def _onnx_columns(session: Any) -> ModelColumns:
    width = session.get_inputs()[0].shape[-1]
    return ModelColumns(width if isinstance(width, int) else None)


def _onnx_scores(_: Any, session: Any, matrix: np.ndarray) -> np.ndarray:
    """The one output of numbers; labels that a classifier adds are left out."""
    (taken,), outputs = session.get_inputs(), session.get_outputs()
    numbers = [one.name for one in outputs if one.type not in LABELS]
    if len(numbers) != 1:
        raise ModelError(
            f"it has {counted(len(outputs), 'output')}: {some([one.name for one in outputs])}",
            "Export it with one output: a score a document, or a probability of each grade.",
        )
    leading = (1,) * (len(taken.shape) - 2)
    features = matrix.astype(FLOATS[taken.type]).reshape(leading + matrix.shape)
    (answer,) = session.run(numbers, {taken.name: features})
    if isinstance(answer, list):  # a map from grade to probability a document
        grades = [*answer[0]]
        probabilities = np.array([[row[grade] for grade in grades] for row in answer])
        return probabilities @ np.array(grades, dtype=np.float64)
    return expected_grades(answer, len(matrix))


def expected_grades(answer: np.ndarray, documents: int) -> np.ndarray:
    """E[grade] = Σ P(grade) · grade where an answer has probabilities of grades 0, 1, …; else it.

    >>> expected_grades(np.array([[0.5, 0.25, 0.25], [0.0, 0.0, 1.0]]), 2).tolist()
    [0.75, 2.0]
    """
    # A list's softmax over its documents has one number a document
    if answer.size == documents or answer.ndim < 2 or (answer < 0).any():
        return answer
    values = answer.astype(np.float64)
    are_probabilities = np.allclose(values.sum(axis=-1), 1.0, atol=1e-4)
    return values @ np.arange(answer.shape[-1]) if are_probabilities else values


def _open_torchscript(torch: Any, path: Path) -> Any:
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TorchScript is deprecated
        return torch.jit.load(str(path), map_location="cpu").eval()


def _torchscript_scores(torch: Any, model: Any, matrix: np.ndarray) -> np.ndarray:
    with torch.inference_mode():
        return expected_grades(model(torch.tensor(matrix)).float().numpy(), len(matrix))


def _open_catboost(catboost: Any, path: Path) -> Any:
    with path.open("rb") as file:
        kind = "json" if file.read(1) == b"{" else "cbm"
    return catboost.CatBoost().load_model(str(path), format=kind)


def _catboost_columns(model: Any) -> ModelColumns:
    names = list(model.feature_names_)
    try:
        used = np.flatnonzero(model.get_feature_importance(type="PredictionValuesChange")).tolist()
    except Exception:  # noqa: BLE001 (a model without weights of leaves has no importances)
        used = None
    return ModelColumns.of(names, len(names), used, blanks=False)


def _open_skops(skops: Any, path: Path) -> Any:
    """A model of types that cannot run code of the file."""
    if untrusted := skops.get_untrusted_types(file=path):
        raise ModelError(
            f"it has types that skops does not trust: {some(untrusted)}",
            "Export the model to ONNX, or load it in a Python function (module:function).",
        )
    return skops.load(path, trusted=[])


def sklearn_columns(model: Any) -> ModelColumns | None:
    """The columns of a trained model of scikit-learn; None: it is none."""
    width, names = getattr(model, "n_features_in_", None), getattr(model, "feature_names_in_", None)
    if not isinstance(width, int | np.integer):
        return None
    return ModelColumns.of(None if names is None else [*map(str, names)], int(width), blanks=False)


def sklearn_reads_nan(model: Any) -> bool:
    """True of a trained model of scikit-learn that reads NaN as a missing value."""
    if not hasattr(model, "__sklearn_tags__"):
        return False
    from sklearn.utils import get_tags  # noqa: PLC0415 (only its models have tags)

    return bool(get_tags(model).input_tags.allow_nan)


def prediction(model: Any, features: Any, options: Mapping[str, Any]) -> Any:
    """Of a classifier of grades the expected grade, which ties less; else what it predicts."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        import pandas as pd  # noqa: PLC0415 (it was trained on a frame of pandas)

        features = pd.DataFrame(features, columns=list(names))
    if hasattr(model, "classes_") and hasattr(model, "predict_proba"):
        # E[grade] = Σ P(grade) · grade; the most likely class would tie most documents
        grades = np.asarray(model.classes_, dtype=np.float64)
        return model.predict_proba(features, **options) @ grades
    return model.predict(features, **options)


FLOATS = {"tensor(float)": np.float32, "tensor(double)": np.float64}
LABELS = {"tensor(int64)", "tensor(string)"}
"""Types of ONNX: of an input of features, and of an output of classes."""

LIBRARIES = {
    "lightgbm": Library(
        name="LightGBM",
        saved="Save it as text: booster.save_model('model.txt').",
        module="lightgbm",
        open=lambda lightgbm, path: lightgbm.Booster(
            model_file=str(path), params={"verbosity": -1}
        ),
        columns=lightgbm_columns,
        categories=_lightgbm_categories,
        predict=lambda _, booster, matrix: booster.predict(matrix, num_threads=1),
    ),
    "xgboost": Library(
        name="XGBoost",
        saved="Save it as JSON or UBJSON: booster.save_model('model.json').",
        module="xgboost",
        open=_open_xgboost,
        columns=xgboost_columns,
        categories=lambda booster: [
            at for at, kind in enumerate(booster.feature_types or ()) if kind == "c"
        ],
        predict=_xgboost_margins,
        rounds=_xgboost_rounds,
        missing=True,
    ),
    "onnx": Library(
        name="ONNX",
        saved="Export it to one file of ONNX.",
        module="onnxruntime",
        open=_open_onnx,
        columns=_onnx_columns,
        predict=_onnx_scores,
        lists=True,
    ),
    "torchscript": Library(
        name="TorchScript",
        saved="Save it with TorchScript: torch.jit.script(model).save('model.pt').",
        module="torch",
        open=_open_torchscript,
        columns=lambda _: ModelColumns(None),
        predict=_torchscript_scores,
        lists=True,
        reads_nan=lambda _: False,
    ),
    "catboost": Library(
        name="CatBoost",
        saved="Save it with CatBoost: model.save_model('model.cbm').",
        module="catboost",
        open=_open_catboost,
        columns=_catboost_columns,
        predict=lambda _, model, matrix: model.predict(
            matrix, prediction_type="RawFormulaVal", thread_count=1
        ),
        needs=("pandas",),
    ),
    SKLEARN: Library(
        name="scikit-learn",
        saved="Save it with skops: skops.io.dump(model, 'model.skops').",
        module="skops.io",
        open=_open_skops,
        columns=lambda model: sklearn_columns(model) or ModelColumns(None),
        predict=lambda _, model, matrix: prediction(model, matrix, {}),
        reads_nan=sklearn_reads_nan,
        needs=("pandas", "pyarrow", "sklearn"),  # a scaler looks for pyarrow
    ),
    "ranklib": Library(
        name="RankLib",
        saved=ranklib.SAVED,
        module="xml.etree.ElementTree",
        open=lambda etree, path: ranklib.read(etree, path.read_bytes()),
        columns=ranklib.RankLibModel.columns,
        predict=lambda _, model, matrix: model.predict(matrix),
        reads_nan=lambda _: False,
        speaker="Python",
    ),
}
"""By the kind of a file's name (`core.rankers.name.FILES`)."""
