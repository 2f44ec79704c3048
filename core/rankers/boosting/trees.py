"""LambdaMART and MART on LightGBM, made independent of the order of the file's rows.

LightGBM's lambdarank breaks ties by row, so the same documents in another order give another
model (NDCG@10 .689 to .695 on the same rows). Here rows and queries are put into an order that
depends on their content alone before anything is fitted. LightGBM is loaded by the first fit,
load or score: recipes are cheap.
"""

import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Float32

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import DataError
from shuffleproof.core.execution.machine import threads_allowed
from shuffleproof.core.parameters import parameter
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.base import one_line
from shuffleproof.core.rankers.canonical import LATER, CanonicalLists, Grades, row_order_parameter
from shuffleproof.core.rankers.library_words import in_its_words
from shuffleproof.core.rankers.tabular import (
    TabularRanker,
    TabularSpec,
    read_head,
    refuse_no_documents,
    spec_of,
)
from shuffleproof.core.words import counted

if TYPE_CHECKING:
    from lightgbm import Booster

FAMILY = "trees"
MODEL = "model.txt"
LONGEST_QUERY = 10_000  # LightGBM refuses longer ones
SINGLE_THREAD = 4_000_000
"""Feature values up to which one thread works: more gain nothing on so little, and where the
machine is busy they wait for each other a hundred times as long. The trees are the same."""


@dataclass(frozen=True)
class LambdaMARTSpec(TabularSpec):
    """The recipe of LambdaMART (Burges 2010) as LightGBM fits it."""

    trees: int = parameter(1000, "greatest number of trees", low=1)
    leaves: int = parameter(20, "leaves of a tree", low=2, high=131072, search=(4, 128))
    learning_rate: float = parameter(
        0.1, "shrinkage of every tree", low=1e-6, high=1, search=(0.01, 0.3)
    )
    leaf_documents: int = parameter(
        20, "least number of documents in a leaf", low=1, high=2**31 - 1, search=(5, 200)
    )
    truncation: int = parameter(
        30, "pairs count if one of them ranks above this", low=1, high=2**31 - 1
    )
    bins: int = parameter(255, "greatest number of bins of a feature", low=2, high=65535)
    feature_share: float = parameter(
        1.0, "share of the features a tree sees", low=0.01, high=1, search=(0.3, 1.0)
    )
    l2: float = parameter(0.0, "L2 penalty of leaf values", low=0, search=(0.0, 10.0))
    patience: int | None = parameter(
        None, "trees without a better validation NDCG@10 before the fit stops; none: never", low=1
    )
    least_trees: int = parameter(
        1,
        "trees before validation decides on stopping and on the best trees: on a few dozen "
        "queries the best of the first trees is luck",
        low=1,
    )
    seed: int = parameter(0, "seed of feature sampling", low=0, high=2**31 - 1)
    row_order: str = row_order_parameter()

    name: ClassVar[str] = "lambdamart"
    objective: ClassVar[str] = "lambdarank"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {},  # SetRank, section 5: 1000 trees of 20 leaves
        "released": {},  # the released lists were made with the same trees
        "tuned": {
            "trees": 2000, "learning_rate": 0.05, "leaf_documents": 50, "feature_share": 0.5,
            "patience": 100, "least_trees": 100,
        },
        "small": {"trees": 100, "leaves": 8},
    }  # fmt: skip
    later: ClassVar[Mapping[str, Any]] = {"least_trees": 1, **LATER}

    def fit(
        self, train: JudgedLists, valid: JudgedLists, workspace: Path | None = None
    ) -> Generator[Progress, None, "LambdaMART"]:
        """Fit on `train`, one report a tree; with patience, keep the trees best on `valid`.

        Args:
            train: lists to learn from.
            valid: lists to stop on; not read without patience.
            workspace: not used, a killed fit starts again.

        Raises:
            DataError: no documents, or more than 10 000 in one query, or LightGBM refuses.
        """
        del workspace
        refuse_no_documents(train)
        stopping = self.patience is not None and len(valid.lists.rows) > 0
        for part in (train, valid) if stopping else (train,):
            _check_queries(part)
        with _explaining_errors(self):
            learning = _Learning.begun(self, train, valid if stopping else None)
            for grown, values in enumerate(learning.rounds(), start=1):
                yield Progress(grown, self.trees, "trees", values)
            return LambdaMART(self, learning.text(), train.dataset.feature_ids)


@dataclass(frozen=True)
class MARTSpec(LambdaMARTSpec):
    """The recipe of MART (Friedman 2001): boosted regression trees on the grades.

    Where labels are fractions, negative or above 30, patience counts on the squared error.
    """

    name: ClassVar[str] = "mart"
    objective: ClassVar[str] = "regression"


KINDS = {kind.name: kind for kind in (LambdaMARTSpec, MARTSpec)}
spec = spec_of(KINDS)


@dataclass(frozen=True)
class LambdaMART(TabularRanker):
    """Fitted trees; a score depends on the document's features alone.

    Attributes:
        spec: the recipe that it came from.
        text: LightGBM's own text of the model, best round last.
        feature_ids: the feature columns that it was fitted on.
    """

    spec: LambdaMARTSpec
    text: str
    feature_ids: tuple[int, ...]
    __repr__ = one_line

    @property
    def trees(self) -> int:
        """Number of trees in the model."""
        return self.booster.num_trees()

    def score(
        self, dataset: RankingDataset, lists: CandidateLists
    ) -> Float32[np.ndarray, " candidates"]:
        """The sum of the trees' leaves for every candidate.

        Raises:
            ShapeError: the data set's features are not those of the fit.
        """
        self.check_columns(dataset)
        if not len(lists.rows):
            return np.zeros(0, dtype=np.float32)
        features = dataset.features[lists.rows]
        scores = self.booster.predict(features, num_threads=threads(features))
        return np.asarray(scores, dtype=np.float32)

    def save(self, directory: Path) -> None:
        """Write `ranker.json` and LightGBM's `model.txt`."""
        self.write_head(directory, FAMILY)
        (directory / MODEL).write_text(self.text, encoding="utf-8")

    def check(self) -> None:
        """Walk all trees; LightGBM ends the process where some of them are not sound.

        Raises:
            ValueError: other features, or trees that reach outside of themselves.
        """
        check_trees(self.booster, len(self.feature_ids))

    @cached_property
    def booster(self) -> "Booster":
        """LightGBM's model."""
        from lightgbm import Booster  # noqa: PLC0415 (recipes load without it)

        return Booster(model_str=self.text)


def check_trees(booster: "Booster", features: int) -> None:
    """Walk all trees; LightGBM ends the process where some of them are not sound.

    Raises:
        ValueError: other features, or trees that reach outside of themselves.
    """
    if booster.num_feature() != features:
        raise ValueError(f"trees over {counted(booster.num_feature(), 'feature')}")
    # A forged file can point outside its arrays, and LightGBM then ends the process
    for tree in booster.dump_model()["tree_info"]:
        splits, leaves = _parts(tree["tree_structure"])
        if sorted(leaves) != list(range(tree["num_leaves"])):
            raise ValueError(f"tree {tree['tree_index']} does not reach each leaf once")
        if not all(kind == "<=" and 0 <= feature < features for kind, feature in splits):
            raise ValueError(f"tree {tree['tree_index']} asks for what is no feature")


def _parts(root: dict[str, Any]) -> tuple[list[tuple[str, int]], list[int]]:
    """The kinds and features of a tree's splits, and the places of its leaves."""
    splits, leaves, nodes = [], [], [root]
    while nodes:
        node = nodes.pop()
        if "left_child" in node:
            splits.append((node["decision_type"], node["split_feature"]))
            nodes += [node["left_child"], node["right_child"]]
        else:
            leaves.append(node.get("leaf_index", 0))  # a tree of one leaf does not number it
    return splits, leaves


def threads(features: Float32[np.ndarray, "docs features"]) -> int:
    """Threads of LightGBM for a matrix of this size: one, or all that are allowed."""
    return 1 if features.size <= SINGLE_THREAD else threads_allowed()


def load(directory: Path) -> LambdaMART:
    """The ranker that `save` wrote."""
    ranker_spec, feature_ids, _ = read_head(directory, KINDS)
    return LambdaMART(ranker_spec, (directory / MODEL).read_text(encoding="utf-8"), feature_ids)


@dataclass
class _Learning:
    """One LightGBM training under way.

    Attributes:
        booster: what LightGBM has so far.
        spec: the recipe.
        unjudged: share of validation lists without a relevant document (LightGBM counts them 1,
            we count them 0); None: nothing to stop on.
        written_threads: what the model's text says of them, the same bytes on every machine.
        best: number of trees to keep; None: all.
    """

    booster: "Booster"
    spec: LambdaMARTSpec
    unjudged: float | None
    written_threads: int
    best: int | None = None

    @classmethod
    def begun(
        cls, spec: LambdaMARTSpec, train: JudgedLists, valid: JudgedLists | None
    ) -> "_Learning":
        """A training before its first tree, rows in canonical order or in that of the recipe.

        Args:
            spec: the recipe.
            train: lists to learn from.
            valid: lists to stop on; None: all trees are grown and kept.
        """
        from lightgbm import Booster, Dataset  # noqa: PLC0415 (recipes load without it)

        # Ties of lambdarank follow the rows: a canonical order makes them depend on content
        train_lists = CanonicalLists.of(train, spec.row_order)
        valid_lists = None if valid is None else CanonicalLists.of(valid)
        grades = Grades.of(
            train_lists.labels, *([] if valid_lists is None else [valid_lists.labels])
        )
        settings = _settings(spec, grades) | {"num_threads": threads(train_lists.features)}
        written_threads = int(train_lists.features.size <= SINGLE_THREAD)
        ranks = spec.objective == "lambdarank"
        # lambdarank takes whole grades; regression learns the labels themselves
        target = grades.grade(train_lists.labels) if ranks else train_lists.labels
        train_data = Dataset(
            train_lists.features, target, group=train_lists.lengths, params=settings
        )
        booster = Booster(settings, train_data)
        if valid_lists is None:
            return cls(booster, spec, None, written_threads)
        valid_target = grades.grade(valid_lists.labels) if ranks else valid_lists.labels
        valid_data = Dataset(
            valid_lists.features,
            valid_target,
            group=valid_lists.lengths,
            reference=train_data,
            params=settings,
        )
        booster.add_valid(valid_data, "valid")
        starts = np.cumsum(valid_lists.lengths) - valid_lists.lengths
        best_labels = np.maximum.reduceat(valid_lists.labels, starts)
        return cls(booster, spec, float(np.mean(best_labels <= 0)), written_threads)

    def rounds(self) -> Iterator[Mapping[str, float]]:
        """Grow tree after tree; yields what was measured after each."""
        highest = -np.inf
        for grown in range(1, self.spec.trees + 1):
            exhausted = self.booster.update()
            if self.unjudged is None:
                yield {}
            else:
                result = self.booster.eval_valid()[0]
                # LightGBM scores a list without relevant documents 1: subtract them, as ours is 0
                value = result[2] - self.unjudged if result[3] else -result[2]
                if value > highest and grown >= self.spec.least_trees:
                    highest, self.best = value, grown
                yield {"valid": value}
            patience = self.spec.patience
            if exhausted or (patience and self.best and grown - self.best >= patience):
                return

    def text(self) -> str:
        """LightGBM's text of the selected trees."""
        # The number of threads does not change the trees, so it must not change the bytes
        whole_text = self.booster.model_to_string(num_iteration=self.best or -1)
        return re.sub(
            r"(?m)^\[num_threads: \d+\]$", f"[num_threads: {self.written_threads}]", whole_text
        )


NAMES: Mapping[str, str] = {
    "num_leaves": "leaves",
    "learning_rate": "learning_rate",
    "min_data_in_leaf": "leaf_documents",
    "lambdarank_truncation_level": "truncation",
    "max_bin": "bins",
    "feature_fraction": "feature_share",
    "lambda_l2": "l2",
}
"""The fields of a recipe, by what LightGBM calls them."""


@contextmanager
def _explaining_errors(spec: LambdaMARTSpec) -> Iterator[None]:
    """Say in our words what LightGBM refuses."""
    from lightgbm.basic import LightGBMError  # noqa: PLC0415 (recipes load without it)

    try:
        yield
    except LightGBMError as error:
        fields = {field for name, field in NAMES.items() if re.search(rf"\b{name}\b", str(error))}
        settings = " ".join(f"{field}={getattr(spec, field):g}" for field in sorted(fields))
        finding = f"LightGBM takes no {settings}" if fields else "LightGBM cannot learn from this"
        remedy = "Choose another value (--set)." if fields else "Look the data over (`doctor`)."
        if "alloc" in str(error):
            finding, remedy = "LightGBM ran out of memory", "Lower bins or leaves (--set)."
        raise DataError(
            spec.name, finding, f"{remedy} {in_its_words('LightGBM', error)}."
        ) from error


def _settings(spec: LambdaMARTSpec, grades: Grades) -> dict[str, Any]:
    """LightGBM's parameters; column-wise histograms do not depend on the number of threads."""
    settings: dict[str, Any] = {
        "objective": spec.objective,
        "num_leaves": spec.leaves,
        "learning_rate": spec.learning_rate,
        "min_data_in_leaf": spec.leaf_documents,
        "lambdarank_truncation_level": spec.truncation,
        "max_bin": spec.bins,
        "feature_fraction": spec.feature_share,
        "lambda_l2": spec.l2,
        "seed": spec.seed,
        # Sums in a fixed order, so that the same rows give the same trees
        "deterministic": True,
        "force_col_wise": True,
        "metric": "ndcg",
        "eval_at": [10],
        "verbosity": -1,
    }
    gains = grades.gains()
    if gains is not None and spec.objective == "regression":
        settings["metric"] = "l2"  # LightGBM takes no NDCG of labels that are not its grades
    elif gains is not None:
        settings["label_gain"] = gains.tolist()
    return settings


def _check_queries(judged: JudgedLists) -> None:
    if not len(judged.lists):
        return
    longest = int(np.argmax(judged.lists.lengths))
    length = int(judged.lists.lengths[longest])
    if length > LONGEST_QUERY:
        query = judged.dataset.query_ids[judged.lists.queries[longest]]
        raise DataError(
            f"query {query}",
            f"{length} documents, LightGBM takes {LONGEST_QUERY}",
            "Cut the lists (--depth) or leave the query out.",
        )
