"""Certificates, told: a verdict a ranker, its numbers, and what it rests on."""

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from shuffleproof.core.numerals import finite
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.studies.headline import BREAKS, SURVIVES
from shuffleproof.core.studies.headline import UNTOLD as CANNOT
from shuffleproof.core.studies.kinds.invariance.certificate import (
    SHOWN,
    Certificate,
    certificates_of,
)
from shuffleproof.core.studies.kinds.invariance.verdict import INVARIANT, NOT, UNTOLD
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import Details, Finding, Headline, Section, View
from shuffleproof.core.studies.tables import Table, keys


def headline(result: StudyResult, view: View) -> Headline:
    """Who answers otherwise when the order shown changes, and who does not."""
    cards = certificates_of(result)
    compared = view.compared_labels([card.ranker for card in cards])
    cards = [card for card in cards if card.ranker in compared]
    by_verdict = {
        verdict: [card for card in cards if card.verdict == verdict]
        for verdict in (NOT, UNTOLD, INVARIANT)
    }
    parts = [
        f"{_names(group)} {words[len(group) > 1]}"
        for group, words in zip(by_verdict.values(), WORDS, strict=True)
        if group
    ]
    tier = next(
        (tier for group, tier in zip(by_verdict.values(), BECOMES, strict=True) if group), CANNOT
    )
    return Headline(f"{'; '.join(parts)}.", tier, BECOMES_WHY)


def _names(cards: Sequence[Certificate]) -> str:
    """One ranker by its name, several by their number."""
    if len(cards) == 1:
        return RankerName.of(cards[0].ranker).display
    return f"{len(cards)} rankers"


WORDS = (
    ("answers another order otherwise", "answer another order otherwise"),
    ("cannot be told", "cannot be told"),
    ("is invariant", "are invariant"),
)
BECOMES = (BREAKS, CANNOT, SURVIVES)
BECOMES_WHY = "by certificates: real permutations of real lists, each judged by its own scores"


def sections(result: StudyResult, _view: View) -> Iterator[Section]:
    """What is said of a study, in order."""
    cards = certificates_of(result)
    for card in cards:
        yield Finding(card.sentence())
    frame = pd.DataFrame([card.plain() for card in cards])[keys(SHOWN)]
    yield Table(frame, SHOWN, "Certificates: one row a ranker")
    for card in cards:
        yield Details(f"What the verdict on {card.ranker} rests on", card.details())


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """What the command answers in JSON."""
    return {"certificates": [finite(card.plain()) for card in certificates_of(result)]}
