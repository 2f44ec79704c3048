"""The jobs that train many rankers and lay them side by side."""

from collections.abc import Sequence

from core.store.artefacts import Store
from core.studies.jobs_opened import Lists, Reports, answer, opened

TABLE = ("NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10")


def benchmark(  # noqa: PLR0913 (a job's parameters are its keywords)
    store: Store,
    *,
    data: str,
    rankers: Sequence[str] = ("table2",),
    seeds: int = 3,
    measures: Sequence[str] = TABLE,
    lists: Lists = None,
    preset: str | None = None,
    pinned: str | None = None,
) -> Reports:
    """Table 2; result: artefact.

    Args:
        store: where everything is kept.
        data: a stored name, the name of a set of folds, or `sample`.
        rankers: as `core.studies.benchmark.rows_of` takes them.
        seeds: of each ranker.
        measures: the columns.
        lists: fields of ListRecipe that differ from its default.
        preset: preset of rankers named without one.
        pinned: the folds' keys, which `submit` finds from the name.
    """
    from core.data.folds import folds_of  # noqa: PLC0415 (only who works pays for it)
    from core.studies import benchmark as table  # noqa: PLC0415 (likewise)

    names = folds_of(data, store)
    keys = pinned.split(",") if pinned else [None] * len(names)
    benches = []
    for name, key in zip(names, keys, strict=True):
        benches.append((yield from opened(store, name, lists, preset, key)))
    plan = table.planned(benches, rankers, measures, seeds)
    return answer((yield from table.run(benches, plan, data)))
