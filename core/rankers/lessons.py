"""Whether there is anything to learn: training labels that tell documents apart."""

import numpy as np

from core.data.lists import JudgedLists
from core.errors import DataError
from core.losses.registry import LOSSES
from core.rankers.base import RankerSpec
from core.rankers.registry import RANKERS
from core.words import counted

REMEDY = "Train on a part whose queries have documents of different labels."


def check_lessons(spec: RankerSpec, train: JudgedLists) -> None:
    """Refuse training lists from which a ranker would learn nothing, and say what was found.

    Rankers that are not fitted pass; those that learn grades (MART, a net with a pointwise loss)
    need two different labels anywhere, all others within a query.

    Args:
        spec: the recipe.
        train: lists to learn from.

    Raises:
        DataError: no label differs from another where it would have to.
    """
    lists, entry = train.lists, RANKERS.get(spec.name)
    if (entry is not None and not entry.fitted) or not len(lists.rows):
        return
    labels = train.dataset.labels[lists.rows]
    queries = counted(len(lists), "training query")
    if np.ptp(labels) == 0:
        found = f"every label of its {queries} is {labels[0]:g}, so there is nothing to learn"
        raise DataError(spec.name, found, REMEDY)
    starts = lists.offsets[:-1][lists.lengths > 0]
    differ = np.maximum.reduceat(labels, starts) > np.minimum.reduceat(labels, starts)
    if not differ.any() and not _learns_grades(spec):
        found = f"in none of its {queries} do two documents have different labels"
        raise DataError(spec.name, f"{found}, so there is no order to learn", REMEDY)


def _learns_grades(spec: RankerSpec) -> bool:
    loss = spec.recipe().get("training", {}).get("loss", "")
    return bool(spec.name == "mart" or (loss in LOSSES and LOSSES[loss].absolute))
