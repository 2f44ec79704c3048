"""Mapping from a model's columns to the features of a data set.

A model that knows names is matched by name. Other models are matched by a rule: `order` (columns
in the order of the data set), `id` (column i is feature i, as XGBoost and LightGBM number LETOR
text) or `id-1` (column i is feature i + 1, as scikit-learn's `load_svmlight_file` does). Where
several rules fit and lead to different scores, the user has to say which.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float32

from shuffleproof.core.errors import shown
from shuffleproof.core.words import counted

NAMES, ID, ID_MINUS_1, ORDER = "names", "id", "id-1", "order"
RULES: Mapping[str, str] = {
    NAMES: "columns are matched by name",
    ID: "column i is the feature of id i, counted from 0",
    ID_MINUS_1: "column i is the feature of id i + 1, counted from 0",
    ORDER: "columns have the order of the data set's features",
}
MOST_NAMED = 8  # names and ids that an error lists
_BY_PLACE = re.compile(r"(?:Column_|f|Feature_?|x)?(\d+)")


class ModelError(Exception):
    """A model that cannot be scored, or not on these columns.

    Attributes:
        finding: what is wrong.
        remedy: what to do, and what the library said.
    """

    def __init__(self, finding: str, remedy: str) -> None:
        self.finding, self.remedy = finding, remedy
        super().__init__(f"{finding}. {remedy}")


@dataclass(frozen=True)
class ModelColumns:
    """The columns that a model takes.

    Attributes:
        width: how many; None: its file does not say, or it takes as many as the rule needs.
        names: of the columns, where it was trained on named ones; None: it knows no names.
        used: columns that say something to the model; None: any may.
        blanks: whether its library writes blanks in names as underscores.
        rules: for columns without names that mean something to its library.
    """

    width: int | None
    names: tuple[str, ...] | None = None
    used: Collection[int] | None = None
    blanks: bool = True
    rules: tuple[str, ...] = (ORDER, ID_MINUS_1, ID)

    @classmethod
    def of(
        cls,
        names: Sequence[str] | None,
        width: int | None,
        used: Collection[int] | None = None,
        *,
        blanks: bool = True,
    ) -> "ModelColumns":
        """The columns of a model; names that only number the columns are none."""
        places = [_BY_PLACE.fullmatch(name) for name in names or ()]
        # Column_0, f1 and so on say nothing about the features
        numbered = all(place and int(place[1]) == at for at, place in enumerate(places))
        return cls(width, None if not names or numbered else tuple(names), used, blanks)


@dataclass(frozen=True)
class ColumnMatch:
    """The feature behind every column of a model.

    Attributes:
        rule: one of RULES.
        sources: for every column of the model its column of the data set, −1 where there is none.
        absent: columns that have none.
    """

    rule: str
    sources: tuple[int, ...]
    absent: tuple[int, ...] = field(default=(), repr=False)

    def plain(self) -> dict[str, Any]:
        """The rule, and the columns that have no feature."""
        return {"columns": self.rule, "absent": [*self.absent]}

    def of_columns(self, used: Collection[int] | None) -> tuple[int, ...]:
        """The sources of some columns of the model; None: of all."""
        if used is None:
            return self.sources
        sources = dict(enumerate(self.sources))
        return tuple(sources.get(column, -1) for column in sorted(used))

    def of(
        self, features: Float32[np.ndarray, "docs features"], fill: float
    ) -> Float32[np.ndarray, "docs columns"]:
        """The features as the model's columns, with `fill` in columns that have none."""
        if self.sources == tuple(range(features.shape[1])):
            return features
        matrix = np.full((len(features), len(self.sources)), fill, dtype=np.float32)
        filled = [at for at, source in enumerate(self.sources) if source >= 0]
        matrix[:, filled] = features[:, [self.sources[at] for at in filled]]
        return matrix


def match_columns(
    model: ModelColumns, ids: Sequence[int], names: Sequence[str], rule: str = ""
) -> ColumnMatch:
    """The columns of a model for a data set.

    Args:
        model: what it takes.
        ids: of the data set's features, rising.
        names: of these features.
        rule: one of RULES; empty: the only one that fits.

    Raises:
        ModelError: none fits, or several with different scores.

    >>> match_columns(ModelColumns(2, ("b", "a")), [1, 2], ["a", "b"])
    ColumnMatch(rule='names', sources=(1, 0))
    >>> match_columns(ModelColumns(3, used=[0, 1]), [1, 2], ["feature_1", "feature_2"])
    ColumnMatch(rule='id-1', sources=(0, 1, -1))
    """
    if rule == NAMES or (not rule and model.names):
        return _by_name(model, names, ids)
    fitting = _by_place(model, ids)
    if rule:
        if rule not in fitting:
            finding = f"--columns {rule} does not fit: {_sizes(model, ids)}"
            raise ModelError(finding, _choices(fitting))
        return fitting[rule]
    if not fitting:
        remedy = "Train it on the features of this data set, or bring it to its own."
        raise ModelError(_sizes(model, ids), remedy)
    # Keyed by what the model reads: rules that agree on used columns are one reading.
    # Reversed, so that of equal readings the first rule stays
    complete = {
        read: match
        for match in reversed(fitting.values())
        if min(read := match.of_columns(model.used), default=0) >= 0
    }
    if not complete and len(fitting) == 1:
        (match,) = fitting.values()
        lacking = [at for at in match.absent if model.used is None or at in model.used]
        finding = f"the data set lacks columns that it uses: {some(lacking)} (from 0)"
        remedy = f"Bring it to data that have them. If they may be absent: {_choices(fitting)}"
        raise ModelError(finding, remedy)
    if len(complete) != 1:
        finding = f"its columns can be read in several ways: {_sizes(model, ids)}"
        raise ModelError(finding, _choices(fitting))
    return next(iter(complete.values()))


def _by_place(model: ModelColumns, ids: Sequence[int]) -> dict[str, ColumnMatch]:
    """The rules that give every feature a column, with what they match."""
    columns = {ORDER: range(len(ids)), ID_MINUS_1: [at - 1 for at in ids], ID: list(ids)}
    fitting = {}
    for rule in model.rules if ids else ():
        places = columns[rule]
        width = max(places) + 1 if model.width is None else model.width
        # By order, columns and features must be equal in number; ids may leave columns unused
        if min(places) >= 0 and max(places) < width and (
            rule != ORDER or width == len(ids)
        ):  # fmt: skip
            sources = dict(zip(places, range(len(ids)), strict=True))
            known = range(width) if model.width is not None else sorted(model.used or ())
            absent = tuple(at for at in known if at not in sources)
            fitting[rule] = ColumnMatch(
                rule, tuple(sources.get(at, -1) for at in range(width)), absent
            )
    return fitting


def _by_name(model: ModelColumns, names: Sequence[str], ids: Sequence[int]) -> ColumnMatch:
    """The columns by name."""
    if model.names is None:
        finding = "its columns have no names, so that none can be matched"
        raise ModelError(finding, _choices(_by_place(model, ids)))
    feature_names = [name.replace(" ", "_") if model.blanks else name for name in names]
    column_names = [name.replace(" ", "_") if model.blanks else name for name in model.names]
    missing = [name for name in column_names if name not in set(feature_names)]
    extra = [name for name in feature_names if name not in set(column_names)]
    if missing or extra or len(set(feature_names)) < len(feature_names):
        lists = {"the data set lacks": missing, "the model does not know": extra}
        finding = "; ".join(f"{problem} {some(names)}" for problem, names in lists.items() if names)
        finding = f"its columns have other names than the features: {finding or 'equal names'}"
        remedy = "Bring it to data with these columns."
        if fitting := _by_place(model, ids):
            remedy += f" If the names mean nothing: {_choices(fitting)}"
        raise ModelError(finding, remedy)
    place = {name: at for at, name in enumerate(feature_names)}
    return ColumnMatch(NAMES, tuple(place[name] for name in column_names))


def some(names: Sequence[object]) -> str:
    """The first names, and how many more there are."""
    listed = ", ".join(map(shown, names[:MOST_NAMED]))
    return listed + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")


def _sizes(model: ModelColumns, ids: Sequence[int]) -> str:
    """The two numbers that do not go together."""
    features = f"the data set {counted(len(ids), 'feature')} (ids {some(ids)})"
    width = "any number of columns" if model.width is None else counted(model.width, "column")
    return f"the model has {width}, {features}"


def _choices(fitting: Mapping[str, ColumnMatch]) -> str:
    """The rules that a user can choose."""
    if not fitting:
        return "Train it on the features of this data set, or bring it to its own."
    listed = ", or ".join(f"--columns {rule} ({RULES[rule]})" for rule in fitting)
    return f"Say {listed}."
