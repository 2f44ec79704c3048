"""Stored rankers by what is printed of them: a key, some of its digits, a name given to it."""

import re
from typing import Any

from shuffleproof.core.rankers.registry import RANKERS
from shuffleproof.core.store.artefacts import Store

DIGITS = 12
"""Of a stored ranker's key, in its name."""

_KEY = re.compile(r"(?:ranker-)?[0-9a-f]{6,64}")


def stored_name(names: Any, store: Store) -> Any:
    """A name, or several, with `name#digits` for what is another name of a stored ranker.

    Args:
        names: of rankers; None: none is named.
        store: where they lie.

    Raises:
        ArtefactError: a key that is not there, or digits of several.
    """
    if isinstance(names, tuple):
        return tuple(stored_name(name, store) for name in names)
    if not isinstance(names, str) or names in RANKERS:
        return names
    key = store.names().get(names)
    if (key is None or key.kind != "ranker") and not _KEY.fullmatch(names):
        return names
    artefact = store.resolve(names, "ranker")
    recipe = artefact.recipe.get("ranker", {})
    name = recipe.get("name") or artefact.facts.get("name")
    return f"{name}#{artefact.key.digest[:DIGITS]}"
