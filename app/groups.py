"""Cached doors to stored studies of GSF's shuffles: every answer by the study's content key."""

from shuffleproof.app.opened import day, door
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.group_shuffles import sections
from shuffleproof.core.studies.kinds.group_shuffles.question import GroupShuffles
from shuffleproof.core.words import counted

KIND = GroupShuffles.kind


def rankers(artefact: Artefact) -> list[str]:
    """The labels of a study's rankers."""
    return [str(label) for label, _ in artefact.recipe["rankers"]]


def short_words(artefact: Artefact) -> str:
    """What tells a stored study from others in a narrow place."""
    return f"{day(artefact)} · {', '.join(rankers(artefact))}"


def words(artefact: Artefact) -> str:
    """A stored study in a line: how many queries, orders and shuffles."""
    recipe = artefact.recipe
    return (
        f"{counted(artefact.facts['queries'], 'query')} · "
        f"{counted(recipe['orders'], 'order')} shown · S = "
        f"{', '.join(map(str, recipe['shuffles']))} · lists by {', '.join(recipe['initial'])}"
    )


table = door(sections.table)
"""The error by the number of shuffles, of every ranker."""

reference = door(sections.reference)
"""Under how many shuffles the deviation is taken that errors are given in."""

finding = door(sections.finding)
"""What the numbers of a ranker amount to, in words."""
