"""A combination from the store: its members trained or found first, then kept with them inside."""

import re
from collections.abc import Callable, Generator, Mapping
from dataclasses import asdict

from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import UsageError
from shuffleproof.core.execution.machine import machine
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.ensemble import Combination, combined, parse
from shuffleproof.core.rankers.ensemble_saved import FAMILY
from shuffleproof.core.rankers.kept import Kept, quality
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import key_of

_AT_THE_END = re.compile(r"[^#]*#([0-9a-f]+)")

Trained = Callable[[str], Generator[Progress, None, Kept]]


def combination_of(
    name: str, store: Store, changes: Mapping[str, str] | None = None
) -> Combination | None:
    """The combination that a name means; None: another ranker's name, or one stored as a whole.

    Digits at the end mean the whole where they are a combination's, else the last member.

    Raises:
        UsageError: a combination with fields to change: its name says everything.
        ArtefactError: nothing stored has these digits.
    """
    made = parse(name)
    if made is None:
        return None
    if changes:
        raise UsageError(f"{name} takes no --set: train its members, then name them as name#digits")
    digits = _AT_THE_END.fullmatch(name)
    if digits is None:
        return made
    stored = store.resolve(f"ranker-{digits[1]}", "ranker")
    return None if stored.recipe.get("family") == FAMILY else made


def combination(
    made: Combination, trained: Trained, valid: JudgedLists, store: Store
) -> Generator[Progress, None, Kept]:
    """The ranker that a combination's name means; its key follows from its members' keys.

    Facts beside those of any ranker: `members`, their keys; `passes`, how many times a list is
    scored for one answer.

    Args:
        made: the name, taken apart.
        trained: gives a member by its name.
        valid: lists that its quality is measured on.
        store: where it is kept.
    """
    members: list[Kept] = []
    for name in made.members:
        members += [(yield from trained(name))]
    ranker = combined(made.kind, [member.ranker for member in members], made.options)
    recipe = {
        "ranker": {"name": ranker.name, "kind": made.kind, **asdict(made.options)},
        "family": FAMILY,
    }
    digests = [member.artefact.key.digest for member in members]
    key = key_of("ranker", recipe, digests)
    with store.lock(key):
        found = store.find(key)
        if found is not None:
            return Kept(registry.load(found.path), found, cached=True)
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
        return Kept(ranker, store.add(key, recipe, ranker.save, facts), cached=False)
