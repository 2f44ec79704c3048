"""Names in a study's question, checked before any work.

This module loads no code that runs studies, so that a misspelt name is reported at once.
"""

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.machinery import PathFinder
from pathlib import Path
from urllib.parse import urlsplit

from shuffleproof.core.errors import DataError, UsageError, no_file
from shuffleproof.core.experiment.ranker_sets import expand
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.parameters import parts_of
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.name import Kind, RankerName
from shuffleproof.core.rankers.preset_digests import with_digest
from shuffleproof.core.store.artefacts import Store

OFFERED = "SHUFFLEPROOF_RERANKERS"
"""Environment variable with the addresses of other machines that pages may call."""

ORACLE, ANTI = "oracle", "anti-oracle"
"""Artificial initial rankings for any data: by the judgments, and reversed."""


@dataclass(frozen=True)
class Names:
    """Names in a study's question.

    Attributes:
        rankers: as in commands and jobs, including sets and combinations.
        changes: fields of a single ranker's recipe, as text.
        initial: initial rankers of its lists.
        measures: as text.
        families: of perturbations.
        perturbations: (family, level) pairs.
        swaps: rankings that replace another one.
        from_outside: True if files and functions of this machine are allowed.
    """

    rankers: Sequence[str] = ()
    changes: Mapping[str, str] = field(default_factory=dict)
    initial: Sequence[RankerName] = ()
    measures: Iterable[str] = ()
    families: Sequence[str] = ()
    perturbations: Sequence[tuple[str, int | float]] = ()
    swaps: Sequence[str] = ()
    from_outside: bool = False


def check(names: Names, preset: str, store: Store) -> None:
    """Refuse the first unknown name.

    Args:
        names: of the question.
        preset: of rankers named without one.
        store: of stored rankers (`name#digits`).

    Raises:
        UnknownNameError: no such ranker, preset, field, measure or family.
        UsageError: a name that cannot be an initial ranking.
        ParameterError: a level or a field out of its bounds.
        ArtefactError: no stored ranker of that name.
        DataError: no such file or module.
    """
    for measure in names.measures:
        Measure.parse(measure)
    families = [*names.families, *(family for family, _ in names.perturbations)]
    rankers = [*names.rankers, *(_attacked_rankers(names) if families else ())]
    for leaf in [leaf for name in expand(rankers).values() for leaf in name.leaves]:
        _check_ranker(leaf, preset, names, store)
    if names.initial:
        from shuffleproof.core.rankers.initial import initial_spec  # noqa: PLC0415 (which loads NumPy)

        for name in names.initial:
            initial_spec(with_digest(name))
    swaps_named(names.swaps, preset)


def _attacked_rankers(names: Names) -> Iterable[str]:
    """Attacked rankers; refuses unknown families and levels."""
    from shuffleproof.core.perturb.registry import attack_target, entry_of, perturbation  # noqa: PLC0415 (only who names one pays for it)

    for family in names.families:
        entry_of(family)
    for family, level in names.perturbations:
        perturbation(family, level)
    families = [*names.families, *(family for family, _ in names.perturbations)]
    return filter(None, map(attack_target, families))


def _check_ranker(name: RankerName, preset: str, names: Names, store: Store) -> None:
    if name.kind is Kind.CONFIG and not names.from_outside:
        raise UsageError(f"{name}: pages read no files of this machine; use the command line")
    if names.from_outside and name.kind is Kind.FILE:
        path = Path(name.path).expanduser()
        if not path.is_file():
            raise no_file(path)
    elif name.digits:
        store.resolve(f"ranker-{name.digits}", "ranker")
    elif names.from_outside and name.kind is Kind.OBJECT:
        from shuffleproof.core.rankers.outside import user_rankers  # noqa: PLC0415 (likewise)

        user_rankers.registered_ranker(name.head)
    elif names.from_outside and name.kind is Kind.FUNCTION:
        _check_module(name)
    elif name.kind is Kind.ENDPOINT:
        _check_endpoint(name, names)
    else:
        is_set = names.changes.keys() - {"seed"} and name.kind is Kind.REGISTERED
        if is_set and not registry.entry(name.base).learns:
            raise UsageError(f"{name} is not trained: it has no fields to set; leave out --set")
        registry.spec_of(name, preset, **names.changes)


def _check_endpoint(name: RankerName, names: Names) -> None:
    """Refuse an address that cannot be used, and on pages those of other machines.

    A visitor of the dashboard cannot make this machine call another one; its owner can allow names.
    """
    from shuffleproof.core.execution.http_client import LOOPBACK  # noqa: PLC0415 (only who names one pays for it)
    from shuffleproof.core.rankers.outside.apis import Target  # noqa: PLC0415 (likewise)

    address = Target.parse(name.head, name.path).address
    allowed = {str(RankerName.of(text)) for text in parts_of(os.environ.get(OFFERED, ""))}
    is_local = urlsplit(address).hostname in LOOPBACK
    if not (names.from_outside or is_local or str(name) in allowed):
        raise UsageError(
            f"{address} is on another machine, which pages do not call: name it in the variable "
            f"{OFFERED}, or use the command line"
        )


def _check_module(name: RankerName) -> None:
    """Refuse a function whose module does not exist, before lists are made for it to score."""
    module, function = name.head.rsplit(":", 1)
    module_spec = PathFinder.find_spec(module.partition(".")[0], ["", *sys.path])
    if module_spec is not None and not Path(module).is_file():
        return
    stem = Path(module).name.removesuffix(".py")
    if module in registry.RANKERS:
        remedy = f"A preset is written {module}@{function}."
    elif module.endswith(".py") or "/" in module:
        remedy = f"Write {stem}:{function}, in the folder that holds {stem}.py."
    else:
        remedy = f"Run from the folder that holds {stem}.py."
    raise DataError(str(name), f"there is no module {module}", remedy)


def swaps_named(swaps: Iterable[str], preset: str) -> list[str]:
    """Names of replacement rankings, with their presets, each once.

    Raises:
        UnknownNameError: no such ranker.
        UsageError: one that reads an initial ranking or the input order itself.

    >>> swaps_named(["ranksvm", "oracle", "rrf:mart+ranksvm"], "small")
    ['ranksvm@small', 'oracle', 'rrf:mart@small+ranksvm@small']
    """
    names = (_swap_at(RankerName.parse(swap), preset) for swap in swaps)
    return list(dict.fromkeys(map(str, names)))


def _swap_at(name: RankerName, preset: str) -> RankerName:
    if str(name) in {ORACLE, ANTI} or any(leaf.digits for leaf in name.leaves):
        return name
    if name.options is not None:
        return replace(name, parts=tuple(_swap_at(part, preset) for part in name.parts))
    from shuffleproof.core.rankers.initial import initial_spec  # noqa: PLC0415 (likewise)

    full = registry.at(name, preset)
    initial_spec(with_digest(full))
    return full
