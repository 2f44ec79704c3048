"""Certificates, told: a verdict a ranker, its numbers, and what it rests on."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from shuffleproof.core.studies.kinds.invariance.certificate import (
    SHOWN,
    Certificate,
    certificates,
)
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import Details, Finding, Section, View
from shuffleproof.core.studies.table_text import finite
from shuffleproof.core.studies.tables import Table, keys


def sections(result: StudyResult, _view: View) -> Iterator[Section]:
    """What is said of a study, in order."""
    cards = certified(result)
    for card in cards:
        yield Finding(card.sentence())
    frame = pd.DataFrame([card.plain() for card in cards])[keys(SHOWN)]
    yield Table(frame, SHOWN, "Certificates: one row a ranker")
    for card in cards:
        yield Details(f"What the verdict on {card.ranker} rests on", card.details())


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """What the command answers in JSON."""
    return {"certificates": [finite(card.plain()) for card in certified(result)]}


def certified(result: StudyResult) -> list[Certificate]:
    """The certificates of a stored study."""
    reads = {label: frozenset(names) for label, names in result.facts["reads"].items()}
    return certificates(result, reads)
