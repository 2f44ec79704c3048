"""Users' perturbations: functions of one list, used like the families of the registry.

The name of a registered family, such as `rotate#r3f2a91c4`, has a letter for the changed input and
digits of its function. So stored results can be read where the function is not known.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Int64

from shuffleproof.core import user_code
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import DataError, UsageError
from shuffleproof.core.perturb.base import Change, NeedsData
from shuffleproof.core.perturb.entry import INFINITE, PerturbationEntry
from shuffleproof.core.perturb.feasibility import any_level
from shuffleproof.core.perturb.ranking import ORDER, RANKING, check_ranked, rearranged
from shuffleproof.core.perturb.sets import SET, restrict

CHANGES: Mapping[str, frozenset[Change]] = {"order": ORDER, "ranking": RANKING, "set": SET}
"""What a function of user code can change: the input order, the rankings, or which stay."""

GIVEN = ("features", "labels")
"""What a function is given beside ranks, generator and level, where it has such a parameter."""

_LETTERS = {changes[0]: changes for changes in CHANGES}
_FULL = re.compile(
    rf"[\w-]+{user_code.MARK}(?P<letter>[{''.join(_LETTERS)}])\w{{{user_code.DIGITS}}}"
)
UNIT, SOURCE = "level", "user code"


@user_code.decorating
def perturbation(  # noqa: PLR0913 (each argument is one fact of a family)
    name: str,
    function: Callable[..., Any],
    *,
    changes: str = "order",
    levels: Sequence[int | float] = (0.0, 1.0),
    unit: str = UNIT,
    summary: str = "",
    high: int | float = INFINITE,
    whole: bool = False,
    random: bool = True,
    version: str = "1",
) -> Any:
    """Register a user's perturbation, so that every study of perturbations accepts it.

    The function is called once a list. It gets the ranks of the documents (int64, from 0; in input
    order, or best first if it changes the ranking), a NumPy generator and the level. It returns
    indexes into them: a permutation, or with `changes="set"` those that stay. Parameters `features`
    and `labels` are those of the same documents. Level 0 is the unchanged lists, without a call.
    Chance must come from the generator, so that all rankers see the same.

    Its key follows from its source text, its default and closure values, and `version`. Registered
    again under the same name, it is replaced. Only this process knows it; stored results can be
    read everywhere.

    Args:
        name: letters, digits, `_` and `-`; by default the function's own name.
        function: of one list; left out where `perturbation` is written above a function.
        changes: `order` (the input order alone), `ranking` (every initial ranking, and the order
            shown with it) or `set` (documents leave). It brings none in any case.
        levels: of a study that names none; 0 is added.
        unit: what a level counts.
        summary: a sentence; by default the first line of the function's docstring.
        high: the greatest level.
        whole: levels are whole numbers.
        random: whether chance has a say; else one draw is made.
        version: to be changed with what the source only names: helpers and globals of its module.

    Returns:
        The function, unchanged, or a decorator.

    Raises:
        UsageError: a built-in name or one that cannot be written, an unknown kind of change, or a
            function that needs other values.

    >>> @perturbation(changes="ranking", levels=(1, 5), unit="places")
    ... def rotate(ranks, generator, level):
    ...     "The first documents go to the end."
    ...     return np.roll(ranks, -int(level))
    >>> user_entry("rotate").default_levels, sorted(user_entry("rotate").changes)
    ((0.0, 1.0, 5.0), ['order', 'ranking'])
    """
    name = name or function.__name__
    needed, names = user_code.parameters_of(function)
    extras = tuple(parameter for parameter in GIVEN if parameter in names)
    if changes not in CHANGES:
        raise UsageError(
            f"perturbation {name} changes {changes!r}: say one of {', '.join(CHANGES)}"
        )
    if not callable(function) or not 0 <= needed - 3 <= len(extras):
        raise UsageError(
            f"perturbation {name}: it must be a function of one list, as in "
            "`def rotate(ranks, generator, level): …`; it may also take `features` and `labels`"
        )
    digest = user_code.digest_of(name, function, version)
    text = summary or (getattr(function, "__doc__", None) or "").strip().partition("\n")[0]
    full = f"{name}{user_code.MARK}{changes[0]}{digest[: user_code.DIGITS]}"
    entry = replace(
        _entry(full, changes, text or "a function of one list", function, extras),
        unit=unit,
        high=high,
        default_levels=tuple(sorted({0.0, *map(float, levels)})),
        whole=whole,
        random=random,
    )
    # Refuse bad levels now, not in the middle of a study
    for level in entry.default_levels:
        entry.at(level)
    user_code.register("perturbation", name, full, entry, _builtin_families())
    return function


def _builtin_families() -> Mapping[str, Any]:
    from shuffleproof.core.perturb.registry import PERTURBATIONS  # noqa: PLC0415 (which reads this)

    return PERTURBATIONS


def user_entry(family: str) -> PerturbationEntry | None:
    """Registry entry of a family of user code; None: it is none.

    One that is not registered here has its name, what it changes, and a level without end.

    >>> entry = user_entry("gone#s00000000")
    >>> sorted(entry.changes), entry.summary
    (['set'], 'a function that is not registered here')
    """
    registration = user_code.registered_code("perturbation", family)
    if registration is not None:
        entry: PerturbationEntry = registration.thing
        return entry
    match = _FULL.fullmatch(family)
    if match is None:
        return None
    return _entry(family, _LETTERS[match["letter"]], "a function that is not registered here")


def _entry(
    family: str,
    changes: str,
    summary: str,
    function: Callable[..., Any] | None = None,
    given: tuple[str, ...] = (),
) -> PerturbationEntry:
    return PerturbationEntry(
        family, summary, SOURCE, UNIT, 0.0, INFINITE, (0.0, 1.0),
        lambda level: UserPerturbation(family, level, changes, function, given),
        brings=False, reach=any_level,
    )  # fmt: skip


@dataclass(frozen=True)
class UserPerturbation(NeedsData):
    """A function of user code at a level.

    Attributes:
        family: its name with its letter and digits.
        level: 0 leaves the lists as they are.
        kind: what it changes, one of CHANGES.
        function: of one list; None: it is not registered here.
        given: which of GIVEN it takes.
    """

    family: str
    level: float
    kind: str
    function: Callable[..., Any] | None = field(default=None, repr=False)
    given: tuple[str, ...] = ()

    @property
    def changes(self) -> frozenset[Change]:
        """Parts of the input that change."""
        return CHANGES[self.kind]

    def perturb(self, judged: JudgedLists, generator: np.random.Generator) -> JudgedLists:
        """The lists as the function has them.

        Raises:
            UsageError: the function is not registered here, or a ranking is to be changed where
                there is none.
            DataError: it failed, or returned no permutation, or nothing that stays.
        """
        lists = judged.lists
        if self.kind == "ranking":
            check_ranked(self, lists)
        if self.level == 0:
            return judged
        if self.function is None:
            raise user_code.missing_code("perturbation", self.family)
        if self.kind == "ranking":

            def column(holders: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
                places = [np.arange(length) for length in lists.lengths.tolist()]
                return self._indexes(judged, holders, places, generator), scores

            return JudgedLists(judged.dataset, rearranged(lists, column))
        every = np.arange(len(lists.rows))
        indexes = self._indexes(judged, every, _ranks(lists), generator)
        if self.kind == "set":
            stays = np.zeros(len(lists.rows), dtype=bool)
            stays[indexes] = True
            return JudgedLists(judged.dataset, restrict(lists, stays))
        return JudgedLists(judged.dataset, lists.shown_as(indexes))

    def _indexes(
        self,
        judged: JudgedLists,
        holders: Int64[np.ndarray, " candidates"],
        ranks: Sequence[np.ndarray],
        generator: np.random.Generator,
    ) -> Int64[np.ndarray, " chosen"]:
        """Checked indexes that the function returned for every list, counted over all lists."""
        # Called for each list, so that a function cannot mix lists
        lists, indexes = judged.lists, []
        for index, (low, high) in enumerate(pairwise(lists.offsets.tolist())):
            rows = lists.rows[holders[low:high]]
            query = judged.dataset.query_ids[lists.queries[index]]
            if low < high:
                answer = self._answer(judged, rows, ranks[index], generator, query)
                indexes.append(low + answer)
        return np.concatenate([np.zeros(0, dtype=np.int64), *indexes])

    def _answer(
        self,
        judged: JudgedLists,
        rows: np.ndarray,
        ranks: np.ndarray,
        generator: np.random.Generator,
        query: str,
    ) -> Int64[np.ndarray, " chosen"]:
        place, size = f"{self}, query {query}", len(rows)
        columns = {"features": judged.dataset.features, "labels": judged.dataset.labels}
        arguments = {name: columns[name][rows] for name in self.given}
        # A whole level is an int, because functions slice and roll by it
        level = int(self.level) if float(self.level).is_integer() else self.level
        try:
            answer = self.function(ranks.astype(np.int64), generator, level, **arguments)  # type: ignore[misc]
            indexes = np.asarray(answer)
        except Exception as error:  # whatever a user's function does
            finding = f"the function failed: {user_code.failure(error)}"
            raise DataError(
                place, finding, "Correct it; it returns indexes of documents."
            ) from error
        # Integer type first: `np.unique` of objects would fail with a foreign message
        whole = indexes.ndim == 1 and np.issubdtype(indexes.dtype, np.integer)
        single = whole and len(np.unique(indexes)) == len(indexes)
        inside = single and bool(np.isin(indexes, np.arange(size)).all())
        if inside and (len(indexes) == size if self.kind != "set" else len(indexes)):
            return indexes.astype(np.int64)
        finding = "it returned nothing" if answer is None else f"it returned {_text_of(indexes)}"
        due = f"each of 0 … {size - 1} once"
        if self.kind == "set":
            due = f"one or more of 0 … {size - 1}, each once: the documents that stay"
        raise DataError(place, finding, f"Return {due}.")


def _ranks(lists: CandidateLists) -> list[np.ndarray]:
    """The ranks of each list under its first initial ranking; without one, the places shown."""
    bounds = pairwise(lists.offsets.tolist())
    if lists.rankings:
        return [lists.ranks[low:high, 0] for low, high in bounds]
    return [np.arange(high - low) for low, high in bounds]


def _text_of(indexes: np.ndarray) -> str:
    if indexes.ndim != 1 or len(indexes) > 12:
        return f"{indexes.dtype} of shape {indexes.shape}"
    return str(indexes.tolist())
