"""The job that asks GSFs with groups of more and more shuffles."""

from collections.abc import Sequence

from core.store.artefacts import Store
from core.studies.jobs_opened import Lists, Reports, answer, opened


def group_shuffles(  # noqa: PLR0913 (a job's parameters are its keywords)
    store: Store,
    *,
    data: str,
    rankers: Sequence[str] = ("gsf",),
    shuffles: Sequence[int] = (1, 2, 4, 8, 16, 32, 64),
    orders: int = 8,
    seed: int = 0,
    queries: int | None = None,
    lists: Lists = None,
    preset: str | None = None,
    pinned: str | None = None,
) -> Reports:
    """GSF's equivariance error by the number of shuffles; result: artefact.

    Args:
        store: where everything is kept.
        data: a stored name or `sample`.
        rankers: GSFs of groups of two documents or more.
        shuffles: numbers S.
        orders: random orders shown that each list is scored in, beside its own.
        seed: of these orders.
        queries: only the first so many test queries.
        lists: fields of ListRecipe that differ from its default.
        preset: preset of rankers named without one.
        pinned: the data set's key, which `submit` finds from its name.
    """
    from core.studies import group_shuffles as study  # noqa: PLC0415 (only who works pays for it)

    study.check(shuffles, orders)
    bench = yield from opened(store, data, lists, preset, pinned)
    work = study.run(bench, rankers, shuffles=shuffles, orders=orders, seed=seed, queries=queries)
    return answer((yield from work))
