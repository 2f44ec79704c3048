"""The jobs that disturb inputs, and that search for the worst order."""

from collections.abc import Mapping, Sequence
from typing import Any

from core.store.artefacts import Store
from core.studies.jobs_opened import Lists, Reports, answer, opened


def perturbations(  # noqa: PLR0913 (a job's parameters are its keywords)
    store: Store,
    *,
    data: str,
    rankers: Sequence[str],
    perturbations: Sequence[Sequence[Any]],
    measures: Sequence[str] = ("NDCG@10",),
    draws: int = 5,
    seed: int = 0,
    lists: Lists = None,
    preset: str | None = None,
    pinned: str | None = None,
) -> Reports:
    """Anything that may happen to an input; result: artefact.

    Args:
        store: where everything is kept.
        data: a stored name or `sample`.
        rankers: as `Workbench.identified` takes them.
        perturbations: (family, level) pairs; a family may be a chain or an attack.
        measures: as text.
        draws: of each level.
        seed: of the draws.
        lists: fields of ListRecipe that differ from its default.
        preset: preset of rankers named without one.
        pinned: the data set's key, which `submit` finds from its name.
    """
    from core.studies import perturbations as study  # noqa: PLC0415 (only who works pays for it)

    bench = yield from opened(store, data, lists, preset, pinned)
    pairs = [(family, float(level)) for family, level in perturbations]
    setup = study.Setup(pairs, tuple(measures), draws, seed)
    return answer((yield from study.run(bench, rankers, setup)))


def worst_case(  # noqa: PLR0913 (a job's parameters are its keywords)
    store: Store,
    *,
    data: str,
    rankers: Sequence[str],
    search: Mapping[str, Any] | None = None,
    budgets: Sequence[int] = (1, 2, 5, 10),
    target: str = "ranking",
    measures: Sequence[str] = ("NDCG@10",),
    draws: int = 10,
    seed: int = 0,
    queries: int | None = None,
    lists: Lists = None,
    preset: str | None = None,
    pinned: str | None = None,
) -> Reports:
    """The order that hurts most; result: artefact.

    Args:
        store: where everything is kept.
        data: a stored name or `sample`.
        rankers: as `Workbench.identified` takes them.
        search: fields of `core.perturb.worst_case.Search` that differ from its default.
        budgets: numbers of steps.
        target: what is rearranged: `ranking` or `shown`.
        measures: one, which is hurt.
        draws: random orders a budget.
        seed: of everything drawn.
        queries: only the first so many test queries.
        lists: fields of ListRecipe that differ from its default.
        preset: preset of rankers named without one.
        pinned: the data set's key, which `submit` finds from its name.
    """
    from core.perturb.worst_case import Search  # noqa: PLC0415 (only who works pays for it)
    from core.studies import worst_case as study  # noqa: PLC0415 (likewise)

    bench = yield from opened(store, data, lists, preset, pinned)
    (measure,) = measures
    work = study.run(
        bench,
        rankers,
        Search(**(search or {})),
        budgets=budgets,
        target=target,
        measure=measure,
        draws=draws,
        seed=seed,
        queries=queries,
    )
    return answer((yield from work))
