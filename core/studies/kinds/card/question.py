"""Question of a robustness card."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from shuffleproof.core.experiment.ranker_sets import CONTRAST
from shuffleproof.core.parameters import parameter
from shuffleproof.core.studies.question import RANKERS, Facts, Question, Scope


@dataclass(frozen=True)
class Card(Question):
    """Robustness of rankers, in the numbers that a paper would report."""

    kind: ClassVar[str] = "card"
    title: ClassVar[str] = "How robust is each ranker?"
    source: ClassVar[str] = "–"
    summary: ClassVar[str] = "robustness card of each ranker"
    doing: ClassVar[str] = "Make the robustness card of"
    sample: ClassVar[Mapping[str, Any]] = {
        "rankers": (*CONTRAST, "dlcm-without-init", "setrank-imsab"),
        "families": ("transpositions", "shuffle-shown"),
    }
    printing: ClassVar[str] = "cards(result, {families[0]!r}, 'NDCG@10').T"

    rankers: tuple[str, ...] = parameter(help=RANKERS, names="rankers")
    families: tuple[str, ...] = parameter(
        ("transpositions",), "perturbations, comma-separated", names="families"
    )
    draws: int = parameter(10, "random draws per level", low=1, label="Draws per level")
    seed: int = parameter(0, "seed of the draws")

    @classmethod
    def of(cls, recipe: Facts, facts: Facts) -> Question:
        """Question of a stored card."""
        families = list(dict.fromkeys(family for family, _ in recipe["perturbations"]))
        return super().of({**recipe, "families": families}, facts)

    def refuse(self, scope: Scope) -> None:
        """Refuse families that change more than order and ranking."""
        from shuffleproof.core.studies.kinds.card import study as card  # noqa: PLC0415 (only who asks pays for it)

        del scope
        card.check(self.families)
