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
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float32, Int64

from shuffleproof.core.rankers.library_words import in_its_words
from shuffleproof.core.rankers.outside.columns import (
    ColumnMatch,
    ColumnsError,
    ModelColumns,
    match_columns,
)

FEATURES, IDS, ABSENT, NAMES, RULE = "features", "ids", "absent", "names", "rule"
ABOUT = "about.json"
"""The file beside the answer that says how the model was read."""

SECONDS = "seconds"
"""Of scoring, in what is written beside the scores."""

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
    return ModelError(
        "it does not score these features",
        f"Train it on the features of the data set. {in_its_words(library, error)}.",
    )


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

    def matched(self, model: ModelColumns) -> ColumnMatch:
        """The columns of a model.

        Raises:
            ModelError: they cannot be matched.
        """
        try:
            return match_columns(model, self.ids.tolist(), self.names, self.rule)
        except ColumnsError as error:
            raise ModelError(error.finding, error.remedy) from error

    @property
    def features_with_gaps(self) -> Float32[np.ndarray, "docs features"]:
        """The features with NaN where a cell is left out."""
        if self.absent is None:
            return self.features
        return np.where(self.absent, np.float32(np.nan), self.features)


ModelAnswer = tuple[Any, dict[str, Any]]
"""The scores, and how the model was read: `columns` (the rule), `absent` columns, `rounds` used,
and the `seconds` of scoring alone."""


def score(kind: str, model: Path, given: Path, answer: Path) -> None:
    """Write the scores that a model file gives to features, and how it was read."""
    with np.load(given, allow_pickle=False) as arrays:
        held = dict(arrays)
    about = json.loads(held[NAMES].tobytes())
    data = GivenData(
        held[FEATURES], held[IDS], about[NAMES], held.get(ABSENT), about[RULE], about["missing"]
    )
    readers = {"lightgbm": lightgbm_scores, "xgboost": xgboost_scores}
    scores, how = readers[kind](model, data)
    np.save(answer, np.asarray(scores, dtype=np.float32))
    answer.with_name(ABOUT).write_text(json.dumps(how), encoding="utf-8")


def lightgbm_scores(model: Path, data: GivenData) -> ModelAnswer:
    """Raw scores of a LightGBM text model, which reads cells that are left out as 0 or missing.

    Raises:
        ModelError: it is none, or not of these features.
    """
    lightgbm = import_module("lightgbm")
    try:
        booster = lightgbm.Booster(model_file=str(model), params={"verbosity": -1})
    except Exception as error:
        raise unreadable(LIGHTGBM, model, error, lightgbm.__version__) from error
    names, infos = booster.feature_name(), booster.dump_model(num_iteration=1)["feature_infos"]
    match = data.matched(lightgbm_columns(booster))
    matrix = (
        match.of(data.features_with_gaps, np.nan) if data.missing else match.of(data.features, 0.0)
    )
    check_categories(
        matrix, [at for at, name in enumerate(names) if infos.get(name, {}).get("values")]
    )
    start = time.perf_counter()
    try:
        scores = booster.predict(matrix, num_threads=1)
    except Exception as error:
        raise scoring_error(LIGHTGBM, error) from error
    seconds = time.perf_counter() - start
    check_outputs(LIGHTGBM, scores)
    return scores, {**match.plain(), SECONDS: seconds}


def lightgbm_columns(booster: Any) -> ModelColumns:
    """The columns of a LightGBM model; those that were constant in training say nothing to it."""
    splits = np.flatnonzero(booster.feature_importance("split")).tolist()
    head = booster.model_to_string(num_iteration=1).partition("tree_sizes=")[0]
    infos = re.search(r"^feature_infos=(.*)$", head, re.MULTILINE)
    listed = infos[1].split(" ") if infos else []
    varied = [at for at, info in enumerate(listed) if info != "none"]
    return ModelColumns.of(booster.feature_name(), booster.num_feature(), {*splits, *varied})


def xgboost_scores(model: Path, data: GivenData) -> ModelAnswer:
    """Margins of an XGBoost model in JSON, which reads cells that are left out as missing.

    A model that was stopped early scores with its best rounds.

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
    match = data.matched(xgboost_columns(booster))
    matrix = match.of(data.features_with_gaps, np.nan)
    kinds = booster.feature_types or []
    check_categories(matrix, [at for at, kind in enumerate(kinds) if kind == "c"])
    rounds = best_rounds(booster)
    start = time.perf_counter()
    try:
        given = xgboost.DMatrix(matrix, nthread=1, feature_names=booster.feature_names)
        scores = booster.predict(given, output_margin=True, iteration_range=(0, rounds))
    except Exception as error:
        raise scoring_error(XGBOOST, error) from error
    seconds = time.perf_counter() - start
    check_outputs(XGBOOST, scores)
    how = {**match.plain(), SECONDS: seconds}
    if rounds:
        how |= {"rounds": rounds, "of_rounds": booster.num_boosted_rounds()}
    return scores, how


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


def check_categories(
    features: Float32[np.ndarray, "docs features"], categories: Sequence[int]
) -> None:
    """Refuse features that are no categories where a model splits by categories.

    Raises:
        ModelError: a value is no whole number from 0 on, as the codes of categories are.
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
