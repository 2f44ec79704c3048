"""Rankers made of rankers: whom they may be made of, and which of them are stored."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.ensemble.saved import FAMILY as ENSEMBLE
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.store.manifest import Artefact


def follows_the_order(name: str) -> bool:
    """Whether a ranker's answer depends on the order in which documents are shown.

    >>> follows_the_order("dlcm@small"), follows_the_order("setrank-imsab")
    (True, False)
    """
    ranker = RankerName.of(name).base
    return ranker in registry.RANKERS and "order" in registry.RANKERS[ranker].reads


def members(trained: Iterable[str], fitted: Sequence[str]) -> list[str]:
    """Whom a combination may be made of: what is trained first, then all that can be.

    Args:
        trained: rankers at a preset, as stored ones say it.
        fitted: the registry's names of what can be trained.

    >>> members(["dlcm@small"], ["mart", "dlcm"])[:2]
    ['dlcm@small', 'mart@paper']
    """
    every = [f"{name}@{preset}" for name in fitted for preset in registry.RANKERS[name].presets]
    return list(dict.fromkeys([name for name in trained if name in every] + every))


def made_of(artefacts: Iterable[Artefact], own: set[str]) -> list[dict[str, Any]]:
    """The stored combinations of some rankers, and combinations of combinations.

    Args:
        artefacts: of rankers.
        own: keys of the rankers.

    Returns:
        A row each, as the table of trained rankers has them; `lists` is empty, since members may
        differ in theirs.
    """
    rows = []
    made = [one for one in artefacts if one.recipe.get("family") == ENSEMBLE]
    for artefact in sorted(made, key=lambda one: one.created):
        if own.isdisjoint(artefact.facts["members"]):
            continue
        own = own | {str(artefact.key)}
        passes = artefact.facts["passes"]
        digits = " + ".join(member.rpartition("-")[2][:6] for member in artefact.facts["members"])
        rows.append(
            {
                "ranker": artefact.facts["name"],
                "recipe": f"{passes} scoring{'s' if passes != 1 else ''} a list, of {digits}",
                "lists": "",
                "valid": artefact.facts["valid"].get("NDCG@10"),
                "epochs": None,
                "seconds": None,
                "created": datetime.fromisoformat(artefact.created).astimezone(UTC),
                "key": str(artefact.key),
            }
        )
    return rows
