"""Which lists a row of a benchmark needs, known before anything is trained.

A row that reads more initial rankings than the lists carry (setrank-imsab-multi-init: four) has
lists of its own: the same candidates in the same order, with LambdaMART, MART, RankSVM and
RankBoost as further columns, as in the paper's Table 4. All other rows keep the lists as they are.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from shuffleproof.core.errors import UsageError
from shuffleproof.core.progress import Progress, saying
from shuffleproof.core.rankers.initial import prepare
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.rankers.preset_digests import marked
from shuffleproof.core.studies.kinds.benchmark.rows import Row
from shuffleproof.core.studies.kinds.multi_ranking.study import FOUR
from shuffleproof.core.studies.workbench import Workbench
from shuffleproof.core.words import counted

WIDER = "initial"
"""In a row's recipe: the initial rankings of its lists, where they are more than the others'."""


def fitted(rows: Sequence[Row], benches: Sequence[Workbench]) -> tuple[Row, ...]:
    """The rows, each with the initial rankings that its lists must have beyond the others'.

    Args:
        rows: of a benchmark.
        benches: one a fold, their lists made alike.

    Raises:
        UsageError: lists longer than a row's ordinals, or a feature that the data has not.
    """
    lists = [part.lists for bench in benches for part in _parts(bench)]
    check_lengths(rows, max((int(one.lengths.max(initial=0)) for one in lists), default=0))
    for bench in benches:
        check_features(rows, bench.fold.test.feature_ids)
    first = benches[0]
    return tuple(wider(row, first.recipe.initial, first.preset) for row in rows)


def wider(row: Row, initial: Sequence[str], preset: str) -> Row:
    """A row with the initial rankings of its lists, if these are not enough for it.

    Args:
        row: of a benchmark.
        initial: the lists' own initial rankers.
        preset: of those that are added.
    """
    needed, _ = limits(row.ranker)
    if needed <= len(initial):
        return row
    return replace(row, ranker={**row.ranker, WIDER: list(extended(initial, needed, preset))})


def extended(initial: Sequence[str], needed: int, preset: str) -> tuple[str, ...]:
    """So many initial rankings: those there are, then the paper's four that are not among them.

    >>> extended(["lambdamart@tuned"], 4, "small")
    ('lambdamart@tuned', 'mart@small', 'ranksvm@small', 'rankboost@small')

    Raises:
        UsageError: more are needed than that makes.
    """
    there = {RankerName.parse(name).base for name in initial}
    more = [marked(f"{name}@{preset}") for name in FOUR if name not in there]
    found = (*initial, *more)[:needed]
    if len(found) < needed:
        raise UsageError(f"a row reads {needed} initial rankings: name them with --initial")
    return found


def widened(bench: Workbench, row: Row) -> Generator[Progress, None, Workbench]:
    """The workbench whose lists a row is trained and scored on; its scores are kept in the store.

    Args:
        bench: of the fold.
        row: as `fitted` gives it.
    """
    initial = row.ranker.get(WIDER)
    if not initial:
        return bench
    recipe = replace(bench.recipe, initial=tuple(initial))
    making = saying(prepare(bench.fold, recipe, bench.store), f"for {row.label}")
    prepared = yield from making
    return replace(bench, recipe=recipe, prepared=prepared)


def limits(recipe: Mapping[str, Any]) -> tuple[int, int | None]:
    """How many initial rankings a row reads, and the longest list that it can score (None: any).

    Args:
        recipe: of the row.

    >>> limits({"members": [{"model": {"rankings": 4, "ordinals": 256}}, {"name": "mart"}]})
    (4, 256)
    """
    model = recipe.get("model", {})
    own = int(model.get("rankings", 0))
    found = [(own, int(model["ordinals"]) if own else None)]
    found += [limits(member) for member in recipe.get("members", ())]
    longest = [ordinals for _, ordinals in found if ordinals is not None]
    return max(rankings for rankings, _ in found), min(longest, default=None)


def check_lengths(rows: Iterable[Row], longest: int) -> None:
    """Refuse lists that a row has no ordinals for.

    Args:
        rows: of a benchmark.
        longest: candidates of the longest list.

    Raises:
        UsageError: they are longer than a row's table of ordinals.
    """
    most = {row.label: limits(row.ranker)[1] for row in rows}
    short = {label: own for label, own in most.items() if own is not None and own < longest}
    if short:
        verb = "reads" if len(short) == 1 else "read"
        raise UsageError(
            f"{', '.join(short)} {verb} ranks up to {min(short.values())}, and there are lists of "
            f"{counted(longest, 'candidate')}: cut them (--depth {min(short.values())}), or leave "
            f"{'it' if len(short) == 1 else 'them'} out"
        )


def check_features(rows: Iterable[Row], known: Sequence[int]) -> None:
    """Refuse `feature:<id>` of a feature that the data has not.

    Raises:
        UsageError: there is no such feature.
    """
    for row in rows:
        for leaf in RankerName.parse(row.label).leaves:
            if leaf.feature is not None and leaf.feature not in known:
                bounds = f"{min(known)} … {max(known)}" if known else "none"
                raise UsageError(
                    f"{leaf}: the data has no such feature; name one of its ids, {bounds}"
                )


def _parts(bench: Workbench) -> tuple[Any, ...]:
    return bench.prepared.train, bench.prepared.valid, bench.prepared.test
