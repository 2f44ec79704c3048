"""The job that asks rankers for the weights of every test list."""

from collections.abc import Sequence

from core.store.artefacts import Store
from core.studies.jobs_opened import Lists, Reports, answer, opened


def attention(  # noqa: PLR0913 (a job's parameters are its keywords)
    store: Store,
    *,
    data: str,
    rankers: Sequence[str],
    queries: int | None = None,
    dead_below: float = 0.1,
    lists: Lists = None,
    preset: str | None = None,
    pinned: str | None = None,
) -> Reports:
    """What every head looks at; result: artefact.

    Args:
        store: where everything is kept.
        data: a stored name or `sample`.
        rankers: SetRanks and DLCMs.
        queries: only the first so many test queries.
        dead_below: a point that gets less than this times its fair share is dead.
        lists: fields of ListRecipe that differ from its default.
        preset: preset of rankers named without one.
        pinned: the data set's key, which `submit` finds from its name.
    """
    from core.studies import attention as study  # noqa: PLC0415 (only who works pays for it)

    bench = yield from opened(store, data, lists, preset, pinned)
    return answer((yield from study.run(bench, rankers, queries, dead_below)))
