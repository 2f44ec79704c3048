"""Sections of certificates: verdicts, numbers and evidence."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from shuffleproof.core.numerals import finite
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.studies.headline import DEGRADES, FAILS, ROBUST
from shuffleproof.core.studies.kinds.invariance.certificate import (
    SHOWN,
    UNKNOWN,
    Certificate,
    certificates,
    rounded_up,
)
from shuffleproof.core.studies.kinds.invariance.verdict import INCONCLUSIVE, INVARIANT, NOT
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import Details, Finding, Headline, Section, View
from shuffleproof.core.studies.tables import Table, keys

WORST = (FAILS, DEGRADES, INCONCLUSIVE, ROBUST)
"""Tiers, worst first."""

WHY = "by certificates: the model scored real permutations of real lists"


def tier_of(card: Certificate) -> str:
    """Tier of `headline.TIERS`, by the loss of NDCG@10 if the ranker is not invariant."""
    if card.verdict == INVARIANT:
        return ROBUST
    return (
        INCONCLUSIVE
        if card.verdict == INCONCLUSIVE or card.loss_tier == UNKNOWN
        else card.loss_tier
    )


def headline(result: StudyResult, view: View) -> Headline:
    """Rankers that depend on the order, with their losses, and invariant rankers."""
    cards = certificates(result)
    compared = view.compared_labels([card.ranker for card in cards])
    groups: dict[str, list[Certificate]] = {}
    for card in cards:
        if card.ranker in compared:
            kind = card.verdict if card.verdict != NOT else f"{NOT} {tier_of(card)}"
            groups.setdefault(kind, []).append(card)
    if not groups:
        return Headline("Nothing was examined.", INCONCLUSIVE, WHY)
    ordered = sorted(
        groups.values(),
        key=lambda group: (group[0].verdict != NOT, WORST.index(tier_of(group[0]))),
    )
    worst = max(ordered[0], key=_share)
    label = worst.movement() if worst.verdict == NOT else worst.verdict
    return Headline(f"{'; '.join(map(_in_words, ordered))}.", tier_of(worst), WHY, label)


def _in_words(group: list[Certificate]) -> str:
    """Summary of the rankers of one verdict and tier, with the name of the largest loss."""
    first = max(group, key=_share)
    name, words = RankerName.of(first.ranker).display, first.movement()
    if len(group) == 1:
        return f"{name} {words}"
    if first.verdict != NOT:
        return f"{len(group)} rankers {words.replace('is ', 'are ', 1)}"
    most = words if first.loss_tier in {DEGRADES, FAILS} else ""
    plural = words.replace("reorders", "reorder").replace("loses", "lose").replace("gains", "gain")
    return f"{len(group)} rankers {f'lose NDCG@10 (most: {name} {most})' if most else plural}"


def _share(card: Certificate) -> float:
    return 0.0 if card.loss is None else card.loss["mean"] / (card.loss["before"] or 1.0)


def sections(result: StudyResult, view: View) -> Iterator[Section]:
    """Sections of the result, in display order."""
    every = certificates(result)
    compared = view.compared_labels([card.ranker for card in every])
    cards = [card for card in every if card.ranker in compared]
    for card in cards:
        yield Finding(card.sentence())
    frame = pd.DataFrame([card.plain() for card in cards])[keys(SHOWN)]
    frame["failure_bound"] = frame["failure_bound"].map(rounded_up)
    yield Table(frame, SHOWN, "Certificates: one row a ranker")
    for card in cards:
        yield Details(f"Evidence for the verdict on {card.ranker}", card.details())


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """Answer of the command in JSON."""
    return {"certificates": [finite(card.plain()) for card in certificates(result)]}
