"""The robustness card: effect of a worse input on each ranker, against its quality."""

from typing import Any

from shuffleproof.app import rescoring
from shuffleproof.app.study import added_documents, form
from shuffleproof.app.study.form import Form
from shuffleproof.app.study.page import StudyPage, StudyView
from shuffleproof.app.study.per_query import PerQuery, unchanged_level
from shuffleproof.core.parameters import Parameter
from shuffleproof.core.perturb.registry import PERTURBATIONS
from shuffleproof.core.studies.kinds.card.question import Card
from shuffleproof.core.studies.kinds.card.study import ALLOWED

OFFERED = [name for name, entry in PERTURBATIONS.items() if entry.changes <= ALLOWED]


def family_fields(_declared: Parameter, now: Any) -> tuple[str, ...]:
    """Draw the families."""
    return tuple(form.family_choice(OFFERED, [name for name in now if name in OFFERED]))


def certificates(_shown: StudyView) -> str:
    """Draw the certificates against added documents; they have no family."""
    added_documents.draw()
    return ""


FORM = Form(
    Card.kind,
    rows=(("rankers",), ("families", "draws")),
    from_shown=("families",),
    widgets={"families": family_fields},
)
PAGE = StudyPage(
    "Robustness card",
    FORM,
    families=lambda result: list(rescoring.families(result.recipe)),
    clicks={"point": str},
    per_query=PerQuery(unchanged_level, rescoring.perturbed_scores),
    more=certificates,
    caption="Horizontal: quality of the unchanged lists. Vertical: the share kept at the last "
    "level.",
)
page = PAGE.draw
