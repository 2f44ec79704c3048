"""Trainings, trials and calls that a form's question still needs."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from shuffleproof.app import scoring, services
from shuffleproof.core.studies.question import Question

WORK = "shuffleproof.core.studies.dry_run:sentence"


def needed_work(question: Question, place: Mapping[str, Any]) -> str:
    """Work that the store lacks for a question, in words.

    Args:
        question: question of any kind.
        place: `data`, and `lists` and `preset` if they are not the defaults.

    Raises:
        ShuffleproofError: the question cannot be answered.
    """
    item = {"store": str(services.store().root), "kind": question.kind, **place}
    return _needed(json.dumps(item | {"question": asdict(question)}))


@services.until_stored()
def _needed(item: str) -> str:
    return str(scoring.resident().ask(WORK, json.loads(item)))
