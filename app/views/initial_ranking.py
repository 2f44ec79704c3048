"""The page of Figure 3: effect of a worse initial ranking on rankers."""

from typing import Any

from shuffleproof.app import rescoring
from shuffleproof.app.study import form
from shuffleproof.app.study.form import Form
from shuffleproof.app.study.page import StudyPage
from shuffleproof.app.study.per_query import PerQuery, unchanged_level
from shuffleproof.core.parameters import Parameter
from shuffleproof.core.perturb.levels import pairs_of
from shuffleproof.core.perturb.registry import PERTURBATIONS
from shuffleproof.core.studies.kinds.initial_ranking.question import InitialRanking

OF_RANKING = [name for name, entry in PERTURBATIONS.items() if "ranking" in entry.changes]
FIRST = ["transpositions"]


def chosen_pairs(declared: Parameter, now: Any) -> Any:
    """Draw the families and their levels; return a reader of the (family, level) pairs."""
    known = [name for name in form.families_of(now) if name in OF_RANKING]
    return form.family_levels(declared, form.family_choice(OF_RANKING, known))


FORM = Form(
    InitialRanking.kind,
    rows=(("rankers",), ("perturbations",), ("draws", "measures")),
    from_shown=("perturbations",),
    usual=lambda _data: {"perturbations": pairs_of(FIRST), "measures": ("NDCG@10",)},
    widgets={"perturbations": chosen_pairs},
)
PAGE = StudyPage(
    "Initial ranking",
    FORM,
    families=lambda result: list(rescoring.families(result.recipe)),
    clicks={"point": str, "at": float},
    per_query=PerQuery(unchanged_level, rescoring.perturbed_scores),
    tested=True,
)
page = PAGE.draw
