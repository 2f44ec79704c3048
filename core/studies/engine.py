"""How a study of any kind is run: found, or announced, worked and stored.

A kind brings its plan, what is known before the work, and the work; all else is here.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

from shuffleproof.core.errors import UsageError
from shuffleproof.core.progress import Progress
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.running import register
from shuffleproof.core.studies.study import Plan

Work = Callable[[dict[str, Any]], Generator[Progress, None, StudyResult | None]]
"""Facts → the result that carries them, those it adds among them; None where nothing was found."""


def run(  # noqa: PLR0913 (where, what, on what, and the two steps that differ between kinds)
    store: Store,
    plan: Plan,
    query_ids: Sequence[str],
    facts: Callable[[], Mapping[str, Any]],
    work: Work,
    *,
    save: Callable[[StudyResult, Path], None] = StudyResult.save,
) -> Generator[Progress, None, Artefact]:
    """Run a study, or find it; yields progress, returns the stored result.

    Args:
        store: where results and finished trials are kept.
        plan: whose recipe is the key.
        query_ids: one id a list, in the lists' order.
        facts: what is known before the work, asked for when there is any.
        work: finds the result.
        save: writes it into an empty folder.

    Raises:
        UsageError: there was nothing to measure.
    """
    recipe = plan.recipe()
    key = key_of("study", recipe)
    with store.lock(key):
        stored = store.find(key)
        if stored is not None:
            return stored
        known = dict(facts())
        register(store, key, plan, query_ids, known)
        result = yield from work(known)
        if result is None:
            raise UsageError(
                "nothing to measure: name at least one ranker, and data with test queries"
            )
        return store.add(key, recipe, lambda place: save(result, place), dict(result.facts))
