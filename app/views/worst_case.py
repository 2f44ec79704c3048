"""The page of the worst case: initial rankings within a budget that cost most."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from shuffleproof.app import forms, rescoring
from shuffleproof.app.study.form import Form
from shuffleproof.app.study.page import StudyPage
from shuffleproof.app.study.per_query import PerQuery, Point
from shuffleproof.core.parameters import Parameter, with_changes
from shuffleproof.core.perturb.search import Search
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.worst_case.question import WorstCase
from shuffleproof.core.studies.result import StudyResult

FEW = 100
"""Number of queries of a first search; its time grows with their number."""

FIELDS = ("unit", "method", "places", "width", "candidates")


def search_fields(_declared: Parameter, _now: Any) -> Any:
    """Draw the fields of the search; return the changed ones, or None."""
    changed = forms.recipe_form(Search(), "new", only=FIELDS, columns=2)
    if not changed:
        return None
    # A function: invalid text raises when the form is read, not while it is drawn.
    return lambda: {name: getattr(with_changes(Search(), changed), name) for name in changed}


def before(result: StudyResult, point: Point, measure: str) -> np.ndarray:
    """Values of the unchanged lists."""
    return result.per_query(point[0], point[1], 0.0, measure)


def replay(
    artefact: Artefact, point: Point, query: str, _draw: int, features: Sequence[int]
) -> pd.DataFrame:
    """Worst order found for one query.

    Raises:
        ShuffleproofError: the scoring process has no answer, or the ranker or data set is gone.
    """
    return rescoring.moves(
        f"{rescoring.PERTURBED}:worst_replayed", artefact, query, study=str(artefact.key),
        ranker=rescoring.digest_of(artefact, point[0]), label=point[0], budget=int(point[2]),
        features=list(features),
    )  # fmt: skip


FORM = Form(
    WorstCase.kind,
    rows=(("rankers",), ("budgets", "queries", "target")),
    from_shown=("budgets", "target"),
    usual=lambda _data: {"queries": FEW},
    widgets={"search": search_fields},
)
PAGE = StudyPage(
    "Worst case", FORM,
    families=lambda result: [str(result.recipe["search"]["method"])],
    clicks={"point": str, "at": float},
    per_query=PerQuery(
        before, replay, lambda point: f"worst order within a budget of {point[2]:g}",
        right="of the unchanged list", level=lambda _family: "Budget",
    ),
    measured=False,
    caption="Thick: worst order found (a lower bound of the largest loss). Dotted: mean of "
            "random orders with the same budget.",
)  # fmt: skip
page = PAGE.draw
