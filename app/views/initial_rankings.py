"""The page of Table 4: no, one or several initial rankings, removed and exchanged."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from shuffleproof.app import proposals, rescoring
from shuffleproof.app.proposals import Proposal
from shuffleproof.app.study.form import Form
from shuffleproof.app.study.page import StudyPage
from shuffleproof.app.study.per_query import PerQuery, Point
from shuffleproof.app.study_access import result
from shuffleproof.core.parameters import Parameter
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.initial_rankings.question import InitialRankings
from shuffleproof.core.studies.kinds.initial_rankings.ranking_conditions import TRAINED
from shuffleproof.core.studies.result import StudyResult

UNTRAINED = {registry.FEATURE, "random", "ideal", "file-order"}
WORDS = {
    "oracle": "by relevance label, best first",
    "anti-oracle": "by relevance label, worst first",
    "random": "chance",
}


def proposed_values(_data: str, shown: Artefact | None) -> Proposal:
    """Default rankers; the initial rankings of the study shown, else the paper's."""
    preset, lists = proposals.for_training()
    initial = [f"{name}@{preset}" for name in InitialRankings.initial]
    if shown is not None:
        initial = list(shown.facts["lists"]["initial"])
    return Proposal((), ListRecipe(tuple(initial), lists.depth, lists.scores, lists.folds))


def swaps(declared: Parameter, now: tuple[str, ...]) -> tuple[str, ...]:
    """Draw the choice of replacements for the first initial ranking."""
    chosen = st.multiselect(
        "Exchanged at test time with", list(dict.fromkeys([*now, *InitialRankings.swaps])),
        default=list(now), accept_new_options=True, key="new.swaps", wrap=True,
        format_func=lambda name: f"{name}: {WORDS[name]}" if name in WORDS else name,
        help=f"{declared.help}, once the ranker is trained; any initial ranker can be named.",
    )  # fmt: skip
    return tuple(chosen)


def readers(study: StudyResult) -> list[str]:
    """Rankers of a study, without the initial rankings."""
    labels = dict.fromkeys(map(str, study.trials["ranker"]))
    return [label for label in labels if not RankerName.of(label).is_initial]


def before(study: StudyResult, point: Point, measure: str) -> np.ndarray:
    """Values of the ranker under its training condition."""
    return study.per_query(point[0], TRAINED, 0.0, measure)


def replay(
    artefact: Artefact, point: Point, query: str, seed: int, features: Sequence[int]
) -> pd.DataFrame:
    """Ranking of one query under a condition, and under the training condition.

    Raises:
        ShuffleproofError: the scoring process has no answer, or the ranker, the data set or a
            replacement ranking is gone.
    """
    recipe, trials = artefact.recipe, result(str(artefact.key)).trials
    row = next(row for row in recipe["rows"] if (row["label"], row["condition"]) == point[:2])
    of_point = trials[(trials["ranker"] == point[0]) & (trials["family"] == point[1])]
    return rescoring.moves(
        f"{rescoring.TRAINED}:conditions", artefact, query, lists=recipe["lists"],
        preset=artefact.facts["preset"], initial=list(recipe["initial"]),
        ranker=rescoring.ranker_of(of_point, seed), before=None,
        now=None if point[1] == TRAINED else list(row["columns"]), features=list(features),
    )  # fmt: skip


FORM = Form(
    InitialRankings.kind,
    rows=(("rankers",), ("initial", "swaps")),
    from_shown=("rankers", "swaps"),
    proposed=proposed_values,
    trains=True,
    widgets={"swaps": swaps},
    offered=lambda name: name not in UNTRAINED,
    note="Rankers that read no initial ranking are measured once. DLCM reads the list in the "
    "order of the exchanged ranking.",
    list_fields=("depth", "scores", "folds", "seed"),
)
PAGE = StudyPage(
    "Several initial rankings", FORM,
    rankers=readers,
    clicks={"point": str, "family": str},
    per_query=PerQuery(
        before, replay, lambda point: point[1], right="as trained", family="Reads",
        unchanged=TRAINED,
    ),
    caption="Filled dots under a ranker: the change is significant (p ≤ .05, Holm).",
)  # fmt: skip
page = PAGE.draw
