"""Whether there is anything to learn or to select on: labels that tell documents apart."""

import numpy as np

from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import DataError
from shuffleproof.core.losses.registry import LOSSES
from shuffleproof.core.rankers.base import RankerSpec
from shuffleproof.core.rankers.registry import RANKERS
from shuffleproof.core.words import counted

REMEDY = "Train on a part whose queries have documents of different labels."
LARGEST = 1023.0
"""Above this label the gain of NDCG, 2^label − 1, is no number, so nothing is measured by it."""


def check_training_labels(spec: RankerSpec, train: JudgedLists) -> None:
    """Refuse training lists from which a ranker would learn nothing, and say what was found.

    Rankers that are not fitted pass; those that learn grades (MART, a net with a pointwise loss)
    need two different labels anywhere, all others within a query.

    Args:
        spec: the recipe.
        train: lists to learn from.

    Raises:
        DataError: a label is no number, or none differs from another where it would have to.
    """
    lists, entry = train.lists, RANKERS.get(spec.name)
    if (entry is not None and not entry.fitted) or not len(lists.rows):
        return
    _check_labels(train, "training", np.inf)
    labels = train.dataset.labels[lists.rows]
    queries = counted(len(lists), "training query")
    if np.ptp(labels) == 0:
        finding = f"every label of its {queries} is {labels[0]:g}, so there is nothing to learn"
        raise DataError(spec.name, finding, REMEDY)
    if not _have_order(train) and not _learns_grades(spec):
        finding = f"in none of its {queries} do two documents have different labels"
        raise DataError(spec.name, f"{finding}, so there is no order to learn", REMEDY)


def check_selection(spec: RankerSpec, valid: JudgedLists) -> None:
    """Refuse validation lists on which every epoch, tree or setting would be as good as another.

    A recipe that selects nothing (trees without patience, one value of C, one epoch) passes, and
    so does a part without lists: it says by itself that nothing is selected on it.

    Args:
        spec: the recipe.
        valid: lists to select on.

    Raises:
        DataError: a label gives NDCG no value, or no query tells two documents apart, and
            something is to be selected.
    """
    _check_labels(valid, "validation", LARGEST)
    alternative = _selects(spec)
    if not alternative or not len(valid.lists.rows) or _have_order(valid):
        return
    labels = valid.dataset.labels[valid.lists.rows]
    if _selects_by_grades(spec) and np.ptp(labels) > 0:
        return
    queries = counted(len(valid.lists), "validation query")
    finding = f"in none of its {queries} do two documents have different labels"
    raise DataError(
        spec.name,
        f"{finding}, so nothing can be selected on them",
        f"Validate on a part whose queries have documents of different labels, or {alternative}.",
    )


def _check_labels(judged: JudgedLists, part: str, largest: float) -> None:
    """Refuse a label that is no number or larger than what can be learnt or measured.

    Raises:
        DataError: the first of them, by query.
    """
    lists = judged.lists
    labels = judged.dataset.labels[lists.rows]
    wrong = np.flatnonzero(~(np.isfinite(labels) & (labels <= largest)))
    if len(wrong):
        at = int(np.searchsorted(lists.offsets, wrong[0], side="right")) - 1
        query = judged.dataset.query_ids[lists.queries[at]]
        bound = "a number" if np.isinf(largest) else f"a number of at most {largest:g}"
        finding = f"a label of {labels[wrong[0]]:g}, {counted(len(wrong), 'document')} in all"
        remedy = f"Give every document a label that is {bound}."
        raise DataError(f"{part} query {query}", finding, remedy)


def _have_order(judged: JudgedLists) -> bool:
    """Whether two documents of any list have different labels."""
    labels = judged.dataset.labels[judged.lists.rows]
    starts = judged.lists.offsets[:-1][judged.lists.lengths > 0]
    return bool((np.maximum.reduceat(labels, starts) > np.minimum.reduceat(labels, starts)).any())


def _selects(spec: RankerSpec) -> str:
    """How to do without what a recipe selects on validation lists; empty where it selects nothing.

    >>> from shuffleproof.core.rankers import registry
    >>> [_selects(registry.spec(name, "tuned")) for name in ("mart", "dlcm")]
    ['train without patience', 'train one epoch']
    >>> _selects(registry.spec("ranksvm", tried=8))
    'with one value of C (tried=1)'
    >>> _selects(registry.spec("lambdamart", "paper"))
    ''
    """
    recipe = spec.recipe()
    if recipe.get("training", {}).get("epochs", 1) > 1:
        return "train one epoch"
    if recipe.get("patience") is not None:
        return "train without patience"
    return "with one value of C (tried=1)" if recipe.get("tried", 1) > 1 else ""


def _selects_by_grades(spec: RankerSpec) -> bool:
    """Whether labels that differ between queries alone tell what is better."""
    training = spec.recipe().get("training")
    return _learns_grades(spec) and (not training or training["selection"] == "valid-loss")


def _learns_grades(spec: RankerSpec) -> bool:
    loss = spec.recipe().get("training", {}).get("loss", "")
    return bool(spec.name == "mart" or (loss in LOSSES and LOSSES[loss].absolute))
