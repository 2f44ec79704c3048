"""Cached doors to stored ablations: every answer by the study's content key."""

from shuffleproof.app.opened import day, door
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.ablation import sections
from shuffleproof.core.studies.kinds.ablation.question import Ablation
from shuffleproof.core.words import counted

KIND = Ablation.kind


def short_words(artefact: Artefact) -> str:
    """What tells a stored ablation from others in a narrow place."""
    return f"{day(artefact)} · {artefact.facts['ranker']}"


def words(artefact: Artefact) -> str:
    """A stored ablation in a line: how many variants, at which sizes, how disturbed."""
    recipe, facts = artefact.recipe, artefact.facts
    levels = ", ".join(f"{level:g}" for _, level in recipe["perturbations"])
    sizes = f"sizes of {facts['sizes']}" if facts.get("sizes") else "each its own size"
    return (
        f"{counted(len(recipe['rankers']), 'variant')} · {sizes} · {levels} transpositions, "
        f"{counted(recipe['draws'], 'draw')} · on {', '.join(recipe['initial'])}"
    )


table = door(sections.table)
"""What every variant does to quality, to robustness and to cost."""

finding = door(sections.finding)
"""What the numbers amount to, in words."""

by_query = door(sections.by_query)
"""A variant beside the first one, query by query, the greatest gain first."""
