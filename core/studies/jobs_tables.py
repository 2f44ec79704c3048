"""The jobs that train many rankers and lay them side by side."""

from collections.abc import Sequence
from dataclasses import replace

from core.store.artefacts import Store
from core.studies.jobs_opened import Lists, Reports, answer, opened, preset_of, recipe_of

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


def ablation(  # noqa: PLR0913 (a job's parameters are its keywords)
    store: Store,
    *,
    data: str,
    ranker: str = "setrank-imsab-init",
    sizes: str | None = None,
    towards: Sequence[str] = ("released", "tuned"),
    levels: Sequence[float] = (0.0, 5.0, 20.0),
    draws: int = 5,
    seed: int = 0,
    lists: Lists = None,
    preset: str | None = None,
    pinned: str | None = None,
) -> Reports:
    """Paper against released code, one difference at a time; result: artefact.

    Args:
        store: where everything is kept.
        data: a stored name or `sample`.
        ranker: a neural one.
        sizes: the preset whose sizes all variants take; None: their own.
        towards: the presets whose differences from `paper` are taken one at a time.
        levels: transpositions of the initial ranking.
        draws: of each level.
        seed: of the variants and of the draws.
        lists: fields of ListRecipe that differ from its default.
        preset: of the initial ranker, when it is named without one.
        pinned: the data set's key, which `submit` finds from its name.
    """
    from core.studies import ablation as study  # noqa: PLC0415 (only who works pays for it)

    made = study.variants(ranker, sizes, towards, seed)
    bench = yield from opened(store, data, lists, preset, pinned)
    return answer((yield from study.run(bench, made, levels, draws, seed)))


def set_size(  # noqa: PLR0913 (a job's parameters are its keywords)
    store: Store,
    *,
    data: str,
    rankers: Sequence[str] = ("setrank-imsab", "setrank-msab", "dlcm-without-init"),
    trained_on: Sequence[int] | None = None,
    sizes: Sequence[int] | None = None,
    seeds: int = 1,
    measures: Sequence[str] = ("NDCG@10",),
    lists: Lists = None,
    preset: str | None = None,
    pinned: str | None = None,
) -> Reports:
    """Table 3; result: artefact.

    Args:
        store: where everything is kept.
        data: a stored name or `sample`.
        rankers: as `core.studies.set_size.planned` takes them.
        trained_on: candidates a list that they are trained on (N0); the shortest by default.
        sizes: candidates a list that they are tested on (N1); by default those that lists reach.
        seeds: of each ranker.
        measures: what is asked for.
        lists: fields of ListRecipe that differ from its default; its depth is not read.
        preset: preset of rankers named without one.
        pinned: the data set's key, which `submit` finds from its name.
    """
    from core.studies import set_size as study  # noqa: PLC0415 (only who works pays for it)
    from core.studies import set_size_reach as reach  # noqa: PLC0415 (likewise)

    preset, opened_as = preset or preset_of(data), pinned or data
    recipe = recipe_of(lists, preset)
    tested = reach.checked("sizes", sizes or reach.proposed_for(opened_as, store))
    homes = reach.checked("trained on", trained_on or reach.homes(tested))
    benches = yield from study.opened(opened_as, [*tested, *homes], recipe, store, preset)
    plan = study.planned(benches, rankers, homes, measures, seeds)
    return answer((yield from study.run(benches, plan, data)))


def initial_rankings(  # noqa: PLR0913 (a job's parameters are its keywords)
    store: Store,
    *,
    data: str,
    rankers: Sequence[str] = (
        "setrank-imsab",
        "setrank-imsab-init",
        "setrank-imsab-multi-init",
    ),
    swaps: Sequence[str] = ("oracle", "anti-oracle", "random"),
    seeds: int = 1,
    measures: Sequence[str] = ("NDCG@10",),
    lists: Lists = None,
    preset: str | None = None,
    pinned: str | None = None,
) -> Reports:
    """Table 4; result: artefact.

    Args:
        store: where everything is kept.
        data: a stored name or `sample`.
        rankers: as `core.studies.initial_rankings.planned` takes them.
        swaps: what is put in the first initial ranking's place.
        seeds: of each ranker.
        measures: what is asked for.
        lists: fields of ListRecipe that differ from its default; the paper's four initial
            rankers where it names none.
        preset: preset of rankers named without one.
        pinned: the data set's key, which `submit` finds from its name.
    """
    from core.studies import initial_rankings as study  # noqa: PLC0415 (only who works pays for it)

    preset = preset or preset_of(data)
    four = {"initial": [f"{name}@{preset}" for name in study.FOUR]}
    recipe = recipe_of(four | dict(lists or {}), preset)
    first = yield from study.opened(pinned or data, recipe, store, preset, rankers)
    bench = replace(first, name=data)
    plan = study.planned(bench, rankers, swaps, measures, seeds)
    return answer((yield from study.run(bench, plan)))


def card(  # noqa: PLR0913 (a job's parameters are its keywords)
    store: Store,
    *,
    data: str,
    rankers: Sequence[str],
    families: Sequence[str] = ("transpositions",),
    draws: int = 5,
    seed: int = 0,
    lists: Lists = None,
    preset: str | None = None,
    pinned: str | None = None,
) -> Reports:
    """The robustness card; result: artefact. Parameters as `core.studies.card.run`'s.

    Args:
        store: where everything is kept.
        data: a stored name or `sample`.
        rankers: trained if need be.
        families: of perturbations that change order or ranking.
        draws: of each level.
        seed: of the draws.
        lists: fields of ListRecipe that differ from its default.
        preset: preset of rankers named without one.
        pinned: the data set's key, which `submit` finds from its name.
    """
    from core.studies import card as study  # noqa: PLC0415 (only who works pays for it)

    study.check(families)
    bench = yield from opened(store, data, lists, preset, pinned)
    return answer((yield from study.run(bench, rankers, families, draws, seed)))
