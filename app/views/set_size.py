"""The page of Table 3: training on lists of one size, tests on lists of another."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shuffleproof.app import rescoring, services
from shuffleproof.app.study.form import Form, to_train
from shuffleproof.app.study.page import StudyPage
from shuffleproof.app.study.per_query import PerQuery, Point
from shuffleproof.app.study_access import result
from shuffleproof.core.errors import ArtefactError, ShuffleproofError
from shuffleproof.core.rankers import registry
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.set_size import feasibility, sections
from shuffleproof.core.studies.kinds.set_size.question import SetSize
from shuffleproof.core.studies.result import StudyResult

UNTRAINED = {registry.FEATURE, "random", "ideal"}


def usual_values(data: str) -> Mapping[str, Any]:
    """Paper's sizes that test lists reach; for shorter lists, steps up to the longest one."""
    try:
        sizes = feasibility.proposed_sizes(lengths(data))
    except ShuffleproofError:  # studies outlive their data set
        sizes = feasibility.SIZES
    return {"sizes": tuple(sizes), "trained_on": tuple(feasibility.train_sizes(sizes))}


def lengths(data: str) -> NDArray[np.int64]:
    """Lengths of all test lists of a data set, without a cutoff.

    Raises:
        ShuffleproofError: there is no such data set, or it cannot be read.
    """
    try:
        test = services.fold(str(services.data_set(data).key)).test
    except OSError as error:
        raise ArtefactError(data, f"cannot be opened ({error})", "Bring it in again.") from error
    return np.diff(test.offsets)


def before(study: StudyResult, point: Point, measure: str) -> np.ndarray:
    """Values of the same ranker on lists of its training size."""
    ranker, trained_on, _ = point
    return study.per_query(ranker, *sections.home_of(study, ranker, trained_on), measure)


def size_words(point: Point) -> str:
    """Training size N0 and test size N1 in words.

    >>> size_words(("dlcm", "40", 240.0)), size_words(("ideal", "any", 240.0))
    ('trained on 40, lists of 240', 'lists of 240')
    """
    trained = f"trained on {point[1]}, " if point[1].isdigit() else ""
    return f"{trained}lists of {point[2]:g}"


def replay(
    artefact: Artefact, point: Point, query: str, seed: int, features: Sequence[int]
) -> pd.DataFrame:
    """Rankings of one query's lists of two sizes.

    Raises:
        ShuffleproofError: the scoring process has no answer, or a ranker or the data set is gone.
    """
    study = result(str(artefact.key))
    ranker, trained_on, size = point
    trials = study.trials
    of_home = trials[(trials["ranker"] == ranker) & (trials["family"] == trained_on)]
    home = sections.home_of(study, ranker, trained_on)[1]
    sides = {
        side: [rescoring.ranker_of(of_home[of_home["level"] == documents], seed), int(documents)]
        for side, documents in (("now", size), ("before", home))
    }
    return rescoring.moves(
        f"{rescoring.TRAINED}:sizes", artefact, query, digests=artefact.recipe["lists"],
        features=list(features), **sides,
    )  # fmt: skip


FORM = Form(
    SetSize.kind,
    rows=(("rankers",), ("trained_on", "sizes", "seeds")),
    from_shown=("rankers", "trained_on", "sizes"),
    usual=usual_values,
    proposed=to_train,
    trains=True,
    offered=lambda name: name not in UNTRAINED,
    note="The ideal order and the initial ranking are always included. Rankers with "
    "ordinal embeddings are not tested beyond their longest rank.",
    list_fields=("scores", "folds", "seed"),
)
PAGE = StudyPage(
    "Set size", FORM,
    clicks={"point": str, "family": str, "at": float},
    per_query=PerQuery(
        before, replay, size_words, right="of the list of the size it was trained on",
        family="Training list length", level=lambda _family: "Test list length",
    ),
)  # fmt: skip
page = PAGE.draw
