"""Canonical names of the values in a question, as in keys and stored results.

Blanks and case are ignored; objects of user code are registered and represented by their names.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any

from shuffleproof.core.errors import ParameterError, UsageError
from shuffleproof.core.experiment.ranker_sets import NAMED as SETS
from shuffleproof.core.experiment.ranker_sets import expand
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.parameters import choice_named
from shuffleproof.core.perturb.names import refuse_unknown as refuse_families
from shuffleproof.core.perturb.names import stored_family
from shuffleproof.core.rankers.name import RankerName, parse_forgiving
from shuffleproof.core.rankers.registry import RANKERS
from shuffleproof.core.rankers.registry import refuse_unknown as refuse_ranker
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.manifest import Artefact

DIGITS = 12
"""Number of digits of a stored ranker's key in its name."""

RANKER_KEY = re.compile(r"(?:ranker-)?[0-9a-f]{6,64}")


def of(names: str | None, value: Any) -> Any:
    """Value of a field, with names instead of objects.

    Args:
        names: kind of its names, as `parameter` declares it; None: no names.
        value: from the caller, lists as tuples.

    Raises:
        UsageError: two rankers of one name, or an object of the wrong kind.

    >>> of("rankers", ("dlcm", "mart")), of(None, 3)
    (('dlcm', 'mart'), 3)
    """
    name_of = NAMED.get(names or "")
    if name_of is None or value is None:
        return value
    if not isinstance(value, tuple):
        return name_of(value)
    texts = tuple(map(name_of, value))
    if names == "rankers":
        _check_distinct(value, texts)
    return texts


def _check_distinct(values: tuple[Any, ...], names: tuple[str, ...]) -> None:
    rankers: dict[str, Any] = {}
    for ranker, name in zip(values, names, strict=True):
        if not isinstance(ranker, str) and rankers.setdefault(name, ranker) is not ranker:
            raise UsageError(
                f"two rankers have the name {name}: register each under its own name, "
                "as in shuffleproof.ranker('mine', …)"
            )


def refuse_unknown(names: str, given: Iterable[Any], preset: str) -> None:
    """Refuse unknown rankers, measures and families, before anything is loaded.

    Args:
        names: kind of the names: `Parameter.names`.
        given: the names.
        preset: of rankers named without one.

    Raises:
        UnknownNameError: no such ranker, preset, measure or family.
    """
    if names == "measures":
        for measure in given:
            Measure.parse(measure)
    if names == "families":
        refuse_families(given)
    if names == "rankers":
        for name in expand(list(given)).values():
            for leaf in name.leaves:
                refuse_ranker(leaf, preset)


def ranker_name(text: str) -> str:
    """Name of a ranker, or of a set of rankers, from user input.

    >>> ranker_name(" Table2 "), ranker_name("SetRank MSAB"), ranker_name("RRF-60: DLCM + mart")
    ('table2', 'setrank-msab', 'rrf:dlcm+mart')
    """
    small = text.strip().casefold()
    return small if small in SETS else str(RankerName.of(parse_forgiving(text)))


def row_name(text: str, rows: Iterable[str]) -> str:
    """Row of a table that a text means, which may be a ranker or a run.

    >>> row_name("bm25", ["BM25", "dlcm"]), row_name("DLCM", ["BM25", "dlcm"])
    ('BM25', 'dlcm')
    """
    names = list(rows)
    match = choice_named(names, text)
    return match if match in names else ranker_name(text)


def stored_name(names: Any, store: Store) -> Any:
    """Name, or several, with `name#digits` instead of other names of a stored ranker.

    Args:
        names: of rankers, or None.
        store: of the rankers.

    Raises:
        ArtefactError: an unknown key, or ambiguous digits.
    """
    if isinstance(names, tuple):
        return tuple(stored_name(name, store) for name in names)
    if not isinstance(names, str) or names in RANKERS:
        return names
    key = store.names().get(names)
    if (key is None or key.kind != "ranker") and not RANKER_KEY.fullmatch(names):
        return names
    return ranker_label(store.resolve(names, "ranker"))


def key_or_name(text: str, store: Store) -> str:
    """Name as stores read it: the start of a key for `name#digits` of a stored ranker."""
    name = RankerName.of(text)
    if not name.digits or text in store.names():
        return text
    start = f"ranker-{name.digits}"
    found = store.resolve(start, "ranker")
    return start if ranker_label(found).startswith(text) else text


def ranker_label(artefact: Artefact) -> str:
    """Name of a stored ranker in commands: `name#digits`."""
    recipe = artefact.recipe.get("ranker", {})
    name = recipe.get("name") or artefact.facts.get("name")
    return f"{name}#{artefact.key.digest[:DIGITS]}"


def _name_of_ranker(ranker: Any) -> str:
    if isinstance(ranker, str):
        return ranker_name(ranker)
    from shuffleproof.core.rankers.fit_cache import CachedRanker  # noqa: PLC0415 (only who brings objects pays for it)
    from shuffleproof.core.rankers.outside import user_rankers  # noqa: PLC0415 (likewise)

    if isinstance(ranker, CachedRanker):
        return ranker.stored_name
    return user_rankers.name_of(ranker)


def _name_of_measure(measure: Any) -> str:
    if isinstance(measure, str):
        try:
            return str(Measure.parse(measure))
        except UsageError:  # the question's own check reports it
            return measure
    from shuffleproof.core.metrics import user_measures  # noqa: PLC0415 (likewise)

    if isinstance(measure, Measure):
        return str(measure)
    if not isinstance(measure, FunctionType):
        finding = f"a {type(measure).__name__}"
        raise ParameterError(
            "measures", finding, "a name such as 'NDCG@10', a Measure or a function"
        )
    user_measures.measure(measure)
    return measure.__name__


def _pair(pair: tuple[str, float]) -> tuple[str, float]:
    return stored_family(pair[0]), pair[1]


NAMED: Mapping[str, Callable[[Any], Any]] = {
    "rankers": _name_of_ranker,
    "measures": _name_of_measure,
    "families": stored_family,
    "perturbations": _pair,
}
