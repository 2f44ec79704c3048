"""The ablation page: differences between paper and released code, and the effect of each."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from shuffleproof.app import proposals, scoring, training
from shuffleproof.app.study.form import Form, to_train
from shuffleproof.app.study.page import StudyPage
from shuffleproof.app.study.per_query import PerQuery, Point
from shuffleproof.core.errors import UsageError
from shuffleproof.core.parameters import Parameter
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import with_display_names
from shuffleproof.core.rankers.neural.recipes import FIXED
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.ablation.question import Ablation
from shuffleproof.core.studies.kinds.ablation.sources import BASE, PAPER
from shuffleproof.core.studies.kinds.benchmark.query import positions_of
from shuffleproof.core.studies.result import StudyResult

OWN = "of each variant"
RANKERS = tuple(
    name for name in FIXED if {BASE, *Ablation.towards} <= set(registry.RANKERS[name].presets)
)


def before(result: StudyResult, point: Point, measure: str) -> np.ndarray:
    """Values of the paper's recipe at the same level."""
    return result.per_query(BASE, point[1], point[2], measure)


def replay(
    artefact: Artefact, point: Point, query: str, _draw: int, _features: Sequence[int]
) -> pd.DataFrame:
    """Ranking of one query by a variant, and by the paper's recipe.

    Raises:
        UsageError: one of the two is not stored any more.
        ShuffleproofError: the scoring process has no answer.
    """
    data = scoring.describe(str(artefact.facts["data"]))
    digests = dict(artefact.recipe["rankers"])
    known = {ranker.digest: ranker for ranker in scoring.rankers_of(data)}
    pair = (point[0], BASE)
    if not {digests[label] for label in pair} <= known.keys():
        raise UsageError("one of the two is no longer stored: run the ablation again")
    rankers = tuple(known[digests[label]] for label in dict.fromkeys(pair))
    lists: dict[str, Any] = dict(artefact.facts["lists"])
    recipe = ListRecipe(**(lists | {"initial": tuple(lists["initial"])}))
    query_list = scoring.List(data.data, data.test, recipe, query)
    variant, *others = scoring.answers(query_list, rankers, "initial", "initial")
    documents = scoring.documents(query_list, ("initial",))
    rows = np.arange(len(documents.ids))
    scores = [np.array(one.before, dtype=np.float32) for one in (variant, (*others, variant)[0])]
    ranked, base = (positions_of(each, rows) for each in scores)
    return pd.DataFrame(
        {
            "document": documents.ids, "label": documents.labels, "kind": "kept",
            "shown": rows + 1, "shown_before": rows + 1, "answered": ranked,
            "answered_before": base, "score": scores[0], "score_before": scores[1],
            "moved": ranked != base,
        }
    )  # fmt: skip


def ranker(_declared: Parameter, now: str) -> str:
    """Draw the choice of a network."""
    at = RANKERS.index(now) if now in RANKERS else 0
    return str(
        st.selectbox(
            "Ranker", RANKERS, index=at, key="new.ranker", format_func=with_display_names,
            help="A network whose paper and released code differ.",
        )
    )  # fmt: skip


def sizes(_declared: Parameter, now: str | None) -> str | None:
    """Draw the choice of a preset whose sizes apply to all variants."""
    presets = [*training.PRESETS, OWN]
    chosen = st.selectbox(
        "Sizes", presets, index=presets.index(now) if now in presets else len(presets) - 1,
        key="new.sizes",
        help="All variants use the widths, depth, batches and epochs of this preset, to be "
             "fast. Other fields stay as in each variant.",
    )  # fmt: skip
    return None if chosen == OWN else str(chosen)


def towards(_declared: Parameter, now: tuple[str, ...]) -> tuple[str, ...]:
    """Draw the choice of recipes that are compared with the paper's, one difference at a time."""
    chosen = st.multiselect(
        "Differences towards", (*Ablation.towards, PAPER), default=list(now), key="new.towards",
        help="Every step from the paper's recipe towards these, one at a time; claims: what "
        "DLCM's paper compares and no preset has (directions, cells, losses).",
    )  # fmt: skip
    return tuple(chosen)


def usual_values(_data: str) -> Mapping[str, Any]:
    """Sizes of the preset that trains quickly."""
    return {"sizes": proposals.for_training()[0]}


FORM = Form(
    Ablation.kind,
    rows=(("ranker", "sizes"), ("towards",), ("levels", "draws")),
    from_shown=("ranker",),
    usual=usual_values,
    proposed=to_train,
    widgets={"ranker": ranker, "sizes": sizes, "towards": towards},
)
PAGE = StudyPage(
    "Ablation", FORM,
    rankers=lambda _result: (),
    clicks={"point": str},
    per_query=PerQuery(
        before, replay, right="by the paper's recipe", family="Perturbation",
        level=lambda _family: "Transpositions of the initial ranking",
    ),
    caption="Diamonds: whole recipes; dots: single differences from the paper's. Full: "
    "significant (p ≤ .05, Holm); arrows: beyond the axis.",
)  # fmt: skip
page = PAGE.draw
