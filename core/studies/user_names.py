"""What a question was given, as the names that keys and stored results hold.

Blanks and case are forgiven; objects of user code are registered and known by their names.
"""

from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any

from shuffleproof.core import user_code
from shuffleproof.core.errors import ParameterError, UsageError
from shuffleproof.core.experiment.ranker_sets import NAMED as SETS
from shuffleproof.core.experiment.ranker_sets import expanded
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.parameters import chosen
from shuffleproof.core.perturb.names import refuse_unknown as refuse_families
from shuffleproof.core.rankers.name import RankerName, forgiven
from shuffleproof.core.rankers.registry import refuse_unknown as refuse_ranker


def of(names: str | None, value: Any) -> Any:
    """A field's value with names alone.

    Args:
        names: what its texts are names of, as `parameter` declares it; None: of nothing.
        value: as given, lists as tuples.

    Raises:
        UsageError: two rankers by one name, or an object that is nothing of that kind.

    >>> of("rankers", ("dlcm", "mart")), of(None, 3)
    (('dlcm', 'mart'), 3)
    """
    named = NAMED.get(names or "")
    if named is None or value is None:
        return value
    if not isinstance(value, tuple):
        return named(value)
    found = tuple(map(named, value))
    if names == "rankers":
        _check_distinct(value, found)
    return found


def _check_distinct(given: tuple[Any, ...], names: tuple[str, ...]) -> None:
    things: dict[str, Any] = {}
    for thing, name in zip(given, names, strict=True):
        if not isinstance(thing, str) and things.setdefault(name, thing) is not thing:
            raise UsageError(
                f"two rankers would both be called {name}: register each under a name of its own, "
                "as in shuffleproof.ranker('mine', …)"
            )


def refuse_unknown(names: str, given: Iterable[Any], preset: str) -> None:
    """Refuse rankers, measures and families that nothing is called, before anything is loaded.

    Args:
        names: what is named: `Parameter.names`.
        given: the names.
        preset: of rankers named without one.

    Raises:
        UnknownNameError: no such ranker, preset, measure or family.
    """
    if names == "measures":
        for one in given:
            Measure.parse(one)
    if names == "families":
        refuse_families(given)
    if names == "rankers":
        for one in expanded(list(given)):
            for leaf in RankerName.parse(one).leaves:
                refuse_ranker(leaf, preset)


def ranker_name(text: str) -> str:
    """The name of a ranker, or of a set of them, from how people write it.

    >>> ranker_name(" Table2 "), ranker_name("SetRank MSAB")
    ('table2', 'setrank-msab')
    """
    small = text.strip().casefold()
    return small if small in SETS else forgiven(text)


def row_name(text: str, rows: Iterable[str]) -> str:
    """The row of a table that a text means, which may be a ranker or a run.

    >>> row_name("bm25", ["BM25", "dlcm"]), row_name("DLCM", ["BM25", "dlcm"])
    ('BM25', 'dlcm')
    """
    names = list(rows)
    found = chosen(names, text)
    return found if found in names else ranker_name(text)


def _ranker(thing: Any) -> str:
    if isinstance(thing, str):
        return ranker_name(thing)
    from shuffleproof.core.rankers.fit_cache import CachedRanker  # noqa: PLC0415 (only who brings objects pays for it)
    from shuffleproof.core.rankers.outside import user_rankers  # noqa: PLC0415 (likewise)

    if isinstance(thing, CachedRanker):
        return thing.called
    return user_rankers.named(thing)


def _measure(thing: Any) -> str:
    if isinstance(thing, str):
        try:
            return str(Measure.parse(thing))
        except UsageError:  # which the question's own check tells
            return thing
    from shuffleproof.core.metrics import user_measures  # noqa: PLC0415 (likewise)

    if isinstance(thing, Measure):
        return str(thing)
    if not isinstance(thing, FunctionType):
        found = f"a {type(thing).__name__}"
        raise ParameterError("measures", found, "a name such as 'NDCG@10', a Measure or a function")
    user_measures.measure(thing)
    return thing.__name__


def _pair(pair: tuple[str, float]) -> tuple[str, float]:
    return user_code.full_family(pair[0]), pair[1]


NAMED: Mapping[str, Callable[[Any], Any]] = {
    "rankers": _ranker,
    "measures": _measure,
    "families": user_code.full_family,
    "perturbations": _pair,
}
