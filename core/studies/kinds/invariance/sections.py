"""Certificates, told: a verdict a ranker, its numbers, and what it rests on."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from shuffleproof.core.numerals import finite
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.studies.headline import BREAKS, SURVIVES
from shuffleproof.core.studies.headline import UNTOLD as CANNOT
from shuffleproof.core.studies.kinds.invariance.certificate import SHOWN, certificates
from shuffleproof.core.studies.kinds.invariance.verdict import INVARIANT, NOT, UNTOLD
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import Details, Finding, Headline, Section, View
from shuffleproof.core.studies.tables import Table, keys

TOLD = {
    NOT: (BREAKS, "answers another order otherwise", "answer another order otherwise"),
    UNTOLD: (CANNOT, "cannot be told", "cannot be told"),
    INVARIANT: (SURVIVES, "is invariant", "are invariant"),
}
"""By verdict, the worst first: what becomes of the rankers, and what is said of one, of several."""

WHY = "by certificates: real permutations of real lists, each judged by its own scores"


def headline(result: StudyResult, view: View) -> Headline:
    """Who answers otherwise when the order shown changes, and who does not."""
    cards = certificates(result)
    compared = view.compared_labels([card.ranker for card in cards])
    tiers, parts = [], []
    for verdict, (tier, verb, plural_verb) in TOLD.items():
        group = [
            card.ranker for card in cards if card.verdict == verdict and card.ranker in compared
        ]
        if group:
            tiers.append(tier)
            name = RankerName.of(group[0]).display
            several = f"{len(group)} rankers {plural_verb}"
            parts.append(f"{name} {verb}" if len(group) == 1 else several)
    return Headline(f"{'; '.join(parts)}.", next(iter(tiers), CANNOT), WHY)


def sections(result: StudyResult, _view: View) -> Iterator[Section]:
    """What is said of a study, in order."""
    cards = certificates(result)
    for card in cards:
        yield Finding(card.sentence())
    frame = pd.DataFrame([card.plain() for card in cards])[keys(SHOWN)]
    yield Table(frame, SHOWN, "Certificates: one row a ranker")
    for card in cards:
        yield Details(f"What the verdict on {card.ranker} rests on", card.details())


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """What the command answers in JSON."""
    return {"certificates": [finite(card.plain()) for card in certificates(result)]}
