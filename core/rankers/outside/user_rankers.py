"""Users' rankers in this process: objects, functions, models, and classes with `fit`.

They are called `python:NAME`. Their keys hold a digest of source, version and values
(`core.user_code`); studies add a digest of the scores of the test lists. They are assumed to read
all inputs. A class with `fit` is trained like a ranker of the registry, for each fold, seed and
size; the result is stored if the class has `save` and `load`, else it lives with the process.
"""

import copy
import inspect
import json
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float, Float32, Int64

from shuffleproof.core import user_code
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.data.ragged import in_single_precision
from shuffleproof.core.errors import (
    ArtefactError,
    DataError,
    ParameterError,
    UnknownNameError,
    UsageError,
)
from shuffleproof.core.execution.machine import threads_allowed
from shuffleproof.core.numerals import whole
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.base import Input, Ranker
from shuffleproof.core.rankers.name import LIGHTGBM, OBJECT, XGBOOST, Kind, RankerName
from shuffleproof.core.rankers.outside.callable_ranker import (
    EVERYTHING,
    CallableRanker,
    not_stored,
    reads_of,
    score_lists,
)
from shuffleproof.core.rankers.outside.columns import (
    RULES,
    ModelColumns,
    ModelError,
    match_columns,
)
from shuffleproof.core.rankers.outside.function_process import calls_here
from shuffleproof.core.rankers.outside.model_files import (
    best_rounds,
    lightgbm_columns,
    prediction,
    sklearn_columns,
    sklearn_reads_nan,
    xgboost_columns,
)
from shuffleproof.core.rankers.outside.signature import SIGNATURE, CallSignature, call_signature
from shuffleproof.core.rankers.registry import RANKERS
from shuffleproof.core.words import counted

FAMILY, FILE = "user", "ranker.json"
CALLED = "a function, or an object with `score`, `predict` or, to be trained, `fit` and `score`"

FEATURES = CallSignature(("features",))


@dataclass(frozen=True)
class RegisteredRanker:
    """Registration of a user's ranker.

    Attributes:
        thing: the ranker, or what makes one that can be fitted.
        parameters: with which it is made.
        known_by: digest of its source, version and values.
        fitted: it is to be fitted.
    """

    thing: Any
    parameters: Mapping[str, Any]
    known_by: str
    fitted: bool

    def create(self, changes: Mapping[str, Any]) -> Any:
        """A new one that has learnt nothing yet."""
        return self.thing(**{**self.parameters, **changes})

    @property
    def seed_of_fit(self) -> bool:
        """True if `fit` has a parameter `seed`."""
        fit = getattr(self.thing, "fit", None)
        return fit is not None and "seed" in user_code.parameters_of(fit)[1]

    @property
    def takes_seed(self) -> bool:
        """True if `fit`, or the class, has a parameter `seed`."""
        return self.seed_of_fit or "seed" in user_code.parameters_of(self.thing)[1]

    @property
    def is_saved(self) -> bool:
        """True where it can be stored: it has `save` and `load`."""
        return all(hasattr(self.thing, method) for method in ("save", "load"))


@user_code.decorating
def ranker(name: str, thing: Any, *, version: str = "1", **parameters: Any) -> str:
    """Register a user's ranker, so that every study accepts it as `python:NAME`.

    Taken are functions `score(features, ranks)` of one list, objects with such a method, torch
    modules, models of LightGBM and XGBoost, and what has `predict`. They are given what their
    parameters name (`signature.INPUTS`), one list at a time, and score without training.

    A class with `fit` is trained by studies on each fold, seed and size:
    `fit(train, valid)` gets two `Lists`, and `seed` where it has such a parameter. What was trained
    is stored where the class has `save(self, directory)` and `load(directory)`.

    Its key follows from its source text, `version`, `parameters` and its values: what a function
    closes over, attributes and weights of an object. Registered again under the same name, it is
    replaced. Only this process knows it; stored results can be read everywhere.

    A model of LightGBM, XGBoost or scikit-learn that was trained on a frame gets its columns by
    name; any other by the only rule of `core.rankers.outside.columns` that fits, or by `columns`.

    Args:
        name: letters, digits, `_` and `-`; by default the function's or class's own name, with
            digits of what it holds behind that of an object or lambda.
        thing: the ranker; left out where `ranker` is written above a function or class.
        version: to be changed with what the source only names: helpers and globals of its module.
        parameters: with which a class is made; of a model, `columns`: names, id, id-1 or order.

    Returns:
        Its name, `python:NAME`; above a function or class, that object.

    Raises:
        UsageError: no ranker, a name of the program's own, or one that cannot be written.

    >>> ranker("first-feature", lambda features, ranks: features[:, 0])
    'python:first-feature'
    """
    fitted = isinstance(thing, type) and hasattr(thing, "fit")
    if not fitted:
        scoring_form(thing)
        rule = parameters.get("columns", "")
        if rule and rule not in RULES:
            raise UnknownNameError("rule for columns", str(rule), RULES)
        if set(parameters) - {"columns"} or (parameters and columns_of(thing) is None):
            raise UsageError(
                f"{name or thing!r} is not trained and takes no parameters: leave them out, or "
                "give a class with `fit`"
            )
    # Sorted: the order of keywords must not change the key
    sorted_parameters = dict(sorted(parameters.items()))
    digest = user_code.digest_of(name, thing, version, sorted_parameters)
    if not name:
        object_name = getattr(thing, "__name__", None) or type(thing).__name__
        name = object_name.strip("<>").lstrip("_")
        if object_name.startswith("<") or not hasattr(thing, "__name__"):
            name += f"-{digest[:6]}"
    registration = RegisteredRanker(thing, dict(parameters), digest, fitted)
    full = f"{name}{user_code.MARK}{digest[: user_code.DIGITS]}"
    user_code.register("ranker", name, full, registration, RANKERS)
    return f"{OBJECT}:{name}"


def name_of(thing: Any) -> str:
    """The name of a ranker of any kind: texts are names, objects are registered if need be.

    Raises:
        UsageError: what cannot be a ranker.
    """
    return thing if isinstance(thing, str) else str(ranker("", thing))


def registered_ranker(name: str) -> RegisteredRanker:
    """Registration of `python:NAME` in this process.

    Raises:
        UsageError: nothing of that name is registered in this process.
    """
    registration = _registration(name)
    if registration is None:
        raise user_code.missing_code("ranker", name)
    return registration


def is_fitted(name: RankerName) -> bool:
    """True for user code that studies train; False if it is not registered."""
    registration = _registration(name.head) if name.kind is Kind.OBJECT else None
    return registration is not None and registration.fitted


def _registration(name: str) -> RegisteredRanker | None:
    registration = user_code.registered_code("ranker", RankerName.of(name).registered_name)
    return registration.thing if registration else None


class ScoringForm(NamedTuple):
    """Function that scores a list, with its inputs."""

    function: Callable[..., Any]
    signature: CallSignature


def _form_of(function: Callable[..., Any]) -> ScoringForm:
    """A function, called with what its parameters name."""
    try:
        return ScoringForm(function, call_signature(function))
    except ValueError as error:
        name = getattr(function, "__qualname__", type(function).__name__)
        raise UsageError(f"{name} cannot be a ranker: {error}; write {SIGNATURE}") from None


def scoring_form(thing: Any) -> ScoringForm:
    """Scoring function of an object.

    Raises:
        UsageError: it cannot be a ranker.
    """
    score, kind = getattr(thing, "score", None), type(thing)
    package = kind.__module__.partition(".")[0]
    if isinstance(thing, type) or not (score or hasattr(thing, "predict") or callable(thing)):
        name = thing.__name__ if isinstance(thing, type) else kind.__name__
        raise UsageError(f"{name} cannot be a ranker: give {CALLED}")
    if kind.__name__ == "Booster" and package in {LIGHTGBM, XGBOOST}:
        return ScoringForm(_of_booster(thing, package), FEATURES)
    if hasattr(thing, "predict") and (score is None or _of_labels(score)):
        # LightGBM's own models for scikit-learn would take all cores of the machine.
        options = {"num_threads": threads_allowed()} if package == LIGHTGBM else {}
        return ScoringForm(lambda features: prediction(thing, features, options), FEATURES)
    if score is None and _is_network(thing):
        return ScoringForm(_of_network(thing), _form_of(thing.forward).signature)
    return _form_of(score or thing)


def _of_booster(booster: Any, package: str) -> Callable[..., Any]:
    """Prediction of a LightGBM or XGBoost model, with the threads that are allowed here."""
    if package == LIGHTGBM:
        return partial(booster.predict, num_threads=threads_allowed())
    copied = booster.copy()  # the user's own keeps its settings
    copied.set_param({"nthread": threads_allowed()})
    return partial(copied.inplace_predict, iteration_range=(0, best_rounds(copied)))


def columns_of(thing: Any) -> ModelColumns | None:
    """The columns of a trained model of LightGBM, XGBoost or scikit-learn; None: it is none."""
    package = type(thing).__module__.partition(".")[0]
    is_booster = type(thing).__name__ == "Booster"
    if package == LIGHTGBM:
        booster = thing if is_booster else getattr(thing, "booster_", None)
        return booster and lightgbm_columns(booster)
    if package == XGBOOST:
        return xgboost_columns(thing if is_booster else thing.get_booster())
    return sklearn_columns(thing)


def model_features(
    thing: Any, dataset: RankingDataset, rule: str, place: str
) -> Callable[[np.ndarray], Any]:
    """A function from rows to the features as a thing takes them.

    Models get their own columns; XGBoost's get NaN where the data set leaves a cell out, as it
    reads LETOR text itself. So do all models that know missing values where the data set says so.

    Args:
        thing: the ranker.
        dataset: of the rows.
        rule: how columns are matched; empty: by the only rule that fits.
        place: what errors call the ranker.

    Raises:
        DataError: its columns cannot be matched.
    """
    model = columns_of(thing)
    if model is None:
        return lambda rows: dataset.features[rows]
    try:
        match = match_columns(model, dataset.feature_ids, dataset.names, rule)
    except ModelError as error:
        raise DataError(place, error.finding, error.remedy) from error
    package = type(thing).__module__.partition(".")[0]
    missing = package == XGBOOST or (dataset.missing and _knows_missing(thing, package))

    def columns_of_rows(rows: np.ndarray) -> Any:
        flat = rows.ravel()
        features = dataset.features[flat]
        if missing and (absent := dataset.absent_cells(flat)) is not None:
            features = np.where(absent, np.float32(np.nan), features)
        matrix = match.of(features, np.nan if missing else 0.0)
        return matrix.reshape(*rows.shape, matrix.shape[1])

    return columns_of_rows


def _knows_missing(thing: Any, package: str) -> bool:
    """True of a trained model that reads NaN as a missing value."""
    return package in {LIGHTGBM, "catboost"} or sklearn_reads_nan(thing)


def _of_labels(score: Any) -> bool:
    """True if `score` is scikit-learn's measure of predictions: `score(X, y)`."""
    return {"X", "y"} <= set(inspect.signature(score).parameters)


def _is_network(thing: Any) -> bool:
    return any(kind.__module__ == "torch.nn.modules.module" for kind in type(thing).__mro__)


def _of_network(network: Any) -> Callable[..., Any]:
    """A torch module's answer without gradients, in its mode for scoring, on its own device."""
    import torch  # noqa: PLC0415 (loaded already: the thing is torch's)

    def answer(*arguments: Any, **options: Any) -> Any:
        device = next((weight.device for weight in network.parameters()), torch.device("cpu"))

        def tensor(value: Any) -> Any:
            return torch.tensor(value, device=device) if isinstance(value, np.ndarray) else value

        modes = [(part, part.training) for part in network.modules()]
        # Dropout and batch norm would make scores random or dependent on the batch
        network.eval()
        try:
            with torch.no_grad():
                return network(
                    *map(tensor, arguments),
                    **{name: tensor(value) for name, value in options.items()},
                )
        finally:
            for part, training in modes:  # parts that are frozen stay frozen
                part.training = training

    return answer


@dataclass(frozen=True, eq=False)
class UserRanker:
    """A ranker of user code, ready to score; assumed to read all inputs.

    Attributes:
        name: `python:NAME`.
        thing: what scores.
        known_by: digest of its source, version and values.
        columns: of a model: the rule for its columns; empty: the only one that fits.
        as_returned: scores stay in the type that it returns; else they are float32 with the same
            order and ties.
        untouched: a copy that has scored nothing yet; None: it cannot be copied.
    """

    name: str
    thing: Any = field(repr=False)
    known_by: str = ""
    columns: str = ""
    as_returned: bool = False
    untouched: Any = field(default=None, repr=False)
    rankings: ClassVar[int] = 0

    @property
    def training_mode(self) -> bool:
        """A torch module that was handed over in training mode; it is scored in evaluation mode."""
        is_module = _is_network(self.thing) and not hasattr(self.thing, "score")
        return is_module and any(part.training for part in self.thing.modules())

    @property
    def reads(self) -> frozenset[Input]:
        """Everything, and of what names documents and queries what it takes."""
        return reads_of(scoring_form(self.thing).signature.inputs)

    def fresh_copy(self, threads: int | None = None) -> "UserRanker":
        """One that has seen nothing yet."""
        del threads
        return replace(self, thing=copy.deepcopy(self.untouched))

    def score(
        self, dataset: RankingDataset, lists: CandidateLists
    ) -> Float[np.ndarray, " candidates"]:
        """Scores by one call a list; float64 keeps order and ties.

        Raises:
            DataError: it failed, or did not return one score a document (−∞: last).
        """
        form = scoring_form(self.thing)
        features = model_features(self.thing, dataset, self.columns, self.name)
        callers = [calls_here(*form)]
        scores = score_lists(self.name, form.signature, dataset, lists, callers, features)
        return scores if self.as_returned else in_single_precision(lists.offsets, scores)

    def save(self, directory: Path) -> None:
        """Write what its class's `load` reads, and by which name it is registered.

        Raises:
            DataError: it cannot be stored.
        """
        if not hasattr(self.thing, "save"):
            raise not_stored(directory, f"{self.name} is an object of this process")
        self.thing.save(directory)
        if (directory / FILE).exists():
            raise DataError(self.name, f"its `save` writes {FILE}", "Name that file otherwise.")
        head = {"family": FAMILY, "name": self.name, "known_by": self.known_by}
        (directory / FILE).write_text(json.dumps(head, indent=1), encoding="utf-8")


def open_ranker(name: str) -> UserRanker:
    """A ranker that is not fitted here, by its name; with a copy of objects that can be copied.

    Raises:
        UsageError: it is not registered in this process.
    """
    registration = registered_ranker(name)
    rule = "" if registration.fitted else str(registration.parameters.get("columns", ""))
    return with_copy(UserRanker(name, registration.thing, registration.known_by, rule))


def with_copy(plain: UserRanker) -> UserRanker:
    """The ranker with an unused copy of its object; unchanged if the object cannot be copied."""
    if hasattr(plain.thing, "__name__"):  # a function has no copy: what it keeps is elsewhere
        return plain
    try:
        return replace(plain, untouched=copy.deepcopy(plain.thing))
    except Exception:  # noqa: BLE001 (whatever somebody's object does; it is asked as it is)
        return plain


@dataclass(frozen=True, eq=False)
class Lists:
    """Lists to learn from or to select on, document after document, in the input order.

    Attributes:
        features: of each document.
        labels: its grade.
        ranks: from 0, under each initial ranking.
        lengths: documents of each list (LightGBM's `group`).
        query_ids: of each list.
    """

    features: Float32[np.ndarray, "docs features"]
    labels: Float32[np.ndarray, " docs"]
    ranks: Int64[np.ndarray, "docs rankings"]
    lengths: Int64[np.ndarray, " lists"]
    query_ids: tuple[str, ...]

    @classmethod
    def of(cls, judged: JudgedLists) -> "Lists":
        """The arrays of judged lists, which may be written to."""
        lists, dataset = judged.lists, judged.dataset
        return cls(
            dataset.features[lists.rows],
            dataset.labels[lists.rows],
            lists.ranks.astype(np.int64),
            np.array(lists.lengths),
            tuple(dataset.query_ids[query] for query in lists.queries),
        )

    def __len__(self) -> int:
        """The number of lists."""
        return len(self.lengths)

    def __repr__(self) -> str:
        """Numbers of lists and documents."""
        docs, features = self.features.shape
        columns = counted(features, "feature")
        return f"Lists({counted(len(self), 'list')}, {counted(docs, 'document')}, {columns})"


@dataclass(frozen=True)
class UserSpec:
    """The recipe of a ranker of user code that is fitted.

    Attributes:
        name: `python:NAME`.
        known_by: digest of its source, version and parameters.
        parameters: with which it is made, as text.
        seed: given to it; None: it takes none.
        saved: it can be stored.
    """

    name: str
    known_by: str
    parameters: tuple[tuple[str, str], ...]
    seed: int | None
    saved: bool
    reads: ClassVar[frozenset[Input]] = EVERYTHING
    rankings: ClassVar[int] = 0
    fits_documents: ClassVar[bool] = False

    def recipe(self) -> dict[str, Any]:
        """Everything that determines the result, as plain JSON values."""
        plain: dict[str, Any] = {"name": self.name, "known_by": self.known_by}
        plain["parameters"] = dict(self.parameters)
        return plain if self.seed is None else plain | {"seed": self.seed}

    def fit(
        self, train: JudgedLists, valid: JudgedLists, workspace: Path | None = None
    ) -> Generator[Progress, None, Ranker]:
        """Make one and let it learn; it reports nothing on its way.

        Raises:
            DataError: it failed.
        """
        del workspace
        registration = registered_ranker(self.name)
        seed = {} if self.seed is None else {"seed": self.seed}
        yield Progress(0, 1, "fits")
        try:
            model = registration.create({} if registration.seed_of_fit else seed)
            answer = model.fit(
                Lists.of(train), Lists.of(valid), **(seed if registration.seed_of_fit else {})
            )
        except Exception as error:  # whatever a user's class does
            failed = f"its fit failed: {user_code.failure(error)}"
            remedy = "Correct it; it is called as fit(train, valid), each of them Lists."
            raise DataError(self.name, failed, remedy) from error
        # scikit-learn style returns self; a factory may return the fitted object
        if answer is not None and answer is not model and hasattr(answer, "score"):
            model = answer
        scoring_form(model)
        yield Progress(1, 1, "fits")
        return UserRanker(self.name, model, self.known_by)


def as_returned(ranker: Any) -> Any:
    """A ranker of user code whose scores stay in the type that it returns; others as they are."""
    if isinstance(ranker, UserRanker | CallableRanker):
        return replace(ranker, as_returned=True)
    return ranker


def spec(name: str, seed: int | str | None = None, **changes: Any) -> UserSpec:
    """The recipe of a ranker of user code that is fitted.

    Raises:
        UsageError: it is not registered here, or is not fitted.
        ParameterError: a field that it does not take.
    """
    registration = registered_ranker(name)
    if not registration.fitted:
        raise UsageError(f"{name} has no `fit`: nothing to train; name it in certify or study")
    if changes:
        raise ParameterError(f"{name} field", ", ".join(changes), "left: register it with another")
    takes_seed = registration.takes_seed
    if seed is not None and not takes_seed:
        raise ParameterError(f"{name} seed", seed, "left: neither it nor its fit takes `seed`")
    drawn_seed = (
        whole(str(seed)) if seed is not None else int(registration.parameters.get("seed", 0))
    )
    parameters = tuple(
        (field, repr(value)) for field, value in sorted(registration.parameters.items())
    )
    return UserSpec(
        name,
        registration.known_by,
        parameters,
        drawn_seed if takes_seed else None,
        registration.is_saved,
    )


def load(directory: Path) -> UserRanker:
    """The ranker that `save` wrote, opened by the class that is registered under its name.

    Raises:
        ArtefactError: no class of that name is registered in this process.
    """
    saved = json.loads((directory / FILE).read_text(encoding="utf-8"))
    name = str(saved["name"])
    registration = _registration(name)
    if registration is None or not hasattr(registration.thing, "load"):
        raise ArtefactError(
            directory.name,
            f"it is {name}, of user code that is not registered in this process",
            "What is stored of its studies can be read; to score with it, run what registers it.",
        )
    return UserRanker(name, registration.thing.load(directory), str(saved["known_by"]))
