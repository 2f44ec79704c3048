"""Recipes behind the names of initial rankers: a preset may change, its name does not.

Lists name their initial rankers as `name@preset`, and keys are made from these names. As long as
a preset's recipe has the digest that it has in this table, the name alone says it. Where a preset
was changed since, `name@preset~digest` says which recipe is meant, so keys differ from those of
before, and results of the earlier recipe are marked as stale.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace

from shuffleproof.core.errors import ShuffleproofError, UsageError
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.base import RankerSpec
from shuffleproof.core.rankers.name import PRESETS, RankerName
from shuffleproof.core.store.keys import canonical_json

DIGITS = 12

FIRST: Mapping[str, tuple[str, str, str, str]] = {
    "setrank-msab": ("bec00c8e315f", "dc9698546984", "74b4a8001593", "b392435035ee"),
    "setrank-imsab": ("4ca4de1eb8b6", "02714846dcba", "f8b7baa8302d", "7aa1b39b1cd2"),
    "ranknet": ("69fd048ed559", "4835f9130e0a", "9d7f002ac603", "2a1df4167db8"),
    "lambdarank": ("d5b6c15be915", "c4a4d2e2a4d2", "bc49535a1984", "5f6463500abd"),
    "frank": ("625d706be115", "8cf75eba5868", "e63f81b8ca48", "59b788894e12"),
    "listnet": ("bd1db0c96243", "162f6a95d3f8", "334b4454d16d", "6d9cf226b0e8"),
    "mlp": ("3498759be102", "b517b36719a3", "36022182219f", "c3df5237822a"),
    "lambdamart": ("5c5cdc09102c", "5c5cdc09102c", "a6f04e5fac49", "834413400c1c"),
    "mart": ("df78c8ac60bf", "df78c8ac60bf", "04e747c7298d", "83123a3ba7fa"),
    "ranksvm": ("f3bf6b69b267", "f3bf6b69b267", "9516bf3a88e6", "da58aabbcc5a"),
    "irsvm": ("f0230940d212", "f0230940d212", "8866c7fe14d2", "bed85c0a545a"),
    "rankboost": ("8a3ebe8b30fb", "8a3ebe8b30fb", "a9a22d5d15fc", "2a78a4b50fda"),
    "frank-additive": ("6c3d11a8c7d1", "6c3d11a8c7d1", "908837ed1c98", "c570bc36cfc8"),
}  # fmt: skip
"""Digests of the recipes that lists were made with while their names alone stood in keys, by
ranker and in the order of PRESETS. Never edited: a changed preset gets its mark by itself."""


def with_digest(name: RankerName) -> RankerName:
    """The name under which lists are made today: with its recipe's digest where that changed.

    Raises:
        UnknownNameError: no such ranker or preset.
    """
    if name.revision:
        return name
    spec = registry.spec_of(name)
    if not registry.entry(name.base).learns:
        return name
    digest = digest_of(spec)
    return name if digest == _first_digest(name) else replace(name, revision=digest)


def check(name: RankerName, spec: RankerSpec) -> None:
    """Refuse a name that means another recipe than the one that its preset is today.

    Args:
        name: of a registered ranker, with or without preset and digest.
        spec: what the preset is today.

    Raises:
        UsageError: the preset was changed since lists were made under this name.
    """
    if not registry.entry(name.base).learns:
        return
    digest = digest_of(spec)
    # A name without revision means the recipe that the preset had at first
    if (name.revision or _first_digest(name) or digest) != digest:
        raise UsageError(
            f"{replace(name, revision='')} is another recipe today than when lists were made by "
            f"{name}: these lists cannot be made again. Run the study again, or train the ranker "
            "on today's lists"
        )


def stale(initial: Iterable[str]) -> str:
    """Initial rankers whose preset has changed since, as a reason; empty: none."""
    changed = [text for text in initial if _is_stale(text)]
    if not changed:
        return ""
    return f"made on lists by {', '.join(changed)}, which is another recipe today"


def digest_of(spec: RankerSpec) -> str:
    """The digest of a recipe, as names carry it."""
    return hashlib.sha256(canonical_json(spec.recipe()).encode()).hexdigest()[:DIGITS]


def _is_stale(text: str) -> bool:
    name = RankerName.of(text)
    try:
        check(name, registry.spec_of(name))
    except ShuffleproofError:  # an unknown name too: no lists of today come from it
        return True
    return False


def _first_digest(name: RankerName) -> str:
    digests = dict(zip(PRESETS, FIRST.get(name.base, ()), strict=False))
    return digests.get(name.preset or "paper", "")
