"""A combination from the store: its members trained or found first, then kept with them inside."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import UsageError
from shuffleproof.core.execution.machine import machine
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.rankers.combining import Combining, SubsetOptions
from shuffleproof.core.rankers.ensemble.rankers import combine
from shuffleproof.core.rankers.ensemble.saved import FAMILY
from shuffleproof.core.rankers.fit_cache import CachedRanker, quality
from shuffleproof.core.rankers.name import Kind, RankerName
from shuffleproof.core.rankers.neural.recipes import FIXED
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import key_of

TrainMember = Callable[[RankerName, Mapping[str, str]], Generator[Progress, None, CachedRanker]]


def member_changes(name: RankerName, options: Combining) -> dict[str, str]:
    """Fields in which a member's recipe differs from its preset.

    A network that scores sets of M documents learns from sets of M documents.
    """
    is_trained_here = name.kind is Kind.REGISTERED and name.base in FIXED
    if isinstance(options, SubsetOptions) and is_trained_here:
        return {"documents": str(options.size)}
    return {}


def options_of(
    name: RankerName, store: Store, changes: Mapping[str, str] | None = None
) -> Combining | None:
    """Options of a combination; None: no combination, or one stored as a whole.

    Digits at the end mean the whole where they are a combination's, else the last member.

    Raises:
        UsageError: a combination with fields to change: its name says everything.
        ArtefactError: nothing stored has these digits.
    """
    if name.options is None:
        return None
    if changes:
        raise UsageError(f"{name} takes no --set: train its members, then name them as name#digits")
    if not name.last_digits:
        return name.options
    stored = store.resolve(f"ranker-{name.last_digits}", "ranker")
    return None if stored.recipe.get("family") == FAMILY else name.options


def recipe_of(ranker: Ranker, options: Combining) -> dict[str, Any]:
    """The recipe that a combination is filed under, beside its members' digests."""
    return {
        "ranker": {"name": ranker.name, "kind": options.kind, **asdict(options)},
        "family": FAMILY,
    }


def combination(
    parts: Sequence[RankerName],
    options: Combining,
    trained: TrainMember,
    valid: JudgedLists,
    store: Store,
) -> Generator[Progress, None, CachedRanker]:
    """The ranker that a combination's name means; its key follows from its members' keys.

    Facts beside those of any ranker: `members`, their keys; `passes`, how many times a list is
    scored for one answer.

    Args:
        parts: members of the combination.
        options: of the combination.
        trained: gives a member by its name and the fields of its recipe that differ.
        valid: lists that its quality is measured on.
        store: its store.
    """
    members: list[CachedRanker] = []
    for name in parts:
        members += [(yield from trained(name, member_changes(name, options)))]
    ranker = combine([member.ranker for member in members], options)
    recipe = recipe_of(ranker, options)
    key = key_of("ranker", recipe, [member.artefact.key.digest for member in members])
    # Locked until stored: a second process waits and finds the ranker
    with store.found_or_locked(key) as stored:
        if stored is not None:
            return CachedRanker(stored, cached=True)
        facts = {
            "epochs": 0,
            "valid": quality(ranker, valid),
            "seconds": 0.0,
            "timed": 0,
            "machine": machine(),
            "name": ranker.name,
            "members": [str(member.artefact.key) for member in members],
            "passes": getattr(ranker, "passes", len(members)),
        }
        artefact = store.add(key, recipe, ranker.save, facts)
        return CachedRanker(artefact, cached=False, fitted=ranker)
