"""Asking a question from Python: one call, the stored result comes back."""

from typing import Any

from shuffleproof.core.store.artefacts import Store, default_store
from shuffleproof.core.studies.question import SAMPLE, Question, Scope
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.workbench import finished


def ask(
    question: Question,
    data: str = SAMPLE,
    *,
    preset: str | None = None,
    store: Store | None = None,
    **lists: Any,
) -> StudyResult:
    """Answer a question; what is stored is not computed again.

    Args:
        question: of any kind of study (`core.studies.registry`).
        data: a stored name, a LETOR folder, or `sample`.
        preset: preset of rankers named without one; by default `small` for the sample, else
            `paper`.
        store: where everything is kept; by default the user's own.
        lists: fields of ListRecipe that differ from its default (`initial`, `depth`, `scores`, …).

    Raises:
        ShuffleproofError: a name that nothing has, or work that failed.
    """
    scope = Scope(store or default_store(), data, lists or None, preset)
    question.check(scope, from_outside=True)
    return StudyResult.open(finished(question.study(scope)).path)
